// The public runtime API, as the host code that nvcc makes calls it. Built once for every major
// version of the runtime, which RUNTIME says.
#include "device.h"
#include "graphs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "properties.h"

typedef int error;
typedef struct { unsigned x, y, z; } dim3;
typedef uint64_t stream;  // a handle, as large as a pointer
typedef uint64_t event;

static __thread error last;

static error ended(error status) {
  if (!status) status = kc_sticky();
  if (status) last = status;
  return status;
}

// For what tells a question's answer: an error of the device does not show there.
static error answered(error status) {
  if (status) last = status;
  return status;
}

static error started(void) {
  kc_uses_runtime = 1;
  return answered(kc_start());
}

// ---- what nvcc's host code registers before main, and asks for when it is used ----

typedef struct module {
  const void *image;
  uint32_t id;
  int is_loaded;
  struct variable *managed;
} module;

typedef struct {
  const void *key;
  const char *name;
  module *module;
  kc_function *function;
} entry;

typedef struct variable {
  const void *key;
  const char *name;
  module *module;
  void **managed;
  struct variable *next;
} variable;

static struct { void **slots; size_t count, room; } tables[2];  // of kernels, of variables
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Open addressing; the first field of every entry is its key.
static void **slot_of(int table, const void *key) {
  size_t at = ((size_t)key >> 3) * 0x9E3779B97F4A7C15ull & (tables[table].room - 1);
  void **slots = tables[table].slots;
  while (slots[at] && *(const void **)slots[at] != key) at = (at + 1) & (tables[table].room - 1);
  return &slots[at];
}

static void keep(int table, void *value) {
  if (2 * (tables[table].count + 1) > tables[table].room) {
    size_t before = tables[table].room;
    void **old = tables[table].slots;
    tables[table].room = before ? 2 * before : 64;
    tables[table].slots = calloc(tables[table].room, sizeof(void *));
    for (size_t i = 0; i < before; i++)
      if (old[i]) *slot_of(table, *(const void **)old[i]) = old[i];
    free(old);
  }
  void **slot = slot_of(table, *(const void **)value);
  if (!*slot) tables[table].count++;
  *slot = value;
}

static void *look_up(int table, const void *key) {
  return tables[table].room ? *slot_of(table, key) : NULL;
}

static error loaded(module *m) {
  if (m->is_loaded) return KC_SUCCESS;
  error status = kc_load_module(m->image, &m->id);
  m->is_loaded = !status;
  for (variable *v = m->managed; v && !status; v = v->next)
    status = kc_get_variable(m->id, v->name, (uint64_t *)v->managed, NULL);
  return status;
}

static error function_of(const void *host, kc_function **function) {
  error status = kc_start();
  if (status) return status;
  pthread_mutex_lock(&lock);
  entry *found = look_up(0, host);
  if (!found) status = KC_INVALID_DEVICE_FUNCTION;
  else if (!found->function) {
    status = loaded(found->module);
    if (!status) status = kc_get_function(found->module->id, found->name, &found->function);
    if (status == KC_NOT_FOUND) status = KC_INVALID_DEVICE_FUNCTION;
  }
  if (!status) *function = found->function;
  pthread_mutex_unlock(&lock);
  return status;
}

static error variable_of(const void *host, uint64_t *address, uint64_t *size) {
  error status = kc_start();
  if (status) return status;
  pthread_mutex_lock(&lock);
  variable *found = look_up(1, host);
  status = found ? loaded(found->module) : KC_INVALID_SYMBOL;
  if (!status) status = kc_get_variable(found->module->id, found->name, address, size);
  pthread_mutex_unlock(&lock);
  return status == KC_NOT_FOUND ? KC_INVALID_SYMBOL : status;
}

KC_API void **__cudaRegisterFatBinary(void *image) {
  module *m = calloc(1, sizeof *m);
  m->image = image;
  return (void **)m;
}

KC_API void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
KC_API void __cudaUnregisterFatBinary(void **handle) { (void)handle; }

KC_API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                   int limit, void *a, void *b, void *c, void *d, int *e) {
  (void)device, (void)limit, (void)a, (void)b, (void)c, (void)d, (void)e;
  entry *made = calloc(1, sizeof *made);
  *made = (entry){host, name, (module *)handle, NULL};
  keep(0, made);
}

