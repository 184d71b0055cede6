// Points and their neighbours. Coordinates are small whole numbers, so that all sums are exact.

// k-means: the nearest centre of every point, the first of equals.
extern "C" __global__ void clustering_assign(int n, int k, int dims,
                                             const float* __restrict__ point,
                                             const float* __restrict__ centre,
                                             int* __restrict__ label) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float least = 1e30f;
    int nearest = 0;
    for (int c = 0; c < k; c++) {
        float distance = 0.0f;
        for (int d = 0; d < dims; d++) {
            float difference = point[d * n + i] - centre[c * dims + d];
            distance += difference * difference;
        }
        if (distance < least) {
            least = distance;
            nearest = c;
        }
    }
    label[i] = nearest;
}

// k-means: sums and counts per centre, in shared memory first.
extern "C" __global__ void clustering_accumulate(int n, int k, int dims,
                                                 const float* __restrict__ point,
                                                 const int* __restrict__ label,
                                                 float* __restrict__ sum,
                                                 int* __restrict__ count) {
    extern __shared__ float sums[];
    int* counts = (int*)(sums + k * dims);
    for (int e = threadIdx.x; e < k * dims; e += blockDim.x) sums[e] = 0.0f;
    for (int c = threadIdx.x; c < k; c += blockDim.x) counts[c] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int c = label[i];
        for (int d = 0; d < dims; d++) atomicAdd(&sums[c * dims + d], point[d * n + i]);
        atomicAdd(&counts[c], 1);
    }
    __syncthreads();
    for (int e = threadIdx.x; e < k * dims; e += blockDim.x) atomicAdd(&sum[e], sums[e]);
    for (int c = threadIdx.x; c < k; c += blockDim.x) atomicAdd(&count[c], counts[c]);
}

// How many points of the plane lie within a radius of each point.
extern "C" __global__ void clustering_density(int n, float radius, const float2* __restrict__ point,
                                              int* __restrict__ neighbours) {
    extern __shared__ float2 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 me = point[min(i, n - 1)];
    int count = 0;
    for (int first = 0; first < n; first += blockDim.x) {
        if (first + threadIdx.x < n) tile[threadIdx.x] = point[first + threadIdx.x];
        __syncthreads();
        int last = min((int)blockDim.x, n - first);
        for (int j = 0; j < last; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y;
            if (dx * dx + dy * dy <= radius * radius) count++;
        }
        __syncthreads();
    }
    if (i < n) neighbours[i] = count;
}
