// Arithmetic and conversions to floating point that name their rounding: `__fadd_rz` and its kin
// (CUDA Math API, "Single Precision Intrinsics", "Double Precision Intrinsics", "Type Casting").
#pragma once

namespace stand_in {

// The rounding mode of the host for the life of the object.
struct Rounding {
    explicit Rounding(int mode) { std::fesetround(mode); }
    ~Rounding() { std::fesetround(before); }
    int before = std::fegetround();
};

// The value, through memory that the compiler may not look through: without it, operations on it
// would be moved across a change of the mode.
template <class T>
T held(T value) {
    volatile T memory = value;
    return memory;
}

}  // namespace stand_in

#define STAND_IN_MODE(type, name, mode, parameters, expression) \
    inline type name parameters {                               \
        using stand_in::held;                                   \
        stand_in::Rounding rounding(mode);                      \
        return held<type>(expression);                          \
    }
#define STAND_IN_ROUNDED(type, name, parameters, expression)                  \
    STAND_IN_MODE(type, name##_rn, FE_TONEAREST, parameters, expression)      \
    STAND_IN_MODE(type, name##_rz, FE_TOWARDZERO, parameters, expression)     \
    STAND_IN_MODE(type, name##_ru, FE_UPWARD, parameters, expression)         \
    STAND_IN_MODE(type, name##_rd, FE_DOWNWARD, parameters, expression)

STAND_IN_ROUNDED(float, __fadd, (float a, float b), held(a) + held(b))
STAND_IN_ROUNDED(float, __fsub, (float a, float b), held(a) - held(b))
STAND_IN_ROUNDED(float, __fmul, (float a, float b), held(a) * held(b))
STAND_IN_ROUNDED(float, __fdiv, (float a, float b), held(a) / held(b))
STAND_IN_ROUNDED(float, __fmaf, (float a, float b, float c),
                 fmaf(held(a), held(b), held(c)))
STAND_IN_ROUNDED(float, __frcp, (float a), 1.0f / held(a))
STAND_IN_ROUNDED(float, __fsqrt, (float a), sqrtf(held(a)))

STAND_IN_ROUNDED(double, __dadd, (double a, double b), held(a) + held(b))
STAND_IN_ROUNDED(double, __dsub, (double a, double b), held(a) - held(b))
STAND_IN_ROUNDED(double, __dmul, (double a, double b), held(a) * held(b))
STAND_IN_ROUNDED(double, __ddiv, (double a, double b), held(a) / held(b))
STAND_IN_ROUNDED(double, __fma, (double a, double b, double c),
                 fma(held(a), held(b), held(c)))
STAND_IN_ROUNDED(double, __drcp, (double a), 1.0 / held(a))
STAND_IN_ROUNDED(double, __dsqrt, (double a), sqrt(held(a)))

STAND_IN_ROUNDED(float, __int2float, (int a), held(a))
STAND_IN_ROUNDED(float, __uint2float, (unsigned a), held(a))
STAND_IN_ROUNDED(float, __ll2float, (long long a), held(a))
STAND_IN_ROUNDED(float, __ull2float, (unsigned long long a), held(a))
STAND_IN_ROUNDED(float, __double2float, (double a), held(a))
STAND_IN_ROUNDED(double, __ll2double, (long long a), held(a))
STAND_IN_ROUNDED(double, __ull2double, (unsigned long long a), held(a))

#undef STAND_IN_ROUNDED
#undef STAND_IN_MODE

inline double __int2double_rn(int a) { return a; }
inline double __uint2double_rn(unsigned a) { return a; }
