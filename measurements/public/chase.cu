/* kernelcast
# A warp reads one line after the other, again and again.
footprint = 1048576
passes = 3
[[launch]]
kernel = "chase"
grid = 1
block = 32
args = { line = "u32[footprint // 4]", words = "footprint // 4", passes = "passes", sum = "u32[1]" }
*/
extern "C" __global__ void chase(const unsigned *line, unsigned words, unsigned passes, unsigned *sum)
{
    unsigned found = 0;
    for (unsigned pass = 0; pass < passes; pass++) {
        for (unsigned i = threadIdx.x; i < words; i += 32) found += line[i];
        asm volatile("" ::: "memory");  // each pass reads anew
    }
    if (found == 1) *sum = found;
}
