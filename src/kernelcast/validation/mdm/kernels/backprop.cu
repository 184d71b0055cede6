/* kernelcast
inputs = "1 << 16"

[[launch]]
kernel = "backprop_forward"
grid = "inputs // 8"
block = "32, 8"
[launch.args]
input = "f32[inputs] random(1)"
weight = "f32[inputs, 32] random(2)"
partial = "f32[inputs // 8, 32]"

[[launch]]
kernel = "backprop_adjust"
grid = "inputs // 8"
block = "32, 8"
[launch.args]
rate = 0.3
momentum = 0.3
delta = "f32[32] random(3)"
input = "f32[inputs] random(1)"
weight = "f32[inputs, 32] random(2)"
change = "f32[inputs, 32] random(4)"
*/

// A layer of a neural network between many inputs and 32 hidden units, a lane for each unit.

// Forwards: what eight inputs add to every unit.
extern "C" __global__ void backprop_forward(const float* __restrict__ input,
                                            const float* __restrict__ weight,
                                            float* __restrict__ partial) {
    __shared__ float sums[8][32];
    int unit = threadIdx.x, part = threadIdx.y, i = blockIdx.x * 8 + part;
    sums[part][unit] = weight[i * 32 + unit] * input[i];
    __syncthreads();
    for (int half = 4; half > 0; half /= 2) {
        if (part < half) sums[part][unit] += sums[part + half][unit];
        __syncthreads();
    }
    if (part == 0) partial[blockIdx.x * 32 + unit] = sums[0][unit];
}

// Backwards: every weight moves down its gradient, and on as it moved before.
extern "C" __global__ void backprop_adjust(float rate, float momentum,
                                           const float* __restrict__ delta,
                                           const float* __restrict__ input,
                                           float* __restrict__ weight,
                                           float* __restrict__ change) {
    int unit = threadIdx.x, i = blockIdx.x * 8 + threadIdx.y, w = i * 32 + unit;
    float step = rate * delta[unit] * input[i] + momentum * change[w];
    weight[w] += step;
    change[w] = step;
}
