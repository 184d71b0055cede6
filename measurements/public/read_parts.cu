/* kernelcast
# Blocks read one array, 512 KiB each, in turn.
parts = 16
blocks = 512
[[launch]]
kernel = "read_part"
grid = "blocks"
block = 1024
args = { sums = "f64[1024]", array = "f64[parts << 16]", parts = "parts" }
*/

// The work of gpu-benches' gpu-l2-cache, written anew.
#undef parts

extern "C" __global__ void read_part(double* __restrict__ sums, const double* __restrict__ array,
                                     int parts) {
    double sum = 0;
    for (int i = 0; i < 32; i++) {
        int at = (blockDim.x * parts * i + (blockIdx.x % parts) * 1024) * 2 + threadIdx.x;
        sum += array[at] * array[at + 1024];
    }
    sum *= 1.3;
    if (threadIdx.x > 1233 || sum == 23.12) sums[threadIdx.x] += sum;
}
