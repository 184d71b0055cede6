// What programs know from NVIDIA's samples by this name, but for images.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "helper_string.h"
#include "helper_timer.h"

// Whether the root of the squared differences is within `epsilon` of that of the squares.
inline bool sdkCompareL2fe(const float* reference, const float* data, unsigned count,
                           float epsilon) {
    double differences = 0, squares = 0;
    for (unsigned i = 0; i < count; ++i) {
        const double difference = static_cast<double>(reference[i]) - data[i];
        differences += difference * difference;
        squares += static_cast<double>(reference[i]) * reference[i];
    }
    return squares > 0 && std::sqrt(differences / squares) < epsilon;
}

// Whether no more than the share `threshold` of the elements is off by `epsilon` or more.
template <class T, class S>
inline bool compareData(const T* reference, const T* data, unsigned count, S epsilon,
                        float threshold) {
    unsigned off = 0;
    for (unsigned i = 0; i < count; ++i) {
        const double difference = static_cast<double>(reference[i]) - data[i];
        off += std::fabs(difference) > static_cast<double>(epsilon);
    }
    return threshold == 0.0f ? off == 0 : off <= count * threshold;
}
