// Control flow: lanes that go different ways, loops that end when they end, calls.

// Steps until z -> z^2 + c leaves the circle of radius 2.
extern "C" __global__ void control_mandelbrot(int nx, int ny, int most, int* __restrict__ steps) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    double cx = -2.0 + 3.0 * x / nx, cy = -1.5 + 3.0 * y / ny, zx = 0.0, zy = 0.0;
    int step = 0;
    while (step < most && zx * zx + zy * zy <= 4.0) {
        double next = zx * zx - zy * zy + cx;
        zy = 2.0 * zx * zy + cy;
        zx = next;
        step++;
    }
    steps[y * nx + x] = step;
}

// A machine with eight instructions runs programs in which `spread` neighbours agree.
extern "C" __global__ void control_switch(int n, int length, int spread,
                                          const unsigned char* __restrict__ program,
                                          unsigned* __restrict__ result) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = i, b = 1;
    for (int pc = 0; pc < length; pc++) {
        switch (program[pc * n + i / spread]) {
            case 0: a += b; break;
            case 1: a -= b * 3; break;
            case 2: a *= b | 1; break;
            case 3: b ^= a >> 7; break;
            case 4: b = (b << 5) | (b >> 27); break;
            case 5: a = a / (b | 1) + pc; break;
            case 6: b += __popc(a); break;
            default: a ^= 0x9E3779B9u; b++;
        }
    }
    result[i] = a ^ b;
}

__noinline__ __device__ unsigned digit_sum(unsigned number) {
    unsigned sum = 0;
    for (; number; number /= 10) sum += number % 10;
    return sum;
}

__noinline__ __device__ unsigned long long reversed(unsigned number) {
    unsigned long long result = 0;
    for (; number; number /= 10) result = result * 10 + number % 10;
    return result;
}

__noinline__ __device__ bool is_palindrome(unsigned number) {
    return reversed(number) == number;
}

// Adds the reversed digits to a number until it reads the same both ways.
extern "C" __global__ void control_calls(int n, int most, int* __restrict__ steps,
                                         unsigned* __restrict__ digits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned number = i;
    int step = 0;
    while (step < most && !is_palindrome(number) && number < 100000000u) {
        number += (unsigned)reversed(number);
        step++;
    }
    steps[i] = step;
    digits[i] = digit_sum(number);
}

// Lanes hold work of different length, and the warp goes on while any lane has some. Where few are
// left, the first of them gives its work up.
extern "C" __global__ void control_votes(int n, const int* __restrict__ work,
                                         int* __restrict__ rounds, int* __restrict__ busy) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int left = i < n ? work[i] : 0, round = 0, lanes = 0;
    while (__any_sync(0xffffffff, left > 0)) {
        unsigned active = __ballot_sync(0xffffffff, left > 0);
        lanes += __popc(active);
        if (__popc(active) <= 4) {
            int donor = __ffs(active) - 1, given = __shfl_sync(0xffffffff, left, donor);
            left = lane == donor ? 0 : max(left - 1, 0);
            lanes += given;
        } else if (left > 0) {
            left -= 1 + (round & 1);
        }
        round++;
    }
    if (i < n) {
        rounds[i] = round;
        busy[i] = lanes;
    }
}

// Insertion sort of 24 numbers in an array of the thread's own.
extern "C" __global__ void control_local_sort(int n, const int* __restrict__ x,
                                              int* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int list[24];
    for (int k = 0; k < 24; k++) {
        int value = x[k * n + i], at = k;
        while (at > 0 && list[at - 1] > value) {
            list[at] = list[at - 1];
            at--;
        }
        list[at] = value;
    }
    for (int k = 0; k < 24; k++) y[k * n + i] = list[k];
}

// A walk down an implicit binary tree; leaves lie at different depths.
extern "C" __global__ void control_tree(int n, int nodes, const float* __restrict__ x,
                                        const float* __restrict__ threshold,
                                        int* __restrict__ leaf) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    int node = 0;
    while (2 * node + 2 < nodes) {
        float limit = threshold[node];
        if (limit < 0.1f) break;
        node = value < limit ? 2 * node + 1 : 2 * node + 2;
        value = value < limit ? value / limit : value - limit;
    }
    leaf[i] = node;
}

// Rays into a field of spheres: a loop per ray that ends early, and a test per sphere.
extern "C" __global__ void control_rays(int nx, int ny, int spheres, int most,
                                        const float4* __restrict__ sphere,
                                        float* __restrict__ depth, int* __restrict__ steps) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    float px = (float)x / nx, py = (float)y / ny, pz = -1.0f;
    int step = 0;
    while (step < most && pz < 2.0f) {
        float nearest = 1.0f;
        for (int s = 0; s < spheres; s++) {
            float dx = px - sphere[s].x, dy = py - sphere[s].y, dz = pz - sphere[s].z;
            nearest = fminf(nearest, sqrtf(dx * dx + dy * dy + dz * dz) - 0.1f * sphere[s].w);
        }
        if (nearest < 0.01f) break;
        pz += nearest;
        step++;
    }
    depth[y * nx + x] = pz;
    steps[y * nx + x] = step;
}
