// Loads and stores with a cache policy, and fences: order is that of the program here.
#pragma once

#define STAND_IN_LOAD(name)          \
    template <class T>               \
    T name(const T* address) {       \
        return *address;             \
    }
#define STAND_IN_STORE(name)                            \
    template <class T>                                  \
    void name(T* address, stand_in::same<T> value) {    \
        *address = value;                               \
    }

STAND_IN_LOAD(__ldg)
STAND_IN_LOAD(__ldca)
STAND_IN_LOAD(__ldcg)
STAND_IN_LOAD(__ldcs)
STAND_IN_LOAD(__ldcv)
STAND_IN_LOAD(__ldlu)
STAND_IN_STORE(__stwb)
STAND_IN_STORE(__stcg)
STAND_IN_STORE(__stcs)
STAND_IN_STORE(__stwt)

#undef STAND_IN_LOAD
#undef STAND_IN_STORE

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}