KC_API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern,
                              size_t size, int is_constant, int is_global) {
  (void)device, (void)is_extern, (void)size, (void)is_constant, (void)is_global;
  variable *made = calloc(1, sizeof *made);
  *made = (variable){host, name, (module *)handle, NULL, NULL};
  keep(1, made);
}

KC_API void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                     int is_extern, size_t size, int is_constant, int is_global) {
  (void)device, (void)is_extern, (void)size, (void)is_constant, (void)is_global;
  module *m = (module *)handle;
  variable *made = calloc(1, sizeof *made);
  *made = (variable){host, name, m, host, m->managed};
  m->managed = made;
  keep(1, made);
}

KC_API void __cudaRegisterTexture(void) { kc_unsupported("a texture reference"); }
KC_API void __cudaRegisterSurface(void) { kc_unsupported("a surface reference"); }

// Asked for where the program has managed variables, which the host reads without any call.
KC_API char __cudaInitModule(void **handle) {
  pthread_mutex_lock(&lock);
  if (!kc_start()) loaded((module *)handle);
  pthread_mutex_unlock(&lock);
  return 1;
}

// ---- launches ----

static __thread struct { dim3 grid, block; size_t shared; stream stream; } pushed[16];
static __thread int depth;

KC_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, stream s) {
  if (depth == 16) return KC_INVALID_CONFIGURATION;
  pushed[depth].grid = grid;
  pushed[depth].block = block;
  pushed[depth].shared = shared;
  pushed[depth++].stream = s;
  return 0;
}

KC_API error __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, stream *s) {
  if (!depth) return answered(KC_MISSING_CONFIGURATION);
  depth--;
  *grid = pushed[depth].grid;
  *block = pushed[depth].block;
  *shared = pushed[depth].shared;
  *s = pushed[depth].stream;
  return KC_SUCCESS;
}

static error launched(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared,
                      stream s, int cooperative, const unsigned *cluster) {
  kc_function *function;
  error status = function_of(host, &function);
  kc_launch_shape shape = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, s,
                           (uint32_t)cooperative, {0}};
  if (cluster) memcpy(shape.cluster, cluster, sizeof shape.cluster);
  return answered(status ? status : kc_launch(function, &shape, arguments, NULL, 0));
}

KC_API error cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **arguments,
                              size_t shared, stream s) {
  return launched(host, grid, block, arguments, shared, s, 0, NULL);
}

KC_API error cudaLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block, void **arguments,
                                         size_t shared, stream s) {
  return launched(host, grid, block, arguments, shared, s, 1, NULL);
}

// A kernel's handle is the address of its host function.
KC_API error __cudaGetKernel(const void **kernel, const void *host) {
  *kernel = host;
  return KC_SUCCESS;
}

KC_API error cudaGetKernel(const void **kernel, const void *host) {
  return __cudaGetKernel(kernel, host);
}

KC_API error __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                size_t shared, stream s) {
  return launched(kernel, grid, block, arguments, shared, s, 0, NULL);
}

enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4 };

typedef struct {
  dim3 grid, block;
  size_t shared;
  stream stream;
  const struct { int id, padding; unsigned value[16]; } *attributes;
  unsigned count;
} launch_configuration;

static const unsigned *cluster_of(const launch_configuration *c) {
  for (unsigned i = 0; i < c->count; i++)
    if (c->attributes[i].id == ATTRIBUTE_CLUSTER) return c->attributes[i].value;
  return NULL;
}

KC_API error cudaLaunchKernelExC(const launch_configuration *c, const void *host,
                                 void **arguments) {
  int cooperative = 0;
  for (unsigned i = 0; i < c->count; i++)
    if (c->attributes[i].id == ATTRIBUTE_COOPERATIVE)
      cooperative = (int)c->attributes[i].value[0];
  return launched(host, c->grid, c->block, arguments, c->shared, c->stream, cooperative,
                  cluster_of(c));
}

// ---- libraries: modules that the program loads by itself; their kernels are launched by handle ----

KC_API error cudaLibraryLoadData(module **made, const void *image, int *options, void **values,
                                 unsigned count, int *others, void **other_values, unsigned n) {
  (void)options, (void)values, (void)count, (void)others, (void)other_values, (void)n;
  module *m = calloc(1, sizeof *m);
  m->image = image;
  error status = started() ? last : loaded(m);
  if (status) free(m);
  else *made = m;
  return answered(status);
}

