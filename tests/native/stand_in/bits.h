// Integer intrinsics (CUDA Math API, "Integer Intrinsics" and "SIMD Intrinsics").
#pragma once

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

inline unsigned long long __brevll(unsigned long long x) {
    unsigned long long reversed = 0;
    for (int i = 0; i < 64; i++) reversed |= (x >> i & 1) << (63 - i);
    return reversed;
}
inline unsigned __brev(unsigned x) { return unsigned(__brevll(x) >> 32); }

inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++)
        result |= unsigned(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
}

inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    unsigned long long pair = (unsigned long long)high << 32 | low;
    return unsigned(pair << (shift < 32 ? shift : 32) >> 32);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    unsigned long long pair = (unsigned long long)high << 32 | low;
    return unsigned(pair >> (shift < 32 ? shift : 32));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return __funnelshift_lc(low, high, shift & 31);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return __funnelshift_rc(low, high, shift & 31);
}

inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
    return unsigned((unsigned long long)a * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
    return (long long)((__int128)a * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __mul24(int a, int b) {
    return int((unsigned)(int(unsigned(a) << 8) >> 8) * (unsigned)(int(unsigned(b) << 8) >> 8));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }

inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
inline unsigned __sad(int a, int b, unsigned c) {
    return (a > b ? unsigned(a) - unsigned(b) : unsigned(b) - unsigned(a)) + c;
}
inline int __hadd(int a, int b) { return int(((long long)a + b) >> 1); }
inline int __rhadd(int a, int b) { return int(((long long)a + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) {
    return unsigned(((unsigned long long)a + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b) {
    return unsigned(((unsigned long long)a + b + 1) >> 1);
}

namespace stand_in {

// Part `i` of a word that holds values of type T side by side.
template <class T>
T part(unsigned word, int i) {
    return T(word >> 8 * sizeof(T) * i);
}

// `operation` on every pair of parts, each result cut to the width of a part.
template <class T, class Operation>
unsigned by_parts(unsigned a, unsigned b, Operation operation) {
    unsigned result = 0;
    for (size_t i = 0; i < 4 / sizeof(T); i++) {
        auto made = std::make_unsigned_t<T>(operation(int(part<T>(a, i)), int(part<T>(b, i))));
        result |= unsigned(made) << 8 * sizeof(T) * i;
    }
    return result;
}

template <class T>
int clamped(int x) {
    int low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    return x < low ? low : x > high ? high : x;
}

// Four products of bytes, or two of a 16-bit number and a byte from `first` on.
template <class A, class B>
unsigned dot(unsigned a, unsigned b, unsigned sum, int first) {
    for (int i = 0; i < int(4 / sizeof(A)); i++)
        sum += unsigned(int(part<A>(a, i)) * int(part<B>(b, first + i)));
    return sum;
}

}  // namespace stand_in

#define STAND_IN_PARTS(name, type, expression)                                           \
    inline unsigned name(unsigned x, unsigned y) {                                       \
        return stand_in::by_parts<type>(x, y, [](int a, int b) { return expression; });  \
    }

STAND_IN_PARTS(__vadd2, unsigned short, a + b)
STAND_IN_PARTS(__vadd4, unsigned char, a + b)
STAND_IN_PARTS(__vsub2, unsigned short, a - b)
STAND_IN_PARTS(__vsub4, unsigned char, a - b)
STAND_IN_PARTS(__vaddss2, short, stand_in::clamped<short>(a + b))
STAND_IN_PARTS(__vaddus4, unsigned char, stand_in::clamped<unsigned char>(a + b))
STAND_IN_PARTS(__vmaxs2, short, a > b ? a : b)
STAND_IN_PARTS(__vminu2, unsigned short, a < b ? a : b)
STAND_IN_PARTS(__vmaxu4, unsigned char, a > b ? a : b)
STAND_IN_PARTS(__vmins4, signed char, a < b ? a : b)
STAND_IN_PARTS(__vabsdiffu4, unsigned char, a > b ? a - b : b - a)
STAND_IN_PARTS(__vavgu4, unsigned char, (a + b + 1) >> 1)
STAND_IN_PARTS(__vcmpeq4, unsigned char, a == b ? 0xff : 0)
STAND_IN_PARTS(__vcmpgts2, short, a > b ? 0xffff : 0)

#undef STAND_IN_PARTS

inline unsigned __vsadu4(unsigned x, unsigned y) {
    return stand_in::dot<unsigned char, unsigned char>(__vabsdiffu4(x, y), 0x01010101, 0, 0);
}

inline int __dp4a(int a, int b, int c) {
    return int(stand_in::dot<signed char, signed char>(a, b, c, 0));
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    return stand_in::dot<unsigned char, unsigned char>(a, b, c, 0);
}
inline int __dp2a_lo(int a, int b, int c) {
    return int(stand_in::dot<short, signed char>(a, b, c, 0));
}
inline int __dp2a_hi(int a, int b, int c) {
    return int(stand_in::dot<short, signed char>(a, b, c, 2));
}
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
    return stand_in::dot<unsigned short, unsigned char>(a, b, c, 0);
}
inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) {
    return stand_in::dot<unsigned short, unsigned char>(a, b, c, 2);
}
