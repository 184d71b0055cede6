// Errors and devices by the names that programs know from NVIDIA's samples.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "helper_string.h"

#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef DEVICE_RESET
#define DEVICE_RESET cudaDeviceReset();
#endif

inline const char* _cudaGetErrorEnum(cudaError_t error) { return cudaGetErrorName(error); }

template <class Result>
inline const char* _cudaGetErrorEnum(Result) {
    return "an error of another library";
}

namespace kernelcast {
template <class Result>
inline void ended_well(Result result, const char* what, const char* file, int line) {
    if (static_cast<int>(result) == 0) return;
    std::fprintf(stderr, "%s:%d: %s: code %d, %s\n", file, line, what, static_cast<int>(result),
                 _cudaGetErrorEnum(result));
    std::exit(EXIT_FAILURE);
}
}  // namespace kernelcast

#define checkCudaErrors(call) kernelcast::ended_well((call), #call, __FILE__, __LINE__)
#define getLastCudaError(what) \
    kernelcast::ended_well(cudaGetLastError(), (what), __FILE__, __LINE__)
#define printLastCudaError(what)                                                             \
    do {                                                                                     \
        const cudaError_t last = cudaGetLastError();                                         \
        if (last != cudaSuccess)                                                             \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, what,                \
                         cudaGetErrorName(last));                                            \
    } while (0)

inline int ftoi(float value) { return static_cast<int>(value >= 0 ? value + 0.5f : value - 0.5f); }

// Lanes of single precision of an SM.
inline int _ConvertSMVer2Cores(int major, int minor) {
    switch (major) {
        case 3: return 192;
        case 6: return minor == 0 ? 64 : 128;
        case 7: return 64;
        case 8: return minor == 0 ? 64 : 128;
        default: return 128;
    }
}

inline const char* _ConvertSMVer2ArchName(int major, int minor) {
    switch (major) {
        case 3: return "Kepler";
        case 5: return "Maxwell";
        case 6: return "Pascal";
        case 7: return minor == 5 ? "Turing" : "Volta";
        case 8: return minor == 9 ? "Ada" : "Ampere";
        case 9: return "Hopper";
        default: return "Blackwell";
    }
}

inline int gpuDeviceInit(int device) {
    int count = 0;
    checkCudaErrors(cudaGetDeviceCount(&count));
    if (count == 0) {
        std::fprintf(stderr, "there is no GPU\n");
        std::exit(EXIT_FAILURE);
    }
    device = device < 0 ? 0 : device;
    if (device >= count) return -device;
    checkCudaErrors(cudaSetDevice(device));
    return device;
}

// The first: which of several is fastest is asked of no virtual one.
inline int gpuGetMaxGflopsDeviceId() { return gpuDeviceInit(0); }

inline int findCudaDevice(int count, const char** words) {
    int device = 0;
    if (checkCmdLineFlag(count, words, "device"))
        device = getCmdLineArgumentInt(count, words, "device");
    device = gpuDeviceInit(device);
    if (device < 0) {
        std::fprintf(stderr, "there is no GPU %d\n", -device);
        std::exit(EXIT_FAILURE);
    }
    cudaDeviceProp properties;
    checkCudaErrors(cudaGetDeviceProperties(&properties, device));
    std::printf("GPU %d: %s, compute capability %d.%d\n\n", device, properties.name,
                properties.major, properties.minor);
    return device;
}

inline bool checkCudaCapabilities(int major, int minor) {
    int device = 0;
    cudaDeviceProp properties;
    checkCudaErrors(cudaGetDevice(&device));
    checkCudaErrors(cudaGetDeviceProperties(&properties, device));
    return properties.major > major || (properties.major == major && properties.minor >= minor);
}
