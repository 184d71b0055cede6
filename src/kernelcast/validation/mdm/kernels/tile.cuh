// A block's cells of a plane and R more on every side in shared memory; beyond the border lies the
// nearest cell. Warps read whole aligned lines: W is the warp's width, nx and ny are multiples of W
// and H.
template <int W, int H, int R>
__device__ void load_tile(float (&tile)[H + 2 * R][W + 2 * R], const float* __restrict__ plane,
                          int nx, int ny) {
    int left = blockIdx.x * W, top = blockIdx.y * H, tx = threadIdx.x;
    for (int row = threadIdx.y; row < H + 2 * R; row += H) {
        const float* cells = plane + min(max(top + row - R, 0), ny - 1) * nx;
        tile[row][R + tx] = cells[left + tx];
        if (tx < R) {
            tile[row][tx] = cells[max(left + tx - R, 0)];
            tile[row][R + W + tx] = cells[min(left + W + tx, nx - 1)];
        }
    }
    __syncthreads();
}
