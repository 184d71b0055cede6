// Whole numbers: sieves, remainders, bits.

// A block marks what is composite in its segment of the numbers, in shared memory.
extern "C" __global__ void integer_sieve(int segment, unsigned char* __restrict__ prime) {
    extern __shared__ unsigned char composite[];
    int first = blockIdx.x * segment, end = first + segment;
    for (int i = threadIdx.x; i < segment; i += blockDim.x) composite[i] = 0;
    __syncthreads();
    for (int d = 2 + threadIdx.x; d * d < end; d += blockDim.x) {
        int multiple = max(d * d, (first + d - 1) / d * d);
        for (; multiple < end; multiple += d) composite[multiple - first] = 1;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < segment; i += blockDim.x)
        prime[first + i] = first + i >= 2 && !composite[i];
}

// The smallest divisor above 1 of every odd number, by trial: a remainder per step.
extern "C" __global__ void integer_trial_division(int n, unsigned first,
                                                  unsigned* __restrict__ divisor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned number = first + 2 * i, d = 3;
    while (d * d <= number && number % d != 0) d += 2;
    divisor[i] = d * d <= number ? d : number;
}

extern "C" __global__ void integer_gcd(int n, const unsigned* __restrict__ a,
                                       const unsigned* __restrict__ b,
                                       unsigned* __restrict__ divisor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = a[i], y = b[i];
    while (y) {
        unsigned rest = x % y;
        x = y;
        y = rest;
    }
    divisor[i] = x;
}

// Steps to 1 of n -> n / 2 or 3 n + 1.
extern "C" __global__ void integer_collatz(int n, unsigned first, int* __restrict__ steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long number = first + i;
    int step = 0;
    while (number > 1) {
        number = number & 1 ? 3 * number + 1 : number >> 1;
        step++;
    }
    steps[i] = step;
}

// Powers by squaring: a remainder of 64 bits per bit of the exponent. The modulus is below 2^32.
extern "C" __global__ void integer_power(int n, unsigned exponent, unsigned long long modulus,
                                         const unsigned long long* __restrict__ base,
                                         unsigned long long* __restrict__ power) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long square = base[i] % modulus, product = 1;
    for (unsigned rest = exponent; rest; rest >>= 1) {
        if (rest & 1) product = product * square % modulus;
        square = square * square % modulus;
    }
    power[i] = product;
}

// Montgomery's product of 64-bit numbers, repeated; inverse * modulus = -1 modulo 2^64.
extern "C" __global__ void integer_montgomery(int n, int times, unsigned long long modulus,
                                              unsigned long long inverse,
                                              const unsigned long long* __restrict__ a,
                                              const unsigned long long* __restrict__ b,
                                              unsigned long long* __restrict__ product) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long x = a[i] % modulus, y = b[i] % modulus;
    for (int t = 0; t < times; t++) {
        unsigned long long low = x * y, high = __umul64hi(x, y);
        unsigned long long m = low * inverse;
        unsigned long long sum = high + __umul64hi(m, modulus) + (low != 0);
        x = sum >= modulus ? sum - modulus : sum;
    }
    product[i] = x;
}

// CRC-32 of messages by a table of bytes, which the block computes first.
extern "C" __global__ void integer_crc32(int n, int length,
                                         const unsigned char* __restrict__ message,
                                         unsigned* __restrict__ crc) {
    __shared__ unsigned table[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) {
        unsigned word = b;
        for (int bit = 0; bit < 8; bit++) word = word & 1 ? 0xEDB88320u ^ (word >> 1) : word >> 1;
        table[b] = word;
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned word = 0xffffffffu;
    for (int j = 0; j < length; j++)
        word = table[(word ^ message[i * length + j]) & 255] ^ (word >> 8);
    crc[i] = ~word;
}

// The least number of bits in which a query differs from any code, and the first such code.
extern "C" __global__ void integer_hamming(int n, int codes,
                                           const unsigned long long* __restrict__ query,
                                           const unsigned long long* __restrict__ code,
                                           int* __restrict__ least, int* __restrict__ place) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int best = 65, at = -1;
    for (int c = 0; c < codes; c++) {
        int bits = __popcll(query[i] ^ code[c]);
        if (bits < best) {
            best = bits;
            at = c;
        }
    }
    least[i] = best;
    place[i] = at;
}

// Leading zeros, first set bits, bit reversals and byte permutations, mixed.
extern "C" __global__ void integer_bits(int n, int rounds, const unsigned* __restrict__ x,
                                        unsigned* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned word = x[i];
    for (int r = 0; r < rounds; r++) {
        word = __brev(word) + __clz(word) * 0x01010101u;
        word ^= __byte_perm(word, x[i], 0x5140) << (__ffs(word) & 7);
        word += __popc(word) << 20;
    }
    y[i] = word;
}
