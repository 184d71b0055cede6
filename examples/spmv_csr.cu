/* kernelcast
rows = "1 << 18"
columns = "rows"
longest = 64                      # entries of the longest possible row

[[launch]]
kernel = "spmv"
grid = "cdiv(rows, 256)"
block = 256
[launch.args]
rows = "rows"
pitch = "longest"
lengths = "s32[rows] randint(0, longest + 1, 1)"
column = "s32[rows * longest] randint(0, columns, 2)"
value = "f32[rows * longest] random(3)"
x = "f32[columns] random(4)"
y = "f32[rows]"
*/

// y = A * x for a sparse matrix stored row by row, one row per thread. Rows have random lengths
// and begin `pitch` entries apart: the lanes of a warp leave the loop at different times, read
// entries that lie far apart, and gather x at random.
extern "C" __global__ void spmv(int rows, int pitch, const int* __restrict__ lengths,
                                const int* __restrict__ column, const float* __restrict__ value,
                                const float* __restrict__ x, float* __restrict__ y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;

    int begin = row * pitch;
    int end = begin + lengths[row];
    float sum = 0.0f;
    for (int i = begin; i < end; i++) sum += value[i] * x[column[i]];
    y[row] = sum;
}
