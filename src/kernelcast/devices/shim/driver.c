// The public driver API, for programs and libraries that load modules themselves. What is missing
// is not found by cuGetProcAddress; private tables there are none.
#define _GNU_SOURCE
#include "device.h"
#include "graphs.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef int error;
typedef uint64_t stream, event, address;
typedef void *context;
typedef struct { uint32_t id; } module;

#define VERSION 13000

static int the_context;
static __thread context *current;
static __thread int depth, room;
static __thread int attached;

static error ended(error status) { return status ? status : kc_sticky(); }
static error answered(error status) { return status; }
static error started(void) { return kc_start(); }

// ---- the driver and its device ----

KC_API error cuInit(unsigned flags) { return (void)flags, kc_start(); }
KC_API error cuDriverGetVersion(int *version) { return *version = VERSION, KC_SUCCESS; }
KC_API error cuDeviceGetCount(int *count) { return *count = 1, kc_start(); }

KC_API error cuDeviceGet(int *device, int number) {
  *device = 0;
  return number ? KC_INVALID_DEVICE : kc_start();
}

KC_API error cuDeviceGetName(char *name, int length, int device) {
  (void)device;
  snprintf(name, (size_t)length, "%s", kc_device_name());
  return KC_SUCCESS;
}

KC_API error cuDeviceGetUuid_v2(char *uuid, int device) {
  (void)device;
  memset(uuid, 0, 16);
  snprintf(uuid, 16, "%.15s", "kernelcast");
  return KC_SUCCESS;
}

KC_API error cuDeviceGetUuid(char *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

KC_API error cuDeviceTotalMem_v2(size_t *bytes, int device) {
  (void)device;
  *bytes = kc_total_memory();
  return KC_SUCCESS;
}

KC_API error cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = kc_device_attribute(attribute);
  return KC_SUCCESS;
}

KC_API error cuDeviceComputeCapability(int *major, int *minor, int device) {
  (void)device;
  *major = kc_device_attribute(KC_MAJOR);
  *minor = kc_device_attribute(KC_MINOR);
  return KC_SUCCESS;
}

KC_API error cuDeviceGetPCIBusId(char *text, int length, int device) {
  snprintf(text, (size_t)length, "0000:%02x:00.0", kc_device_attribute(KC_PCI_BUS));
  return device ? KC_INVALID_DEVICE : KC_SUCCESS;
}

KC_API error cuDeviceGetByPCIBusId(int *device, const char *text) {
  char own[32];
  cuDeviceGetPCIBusId(own, sizeof own, 0);
  *device = 0;
  return strcasecmp(text, own) ? KC_INVALID_DEVICE : kc_start();
}

KC_API error cuDeviceCanAccessPeer(int *can, int a, int b) {
  (void)a, (void)b;
  return *can = 0, KC_SUCCESS;
}

enum { PEER_ACCESS_UNSUPPORTED = 217 };

KC_API error cuCtxEnablePeerAccess(context c, unsigned flags) {
  return (void)c, (void)flags, PEER_ACCESS_UNSUPPORTED;
}

KC_API error cuCtxDisablePeerAccess(context c) { return (void)c, PEER_ACCESS_UNSUPPORTED; }

// ---- contexts: there is one ----

KC_API error cuDevicePrimaryCtxRetain(context *made, int device) {
  *made = &the_context;
  return device ? KC_INVALID_DEVICE : kc_start();
}

KC_API error cuDevicePrimaryCtxRelease_v2(int device) { return (void)device, KC_SUCCESS; }
KC_API error cuDevicePrimaryCtxReset_v2(int device) { return (void)device, kc_reset(); }

KC_API error cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  (void)device, (void)flags;
  return KC_SUCCESS;
}

KC_API error cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active) {
  (void)device;
  return *flags = 0, *is_active = 1, KC_SUCCESS;
}

KC_API error cuCtxPushCurrent_v2(context c) {
  if (depth == room) current = realloc(current, (size_t)(room += 16) * sizeof *current);
  current[depth++] = c;
  return KC_SUCCESS;
}

KC_API error cuCtxPopCurrent_v2(context *c) {
  if (!depth) return KC_INVALID_CONTEXT;
  depth--;
  if (c) *c = current[depth];
  return KC_SUCCESS;
}

