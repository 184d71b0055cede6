/* kernelcast
n = 4096

[[launch]]
kernel = "nested_branches"
grid = "n // 128"
block = 128
args = { n = "n", a = "s32[n]", b = "s32[n]", out = "s32[n]" }

[[launch]]
kernel = "dense_switch"
grid = "n // 128"
block = 128
args = { n = "n", a = "u32[n]", b = "u32[n]", out = "u32[n]" }

[[launch]]
kernel = "sparse_switch"
grid = "n // 128"
block = 128
args = { n = "n", a = "s32[n]", out = "s32[n]" }

[[launch]]
kernel = "collatz"
grid = "n // 128"
block = 128
args = { n = "n", out = "u32[n]" }

[[launch]]
kernel = "loops"
grid = "n // 128"
block = 128
args = { n = "n", a = "u32[n]", out = "u32[3 * n]" }

[[launch]]
kernel = "early_exit"
grid = 10
block = 100
args = { n = 901, a = "s32[901]", out = "s32[1000]" }

[[launch]]
kernel = "short_circuit"
grid = "n // 128"
block = 128
args = { n = "n", a = "s32[n]", b = "s32[n]", out = "s32[n]", tried = "u32[n]" }

[[launch]]
kernel = "gotos"
grid = "n // 128"
block = 128
args = { n = "n", a = "u32[n]", out = "u32[n]" }

[[launch]]
kernel = "binary_search"
grid = "n // 128"
block = 128
args = { n = "n", sorted = "u32[n] arange", a = "u32[n]", out = "s32[n]" }

[[launch]]
kernel = "calls"
grid = "n // 128"
block = 128
args = { n = "n", a = "s32[n]", b = "s32[n]", out = "s32[4 * n]" }

[[launch]]
kernel = "sorts"
grid = "n // 128"
block = 128
args = { n = "n", a = "s32[n]", out = "s32[9 * n]" }

[[launch]]
kernel = "stack_machine"
grid = "n // 128"
block = 128
args = { n = "n", a = "u32[n]", b = "u32[n]", out = "u32[n]" }

[[launch]]
kernel = "mandelbrot"
grid = [6, 7]
block = [11, 9]
args = { width = 64, height = 60, out = "s32[60, 64]" }

[[launch]]
kernel = "coordinates"
grid = [3, 2, 4]
block = [5, 4, 3]
args = { out = "u32[24, 60, 2]" }
*/

// Control flow: lanes that part and meet, loops, functions, local arrays.

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void nested_branches(int n, const int* a, const int* b, int* out) {
    int i = thread(), x = a[i], y = b[i], result = 1;
    if (x > y) {
        result += 3;
        if (x & 1)
            result *= 5;
        else if (y & 2) {
            result -= x >> 3;
            if (i % 3 == 0) result ^= 0x55;
        }
    } else {
        if (i & 4) result = -result;
        result += y & 0xff;
    }
    if (threadIdx.x % 32 < 7) result = result * 3 + 1;
    out[i] = result;
}

__global__ void dense_switch(int n, const unsigned* a, const unsigned* b, unsigned* out) {
    int i = thread();
    unsigned x = a[i], y = b[i], result = 0;
    switch (x % 11) {
        case 0: result = x + y; break;
        case 1: result = x * y; break;
        case 2: result = x ^ y; break;
        case 3: result = x << (y & 15); break;
        case 4: result = x / (y | 1); break;
        case 5: result = 17;  // and on to the next
        case 6: result += y; break;
        case 7: out[i] = 99; return;
        case 8: result = x % (y | 1); break;
        case 9: result = __popc(x) + __clz(y); break;
    }
    out[i] = result;
}

__global__ void sparse_switch(int n, const int* a, int* out) {
    int i = thread();
    switch (a[i]) {
        case -1: out[i] = 1; break;
        case 0: out[i] = 2; break;
        case 127: case 128: out[i] = 3; break;
        case 0x7fffffff: out[i] = 4; break;
        case -70: out[i] = 5; break;
        default: out[i] = a[i] > 50 ? 6 : 7;
    }
}

__global__ void collatz(int n, unsigned* out) {
    unsigned long long x = thread() + 1;
    unsigned steps = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        steps++;
    }
    out[thread()] = steps;
}

__global__ void loops(int n, const unsigned* a, unsigned* out) {
    int i = thread();
    unsigned x = a[i], sum = 0, found = 0;
    for (unsigned j = 0; j < x % 37; j++) {
        if (j % 5 == 2) continue;
        for (unsigned k = j; k < 20; k += 3) {
            if ((k * x >> 4) % 13 == 0) break;
            sum += k ^ j;
        }
        if (sum > 1500) break;
    }
    out[i] = sum;
    do {
        found++;
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    } while (x % 8 && found < 50);
    out[n + i] = found;
    unsigned product = 1;
    for (int j = 0; j < 12; j++) product *= 2 * j + (x >> j & 1) + 1;
    out[2 * n + i] = product;
}