KC_API error cudaLibraryLoadFromFile(module **made, const char *name, int *options, void **values,
                                     unsigned count, int *others, void **other_values, unsigned n) {
  void *image = kc_read_file(name);
  if (!image) return answered(KC_FILE_NOT_FOUND);
  error status =
      cudaLibraryLoadData(made, image, options, values, count, others, other_values, n);
  free(image);
  return status;
}

// Kernels and variables of it may still be in use.
KC_API error cudaLibraryUnload(module *m) { return (void)m, ended(KC_SUCCESS); }

KC_API error cudaLibraryGetKernel(entry **kernel, module *m, const char *name) {
  entry *made = calloc(1, sizeof *made);
  *made = (entry){made, strdup(name), m, NULL};
  error status = kc_get_function(m->id, name, &made->function);
  if (status) return answered(status);
  pthread_mutex_lock(&lock);
  keep(0, made);
  pthread_mutex_unlock(&lock);
  return *kernel = made, KC_SUCCESS;
}

KC_API error cudaLibraryGetGlobal(void **address, size_t *bytes, module *m, const char *name) {
  return answered(kc_get_variable(m->id, name, (uint64_t *)address, bytes));
}

KC_API error cudaLibraryGetManaged(void **address, size_t *bytes, module *m, const char *name) {
  return cudaLibraryGetGlobal(address, bytes, m, name);
}

// ---- devices ----

KC_API error cudaGetDeviceCount(int *count) {
  error status = started();
  *count = !status;
  return status;
}

KC_API error cudaGetDevice(int *number) {
  *number = 0;
  return started();
}

KC_API error cudaSetDevice(int number) {
  return started() ? last : answered(number ? KC_INVALID_DEVICE : KC_SUCCESS);
}

KC_API error cudaInitDevice(int number, unsigned a, unsigned b) {
  (void)a, (void)b;
  return cudaSetDevice(number);
}

KC_API error cudaChooseDevice(int *number, const properties *wanted) {
  (void)wanted;
  return cudaGetDevice(number);
}

KC_API error cudaSetValidDevices(int *numbers, int count) {
  (void)numbers, (void)count;
  return started();
}

KC_API error cudaSetDeviceFlags(unsigned flags) {
  (void)flags;
  return started();
}

KC_API error cudaGetDeviceFlags(unsigned *flags) {
  *flags = 0;
  return started();
}

KC_API error cudaDeviceReset(void) { return answered(kc_start() ? KC_NO_DEVICE : kc_reset()); }
KC_API error cudaDeviceSynchronize(void) { return ended(kc_synchronize(KC_ALL_STREAMS)); }
KC_API error cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }
KC_API error cudaThreadExit(void) { return cudaDeviceReset(); }

KC_API error cudaDriverGetVersion(int *version) {
  *version = 1000 * RUNTIME;
  return KC_SUCCESS;
}

KC_API error cudaRuntimeGetVersion(int *version) { return cudaDriverGetVersion(version); }

KC_API error cudaDeviceGetAttribute(int *value, int attribute, int number) {
  if (started()) return last;
  if (number) return answered(KC_INVALID_DEVICE);
  *value = kc_device_attribute(attribute);
  return KC_SUCCESS;
}

