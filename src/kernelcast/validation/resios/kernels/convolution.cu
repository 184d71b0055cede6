// Listing 7.2: a filter over the pixels of an image, three bytes each. The filter and the pixels
// that a block reads are staged in shared memory, as the thesis' analysis proposes; loops are not
// unrolled, as in its source.
#define FILTER 5
#define BLOCK_X 32
#define BLOCK_Y 32
#define TILE_X (3 * (BLOCK_X + FILTER - 1))
#define TILE_Y (BLOCK_Y + FILTER - 1)

extern "C" __global__ void convolution(int image_width, int image_height, int filter_gain,
                                       const unsigned char* __restrict__ in_image,
                                       const int* __restrict__ filter, unsigned char* out_row) {
    __shared__ int weights[FILTER * FILTER];
    __shared__ unsigned char in_row[TILE_Y][TILE_X];
    int first_x = blockIdx.x * BLOCK_X - FILTER / 2;
    int first_y = blockIdx.y * BLOCK_Y - FILTER / 2;
    int thread = threadIdx.y * BLOCK_X + threadIdx.x;
    if (thread < FILTER * FILTER) weights[thread] = filter[thread];
#pragma unroll 1
    for (int k = thread; k < TILE_X * TILE_Y; k += BLOCK_X * BLOCK_Y) {
        int y = first_y + k / TILE_X, x = 3 * first_x + k % TILE_X;
        bool inside = y >= 0 && y < image_height && x >= 0 && x < 3 * image_width;
        in_row[k / TILE_X][k % TILE_X] = inside ? in_image[y * image_width * 3 + x] : 0;
    }
    __syncthreads();
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (x >= image_width || y >= image_height) return;
    int red = 0, green = 0, blue = 0;
#pragma unroll 1
    for (int fy = 0; fy < FILTER; fy++)
#pragma unroll 1
        for (int fx = 0; fx < FILTER; fx++) {
            int weight = weights[fx + fy * FILTER];
            const unsigned char* at = &in_row[threadIdx.y + fy][3 * (threadIdx.x + fx)];
            red += at[0] * weight;
            green += at[1] * weight;
            blue += at[2] * weight;
        }
    out_row[(y * image_width + x) * 3 + 0] = red * filter_gain;
    out_row[(y * image_width + x) * 3 + 1] = green * filter_gain;
    out_row[(y * image_width + x) * 3 + 2] = blue * filter_gain;
}
