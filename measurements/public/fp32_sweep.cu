/* kernelcast
block_size_x = 1024
nr_outer = 64
nr_inner = 1024
sms = 48
[[launch]]
kernel = "fp32_kernel"
grid = ["sms", 64]
block = "block_size_x"
args = { x = "f32[sms * block_size_x]" }
*/
// Written anew: nr_outer times nr_inner times four sums of products, two after two.
extern "C" __global__ void fp32_kernel(float* x) {
    float2 sum = {x[threadIdx.x], 0.5f}, left = {1.0f, 0.25f}, right = {0.5f, x[threadIdx.x]};
    for (int outer = 0; outer < nr_outer; outer++) {
#pragma unroll 64
        for (int inner = 0; inner < nr_inner; inner++) {
            sum.x += left.x * right.x;
            sum.y += left.x * right.y;
            sum.x -= left.y * right.y;
            sum.y += left.y * right.x;
        }
        left.x = sum.y;
    }
    x[blockIdx.x * blockDim.x + threadIdx.x] = sum.x + sum.y;
}
