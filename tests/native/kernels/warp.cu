/* kernelcast
n = 1024

[[launch]]
kernel = "shuffles"
grid = "n // 128"
block = 128
args = { n = "n", a = "u32[n]", out = "u32[12 * n]" }

[[launch]]
kernel = "typed_shuffles"
grid = "n // 128"
block = 128
[launch.args]
n = "n"
a = "f64[n]"
b = "s64[n]"
c = "f32[n]"
out = "f64[2 * n]"
wide = "s64[2 * n]"
single = "f32[2 * n]"

[[launch]]
kernel = "votes"
grid = "n // 128"
block = 128
args = { n = "n", a = "s32[n]", out = "u32[5 * n]" }

[[launch]]
kernel = "part_of_a_warp"
grid = 9
block = 77
args = { n = 693, a = "u32[693]", out = "u32[4 * 693]" }

[[launch]]
kernel = "matches"
grid = "n // 128"
block = 128
args = { n = "n", a = "u32[n]", b = "s64[n]", out = "u32[4 * n]" }

[[launch]]
kernel = "reductions"
grid = "n // 128"
block = 128
args = { n = "n", a = "u32[n]", out = "u32[9 * n]" }

[[launch]]
kernel = "parted"
grid = "n // 128"
block = 128
args = { n = "n", a = "u32[n]", out = "u32[2 * n]" }

[[launch]]
kernel = "warp_scan"
grid = "n // 128"
block = 128
args = { n = "n", a = "f32[n]", out = "f32[n]" }

[[launch]]
kernel = "through_shared"
grid = "n // 128"
block = 128
args = { a = "u32[n]", out = "u32[n]" }

[[launch]]
kernel = "compacted"
grid = "n // 128"
block = 128
args = { a = "s32[n]", out = "s32[n]", kept = "u32[n // 32]" }
*/

// What the lanes of a warp do together.

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

const unsigned ALL = 0xffffffff;

__global__ void shuffles(int n, const unsigned* a, unsigned* out) {
    int i = thread();
    unsigned x = a[i];
    out[i] = __shfl_sync(ALL, x, 5);
    out[n + i] = __shfl_sync(ALL, x, x);
    out[2 * n + i] = __shfl_sync(ALL, x, i * 3 + 1, 8);
    out[3 * n + i] = __shfl_up_sync(ALL, x, 1);
    out[4 * n + i] = __shfl_up_sync(ALL, x, 3, 16);
    out[5 * n + i] = __shfl_up_sync(ALL, x, i % 32, 4);
    out[6 * n + i] = __shfl_down_sync(ALL, x, 2);
    out[7 * n + i] = __shfl_down_sync(ALL, x, 5, 8);
    out[8 * n + i] = __shfl_down_sync(ALL, x, i & 7, 2);
    out[9 * n + i] = __shfl_xor_sync(ALL, x, 1);
    out[10 * n + i] = __shfl_xor_sync(ALL, x, 21);
    out[11 * n + i] = __shfl_xor_sync(ALL, x, 12, 8);
}

__global__ void typed_shuffles(int n, const double* a, const long long* b, const float* c,
                               double* out, long long* wide, float* single) {
    int i = thread();
    out[i] = __shfl_down_sync(ALL, a[i], 7);
    out[n + i] = __shfl_sync(ALL, a[i], 31 - i % 32);
    wide[i] = __shfl_xor_sync(ALL, b[i], 16);
    wide[n + i] = __shfl_up_sync(ALL, (unsigned long long)b[i], 4, 8);
    single[i] = __shfl_sync(ALL, c[i], 0);
    single[n + i] = __shfl_up_sync(ALL, c[i], 9);
}

__global__ void votes(int n, const int* a, unsigned* out) {
    int i = thread();
    out[i] = __ballot_sync(ALL, a[i] > 10);
    out[n + i] = __any_sync(ALL, a[i] == i % 64);
    out[2 * n + i] = __all_sync(ALL, a[i] != 3);
    out[3 * n + i] = __popc(__ballot_sync(ALL, a[i] & 1) & ((1u << i % 32) - 1));
    out[4 * n + i] = __ballot_sync(ALL, a[i]) ^ __ballot_sync(ALL, i & 1);
}