static error properties_of(properties *p, int number) {
  if (started()) return last;
  if (number) return answered(KC_INVALID_DEVICE);
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "%s", kc_device_name());
  p->totalGlobalMem = kc_total_memory();
  p->sharedMemPerBlock = (size_t)kc_device_attribute(KC_SHARED_PER_BLOCK);
  p->regsPerBlock = kc_device_attribute(KC_REGISTERS_PER_BLOCK);
  p->warpSize = kc_device_attribute(KC_WARP_SIZE);
  p->memPitch = (size_t)kc_device_attribute(KC_MAX_PITCH);
  p->maxThreadsPerBlock = kc_device_attribute(KC_MAX_THREADS_PER_BLOCK);
  for (int axis = 0; axis < 3; axis++) {
    p->maxThreadsDim[axis] = kc_device_attribute(KC_MAX_BLOCK_X + axis);
    p->maxGridSize[axis] = kc_device_attribute(KC_MAX_GRID_X + axis);
  }
  p->totalConstMem = (size_t)kc_device_attribute(KC_CONSTANT_MEMORY);
  p->major = kc_device_attribute(KC_MAJOR);
  p->minor = kc_device_attribute(KC_MINOR);
  p->textureAlignment = p->surfaceAlignment = (size_t)kc_device_attribute(KC_TEXTURE_ALIGNMENT);
  p->texturePitchAlignment = 32;
  p->multiProcessorCount = kc_device_attribute(KC_SM_COUNT);
  p->canMapHostMemory = kc_device_attribute(KC_MAP_HOST);
  p->concurrentKernels = kc_device_attribute(KC_CONCURRENT_KERNELS);
  p->pciBusID = kc_device_attribute(KC_PCI_BUS);
  p->asyncEngineCount = kc_device_attribute(KC_COPY_ENGINES);
  p->unifiedAddressing = kc_device_attribute(KC_UNIFIED_ADDRESSING);
  p->memoryBusWidth = kc_device_attribute(KC_BUS_BITS);
  p->l2CacheSize = kc_device_attribute(KC_L2_BYTES);
  p->maxThreadsPerMultiProcessor = kc_device_attribute(KC_THREADS_PER_SM);
  p->sharedMemPerMultiprocessor = (size_t)kc_device_attribute(KC_SHARED_PER_SM);
  p->regsPerMultiprocessor = kc_device_attribute(KC_REGISTERS_PER_SM);
  p->managedMemory = kc_device_attribute(KC_MANAGED);
  p->concurrentManagedAccess = p->hostRegisterSupported = p->memoryPoolsSupported = 1;
  p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->cooperativeLaunch = kc_device_attribute(KC_COOPERATIVE);
  p->sharedMemPerBlockOptin = (size_t)kc_device_attribute(KC_SHARED_PER_BLOCK_OPTIN);
  p->maxBlocksPerMultiProcessor = kc_device_attribute(KC_BLOCKS_PER_SM);
  p->reservedSharedMemPerBlock = (size_t)kc_device_attribute(KC_RESERVED_SHARED);
#if RUNTIME < 13
  p->clockRate = kc_device_attribute(KC_CLOCK_KHZ);
  p->memoryClockRate = kc_device_attribute(KC_MEMORY_CLOCK_KHZ);
  p->deviceOverlap = 1;
#endif
  return KC_SUCCESS;
}

#if RUNTIME < 13
KC_API error cudaGetDeviceProperties_v2(properties *p, int n) { return properties_of(p, n); }
#else
KC_API error cudaGetDeviceProperties(properties *p, int n) { return properties_of(p, n); }
#endif

KC_API error cudaDeviceGetPCIBusId(char *text, int length, int number) {
  snprintf(text, (size_t)length, "0000:%02x:00.0", kc_device_attribute(KC_PCI_BUS));
  return answered(number ? KC_INVALID_DEVICE : KC_SUCCESS);
}

KC_API error cudaDeviceCanAccessPeer(int *can, int a, int b) {
  (void)a, (void)b;
  *can = 0;
  return KC_SUCCESS;
}

KC_API error cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = 0;
  return KC_SUCCESS;
}

// Limits and preferences: what is asked for is remembered, and changes nothing.
static size_t limits[16] = {1024, 1 << 20, 8 << 20};

KC_API error cudaDeviceSetLimit(unsigned limit, size_t value) {
  if (limit >= 16) return answered(KC_INVALID_VALUE);
  limits[limit] = value;
  return started();
}

KC_API error cudaDeviceGetLimit(size_t *value, unsigned limit) {
  if (limit >= 16) return answered(KC_INVALID_VALUE);
  *value = limits[limit];
  return started();
}

static error ignored(void) { return started(); }
KC_API error cudaDeviceSetCacheConfig(int preference) { return answered(kc_prefer(NULL, preference)); }
KC_API error cudaDeviceSetSharedMemConfig(int preference) { return (void)preference, ignored(); }
KC_API error cudaFuncSetSharedMemConfig(const void *f, int p) { return (void)f, (void)p, ignored(); }
KC_API error cudaMemAdvise(void) { return ignored(); }
KC_API error cudaMemAdvise_v2(void) { return ignored(); }
KC_API error cudaMemPrefetchAsync(void) { return ended(ignored()); }
KC_API error cudaMemPrefetchAsync_v2(void) { return ended(ignored()); }
KC_API error cudaStreamAttachMemAsync(void) { return ended(ignored()); }
KC_API error cudaProfilerStart(void) { return ignored(); }
KC_API error cudaProfilerStop(void) { return ignored(); }
KC_API error cudaCtxResetPersistingL2Cache(void) { return ignored(); }

