// What the lanes of a warp do together (CUDA C++ Programming Guide, "Warp Shuffle Functions" and
// its neighbours; PTX ISA, shfl.sync).
#pragma once

namespace stand_in {

enum Kind { syncwarp, shuffle, vote, match, reduction };

template <class T>
u64 packed(T value) {
    static_assert(sizeof value <= sizeof(u64));
    u64 bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T>
T unpacked(u64 bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The value of lane `source` if it is in range, else the lane's own.
template <class T>
T shuffled(u32 mask, T value, int source, bool in_range) {
    const Thread& lane = collect(shuffle, mask, packed(value));
    return unpacked<T>(lane.seen[in_range ? source & 31 : lane.lane]);
}

inline int first_of_segment(int width) { return current->lane & -width; }

inline int last_of_segment(int width) { return first_of_segment(width) + width - 1; }

// What every lane of the collective gave, put together by `join`.
template <class T, class Join>
T reduced(u32 mask, T value, Join join) {
    const Thread& lane = collect(reduction, mask, packed(value));
    bool first = true;
    T result{};
    for (u32 i = 0; i < kLanes; i++) {
        if (!(lane.lanes >> i & 1)) continue;
        T other = unpacked<T>(lane.seen[i]);
        result = first ? other : join(result, other);
        first = false;
    }
    return result;
}

// The lanes of the collective that gave `bits`.
inline u32 lanes_that_gave(const Thread& lane, u64 bits) {
    u32 found = 0;
    for (u32 i = 0; i < kLanes; i++)
        if (lane.lanes >> i & 1 && lane.seen[i] == bits) found |= 1u << i;
    return found;
}

}  // namespace stand_in

inline void __syncwarp(unsigned mask = 0xffffffff) {
    stand_in::collect(stand_in::syncwarp, mask, 0);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    return stand_in::shuffled(mask, value,
                              stand_in::first_of_segment(width) | (source & (width - 1)), true);
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    int source = int(stand_in::current->lane) - int(delta & 31);
    return stand_in::shuffled(mask, value, source, source >= stand_in::first_of_segment(width));
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    int source = int(stand_in::current->lane) + int(delta & 31);
    return stand_in::shuffled(mask, value, source, source <= stand_in::last_of_segment(width));
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
    int source = int(stand_in::current->lane) ^ (bits & 31);
    return stand_in::shuffled(mask, value, source, source <= stand_in::last_of_segment(width));
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    return stand_in::lanes_that_gave(stand_in::collect(stand_in::vote, mask, predicate != 0), 1);
}

inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }

inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
    stand_in::u64 bits = stand_in::packed(value);
    return stand_in::lanes_that_gave(stand_in::collect(stand_in::match, mask, bits), bits);
}

template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* same) {
    stand_in::u64 bits = stand_in::packed(value);
    const stand_in::Thread& lane = stand_in::collect(stand_in::match, mask, bits);
    *same = stand_in::lanes_that_gave(lane, bits) == lane.lanes;
    return *same ? lane.lanes : 0;
}

#define STAND_IN_REDUCTION(name, type, expression)                                    \
    inline type __reduce_##name##_sync(unsigned mask, type value) {                   \
        return stand_in::reduced(mask, value, [](type a, type b) -> type { return expression; }); \
    }

STAND_IN_REDUCTION(add, unsigned, a + b)
STAND_IN_REDUCTION(add, int, int(unsigned(a) + unsigned(b)))
STAND_IN_REDUCTION(min, unsigned, a < b ? a : b)
STAND_IN_REDUCTION(min, int, a < b ? a : b)
STAND_IN_REDUCTION(max, unsigned, a > b ? a : b)
STAND_IN_REDUCTION(max, int, a > b ? a : b)
STAND_IN_REDUCTION(and, unsigned, a & b)
STAND_IN_REDUCTION(or, unsigned, a | b)
STAND_IN_REDUCTION(xor, unsigned, a ^ b)

#undef STAND_IN_REDUCTION
