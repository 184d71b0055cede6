"""What stands before every source that a user gives: names that nvcc's host headers would bring.

Published sources use `uint`, `M_PI` or `std::min` in device code without a header of their own.
"""

from __future__ import annotations

from pathlib import Path

from kernelcast.toolchain.header_shims import HEADER_SHIMS

PRELUDE_HEADER = "kernelcast_prelude.h"

DEPENDENT_LAUNCH = """
static __device__ __forceinline__ void cudaGridDependencySynchronize() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
static __device__ __forceinline__ void cudaTriggerProgrammaticLaunchCompletion() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
"""
"""What kernels call that start before an earlier one has ended (compute capability 9.0 on), which
the device's runtime library would bring."""
DEPENDENT_LAUNCH_NAMES = frozenset(
    {"cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion"}
)

OLDER_EXCHANGES = Path(__file__).with_name("older_exchanges.h")
"""What lanes call that exchange values in code from before compute capability 7.0."""

_TYPES = """
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef long ssize_t;
"""

# The members that device code asks for (C++17, [numeric.limits], [meta], [alg.min.max]).
_STD = """
#ifndef KERNELCAST_STD
#define KERNELCAST_STD
namespace std {
template <class T> __host__ __device__ constexpr const T& min(const T& a, const T& b) {
    return b < a ? b : a;
}
template <class T> __host__ __device__ constexpr const T& max(const T& a, const T& b) {
    return a < b ? b : a;
}
template <class T> __host__ __device__ constexpr void swap(T& a, T& b) {
    T held = a; a = b; b = held;
}
template <class T, T v> struct integral_constant {
    static constexpr T value = v;
    typedef T value_type;
    typedef integral_constant type;
    __host__ __device__ constexpr operator T() const { return v; }
};
template <bool v> using bool_constant = integral_constant<bool, v>;
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <bool, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;
template <bool, class T, class> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool b, class T, class F> using conditional_t = typename conditional<b, T, F>::type;
template <class, class> struct is_same : false_type {};
template <class T> struct is_same<T, T> : true_type {};
template <class T, class U> inline constexpr bool is_same_v = is_same<T, U>::value;
template <class T> struct remove_const { typedef T type; };
template <class T> struct remove_const<const T> { typedef T type; };
template <class T> struct remove_cv { typedef T type; };
template <class T> struct remove_cv<const T> { typedef T type; };
template <class T> struct remove_cv<volatile T> { typedef T type; };
template <class T> struct remove_cv<const volatile T> { typedef T type; };
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> struct remove_reference { typedef T type; };
template <class T> struct remove_reference<T&> { typedef T type; };
template <class T> struct remove_reference<T&&> { typedef T type; };
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct remove_pointer { typedef T type; };
template <class T> struct remove_pointer<T*> { typedef T type; };
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using decay_t = remove_cv_t<remove_reference_t<T>>;
template <class T> struct is_pointer : false_type {};
template <class T> struct is_pointer<T*> : true_type {};
template <class T> inline constexpr bool is_pointer_v = is_pointer<T>::value;
template <class T> inline constexpr bool kernelcast_is_float =
    is_same_v<T, float> || is_same_v<T, double>;
template <class T> inline constexpr bool kernelcast_is_signed =
    is_same_v<T, signed char> || is_same_v<T, short> || is_same_v<T, int> ||
    is_same_v<T, long> || is_same_v<T, long long>;
template <class T> inline constexpr bool kernelcast_is_unsigned =
    is_same_v<T, unsigned char> || is_same_v<T, unsigned short> || is_same_v<T, unsigned> ||
    is_same_v<T, unsigned long> || is_same_v<T, unsigned long long> || is_same_v<T, bool>;
template <class T> struct is_floating_point : bool_constant<kernelcast_is_float<remove_cv_t<T>>> {};
template <class T> inline constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T> struct is_integral
    : bool_constant<kernelcast_is_signed<remove_cv_t<T>> || is_same_v<remove_cv_t<T>, char> ||
                    kernelcast_is_unsigned<remove_cv_t<T>>> {};
template <class T> inline constexpr bool is_integral_v = is_integral<T>::value;
template <class T> struct is_arithmetic
    : bool_constant<is_integral_v<T> || is_floating_point_v<T>> {};
template <class T> inline constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T> struct is_unsigned : bool_constant<kernelcast_is_unsigned<remove_cv_t<T>>> {};
template <class T> inline constexpr bool is_unsigned_v = is_unsigned<T>::value;
template <class T> struct is_signed
    : bool_constant<kernelcast_is_signed<remove_cv_t<T>> || kernelcast_is_float<remove_cv_t<T>> ||
                    is_same_v<remove_cv_t<T>, char>> {};
template <class T> inline constexpr bool is_signed_v = is_signed<T>::value;
template <class T> struct make_unsigned { typedef T type; };
template <> struct make_unsigned<signed char> { typedef unsigned char type; };
template <> struct make_unsigned<char> { typedef unsigned char type; };
template <> struct make_unsigned<short> { typedef unsigned short type; };
template <> struct make_unsigned<int> { typedef unsigned type; };
template <> struct make_unsigned<long> { typedef unsigned long type; };
template <> struct make_unsigned<long long> { typedef unsigned long long type; };
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };
#define KERNELCAST_LIMITS_OF(TYPE, LEAST, LOWEST, MOST, EPSILON, INFINITE, NONE, IS_INTEGER) \\
    template <> struct numeric_limits<TYPE> { \\
        static constexpr bool is_specialized = true, is_integer = IS_INTEGER; \\
        static constexpr int digits = IS_INTEGER ? int(sizeof(TYPE)) * 8 - is_signed_v<TYPE> \\
                                                 : sizeof(TYPE) == 4 ? 24 : 53; \\
        __host__ __device__ static constexpr TYPE min() { return LEAST; } \\
        __host__ __device__ static constexpr TYPE lowest() { return LOWEST; } \\
        __host__ __device__ static constexpr TYPE max() { return MOST; } \\
        __host__ __device__ static constexpr TYPE epsilon() { return EPSILON; } \\
        __host__ __device__ static TYPE infinity() { return INFINITE; } \\
        __host__ __device__ static TYPE quiet_NaN() { return NONE; } \\
    };
KERNELCAST_LIMITS_OF(bool, false, false, true, 0, 0, 0, true)
KERNELCAST_LIMITS_OF(char, CHAR_MIN, CHAR_MIN, CHAR_MAX, 0, 0, 0, true)
KERNELCAST_LIMITS_OF(signed char, SCHAR_MIN, SCHAR_MIN, SCHAR_MAX, 0, 0, 0, true)
KERNELCAST_LIMITS_OF(unsigned char, 0, 0, UCHAR_MAX, 0, 0, 0, true)
KERNELCAST_LIMITS_OF(short, SHRT_MIN, SHRT_MIN, SHRT_MAX, 0, 0, 0, true)
KERNELCAST_LIMITS_OF(unsigned short, 0, 0, USHRT_MAX, 0, 0, 0, true)
KERNELCAST_LIMITS_OF(int, INT_MIN, INT_MIN, INT_MAX, 0, 0, 0, true)
KERNELCAST_LIMITS_OF(unsigned, 0, 0, UINT_MAX, 0, 0, 0, true)
KERNELCAST_LIMITS_OF(long, LONG_MIN, LONG_MIN, LONG_MAX, 0, 0, 0, true)
KERNELCAST_LIMITS_OF(unsigned long, 0, 0, ULONG_MAX, 0, 0, 0, true)
KERNELCAST_LIMITS_OF(long long, LLONG_MIN, LLONG_MIN, LLONG_MAX, 0, 0, 0, true)
KERNELCAST_LIMITS_OF(unsigned long long, 0, 0, ULLONG_MAX, 0, 0, 0, true)
KERNELCAST_LIMITS_OF(float, FLT_MIN, -FLT_MAX, FLT_MAX, FLT_EPSILON, INFINITY, NAN, false)
KERNELCAST_LIMITS_OF(double, DBL_MIN, -DBL_MAX, DBL_MAX, DBL_EPSILON, HUGE_VAL, NAN, false)
#undef KERNELCAST_LIMITS_OF
}
#endif
"""

PRELUDE = "".join(
    (
        _TYPES,
        *(HEADER_SHIMS[name] for name in ("stdint.h", "stddef.h", "limits.h", "float.h", "math.h")),
    )
)
"""The text that is included before the first line of a source."""

STANDARD_PRELUDE = PRELUDE + _STD
"""The same with what device code uses of the C++ library: for code that names `std`, since it
leaves variables in the compiled code."""

FULL_PRELUDE = (
    STANDARD_PRELUDE
    + """
#include <cuda/std/type_traits>
#include <cuda/std/limits>
#include <cuda/std/utility>
#include <cuda/std/tuple>
#include <cuda/std/array>
namespace std {
using namespace cuda::std;
// What operators that read and write complex numbers name; no kernel calls them.
struct ios_base { static constexpr int failbit = 4; };
template <class, class> class basic_istream;
template <class, class> class basic_ostream;
}
"""
)
"""The same with NVIDIA's own library for device code, for sources that include part of it: it
takes a second to compile."""