KC_API error cudaDeviceGetCacheConfig(int *preference) {
  return *preference = kc_preference(), ignored();
}
KC_API error cudaDeviceGetSharedMemConfig(int *preference) { return *preference = 1, ignored(); }

// ---- memory ----

static error allocated(void **pointer, size_t size, int kind) {
  return ended(pointer ? kc_allocate((uint64_t *)pointer, size, kind) : KC_INVALID_VALUE);
}

KC_API error cudaMalloc(void **p, size_t n) { return allocated(p, n, KC_DEVICE_MEMORY); }
KC_API error cudaMallocHost(void **p, size_t n) { return allocated(p, n, KC_HOST_MEMORY); }

KC_API error cudaMallocAsync(void **p, size_t n, stream s) {
  (void)s;
  return ended(p ? kc_allocate_in_order((uint64_t *)p, n) : KC_INVALID_VALUE);
}

KC_API error cudaMallocFromPoolAsync(void **p, size_t n, void *pool, stream s) {
  return (void)pool, cudaMallocAsync(p, n, s);
}

// ---- pools of memory: every one is the device's memory ----

static int the_pool;

static error a_pool(void **pool) {
  if (!pool) return ended(KC_INVALID_VALUE);
  *pool = &the_pool;
  return ended(kc_start());
}

KC_API error cudaDeviceGetDefaultMemPool(void **pool, int device) { return (void)device, a_pool(pool); }
KC_API error cudaDeviceGetMemPool(void **pool, int device) { return (void)device, a_pool(pool); }
KC_API error cudaDeviceSetMemPool(int device, void *pool) {
  return (void)device, (void)pool, ended(kc_start());
}
KC_API error cudaMemPoolCreate(void **pool, const void *how) { return (void)how, a_pool(pool); }
KC_API error cudaMemPoolDestroy(void *pool) { return (void)pool, ended(kc_start()); }
KC_API error cudaMemPoolTrimTo(void *pool, size_t kept) {
  return (void)pool, (void)kept, ended(kc_start());
}
KC_API error cudaMemPoolSetAttribute(void *pool, int attribute, void *value) {
  return (void)pool, ended(kc_pool_attribute(attribute, value, 1));
}
KC_API error cudaMemPoolGetAttribute(void *pool, int attribute, void *value) {
  return (void)pool, ended(kc_pool_attribute(attribute, value, 0));
}
KC_API error cudaMemPoolSetAccess(void *pool, const void *who, size_t count) {
  return (void)pool, (void)who, (void)count, ended(kc_start());
}
KC_API error cudaMemPoolGetAccess(int *access, void *pool, void *who) {
  enum { READ_AND_WRITE = 3 };
  (void)pool, (void)who;
  if (access) *access = READ_AND_WRITE;
  return ended(access ? kc_start() : KC_INVALID_VALUE);
}

KC_API error cudaMallocManaged(void **p, size_t n, unsigned flags) {
  (void)flags;
  return allocated(p, n, KC_MANAGED_MEMORY);
}

KC_API error cudaHostAlloc(void **p, size_t n, unsigned flags) {
  (void)flags;
  return allocated(p, n, KC_HOST_MEMORY);
}

enum { PITCH_BYTES = 512 };

KC_API error cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t rows) {
  *pitch = (width + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
  return allocated(p, *pitch * rows, KC_DEVICE_MEMORY);
}

typedef struct { void *pointer; size_t pitch, width, rows; } pitched;
typedef struct { size_t width, rows, depth; } extent;

KC_API error cudaMalloc3D(pitched *made, extent e) {
  made->width = e.width;
  made->rows = e.rows;
  return cudaMallocPitch(&made->pointer, &made->pitch, e.width, e.rows * e.depth);
}

KC_API error cudaFree(void *p) {
  if (kc_is_of_graphs((uint64_t)p)) return ended(KC_SUCCESS);
  return ended(kc_start() ? KC_NO_DEVICE : kc_free((uint64_t)p));
}
KC_API error cudaFreeHost(void *p) { return cudaFree(p); }

KC_API error cudaFreeAsync(void *p, stream s) {
  return (void)s, ended(kc_free_in_order((uint64_t)p));
}

KC_API error cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
  return ended(kc_memory_info((uint64_t *)free_bytes, (uint64_t *)total_bytes));
}

