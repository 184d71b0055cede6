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
// Written anew: nr_outer times nr_inner times four sums of products, two after two. As in what was measured the factors
// are constants: the compiler adds their products, and reads one register an addition.
extern "C" __global__ void fp32_kernel(float* x) {
    float real = threadIdx.x, imaginary = threadIdx.x + 1.0f;
    for (int outer = 0; outer < nr_outer; outer++) {
        for (int inner = 0; inner < nr_inner; inner++) {
            real += 1.0f * 3.0f;
            real -= 2.0f * 4.0f;
            imaginary += 1.0f * 4.0f;
            imaginary += 2.0f * 3.0f;
        }
    }
    x[blockIdx.x * blockDim.x + threadIdx.x] = real + imaginary;
}
