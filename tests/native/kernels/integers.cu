/* kernelcast
n = 8192

[[launch]]
kernel = "arithmetic"
grid = "n // 256"
block = 256
args = { n = "n", a = "s32[n]", b = "s32[n]", out = "s32[6 * n]" }

[[launch]]
kernel = "wide_arithmetic"
grid = "n // 256"
block = 256
args = { n = "n", a = "s64[n]", b = "s64[n]", out = "s64[6 * n]" }

[[launch]]
kernel = "widening"
grid = "n // 256"
block = 256
args = { n = "n", a = "s32[n]", b = "s32[n]", out = "s64[4 * n]" }

[[launch]]
kernel = "division"
grid = "n // 256"
block = 256
args = { n = "n", a = "s32[n]", b = "s32[n]", out = "s32[4 * n]" }

[[launch]]
kernel = "wide_division"
grid = "n // 256"
block = 256
args = { n = "n", a = "s64[n]", b = "s64[n]", out = "s64[4 * n]" }

[[launch]]
kernel = "division_by_constants"
grid = "n // 256"
block = 256
args = { n = "n", a = "s32[n]", out = "s32[8 * n]" }

[[launch]]
kernel = "shifts"
grid = "n // 256"
block = 256
args = { n = "n", a = "s32[n]", b = "s32[n]", out = "s32[6 * n]" }

[[launch]]
kernel = "wide_shifts"
grid = "n // 256"
block = 256
args = { n = "n", a = "s64[n]", b = "s64[n]", out = "s64[6 * n]" }

[[launch]]
kernel = "logic"
grid = "n // 256"
block = 256
args = { n = "n", a = "u32[n]", b = "u32[n]", c = "u32[n]", out = "u32[6 * n]" }

[[launch]]
kernel = "comparisons"
grid = "n // 256"
block = 256
args = { n = "n", a = "s32[n]", b = "s32[n]", out = "u32[n]" }

[[launch]]
kernel = "wide_comparisons"
grid = "n // 256"
block = 256
args = { n = "n", a = "s64[n]", b = "s64[n]", out = "u32[n]" }

[[launch]]
kernel = "minima"
grid = "n // 256"
block = 256
args = { n = "n", a = "s32[n]", b = "s32[n]", wide = "s64[4 * n]", out = "s32[6 * n]" }

[[launch]]
kernel = "narrow<signed char>"
grid = "n // 256"
block = 256
args = { n = "n", a = "s8[n]", b = "s8[n]", out = "s8[6 * n]", wide = "s32[2 * n]" }

[[launch]]
kernel = "narrow<unsigned char>"
grid = "n // 256"
block = 256
args = { n = "n", a = "u8[n]", b = "u8[n]", out = "u8[6 * n]", wide = "s32[2 * n]" }

[[launch]]
kernel = "narrow<short>"
grid = "n // 256"
block = 256
args = { n = "n", a = "s16[n]", b = "s16[n]", out = "s16[6 * n]", wide = "s32[2 * n]" }

[[launch]]
kernel = "narrow<unsigned short>"
grid = "n // 256"
block = 256
args = { n = "n", a = "u16[n]", b = "u16[n]", out = "u16[6 * n]", wide = "s32[2 * n]" }
*/

// Arithmetic that may overflow is unsigned: in C++ nothing is said of signed overflow.

#include <limits.h>

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void arithmetic(int n, const int* a, const int* b, int* out) {
    int i = thread();
    unsigned x = a[i], y = b[i];
    out[i] = x + y;
    out[n + i] = x - y;
    out[2 * n + i] = x * y;
    out[3 * n + i] = -x;
    out[4 * n + i] = x * y + (x ^ y);
    out[5 * n + i] = 12345u * x - 7u * y + 1u;
}

__global__ void wide_arithmetic(int n, const long long* a, const long long* b, long long* out) {
    int i = thread();
    unsigned long long x = a[i], y = b[i];
    out[i] = x + y;
    out[n + i] = x - y;
    out[2 * n + i] = x * y;
    out[3 * n + i] = -x;
    out[4 * n + i] = x * y + (x ^ y);
    out[5 * n + i] = 6364136223846793005ull * x + 1442695040888963407ull;
}

__global__ void widening(int n, const int* a, const int* b, long long* out) {
    int i = thread();
    out[i] = (long long)a[i] * b[i];
    out[n + i] = (unsigned long long)(unsigned)a[i] * (unsigned)b[i];
    out[2 * n + i] = (long long)a[i] * b[i] - a[i] % 1000;
    out[3 * n + i] = (long long)a[i] - (unsigned)b[i];
}

