/* kernelcast
n = 8192

[[launch]]
kernel = "exponentials<float>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", out = "f32[6 * n]" }

[[launch]]
kernel = "exponentials<double>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f64[n]", out = "f64[6 * n]" }

[[launch]]
kernel = "circular<float>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", b = "f32[n]", out = "f32[7 * n]" }

[[launch]]
kernel = "circular<double>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f64[n]", b = "f64[n]", out = "f64[7 * n]" }

[[launch]]
kernel = "hyperbolic<float>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", out = "f32[6 * n]" }

[[launch]]
kernel = "hyperbolic<double>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f64[n]", out = "f64[6 * n]" }

[[launch]]
kernel = "powers<float>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", b = "f32[n]", out = "f32[4 * n]" }

[[launch]]
kernel = "powers<double>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f64[n]", b = "f64[n]", out = "f64[4 * n]" }

[[launch]]
kernel = "errors<float>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", out = "f32[4 * n]" }

[[launch]]
kernel = "errors<double>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f64[n]", out = "f64[4 * n]" }

[[launch]]
kernel = "device_functions"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", out = "f32[4 * n]" }

[[launch]]
kernel = "fast_functions"
grid = "n // 256"
block = 256
args = { n = "n", in = "f32[n] random(1)", out = "f32[9 * n]" }
*/

// Functions whose last bits are not defined.

#include <math.h>

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <class T>
__global__ void exponentials(int n, const T* a, T* out) {
    int i = thread();
    out[i] = exp(a[i]);
    out[n + i] = exp2(a[i]);
    out[2 * n + i] = expm1(a[i]);
    out[3 * n + i] = log(a[i]);
    out[4 * n + i] = log2(a[i]);
    out[5 * n + i] = log1p(a[i]);
}

template <class T>
__global__ void circular(int n, const T* a, const T* b, T* out) {
    int i = thread();
    out[i] = sin(a[i]);
    out[n + i] = cos(a[i]);
    out[2 * n + i] = tan(a[i]);
    out[3 * n + i] = asin(a[i]);
    out[4 * n + i] = acos(a[i]);
    out[5 * n + i] = atan(a[i]);
    out[6 * n + i] = atan2(a[i], b[i]);
}

template <class T>
__global__ void hyperbolic(int n, const T* a, T* out) {
    int i = thread();
    out[i] = sinh(a[i]);
    out[n + i] = cosh(a[i]);
    out[2 * n + i] = tanh(a[i]);
    out[3 * n + i] = asinh(a[i]);
    out[4 * n + i] = acosh(a[i]);
    out[5 * n + i] = atanh(a[i]);
}

template <class T>
__global__ void powers(int n, const T* a, const T* b, T* out) {
    int i = thread();
    out[i] = pow(a[i], b[i]);
    out[n + i] = cbrt(a[i]);
    out[2 * n + i] = hypot(a[i], b[i]);
    out[3 * n + i] = log10(a[i]);
}

template <class T>
__global__ void errors(int n, const T* a, T* out) {
    int i = thread();
    out[i] = erf(a[i]);
    out[n + i] = erfc(a[i]);
    out[2 * n + i] = tgamma(a[i]);
    out[3 * n + i] = lgamma(a[i] > 0 ? a[i] : T(2.5));
}

// Those that the C library lacks.
__global__ void device_functions(int n, const float* a, float* out) {
    int i = thread();
    out[i] = rsqrtf(a[i]);
    out[n + i] = rcbrtf(a[i]);
    out[2 * n + i] = sinpif(a[i]);
    out[3 * n + i] = exp10f(a[i]);
}

// Intrinsics of low accuracy, on numbers from 0 to 1.
__global__ void fast_functions(int n, const float* in, float* out) {
    int i = thread();
    float x = in[i];
    out[i] = __expf(x);
    out[n + i] = __exp10f(x);
    out[2 * n + i] = __logf(x + 1.5f);
    out[3 * n + i] = __log2f(x + 1.5f);
    out[4 * n + i] = __sinf(x + 0.25f);
    out[5 * n + i] = __cosf(x);
    out[6 * n + i] = __powf(x + 0.5f, 2.5f);
    out[7 * n + i] = __fdividef(x, x + 3.0f);
    out[8 * n + i] = __frsqrt_rn(x);
}
