/* kernelcast
n = "1 << 26"

[[launch]]
kernel = "saxpy"
grid = "cdiv(n, 256)"
block = 256
args = { n = "n", a = 2.0, x = "f32[n] random(1)", y = "f32[n] random(2)" }
*/

// y = a * x + y: three memory accesses for one multiply-add, so memory sets the pace.
extern "C" __global__ void saxpy(int n, float a, const float* __restrict__ x,
                                 float* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