KC_API error cuCtxCreate_v2(context *made, unsigned flags, int device) {
  (void)flags;
  error status = cuDevicePrimaryCtxRetain(made, device);
  return status ? status : cuCtxPushCurrent_v2(*made);
}

KC_API error cuCtxCreate_v4(context *made, void *parameters, unsigned flags, int device) {
  (void)parameters;
  return cuCtxCreate_v2(made, flags, device);
}

KC_API error cuCtxDestroy_v2(context c) {
  if (depth && current[depth - 1] == c) depth--;
  return KC_SUCCESS;
}

KC_API error cuCtxAttach(context *c, unsigned flags) {
  (void)flags;
  if (!depth) return KC_INVALID_CONTEXT;
  attached++;
  return *c = current[depth - 1], KC_SUCCESS;
}

// Who lets go of a context last destroys it.
KC_API error cuCtxDetach(context c) {
  if (!attached) return cuCtxDestroy_v2(c);
  attached--;
  return KC_SUCCESS;
}

KC_API error cuCtxSetCurrent(context c) {
  if (depth) depth--;
  return c ? cuCtxPushCurrent_v2(c) : KC_SUCCESS;
}

KC_API error cuCtxGetCurrent(context *c) {
  *c = depth ? current[depth - 1] : kc_uses_runtime ? &the_context : NULL;
  return KC_SUCCESS;
}

KC_API error cuCtxGetDevice(int *device) {
  *device = 0;
  return depth || kc_uses_runtime ? KC_SUCCESS : KC_INVALID_CONTEXT;
}

KC_API error cuCtxGetApiVersion(context c, unsigned *version) {
  return (void)c, *version = VERSION, KC_SUCCESS;
}

KC_API error cuCtxGetFlags(unsigned *flags) { return *flags = 0, KC_SUCCESS; }
KC_API error cuCtxSynchronize(void) { return kc_synchronize(KC_ALL_STREAMS); }
KC_API error cuCtxSetCacheConfig(int preference) { return kc_prefer(NULL, preference); }
KC_API error cuCtxGetCacheConfig(int *preference) {
  return *preference = kc_preference(), KC_SUCCESS;
}
KC_API error cuCtxSetSharedMemConfig(int preference) { return (void)preference, KC_SUCCESS; }
KC_API error cuCtxGetSharedMemConfig(int *preference) { return *preference = 1, KC_SUCCESS; }

KC_API error cuCtxSetLimit(int limit, size_t value) {
  (void)limit, (void)value;
  return KC_SUCCESS;
}

KC_API error cuCtxGetLimit(size_t *value, int limit) {
  *value = limit == 0 ? 1024 : limit == 1 ? 1 << 20 : 8 << 20;
  return KC_SUCCESS;
}

KC_API error cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = 0;
  return KC_SUCCESS;
}

// ---- memory ----

KC_API error cuMemAlloc_v2(address *made, size_t bytes) {
  if (!bytes) return KC_INVALID_VALUE;
  return ended(kc_allocate(made, bytes, KC_DEVICE_MEMORY));
}

KC_API error cuMemAllocManaged(address *made, size_t bytes, unsigned flags) {
  (void)flags;
  return ended(bytes ? kc_allocate(made, bytes, KC_MANAGED_MEMORY) : KC_INVALID_VALUE);
}

KC_API error cuMemHostAlloc(void **made, size_t bytes, unsigned flags) {
  (void)flags;
  return ended(bytes ? kc_allocate((address *)made, bytes, KC_HOST_MEMORY) : KC_INVALID_VALUE);
}

KC_API error cuMemAllocHost_v2(void **made, size_t bytes) { return cuMemHostAlloc(made, bytes, 0); }

KC_API error cuMemAllocPitch_v2(address *made, size_t *pitch, size_t width, size_t rows,
                                unsigned element) {
  (void)element;
  *pitch = (width + 511) / 512 * 512;
  return cuMemAlloc_v2(made, *pitch * rows);
}

KC_API error cuMemAllocAsync(address *made, size_t bytes, stream s) {
  if (!bytes) return KC_INVALID_VALUE;
  return (void)s, ended(kc_allocate_in_order(made, bytes));
}

KC_API error cuMemFree_v2(address p) {
  return ended(kc_is_of_graphs(p) ? KC_SUCCESS : kc_free(p));
}

