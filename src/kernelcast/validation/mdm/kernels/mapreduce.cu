// Steps of map and reduce over texts, a thread for each line, chunk, key or group. A line ends at a
// zero byte; the line or key of a thread begins at its number times `pitch` plus its `jitter`.

// Page views are counted: the hash of every address.
extern "C" __global__ void view_count_map(int lines, int pitch, const int* __restrict__ jitter,
                                          const unsigned char* __restrict__ log,
                                          unsigned* __restrict__ hash, int* __restrict__ key) {
    int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    int at = line * pitch + jitter[line];
    unsigned h = 2166136261u;
    for (int n = 0; n < pitch && log[at + n]; n++) h = (h ^ log[at + n]) * 16777619u;
    hash[line] = h;
    key[line] = at;
}

// Pages are ranked by their views: the number at the head of every line.
extern "C" __global__ void view_rank_map(int lines, int pitch, int digits,
                                         const int* __restrict__ jitter,
                                         const unsigned char* __restrict__ log,
                                         int* __restrict__ views, int* __restrict__ key) {
    int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    int at = line * pitch + jitter[line], number = 0;
    for (int n = 0; n < digits && log[at + n]; n++) number = number * 10 + log[at + n] % 10;
    views[line] = number;
    key[line] = at;
}

// Links of web pages: where "<a" stands in a chunk of a page, and how far it is to the next ">".
extern "C" __global__ void links_map(int chunks, int bytes, const unsigned char* __restrict__ page,
                                     int* __restrict__ links, int2* __restrict__ link) {
    int chunk = blockIdx.x * blockDim.x + threadIdx.x;
    if (chunk >= chunks) return;
    int begin = -1;
    unsigned char before = 0;
    for (int at = chunk * bytes; at < (chunk + 1) * bytes; at++) {
        unsigned char here = page[at];
        if (before == '<' && here == 'a') begin = at - 1;
        if (begin >= 0 && here == '>') {
            link[atomicAdd(links, 1)] = make_int2(begin, at - begin);
            begin = -1;
        }
        before = here;
    }
}

// A step of a bitonic sort: keys `span` apart change places where they stand in the wrong order.
__device__ void put_in_order(int i, int span, int run, bool is_wrong_upwards, int* key) {
    if (is_wrong_upwards != ((i & run) == 0)) return;
    int first = key[i];
    key[i] = key[i ^ span];
    key[i ^ span] = first;
}

extern "C" __global__ void sort_by_text(int keys, int span, int run, int longest,
                                        const unsigned char* __restrict__ text,
                                        int* __restrict__ key) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= keys || (i & span)) return;
    int a = key[i], b = key[i ^ span], n = 0;
    while (n < longest && text[a + n] && text[a + n] == text[b + n]) n++;
    put_in_order(i, span, run, text[a + n] > text[b + n], key);
}

extern "C" __global__ void sort_by_views(int keys, int span, int run,
                                         const int* __restrict__ views, int* __restrict__ key) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= keys || (i & span)) return;
    put_in_order(i, span, run, views[key[i]] < views[key[i ^ span]], key);
}

// The sum of every group of values that lie side by side.
extern "C" __global__ void sum_groups(int groups, int pitch, const int* __restrict__ jitter,
                                      const int* __restrict__ value, int* __restrict__ sum) {
    int group = blockIdx.x * blockDim.x + threadIdx.x;
    if (group >= groups) return;
    int end = (group + 1) * pitch + jitter[group + 1], total = 0;
    for (int at = group * pitch + jitter[group]; at < end; at++) total += value[at];
    sum[group] = total;
}
