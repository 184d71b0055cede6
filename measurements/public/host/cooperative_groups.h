// Stands in for NVIDIA's header where a kernel takes of it what waits for its block alone.
namespace cooperative_groups {
struct thread_block {};
static __device__ inline thread_block this_thread_block() { return {}; }
static __device__ inline void sync(thread_block) { __syncthreads(); }
}