KC_API error cudaHostRegister(void *p, size_t n, unsigned flags) {
  (void)flags;
  return ended(kc_start() ? KC_NO_DEVICE : kc_host_register(p, n));
}

KC_API error cudaHostUnregister(void *p) { return ended(kc_host_unregister(p)); }

KC_API error cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
  (void)flags;
  *device = (void *)kc_device_address(host);
  return answered(kc_start());
}

KC_API error cudaHostGetFlags(unsigned *flags, void *host) {
  (void)host;
  *flags = 0;
  return started();
}

typedef struct { int type, device; void *device_pointer, *host_pointer; } pointer_attributes;

KC_API error cudaPointerGetAttributes(pointer_attributes *found, const void *p) {
  static const int types[] = {2, 1, 3, 2};  // device, host, managed; variables are the device's
  kc_range range;
  uint64_t address = kc_device_address(p);
  memset(found, 0, sizeof *found);
  if (started()) return last;
  if (kc_find(address, &range)) {
    found->host_pointer = (void *)p;
    return KC_SUCCESS;
  }
  found->type = types[range.kind];
  found->device_pointer = (void *)address;
  found->host_pointer = found->type == 2 ? NULL : (void *)p;
  return KC_SUCCESS;
}

static error copied_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t rows, stream s) {
  if (width > to_pitch || width > from_pitch) return answered(12);
  return ended(kc_copy((uint64_t)to, to_pitch, (uint64_t)from, from_pitch, width, rows, s));
}

static error copied(void *to, const void *from, size_t bytes, unsigned kind, stream s) {
  if (kind > 4) return answered(KC_INVALID_DIRECTION);
  return copied_rows(to, bytes, from, bytes, bytes, 1, s);
}

// Copies that are not asynchronous: the host waits for them.
static error waited(error status) { return status ? status : ended(kc_copy_done()); }

KC_API error cudaMemcpy(void *to, const void *from, size_t n, unsigned kind) {
  return waited(copied(to, from, n, kind, 0));
}

KC_API error cudaMemcpyAsync(void *to, const void *from, size_t n, unsigned kind, stream s) {
  return copied(to, from, n, kind, s);
}

KC_API error cudaMemcpyPeer(void *to, int a, const void *from, int b, size_t n) {
  (void)a, (void)b;
  return waited(copied(to, from, n, 4, 0));
}

KC_API error cudaMemcpyPeerAsync(void *to, int a, const void *from, int b, size_t n, stream s) {
  (void)a, (void)b;
  return copied(to, from, n, 4, s);
}

KC_API error cudaMemcpy2D(void *to, size_t tp, const void *from, size_t fp, size_t w, size_t h,
                          unsigned kind) {
  (void)kind;
  return waited(copied_rows(to, tp, from, fp, w, h, 0));
}

KC_API error cudaMemcpy2DAsync(void *to, size_t tp, const void *from, size_t fp, size_t w, size_t h,
                               unsigned kind, stream s) {
  (void)kind;
  return copied_rows(to, tp, from, fp, w, h, s);
}

#include "runtime_arrays.h"

static error filled(void *to, size_t pitch, int value, size_t width, size_t rows, stream s) {
  return ended(kc_fill((uint64_t)to, pitch, (uint32_t)value & 255, 1, width, rows, s));
}

KC_API error cudaMemset(void *p, int value, size_t n) { return filled(p, n, value, n, 1, 0); }

KC_API error cudaMemsetAsync(void *p, int value, size_t n, stream s) {
  return filled(p, n, value, n, 1, s);
}

KC_API error cudaMemset2D(void *p, size_t pitch, int value, size_t w, size_t h) {
  return filled(p, pitch, value, w, h, 0);
}

KC_API error cudaMemset2DAsync(void *p, size_t pitch, int value, size_t w, size_t h, stream s) {
  return filled(p, pitch, value, w, h, s);
}

KC_API error cudaMemset3DAsync(pitched p, int value, extent e, stream s) {
  error status = KC_SUCCESS;
  for (size_t z = 0; z < e.depth && !status; z++)
    status = filled((char *)p.pointer + z * p.rows * p.pitch, p.pitch, value, e.width, e.rows, s);
  return status;
}

