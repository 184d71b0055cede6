/* kernelcast
# A site has 320 B, of which 288 B are its matrices.
caches = "flushed"
sites = "32 ** 4"
[[launch]]
kernel = "k_mat_nn"
grid = "sites"
block = 128
[launch.args]
a = "f32[sites, 80]"
b = "f32[4, 18]"
c = "f32[sites, 80]"
total_sites = "sites"
*/
#define MILC_COMPLEX
#define PRECISION 1
#include "su3-cuda/lattice.hpp"
#include "su3-cuda/mat_nn_cuda.hpp"
