// What programs and libraries ask the runtime about streams, functions and the driver: a part of
// runtime.c.

// ---- the driver's functions by name ----

int cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *status);

KC_API error cudaGetDriverEntryPointByVersion(const char *name, void **found, unsigned version,
                                              unsigned long long flags, int *status) {
  int is_missing = 0;
  if (started()) return last;
  cuGetProcAddress_v2(name, found, (int)version, flags, &is_missing);
  if (status) *status = is_missing;
  return KC_SUCCESS;
}

KC_API error cudaGetDriverEntryPoint(const char *name, void **found, unsigned long long flags,
                                     int *status) {
  return cudaGetDriverEntryPointByVersion(name, found, 1000 * RUNTIME, flags, status);
}

// ---- streams ----

KC_API error cudaStreamGetId(stream s, unsigned long long *id) { return *id = s, KC_SUCCESS; }
KC_API error cudaStreamGetDevice(stream s, int *device) { return (void)s, *device = 0, KC_SUCCESS; }
KC_API error cudaStreamCopyAttributes(stream to, stream from) {
  return (void)to, (void)from, started();
}

// Attributes are hints: of access policy, priority, and the like.
KC_API error cudaStreamSetAttribute(stream s, int attribute, const void *value) {
  return (void)s, (void)attribute, (void)value, started();
}

KC_API error cudaStreamGetAttribute(stream s, int attribute, void *value) {
  enum { VALUE_BYTES = 64 };
  (void)s, (void)attribute;
  return memset(value, 0, VALUE_BYTES), started();
}

KC_API error cudaStreamGetCaptureInfo_v2(stream s, int *status, uint64_t *id,
                                         kc_graph **held, kc_node ***before, size_t *count) {
  return (void)s, capture_of(status, id, held, before, count);
}

KC_API error cudaStreamGetCaptureInfo_v3(stream s, int *status, uint64_t *id,
                                         kc_graph **held, kc_node ***before, const void **edges,
                                         size_t *count) {
  if (edges) *edges = NULL;
  return (void)s, capture_of(status, id, held, before, count);
}

#if RUNTIME < 13
KC_API error cudaStreamGetCaptureInfo(stream s, int *status, uint64_t *id) {
  return (void)s, capture_of(status, id, NULL, NULL, NULL);
}
#else
KC_API error cudaStreamGetCaptureInfo(stream s, int *status, uint64_t *id, kc_graph **held,
                                      kc_node ***before, const void **edges, size_t *count) {
  return cudaStreamGetCaptureInfo_v3(s, status, id, held, before, edges, count);
}
#endif

// ---- devices: there is one ----

enum { PEER_ACCESS_UNSUPPORTED = 217 };

KC_API error cudaDeviceEnablePeerAccess(int device, unsigned flags) {
  return (void)device, (void)flags, answered(PEER_ACCESS_UNSUPPORTED);
}

KC_API error cudaDeviceDisablePeerAccess(int device) {
  return (void)device, answered(PEER_ACCESS_UNSUPPORTED);
}

KC_API error cudaDeviceGetP2PAttribute(int *value, int attribute, int from, int to) {
  (void)attribute, (void)from, (void)to;
  return *value = 0, answered(KC_INVALID_DEVICE);
}

KC_API error cudaDeviceGetByPCIBusId(int *device, const char *text) {
  char ours[32];
  cudaDeviceGetPCIBusId(ours, sizeof ours, 0);
  *device = 0;
  return answered(strcasecmp(ours, text) ? KC_INVALID_DEVICE : KC_SUCCESS);
}

// ---- functions ----

KC_API error cudaGetFuncBySymbol(kc_function **f, const void *host) {
  return answered(function_of(host, f));
}

KC_API error cudaFuncGetParamInfo(const void *host, size_t index, size_t *offset, size_t *size) {
  kc_function *f;
  error status = function_of(host, &f);
  if (!status && index >= f->parameter_count) status = KC_INVALID_VALUE;
  if (status) return answered(status);
  *offset = f->parameters[index].offset;
  if (size) *size = f->parameters[index].size;
  return KC_SUCCESS;
}

KC_API error cudaFuncGetParamCount(const void *host, size_t *count) {
  kc_function *f;
  error status = function_of(host, &f);
  if (!status) *count = f->parameter_count;
  return answered(status);
}

KC_API error cudaKernelSetAttributeForDevice(const void *kernel, int attribute, int value,
                                             int device) {
  return (void)device, cudaFuncSetAttribute(kernel, attribute, value);
}

KC_API error cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *host, int blocks,
                                                       int threads) {
  kc_function *f;
  (void)threads;
  error status = function_of(host, &f);
  if (!status && blocks < 1) status = KC_INVALID_VALUE;
  if (status) return answered(status);
  int each = kc_device_attribute(KC_SHARED_PER_SM) / blocks -
             kc_device_attribute(KC_RESERVED_SHARED) - f->shared_bytes;
  int most = kc_device_attribute(KC_SHARED_PER_BLOCK_OPTIN) - f->shared_bytes;
  *bytes = (size_t)(each < 0 ? 0 : each < most ? each : most);
  return KC_SUCCESS;
}

KC_API error cudaLaunchHostFunc_v2(stream s, kc_host_function call, void *data, unsigned mode) {
  return (void)mode, cudaLaunchHostFunc(s, call, data);
}

KC_API error cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *bytes,
                                  size_t count, const void *how, const size_t *which,
                                  size_t how_many, stream s) {
  error status = KC_SUCCESS;
  (void)how, (void)which, (void)how_many;
  for (size_t i = 0; i < count && !status; i++) status = copied(to[i], from[i], bytes[i], 4, s);
  return status;
}
