// Stencils on regular grids. Cells at the border keep their value.

extern "C" __global__ void stencil_5pt(int nx, int ny, const float* __restrict__ u,
                                       float* __restrict__ v) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;

    int i = y * nx + x;
    float value = u[i];
    if (x > 0 && y > 0 && x < nx - 1 && y < ny - 1)
        value = 0.5f * value + 0.125f * (u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx]);
    v[i] = value;
}

// The mean of 3 x 3 cells, weighted 1 2 1 in both directions.
extern "C" __global__ void stencil_9pt(int nx, int ny, const float* __restrict__ u,
                                       float* __restrict__ v) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;

    int i = y * nx + x;
    if (x == 0 || y == 0 || x == nx - 1 || y == ny - 1) {
        v[i] = u[i];
        return;
    }
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            sum += (2 - dx * dx) * (2 - dy * dy) * u[i + dy * nx + dx];
    v[i] = sum / 16.0f;
}

// stencil_5pt with the block's cells and their rim in shared memory.
template <int TX, int TY>
__global__ void stencil_5pt_shared(int nx, int ny, const float* __restrict__ u,
                                   float* __restrict__ v) {
    __shared__ float tile[TY + 2][TX + 2];
    int left = blockIdx.x * TX - 1, top = blockIdx.y * TY - 1;
    for (int e = threadIdx.y * TX + threadIdx.x; e < (TX + 2) * (TY + 2); e += TX * TY) {
        int x = min(max(left + e % (TX + 2), 0), nx - 1);
        int y = min(max(top + e / (TX + 2), 0), ny - 1);
        tile[e / (TX + 2)][e % (TX + 2)] = u[y * nx + x];
    }
    __syncthreads();

    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = left + tx, y = top + ty;
    if (x >= nx || y >= ny) return;
    float value = tile[ty][tx];
    if (x > 0 && y > 0 && x < nx - 1 && y < ny - 1)
        value = 0.5f * value + 0.125f * (tile[ty][tx - 1] + tile[ty][tx + 1] +
                                         tile[ty - 1][tx] + tile[ty + 1][tx]);
    v[y * nx + x] = value;
}

extern "C" __global__ void stencil_7pt(int nx, int ny, int nz, const float* __restrict__ u,
                                       float* __restrict__ v) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= nx || y >= ny) return;

    int plane = nx * ny, i = z * plane + y * nx + x;
    float value = u[i];
    if (x > 0 && y > 0 && z > 0 && x < nx - 1 && y < ny - 1 && z < nz - 1)
        value = 0.4f * value + 0.1f * (u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx] +
                                       u[i - plane] + u[i + plane]);
    v[i] = value;
}

// stencil_7pt, every thread walking along z with three planes in registers.
extern "C" __global__ void stencil_7pt_march(int nx, int ny, int nz, const float* __restrict__ u,
                                             float* __restrict__ v) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;

    bool inside = x > 0 && y > 0 && x < nx - 1 && y < ny - 1;
    int plane = nx * ny, i = y * nx + x;
    float below = 0.0f, here = u[i], above = u[i + plane];
    v[i] = here;
    for (int z = 1; z < nz; z++) {
        i += plane;
        below = here;
        here = above;
        if (z == nz - 1) break;
        above = u[i + plane];
        float value = here;
        if (inside)
            value = 0.4f * here + 0.1f * (u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx] +
                                          below + above);
        v[i] = value;
    }
    v[i] = here;
}

// Conway's game of life on a torus of bytes.
extern "C" __global__ void stencil_life(int nx, int ny, const unsigned char* __restrict__ u,
                                        unsigned char* __restrict__ v) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;

    int left = x == 0 ? nx - 1 : x - 1, right = x == nx - 1 ? 0 : x + 1;
    int rows[3] = {(y == 0 ? ny - 1 : y - 1) * nx, y * nx, (y == ny - 1 ? 0 : y + 1) * nx};
    int alive = 0;
    for (int r = 0; r < 3; r++) alive += u[rows[r] + left] + u[rows[r] + x] + u[rows[r] + right];
    alive -= u[rows[1] + x];
    v[rows[1] + x] = alive == 3 || (alive == 2 && u[rows[1] + x]);
}
