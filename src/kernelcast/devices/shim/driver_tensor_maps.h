// Tensor maps that a program makes: a part of driver.c. What they hold is laid down in
// ir/tensor_map.py, which the engine reads them by; on a GPU it is the driver's own.

typedef struct { unsigned char bytes[128]; } tensor_map;

typedef struct {
  char mark[4];
  uint8_t rank, element_bytes, swizzle_bytes, unused;
  uint32_t box_bytes, padding;
  uint64_t address;
  uint32_t extents[5];
  uint16_t box[5], unused_too;
  uint64_t strides_bytes[4];
} tile_layout;

_Static_assert(sizeof(tile_layout) == 88, "see ir/tensor_map.py");

// By CUtensorMapDataType; kinds behind these pack elements of 4 or 6 bits.
static const uint8_t element_bytes_of[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
// By CUtensorMapSwizzle.
static const uint8_t swizzle_bytes_of[] = {0, 32, 64, 128};

enum { MAX_BOX = 256, UNIT_BYTES = 16 };

KC_API error cuTensorMapEncodeTiled(tensor_map *map, unsigned type, unsigned rank, address start,
                                    const uint64_t *extents, const uint64_t *strides_bytes,
                                    const uint32_t *box, const uint32_t *steps, int interleave,
                                    unsigned swizzle, int promotion, int fill) {
  (void)promotion;
  tile_layout made = {.mark = "tile", .rank = (uint8_t)rank, .address = start};
  if (!map || !extents || !box || !steps || (rank > 1 && !strides_bytes)) return KC_INVALID_VALUE;
  if (rank < 1 || rank > 5 || start % UNIT_BYTES) return KC_INVALID_VALUE;
  if (type >= sizeof element_bytes_of) return kc_unsupported("a tensor map of 4 or 6 bits an element");
  if (swizzle >= sizeof swizzle_bytes_of) return kc_unsupported("a tensor map with a swizzle of atoms");
  if (interleave) return kc_unsupported("a tensor map that interleaves channels");
  if (fill) return kc_unsupported("a tensor map that fills with NaN");
  made.element_bytes = element_bytes_of[type];
  made.swizzle_bytes = swizzle_bytes_of[swizzle];
  made.box_bytes = made.element_bytes;
  for (unsigned i = 0; i < rank; i++) {
    if (!extents[i] || extents[i] > UINT32_MAX || !box[i] || box[i] > MAX_BOX) return KC_INVALID_VALUE;
    if (steps[i] != 1 && i) return kc_unsupported("a tensor map that leaves elements out");
    made.extents[i] = (uint32_t)extents[i];
    made.box[i] = (uint16_t)box[i];
    made.box_bytes *= box[i];
    if (!i) continue;
    if (strides_bytes[i - 1] % UNIT_BYTES || strides_bytes[i - 1] >> 40) return KC_INVALID_VALUE;
    made.strides_bytes[i - 1] = strides_bytes[i - 1];
  }
  uint32_t row_bytes = box[0] * made.element_bytes;
  if (row_bytes % UNIT_BYTES) return KC_INVALID_VALUE;
  if (made.swizzle_bytes && row_bytes > made.swizzle_bytes) return KC_INVALID_VALUE;
  if (made.swizzle_bytes && row_bytes < made.swizzle_bytes)
    return kc_unsupported("a tensor map whose rows are shorter than its swizzle");
  memset(map, 0, sizeof *map);
  memcpy(map, &made, sizeof made);
  return KC_SUCCESS;
}

KC_API error cuTensorMapReplaceAddress(tensor_map *map, address start) {
  tile_layout made;
  if (!map || start % UNIT_BYTES) return KC_INVALID_VALUE;
  memcpy(&made, map, sizeof made);
  if (memcmp(made.mark, "tile", sizeof made.mark)) return KC_INVALID_VALUE;
  made.address = start;
  memcpy(map, &made, sizeof made);
  return KC_SUCCESS;
}

KC_API error cuTensorMapEncodeIm2col(void) {
  return kc_unsupported("a tensor map of images as columns (cuTensorMapEncodeIm2col)");
}
