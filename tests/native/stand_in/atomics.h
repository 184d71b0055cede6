// Atomic functions: plain reads and writes, as one host thread runs everything.
#pragma once

namespace stand_in {

// A second parameter of this type does not take part in the deduction of T, so that
// `atomicAdd(&an_unsigned, 1)` means what it means in CUDA.
template <class T>
struct Same {
    using type = T;
};
template <class T>
using same = typename Same<T>::type;

template <class T>
T replaced(T* address, T value) {
    T old = *address;
    *address = value;
    return old;
}

}  // namespace stand_in

#define STAND_IN_ATOMIC(name, expression)                                         \
    template <class T>                                                            \
    T name(T* address, stand_in::same<T> value) {                                 \
        T old = *address;                                                         \
        return stand_in::replaced(address, T(expression));                        \
    }                                                                             \
    template <class T>                                                            \
    T name##_block(T* address, stand_in::same<T> value) {                         \
        return name(address, value);                                              \
    }                                                                             \
    template <class T>                                                            \
    T name##_system(T* address, stand_in::same<T> value) {                        \
        return name(address, value);                                              \
    }

STAND_IN_ATOMIC(atomicAdd, old + value)
STAND_IN_ATOMIC(atomicSub, old - value)
STAND_IN_ATOMIC(atomicMin, value < old ? value : old)
STAND_IN_ATOMIC(atomicMax, value > old ? value : old)
STAND_IN_ATOMIC(atomicAnd, old & value)
STAND_IN_ATOMIC(atomicOr, old | value)
STAND_IN_ATOMIC(atomicXor, old ^ value)
STAND_IN_ATOMIC(atomicExch, ((void)old, value))
STAND_IN_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
STAND_IN_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)

#undef STAND_IN_ATOMIC

template <class T>
T atomicCAS(T* address, stand_in::same<T> expected, stand_in::same<T> value) {
    return stand_in::replaced(address, *address == expected ? value : *address);
}
