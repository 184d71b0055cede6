// Minimum and maximum, and functions of the CUDA Math API that the C library lacks. The fast
// intrinsics are the accurate functions here: compare them with a tolerance.
#pragma once

namespace stand_in {

// The operand that is a number; -0 is less than +0.
template <class T>
T lesser(T a, T b) {
    if (a != a || b != b) return a != a ? b : a;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
}

template <class A, class B>
auto minimum(A a, B b) {
    using T = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point_v<T>)
        return lesser<T>(a, b);
    else
        return T(a) < T(b) ? T(a) : T(b);
}

template <class A, class B>
auto maximum(A a, B b) {
    using T = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point_v<T>)
        return -lesser<T>(-T(a), -T(b));
    else
        return T(a) > T(b) ? T(a) : T(b);
}

// x mod 2, from -1 to 1, exactly; then the sine of that many half turns.
inline double sine_of_half_turns(double x) {
    double turn = remainder(x, 2.0);
    if (fabs(turn) > 0.5) turn = copysign(1.0 - fabs(turn), turn);
    return sin(M_PI * turn);
}

}  // namespace stand_in

template <class A, class B>
auto min(A a, B b) {
    return stand_in::minimum(a, b);
}
template <class A, class B>
auto max(A a, B b) {
    return stand_in::maximum(a, b);
}
using std::abs;

inline long long llmin(long long a, long long b) { return a < b ? a : b; }
inline long long llmax(long long a, long long b) { return a > b ? a : b; }
inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }

inline float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return float(1.0 / cbrt(double(x))); }
inline float sinpif(float x) { return float(stand_in::sine_of_half_turns(x)); }
inline float cospif(float x) {
    return float(stand_in::sine_of_half_turns(0.5 - fabs(remainder(double(x), 2.0))));
}
inline float fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

// The C library declares functions of these names, hence macros.
#define fminf stand_in::minimum<float, float>
#define fmaxf stand_in::maximum<float, float>
#define fmin stand_in::minimum
#define fmax stand_in::maximum
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __sincosf sincosf
#define __powf powf
#define __fdividef fdividef
#define __frsqrt_rn rsqrtf
