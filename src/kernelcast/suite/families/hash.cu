// Hash functions and tables. A table has a power of two of slots; a negative slot is empty.

// The last steps of MurmurHash3, which spread a word over all its bits.
__device__ __forceinline__ unsigned mixed(unsigned h) {
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return h ^ (h >> 16);
}

// Every key claims the first empty slot from its own on, unless it is already there.
extern "C" __global__ void hash_build(int n, int slots, const int* __restrict__ key,
                                      int* __restrict__ table) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned slot = mixed(key[i]) & (slots - 1);
    while (true) {
        int found = atomicCAS(&table[slot], -1, key[i]);
        if (found == -1 || found == key[i]) return;
        slot = (slot + 1) & (slots - 1);
    }
}

// Steps from a key's slot until the key or an empty slot is met; negative where it is missing.
extern "C" __global__ void hash_probe(int n, int slots, const int* __restrict__ key,
                                      const int* __restrict__ table, int* __restrict__ steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned slot = mixed(key[i]) & (slots - 1);
    int step = 0;
    while (table[slot] >= 0 && table[slot] != key[i]) {
        slot = (slot + 1) & (slots - 1);
        step++;
    }
    steps[i] = table[slot] == key[i] ? step : -1 - step;
}

// FNV-1a of texts of various lengths, byte by byte; they begin `pitch` bytes apart.
extern "C" __global__ void hash_fnv(int n, int pitch, const int* __restrict__ length,
                                    const unsigned char* __restrict__ text,
                                    unsigned long long* __restrict__ hash) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long h = 14695981039346656037ULL;
    for (int j = 0; j < length[i]; j++) {
        h ^= text[i * pitch + j];
        h *= 1099511628211ULL;
    }
    hash[i] = h;
}

// MurmurHash3 (32 bits) of texts of various lengths, four bytes at a time and then the rest.
extern "C" __global__ void hash_murmur3(int n, int pitch, unsigned seed,
                                        const int* __restrict__ length,
                                        const unsigned char* __restrict__ text,
                                        unsigned* __restrict__ hash) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char* bytes = text + i * pitch;
    int count = length[i], words = count / 4;
    unsigned h = seed;
    for (int w = 0; w < words; w++) {
        unsigned k = ((const unsigned*)bytes)[w] * 0xcc9e2d51u;
        k = ((k << 15) | (k >> 17)) * 0x1b873593u;
        h ^= k;
        h = ((h << 13) | (h >> 19)) * 5 + 0xe6546b64u;
    }
    unsigned k = 0;
    switch (count & 3) {
        case 3: k ^= bytes[words * 4 + 2] << 16;
        case 2: k ^= bytes[words * 4 + 1] << 8;
        case 1:
            k ^= bytes[words * 4];
            k *= 0xcc9e2d51u;
            k = ((k << 15) | (k >> 17)) * 0x1b873593u;
            h ^= k;
    }
    hash[i] = mixed(h ^ count);
}
