// Addresses that are reserved, and memory that is mapped to them: a part of driver.c. Reserved
// addresses have memory behind them from the start; what is made and mapped counts, no more.

enum { GRANULARITY_BYTES = 2 << 20, LOCATION_DEVICE = 1 };

typedef struct { unsigned char bytes[32]; } memory_properties;

typedef struct {
  size_t bytes;
  address mapped;
  memory_properties properties;
  int is_released;
} mappable;

KC_API error cuMemGetAllocationGranularity(size_t *bytes, const memory_properties *p, int option) {
  (void)p, (void)option;
  return *bytes = GRANULARITY_BYTES, kc_start();
}

KC_API error cuMemAddressReserve(address *start, size_t bytes, size_t align, address wanted,
                                 uint64_t flags) {
  (void)align, (void)wanted, (void)flags;
  if (!bytes || bytes % GRANULARITY_BYTES) return KC_INVALID_VALUE;
  return ended(kc_allocate(start, bytes, KC_RESERVED));
}

KC_API error cuMemAddressFree(address start, size_t bytes) {
  (void)bytes;
  return ended(kc_free(start));
}

KC_API error cuMemCreate(mappable **made, size_t bytes, const memory_properties *p, uint64_t flags) {
  uint64_t free_bytes, all;
  (void)flags;
  if (!made || !p || !bytes || bytes % GRANULARITY_BYTES) return KC_INVALID_VALUE;
  error status = kc_memory_info(&free_bytes, &all);
  if (!status && bytes > free_bytes) status = KC_OUT_OF_MEMORY;
  if (status) return status;
  *made = calloc(1, sizeof **made);
  (*made)->bytes = bytes;
  (*made)->properties = *p;
  return KC_SUCCESS;
}

// A handle lives until it is released and no longer mapped; freed it is never: it is small.
KC_API error cuMemRelease(mappable *m) { return m->is_released = 1, KC_SUCCESS; }

KC_API error cuMemMap(address start, size_t bytes, size_t offset, mappable *m, uint64_t flags) {
  (void)flags;
  kc_range found;
  if (offset || bytes != m->bytes || kc_find(start, &found)) return KC_INVALID_VALUE;
  if (start + bytes > found.address + found.size) return KC_INVALID_VALUE;
  if (m->mapped) return kc_unsupported("memory that is mapped to two places");
  m->mapped = start;
  return ended(KC_SUCCESS);
}

KC_API error cuMemUnmap(address start, size_t bytes) {
  kc_range found;
  if (kc_find(start, &found) || start + bytes > found.address + found.size) return KC_INVALID_VALUE;
  return ended(KC_SUCCESS);
}

KC_API error cuMemSetAccess(address start, size_t bytes, const void *who, size_t count) {
  (void)who, (void)count;
  return cuMemUnmap(start, bytes);
}

KC_API error cuMemGetAccess(unsigned long long *flags, const void *where, address start) {
  enum { READ_AND_WRITE = 3 };
  kc_range found;
  (void)where;
  *flags = READ_AND_WRITE;
  return kc_find(start, &found) ? KC_INVALID_VALUE : KC_SUCCESS;
}

KC_API error cuMemGetAllocationPropertiesFromHandle(memory_properties *p, const mappable *m) {
  return *p = m->properties, KC_SUCCESS;
}
