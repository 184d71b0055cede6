// Double precision, divisions, roots and compensated sums.

// A polynomial by Horner's rule: every step waits for the one before.
extern "C" __global__ void precision_horner_double(int n, int degree, const double* __restrict__ x,
                                                   const double* __restrict__ coefficient,
                                                   double* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0.0;
    for (int j = degree; j >= 0; j--) sum = sum * x[i] + coefficient[j];
    y[i] = sum;
}

// Newton's iteration for cube roots, until it no longer moves: lanes end apart.
extern "C" __global__ void precision_cube_root(int n, int most, const double* __restrict__ x,
                                               double* __restrict__ root) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double wanted = 1.0 + 1000.0 * x[i], r = wanted, before = 0.0;
    for (int step = 0; step < most && fabs(r - before) > 1e-13 * r; step++) {
        before = r;
        r = (2.0 * r + wanted / (r * r)) / 3.0;
    }
    root[i] = r;
}

// Quotients and remainders of signed numbers, by divisors that are not known before.
extern "C" __global__ void precision_divide_int(int n, const int* __restrict__ a,
                                                const int* __restrict__ b,
                                                int* __restrict__ quotient,
                                                int* __restrict__ remainder) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    quotient[i] = a[i] / b[i];
    remainder[i] = a[i] % b[i];
}

extern "C" __global__ void precision_divide_long(int n, const long long* __restrict__ a,
                                                 const long long* __restrict__ b,
                                                 long long* __restrict__ quotient,
                                                 long long* __restrict__ remainder) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    quotient[i] = a[i] / b[i];
    remainder[i] = a[i] % b[i];
}

// A continued fraction: one division after another.
extern "C" __global__ void precision_divide_float(int n, int depth, const float* __restrict__ x,
                                                  float* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = 1.0f;
    for (int d = 0; d < depth; d++) value = 1.0f + x[i] / value;
    y[i] = value;
}

extern "C" __global__ void precision_divide_double(int n, int depth, const double* __restrict__ x,
                                                   double* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double value = 1.0;
    for (int d = 0; d < depth; d++) value = 1.0 + x[i] / value;
    y[i] = value;
}

// Kahan's sum of a column: what rounding loses is kept and added later.
extern "C" __global__ void precision_kahan(int n, int rows, const float* __restrict__ x,
                                           float* __restrict__ sum) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float total = 0.0f, lost = 0.0f;
    for (int row = 0; row < rows; row++) {
        float value = x[row * n + i] - lost;
        float next = total + value;
        lost = (next - total) - value;
        total = next;
    }
    sum[i] = total;
}

// Lengths, angles and powers: the slower functions of single precision.
extern "C" __global__ void precision_functions(int n, const float* __restrict__ x,
                                               const float* __restrict__ y,
                                               float* __restrict__ z) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i] + 0.5f, b = y[i] + 0.5f;
    z[i] = atan2f(a, b) + powf(a, b) + log1pf(a) + cbrtf(b) + sqrtf(a * a + b * b) +
           fmodf(10.0f, b);
}
