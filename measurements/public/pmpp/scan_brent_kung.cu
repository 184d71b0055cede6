/* kernelcast
# The sums of the blocks are scanned in their turn, and those of theirs. Where there is one block
# of these, the last scan and the first addition are not made: here they are, of next to nothing.
num_elements = "1 << 26"
per_block = 1024
blocks = "cdiv(num_elements, per_block)"
blocks_2 = "cdiv(blocks, per_block)"
[[launch]]
kernel = "Brent_Kung_inclusive_scan<unsigned int>"
grid = "blocks"
block = 512
smem = 8192
args = { X = "u32[num_elements]", Y = "u32[num_elements]", n = "num_elements", S = "u32[blocks]" }
[[launch]]
kernel = "Brent_Kung_inclusive_scan<unsigned int>"
grid = "blocks_2"
block = 512
smem = 8192
args = { S = "u32[blocks]", scanned = "u32[blocks]", n = "blocks", S_2 = "u32[blocks_2]" }
[[launch]]
kernel = "Brent_Kung_inclusive_scan<unsigned int>"
grid = "1"
block = 512
smem = 8192
args = { S_2 = "u32[blocks_2]", scanned_2 = "u32[blocks_2]", n = "blocks_2", none = 0 }
[[launch]]
kernel = "add_intermediate_results<unsigned int>"
grid = "max(1, blocks_2 - 1)"
block = 512
args = { rest = "u32[max(1, blocks - per_block)]", n = "max(0, blocks - per_block)", S_2 = "u32[blocks_2]", size = "per_block" }
[[launch]]
kernel = "add_intermediate_results<unsigned int>"
grid = "max(1, blocks - 1)"
block = 512
args = { Z = "u32[max(1, num_elements - per_block)]", n = "max(0, num_elements - per_block)", S = "u32[blocks]", size = "per_block" }
*/
#include <cstddef>
#include <cstdint>
// The source launches its kernels from host code, which is made to compile and never runs.
namespace nvbench {
struct launch;
}
__device__ int cudaMalloc(void**, size_t);
__device__ int cudaFree(void*);
#define hierarchical_scan_Kogge_Stone(...) __device__ hierarchical_scan_Kogge_Stone(__VA_ARGS__)
#define hierarchical_scan_Brent_Kung(...) __device__ hierarchical_scan_Brent_Kung(__VA_ARGS__)
#define hierarchical_scan_three_phase(...) __device__ hierarchical_scan_three_phase(__VA_ARGS__)
#include "scan_kernels.cuh"
