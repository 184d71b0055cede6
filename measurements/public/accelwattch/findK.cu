/* kernelcast
# A million keys in order: leaves of 128 keys under 62 nodes of as many children, and the root.
keys = 1000000
queries = 10000
leaves = "cdiv(keys, 128)"
nodes = "1 + cdiv(leaves, 128) + leaves"
sizeof_knode = 2068
[[launch]]
kernel = "make_tree"
grid = "nodes"
block = 257
[launch.args]
knodesD = "u8[nodes, sizeof_knode]"
keys = "keys"
[[launch]]
kernel = "findK"
grid = "queries"
block = 256
[launch.args]
height = 2
knodesD = "u8[nodes, sizeof_knode]"
knodes_elem = "nodes"
recordsD = "s32[keys] arange"
currKnodeD = "s64[queries]"
offsetD = "s64[queries]"
keysD = "s32[queries] randint(0, keys, 1)"
ansD = "s32[queries]"
*/
#include "common.h"
#include "kernel_gpu_cuda.cu"
#include "btree.cuh"