KC_API error cudaMemset3D(pitched p, int value, extent e) {
  return cudaMemset3DAsync(p, value, e, 0);
}

// ---- variables of the device ----

KC_API error cudaGetSymbolAddress(void **address, const void *symbol) {
  return ended(variable_of(symbol, (uint64_t *)address, NULL));
}

KC_API error cudaGetSymbolSize(size_t *size, const void *symbol) {
  return ended(variable_of(symbol, NULL, (uint64_t *)size));
}

static error symbol_copied(const void *symbol, void *host, size_t n, size_t offset, int is_read,
                           stream s) {
  uint64_t address, size;
  error status = variable_of(symbol, &address, &size);
  if (!status && offset + n > size) status = KC_INVALID_VALUE;
  if (status) return ended(status);
  void *place = (void *)(address + offset);
  return is_read ? copied(host, place, n, 4, s) : copied(place, host, n, 4, s);
}

KC_API error cudaMemcpyToSymbol(const void *symbol, const void *from, size_t n, size_t offset,
                                unsigned kind) {
  (void)kind;
  return waited(symbol_copied(symbol, (void *)from, n, offset, 0, 0));
}

KC_API error cudaMemcpyFromSymbol(void *to, const void *symbol, size_t n, size_t offset,
                                  unsigned kind) {
  (void)kind;
  return waited(symbol_copied(symbol, to, n, offset, 1, 0));
}

KC_API error cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t n, size_t offset,
                                     unsigned kind, stream s) {
  (void)kind;
  return symbol_copied(symbol, (void *)from, n, offset, 0, s);
}

KC_API error cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t n, size_t offset,
                                       unsigned kind, stream s) {
  (void)kind;
  return symbol_copied(symbol, to, n, offset, 1, s);
}

// ---- streams and events ----

enum { NON_BLOCKING = 1 };

KC_API error cudaStreamCreateWithFlags(stream *made, unsigned flags) {
  if (started()) return last;
  *made = kc_new_stream(!(flags & NON_BLOCKING));
  return KC_SUCCESS;
}

KC_API error cudaStreamCreate(stream *made) { return cudaStreamCreateWithFlags(made, 0); }

KC_API error cudaStreamCreateWithPriority(stream *made, unsigned flags, int priority) {
  (void)priority;
  return cudaStreamCreateWithFlags(made, flags);
}

KC_API error cudaStreamDestroy(stream s) {
  kc_free_stream(s);
  return ended(KC_SUCCESS);
}

KC_API error cudaStreamSynchronize(stream s) { return ended(kc_synchronize(s)); }
KC_API error cudaStreamQuery(stream s) { return (void)s, ended(kc_start()); }

KC_API error cudaStreamWaitEvent(stream s, event e, unsigned flags) {
  (void)flags;
  kc_stream_waits(s, e);
  return ended(KC_SUCCESS);
}

KC_API error cudaStreamGetPriority(stream s, int *priority) { return (void)s, *priority = 0, 0; }
KC_API error cudaStreamGetFlags(stream s, unsigned *flags) { return (void)s, *flags = 0, 0; }
typedef void (*stream_callback)(stream, error, void *);

KC_API error cudaStreamAddCallback(stream s, stream_callback call, void *data, unsigned flags) {
  (void)flags;
  call(s, kc_sticky(), data);
  return ended(KC_SUCCESS);
}

KC_API error cudaLaunchHostFunc(stream s, kc_host_function call, void *data) {
  (void)s;
  kc_call_host(call, data);
  return ended(KC_SUCCESS);
}

KC_API error cudaEventCreateWithFlags(event *made, unsigned flags) {
  (void)flags;
  if (started()) return last;
  *made = kc_new_event();
  return KC_SUCCESS;
}

KC_API error cudaEventCreate(event *made) { return cudaEventCreateWithFlags(made, 0); }
KC_API error cudaEventDestroy(event e) { return (void)e, started(); }

KC_API error cudaEventRecord(event e, stream s) {
  kc_record(e, s);
  return ended(KC_SUCCESS);
}

KC_API error cudaEventRecordWithFlags(event e, stream s, unsigned flags) {
  (void)flags;
  return cudaEventRecord(e, s);
}

