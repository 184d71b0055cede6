/* kernelcast
order = 128                       # keys of a node
queries = 10000
keys = "order ** 3"

[[launch]]
kernel = "btree_find"
grid = "queries"
block = "order"
[launch.args]
key = "s32[order + order ** 2 + keys] arange"
query = "s32[queries] randint(0, keys, 1)"
found = "s32[queries]"

[[launch]]
kernel = "btree_find_range"
grid = "queries"
block = "order"
[launch.args]
key = "s32[order + order ** 2 + keys] arange"
first = "s32[queries] randint(0, keys, 2)"
length = "s32[queries] randint(0, 1000, 3)"
begin = "s32[queries]"
end = "s32[queries]"
*/

// Searches in a tree of three levels, a block for each: its threads compare all keys of a node at
// once. Level by level nodes lie side by side, and what is stored of a key is its place in the
// array: from the first of its level it is the number of the subtree that begins with it.

__device__ int descend(int depth, int wanted, const int* __restrict__ key, int* shared_node) {
    int base = 0, width = blockDim.x, span = width * width, node = 0;
    for (int level = 0; level < depth; level++) {
        int at = base + node * (int)blockDim.x + threadIdx.x;
        int low = (key[at] - base) * span;
        if (low <= wanted && wanted < low + span) *shared_node = at - base;
        __syncthreads();
        node = *shared_node;
        __syncthreads();
        base += width;
        width *= blockDim.x;
        span /= blockDim.x;
    }
    return node;
}

extern "C" __global__ void btree_find(const int* __restrict__ key, const int* __restrict__ query,
                                      int* __restrict__ found) {
    __shared__ int node;
    int place = descend(3, query[blockIdx.x], key, &node);
    if (threadIdx.x == 0) found[blockIdx.x] = place;
}

// The first and the last key of a range.
extern "C" __global__ void btree_find_range(const int* __restrict__ key,
                                            const int* __restrict__ first,
                                            const int* __restrict__ length,
                                            int* __restrict__ begin, int* __restrict__ end) {
    __shared__ int node;
    int keys = blockDim.x * blockDim.x * blockDim.x;
    int low = first[blockIdx.x], high = min(low + length[blockIdx.x], keys - 1);
    int from = descend(3, low, key, &node);
    int to = descend(3, high, key, &node);
    if (threadIdx.x == 0) {
        begin[blockIdx.x] = from;
        end[blockIdx.x] = to;
    }
}
