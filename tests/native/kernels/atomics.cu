/* kernelcast
n = 2048

[[launch]]
kernel = "on_global<int>"
grid = "n // 128"
block = 128
args = { a = "s32[n]", cells = "s32[8, 16]", out = "s32[n]" }

[[launch]]
kernel = "on_global<unsigned>"
grid = "n // 128"
block = 128
args = { a = "u32[n]", cells = "u32[8, 16]", out = "u32[n]" }

[[launch]]
kernel = "on_global<unsigned long long>"
grid = "n // 128"
block = 128
args = { a = "u64[n]", cells = "u64[8, 16]", out = "u64[n]" }

[[launch]]
kernel = "on_shared<int>"
grid = "n // 128"
block = 128
args = { a = "s32[n]", out = "s32[n // 128, 64]" }

[[launch]]
kernel = "on_shared<unsigned long long>"
grid = "n // 128"
block = 128
args = { a = "u64[n]", out = "u64[n // 128, 64]" }

[[launch]]
kernel = "floating<float>"
grid = "n // 128"
block = 128
args = { in = "f32[n] random(1)", sums = "f32[8]", out = "f32[n // 128]", old = "f32[n]" }

[[launch]]
kernel = "floating<double>"
grid = "n // 128"
block = 128
args = { in = "f64[n] random(2)", sums = "f64[8]", out = "f64[n // 128]", old = "f64[n]" }

[[launch]]
kernel = "wrapping"
grid = 8
block = 96
args = { up = "u32[8]", down = "u32[8]", out = "u32[768, 2]" }

[[launch]]
kernel = "swapped"
grid = 8
block = 96
args = { cells = "u32[8]", wide = "u64[8]", out = "u64[768, 2]" }

[[launch]]
kernel = "swapped_halves"
grid = 8
block = 96
args = { cells = "u16[8]", out = "u16[768]" }

[[launch]]
kernel = "maximum_by_swaps"
grid = 8
block = 96
args = { in = "f32[768] random(5)", most = "f32[3]" }

[[launch]]
kernel = "appended"
grid = 8
block = 96
args = { a = "s32[768]", count = "s32[1]", out = "s32[768]" }

[[launch]]
kernel = "last_block"
grid = 12
block = 64
args = { in = "u32[768] random(7)", partial = "u32[12]", ticket = "u32[1]", total = "u32[2]" }

[[launch]]
kernel = "locked"
grid = 6
block = 32
args = { lock = "s32[1]", balance = "s32[2]" }

[[launch]]
kernel = "spread"
grid = 3
block = 128
args = { a = "u32[384]", bins = "u32[40]" }
*/

// Atomics. Where old values are stored, a thread performs one atomic on an address between two
// waits: their order is then that of blocks, warps and lanes.

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <class T>
__global__ void on_global(const T* a, T* cells, T* out) {
    int i = thread(), cell = i % 16;
    T x = a[i];
    out[i] = atomicAdd(&cells[cell], x);
    atomicSub((unsigned*)&cells[16 + cell], (unsigned)x);
    atomicMin(&cells[32 + cell], x);
    atomicMax(&cells[48 + cell], x);
    atomicAnd(&cells[64 + cell], x);
    atomicOr(&cells[80 + cell], x);
    out[i] ^= atomicXor(&cells[96 + cell], x);
    out[i] ^= atomicExch(&cells[112 + cell], x);
}

template <class T>
__global__ void on_shared(const T* a, T* out) {
    __shared__ T cells[64];
    int t = threadIdx.x;
    T x = a[thread()];
    if (t < 64) cells[t] = t % 8 == 3 ? ~T(0) : 0;
    __syncthreads();
    T old = atomicAdd(&cells[t % 8], x);
    __syncthreads();
    atomicMin(&cells[8 + t % 8], old);
    atomicMax(&cells[16 + t % 8], x);
    atomicAnd(&cells[24 + t % 8], x | 0xff);
    atomicOr(&cells[32 + t % 8], x & old);
    atomicXor(&cells[40 + t % 8], x);
    old = atomicExch(&cells[48 + t % 8], x);
    atomicAdd(&cells[56 + t % 8], old);
    __syncthreads();
    if (t < 64) out[blockIdx.x * 64 + t] = cells[t];
}

template <class T>
__global__ void floating(const T* in, T* sums, T* out, T* old) {
    __shared__ T sum;
    int i = thread();
    if (threadIdx.x == 0) sum = T(0.5);
    __syncthreads();
    old[i] = atomicAdd(&sums[i % 8], in[i]);
    atomicAdd(&sum, -in[i]);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void wrapping(unsigned* up, unsigned* down, uint2* out) {
    int i = thread();
    out[i].x = atomicInc(&up[i % 8], 10 + i % 8);
    out[i].y = atomicDec(&down[i % 8], 20 + i % 8);
}

__global__ void swapped(unsigned* cells, unsigned long long* wide, unsigned long long* out) {
    int i = thread();
    out[2 * i] = atomicCAS(&cells[i % 8], i / 16, i / 16 + 1);
    out[2 * i + 1] = atomicCAS(&wide[i % 8], i / 8, (1ull << 33) * (i % 3) + i / 8 + 1);
}

__global__ void swapped_halves(unsigned short* cells, unsigned short* out) {
    int i = thread();
    unsigned short expected = i / 24, next = expected + 1;
    out[i] = atomicCAS(&cells[i % 8], expected, next);
}

__global__ void maximum_by_swaps(const float* in, float* most) {
    float x = in[thread()];
    unsigned* cell = (unsigned*)&most[threadIdx.x % 3];
    unsigned seen = *cell;
    while (__uint_as_float(seen) < x) {
        unsigned found = atomicCAS(cell, seen, __float_as_uint(x));
        if (found == seen) break;
        seen = found;
    }
}

__global__ void appended(const int* a, int* count, int* out) {
    int x = a[thread()];
    if (x > 0) out[atomicAdd(count, 1)] = x;
}

__global__ void last_block(const unsigned* in, unsigned* partial, unsigned* ticket,
                           unsigned* total) {
    __shared__ unsigned sum;
    __shared__ bool is_last;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[thread()]);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicAdd(ticket, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    if (threadIdx.x < gridDim.x) atomicAdd(total, partial[threadIdx.x]);
    if (threadIdx.x == 0) total[1] = blockIdx.x;
}

// One lane of a warp at a time: the others of the warp never compete for the lock.
__global__ void locked(int* lock, int* balance) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        balance[0] += blockIdx.x * 3 + 1;
        balance[1] ^= balance[0];
        __threadfence();
        atomicExch(lock, 0);
    }
}

__global__ void spread(const unsigned* a, unsigned* bins) {
    __shared__ unsigned local[40];
    for (int i = threadIdx.x; i < 40; i += blockDim.x) local[i] = 0;
    __syncthreads();
    unsigned x = a[thread()];
    for (int k = 0; k < 6; k++) atomicAdd(&local[(x >> 5 * k) % 40], 1u + k);
    __syncthreads();
    for (int i = threadIdx.x; i < 40; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}
