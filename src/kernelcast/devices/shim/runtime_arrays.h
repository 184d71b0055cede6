// CUDA arrays, textures and surfaces of the runtime: a part of runtime.c.

typedef struct { int bits[4], kind; } channels;

enum { KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT };

// What an array of such texels holds; INVALID_VALUE for channels that no texture has.
static error shape_of(kc_array *shape, const channels *c) {
  static const uint32_t kinds[] = {KC_SIGNED, KC_UNSIGNED, KC_FLOAT};
  if (!c || c->kind < KIND_SIGNED || c->kind > KIND_FLOAT) return KC_INVALID_VALUE;
  uint32_t count = 0;
  while (count < 4 && c->bits[count]) count++;
  for (uint32_t i = 1; i < count; i++)
    if (c->bits[i] != c->bits[0]) return KC_INVALID_VALUE;
  int is_known = c->bits[0] == 8 || c->bits[0] == 16 || c->bits[0] == 32;
  if (!is_known || count == 3) return KC_INVALID_VALUE;
  shape->bits = (uint32_t)c->bits[0];
  shape->channels = count;
  shape->kind = kinds[c->kind];
  return KC_SUCCESS;
}

static channels channels_of(const kc_array *array) {
  static const int kinds[] = {KIND_FLOAT, KIND_UNSIGNED, KIND_SIGNED};
  channels found = {{0}, kinds[array->kind]};
  for (uint32_t i = 0; i < array->channels; i++) found.bits[i] = (int)array->bits;
  return found;
}

KC_API channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return (channels){{x, y, z, w}, kind};
}

static error array_of(kc_array *shape, const channels *c, extent e, unsigned flags) {
  *shape = (kc_array){.width = e.width, .rows = e.rows, .depth = e.depth, .flags = flags};
  if (flags & KC_SPARSE) return kc_unsupported("a sparse CUDA array");
  return shape_of(shape, c);
}

KC_API error cudaMalloc3DArray(kc_array **made, const channels *c, extent e, unsigned flags) {
  kc_array shape;
  if (started()) return last;
  error status = array_of(&shape, c, e, flags);
  return ended(status ? status : kc_new_array(made, shape));
}

KC_API error cudaMallocMipmappedArray(kc_mipmapped **made, const channels *c, extent e,
                                      unsigned levels, unsigned flags) {
  kc_array shape;
  if (started()) return last;
  error status = array_of(&shape, c, e, flags);
  return ended(status ? status : kc_new_mipmapped(made, shape, levels));
}

KC_API error cudaGetMipmappedArrayLevel(kc_array **level, const kc_mipmapped *array, unsigned n) {
  if (!level || !array || n >= array->count) return answered(KC_INVALID_VALUE);
  *level = array->levels[n];
  return answered(KC_SUCCESS);
}

KC_API error cudaFreeMipmappedArray(kc_mipmapped *array) {
  return ended(kc_free_mipmapped(array));
}

KC_API error cudaMallocArray(kc_array **made, const channels *c, size_t width, size_t rows,
                             unsigned flags) {
  return cudaMalloc3DArray(made, c, (extent){width, rows, 0}, flags);
}

KC_API error cudaFreeArray(kc_array *array) { return ended(kc_free_array(array)); }

KC_API error cudaArrayGetInfo(channels *c, extent *e, unsigned *flags, const kc_array *array) {
  if (c) *c = channels_of(array);
  if (e) *e = (extent){array->width, array->rows, array->depth};
  if (flags) *flags = array->flags;
  return ended(KC_SUCCESS);
}

KC_API error cudaGetChannelDesc(channels *c, const kc_array *array) {
  return cudaArrayGetInfo(c, NULL, NULL, array);
}

// ---- copies ----

static int is_inside(const kc_array *array, size_t x, size_t y, size_t width, size_t rows) {
  size_t all = array->rows ? array->rows : 1;
  return array && x + width <= array->pitch && y + rows <= all;
}

#define PLACE(array, x, y) (void *)kc_texel(array, x, y, 0)

KC_API error cudaMemcpy2DToArrayAsync(kc_array *to, size_t x, size_t y, const void *from,
                                      size_t pitch, size_t width, size_t rows, unsigned kind,
                                      stream s) {
  (void)kind;
  if (!is_inside(to, x, y, width, rows)) return answered(KC_INVALID_VALUE);
  return copied_rows(PLACE(to, x, y), to->pitch, from, pitch, width, rows, s);
}

