/* kernelcast
n = "1 << 17"
features = 34
clusters = 5

[[launch]]
kernel = "kmeans_assign"
grid = "n // 256"
block = 256
[launch.args]
n = "n"
features = "features"
clusters = "clusters"
point = "f32[n, features] random(1)"
centre = "f32[clusters, features] random(2)"
label = "s32[n]"
*/

// The nearest centre of every point, whose features lie side by side: the lanes of a warp read as
// far apart as a point is long.
extern "C" __global__ void kmeans_assign(int n, int features, int clusters,
                                         const float* __restrict__ point,
                                         const float* __restrict__ centre,
                                         int* __restrict__ label) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float least = 1e30f;
    int nearest = 0;
    for (int c = 0; c < clusters; c++) {
        float distance = 0.0f;
        for (int f = 0; f < features; f++) {
            float difference = point[i * features + f] - centre[c * features + f];
            distance += difference * difference;
        }
        if (distance < least) {
            least = distance;
            nearest = c;
        }
    }
    label[i] = nearest;
}
