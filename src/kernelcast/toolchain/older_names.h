/* What CUDA has left out since a program was written: of its runtime, and of its device functions. */
#ifndef KERNELCAST_OLDER_NAMES
#define KERNELCAST_OLDER_NAMES
#include "older_exchanges.h"
#include <cuda_runtime_api.h>
#if defined(__cplusplus) && CUDART_VERSION >= 13000

static inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
static inline cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) {
    return cudaDeviceSetLimit(limit, value);
}
static inline cudaError_t cudaThreadGetLimit(size_t *value, cudaLimit limit) {
    return cudaDeviceGetLimit(value, limit);
}
static inline cudaError_t cudaThreadSetCacheConfig(cudaFuncCache config) {
    return cudaDeviceSetCacheConfig(config);
}
static inline cudaError_t cudaThreadGetCacheConfig(cudaFuncCache *config) {
    return cudaDeviceGetCacheConfig(config);
}

/* The number of a device, where CUDA 13 wants a place. */
static inline cudaMemLocation kernelcast_place(int device) {
    cudaMemLocation place;
    place.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    place.id = device == cudaCpuDeviceId ? 0 : device;
    return place;
}
static inline cudaError_t cudaMemPrefetchAsync(const void *data, size_t bytes, int device,
                                               cudaStream_t stream = 0) {
    return cudaMemPrefetchAsync(data, bytes, kernelcast_place(device), 0, stream);
}
static inline cudaError_t cudaMemAdvise(const void *data, size_t bytes, cudaMemoryAdvise advice,
                                        int device) {
    return cudaMemAdvise(data, bytes, advice, kernelcast_place(device));
}

struct kernelcast_device_properties : cudaDeviceProp {
    int clockRate;
    int memoryClockRate;
    int deviceOverlap;
    int kernelExecTimeoutEnabled;
    int computeMode;
    int maxTexture1DLinear;
    int singleToDoublePrecisionPerfRatio;
    int cooperativeMultiDeviceLaunch;
};
static inline cudaError_t cudaGetDeviceProperties(kernelcast_device_properties *all, int device) {
    cudaError_t status = cudaGetDeviceProperties(static_cast<cudaDeviceProp *>(all), device);
    struct { int *value; cudaDeviceAttr attribute; } const older[] = {
        {&all->clockRate, cudaDevAttrClockRate},
        {&all->memoryClockRate, cudaDevAttrMemoryClockRate},
        {&all->deviceOverlap, cudaDevAttrGpuOverlap},
        {&all->kernelExecTimeoutEnabled, cudaDevAttrKernelExecTimeout},
        {&all->computeMode, cudaDevAttrComputeMode},
        {&all->maxTexture1DLinear, cudaDevAttrMaxTexture1DLinearWidth},
        {&all->singleToDoublePrecisionPerfRatio, cudaDevAttrSingleToDoublePrecisionPerfRatio},
    };
    all->cooperativeMultiDeviceLaunch = 0;
    for (auto const &one : older)
        if (status == cudaSuccess) status = cudaDeviceGetAttribute(one.value, one.attribute, device);
    return status;
}
#define cudaDeviceProp kernelcast_device_properties

#endif
#endif