KC_API error cuMemFreeHost(void *p) { return ended(kc_free((address)p)); }
KC_API error cuMemFreeAsync(address p, stream s) { return (void)s, ended(kc_free_in_order(p)); }

// ---- pools of memory: every one is the device's memory ----

static int the_pool;

static error a_pool(void **pool) {
  if (!pool) return ended(KC_INVALID_VALUE);
  *pool = &the_pool;
  return ended(kc_start());
}

KC_API error cuDeviceGetDefaultMemPool(void **pool, int device) { return (void)device, a_pool(pool); }
KC_API error cuDeviceGetMemPool(void **pool, int device) { return (void)device, a_pool(pool); }
KC_API error cuDeviceSetMemPool(int device, void *pool) {
  return (void)device, (void)pool, ended(kc_start());
}
KC_API error cuMemPoolCreate(void **pool, const void *how) { return (void)how, a_pool(pool); }
KC_API error cuMemPoolDestroy(void *pool) { return (void)pool, ended(kc_start()); }
KC_API error cuMemPoolTrimTo(void *pool, size_t kept) {
  return (void)pool, (void)kept, ended(kc_start());
}
KC_API error cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
  return (void)pool, ended(kc_pool_attribute(attribute, value, 1));
}
KC_API error cuMemPoolGetAttribute(void *pool, int attribute, void *value) {
  return (void)pool, ended(kc_pool_attribute(attribute, value, 0));
}
KC_API error cuMemPoolSetAccess(void *pool, const void *who, size_t count) {
  return (void)pool, (void)who, (void)count, ended(kc_start());
}
KC_API error cuMemPoolGetAccess(int *access, void *pool, void *who) {
  enum { READ_AND_WRITE = 3 };
  (void)pool, (void)who;
  if (access) *access = READ_AND_WRITE;
  return ended(access ? kc_start() : KC_INVALID_VALUE);
}

KC_API error cuMemAllocFromPoolAsync(address *made, size_t bytes, void *pool, stream s) {
  return (void)pool, cuMemAllocAsync(made, bytes, s);
}

KC_API error cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
  return ended(kc_memory_info(free_bytes, total_bytes));
}

KC_API error cuMemGetAddressRange_v2(address *start, size_t *bytes, address p) {
  kc_range found;
  if (kc_find(p, &found)) return KC_NOT_FOUND;
  if (start) *start = found.address;
  if (bytes) *bytes = found.size;
  return KC_SUCCESS;
}

KC_API error cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags) {
  (void)flags;
  return ended(kc_host_register(p, bytes));
}

KC_API error cuMemHostUnregister(void *p) { return ended(kc_host_unregister(p)); }

KC_API error cuMemHostGetDevicePointer_v2(address *device, void *p, unsigned flags) {
  (void)flags;
  return *device = kc_device_address(p), KC_SUCCESS;
}

KC_API error cuMemHostGetFlags(unsigned *flags, void *p) {
  return (void)p, *flags = 0, KC_SUCCESS;
}

enum {
  POINTER_CONTEXT = 1, POINTER_TYPE, POINTER_DEVICE, POINTER_HOST, POINTER_BUFFER = 7,
  POINTER_IS_MANAGED, POINTER_ORDINAL, POINTER_START = 11, POINTER_SIZE, POINTER_MAPPED,
};

KC_API error cuPointerGetAttribute(void *value, int attribute, address p) {
  kc_range found;
  if (kc_find(kc_device_address((void *)p), &found)) return KC_INVALID_VALUE;
  switch (attribute) {
    case POINTER_CONTEXT: *(context *)value = &the_context; return KC_SUCCESS;
    case POINTER_TYPE: *(unsigned *)value = found.kind == KC_HOST_MEMORY ? 1 : 2; return KC_SUCCESS;
    case POINTER_DEVICE: *(address *)value = kc_device_address((void *)p); return KC_SUCCESS;
    case POINTER_HOST:
      if (found.kind == KC_DEVICE_MEMORY) return KC_INVALID_VALUE;
      *(address *)value = p;
      return KC_SUCCESS;
    case POINTER_BUFFER: *(uint64_t *)value = found.address; return KC_SUCCESS;
    case POINTER_IS_MANAGED: *(int *)value = found.kind == KC_MANAGED_MEMORY; return KC_SUCCESS;
    case POINTER_ORDINAL: *(int *)value = 0; return KC_SUCCESS;
    case POINTER_START: *(address *)value = found.address; return KC_SUCCESS;
    case POINTER_SIZE: *(size_t *)value = found.size; return KC_SUCCESS;
    case POINTER_MAPPED: *(int *)value = 1; return KC_SUCCESS;
    default: return kc_unsupported("an attribute of a pointer");
  }
}

