/* kernelcast
n = 2048

[[launch]]
kernel = "reversed"
grid = "n // 256"
block = 256
args = { a = "u32[n]", out = "u32[n]" }

[[launch]]
kernel = "scan"
grid = "n // 256"
block = 256
args = { a = "u32[n]", out = "u32[n]" }

[[launch]]
kernel = "transposed"
grid = [3, 2]
block = [16, 16]
smem = "16 * 17 * 4"
args = { width = 48, height = 32, in = "f32[32, 48] random(1)", out = "f32[48, 32]" }

[[launch]]
kernel = "bitonic_sort"
grid = "n // 256"
block = 128
args = { a = "s32[n]", out = "s32[n]" }

[[launch]]
kernel = "block_votes"
grid = 8
block = 200
args = { a = "s32[1600]", out = "s32[1600, 4]" }

[[launch]]
kernel = "carved"
grid = 4
block = 96
smem = "96 * (8 + 4 + 1)"
args = { a = "u32[384]", out = "u64[384]" }

[[launch]]
kernel = "idle_warps"
grid = 5
block = 160
args = { a = "u32[800]", out = "u32[800]" }

[[launch]]
kernel = "idle_lanes"
grid = 4
block = 96
args = { a = "u32[384]", out = "u32[384]" }

[[launch]]
kernel = "stencil"
grid = 7
block = 64
args = { n = 448, steps = 5, a = "f32[448]", out = "f32[448]" }

[[launch]]
kernel = "either_space"
grid = 4
block = 64
args = { a = "u32[256]", out = "u32[256]" }

[[launch]]
kernel = "reduced<double>"
grid = 4
block = 128
args = { n = "n", in = "f64[n] random(3)", out = "f64[4]" }

[[launch]]
kernel = "reduced<int>"
grid = 4
block = 128
args = { n = "n", in = "s32[n] randint(-1000, 1000, 3)", out = "s32[4]" }
*/

// Shared memory and barriers.

__global__ void reversed(const unsigned* a, unsigned* out) {
    __shared__ unsigned values[256];
    int first = blockIdx.x * 256;
    values[threadIdx.x] = a[first + threadIdx.x];
    __syncthreads();
    out[first + threadIdx.x] = values[255 - threadIdx.x];
}

__global__ void scan(const unsigned* a, unsigned* out) {
    __shared__ unsigned sums[2][256];
    int t = threadIdx.x, from = 0;
    sums[0][t] = a[blockIdx.x * 256 + t];
    for (int distance = 1; distance < 256; distance *= 2) {
        __syncthreads();
        sums[1 - from][t] = sums[from][t] + (t >= distance ? sums[from][t - distance] : 0);
        from = 1 - from;
    }
    out[blockIdx.x * 256 + t] = sums[from][t];
}

__global__ void transposed(int width, int height, const float* in, float* out) {
    extern __shared__ float tile[];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y * 17 + threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    out[y * height + x] = tile[threadIdx.x * 17 + threadIdx.y];
}

__global__ void bitonic_sort(const int* a, int* out) {
    __shared__ int values[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) values[i] = a[blockIdx.x * 256 + i];
    for (int size = 2; size <= 256; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            int low = 2 * threadIdx.x - (threadIdx.x & (stride - 1)), high = low + stride;
            bool ascending = (low & size) == 0;
            if ((values[low] > values[high]) == ascending) {
                int held = values[low];
                values[low] = values[high];
                values[high] = held;
            }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) out[blockIdx.x * 256 + i] = values[i];
}

__global__ void block_votes(const int* a, int4* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int4 found;
    found.x = __syncthreads_count(a[i] > 0);
    found.y = __syncthreads_and(blockIdx.x % 2 || a[i] != 1);
    found.z = __syncthreads_or(a[i] == blockIdx.x * 3);
    found.w = __syncthreads_count(threadIdx.x < 33);
    out[i] = found;
}

// Three arrays in one piece of dynamic shared memory.
__global__ void carved(const unsigned* a, unsigned long long* out) {
    extern __shared__ __align__(16) unsigned char raw[];
    unsigned long long* wide = (unsigned long long*)raw;
    unsigned* plain = (unsigned*)(wide + blockDim.x);
    unsigned char* narrow = (unsigned char*)(plain + blockDim.x);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    wide[t] = a[i] * 1234567890123ull;
    plain[t] = a[i];
    narrow[t] = a[i];
    __syncthreads();
    int other = (t * 7 + 5) % blockDim.x;
    out[i] = wide[other] ^ (unsigned long long)plain[t ^ 1] << 20 ^ narrow[other];
}

// Warps that end early; the others meet at a barrier all the same.
__global__ void idle_warps(const unsigned* a, unsigned* out) {
    __shared__ unsigned sum[3];
    int warp = threadIdx.x / 32, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (warp >= 3) return;
    unsigned value = a[i];
    for (int offset = 16; offset; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    if (threadIdx.x % 32 == 0) sum[warp] = value;
    __syncthreads();
    out[i] = a[i] + sum[0] * 2 + sum[1] * 3 + sum[2] * 5;
}

// Lanes that end early; the rest of their warp meets the others all the same.
__global__ void idle_lanes(const unsigned* a, unsigned* out) {
    __shared__ unsigned char values[96];
    int t = threadIdx.x, i = blockIdx.x * 96 + t;
    values[t] = a[i];
    __syncthreads();
    if ((t * 5 + blockIdx.x) % 7 < 3) return;
    unsigned before = values[95 - t];
    __syncthreads();
    if (t % 32 != 4) values[t] += before;
    int odd = __syncthreads_count(before & 1);
    out[i] = values[(t + 32) % 96] + odd * 256;
}

__global__ void stencil(int n, int steps, const float* a, float* out) {
    __shared__ float now[66], next[66];
    int t = threadIdx.x + 1, i = blockIdx.x * 64 + threadIdx.x;
    now[t] = a[i];
    if (t == 1) now[0] = i > 0 ? a[i - 1] : 0.0f;
    if (t == 64) now[65] = i + 1 < n ? a[i + 1] : 0.0f;
    for (int step = 0; step < steps; step++) {
        __syncthreads();
        next[t] = 0.25f * now[t - 1] + 0.5f * now[t] + 0.25f * now[t + 1];
        __syncthreads();
        now[t] = next[t];
    }
    out[i] = now[t];
}

__device__ __noinline__ unsigned loaded(const unsigned* from, int at) { return from[at] * 2 + 1; }

// One pointer that leads to shared memory in some lanes, to global or local memory in others.
__global__ void either_space(const unsigned* a, unsigned* out) {
    __shared__ unsigned values[64];
    unsigned mine[4];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    values[t] = a[i] + 1;
    for (int j = 0; j < 4; j++) mine[j] = a[i] >> j;
    __syncthreads();
    const unsigned* from = t % 3 == 0 ? values + (63 - t) : t % 3 == 1 ? a + i : mine + (t & 3);
    out[i] = loaded(from, 0);
}

template <class T>
__global__ void reduced(int n, const T* in, T* out) {
    __shared__ T sums[128];
    T sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    sums[threadIdx.x] = sum;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
