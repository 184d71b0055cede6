/* kernelcast
n = 8192

[[launch]]
kernel = "counts"
grid = "n // 256"
block = 256
args = { n = "n", a = "u32[n]", out = "s32[4 * n]" }

[[launch]]
kernel = "wide_counts"
grid = "n // 256"
block = 256
args = { n = "n", a = "u64[n]", out = "s32[3 * n]", wide = "u64[n]" }

[[launch]]
kernel = "permutations"
grid = "n // 256"
block = 256
args = { n = "n", a = "u32[n]", b = "u32[n]", c = "u32[n]", out = "u32[6 * n]" }

[[launch]]
kernel = "high_products"
grid = "n // 256"
block = 256
args = { n = "n", a = "u32[n]", b = "u32[n]", out = "u32[4 * n]" }

[[launch]]
kernel = "wide_high_products"
grid = "n // 256"
block = 256
args = { n = "n", a = "u64[n]", b = "u64[n]", out = "u64[2 * n]" }

[[launch]]
kernel = "sums_of_products"
grid = "n // 256"
block = 256
args = { n = "n", a = "u32[n]", b = "u32[n]", c = "u32[n]", out = "u32[6 * n]" }

[[launch]]
kernel = "differences_and_means"
grid = "n // 256"
block = 256
args = { n = "n", a = "u32[n]", b = "u32[n]", c = "u32[n]", out = "u32[6 * n]" }

[[launch]]
kernel = "parts"
grid = "n // 256"
block = 256
args = { n = "n", a = "u32[n]", b = "u32[n]", out = "u32[13 * n]" }

[[launch]]
kernel = "absolute_differences"
grid = "n // 256"
block = 256
args = { n = "n", a = "u32[n]", b = "u32[n]", out = "u32[2 * n]" }

[[launch]]
kernel = "fields"
grid = "n // 256"
block = 256
args = { n = "n", a = "u32[n]", b = "u32[n]", out = "u32[3 * n]", wide = "u64[n]" }
*/

// Integer intrinsics.

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void counts(int n, const unsigned* a, int* out) {
    int i = thread();
    out[i] = __popc(a[i]);
    out[n + i] = __clz(a[i]);
    out[2 * n + i] = __ffs(a[i]);
    out[3 * n + i] = __brev(a[i]);
}

__global__ void wide_counts(int n, const unsigned long long* a, int* out,
                            unsigned long long* wide) {
    int i = thread();
    out[i] = __popcll(a[i]);
    out[n + i] = __clzll(a[i]);
    out[2 * n + i] = __ffsll(a[i]);
    wide[i] = __brevll(a[i]);
}

__global__ void permutations(int n, const unsigned* a, const unsigned* b, const unsigned* c,
                             unsigned* out) {
    int i = thread();
    out[i] = __byte_perm(a[i], b[i], c[i]);
    out[n + i] = __byte_perm(a[i], b[i], 0x0123);
    out[2 * n + i] = __funnelshift_l(a[i], b[i], c[i]);
    out[3 * n + i] = __funnelshift_lc(a[i], b[i], c[i]);
    out[4 * n + i] = __funnelshift_r(a[i], b[i], c[i]);
    out[5 * n + i] = __funnelshift_rc(a[i], b[i], c[i]);
}

__global__ void high_products(int n, const unsigned* a, const unsigned* b, unsigned* out) {
    int i = thread();
    out[i] = __mulhi((int)a[i], (int)b[i]);
    out[n + i] = __umulhi(a[i], b[i]);
    out[2 * n + i] = __mul24(a[i], b[i]);
    out[3 * n + i] = __umul24(a[i], b[i]);
}

__global__ void wide_high_products(int n, const unsigned long long* a,
                                   const unsigned long long* b, unsigned long long* out) {
    int i = thread();
    out[i] = __mul64hi(a[i], b[i]);
    out[n + i] = __umul64hi(a[i], b[i]);
}

__global__ void sums_of_products(int n, const unsigned* a, const unsigned* b, const unsigned* c,
                                 unsigned* out) {
    int i = thread();
    out[i] = __dp4a((int)a[i], (int)b[i], (int)c[i]);
    out[n + i] = __dp4a(a[i], b[i], c[i]);
    out[2 * n + i] = __dp2a_lo((int)a[i], (int)b[i], (int)c[i]);
    out[3 * n + i] = __dp2a_hi((int)a[i], (int)b[i], (int)c[i]);
    out[4 * n + i] = __dp2a_lo(a[i], b[i], c[i]);
    out[5 * n + i] = __dp2a_hi(a[i], b[i], c[i]);
}

__global__ void differences_and_means(int n, const unsigned* a, const unsigned* b,
                                      const unsigned* c, unsigned* out) {
    int i = thread();
    out[i] = __sad(a[i], b[i], c[i]);
    out[n + i] = __usad(a[i], b[i], c[i]);
    out[2 * n + i] = __hadd(a[i], b[i]);
    out[3 * n + i] = __rhadd(a[i], b[i]);
    out[4 * n + i] = __uhadd(a[i], b[i]);
    out[5 * n + i] = __urhadd(a[i], b[i]);
}

__global__ void parts(int n, const unsigned* a, const unsigned* b, unsigned* out) {
    int i = thread();
    unsigned x = a[i], y = b[i];
    out[i] = __vadd2(x, y);
    out[n + i] = __vadd4(x, y);
    out[2 * n + i] = __vsub2(x, y);
    out[3 * n + i] = __vsub4(x, y);
    out[4 * n + i] = __vaddss2(x, y);
    out[5 * n + i] = __vaddus4(x, y);
    out[6 * n + i] = __vmaxs2(x, y);
    out[7 * n + i] = __vminu2(x, y);
    out[8 * n + i] = __vmaxu4(x, y);
    out[9 * n + i] = __vmins4(x, y);
    out[10 * n + i] = __vavgu4(x, y);
    out[11 * n + i] = __vcmpeq4(x, y);
    out[12 * n + i] = __vcmpgts2(x, y);
}

__global__ void absolute_differences(int n, const unsigned* a, const unsigned* b, unsigned* out) {
    int i = thread();
    out[i] = __vabsdiffu4(a[i], b[i]);
    out[n + i] = __vsadu4(a[i], b[i]);
}

struct Fields {
    unsigned low : 5;
    int middle : 11;
    unsigned flag : 1;
    int high : 15;
};

__global__ void fields(int n, const unsigned* a, const unsigned* b, unsigned* out,
                       unsigned long long* wide) {
    int i = thread();
    Fields f;
    memcpy(&f, &a[i], sizeof f);
    out[i] = f.low + 100 * f.middle + f.flag - f.high;
    f.middle = b[i];
    f.high ^= f.low;
    memcpy(&out[n + i], &f, sizeof f);
    out[2 * n + i] = (a[i] >> 7 & 0x1ff) | (b[i] & 0x7f) << 9 | (unsigned)((int)(a[i] << 3) >> 25);
    wide[i] = (unsigned long long)a[i] << 32 | b[i];
}
