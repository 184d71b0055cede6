/* kernelcast
nx = 384
ny = 256
nz = 64

[[launch]]
kernel = "fdtd3d_step"
grid = "nx // 32, ny // 8"
block = "32, 8"
[launch.args]
nx = "nx"
ny = "ny"
nz = "nz"
weight = "f32[5] random(1)"
now = "f32[nz + 8, ny, nx] random(2)"
next = "f32[nz + 8, ny, nx]"
*/

// Finite differences in time and space: each cell takes from the four next to it along x, y and z.
// A block marches along z, planes in shared memory, the column of each thread in registers; four
// planes at each end have no successor.
#include "tile.cuh"

extern "C" __global__ void fdtd3d_step(int nx, int ny, int nz, const float* __restrict__ weight,
                                       const float* __restrict__ now, float* __restrict__ next) {
    __shared__ float t[16][40];
    int x = threadIdx.x + 4, y = threadIdx.y + 4, plane = nx * ny;
    int i = (blockIdx.y * 8 + threadIdx.y) * nx + blockIdx.x * 32 + threadIdx.x;
    float column[9];
#pragma unroll
    for (int k = 0; k < 8; k++) column[k + 1] = now[i + k * plane];
    for (int z = 4; z < nz + 4; z++) {
#pragma unroll
        for (int k = 0; k < 8; k++) column[k] = column[k + 1];
        column[8] = now[i + (z + 4) * plane];
        load_tile<32, 8, 4>(t, now + z * plane, nx, ny);
        float sum = weight[0] * column[4];
#pragma unroll
        for (int k = 1; k <= 4; k++)
            sum += weight[k] * (column[4 - k] + column[4 + k] + t[y - k][x] + t[y + k][x] +
                                t[y][x - k] + t[y][x + k]);
        next[i + z * plane] = sum;
        __syncthreads();
    }
}
