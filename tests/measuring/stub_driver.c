/* NVIDIA's driver library without a GPU, for programs that load it as a real one: prototypes as in
   cuda.h and nvml.h. Launches do nothing, but for the clock. The environment spoils it:
   STUB_HANGS, STUB_ABORTS, STUB_FAULTS and STUB_SKIPS name a kernel, STUB_INIT is what cuInit returns,
   STUB_REFUSES_CODE the code that does not load. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int Result;
typedef unsigned long long Pointer;

static int sticky;
static int allowed_shared = 49152;

static int named(const char* variable, const char* kernel) {
  const char* name = getenv(variable);
  return name && strcmp(name, kernel) == 0;
}

/* Whether a kernel's first argument are the clocks of its warps. */
static int keeps_clocks(const char* kernel) {
  static const char* names[] = {"chase_c", "chase_s", "repeat_", "barriers", "stores"};
  for (int i = 0; i < 5; ++i) {
    if (strncmp(kernel, names[i], strlen(names[i])) == 0) return 1;
  }
  return 0;
}

Result cuInit(unsigned flags) {
  const char* status = getenv("STUB_INIT");
  return flags ? 1 : status ? atoi(status) : 0;
}
Result cuDriverGetVersion(int* out) { return *out = 13000, 0; }
Result cuGetErrorString(Result status, const char** out) {
  return *out = status == 700 ? "an illegal memory access was encountered" : "some error", 0;
}
Result cuDeviceGet(int* out, int ordinal) { return *out = 0, ordinal ? 101 : 0; }
Result cuDeviceGetName(char* out, int length, int device) {
  strncpy(out, "Stub GPU", length);
  return device;
}
Result cuDeviceTotalMem_v2(size_t* out, int device) { return *out = 1 << 30, device; }
Result cuDeviceGetAttribute(int* out, int attribute, int device) {
  switch (attribute) {
    case 13: *out = 1980000; break;
    case 16: *out = 4; break;
    case 36: *out = 3201000; break;
    case 37: *out = 6144; break;
    case 38: *out = 1 << 20; break;
    case 39: *out = 2048; break;
    case 75: *out = 9; break;
    case 76: *out = 0; break;
    case 81: *out = 233472; break;
    case 97: *out = 232448; break;
    default: return 1;
  }
  return device;
}
Result cuDeviceGetPCIBusId(char* out, int length, int device) {
  strncpy(out, "0000:65:00.0", length);
  return device;
}
Result cuDevicePrimaryCtxRetain(void** out, int device) { return *out = &sticky, device; }
Result cuCtxSetCurrent(void* context) { return context != &sticky; }
Result cuCtxSynchronize(void) { return sticky; }
Result cuMemGetInfo_v2(size_t* free, size_t* total) { return *free = *total = 1 << 30, 0; }
Result cuMemAlloc_v2(Pointer* out, size_t size) { return *out = (Pointer)calloc(1, size), 0; }
Result cuMemFree_v2(Pointer pointer) { return free((void*)pointer), 0; }
/* Memory is zero as it is; where it is written is soon enough. */
Result cuMemsetD8_v2(Pointer pointer, unsigned char value, size_t size) {
  if (size <= 1 << 20) memset((void*)pointer, value, size);
  return 0;
}
Result cuMemcpyDtoH_v2(void* to, Pointer from, size_t size) {
  return memcpy(to, (void*)from, size), sticky;
}
Result cuMemcpyHtoD_v2(Pointer to, const void* from, size_t size) {
  return memcpy((void*)to, from, size), sticky;
}
Result cuMemcpyDtoD_v2(Pointer to, Pointer from, size_t size) {
  return memcpy((void*)to, (void*)from, size), sticky;
}
Result cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t size, void* stream) {
  return stream ? 1 : cuMemcpyHtoD_v2(to, from, size);
}
Result cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t size, void* stream) {
  return stream ? 1 : cuMemcpyDtoH_v2(to, from, size);
}
Result cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t size, void* stream) {
  return stream ? 1 : cuMemcpyDtoD_v2(to, from, size);
}
Result cuMemAllocHost_v2(void** out, size_t size) { return *out = calloc(1, size), 0; }
Result cuMemFreeHost(void* pointer) { return free(pointer), 0; }
Result cuModuleLoadData(void** out, const void* image) {
  *out = (void*)image;
  if (named("STUB_REFUSES_CODE", image)) return 222;
  return memcmp(image, "\177ELF", 4) ? 200 : 0;
}
Result cuModuleGetFunction(void** out, void* module, const char* name) {
  return *out = strdup(name), !module;
}
Result cuModuleGetGlobal_v2(Pointer* out, size_t* size, void* module, const char* name) {
  *size = 65536;
  return !module || !name ? 1 : cuMemAlloc_v2(out, *size);
}
Result cuFuncSetAttribute(void* function, int attribute, int value) {
  if (!function || attribute != 8 || value > 232448) return 1;
  return allowed_shared = value, 0;
}
Result cuFuncGetAttribute(int* out, int attribute, void* function) {
  return *out = attribute ? attribute : 1024, !function;
}
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out, void* function, int threads,
                                                   size_t shared) {
  return *out = 2048 / threads, !function || shared > 232448;
}
Result cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                      unsigned by, unsigned bz, unsigned shared, void* stream, void** arguments,
                      void** extra) {
  const char* name = function;
  if (!gx || !gy || !gz || bx * by * bz - 1 > 1023 || stream || extra) return 1;
  if ((int)shared > allowed_shared) return 1;
  if (named("STUB_HANGS", name)) pause();
  if (named("STUB_ABORTS", name)) abort();
  if (named("STUB_FAULTS", name)) sticky = 700;
  if (strcmp(name, "clock_rate") == 0) {
    long long* pairs = *(long long**)arguments[0];
    long long span_ns = *(long long*)arguments[1];
    pairs[0] = span_ns * 198 / 100;
    pairs[1] = span_ns;
  }
  if (keeps_clocks(name) && !named("STUB_SKIPS", name)) {
    long long* clocks = *(long long**)arguments[0];
    for (unsigned warp = 0; warp < gx * ((bx + 31) / 32); ++warp) {
      clocks[2 * warp] = 1000;
      clocks[2 * warp + 1] = 9000;
    }
  }
  return 0;
}
Result cuProfilerStart(void) { return 0; }
Result cuProfilerStop(void) { return 0; }
Result cuEventCreate(void** out, unsigned flags) { return *out = &sticky, flags; }
Result cuEventRecord(void* event, void* stream) { return !event || stream; }
Result cuEventSynchronize(void* event) { return event ? sticky : 1; }
Result cuEventElapsedTime(float* out, void* start, void* stop) {
  return *out = 0.25f, !start || !stop;
}

Result nvmlInit_v2(void) { return 0; }
Result nvmlSystemGetDriverVersion(char* out, unsigned length) {
  return strncpy(out, "580.159.04", length), 0;
}
Result nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** out) {
  return *out = &sticky, strcmp(id, "0000:65:00.0") ? 6 : 0;
}
Result nvmlDeviceGetClockInfo(void* gpu, int kind, unsigned* out) {
  return *out = 1000 * kind, gpu != &sticky;
}
Result nvmlDeviceGetComputeRunningProcesses_v3(void* gpu, unsigned* count, void* list) {
  return *count = 3, gpu != &sticky || list ? 1 : 7;
}
