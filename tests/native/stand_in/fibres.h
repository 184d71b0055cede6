// The threads of a block as fibres of one host thread, and the launch of a kernel.
//
// Order: blocks ascend; within a block rounds, in each of which every warp runs, lowest first,
// until all its threads have ended or wait at the barrier; within a warp the lowest lane first,
// each until it ends, waits at the barrier, or waits for other lanes of its warp. So a thread runs
// on alone where a GPU's warp would take its lanes along: what lanes read and write without
// waiting for each other, they must not share, and of several atomics on one address between two
// waits a lane performs all before the next lane performs any.
#pragma once

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace stand_in {

using u32 = unsigned int;
using u64 = unsigned long long;

constexpr u32 kLanes = 32, kThreads = 1024;
constexpr size_t kStackBytes = 256 << 10, kDynamicSharedBytes = 256 << 10;

enum class State { ready, at_collective, at_barrier, done };

struct Thread {
    ucontext_t context;
    uint3 index;
    State state;
    u32 lane;
    // The collective it waits in: its kind, the lanes it names, and what this lane gives to it.
    int kind;
    u32 mask;
    u64 given;
    // The last collective that was complete: its lanes, and what each of them gave.
    u32 lanes;
    u64 seen[kLanes];
};

// What the barrier counted: threads that came, and those of them whose predicate held.
struct Barrier {
    u32 threads, holding;
};

alignas(1024) inline unsigned char dynamic_shared[kDynamicSharedBytes];
inline Thread threads[kThreads];
inline Thread* current;
inline ucontext_t scheduler;
inline void (*call_kernel)(const void* arguments);
inline const void* arguments;
inline Barrier barrier;

inline void wait(State state) {
    current->state = state;
    swapcontext(&current->context, &scheduler);
}

// Waits for the lanes of `mask`; returns this thread, which then knows what each lane gave.
inline const Thread& collect(int kind, u32 mask, u64 given) {
    current->kind = kind;
    current->mask = mask;
    current->given = given;
    wait(State::at_collective);
    return *current;
}

inline Barrier arrive(bool holds) {
    current->given = holds;
    wait(State::at_barrier);
    return barrier;
}

inline void run_thread() {
    call_kernel(arguments);
    current->state = State::done;  // the context's link leads back to the scheduler
}

inline void start(Thread& thread, u32 number, unsigned char* stack) {
    thread.index = {number % blockDim.x, number / blockDim.x % blockDim.y,
                    number / blockDim.x / blockDim.y};
    thread.lane = number % kLanes;
    thread.state = State::ready;
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = stack;
    thread.context.uc_stack.ss_size = kStackBytes;
    thread.context.uc_link = &scheduler;
    makecontext(&thread.context, run_thread, 0);
}

inline void resume(Thread& thread) {
    current = &thread;
    threadIdx = thread.index;
    swapcontext(&scheduler, &thread.context);
}

// The lanes of `one`'s collective if all of them that still run wait in it, else none.
inline u32 complete_lanes(const Thread* warp, u32 size, const Thread& one) {
    u32 lanes = 0;
    for (u32 i = 0; i < size; i++) {
        const Thread& other = warp[i];
        if (!(one.mask >> i & 1) || other.state == State::done) continue;
        bool same = other.state == State::at_collective && other.kind == one.kind &&
                    other.mask == one.mask;
        if (!same) return 0;
        lanes |= 1u << i;
    }
    return lanes;
}

inline bool release_collectives(Thread* warp, u32 size) {
    bool any = false;
    for (u32 i = 0; i < size; i++) {
        if (warp[i].state != State::at_collective) continue;
        u32 lanes = complete_lanes(warp, size, warp[i]);
        for (u32 to = 0; to < size; to++) {
            if (!(lanes >> to & 1)) continue;
            warp[to].lanes = lanes;
            for (u32 from = 0; from < size; from++) warp[to].seen[from] = warp[from].given;
            warp[to].state = State::ready;
            any = true;
        }
    }
    return any;
}

inline void run_warp(Thread* warp, u32 size) {
    do {
        for (u32 i = 0; i < size; i++)
            if (warp[i].state == State::ready) resume(warp[i]);
    } while (release_collectives(warp, size));
}

// Whether the block can go on: all its threads wait at the barrier or have ended, not all ended.
inline bool release_barrier(u32 count) {
    barrier = {0, 0};
    for (u32 i = 0; i < count; i++) {
        if (threads[i].state == State::at_collective) return false;
        if (threads[i].state != State::at_barrier) continue;
        barrier.threads += 1;
        barrier.holding += threads[i].given != 0;
    }
    for (u32 i = 0; i < count; i++)
        if (threads[i].state == State::at_barrier) threads[i].state = State::ready;
    return barrier.threads > 0;
}

// Runs one block; false where its threads wait for each other for ever.
inline bool run_block(unsigned char* stacks) {
    u32 count = blockDim.x * blockDim.y * blockDim.z;
    memset(dynamic_shared, 0, sizeof dynamic_shared);
    for (u32 i = 0; i < count; i++) start(threads[i], i, stacks + i * kStackBytes);
    do {
        for (u32 i = 0; i < count; i += kLanes)
            run_warp(threads + i, count - i < kLanes ? count - i : kLanes);
    } while (release_barrier(count));
    for (u32 i = 0; i < count; i++)
        if (threads[i].state != State::done) return false;
    return true;
}

inline unsigned char* thread_stacks() {
    static void* stacks = mmap(nullptr, kThreads * kStackBytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return static_cast<unsigned char*>(stacks);
}

// The next parameter of the block that a launch passes; device addresses become host pointers.
template <class P>
P parameter(const unsigned char* block, size_t& offset, long long host_delta) {
    offset = (offset + alignof(P) - 1) / alignof(P) * alignof(P);
    std::remove_cv_t<P> value;
    memcpy(&value, block + offset, sizeof value);
    offset += sizeof value;
    if constexpr (std::is_pointer_v<P>)
        if (value) value = reinterpret_cast<P>(reinterpret_cast<intptr_t>(value) + host_delta);
    return value;
}

// Runs all blocks. Returns the number of blocks that ended, fewer than the grid has where one
// does not.
template <class... P>
long long launch(void (*kernel)(P...), const unsigned char* block, long long host_delta, dim3 grid,
                 dim3 threads_of_block) {
    size_t offset = 0;
    struct Call {
        void (*kernel)(P...);
        std::tuple<P...> arguments;
    } call{kernel, {parameter<P>(block, offset, host_delta)...}};
    arguments = &call;
    call_kernel = [](const void* opaque) {
        const Call& call = *static_cast<const Call*>(opaque);
        std::apply(call.kernel, call.arguments);
    };
    gridDim = grid;
    blockDim = threads_of_block;
    long long ended = 0;
    for (u32 z = 0; z < grid.z; z++)
        for (u32 y = 0; y < grid.y; y++)
            for (u32 x = 0; x < grid.x; x++) {
                blockIdx = {x, y, z};
                if (!run_block(thread_stacks())) return ended;
                ended++;
            }
    return ended;
}

}  // namespace stand_in

inline void __syncthreads() { stand_in::arrive(true); }

inline int __syncthreads_count(int predicate) { return stand_in::arrive(predicate).holding; }

inline int __syncthreads_or(int predicate) { return stand_in::arrive(predicate).holding > 0; }

inline int __syncthreads_and(int predicate) {
    stand_in::Barrier met = stand_in::arrive(predicate);
    return met.holding == met.threads;
}
