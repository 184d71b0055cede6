/* kernelcast
side = 1024

[[launch]]
kernel = "hotspot_step"
grid = "side // 32, side // 8"
block = "32, 8"
[launch.args]
side = "side"
power = "f32[side, side] random(1)"
now = "f32[side, side] random(2)"
next = "f32[side, side]"
*/

// Temperature of a chip, one step in time: heat flows to the four neighbours and to the air.
#include "tile.cuh"

extern "C" __global__ void hotspot_step(int side, const float* __restrict__ power,
                                        const float* __restrict__ now, float* __restrict__ next) {
    __shared__ float t[10][34];
    load_tile<32, 8, 1>(t, now, side, side);
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    int i = (blockIdx.y * 8 + threadIdx.y) * side + blockIdx.x * 32 + threadIdx.x;
    float here = t[y][x];
    float across = t[y][x - 1] + t[y][x + 1] - 2.0f * here;
    float along = t[y - 1][x] + t[y + 1][x] - 2.0f * here;
    next[i] = here + 0.1f * (power[i] + 0.5f * across + 0.25f * along + 0.05f * (0.3f - here));
}
