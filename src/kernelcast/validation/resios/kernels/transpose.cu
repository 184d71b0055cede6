// Listing 7.1: line 3 is what a thread does.
extern "C" __global__ void transpose(int size_x, int size_y, const float* __restrict__ idata,
                                     float* odata) {
    int x = blockDim.x * blockIdx.x + threadIdx.x;
    int y = blockDim.y * blockIdx.y + threadIdx.y;
    if (x < size_x && y < size_y)
        odata[x * size_y + y] = idata[y * size_x + x];
}
