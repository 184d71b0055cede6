// Listing 3.4 in a loop over the grid: a chain of dependent operations in every thread.
#define OPERATION_mul a *= b; b *= a;
#define OPERATION_madd a = a * b + c; b = b * a + c;
#define CHAIN_(op) OPERATION_##op
#define CHAIN(op) CHAIN_(op)
#ifndef OP
#define OP mul
#endif

extern "C" __global__ void chain(int n, int times, int* result) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    int a = i | 1, b = i | 3, c = i;
    for (int turn = 0; turn < times; turn++) {
#pragma unroll
        for (int k = 0; k < 64; k++) { CHAIN(OP) }
    }
    result[i] = a + b + c;
}
