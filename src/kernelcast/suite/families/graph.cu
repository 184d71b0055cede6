// Steps of graph algorithms. The neighbours of vertex v are those from v * mean + jitter[v] up to
// where the neighbours of v + 1 begin: compressed rows, of random degree.

__device__ __forceinline__ int edges_begin(int vertex, int mean, const int* jitter) {
    return vertex * mean + jitter[vertex];
}

// Breadth-first search, top down: vertices of the frontier claim those without a level (-1).
extern "C" __global__ void graph_bfs_push(int frontier_size, int mean, int depth,
                                          const int* __restrict__ jitter,
                                          const int* __restrict__ neighbour,
                                          const int* __restrict__ frontier,
                                          int* __restrict__ level, int* __restrict__ next,
                                          unsigned* __restrict__ next_size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= frontier_size) return;
    int vertex = frontier[i], end = edges_begin(vertex + 1, mean, jitter);
    for (int e = edges_begin(vertex, mean, jitter); e < end; e++) {
        int other = neighbour[e];
        if (level[other] == -1 && atomicCAS(&level[other], -1, depth + 1) == -1)
            next[atomicAdd(next_size, 1u)] = other;
    }
}

// Breadth-first search, bottom up: vertices without a level look for a parent and stop at the
// first.
extern "C" __global__ void graph_bfs_pull(int n, int mean, int depth,
                                          const int* __restrict__ jitter,
                                          const int* __restrict__ neighbour,
                                          const int* __restrict__ level,
                                          int* __restrict__ parent) {
    int vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= n) return;
    int found = -1;
    if (level[vertex] == -1) {
        int end = edges_begin(vertex + 1, mean, jitter);
        for (int e = edges_begin(vertex, mean, jitter); e < end; e++) {
            if (level[neighbour[e]] != depth) continue;
            found = neighbour[e];
            break;
        }
    }
    parent[vertex] = found;
}

extern "C" __global__ void graph_pagerank_pull(int n, int mean, float damping,
                                               const int* __restrict__ jitter,
                                               const int* __restrict__ neighbour,
                                               const float* __restrict__ rank,
                                               const float* __restrict__ out_degree,
                                               float* __restrict__ next) {
    int vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= n) return;
    int end = edges_begin(vertex + 1, mean, jitter);
    float sum = 0.0f;
    for (int e = edges_begin(vertex, mean, jitter); e < end; e++)
        sum += rank[neighbour[e]] / out_degree[neighbour[e]];
    next[vertex] = (1.0f - damping) / n + damping * sum;
}

// Connected components: the roots of both ends of an edge take the smaller label.
extern "C" __global__ void graph_components_hook(int edges, const int* __restrict__ tail,
                                                 const int* __restrict__ head,
                                                 const int* __restrict__ label,
                                                 int* __restrict__ next) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    int a = label[tail[e]], b = label[head[e]];
    if (a != b) atomicMin(&next[max(a, b)], min(a, b));
}

// Connected components: every vertex follows its parents to the root. The parent of v is
// link[v] % (v + 1), so that every way ends.
extern "C" __global__ void graph_components_compress(int n, const int* __restrict__ link,
                                                     int* __restrict__ root) {
    int vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= n) return;
    int here = vertex, above = link[here] % (here + 1);
    while (above != here) {
        here = above;
        above = link[here] % (here + 1);
    }
    root[vertex] = here;
}

// Shortest paths: every edge may shorten the way to its end.
extern "C" __global__ void graph_relax(int edges, const int* __restrict__ tail,
                                       const int* __restrict__ head, const int* __restrict__ length,
                                       const int* __restrict__ distance, int* __restrict__ next) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    int way = distance[tail[e]] + length[e];
    if (way < distance[head[e]]) atomicMin(&next[head[e]], way);
}
