/* kernelcast
side = 2048

[[launch]]
kernel = "convolution_3x3"
grid = "side // 32, side // 8"
block = "32, 8"
[launch.args]
side = "side"
weight = "f32[3, 3] random(1)"
u = "f32[side, side] random(2)"
v = "f32[side, side]"
*/

// A filter of 3 x 3 weights.
#include "tile.cuh"

extern "C" __global__ void convolution_3x3(int side, const float* __restrict__ weight,
                                           const float* __restrict__ u, float* __restrict__ v) {
    __shared__ float t[10][34];
    load_tile<32, 8, 1>(t, u, side, side);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 9; k++) sum += weight[k] * t[threadIdx.y + k / 3][threadIdx.x + k % 3];
    v[(blockIdx.y * 8 + threadIdx.y) * side + blockIdx.x * 32 + threadIdx.x] = sum;
}
