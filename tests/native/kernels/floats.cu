/* kernelcast
n = 8192

[[launch]]
kernel = "arithmetic<float>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", b = "f32[n]", c = "f32[n]", out = "f32[8 * n]" }

[[launch]]
kernel = "arithmetic<double>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f64[n]", b = "f64[n]", c = "f64[n]", out = "f64[8 * n]" }

[[launch]]
kernel = "relations<float>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", b = "f32[n]", out = "u32[n]" }

[[launch]]
kernel = "relations<double>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f64[n]", b = "f64[n]", out = "u32[n]" }

[[launch]]
kernel = "signs<float>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", b = "f32[n]", out = "f32[5 * n]" }

[[launch]]
kernel = "signs<double>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f64[n]", b = "f64[n]", out = "f64[5 * n]" }

[[launch]]
kernel = "to_integral<float>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", out = "f32[5 * n]" }

[[launch]]
kernel = "to_integral<double>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f64[n]", out = "f64[5 * n]" }

[[launch]]
kernel = "to_nearest<float>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", out = "f32[n]", whole = "s64[2 * n]" }

[[launch]]
kernel = "to_nearest<double>"
grid = "n // 256"
block = 256
args = { n = "n", a = "f64[n]", out = "f64[n]", whole = "s64[2 * n]" }

[[launch]]
kernel = "directed"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", b = "f32[n]", c = "f32[n]", out = "f32[16 * n]" }

[[launch]]
kernel = "exact_functions"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", b = "f32[n]", out = "f32[9 * n]", whole = "s32[2 * n]" }

[[launch]]
kernel = "exact_wide_functions"
grid = "n // 256"
block = 256
args = { n = "n", a = "f64[n]", b = "f64[n]", out = "f64[7 * n]", whole = "s32[2 * n]" }

[[launch]]
kernel = "sums"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", b = "f32[n]", out = "f32[2 * n]", wide = "f64[n]" }
*/

// Floating point whose every bit is defined: IEEE 754 operations and functions with exact results.
// To be compiled without contraction into fused operations.

#include <math.h>

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <class T>
__global__ void arithmetic(int n, const T* a, const T* b, const T* c, T* out) {
    int i = thread();
    T x = a[i], y = b[i], z = c[i];
    out[i] = x + y;
    out[n + i] = x - y;
    out[2 * n + i] = x * y;
    out[3 * n + i] = x / y;
    out[4 * n + i] = sqrt(x);
    out[5 * n + i] = fma(x, y, z);
    out[6 * n + i] = x * y + z;
    out[7 * n + i] = T(1) / x;
}

template <class T>
__global__ void relations(int n, const T* a, const T* b, unsigned* out) {
    int i = thread();
    T x = a[i], y = b[i];
    unsigned found = (x < y) | (x <= y) << 1 | (x > y) << 2 | (x >= y) << 3 | (x == y) << 4;
    found |= (x != y) << 5 | !(x < y) << 6 | !(x >= y) << 7 | (x && !y) << 8;
    found |= !!isnan(x) << 9 | !!isinf(x) << 10 | !!isfinite(x) << 11 | !!signbit(x) << 12;
    out[i] = found | (unsigned)(x > y ? 5 : x < 2 * y ? 6 : 7) << 16;
}

template <class T>
__global__ void signs(int n, const T* a, const T* b, T* out) {
    int i = thread();
    out[i] = -a[i];
    out[n + i] = fabs(a[i]);
    out[2 * n + i] = copysign(a[i], b[i]);
    out[3 * n + i] = fmin(a[i], b[i]);
    out[4 * n + i] = fmax(a[i], b[i]);
}

template <class T>
__global__ void to_integral(int n, const T* a, T* out) {
    int i = thread();
    out[i] = floor(a[i]);
    out[n + i] = ceil(a[i]);
    out[2 * n + i] = trunc(a[i]);
    out[3 * n + i] = rint(a[i]);
    out[4 * n + i] = nearbyint(a[i]);
}

template <class T>
__global__ void to_nearest(int n, const T* a, T* out, long long* whole) {
    int i = thread();
    out[i] = round(a[i]);
    whole[i] = fabs(a[i]) < T(1e9) ? lround(a[i]) : 0;
    whole[n + i] = fabs(a[i]) < T(1e9) ? llrint(a[i]) : 0;
}

__global__ void directed(int n, const float* a, const float* b, const float* c, float* out) {
    int i = thread();
    float x = a[i], y = b[i], z = c[i];
    out[i] = __fadd_rn(x, y);
    out[n + i] = __fadd_rz(x, y);
    out[2 * n + i] = __fadd_ru(x, y);
    out[3 * n + i] = __fadd_rd(x, y);
    out[4 * n + i] = __fsub_rz(x, y);
    out[5 * n + i] = __fsub_ru(x, y);
    out[6 * n + i] = __fmul_rn(x, y);
    out[7 * n + i] = __fmul_rz(x, y);
    out[8 * n + i] = __fmul_ru(x, y);
    out[9 * n + i] = __fmul_rd(x, y);
    out[10 * n + i] = __fmaf_rn(x, y, z);
    out[11 * n + i] = __fmaf_rz(x, y, z);
    out[12 * n + i] = __fmaf_ru(x, y, z);
    out[13 * n + i] = __fmaf_rd(x, y, z);
    out[14 * n + i] = __saturatef(x);
    out[15 * n + i] = __saturatef(x * y);
}

__global__ void exact_functions(int n, const float* a, const float* b, float* out, int* whole) {
    int i = thread();
    float x = a[i], y = b[i], part;
    int exponent;
    out[i] = fmodf(x, y);
    out[n + i] = remainderf(x, y);
    out[2 * n + i] = ldexpf(x, i % 401 - 200);
    out[3 * n + i] = frexpf(x, &exponent);
    whole[i] = isfinite(x) ? exponent : 0;
    out[4 * n + i] = modff(x, &part);
    out[5 * n + i] = part;
    out[6 * n + i] = nextafterf(x, y);
    out[7 * n + i] = fdimf(x, y);
    out[8 * n + i] = logbf(x);
    whole[n + i] = x != 0 && isfinite(x) ? ilogbf(x) : 0;
}

__global__ void exact_wide_functions(int n, const double* a, const double* b, double* out,
                                     int* whole) {
    int i = thread();
    double x = a[i], y = b[i], part;
    int exponent;
    out[i] = fmod(x, y);
    out[n + i] = ldexp(x, i % 2801 - 1400);
    out[2 * n + i] = frexp(x, &exponent);
    whole[i] = isfinite(x) ? exponent : 0;
    out[3 * n + i] = modf(x, &part);
    out[4 * n + i] = part;
    out[5 * n + i] = nextafter(x, y);
    out[6 * n + i] = fdim(x, y);
    whole[n + i] = x != 0 && isfinite(x) ? ilogb(x) : 0;
}

// Rounding errors pile up alike, whatever the compiler does with the loop.
__global__ void sums(int n, const float* a, const float* b, float* out, double* wide) {
    int i = thread();
    float sum = 0, compensated = 0, lost = 0;
    double exact = 0;
    for (int k = 0; k < 64; k++) {
        float product = a[n - 1 - (i + 37 * k) % (n / 2)] * b[n - 1 - (i + 11 * k) % (n / 2)];
        sum += product;
        exact += product;
        float corrected = product - lost, next = compensated + corrected;
        lost = (next - compensated) - corrected;
        compensated = next;
    }
    out[i] = sum;
    out[n + i] = compensated;
    wide[i] = exact;
}
