// The tree that inserting the keys 0, 1, 2, ... makes: a node splits at 256 keys, into halves. Nodes
// lie level by level, and the first key of each is the least integer, the last the greatest.
static __device__ int first_leaf_of(int child, int leaves) { return min(child * 128, leaves); }

__global__ void make_tree(knode *knodesD, int keys)
{
    const int leaves = (keys + 127) / 128, inner = (leaves + 127) / 128;
    const int node = blockIdx.x, at = threadIdx.x;
    int children, step, first_index;
    if (node == 0) {  // the root: its keys are those at which its children begin
        children = inner, step = 128 * 128, first_index = 1;
    } else if (node <= inner) {
        const int first = (node - 1) * 128;
        children = first_leaf_of(node, leaves) - first, step = 128, first_index = 1 + inner + first;
    } else {
        children = min(128, keys - (node - inner - 1) * 128), step = 1, first_index = 0;
    }
    const bool is_leaf = node > inner;
    const int level_start = node == 0 ? 0 : is_leaf ? (node - inner - 1) * 128 : (node - 1) * 128 * 128;
    const int last = is_leaf ? children + 1 : children;
    int key = level_start + (is_leaf ? at - 1 : at) * step;
    knodesD[node].keys[at] = at == 0 ? -2147483647 - 1 : at >= last ? 2147483647 : key;
    knodesD[node].indices[at] = is_leaf ? max(level_start + at - 1, 0) : first_index + min(at, children - 1);
    if (at == 0) {
        knodesD[node].location = node;
        knodesD[node].is_leaf = is_leaf;
        knodesD[node].num_keys = last + 1;
    }
}
