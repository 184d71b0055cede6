/* kernelcast
nx = 256
ny = 256
nz = 64

[[launch]]
kernel = "stencil_march"
grid = "nx // 32, ny // 8"
block = "32, 8"
[launch.args]
nx = "nx"
ny = "ny"
nz = "nz"
u = "f32[nz + 2, ny, nx] random(1)"
v = "f32[nz + 2, ny, nx]"
*/

// Heat in a solid: each cell and its six neighbours. A block marches along z, planes in shared
// memory, the neighbours along z in registers; the planes at both ends stay as they are.
#include "tile.cuh"

extern "C" __global__ void stencil_march(int nx, int ny, int nz, const float* __restrict__ u,
                                         float* __restrict__ v) {
    __shared__ float t[10][34];
    int x = threadIdx.x + 1, y = threadIdx.y + 1, plane = nx * ny;
    int i = (blockIdx.y * 8 + threadIdx.y) * nx + blockIdx.x * 32 + threadIdx.x;
    float below = u[i], here = u[i + plane];
    for (int z = 1; z <= nz; z++) {
        float above = u[i + (z + 1) * plane];
        load_tile<32, 8, 1>(t, u + z * plane, nx, ny);
        v[i + z * plane] = 0.1f * (below + above + t[y - 1][x] + t[y + 1][x] + t[y][x - 1] +
                                   t[y][x + 1]) + 0.4f * here;
        below = here;
        here = above;
        __syncthreads();
    }
}
