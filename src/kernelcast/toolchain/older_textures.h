/* Texture references, which CUDA 12 dropped, as texture objects that the host and kernels share. */
#ifndef KERNELCAST_OLDER_TEXTURES
#define KERNELCAST_OLDER_TEXTURES
#ifdef __cplusplus
#include <cuda_runtime.h>

template <class T, int dimensions = cudaTextureType1D,
          cudaTextureReadMode mode = cudaReadModeElementType>
struct kernelcast_texture {
    int normalized = 0;
    cudaTextureFilterMode filterMode = cudaFilterModePoint;
    cudaTextureAddressMode addressMode[3] = {cudaAddressModeClamp, cudaAddressModeClamp,
                                             cudaAddressModeClamp};
    cudaChannelFormatDesc channelDesc = {};
    cudaTextureObject_t object = 0;
};

/* What a texel is read as: the element, or a float for each of its numbers. */
template <class T, cudaTextureReadMode mode> struct kernelcast_texel { typedef T type; };
#define KERNELCAST_NORMALIZED(T, F) \
    template <> struct kernelcast_texel<T, cudaReadModeNormalizedFloat> { typedef F type; };
#define KERNELCAST_NORMALIZED_ALL(N) \
    KERNELCAST_NORMALIZED(char##N, float##N) KERNELCAST_NORMALIZED(uchar##N, float##N) \
    KERNELCAST_NORMALIZED(short##N, float##N) KERNELCAST_NORMALIZED(ushort##N, float##N)
KERNELCAST_NORMALIZED(char, float)
KERNELCAST_NORMALIZED(unsigned char, float)
KERNELCAST_NORMALIZED(short, float)
KERNELCAST_NORMALIZED(unsigned short, float)
KERNELCAST_NORMALIZED_ALL(1)
KERNELCAST_NORMALIZED_ALL(2)
KERNELCAST_NORMALIZED_ALL(4)
#undef KERNELCAST_NORMALIZED_ALL
#undef KERNELCAST_NORMALIZED

#define KERNELCAST_READ(function, parameters, arguments) \
    template <class T, cudaTextureReadMode mode> \
    static __device__ __forceinline__ typename kernelcast_texel<T, mode>::type function parameters { \
        return function<typename kernelcast_texel<T, mode>::type> arguments; \
    }
#define KERNELCAST_FROM(dimensions) const kernelcast_texture<T, dimensions, mode> &from
KERNELCAST_READ(tex1Dfetch, (KERNELCAST_FROM(1), int x), (from.object, x))
KERNELCAST_READ(tex1D, (KERNELCAST_FROM(1), float x), (from.object, x))
KERNELCAST_READ(tex2D, (KERNELCAST_FROM(2), float x, float y), (from.object, x, y))
KERNELCAST_READ(tex3D, (KERNELCAST_FROM(3), float x, float y, float z), (from.object, x, y, z))
#undef KERNELCAST_FROM
#undef KERNELCAST_READ

template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t cudaUnbindTexture(kernelcast_texture<T, dimensions, mode> &of) {
    cudaError_t status = of.object ? cudaDestroyTextureObject(of.object) : cudaSuccess;
    of.object = 0;
    return status;
}
template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t kernelcast_bind(kernelcast_texture<T, dimensions, mode> &of,
                                          const cudaResourceDesc &data) {
    cudaTextureDesc reads = {};
    for (int axis = 0; axis < 3; ++axis) reads.addressMode[axis] = of.addressMode[axis];
    reads.filterMode = of.filterMode;
    reads.readMode = mode;
    reads.normalizedCoords = of.normalized;
    cudaError_t status = cudaUnbindTexture(of);
    return status != cudaSuccess ? status
                                 : cudaCreateTextureObject(&of.object, &data, &reads, nullptr);
}
template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTexture(size_t *offset,
                                          kernelcast_texture<T, dimensions, mode> &of,
                                          const void *data, const cudaChannelFormatDesc &format,
                                          size_t bytes) {
    cudaResourceDesc linear = {};
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = const_cast<void *>(data);
    linear.res.linear.desc = of.channelDesc = format;
    linear.res.linear.sizeInBytes = bytes;
    if (offset) *offset = 0;
    return kernelcast_bind(of, linear);
}
template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTexture(size_t *offset,
                                          kernelcast_texture<T, dimensions, mode> &of,
                                          const void *data, size_t bytes) {
    return cudaBindTexture(offset, of, data, cudaCreateChannelDesc<T>(), bytes);
}
template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTexture(size_t *offset,
                                          kernelcast_texture<T, dimensions, mode> *of,
                                          const void *data, const cudaChannelFormatDesc *format,
                                          size_t bytes) {
    return cudaBindTexture(offset, *of, data, *format, bytes);
}
template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTexture2D(size_t *offset,
                                            kernelcast_texture<T, dimensions, mode> &of,
                                            const void *data, const cudaChannelFormatDesc &format,
                                            size_t width, size_t height, size_t pitch) {
    cudaResourceDesc rows = {};
    rows.resType = cudaResourceTypePitch2D;
    rows.res.pitch2D.devPtr = const_cast<void *>(data);
    rows.res.pitch2D.desc = of.channelDesc = format;
    rows.res.pitch2D.width = width;
    rows.res.pitch2D.height = height;
    rows.res.pitch2D.pitchInBytes = pitch;
    if (offset) *offset = 0;
    return kernelcast_bind(of, rows);
}
template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTexture2D(size_t *offset,
                                            kernelcast_texture<T, dimensions, mode> &of,
                                            const void *data, size_t width, size_t height,
                                            size_t pitch) {
    return cudaBindTexture2D(offset, of, data, cudaCreateChannelDesc<T>(), width, height, pitch);
}
template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTextureToArray(kernelcast_texture<T, dimensions, mode> &of,
                                                 cudaArray_const_t array) {
    cudaResourceDesc texels = {};
    texels.resType = cudaResourceTypeArray;
    texels.res.array.array = const_cast<cudaArray_t>(array);
    cudaGetChannelDesc(&of.channelDesc, array);
    return kernelcast_bind(of, texels);
}
template <class T, int dimensions, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTextureToArray(kernelcast_texture<T, dimensions, mode> &of,
                                                 cudaArray_const_t array,
                                                 const cudaChannelFormatDesc &) {
    return cudaBindTextureToArray(of, array);
}
#define texture __device__ __managed__ kernelcast_texture

#endif
#endif
