/* kernelcast
# A block on every SM reads the same array again and again, its two halves side by side.
footprint = 65536
passes = 40
sms = 80
[[launch]]
kernel = "read_again"
grid = "sms"
block = 512
args = { sums = "f32[512]", array = "f32[footprint // 4]", zero = 0, passes = "passes" }
*/

// The work of gpu-benches' gpu-cache, written anew: its sizes are known when it is compiled.
#ifndef footprint
#define footprint 65536
#endif
#define HALF (footprint / 8)
#define STEPS (HALF / 512)

extern "C" __global__ void read_again(float* __restrict__ sums, const float* __restrict__ array,
                                      int zero, int passes) {
    float sum = 0;
    array += threadIdx.x;
#pragma unroll STEPS > 32 ? 1 : 32 / STEPS
    for (int pass = 0; pass < passes; pass++) {
        array += zero;  // each pass reads anew
        const float* other = array + HALF;
#pragma unroll STEPS >= 64 ? 32 : STEPS
        for (int i = 0; i < HALF; i += 512) sum += array[i] * other[i];
        sum *= 1.3f;
    }
    if (sum == 1233.0f) sums[threadIdx.x] += sum;
}
