/* kernelcast
n = 2048

[[launch]]
kernel = "vectors"
grid = "n // 128"
block = 128
[launch.args]
a = "f32[4 * n]"
b = "s32[2 * n]"
c = "f64[2 * n]"
out = "f32[4 * n]"
pairs = "s32[2 * n]"
wide = "f64[2 * n]"

[[launch]]
kernel = "narrow_vectors"
grid = "n // 128"
block = 128
args = { a = "u8[4 * n]", b = "s16[4 * n]", out = "u8[4 * n]", sums = "s16[2 * n]" }

[[launch]]
kernel = "by_value"
grid = 4
block = 64
[launch.args]
first = "u8[1] ones"
settings = "b8[48] arange"
scale = 2.5
offset = -3
out = "f64[256]"
bits = "u32[256]"

[[launch]]
kernel = "structures"
grid = "n // 128"
block = 128
args = { in = "u64[3 * n] random(1)", out = "u64[3 * n]" }

[[launch]]
kernel = "variables"
grid = 5
block = 64
args = { out = "s32[320]" }

[[launch]]
kernel = "tables"
grid = "n // 128"
block = 128
args = { a = "u32[n]", out = "f32[n]", digits = "u8[8 * n]" }

[[launch]]
kernel = "cached_loads"
grid = "n // 128"
block = 128
[launch.args]
n = "n"
a = "s32[n]"
b = "f32[n]"
c = "s64[n]"
out = "s32[n]"
floats = "f32[n]"
wide = "s64[n]"

[[launch]]
kernel = "copies"
grid = "n // 128"
block = 128
args = { in = "u8[32 * n] random(1)", out = "u8[32 * n]" }

[[launch]]
kernel = "strided"
grid = 3
block = 96
args = { n = "n", out = "u64[n]" }

[[launch]]
kernel = "gathered"
grid = "n // 128"
block = 128
args = { at = "u32[n] permutation(3)", a = "s16[n]", out = "s16[n]", back = "s32[n]" }

[[launch]]
kernel = "maybe_null"
grid = 2
block = 32
args = { given = "s32[64] arange", absent = 0, out = "s32[64]" }

[[launch]]
kernel = "in_place"
grid = 4
block = 64
args = { matrix = "f64[16, 16] random(4)" }
*/

// Loads, stores, and what lies where: vectors, structures, variables of the module, tables.

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void vectors(const float4* a, const int2* b, const double2* c, float4* out, int2* pairs,
                        double2* wide) {
    int i = thread();
    float4 x = a[i];
    out[i] = make_float4(x.w, x.z + 1.0f, x.y * x.x, -x.x);
    int2 y = b[i];
    pairs[i] = make_int2(y.y, y.x ^ y.y);
    double2 z = c[i];
    wide[i] = make_double2(z.x < z.y ? z.x : z.y, z.x + z.y);
}

__global__ void narrow_vectors(const uchar4* a, const short4* b, uchar4* out, short2* sums) {
    int i = thread();
    uchar4 x = a[i];
    short4 y = b[i];
    out[i] = make_uchar4(x.w, x.x + x.y, x.z >> 1, 255 - x.x);
    sums[i] = make_short2(y.x + y.y, y.z * y.w);
}

struct Settings {
    char flags[3];
    short small;
    int whole;
    double real;
    float3 vector;
    long long big;
};

__global__ void by_value(unsigned char* first, Settings settings, float scale, short offset,
                         double* out, unsigned* bits) {
    int i = thread();
    out[i] = i % 2 ? settings.real : settings.vector.y * scale + settings.whole * offset;
    bits[i] = settings.flags[i % 3] + settings.small + (unsigned)(settings.big >> i % 64) + *first;
}

struct Record {
    unsigned char kind;
    short weight;
    int count[2];
    unsigned char tail[3];
    long long total;
};

__global__ void structures(const unsigned long long* in, unsigned long long* out) {
    int i = thread();
    Record r;
    r.kind = in[3 * i];
    r.weight = in[3 * i] >> 8;
    r.count[0] = in[3 * i + 1];
    r.count[1] = in[3 * i + 1] >> 32;
    for (int j = 0; j < 3; j++) r.tail[j] = in[3 * i + 2] >> 8 * j;
    r.total = (long long)r.count[r.kind & 1] * r.weight;
    Record s = r;
    s.count[i & 1] += s.tail[i % 3];
    out[3 * i] = s.total + s.kind;
    out[3 * i + 1] = (unsigned)s.count[0] | (unsigned long long)s.count[1] << 32;
    out[3 * i + 2] = s.weight * 1000ll + s.tail[0] + r.count[1];
}

__device__ int counter = 100;
__device__ double averages[5] = {1.5, 2.5};
__device__ uint2 lately;
__constant__ short steps[6] = {1, -2, 3, -4, 5, -6};

namespace inner {
__device__ long long total;
}

__global__ void variables(int* out) {
    int i = thread();
    out[i] = atomicAdd(&counter, steps[i % 6]);
    __syncthreads();
    if (threadIdx.x == 0) {
        averages[blockIdx.x] += blockIdx.x * 0.25;
        lately = make_uint2(blockIdx.x, lately.x + 7);
        inner::total += counter;
    }
}

__constant__ float weights[16] = {0.5f,  1,  2,  4,  8,  16,  32,  64,
                                  -0.5f, -1, -2, -4, -8, -16, -32, -64};

__global__ void tables(const unsigned* a, float* out, unsigned char* digits) {
    const int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
    int i = thread();
    unsigned x = a[i];
    out[i] = weights[x & 15] * primes[x >> 4 & 7] + weights[blockIdx.x & 15];
    for (int j = 0; j < 8; j++) digits[8 * i + j] = "0123456789abcdef"[x >> 4 * j & 15];
}

__global__ void cached_loads(int n, const int* a, const float* b, const long long* c, int* out,
                             float* floats, long long* wide) {
    int i = thread();
    __stcg(&out[i], __ldg(&a[n - 1 - i]) ^ __ldcg(&a[i]));
    __stcs(&floats[i], __ldg(&b[n - 1 - i]) - __ldcs(&b[i]));
    __stwt(&wide[i], __ldca(&c[n - 1 - i]) ^ __ldcv(&c[i]));
}

__global__ void copies(const unsigned char* in, unsigned char* out) {
    int i = thread();
    unsigned char held[32];
    memcpy(held, in + 32 * i, 32);
    for (int j = 0; j < 16; j++) {
        unsigned char low = held[j];
        held[j] = held[31 - (j + i) % 32];
        held[31 - j] = low;
    }
    memset(held + i % 28, i, 4);
    memcpy(out + 32 * i, held, 32);
}

__global__ void strided(int n, unsigned long long* out) {
    unsigned long long state = thread() + 1;
    for (int i = thread(); i < n; i += gridDim.x * blockDim.x) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out[i] = state;
    }
}

__global__ void gathered(const unsigned* at, const short* a, short* out, int* back) {
    int i = thread();
    out[i] = a[at[i]];
    back[at[i]] = i - a[i];
}

__global__ void maybe_null(const int* given, const int* absent, int* out) {
    int i = thread();
    out[i] = (given ? given[i] : -1) + (absent ? absent[i] : 1000);
}

__global__ void in_place(double* matrix) {
    int row = blockIdx.x * 4 + threadIdx.x / 16, column = threadIdx.x % 16;
    double* cell = &matrix[row * 16 + column];
    for (int k = 0; k < 10; k++) {
        *cell = *cell * 0.75 + 0.125;
        cell[0] -= *cell * *cell;
    }
}