KC_API error cuPointerGetAttributes(unsigned count, int *attributes, void **values, address p) {
  for (unsigned i = 0; i < count; i++)
    if (cuPointerGetAttribute(values[i], attributes[i], p)) memset(values[i], 0, 4);
  return KC_SUCCESS;
}

static error copied(address to, address from, size_t bytes, stream s) {
  return kc_copy(to, bytes, from, bytes, bytes, 1, s);
}

static error waited(error status) { return status ? status : kc_copy_done(); }

KC_API error cuMemcpy(address to, address from, size_t n) { return waited(copied(to, from, n, 0)); }

KC_API error cuMemcpyPeer(address to, context a, address from, context b, size_t n) {
  return (void)a, (void)b, waited(copied(to, from, n, 0));
}

KC_API error cuMemcpyPeerAsync(address to, context a, address from, context b, size_t n, stream s) {
  return (void)a, (void)b, copied(to, from, n, s);
}

KC_API error cuMemcpyAsync(address to, address from, size_t n, stream s) {
  return copied(to, from, n, s);
}

#define COPY(kind)                                                              \
  KC_API error cuMemcpy##kind##_v2(address to, address from, size_t n) {        \
    return waited(copied(to, from, n, 0));                                      \
  }                                                                             \
  KC_API error cuMemcpy##kind##Async_v2(address to, address from, size_t n, stream s) { \
    return copied(to, from, n, s);                                              \
  }
COPY(HtoD)
COPY(DtoH)
COPY(DtoD)

#include "driver_arrays.h"
#include "driver_mapping.h"
#include "driver_tensor_maps.h"

#define SET(bits, type)                                                                    \
  KC_API error cuMemsetD##bits##Async(address p, type value, size_t n, stream s) {         \
    return kc_fill(p, n * sizeof value, value, sizeof value, n * sizeof value, 1, s);      \
  }                                                                                        \
  KC_API error cuMemsetD##bits##_v2(address p, type value, size_t n) {                     \
    return cuMemsetD##bits##Async(p, value, n, 0);                                         \
  }                                                                                        \
  KC_API error cuMemsetD2D##bits##Async(address p, size_t pitch, type value, size_t width, \
                                        size_t rows, stream s) {                           \
    return kc_fill(p, pitch, value, sizeof value, width * sizeof value, rows, s);          \
  }                                                                                        \
  KC_API error cuMemsetD2D##bits##_v2(address p, size_t pitch, type value, size_t width,   \
                                      size_t rows) {                                       \
    return cuMemsetD2D##bits##Async(p, pitch, value, width, rows, 0);                      \
  }
SET(8, uint8_t)
SET(16, uint16_t)
SET(32, uint32_t)

// ---- modules ----

KC_API error cuModuleLoadData(module **made, const void *image) {
  module *m = calloc(1, sizeof *m);
  error status = kc_start() ? KC_NO_DEVICE : kc_load_module(image, &m->id);
  if (status) free(m);
  else *made = m;
  return status;
}

enum { INFO_LOG = 3, INFO_LOG_BYTES, ERROR_LOG, ERROR_LOG_BYTES };

// What compiling has to say, of information and of errors, which is nothing.
static void say_nothing(unsigned count, const int *options, void **values) {
  for (unsigned i = 0; i < count; i++) {
    int option = options[i];
    if ((option == INFO_LOG || option == ERROR_LOG) && values[i]) *(char *)values[i] = 0;
    if (option == INFO_LOG_BYTES || option == ERROR_LOG_BYTES) values[i] = NULL;
  }
}

KC_API error cuModuleLoadDataEx(module **made, const void *image, unsigned count, int *options,
                                void **values) {
  say_nothing(count, options, values);
  return cuModuleLoadData(made, image);
}

KC_API error cuModuleLoadFatBinary(module **made, const void *image) {
  return cuModuleLoadData(made, image);
}

KC_API error cuModuleLoad(module **made, const char *name) {
  void *image = kc_read_file(name);
  error status = image ? cuModuleLoadData(made, image) : KC_FILE_NOT_FOUND;
  free(image);
  return status;
}