KC_API error cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, const kc_array *from, size_t x,
                                        size_t y, size_t width, size_t rows, unsigned kind,
                                        stream s) {
  (void)kind;
  if (!is_inside(from, x, y, width, rows)) return answered(KC_INVALID_VALUE);
  return copied_rows(to, pitch, PLACE(from, x, y), from->pitch, width, rows, s);
}

KC_API error cudaMemcpy2DToArray(kc_array *to, size_t x, size_t y, const void *from, size_t pitch,
                                 size_t width, size_t rows, unsigned kind) {
  return waited(cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, rows, kind, 0));
}

KC_API error cudaMemcpy2DFromArray(void *to, size_t pitch, const kc_array *from, size_t x, size_t y,
                                   size_t width, size_t rows, unsigned kind) {
  return waited(cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, rows, kind, 0));
}

KC_API error cudaMemcpy2DArrayToArray(kc_array *to, size_t x, size_t y, const kc_array *from,
                                      size_t from_x, size_t from_y, size_t width, size_t rows,
                                      unsigned kind) {
  if (!is_inside(from, from_x, from_y, width, rows)) return answered(KC_INVALID_VALUE);
  return cudaMemcpy2DToArray(to, x, y, PLACE(from, from_x, from_y), from->pitch, width, rows, kind);
}

// Copies of as many bytes, row after row: rows of an array follow each other without gaps.
static int holds(const kc_array *array, size_t x, size_t y, size_t n) {
  return array && y * array->pitch + x + n <= array->slice * (array->depth ? array->depth : 1);
}

KC_API error cudaMemcpyToArrayAsync(kc_array *to, size_t x, size_t y, const void *from, size_t n,
                                    unsigned kind, stream s) {
  if (!holds(to, x, y, n)) return answered(KC_INVALID_VALUE);
  return copied(PLACE(to, x, y), from, n, kind, s);
}

KC_API error cudaMemcpyFromArrayAsync(void *to, const kc_array *from, size_t x, size_t y, size_t n,
                                      unsigned kind, stream s) {
  if (!holds(from, x, y, n)) return answered(KC_INVALID_VALUE);
  return copied(to, PLACE(from, x, y), n, kind, s);
}

KC_API error cudaMemcpyToArray(kc_array *to, size_t x, size_t y, const void *from, size_t n,
                               unsigned kind) {
  return waited(cudaMemcpyToArrayAsync(to, x, y, from, n, kind, 0));
}

KC_API error cudaMemcpyFromArray(void *to, const kc_array *from, size_t x, size_t y, size_t n,
                                 unsigned kind) {
  return waited(cudaMemcpyFromArrayAsync(to, from, x, y, n, kind, 0));
}

KC_API error cudaMemcpyArrayToArray(kc_array *to, size_t x, size_t y, const kc_array *from,
                                    size_t from_x, size_t from_y, size_t n, unsigned kind) {
  if (!holds(from, from_x, from_y, n)) return answered(KC_INVALID_VALUE);
  return cudaMemcpyToArray(to, x, y, PLACE(from, from_x, from_y), n, kind);
}

typedef struct { size_t x, y, z; } position;

typedef struct {
  const kc_array *from_array;
  position from_position;
  pitched from;
  kc_array *to_array;
  position to_position;
  pitched to;
  extent extent;
  int kind;
} copy_3d;

// One side of a copy: an array counts texels along x, other memory bytes.
typedef struct { char *start; size_t pitch, slice; } side;

static side side_of(const kc_array *array, position p, const pitched *memory) {
  if (array) {
    size_t texel = array->bits / 8 * array->channels;
    return (side){(char *)kc_texel(array, p.x * texel, p.y, p.z), array->pitch, array->slice};
  }
  size_t slice = memory->pitch * memory->rows;
  char *start = (char *)memory->pointer + p.x + p.y * memory->pitch + p.z * slice;
  return (side){start, memory->pitch, slice};
}