__global__ void early_exit(int n, const int* a, int* out) {
    int i = thread();
    if (i >= n) return;
    if (a[i] < 0) {
        out[i] = -1;
        return;
    }
    for (int j = 0; j < 40; j++)
        if (a[i] >> (j & 31) == i % 7) {
            out[i] = j;
            return;
        }
    out[i] = 1000;
}

__device__ bool tried_bit(unsigned* tried, int bit, bool result) {
    *tried |= 1u << bit;
    return result;
}

__global__ void short_circuit(int n, const int* a, const int* b, int* out, unsigned* tried) {
    int i = thread(), x = a[i], y = b[i];
    unsigned* t = tried + i;
    bool both = tried_bit(t, 0, x > 0) && tried_bit(t, 1, y > 0);
    bool either = tried_bit(t, 2, x < y) || (tried_bit(t, 3, x & 1) && tried_bit(t, 4, y & 1));
    out[i] = both * 2 + either + (x > y ? tried_bit(t, 5, x == 3) : tried_bit(t, 6, y == 3)) * 4;
}

__global__ void gotos(int n, const unsigned* a, unsigned* out) {
    int i = thread();
    unsigned x = a[i], steps = 0;
again:
    steps++;
    if (x & 1) goto odd;
    x >>= 1;
    if (steps > 40) goto end;
    if (x) goto again;
    goto end;
odd:
    x = x * 5 + 3;
    if (steps % 7) goto again;
    x >>= 9;
    if (steps < 30) goto again;
end:
    out[i] = x ^ steps << 24;
}

__global__ void binary_search(int n, const unsigned* sorted, const unsigned* a, int* out) {
    int i = thread(), low = 0, high = n;
    unsigned wanted = a[i] % (n + 100);
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    out[i] = low < n && sorted[low] == wanted ? low : ~low;
}

struct Pair {
    int first;
    long long second;
};

__device__ __noinline__ int mixed(int x, int y) {
    if (x > y) return x ^ y << 5;
    return y - (x >> 3);
}

__device__ __noinline__ Pair paired(int x, Pair p) { return {x + p.first, p.second * x}; }

__device__ __noinline__ void swapped(int& x, int* y) {
    int held = x;
    x = *y;
    *y = held;
}

template <int N>
__device__ int fibonacci(int x) {
    if constexpr (N < 2)
        return x;
    else
        return fibonacci<N - 1>(x) + fibonacci<N - 2>(x + 1);
}

__global__ void calls(int n, const int* a, const int* b, int* out) {
    int i = thread(), x = a[i] & 0xffff, y = b[i] & 0xffff;
    Pair p = paired(x, Pair{y, 3});
    if (i & 1) p = paired(mixed(y, x), p);
    out[i] = mixed(x, y) + mixed(y, x);
    out[n + i] = p.first ^ (int)p.second ^ (int)(p.second >> 32);
    swapped(x, &y);
    out[2 * n + i] = x - 2 * y;
    out[3 * n + i] = fibonacci<9>(x);
}

// Arrays that live in local memory, as their index is known only when it runs.
__global__ void sorts(int n, const int* a, int* out) {
    int i = thread(), values[8];
    for (int j = 0; j < 8; j++) values[j] = a[(i * 8 + j * 5) % n];
    for (int j = 1; j < 8; j++) {
        int value = values[j], k = j;
        for (; k > 0 && values[k - 1] > value; k--) values[k] = values[k - 1];
        values[k] = value;
    }
    for (int j = 0; j < 8; j++) out[j * n + i] = values[j];
    out[8 * n + i] = values[a[i] & 7];
}

__global__ void stack_machine(int n, const unsigned* a, const unsigned* b, unsigned* out) {
    int i = thread(), depth = 0;
    unsigned program = a[i], stack[20];
    stack[0] = b[i];
    for (; program; program >>= 3) {
        unsigned top = stack[depth];
        switch (program & 7) {
            case 0: stack[depth] = top + 1; break;
            case 1: stack[++depth] = top * 3; break;
            case 2: stack[depth] = top ^ i; break;
            case 3: if (depth) stack[--depth] += top; break;
            case 4: stack[++depth] = depth; break;
            case 5: stack[depth] = stack[depth / 2] - top; break;
            case 6: stack[depth] = top >> 3 | top << 29; break;
            case 7: stack[0] += top; break;
        }
    }
    out[i] = stack[depth] + depth;
}

__global__ void mandelbrot(int width, int height, int* out) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    float x0 = column * (3.0f / 64) - 2, y0 = row * (2.0f / 60) - 1, x = 0, y = 0;
    int steps = 0;
    while (x * x + y * y < 4 && steps < 200) {
        float next = x * x - y * y + x0;
        y = 2 * x * y + y0;
        x = next;
        steps++;
    }
    out[row * width + column] = steps;
}

__global__ void coordinates(unsigned* out) {
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned* mine = out + 2 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
    mine[0] = threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 |
              blockIdx.y << 16 | blockIdx.z << 20;
    mine[1] = gridDim.x + 10 * gridDim.y + 100 * gridDim.z + 1000 * blockDim.x +
              10000 * blockDim.y + 100000 * blockDim.z + 1000000 * warpSize;
}
