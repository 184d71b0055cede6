/* What lanes of a warp exchanged before compute capability 7.0, when all that are active took part. */
#ifndef KERNELCAST_OLDER_EXCHANGES
#define KERNELCAST_OLDER_EXCHANGES
#if defined(__cplusplus) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700

template <class T> static __device__ __forceinline__ T __shfl(T value, int lane, int width = 32) {
    return __shfl_sync(__activemask(), value, lane, width);
}
template <class T>
static __device__ __forceinline__ T __shfl_up(T value, unsigned delta, int width = 32) {
    return __shfl_up_sync(__activemask(), value, delta, width);
}
template <class T>
static __device__ __forceinline__ T __shfl_down(T value, unsigned delta, int width = 32) {
    return __shfl_down_sync(__activemask(), value, delta, width);
}
template <class T>
static __device__ __forceinline__ T __shfl_xor(T value, int mask, int width = 32) {
    return __shfl_xor_sync(__activemask(), value, mask, width);
}
static __device__ __forceinline__ int __any(int holds) {
    return __any_sync(__activemask(), holds);
}
static __device__ __forceinline__ int __all(int holds) {
    return __all_sync(__activemask(), holds);
}
static __device__ __forceinline__ unsigned __ballot(int holds) {
    return __ballot_sync(__activemask(), holds);
}

#endif
#endif
