// Gravitation: the acceleration of every body by all others. A body is x, y, z and its mass.

__device__ __forceinline__ void attract(float4 me, float4 other, float* ax, float* ay, float* az) {
    float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
    float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
    float strength = other.w * inverse * inverse * inverse;
    *ax += strength * dx;
    *ay += strength * dy;
    *az += strength * dz;
}

extern "C" __global__ void nbody_direct(int n, const float4* __restrict__ body,
                                        float* __restrict__ acceleration) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 me = body[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; j++) attract(me, body[j], &ax, &ay, &az);
    acceleration[3 * i] = ax;
    acceleration[3 * i + 1] = ay;
    acceleration[3 * i + 2] = az;
}

// As many bodies as the block has threads are read into shared memory at a time.
extern "C" __global__ void nbody_tiled(int n, const float4* __restrict__ body,
                                       float* __restrict__ acceleration) {
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = body[min(i, n - 1)];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int first = 0; first < n; first += blockDim.x) {
        if (first + threadIdx.x < n) tile[threadIdx.x] = body[first + threadIdx.x];
        __syncthreads();
        int count = min((int)blockDim.x, n - first);
        for (int j = 0; j < count; j++) attract(me, tile[j], &ax, &ay, &az);
        __syncthreads();
    }
    if (i >= n) return;
    acceleration[3 * i] = ax;
    acceleration[3 * i + 1] = ay;
    acceleration[3 * i + 2] = az;
}