// The last warp is not full: the mask names the lanes there are.
__global__ void part_of_a_warp(int n, const unsigned* a, unsigned* out) {
    int i = thread(), lane = threadIdx.x % 32;
    unsigned mask = __ballot_sync(threadIdx.x < 64 ? ALL : 0x1fff, 1), x = a[i];
    out[i] = mask;
    out[n + i] = __shfl_xor_sync(mask, x, 1) * (lane != 12);
    out[2 * n + i] = __reduce_max_sync(mask, x);
    out[3 * n + i] = __all_sync(mask, x > 5) + 2 * __any_sync(mask, x == 1);
}

__global__ void matches(int n, const unsigned* a, const long long* b, unsigned* out) {
    int i = thread(), same;
    out[i] = __match_any_sync(ALL, a[i] % 5);
    out[n + i] = __match_any_sync(ALL, b[i] >> 60);
    out[2 * n + i] = __match_all_sync(ALL, a[i / 32 * 32 + (i / 32 % 2 ? i % 32 : 0)], &same);
    out[3 * n + i] = same;
}

__global__ void reductions(int n, const unsigned* a, unsigned* out) {
    int i = thread();
    unsigned x = a[i];
    out[i] = __reduce_add_sync(ALL, x);
    out[n + i] = __reduce_min_sync(ALL, x);
    out[2 * n + i] = __reduce_max_sync(ALL, x);
    out[3 * n + i] = __reduce_and_sync(ALL, x | 0xf0);
    out[4 * n + i] = __reduce_or_sync(ALL, x & 0xff);
    out[5 * n + i] = __reduce_xor_sync(ALL, x);
    out[6 * n + i] = __reduce_add_sync(ALL, (int)x >> 4);
    out[7 * n + i] = __reduce_min_sync(ALL, (int)x);
    out[8 * n + i] = __reduce_max_sync(ALL, (int)x);
}

// Both sides of a branch do something together, each with its own lanes.
__global__ void parted(int n, const unsigned* a, unsigned* out) {
    int i = thread();
    unsigned x = a[i], low = __ballot_sync(ALL, x % 3 == 0);
    if (x % 3 == 0) {
        out[i] = __reduce_add_sync(low, x);
        out[n + i] = __shfl_sync(low, x, __ffs(low) - 1);
    } else {
        out[i] = __ballot_sync(~low, x & 1);
        out[n + i] = __match_any_sync(~low, x % 7);
    }
    __syncwarp();
    if (threadIdx.x % 32 >= 20) return;
    out[i] ^= __shfl_down_sync(0xfffff, x, 1) * (threadIdx.x % 32 != 19);
}

__global__ void warp_scan(int n, const float* a, float* out) {
    int i = thread(), lane = i % 32;
    float sum = a[n - 1 - i];
    for (int distance = 1; distance < 32; distance *= 2) {
        float other = __shfl_up_sync(ALL, sum, distance);
        if (lane >= distance) sum += other;
    }
    out[i] = sum;
}

__global__ void through_shared(const unsigned* a, unsigned* out) {
    __shared__ unsigned values[128];
    int t = threadIdx.x, warp = t / 32 * 32;
    values[t] = a[thread()];
    __syncwarp();
    unsigned x = values[warp + (t * 5 + 3) % 32];
    __syncwarp();
    values[t] = x ^ t;
    __syncwarp();
    out[thread()] = values[warp + 31 - t % 32];
}

// Keeps what is positive, warp by warp, in its order.
__global__ void compacted(const int* a, int* out, unsigned* kept) {
    int i = thread(), lane = i % 32;
    unsigned keep = __ballot_sync(ALL, a[i] > 0);
    if (a[i] > 0) out[i - lane + __popc(keep & ((1u << lane) - 1))] = a[i];
    if (lane == 0) kept[i / 32] = __popc(keep);
}
