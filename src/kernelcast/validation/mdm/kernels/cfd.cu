/* kernelcast
n = "192 * 505"                   # elements of the mesh
reach = 2048                      # how far apart neighbours are numbered at the most

[[launch]]
kernel = "cfd_step_factor"
grid = "n // 192"
block = 192
[launch.args]
n = "n"
variable = "f32[5, n] random(1)"
area = "f32[n] random(2)"
factor = "f32[n]"

[[launch]]
kernel = "cfd_flux"
grid = "n // 192"
block = 192
[launch.args]
n = "n"
distance = "s32[4, n] randint(-reach, reach, 3)"
normal = "f32[4, 3, n] random(4)"
variable = "f32[5, n] random(1)"
flux = "f32[5, n] random(5)"

[[launch]]
kernel = "cfd_time_step"
grid = "n // 192"
block = 192
[launch.args]
n = "n"
step = 0.001
factor = "f32[n]"
flux = "f32[5, n] random(5)"
variable = "f32[5, n] random(1)"
*/

// The Euler equations on a mesh of tetrahedra: density, momentum and energy of every element, and
// what flows over its four faces. Neighbours are numbered as meshes are: near, in no order.

struct State {
    float density, x, y, z, energy;
};

__device__ State load(const float* __restrict__ variable, int n, int i) {
    return {variable[i] + 1.0f, variable[n + i], variable[2 * n + i], variable[3 * n + i],
            variable[4 * n + i] + 3.0f};
}

__device__ float pressure(const State& s) {
    return 0.4f * (s.energy - 0.5f * (s.x * s.x + s.y * s.y + s.z * s.z) / s.density);
}

__device__ float speed(const State& s, float p) {
    float velocity = sqrtf(s.x * s.x + s.y * s.y + s.z * s.z) / s.density;
    return velocity + sqrtf(1.4f * p / s.density);
}

extern "C" __global__ void cfd_step_factor(int n, const float* __restrict__ variable,
                                           const float* __restrict__ area,
                                           float* __restrict__ factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    State s = load(variable, n, i);
    factor[i] = 0.5f / (sqrtf(area[i] + 1.0f) * speed(s, pressure(s)));
}

// What a state carries through a face of the normal (a, b, c).
__device__ State carried(const State& s, float p, float a, float b, float c) {
    float rate = (s.x * a + s.y * b + s.z * c) / s.density;
    return {rate * s.density, rate * s.x + p * a, rate * s.y + p * b, rate * s.z + p * c,
            rate * (s.energy + p)};
}

extern "C" __global__ void cfd_flux(int n, const int* __restrict__ distance,
                                    const float* __restrict__ normal,
                                    const float* __restrict__ variable, float* __restrict__ flux) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    State own = load(variable, n, i), sum = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    float p = pressure(own);
#pragma unroll
    for (int face = 0; face < 4; face++) {
        int other = min(max(i + distance[face * n + i], 0), n - 1);
        const float* at = normal + face * 3 * n + i;
        float a = at[0], b = at[n], c = at[2 * n];
        State there = load(variable, n, other);
        float q = pressure(there);
        State out = carried(own, p, a, b, c), in = carried(there, q, a, b, c);
        float damping = 0.1f * sqrtf(a * a + b * b + c * c) * (speed(own, p) + speed(there, q));
        sum.density += 0.5f * (out.density + in.density) + damping * (there.density - own.density);
        sum.x += 0.5f * (out.x + in.x) + damping * (there.x - own.x);
        sum.y += 0.5f * (out.y + in.y) + damping * (there.y - own.y);
        sum.z += 0.5f * (out.z + in.z) + damping * (there.z - own.z);
        sum.energy += 0.5f * (out.energy + in.energy) + damping * (there.energy - own.energy);
    }
    flux[i] = sum.density;
    flux[n + i] = sum.x;
    flux[2 * n + i] = sum.y;
    flux[3 * n + i] = sum.z;
    flux[4 * n + i] = sum.energy;
}

extern "C" __global__ void cfd_time_step(int n, float step, const float* __restrict__ factor,
                                         const float* __restrict__ flux,
                                         float* __restrict__ variable) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float by = step * factor[i];
#pragma unroll
    for (int k = 0; k < 5; k++) variable[k * n + i] += by * flux[k * n + i];
}
