/* kernelcast
side = 1024

[[launch]]
kernel = "srad_coefficients"
grid = "side // 32, side // 8"
block = "32, 8"
[launch.args]
side = "side"
q0 = 0.5
image = "f32[side, side] random(1)"
slope = "f32[4, side, side] random(2)"
coefficient = "f32[side, side] random(3)"

[[launch]]
kernel = "srad_update"
grid = "side // 32, side // 8"
block = "32, 8"
[launch.args]
side = "side"
rate = 0.125
slope = "f32[4, side, side] random(2)"
coefficient = "f32[side, side] random(3)"
image = "f32[side, side] random(1)"
*/

// Anisotropic diffusion that takes speckle out of an image and keeps its edges.
#include "tile.cuh"

// Differences to the four neighbours, and how freely a cell diffuses.
extern "C" __global__ void srad_coefficients(int side, float q0, const float* __restrict__ image,
                                             float* __restrict__ slope,
                                             float* __restrict__ coefficient) {
    __shared__ float t[10][34];
    load_tile<32, 8, 1>(t, image, side, side);
    int x = threadIdx.x + 1, y = threadIdx.y + 1, plane = side * side;
    int i = (blockIdx.y * 8 + threadIdx.y) * side + blockIdx.x * 32 + threadIdx.x;
    float here = t[y][x] + 1.0f;
    float north = t[y - 1][x] + 1.0f - here, south = t[y + 1][x] + 1.0f - here;
    float west = t[y][x - 1] + 1.0f - here, east = t[y][x + 1] + 1.0f - here;
    float gradient = (north * north + south * south + west * west + east * east) / (here * here);
    float laplacian = (north + south + west + east) / here;
    float mean = 1.0f + 0.25f * laplacian;
    float q = (0.5f * gradient - 0.0625f * laplacian * laplacian) / (mean * mean);
    float c = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
    slope[i] = north;
    slope[i + plane] = south;
    slope[i + 2 * plane] = west;
    slope[i + 3 * plane] = east;
    coefficient[i] = fminf(fmaxf(c, 0.0f), 1.0f);
}

extern "C" __global__ void srad_update(int side, float rate, const float* __restrict__ slope,
                                       const float* __restrict__ coefficient,
                                       float* __restrict__ image) {
    __shared__ float c[10][34];
    load_tile<32, 8, 1>(c, coefficient, side, side);
    int x = threadIdx.x + 1, y = threadIdx.y + 1, plane = side * side;
    int i = (blockIdx.y * 8 + threadIdx.y) * side + blockIdx.x * 32 + threadIdx.x;
    float flow = c[y][x] * (slope[i] + slope[i + 2 * plane]) + c[y + 1][x] * slope[i + plane] +
                 c[y][x + 1] * slope[i + 3 * plane];
    image[i] += 0.25f * rate * flow;
}
