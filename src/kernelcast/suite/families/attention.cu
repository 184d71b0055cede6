// Attention: y = softmax(q k^T / sqrt(SIZE)) v for heads of SIZE numbers per token. Arrays are
// heads x tokens x SIZE.

// A block per query: scores in shared memory, threads over the keys and then over the result.
template <int SIZE>
__global__ void attention_query(int tokens, const float* __restrict__ q,
                                const float* __restrict__ k, const float* __restrict__ v,
                                float* __restrict__ y) {
    extern __shared__ float score[];
    __shared__ float query[SIZE];
    __shared__ float cells[32];
    int t = threadIdx.x, warps = blockDim.x / 32;
    int head = blockIdx.y * tokens * SIZE, at = head + blockIdx.x * SIZE;
    for (int d = t; d < SIZE; d += blockDim.x) query[d] = q[at + d] * rsqrtf((float)SIZE);
    __syncthreads();

    float largest = -1e30f;
    for (int j = t; j < tokens; j += blockDim.x) {
        float sum = 0.0f;
        for (int d = 0; d < SIZE; d++) sum += query[d] * k[head + j * SIZE + d];
        score[j] = sum;
        largest = fmaxf(largest, sum);
    }
    for (int step = 16; step > 0; step /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, step));
    if (t % 32 == 0) cells[t / 32] = largest;
    __syncthreads();
    for (int w = 0; w < warps; w++) largest = fmaxf(largest, cells[w]);
    __syncthreads();

    float sum = 0.0f;
    for (int j = t; j < tokens; j += blockDim.x) {
        score[j] = expf(score[j] - largest);
        sum += score[j];
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (t % 32 == 0) cells[t / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < warps; w++) sum += cells[w];

    for (int d = t; d < SIZE; d += blockDim.x) {
        float result = 0.0f;
        for (int j = 0; j < tokens; j++) result += score[j] * v[head + j * SIZE + d];
        y[at + d] = result / sum;
    }
}

// A thread per query, tiles of keys and values in shared memory, the softmax kept up to date.
template <int SIZE, int TILE>
__global__ void attention_online(int tokens, const float* __restrict__ q,
                                 const float* __restrict__ k, const float* __restrict__ v,
                                 float* __restrict__ y) {
    __shared__ float tile_k[TILE][SIZE];
    __shared__ float tile_v[TILE][SIZE];
    int head = blockIdx.y * tokens * SIZE;
    int token = blockIdx.x * blockDim.x + threadIdx.x, at = head + min(token, tokens - 1) * SIZE;
    float query[SIZE], result[SIZE];
#pragma unroll
    for (int d = 0; d < SIZE; d++) {
        query[d] = q[at + d] * rsqrtf((float)SIZE);
        result[d] = 0.0f;
    }
    float largest = -1e30f, sum = 0.0f;
    for (int first = 0; first < tokens; first += TILE) {
        int count = min(TILE, tokens - first);
        for (int e = threadIdx.x; e < count * SIZE; e += blockDim.x) {
            tile_k[e / SIZE][e % SIZE] = k[head + first * SIZE + e];
            tile_v[e / SIZE][e % SIZE] = v[head + first * SIZE + e];
        }
        __syncthreads();
        for (int j = 0; j < count; j++) {
            float score = 0.0f;
#pragma unroll
            for (int d = 0; d < SIZE; d++) score += query[d] * tile_k[j][d];
            if (score > largest) {
                float shrink = __expf(largest - score);
                sum *= shrink;
#pragma unroll
                for (int d = 0; d < SIZE; d++) result[d] *= shrink;
                largest = score;
            }
            float weight = __expf(score - largest);
            sum += weight;
#pragma unroll
            for (int d = 0; d < SIZE; d++) result[d] += weight * tile_v[j][d];
        }
        __syncthreads();
    }
    if (token >= tokens) return;
#pragma unroll
    for (int d = 0; d < SIZE; d++) y[at + d] = result[d] / sum;
}

// A warp per query attends only to the keys that a list names; a lane holds SIZE / 32 numbers.
template <int SIZE>
__global__ void attention_sparse(int tokens, int chosen, const int* __restrict__ index,
                                 const float* __restrict__ q, const float* __restrict__ k,
                                 const float* __restrict__ v, float* __restrict__ y) {
    constexpr int EACH = SIZE / 32;
    int lane = threadIdx.x % 32;
    int token = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (token >= tokens) return;
    int head = blockIdx.y * tokens * SIZE, at = head + token * SIZE + lane;
    float query[EACH], result[EACH] = {};
    for (int u = 0; u < EACH; u++) query[u] = q[at + 32 * u] * rsqrtf((float)SIZE);
    float largest = -1e30f, sum = 0.0f;
    for (int c = 0; c < chosen; c++) {
        int from = head + index[token * chosen + c] * SIZE + lane;
        float score = 0.0f;
        for (int u = 0; u < EACH; u++) score += query[u] * k[from + 32 * u];
        for (int step = 16; step > 0; step /= 2)
            score += __shfl_xor_sync(0xffffffff, score, step);
        float before = largest;
        largest = fmaxf(largest, score);
        float shrink = __expf(before - largest), weight = __expf(score - largest);
        sum = sum * shrink + weight;
        for (int u = 0; u < EACH; u++) result[u] = result[u] * shrink + weight * v[from + 32 * u];
    }
    for (int u = 0; u < EACH; u++) y[at + 32 * u] = result[u] / sum;
}
