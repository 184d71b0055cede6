/* kernelcast
# The first two walkers; in each dimension 48 points, of 2016 splines.
caches = "flushed"
splines = 2003
padded = 2016
walkers = 12000
[[launch]]
kernel = "bspline"
grid = "cdiv(splines, 256)"
block = 256
[launch.args]
spline_coefs = "f32[padded * 48 * 48 * 48]"
xs = "padded * 48 * 48"
ys = "padded * 48"
zs = "padded"
walkers_vals = "f32[walkers * splines]"
walkers_grads = "f32[walkers * (3 * splines + 3)]"
walkers_hess = "f32[walkers * (9 * splines + 9)]"
a = "f32[4]"
b = "f32[4]"
c = "f32[4]"
da = "f32[4]"
db = "f32[4]"
dc = "f32[4]"
d2a = "f32[4]"
d2b = "f32[4]"
d2c = "f32[4]"
spline_x_grid_delta_inv = 45
spline_y_grid_delta_inv = 45
spline_z_grid_delta_inv = 45
spline_num_splines = "splines"
i = 0
ix = 37
iy = 44
iz = 4
*/
typedef long intptr_t;
#include "bspline-vgh-cuda/kernel.h"
