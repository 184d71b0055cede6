/* kernelcast
N = 2048
BLOCK = 16

[[launch]]
kernel = "matmul"
grid = ["cdiv(N, BLOCK)", "cdiv(N, BLOCK)"]
block = ["BLOCK", "BLOCK"]
args = { N = "N", A = "f32[N, N] random(1)", B = "f32[N, N] random(2)", C = "f32[N, N]" }
*/

// C = A * B, one element per thread, every operand read from global memory.
extern "C" __global__ void matmul(int N, const float* __restrict__ A, const float* __restrict__ B,
                                  float* __restrict__ C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N || column >= N) return;

    float sum = 0.0f;
    for (int k = 0; k < N; k++) sum += A[row * N + k] * B[k * N + column];
    C[row * N + column] = sum;
}
