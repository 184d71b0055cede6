// Texts: search and comparison.

// A thread per place: how often the pattern occurs.
extern "C" __global__ void strings_search(int n, int m, const unsigned char* __restrict__ text,
                                          const unsigned char* __restrict__ pattern,
                                          unsigned* __restrict__ found) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n - m) return;
    int j = 0;
    while (j < m && text[i + j] == pattern[j]) j++;
    if (j == m) atomicAdd(found, 1u);
}

// Horspool's algorithm: the last byte of the window says how far the pattern may move. A thread
// searches the windows that begin in its part of the text.
extern "C" __global__ void strings_horspool(int n, int m, int part,
                                            const unsigned char* __restrict__ text,
                                            const unsigned char* __restrict__ pattern,
                                            unsigned* __restrict__ found) {
    __shared__ int shift[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) {
        int last = -1;
        for (int j = 0; j < m - 1; j++)
            if (pattern[j] == b) last = j;
        shift[b] = m - 1 - last;
    }
    __syncthreads();
    int at = (blockIdx.x * blockDim.x + threadIdx.x) * part, end = min(at + part, n - m + 1);
    unsigned count = 0;
    while (at < end) {
        int j = m - 1;
        while (j >= 0 && text[at + j] == pattern[j]) j--;
        if (j < 0) count++;
        at += shift[text[at + m - 1]];
    }
    if (count) atomicAdd(found, count);
}

// Levenshtein's distance of pairs of texts of up to 32 bytes; a row of the table is the thread's
// own array.
extern "C" __global__ void strings_edit_distance(int n, int m, const unsigned char* __restrict__ a,
                                                 const unsigned char* __restrict__ b,
                                                 int* __restrict__ distance) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int row[33];
    for (int x = 0; x <= m; x++) row[x] = x;
    for (int y = 0; y < m; y++) {
        int diagonal = row[0];
        row[0] = y + 1;
        for (int x = 0; x < m; x++) {
            int replaced = diagonal + (a[i * m + y] != b[i * m + x]);
            diagonal = row[x + 1];
            row[x + 1] = min(replaced, min(diagonal, row[x]) + 1);
        }
    }
    distance[i] = row[m];
}
