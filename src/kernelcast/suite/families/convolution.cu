// Filters. The one-dimensional weights are a triangle of height 17 in constant memory; cells
// beyond the border have the value of the nearest cell.

__constant__ float triangle[33] = {
    1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
    16, 15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1};

// The number of weights is known to the compiler: the loop unrolls.
template <int RADIUS>
__global__ void convolution_1d(int n, const float* __restrict__ x, float* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum += triangle[16 + k] * x[min(max(i + k, 0), n - 1)];
    y[i] = sum;
}

extern "C" __global__ void convolution_2d(int nx, int ny, int radius,
                                          const float* __restrict__ weight,
                                          const float* __restrict__ u, float* __restrict__ v) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    float sum = 0.0f;
    for (int dy = -radius; dy <= radius; dy++) {
        const float* row = u + min(max(y + dy, 0), ny - 1) * nx;
        for (int dx = -radius; dx <= radius; dx++)
            sum += *weight++ * row[min(max(x + dx, 0), nx - 1)];
    }
    v[y * nx + x] = sum;
}

// The rows of a separable filter, through shared memory.
extern "C" __global__ void convolution_rows(int nx, int ny, int radius,
                                            const float* __restrict__ u, float* __restrict__ v) {
    extern __shared__ float cells[];
    int width = blockDim.x + 2 * radius, y = blockIdx.y * blockDim.y + threadIdx.y;
    int left = blockIdx.x * blockDim.x - radius, x = left + radius + threadIdx.x;
    float* row = cells + threadIdx.y * width;
    if (y < ny)
        for (int e = threadIdx.x; e < width; e += blockDim.x)
            row[e] = u[y * nx + min(max(left + e, 0), nx - 1)];
    __syncthreads();
    if (x >= nx || y >= ny) return;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; k++) sum += triangle[16 + k] * row[threadIdx.x + radius + k];
    v[y * nx + x] = sum;
}

// The columns of a separable filter, through shared memory.
extern "C" __global__ void convolution_columns(int nx, int ny, int radius,
                                               const float* __restrict__ u,
                                               float* __restrict__ v) {
    extern __shared__ float cells[];
    int height = blockDim.y + 2 * radius, x = blockIdx.x * blockDim.x + threadIdx.x;
    int top = blockIdx.y * blockDim.y - radius, y = top + radius + threadIdx.y;
    if (x < nx)
        for (int e = threadIdx.y; e < height; e += blockDim.y)
            cells[e * blockDim.x + threadIdx.x] = u[min(max(top + e, 0), ny - 1) * nx + x];
    __syncthreads();
    if (x >= nx || y >= ny) return;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; k++)
        sum += triangle[16 + k] * cells[(threadIdx.y + radius + k) * blockDim.x + threadIdx.x];
    v[y * nx + x] = sum;
}

// A layer of a neural network: 3 x 3 weights for every pair of channels, nothing beyond the
// border, and a rectifier.
extern "C" __global__ void convolution_layer(int channels, int nx, int ny,
                                             const float* __restrict__ weight,
                                             const float* __restrict__ u,
                                             float* __restrict__ v) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int to = blockIdx.z;
    if (x >= nx || y >= ny) return;
    float sum = -2.0f * channels;
    for (int from = 0; from < channels; from++) {
        const float* w = weight + (to * channels + from) * 9;
        const float* plane = u + from * nx * ny;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int cx = x + dx, cy = y + dy;
                if (cx >= 0 && cy >= 0 && cx < nx && cy < ny)
                    sum += w[(dy + 1) * 3 + dx + 1] * plane[cy * nx + cx];
            }
    }
    v[(to * ny + y) * nx + x] = fmaxf(sum, 0.0f);
}