__global__ void division(int n, const int* a, const int* b, int* out) {
    int i = thread();
    int x = a[i], y = b[i] ? b[i] : 1;
    if (x == INT_MIN && y == -1) x = 0;
    unsigned ux = a[i], uy = y;
    out[i] = x / y;
    out[n + i] = x % y;
    out[2 * n + i] = ux / uy;
    out[3 * n + i] = ux % uy;
}

__global__ void wide_division(int n, const long long* a, const long long* b, long long* out) {
    int i = thread();
    long long x = a[i], y = b[i] ? b[i] : 1;
    if (x == LLONG_MIN && y == -1) x = 0;
    unsigned long long ux = a[i], uy = y;
    out[i] = x / y;
    out[n + i] = x % y;
    out[2 * n + i] = ux / uy;
    out[3 * n + i] = ux % uy;
}

__global__ void division_by_constants(int n, const int* a, int* out) {
    int i = thread();
    int x = a[i];
    unsigned u = a[i];
    out[i] = x / 7;
    out[n + i] = x % 10;
    out[2 * n + i] = x / 16;
    out[3 * n + i] = x % 16;
    out[4 * n + i] = u / 3;
    out[5 * n + i] = u % 641;
    out[6 * n + i] = x / -5;
    out[7 * n + i] = u / 1000000007u;
}

__global__ void shifts(int n, const int* a, const int* b, int* out) {
    int i = thread();
    int x = a[i], by = b[i] & 31;
    unsigned u = a[i];
    out[i] = u << by;
    out[n + i] = u >> by;
    out[2 * n + i] = x >> by;
    out[3 * n + i] = u << by | u >> (32 - by & 31);
    out[4 * n + i] = x >> 5;
    out[5 * n + i] = (u << 3) + by;
}

__global__ void wide_shifts(int n, const long long* a, const long long* b, long long* out) {
    int i = thread();
    long long x = a[i];
    int by = b[i] & 63;
    unsigned long long u = a[i];
    out[i] = u << by;
    out[n + i] = u >> by;
    out[2 * n + i] = x >> by;
    out[3 * n + i] = u << by | u >> (64 - by & 63);
    out[4 * n + i] = x >> 37;
    out[5 * n + i] = (unsigned)(u >> 16);
}

__global__ void logic(int n, const unsigned* a, const unsigned* b, const unsigned* c,
                      unsigned* out) {
    int i = thread();
    unsigned x = a[i], y = b[i], z = c[i];
    out[i] = x & y;
    out[n + i] = x | ~y;
    out[2 * n + i] = x ^ y ^ z;
    out[3 * n + i] = (x & y) | (~x & z);
    out[4 * n + i] = (x & y) ^ (x & z) ^ (y & z);
    out[5 * n + i] = (!x << 1 | !!y) ^ ~z;
}

template <class T>
__device__ unsigned relations(T x, T y) {
    return (x < y) | (x <= y) << 1 | (x > y) << 2 | (x >= y) << 3 | (x == y) << 4 | (x != y) << 5;
}

__global__ void comparisons(int n, const int* a, const int* b, unsigned* out) {
    int i = thread();
    out[i] = relations(a[i], b[i]) | relations<unsigned>(a[i], b[i]) << 8;
}

__global__ void wide_comparisons(int n, const long long* a, const long long* b, unsigned* out) {
    int i = thread();
    out[i] = relations(a[i], b[i]) | relations<unsigned long long>(a[i], b[i]) << 8;
}

__global__ void minima(int n, const int* a, const int* b, long long* wide, int* out) {
    int i = thread();
    int x = a[i], y = b[i];
    long long p = (long long)x * y, q = (long long)((unsigned long long)(x ^ y) << 17);
    out[i] = min(x, y);
    out[n + i] = max(x, y);
    out[2 * n + i] = min((unsigned)x, (unsigned)y);
    out[3 * n + i] = max((unsigned)x, (unsigned)y);
    out[4 * n + i] = max(-1000, min(1000, x));
    out[5 * n + i] = abs(x == INT_MIN ? 1 : x);
    wide[i] = min(p, q);
    wide[n + i] = max(p, q);
    wide[2 * n + i] = min((unsigned long long)p, (unsigned long long)q);
    wide[3 * n + i] = llabs(p == LLONG_MIN ? 1 : p);
}

template <class T>
__global__ void narrow(int n, const T* a, const T* b, T* out, int* wide) {
    int i = thread();
    T x = a[i], y = b[i];
    out[i] = x + y;
    out[n + i] = x * y;
    out[2 * n + i] = x >> (y & 7);
    out[3 * n + i] = (unsigned)x << (y & 7);
    out[4 * n + i] = y ? x / y : 0;
    out[5 * n + i] = y ? x % y : 0;
    wide[i] = x * 3 - y;
    wide[n + i] = (x < y) | (T(x + y) < x) << 1 | (x == y) << 2;
}