KC_API error cuModuleUnload(module *m) { return (void)m, KC_SUCCESS; }
KC_API error cuModuleGetLoadingMode(int *mode) { return *mode = 2, KC_SUCCESS; }

KC_API error cuModuleGetFunction(kc_function **function, module *m, const char *name) {
  return kc_get_function(m->id, name, function);
}

KC_API error cuModuleGetGlobal_v2(address *start, size_t *bytes, module *m, const char *name) {
  return kc_get_variable(m->id, name, start, bytes);
}

// A library is a module, and its kernels are functions.
KC_API error cuLibraryLoadData(module **made, const void *image, int *options, void **values,
                               unsigned count, int *others, void **other_values, unsigned n) {
  (void)options, (void)values, (void)count, (void)others, (void)other_values, (void)n;
  return cuModuleLoadData(made, image);
}

KC_API error cuLibraryLoadFromFile(module **made, const char *name, int *options, void **values,
                                   unsigned count, int *others, void **other_values, unsigned n) {
  (void)options, (void)values, (void)count, (void)others, (void)other_values, (void)n;
  return cuModuleLoad(made, name);
}

KC_API error cuLibraryUnload(module *m) { return cuModuleUnload(m); }
KC_API error cuLibraryGetModule(module **m, module *library) { return *m = library, KC_SUCCESS; }

KC_API error cuLibraryGetKernel(kc_function **function, module *m, const char *name) {
  return cuModuleGetFunction(function, m, name);
}

KC_API error cuLibraryGetGlobal(address *start, size_t *bytes, module *m, const char *name) {
  return cuModuleGetGlobal_v2(start, bytes, m, name);
}

KC_API error cuKernelGetFunction(kc_function **function, kc_function *kernel) {
  return *function = kernel, KC_SUCCESS;
}

// A link of one image is that image; several would have to be linked, which nvJitLink does.
typedef struct { char *image; size_t bytes; } link;

KC_API error cuLinkCreate_v2(unsigned count, int *options, void **values, link **made) {
  say_nothing(count, options, values);
  *made = calloc(1, sizeof **made);
  return KC_SUCCESS;
}

KC_API error cuLinkAddData_v2(link *l, int kind, void *data, size_t bytes, const char *name,
                              unsigned count, int *options, void **values) {
  (void)kind, (void)name, (void)count, (void)options, (void)values;
  if (l->image) return kc_unsupported("linking several images (pip install nvidia-nvjitlink)");
  l->image = calloc(1, bytes + 1);
  memcpy(l->image, data, bytes);
  l->bytes = bytes;
  return KC_SUCCESS;
}

KC_API error cuLinkComplete(link *l, void **image, size_t *bytes) {
  *image = l->image;
  if (bytes) *bytes = l->bytes;
  return l->image ? KC_SUCCESS : KC_INVALID_VALUE;
}

KC_API error cuLinkDestroy(link *l) {
  free(l->image);
  free(l);
  return KC_SUCCESS;
}

KC_API error cuFuncGetAttribute(int *value, int attribute, const kc_function *f) {
  const int known[] = {f->max_threads, f->shared_bytes, f->constant_bytes, f->local_bytes,
                       f->registers, f->architecture, f->architecture, 0,
                       f->most_shared_bytes, f->carveout};
  *value = attribute >= 0 && attribute < 10 ? known[attribute] : 0;
  return KC_SUCCESS;
}

KC_API error cuFuncSetAttribute(kc_function *f, int attribute, int value) {
  return kc_set_attribute(f, attribute, value);
}

KC_API error cuKernelGetAttribute(int *value, int attribute, const kc_function *f, int device) {
  return (void)device, cuFuncGetAttribute(value, attribute, f);
}

KC_API error cuKernelSetAttribute(int attribute, int value, kc_function *f, int device) {
  return (void)device, cuFuncSetAttribute(f, attribute, value);
}

KC_API error cuFuncSetCacheConfig(kc_function *f, int preference) {
  return kc_prefer(f, preference);
}

KC_API error cuKernelSetCacheConfig(kc_function *f, int preference, int device) {
  return (void)device, kc_prefer(f, preference);
}

KC_API error cuFuncSetSharedMemConfig(kc_function *f, int preference) {
  return (void)f, (void)preference, KC_SUCCESS;
}

