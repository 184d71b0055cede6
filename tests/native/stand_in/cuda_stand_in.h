// CUDA C++ for a host compiler: the keywords, variables and functions of device code, so that the
// source of a kernel can be compiled as it stands and run on the CPU.
//
// Meanings are those of the CUDA C++ Programming Guide and the PTX ISA. What a header cannot change
// stays the host's: a plain cast of a float that does not fit an integer, a division by zero and a
// shift past the width are undefined here as in C++. `extern __shared__` arrays are rewritten
// before compilation (native_oracle.py).
//
// Include it before anything else: some keywords are also names in the system's headers.
#pragma once

#include <cfenv>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "vectors.h"

#include "fibres.h"

#include "arithmetic.h"
#include "atomics.h"
#include "bits.h"
#include "conversions.h"
#include "memory.h"
#include "rounding.h"
#include "warp.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __shared__ static  // blocks run one after another
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __maxnreg__(registers)
#define __builtin_assume(condition)
#define __CUDA_ARCH__ 900
