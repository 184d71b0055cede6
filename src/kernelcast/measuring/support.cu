// How arrays start on a GPU, bit for bit as they do when they are executed here.
//
// Random numbers are NumPy's SFC64. A thread makes one piece of an array, from the generator's
// state where the piece begins: a, b, c, the counter, and the half word that is left over, with
// bit 32 set where there is one.

typedef unsigned long long u64;

struct Generator {
    u64 a, b, c, counter, left;

    __device__ u64 word() {
        u64 drawn = a + b + counter++;
        a = b ^ (b >> 11);
        b = c + (c << 3);
        c = (c << 24 | c >> 40) + drawn;
        return drawn;
    }

    __device__ unsigned half_word() {
        if (left >> 32) {
            unsigned kept = (unsigned)left;
            left = 0;
            return kept;
        }
        u64 drawn = word();
        left = 1ull << 32 | drawn >> 32;
        return (unsigned)drawn;
    }

    // D. Lemire: Fast random integer generation in an interval. ACM TOMACS 29(1), 2019.
    __device__ unsigned below(unsigned range) {
        u64 product = (u64)half_word() * range;
        if ((unsigned)product < range) {
            unsigned refused = (0u - range) % range;
            while ((unsigned)product < refused) product = (u64)half_word() * range;
        }
        return product >> 32;
    }

    // The same for ranges that do not fit a half word.
    __device__ u64 below_wide(u64 range) {
        u64 drawn = word();
        if (drawn * range < range) {
            u64 refused = (0ull - range) % range;
            while (drawn * range < refused) drawn = word();
        }
        return __umul64hi(drawn, range);
    }

    // As NumPy shuffles: half words under a mask until one fits.
    __device__ unsigned up_to(unsigned most) {
        unsigned mask = 0xFFFFFFFFu >> __clz(most);
        unsigned drawn = half_word() & mask;
        while (drawn > most) drawn = half_word() & mask;
        return drawn;
    }
};

// A multiple of 2^-11 below 1 as the bits of an f16, which holds it exactly.
__device__ unsigned short f16_of(unsigned multiple) {
    if (!multiple) return 0;
    int high = 31 - __clz(multiple);
    return (high + 4) << 10 | (multiple << (10 - high) & 0x3FF);
}

#define FILL(NAME, TYPE, VALUE)                                                                 \
    extern "C" __global__ void NAME(                                                            \
        TYPE *out, u64 count, const u64 *states, u64 piece, long long low, u64 range) {         \
        u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;                                \
        u64 end = min(count, (thread + 1) * piece);                                             \
        if (thread * piece >= count) return;                                                    \
        const u64 *s = states + 5 * thread;                                                     \
        Generator g = {s[0], s[1], s[2], s[3], s[4]};                                           \
        for (u64 i = thread * piece; i < end; ++i) out[i] = (TYPE)(VALUE);                      \
    }

extern "C" __global__ void arange_s32(
    int *out, u64 count, const u64 *, u64 piece, long long, u64) {
    u64 begin = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * piece;
    for (u64 i = begin; i < min(count, begin + piece); ++i) out[i] = (int)i;
}

FILL(random_words, u64, g.word() ^ (u64)low)
FILL(random_f16, unsigned short, f16_of(g.half_word() >> 21))
FILL(random_f32, float, (g.half_word() >> 8) * (1.0f / (1 << 24)))
FILL(random_f64, double, (g.word() >> 11) * (1.0 / (1ull << 53)))
FILL(randint_u8, unsigned char, low + g.below((unsigned)range))
FILL(randint_u32, unsigned, low + g.below((unsigned)range))
FILL(randint_s32, int, low + g.below((unsigned)range))
FILL(randint_s64, long long, low + g.below((unsigned)range))
FILL(randint_wide_s64, long long, low + g.below_wide(range))
FILL(randint_f32, float, low + g.below((unsigned)range))

// The exchanges of a shuffle from element `first` down to `last`, by one thread.
extern "C" __global__ void shuffle(unsigned *order, u64 *state, unsigned first, unsigned last) {
    Generator g = {state[0], state[1], state[2], state[3], state[4]};
    for (unsigned i = first; i >= last; --i) {
        unsigned j = g.up_to(i), moved = order[j];
        order[j] = order[i];
        order[i] = moved;
    }
    state[0] = g.a;
    state[1] = g.b;
    state[2] = g.c;
    state[3] = g.counter;
    state[4] = g.left;
}