KC_API error cudaEventSynchronize(event e) { return ended(kc_synchronize_event(e)); }
KC_API error cudaEventQuery(event e) { return (void)e, ended(kc_start()); }

KC_API error cudaEventElapsedTime(float *milliseconds, event start, event end) {
  return ended(kc_elapsed(start, end, milliseconds));
}

KC_API error cudaEventElapsedTime_v2(float *milliseconds, event start, event end) {
  return cudaEventElapsedTime(milliseconds, start, end);
}

#include "runtime_graphs.h"

// ---- what is known of a kernel ----

typedef struct {
  size_t shared, constant, local;
  int max_threads, registers, ptx_version, binary_version, cache_mode, most_dynamic_shared;
  int carveout, cluster[7], reserved[16];
} function_attributes;

KC_API error cudaFuncGetAttributes(function_attributes *found, const void *host) {
  kc_function *f;
  error status = function_of(host, &f);
  if (status) return answered(status);
  memset(found, 0, offsetof(function_attributes, cluster));
  found->shared = (size_t)f->shared_bytes;
  found->constant = (size_t)f->constant_bytes;
  found->local = (size_t)f->local_bytes;
  found->max_threads = f->max_threads;
  found->registers = f->registers;
  found->ptx_version = found->binary_version = f->architecture;
  found->most_dynamic_shared = f->most_shared_bytes;
  found->carveout = f->carveout;
  return KC_SUCCESS;
}

KC_API error cudaFuncSetAttribute(const void *host, int attribute, int value) {
  kc_function *f;
  error status = function_of(host, &f);
  return answered(status ? status : kc_set_attribute(f, attribute, value));
}

KC_API error cudaFuncSetCacheConfig(const void *host, int preference) {
  kc_function *f;
  error status = function_of(host, &f);
  return answered(status ? status : kc_prefer(f, preference));
}

KC_API error cudaFuncGetName(const char **name, const void *host) {
  entry *found = look_up(0, host);
  *name = found ? found->name : NULL;
  return answered(found ? KC_SUCCESS : KC_INVALID_DEVICE_FUNCTION);
}

KC_API error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host,
                                                                    int threads, size_t shared,
                                                                    unsigned flags) {
  kc_function *f;
  (void)flags;
  error status = function_of(host, &f);
  return answered(status ? status : kc_occupancy(f, threads, shared, blocks));
}

KC_API error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host,
                                                           int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, shared, 0);
}

// A cluster lies in one group of SMs; every group is taken to hold whole clusters.
KC_API error cudaOccupancyMaxActiveClusters(int *clusters, const void *host,
                                            const launch_configuration *c) {
  int blocks = 0, threads = (int)(c->block.x * c->block.y * c->block.z);
  const unsigned *cluster = cluster_of(c);
  int held = cluster ? (int)(cluster[0] * cluster[1] * cluster[2]) : 0;
  if (held < 1) return answered(KC_INVALID_VALUE);
  error status =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, host, threads, c->shared);
  if (!status) *clusters = blocks * kc_device_attribute(KC_SM_COUNT) / held;
  return status;
}

enum { PORTABLE_CLUSTER = 8 };

KC_API error cudaOccupancyMaxPotentialClusterSize(int *blocks, const void *host,
                                                  const launch_configuration *c) {
  int held = 0, threads = (int)(c->block.x * c->block.y * c->block.z);
  error status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&held, host, threads, c->shared);
  if (!status) *blocks = held ? PORTABLE_CLUSTER : 0;
  return status;
}

#include "runtime_queries.h"

// ---- errors ----

KC_API error cudaGetLastError(void) {
  error before = last ? last : kc_sticky();
  last = KC_SUCCESS;
  return before;
}

KC_API error cudaPeekAtLastError(void) { return last ? last : kc_sticky(); }

KC_API const char *cudaGetErrorString(error e) {
  const char *text = kc_error_text(e);
  return text ? text : "no such error";
}

KC_API const char *cudaGetErrorName(error e) {
  const char *name = kc_error_name(e, 0);
  return name ? name : "no such error";
}

#define UNSUPPORTED(name) \
  KC_API error name(void) { return answered(kc_unsupported(#name)); }
#include "unsupported_runtime.h"

#define PER_THREAD(name, suffix) \
  extern __typeof(name) name##suffix __attribute__((alias(#name), visibility("default")));
#include "per_thread.h"
