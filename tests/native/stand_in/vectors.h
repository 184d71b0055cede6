// Built-in vector types (CUDA C++ Programming Guide, "Built-in Vector Types"): short ones are
// aligned to their size, at most to 16 bytes; those of three elements as one element is.
#pragma once

#define STAND_IN_VECTORS(name, type)                                                        \
    struct name##1 { type x; };                                                             \
    struct alignas(2 * sizeof(type)) name##2 { type x, y; };                                \
    struct name##3 { type x, y, z; };                                                       \
    struct alignas(sizeof(type) < 4 ? 4 * sizeof(type) : 16) name##4 { type x, y, z, w; };  \
    inline name##1 make_##name##1(type x) { return {x}; }                                   \
    inline name##2 make_##name##2(type x, type y) { return {x, y}; }                        \
    inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }             \
    inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

STAND_IN_VECTORS(char, signed char)
STAND_IN_VECTORS(uchar, unsigned char)
STAND_IN_VECTORS(short, short)
STAND_IN_VECTORS(ushort, unsigned short)
STAND_IN_VECTORS(int, int)
STAND_IN_VECTORS(uint, unsigned int)
STAND_IN_VECTORS(long, long)
STAND_IN_VECTORS(ulong, unsigned long)
STAND_IN_VECTORS(longlong, long long)
STAND_IN_VECTORS(ulonglong, unsigned long long)
STAND_IN_VECTORS(float, float)
STAND_IN_VECTORS(double, double)

#undef STAND_IN_VECTORS

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
