"""Stand-ins for headers that a kernel file may include though NVRTC needs or has none of them.

NVRTC declares the CUDA run time's device side, `printf`, `assert` and the mathematical functions
by itself. What it lacks of the C library is the fixed-width types and the limits.
"""

from __future__ import annotations

from collections.abc import Mapping

_STDINT = """
#ifndef KERNELCAST_STDINT
#define KERNELCAST_STDINT
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
#if defined(_WIN32) || defined(KERNELCAST_CCCL)
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
typedef long int64_t;
typedef unsigned long uint64_t;
#endif
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
typedef int64_t intmax_t;
typedef uint64_t uintmax_t;
#define INT8_MAX 127
#define INT16_MAX 32767
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807LL
#define INT8_MIN (-INT8_MAX - 1)
#define INT16_MIN (-INT16_MAX - 1)
#define INT32_MIN (-INT32_MAX - 1)
#define INT64_MIN (-INT64_MAX - 1)
#define UINT8_MAX 255
#define UINT16_MAX 65535
#define UINT32_MAX 4294967295U
#define UINT64_MAX 18446744073709551615ULL
#define INT8_C(n) n
#define INT16_C(n) n
#define INT32_C(n) n
#define INT64_C(n) n##L
#define UINT8_C(n) n
#define UINT16_C(n) n
#define UINT32_C(n) n##U
#define UINT64_C(n) n##UL
#define SIZE_MAX UINT64_MAX
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t;
}
#endif
"""

_STDDEF = """
#ifndef KERNELCAST_STDDEF
#define KERNELCAST_STDDEF
#define offsetof(type, member) ((size_t) & ((type*)0)->member)
namespace std { using ::size_t; using ::ptrdiff_t; }
#endif
"""

_LIMITS = """
#ifndef KERNELCAST_LIMITS
#define KERNELCAST_LIMITS
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-SCHAR_MAX - 1)
#define CHAR_MAX 127
#define CHAR_MIN (-CHAR_MAX - 1)
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-SHRT_MAX - 1)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295U
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 18446744073709551615ULL
#if defined(_WIN32)
#define LONG_MAX 2147483647L
#define ULONG_MAX 4294967295UL
#else
#define LONG_MAX 9223372036854775807L
#define ULONG_MAX 18446744073709551615UL
#endif
#define LONG_MIN (-LONG_MAX - 1)
#endif
"""

_FLOAT = """
#ifndef KERNELCAST_FLOAT
#define KERNELCAST_FLOAT
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#endif
"""

_MATH = """
#ifndef KERNELCAST_MATH
#define KERNELCAST_MATH
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VALF INFINITY
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#define M_E 2.7182818284590452354
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
namespace std {
using ::abs; using ::fabs; using ::sqrt; using ::cbrt; using ::hypot; using ::pow; using ::exp;
using ::exp2; using ::log; using ::log2; using ::log10; using ::sin; using ::cos; using ::tan;
using ::sinh; using ::cosh; using ::tanh; using ::erf; using ::floor; using ::ceil; using ::round;
using ::trunc; using ::fmod; using ::fmin; using ::fmax; using ::fma; using ::isnan; using ::isinf;
using ::isfinite;
}
#endif
"""

_CUDA = """
#ifndef KERNELCAST_CUDA
#define KERNELCAST_CUDA
typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject;
typedef struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; } CUtensorMap;
#endif
"""

_CUFFT = """
#ifndef KERNELCAST_CUFFT
#define KERNELCAST_CUFFT
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef float2 cufftComplex;
typedef double2 cufftDoubleComplex;
#endif
"""

DRIVER_HEADER = "cuda.h"
"""What it declares is host code, but for the parameters that are tensor maps; its stand-in takes
its place even where it is installed."""

HEADER_SHIMS: Mapping[str, str] = {
    DRIVER_HEADER: _CUDA,
    **dict.fromkeys(("cufft.h", "cufftXt.h"), _CUFFT),
    **dict.fromkeys(
        (
            "builtin_types.h",
            "cuda_runtime.h",
            "cuda_runtime_api.h",
            "device_functions.h",
            "device_launch_parameters.h",
            "vector_functions.h",
            "vector_types.h",
            "assert.h",
            "cassert",
            "cstdio",
            "cstdlib",
            "cstring",
            "stdio.h",
            "stdlib.h",
            "string.h",
        ),
        "\n",
    ),
    **dict.fromkeys(("stdint.h", "cstdint", "inttypes.h", "cinttypes"), _STDINT),
    **dict.fromkeys(("stddef.h", "cstddef"), _STDDEF),
    **dict.fromkeys(("limits.h", "climits"), _LIMITS),
    **dict.fromkeys(("float.h", "cfloat"), _FLOAT),
    **dict.fromkeys(("math.h", "cmath"), _MATH),
}
"""Text of every shim by the name it is included under."""

HOST_HEADERS = frozenset(
    {
        *("algorithm", "array", "chrono", "cctype", "ctime", "fstream", "functional", "iomanip"),
        *("iostream", "limits", "list", "map", "memory", "numeric", "random", "set", "sstream"),
        *("stdexcept", "string", "thread", "time.h", "type_traits", "unistd.h", "sys/time.h"),
        *("unordered_map", "utility", "vector", "tuple"),
        *("cublas_v2.h", "cublasLt.h", "cusparse.h", "curand.h", "cusolverDn.h", "cudnn.h"),
        *(
            "cublas.h",
            "nccl.h",
            "nvml.h",
            "cuda_profiler_api.h",
            "cuda_gl_interop.h",
            "nvToolsExt.h",
        ),
        *("ctype.h", "errno.h", "getopt.h", "signal.h", "pthread.h", "omp.h", "mpi.h", "malloc.h"),
        "strings.h",
        *(
            "locale.h",
            "wchar.h",
            "cuda_gl_interop.h",
            "fcntl.h",
            "dirent.h",
            "windows.h",
            "stdbool.h",
        ),
        *("complex.h", "memory.h", "process.h", "alloca.h", "stdarg.h", "values.h", "setjmp.h"),
    }
)
"""Headers of host code, which NVRTC does not compile."""

LIBRARY_HEADERS = ("cublas", "cudnn", "cusparse", "cusolver", "nccl")
"""How headers of NVIDIA's libraries begin that the host calls and that include narrow types."""

_HEADER_PACKAGES = {
    **dict.fromkeys(("cuda/", "cub/", "thrust/", "nv/"), "nvidia-cuda-cccl"),
    "curand": "nvidia-curand",
    **dict.fromkeys(("cublasdx", "cufftdx", "curanddx", "cusolverdx"), "nvidia-mathdx"),
    **dict.fromkeys(("cutlass/", "cute/"), "nvidia-cutlass"),
    **dict.fromkeys(("nvshmem", "device_host_transport/"), "nvidia-nvshmem-cu13"),
}
"""Which package holds the headers for device code whose names begin so."""


DEVICE_HEADERS = frozenset(
    {
        *("cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h", "mma.h"),
        *("cooperative_groups.h", "cuda_pipeline.h", "cuda_awbarrier.h", "math_constants.h"),
        *("cuComplex.h", "cooperative_groups/reduce.h", "cuda_pipeline_primitives.h"),
    }
)
"""NVIDIA's own device headers, which wheels of their own carry."""


def header_package(header: str) -> str:
    """The package that holds a header for device code; empty where nobody knows."""
    # The longest beginning says most: `curanddx.hpp` is not of `curand`.
    known = sorted(filter(header.startswith, _HEADER_PACKAGES), key=len)
    return _HEADER_PACKAGES[known[-1]] if known else ""
