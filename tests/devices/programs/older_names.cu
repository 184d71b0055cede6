// What CUDA has left out, or changed, since programs were written: of the runtime, and among lanes.
#include <cstdio>
#include <cstring>

texture<float> line;
texture<uchar4, 2, cudaReadModeNormalizedFloat> image;
texture<float, 2> rows;

__global__ void read(float *x) {
    int i = threadIdx.x;
    x[i] = tex1Dfetch(line, i) + tex2D(image, i % 8, i / 8).y + tex2D(rows, i % 8, i / 8);
}

__global__ void pairs(float *x) { x[threadIdx.x] += __shfl_xor(x[threadIdx.x], 1); }

static void print(const cudaDeviceProp *device) {
    printf("%s, %d MHz, %.2f TB/s, %d\n", device->name, device->clockRate / 1000,
           2e-9 * device->memoryClockRate * device->memoryBusWidth / 8, device->deviceOverlap);
}

int main() {
    struct cudaDeviceProp device;
    memset(&device, 0, sizeof(cudaDeviceProp));
    cudaGetDeviceProperties(&device, 0);
    print(&device);

    float *x;
    cudaMallocManaged(&x, 32 * sizeof(float));
    for (int i = 0; i < 32; ++i) x[i] = i;
    cudaMemAdvise(x, 32 * sizeof(float), cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId);
    cudaMemPrefetchAsync(x, 32 * sizeof(float), 0);
    pairs<<<1, 32>>>(x);
    cudaThreadSynchronize();
    printf("%g, %s\n", x[31], cudaGetErrorName(cudaGetLastError()));

    float *values, *sums;
    uchar4 texels[64];
    cudaMallocManaged(&values, 512 * sizeof(float));
    cudaMallocManaged(&sums, 64 * sizeof(float));
    for (int i = 0; i < 512; ++i) values[i] = i;
    for (int i = 0; i < 64; ++i) texels[i] = make_uchar4(0, 255, 0, 0);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    cudaArray *array;
    cudaMallocArray(&array, &format, 8, 8);
    cudaMemcpy2DToArray(array, 0, 0, texels, 32, 32, 8, cudaMemcpyHostToDevice);
    cudaChannelFormatDesc single = cudaCreateChannelDesc<float>();
    cudaBindTexture(nullptr, &line, values, &single, 64 * sizeof(float));
    cudaBindTextureToArray(image, array, format);
    cudaBindTexture2D(nullptr, rows, values, 8, 8, 64 * sizeof(float));
    read<<<1, 64>>>(sums);
    cudaThreadSynchronize();
    cudaUnbindTexture(line);
    printf("%g, %g, %s\n", sums[0], sums[63], cudaGetErrorName(cudaGetLastError()));
    return cudaThreadExit();
}
