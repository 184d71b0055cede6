/* kernelcast
n = 4096
[[launch]]
kernel = "sgemm"
grid = [ "n // 128", "n // 128" ]
block = 256
args = { n = "n", A = "f32[n, n]", B = "f32[n, n]", C = "f32[n, n]" }
*/
// C = A B, row-major, n a multiple of 128. A block computes 128 x 128 elements in steps of 8 along
// the sum, a thread 8 x 8 of them in registers.
__global__ __launch_bounds__(256) void sgemm(int n, const float* __restrict__ A,
                                             const float* __restrict__ B, float* __restrict__ C) {
    __shared__ float a[8][128], b[8][128];
    int t = threadIdx.x, row = 8 * (t / 16), column = 8 * (t % 16);
    const float* from_a = A + (128 * blockIdx.y + t / 2) * n + 4 * (t % 2);
    const float* from_b = B + (t / 32) * n + 128 * blockIdx.x + 4 * (t % 32);
    float sum[8][8] = {};
    for (int k = 0; k < n; k += 8) {
        float4 x = *(const float4*)(from_a + k);
        float4 y = *(const float4*)(from_b + k * n);
        a[4 * (t % 2) + 0][t / 2] = x.x;
        a[4 * (t % 2) + 1][t / 2] = x.y;
        a[4 * (t % 2) + 2][t / 2] = x.z;
        a[4 * (t % 2) + 3][t / 2] = x.w;
        *(float4*)&b[t / 32][4 * (t % 32)] = y;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float u[8], v[8];
#pragma unroll
            for (int j = 0; j < 8; j++) u[j] = a[i][row + j], v[j] = b[i][column + j];
#pragma unroll
            for (int p = 0; p < 8; p++)
#pragma unroll
                for (int q = 0; q < 8; q++) sum[p][q] += u[p] * v[q];
        }
        __syncthreads();
    }
    float* to = C + (128 * blockIdx.y + row) * n + 128 * blockIdx.x + column;
#pragma unroll
    for (int p = 0; p < 8; p++)
#pragma unroll
        for (int q = 0; q < 8; q += 4)
            *(float4*)(to + p * n + q) = make_float4(sum[p][q], sum[p][q + 1], sum[p][q + 2], sum[p][q + 3]);
}
