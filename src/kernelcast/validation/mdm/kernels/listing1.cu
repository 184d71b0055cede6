/* kernelcast
threads = "1 << 16"
n = 8

[[launch]]
kernel = "square"
grid = "threads // 256"
block = 256
smem = "4 * 256 * n"
[launch.args]
stride = 1
n = "n"
input = "f32[threads + n] random(1)"

[[launch]]
kernel = "square"
grid = "threads // 256"
block = 256
smem = "4 * 256 * n"
[launch.args]
stride = 32
n = "n"
scattered_input = "f32[threads * 32 + n] random(1)"
*/

// Every thread squares n values, `stride` words from those of the next thread.
extern "C" __global__ void square(int stride, int n, const float* __restrict__ input) {
    extern __shared__ float output[];
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < n; i++) {
        float t = input[stride * ix + i];
        output[threadIdx.x * n + i] = t * t;
    }
}