KC_API error cuFuncGetParamInfo(kc_function *f, size_t index, size_t *offset, size_t *size) {
  if (index >= f->parameter_count) return KC_INVALID_VALUE;
  *offset = f->parameters[index].offset;
  if (size) *size = f->parameters[index].size;
  return KC_SUCCESS;
}

KC_API error cuKernelGetParamInfo(kc_function *f, size_t index, size_t *offset, size_t *size) {
  return cuFuncGetParamInfo(f, index, offset, size);
}

KC_API error cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, kc_function *f, int threads,
                                                         size_t shared) {
  return kc_occupancy(f, threads, shared, blocks);
}

KC_API error cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, kc_function *f,
                                                                  int threads, size_t shared,
                                                                  unsigned flags) {
  return (void)flags, kc_occupancy(f, threads, shared, blocks);
}

// The block with which most threads are resident, the largest of several.
KC_API error cuOccupancyMaxPotentialBlockSize(int *grid, int *block, kc_function *f,
                                              size_t (*shared_of)(int), size_t shared, int limit) {
  int best = 0, most = f->max_threads;
  if (limit > 0 && limit < most) most = limit;
  *grid = *block = 0;
  for (int threads = most / 32 * 32; threads > 0; threads -= 32) {
    int blocks = 0;
    error status = kc_occupancy(f, threads, shared_of ? shared_of(threads) : shared, &blocks);
    if (status) return status;
    if (blocks * threads > best) {
      best = blocks * threads;
      *block = threads;
      *grid = blocks * kc_device_attribute(KC_SM_COUNT);
    }
  }
  return KC_SUCCESS;
}

// ---- launches ----

enum { EXTRA_END, EXTRA_POINTER, EXTRA_SIZE };

static error launched(kc_function *f, const kc_launch_shape *shape, void **arguments,
                      void **extra) {
  const void *packed = NULL;
  size_t bytes = 0;
  for (void **at = extra; at && at[0] != (void *)EXTRA_END; at += 2) {
    if (at[0] == (void *)EXTRA_POINTER) packed = at[1];
    if (at[0] == (void *)EXTRA_SIZE) bytes = *(size_t *)at[1];
  }
  return kc_launch(f, shape, arguments, packed, bytes);
}

KC_API error cuLaunchKernel(kc_function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, stream s, void **arguments,
                            void **extra) {
  kc_launch_shape shape = {{gx, gy, gz}, {bx, by, bz}, shared, s, 0, {0}};
  return launched(f, &shape, arguments, extra);
}

KC_API error cuLaunchCooperativeKernel(kc_function *f, unsigned gx, unsigned gy, unsigned gz,
                                       unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                       stream s, void **arguments) {
  kc_launch_shape shape = {{gx, gy, gz}, {bx, by, bz}, shared, s, 1, {0}};
  return launched(f, &shape, arguments, NULL);
}

enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4 };

typedef struct {
  unsigned grid[3], block[3], shared;
  stream stream;
  const struct { int id, padding; unsigned value[16]; } *attributes;
  unsigned count;
} launch_configuration;

KC_API error cuLaunchKernelEx(const launch_configuration *c, kc_function *f, void **arguments,
                              void **extra) {
  kc_launch_shape shape = {{c->grid[0], c->grid[1], c->grid[2]},
                           {c->block[0], c->block[1], c->block[2]}, c->shared, c->stream, 0, {0}};
  for (unsigned i = 0; i < c->count; i++) {
    const unsigned *value = c->attributes[i].value;
    if (c->attributes[i].id == ATTRIBUTE_COOPERATIVE) shape.cooperative = value[0];
    if (c->attributes[i].id == ATTRIBUTE_CLUSTER) memcpy(shape.cluster, value, sizeof shape.cluster);
  }
  return launched(f, &shape, arguments, extra);
}

KC_API error cuLaunchHostFunc(stream s, kc_host_function call, void *data) {
  (void)s;
  kc_call_host(call, data);
  return kc_sticky();
}

// ---- streams and events ----

KC_API error cuStreamCreate(stream *made, unsigned flags) {
  error status = kc_start();
  if (!status) *made = kc_new_stream(!(flags & 1));
  return status;
}

KC_API error cuStreamCreateWithPriority(stream *made, unsigned flags, int priority) {
  return (void)priority, cuStreamCreate(made, flags);
}

