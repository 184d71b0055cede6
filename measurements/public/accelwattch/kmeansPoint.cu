/* kernelcast
# Features are read through a texture, which the L1 cache holds as it does what is read only.
npoints = 819200
nfeatures = 34
nclusters = 5
[[launch]]
kernel = "kmeansPoint"
grid = [57, 57]
block = 256
[launch.args]
features = "f32[nfeatures, npoints] random(1)"
nfeatures = "nfeatures"
npoints = "npoints"
nclusters = "nclusters"
membership = "s32[npoints]"
clusters = "f32[nclusters, nfeatures]"
block_clusters = "f32[1]"
block_deltas = "s32[1]"
*/
#define tex1Dfetch(texture, at) __ldg(features + (at))
#include "kmeans_cuda_kernel.cu"
