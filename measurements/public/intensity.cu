/* kernelcast
# Every thread reads 4000 elements of two arrays, and multiplies and adds `products` times with each pair.
products = 8
blocks = 864
[[launch]]
kernel = "intensity"
grid = "blocks"
block = 256
[launch.args]
a = "f32[blocks * 256 * 4000] random(1)"
b = "f32[blocks * 256 * 4000] random(2)"
sums = "f32[blocks]"
*/

// The work of gpu-benches' gpu-roofline, written anew: two chains of products and sums side by side.
#define WIDTH 256
#define LENGTH 4000

extern "C" __global__ void intensity(const float* __restrict__ a, const float* __restrict__ b, float* sums) {
    const float* first = a + threadIdx.x + blockIdx.x * WIDTH * LENGTH;
    const float* second = b + threadIdx.x + blockIdx.x * WIDTH * LENGTH;
    float total = 0.0f;
    for (int at = 0; at < LENGTH; at += 2) {
        float factor = first[at * WIDTH], less = second[at * WIDTH];
        float even = factor - less;
        float odd = first[(at + 1) * WIDTH] - second[(at + 1) * WIDTH];
        for (int time = 0; time < products; time++) {
            even = even * factor - less;
            odd = odd * factor - less;
        }
        total += even + odd;
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}