KC_API error cuStreamDestroy_v2(stream s) { return kc_free_stream(s), KC_SUCCESS; }
KC_API error cuStreamSynchronize(stream s) { return kc_synchronize(s); }
KC_API error cuStreamQuery(stream s) { return (void)s, kc_sticky(); }

KC_API error cuStreamWaitEvent(stream s, event e, unsigned flags) {
  (void)flags;
  kc_stream_waits(s, e);
  return kc_sticky();
}

KC_API error cuStreamAddCallback(stream s, void (*call)(stream, error, void *), void *data,
                                 unsigned flags) {
  (void)flags;
  call(s, kc_sticky(), data);
  return KC_SUCCESS;
}

KC_API error cuStreamGetCtx(stream s, context *c) { return (void)s, *c = &the_context, KC_SUCCESS; }
KC_API error cuStreamGetFlags(stream s, unsigned *f) { return (void)s, *f = 0, KC_SUCCESS; }
KC_API error cuStreamGetPriority(stream s, int *p) { return (void)s, *p = 0, KC_SUCCESS; }
KC_API error cuStreamGetId(stream s, uint64_t *id) { return *id = s, KC_SUCCESS; }
KC_API error cuStreamAttachMemAsync(stream s, address p, size_t n, unsigned flags) {
  return (void)s, (void)p, (void)n, (void)flags, kc_sticky();
}

KC_API error cuEventCreate(event *made, unsigned flags) {
  (void)flags;
  return *made = kc_new_event(), kc_start();
}

KC_API error cuEventDestroy_v2(event e) { return (void)e, KC_SUCCESS; }
KC_API error cuEventRecord(event e, stream s) { return kc_record(e, s), kc_sticky(); }
KC_API error cuEventSynchronize(event e) { return kc_synchronize_event(e); }
KC_API error cuEventQuery(event e) { return (void)e, kc_sticky(); }

KC_API error cuEventElapsedTime(float *milliseconds, event start, event end) {
  return ended(kc_elapsed(start, end, milliseconds));
}

KC_API error cuEventElapsedTime_v2(float *milliseconds, event start, event end) {
  return cuEventElapsedTime(milliseconds, start, end);
}

KC_API error cuProfilerStart(void) { return KC_SUCCESS; }
KC_API error cuProfilerStop(void) { return KC_SUCCESS; }

#include "driver_old_launches.h"
#include "driver_graphs.h"

// ---- errors, and where functions are ----

KC_API error cuGetErrorName(error e, const char **name) {
  *name = kc_error_name(e, 1);
  return *name ? KC_SUCCESS : KC_INVALID_VALUE;
}

KC_API error cuGetErrorString(error e, const char **text) {
  *text = kc_error_text(e);
  return *text ? KC_SUCCESS : KC_INVALID_VALUE;
}

KC_API error cuGetExportTable(const void **table, const void *id) {
  (void)id;
  *table = NULL;
  return kc_unsupported("a private table of NVIDIA's driver (cuGetExportTable)");
}

#define UNSUPPORTED(name) \
  KC_API error name(void) { return kc_unsupported(#name); }
#include "unsupported_driver.h"
#undef UNSUPPORTED

static int is_unsupported(const char *name) {
  static const char *const names[] = {
#define UNSUPPORTED(name) #name,
#include "unsupported_driver.h"
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], name)) return 1;
  return 0;
}

// A name stands for its newest version that is here. What is not supported is there for programs
// that are linked with all of the driver; who asks for it is told that it is missing.
KC_API error cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags,
                                 int *status) {
  static void *self;
  static const char *const endings[] = {"_v2", "", "_v3", "_v4"};
  char full[128];
  Dl_info where;
  (void)version, (void)flags;
  if (!self && dladdr((void *)cuGetProcAddress_v2, &where))
    self = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  *found = NULL;
  for (int i = 0; i < 4 && !*found && self; i++) {
    snprintf(full, sizeof full, "%s%s", name, endings[i]);
    if (!is_unsupported(full)) *found = dlsym(self, full);
  }
  if (status) *status = *found ? 0 : 1;
  return *found ? KC_SUCCESS : KC_NOT_FOUND;
}

KC_API error cuGetProcAddress(const char *name, void **found, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, found, version, flags, NULL);
}