KC_API error cudaMemcpy3DAsync(const copy_3d *c, stream s) {
  const kc_array *array = c->from_array ? c->from_array : c->to_array;
  size_t width = c->extent.width * (array ? array->bits / 8 * array->channels : 1);
  side from = side_of(c->from_array, c->from_position, &c->from);
  side to = side_of(c->to_array, c->to_position, &c->to);
  size_t rows = c->extent.rows ? c->extent.rows : 1, depth = c->extent.depth ? c->extent.depth : 1;
  error status = KC_SUCCESS;
  for (size_t z = 0; z < depth && !status; z++)
    status = copied_rows(to.start + z * to.slice, to.pitch, from.start + z * from.slice, from.pitch,
                         width, rows, s);
  return status;
}

KC_API error cudaMemcpy3D(const copy_3d *c) { return waited(cudaMemcpy3DAsync(c, 0)); }

// ---- textures and surfaces ----

enum { RESOURCE_ARRAY, RESOURCE_MIPMAPPED, RESOURCE_LINEAR, RESOURCE_PITCHED };

typedef struct {
  int type;
  union {
    kc_array *array;
    kc_mipmapped *mipmapped;
    struct { uint64_t address; channels channels; size_t bytes; } linear;
    struct { uint64_t address; channels channels; size_t width, rows, pitch; } pitched;
    int reserved[32];
  } of;
  unsigned flags;
} resource;

typedef struct {
  unsigned modes[3];
  int is_linear, is_fraction, is_srgb;
  float border[4];
  int is_normalized;
  unsigned anisotropy;
  int mipmap_filter;
  float mipmap_bias, mipmap_least, mipmap_most;
  int no_trilinear, is_seamless;
} texture_reading;

static error layout_of(kc_levels *t, const resource *r) {
  kc_array shape = {0};
  error status = KC_SUCCESS;
  switch (r->type) {
    case RESOURCE_ARRAY:
      if (!r->of.array) return KC_INVALID_VALUE;
      *t = kc_texture_of(r->of.array);
      return KC_SUCCESS;
    case RESOURCE_MIPMAPPED:
      if (!r->of.mipmapped) return KC_INVALID_VALUE;
      *t = kc_texture_of_levels(r->of.mipmapped);
      return KC_SUCCESS;
    case RESOURCE_LINEAR:
      status = shape_of(&shape, &r->of.linear.channels);
      if (status) return status;
      shape.address = r->of.linear.address;
      shape.width = r->of.linear.bytes / (shape.bits / 8 * shape.channels);
      break;
    case RESOURCE_PITCHED:
      status = shape_of(&shape, &r->of.pitched.channels);
      shape.address = r->of.pitched.address;
      shape.width = r->of.pitched.width;
      shape.rows = r->of.pitched.rows;
      shape.pitch = r->of.pitched.pitch;
      break;
    default: return KC_INVALID_VALUE;
  }
  if (!status) *t = kc_texture_of(&shape);
  return status;
}

KC_API error cudaCreateTextureObject(uint64_t *made, const resource *r, const texture_reading *how,
                                     const void *view) {
  kc_levels t;
  if (started()) return last;
  if (!made || !r || !how) return answered(KC_INVALID_VALUE);
  if (view) return answered(kc_unsupported("another view of a texture's texels"));
  if (how->is_srgb) return answered(kc_unsupported("a texture in sRGB"));
  if (how->is_seamless && how->is_linear)
    return answered(kc_unsupported("filtering across the edges of a cube"));
  error status = layout_of(&t, r);
  kc_reading reading = {
      .modes = how->modes,
      .border = how->border,
      .is_linear = how->is_linear,
      .is_normalized = how->is_normalized != 0,
      .is_fraction = how->is_fraction != 0,
      .is_linear_between = how->mipmap_filter,
      .bias = how->mipmap_bias,
      .least = how->mipmap_least,
      .most = how->mipmap_most,
  };
  if (!status) status = kc_read_as(&t, &reading);
  return answered(status ? status : kc_new_texture(made, &t));
}

KC_API error cudaDestroyTextureObject(uint64_t handle) { return answered(kc_free_texture(handle)); }

KC_API error cudaCreateSurfaceObject(uint64_t *made, const resource *r) {
  kc_levels t;
  if (started()) return last;
  if (!made || !r || r->type != RESOURCE_ARRAY) return answered(KC_INVALID_VALUE);
  error status = layout_of(&t, r);
  return answered(status ? status : kc_new_texture(made, &t));
}

KC_API error cudaDestroySurfaceObject(uint64_t handle) { return cudaDestroyTextureObject(handle); }
