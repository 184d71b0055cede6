// Floating point to integer with a stated rounding, and views of bits as another type (CUDA Math
// API, "Type Casting Intrinsics"; PTX ISA, cvt).
#pragma once

namespace stand_in {

// The integer nearest to a value without a fraction. NaN gives 0, or only the highest bit where the
// source or the destination has 64 bits.
template <class I, class F>
I saturated(F x) {
    using Limits = std::numeric_limits<I>;
    constexpr int bits = 8 * sizeof(I);
    if (x != x) return sizeof(I) == 8 || sizeof(F) == 8 ? I(I(1) << (bits - 1)) : I(0);
    if (x <= F(Limits::min())) return Limits::min();
    if (x >= std::ldexp(F(1), Limits::digits)) return Limits::max();
    return I(x);
}

template <class To, class From>
To same_bits(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To result;
    memcpy(&result, &value, sizeof result);
    return result;
}

}  // namespace stand_in

#define STAND_IN_TO_INTEGER(name, from, to)                                           \
    inline to name##_rn(from x) { return stand_in::saturated<to>(std::nearbyint(x)); } \
    inline to name##_rz(from x) { return stand_in::saturated<to>(std::trunc(x)); }     \
    inline to name##_ru(from x) { return stand_in::saturated<to>(std::ceil(x)); }      \
    inline to name##_rd(from x) { return stand_in::saturated<to>(std::floor(x)); }

STAND_IN_TO_INTEGER(__float2int, float, int)
STAND_IN_TO_INTEGER(__float2uint, float, unsigned)
STAND_IN_TO_INTEGER(__float2ll, float, long long)
STAND_IN_TO_INTEGER(__float2ull, float, unsigned long long)
STAND_IN_TO_INTEGER(__double2int, double, int)
STAND_IN_TO_INTEGER(__double2uint, double, unsigned)
STAND_IN_TO_INTEGER(__double2ll, double, long long)
STAND_IN_TO_INTEGER(__double2ull, double, unsigned long long)

#undef STAND_IN_TO_INTEGER

inline int __float_as_int(float x) { return stand_in::same_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return stand_in::same_bits<unsigned>(x); }
inline float __int_as_float(int x) { return stand_in::same_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return stand_in::same_bits<float>(x); }
inline long long __double_as_longlong(double x) { return stand_in::same_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return stand_in::same_bits<double>(x); }
inline int __double2loint(double x) { return int(__double_as_longlong(x)); }
inline int __double2hiint(double x) { return int(__double_as_longlong(x) >> 32); }
inline double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)high << 32 | unsigned(low));
}
