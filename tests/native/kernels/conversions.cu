/* kernelcast
n = 8192

[[launch]]
kernel = "float_to_int"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", out = "s32[8 * n]", wide = "s64[8 * n]" }

[[launch]]
kernel = "double_to_int"
grid = "n // 256"
block = 256
args = { n = "n", a = "f64[n]", out = "s32[8 * n]", wide = "s64[8 * n]" }

[[launch]]
kernel = "int_to_float"
grid = "n // 256"
block = 256
args = { n = "n", a = "s32[n]", out = "f32[8 * n]", wide = "f64[2 * n]" }

[[launch]]
kernel = "wide_int_to_float"
grid = "n // 256"
block = 256
args = { n = "n", a = "s64[n]", out = "f32[8 * n]", wide = "f64[8 * n]" }

[[launch]]
kernel = "between_floats"
grid = "n // 256"
block = 256
args = { n = "n", a = "f32[n]", b = "f64[n]", out = "f32[5 * n]", wide = "f64[2 * n]" }

[[launch]]
kernel = "casts"
grid = "n // 256"
block = 256
args = { n = "n", a = "s32[n]", b = "f32[n]", out = "s64[8 * n]", floats = "f32[5 * n]" }

[[launch]]
kernel = "views"
grid = "n // 256"
block = 256
args = { n = "n", a = "u32[n]", b = "u64[n]", out = "u32[4 * n]", wide = "u64[2 * n]" }
*/

// Conversions with every rounding, and what they do with values that do not fit.

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

#define ROUNDINGS(function)                                  \
    {                                                        \
        function##_rn(x), function##_rz(x), function##_ru(x), function##_rd(x) \
    }

template <class T>
__device__ void store(T* out, int n, const T (&values)[4]) {
    for (int k = 0; k < 4; k++) out[k * n + thread()] = values[k];
}

__global__ void float_to_int(int n, const float* a, int* out, long long* wide) {
    float x = a[thread()];
    store<int>(out, n, ROUNDINGS(__float2int));
    store<unsigned>((unsigned*)out + 4 * n, n, ROUNDINGS(__float2uint));
    store<long long>(wide, n, ROUNDINGS(__float2ll));
    store<unsigned long long>((unsigned long long*)wide + 4 * n, n, ROUNDINGS(__float2ull));
}

__global__ void double_to_int(int n, const double* a, int* out, long long* wide) {
    double x = a[thread()];
    store<int>(out, n, ROUNDINGS(__double2int));
    store<unsigned>((unsigned*)out + 4 * n, n, ROUNDINGS(__double2uint));
    store<long long>(wide, n, ROUNDINGS(__double2ll));
    store<unsigned long long>((unsigned long long*)wide + 4 * n, n, ROUNDINGS(__double2ull));
}

__global__ void int_to_float(int n, const int* a, float* out, double* wide) {
    int x = a[thread()];
    store<float>(out, n, ROUNDINGS(__int2float));
    store<float>(out + 4 * n, n, ROUNDINGS(__uint2float));
    wide[thread()] = __int2double_rn(x);
    wide[n + thread()] = __uint2double_rn(x);
}

__global__ void wide_int_to_float(int n, const long long* a, float* out, double* wide) {
    long long x = a[thread()];
    store<float>(out, n, ROUNDINGS(__ll2float));
    store<float>(out + 4 * n, n, ROUNDINGS(__ull2float));
    store<double>(wide, n, ROUNDINGS(__ll2double));
    store<double>(wide + 4 * n, n, ROUNDINGS(__ull2double));
}

__global__ void between_floats(int n, const float* a, const double* b, float* out, double* wide) {
    int i = thread();
    double x = b[i];
    store<float>(out, n, ROUNDINGS(__double2float));
    out[4 * n + i] = (float)x;
    wide[i] = a[i];
    wide[n + i] = (double)a[i] * a[i] + x;
}

// Plain casts of values that fit.
__global__ void casts(int n, const int* a, const float* b, long long* out, float* floats) {
    int i = thread();
    int x = a[i];
    float y = fabsf(b[i]) < 120.0f ? b[i] : 1.5f;
    out[i] = (signed char)x;
    out[n + i] = (unsigned char)x;
    out[2 * n + i] = (short)x;
    out[3 * n + i] = (unsigned short)x;
    out[4 * n + i] = (bool)x;
    out[5 * n + i] = (int)y + 1000ll * (signed char)y + 1000000ll * (short)y;
    out[6 * n + i] = (unsigned)fabsf(y) + 1000ull * (unsigned char)fabsf(y);
    out[7 * n + i] = (long long)(y * 1e9f) ^ (unsigned long long)(fabsf(y) * 1e16);
    floats[i] = x;
    floats[n + i] = (unsigned)x;
    floats[2 * n + i] = (signed char)x + (unsigned char)x * 0.25f;
    floats[3 * n + i] = (short)x * 0.5f - (unsigned short)x;
    floats[4 * n + i] = (bool)y;
}

__global__ void views(int n, const unsigned* a, const unsigned long long* b, unsigned* out,
                      unsigned long long* wide) {
    int i = thread();
    float x = __uint_as_float(a[i] & 0xbfffffff);
    double y = __longlong_as_double(b[i] & 0xbfffffffffffffff);
    out[i] = __float_as_int(x) + 1;
    out[n + i] = __float_as_uint(x * 0.5f);
    out[2 * n + i] = __double2loint(y);
    out[3 * n + i] = __double2hiint(y);
    wide[i] = __double_as_longlong(y * 0.5);
    wide[n + i] = __double_as_longlong(__hiloint2double(a[i] & 0x3fffffff, (int)b[i]));
}
