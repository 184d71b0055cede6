// Layers of neural networks, a thread for each output. Planes are square.

// `window` x `window` weights for every pair of channels, nothing beyond the border, and a
// rectifier.
extern "C" __global__ void convolution(int channels, int side, int out, int window, int stride,
                                       int pad, const float* __restrict__ weight,
                                       const float* __restrict__ u, float* __restrict__ v) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x, to = blockIdx.y;
    if (pixel >= out * out) return;
    int left = pixel % out * stride - pad, top = pixel / out * stride - pad;
    float sum = 0.0f;
    for (int from = 0; from < channels; from++)
        for (int dy = 0; dy < window; dy++)
            for (int dx = 0; dx < window; dx++) {
                int x = left + dx, y = top + dy;
                float w = weight[((to * channels + from) * window + dy) * window + dx];
                if (x >= 0 && y >= 0 && x < side && y < side)
                    sum += w * u[(from * side + y) * side + x];
            }
    v[to * out * out + pixel] = fmaxf(sum, 0.0f);
}

// The largest of `window` x `window` values.
extern "C" __global__ void pool(int side, int out, int window, int stride,
                                const float* __restrict__ u, float* __restrict__ v) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;
    if (pixel >= out * out) return;
    const float* corner = u + channel * side * side + pixel / out * stride * side +
                          pixel % out * stride;
    float most = corner[0];
    for (int dy = 0; dy < window; dy++)
        for (int dx = 0; dx < window; dx++) most = fmaxf(most, corner[dy * side + dx]);
    v[channel * out * out + pixel] = most;
}

// Mean and variance of a channel taken out, a shortcut added, and a rectifier.
extern "C" __global__ void normalise_and_add(int pixels, const float* __restrict__ mean,
                                             const float* __restrict__ variance,
                                             const float* __restrict__ shortcut,
                                             const float* __restrict__ u, float* __restrict__ v) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;
    if (pixel >= pixels) return;
    int i = channel * pixels + pixel;
    float scaled = (u[i] - mean[channel]) * rsqrtf(variance[channel] + 1e-5f);
    v[i] = fmaxf(scaled + shortcut[i], 0.0f);
}

// Every input times a weight of its own, which lie side by side for each output.
extern "C" __global__ void fully_connected(int inputs, int outputs,
                                           const float* __restrict__ weight,
                                           const float* __restrict__ u, float* __restrict__ v) {
    int to = blockIdx.x * blockDim.x + threadIdx.x;
    if (to >= outputs) return;
    float sum = 0.0f;
    for (int from = 0; from < inputs; from++) sum += weight[to * inputs + from] * u[from];
    v[to] = fmaxf(sum, 0.0f);
}
