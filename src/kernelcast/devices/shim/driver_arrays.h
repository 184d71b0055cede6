// CUDA arrays, textures and surfaces of the driver: a part of driver.c.

enum { FORMAT_HALF = 0x10, FORMAT_FLOAT = 0x20 };

// What an array of such texels holds; formats are the numbers of CUarray_format.
static error shape_of(kc_array *shape, unsigned format, unsigned channels) {
  shape->channels = channels;
  if (format == FORMAT_HALF || format == FORMAT_FLOAT) {
    shape->kind = KC_FLOAT;
    shape->bits = format;
  } else {
    unsigned size = format & 7;  // 1, 2, 3 for 8, 16, 32 bits; the signed ones begin at 8
    if (format > 0x0a || size < (format >> 3 ? 0u : 1u) || size > 3) return KC_INVALID_VALUE;
    shape->kind = format >> 3 ? KC_SIGNED : KC_UNSIGNED;
    shape->bits = 8u << (shape->kind == KC_SIGNED ? size : size - 1);
  }
  return channels == 1 || channels == 2 || channels == 4 ? KC_SUCCESS : KC_INVALID_VALUE;
}

static unsigned format_of(const kc_array *array) {
  if (array->kind == KC_FLOAT) return array->bits;
  unsigned size = array->bits == 8 ? 0 : array->bits == 16 ? 1 : 2;
  return array->kind == KC_SIGNED ? 8 + size : 1 + size;
}

typedef struct { size_t width, rows; unsigned format, channels; } array_shape;
typedef struct { size_t width, rows, depth; unsigned format, channels, flags; } array_3d_shape;

static error array_of(kc_array *shape, const array_3d_shape *d) {
  *shape = (kc_array){.width = d->width, .rows = d->rows, .depth = d->depth, .flags = d->flags};
  if (d->flags & KC_SPARSE) return kc_unsupported("a sparse CUDA array");
  return shape_of(shape, d->format, d->channels);
}

KC_API error cuArray3DCreate_v2(kc_array **made, const array_3d_shape *d) {
  kc_array shape;
  error status = array_of(&shape, d);
  return ended(status ? status : kc_new_array(made, shape));
}

KC_API error cuMipmappedArrayCreate(kc_mipmapped **made, const array_3d_shape *d, unsigned levels) {
  kc_array shape;
  error status = array_of(&shape, d);
  return ended(status ? status : kc_new_mipmapped(made, shape, levels));
}

KC_API error cuMipmappedArrayGetLevel(kc_array **level, const kc_mipmapped *array, unsigned n) {
  if (!level || !array || n >= array->count) return KC_INVALID_VALUE;
  *level = array->levels[n];
  return KC_SUCCESS;
}

KC_API error cuMipmappedArrayDestroy(kc_mipmapped *array) {
  return ended(kc_free_mipmapped(array));
}

KC_API error cuArrayCreate_v2(kc_array **made, const array_shape *d) {
  array_3d_shape whole = {d->width, d->rows, 0, d->format, d->channels, 0};
  return cuArray3DCreate_v2(made, &whole);
}

KC_API error cuArray3DGetDescriptor_v2(array_3d_shape *d, const kc_array *array) {
  *d = (array_3d_shape){array->width,     array->rows,     array->depth,
                        format_of(array), array->channels, array->flags};
  return KC_SUCCESS;
}

KC_API error cuArrayGetDescriptor_v2(array_shape *d, const kc_array *array) {
  *d = (array_shape){array->width, array->rows, format_of(array), array->channels};
  return KC_SUCCESS;
}

KC_API error cuArrayDestroy(kc_array *array) { return ended(kc_free_array(array)); }

// ---- copies ----

enum { MEMORY_OF_ARRAY = 3, MEMORY_OF_HOST = 1 };

typedef struct {
  size_t x, y;
  unsigned type;
  void *host;
  address device;
  kc_array *array;
  size_t pitch;
} side_2d;

typedef struct { side_2d from, to; size_t width, rows; } copy_2d;

typedef struct {
  size_t x, y, z, level;
  unsigned type;
  void *host;
  address device;
  kc_array *array;
  void *reserved;
  size_t pitch, rows;
} side_3d;

typedef struct { side_3d from, to; size_t width, rows, depth; } copy_3d;

typedef struct { address start; size_t pitch, slice; } side;

static side side_of(const side_3d *s, size_t width) {
  if (s->type == MEMORY_OF_ARRAY)
    return (side){kc_texel(s->array, s->x, s->y, s->z), s->array->pitch, s->array->slice};
  size_t pitch = s->pitch ? s->pitch : s->x + width, slice = pitch * s->rows;
  address start = s->type == MEMORY_OF_HOST ? (address)s->host : s->device;
  return (side){start + s->x + s->y * pitch + s->z * slice, pitch, slice};
}

KC_API error cuMemcpy3DAsync_v2(const copy_3d *c, stream s) {
  side from = side_of(&c->from, c->width), to = side_of(&c->to, c->width);
  error status = KC_SUCCESS;
  for (size_t z = 0; z < c->depth && !status; z++)
    status = kc_copy(to.start + z * to.slice, to.pitch, from.start + z * from.slice, from.pitch,
                     c->width, c->rows, s);
  return status;
}

KC_API error cuMemcpy3D_v2(const copy_3d *c) { return waited(cuMemcpy3DAsync_v2(c, 0)); }

static side_3d deeper(const side_2d *s) {
  return (side_3d){.x = s->x,           .y = s->y,         .type = s->type, .host = s->host,
                   .device = s->device, .array = s->array, .pitch = s->pitch};
}

KC_API error cuMemcpy2DAsync_v2(const copy_2d *c, stream s) {
  copy_3d whole = {deeper(&c->from), deeper(&c->to), c->width, c->rows, 1};
  return cuMemcpy3DAsync_v2(&whole, s);
}

KC_API error cuMemcpy2D_v2(const copy_2d *c) { return waited(cuMemcpy2DAsync_v2(c, 0)); }
KC_API error cuMemcpy2DUnaligned_v2(const copy_2d *c) { return cuMemcpy2D_v2(c); }

KC_API error cuMemcpyHtoA_v2(kc_array *to, size_t x, const void *from, size_t n) {
  return waited(copied(kc_texel(to, x, 0, 0), (address)from, n, 0));
}

KC_API error cuMemcpyAtoH_v2(void *to, const kc_array *from, size_t x, size_t n) {
  return waited(copied((address)to, kc_texel(from, x, 0, 0), n, 0));
}

KC_API error cuMemcpyAtoD_v2(address to, const kc_array *from, size_t x, size_t n) {
  return waited(copied(to, kc_texel(from, x, 0, 0), n, 0));
}

KC_API error cuMemcpyDtoA_v2(kc_array *to, size_t x, address from, size_t n) {
  return waited(copied(kc_texel(to, x, 0, 0), from, n, 0));
}

KC_API error cuMemcpyAtoA_v2(kc_array *to, size_t x, const kc_array *from, size_t at, size_t n) {
  return waited(copied(kc_texel(to, x, 0, 0), kc_texel(from, at, 0, 0), n, 0));
}

// ---- textures and surfaces ----

enum { RESOURCE_ARRAY, RESOURCE_MIPMAPPED, RESOURCE_LINEAR, RESOURCE_PITCHED };
enum { READS_AS_INTEGER = 1, IS_NORMALIZED = 2, IS_SRGB = 16, IS_SEAMLESS = 64 };

typedef struct {
  unsigned type;
  union {
    kc_array *array;
    kc_mipmapped *mipmapped;
    struct { address start; unsigned format, channels; size_t bytes; } linear;
    struct { address start; unsigned format, channels; size_t width, rows, pitch; } pitched;
    int reserved[32];
  } of;
  unsigned flags;
} resource;

typedef struct {
  unsigned modes[3], is_linear, flags, anisotropy, mipmap_filter;
  float mipmap_bias, mipmap_least, mipmap_most, border[4];
  int reserved[12];
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
      status = shape_of(&shape, r->of.linear.format, r->of.linear.channels);
      if (status) return status;
      shape.address = r->of.linear.start;
      shape.width = r->of.linear.bytes / (shape.bits / 8 * shape.channels);
      break;
    case RESOURCE_PITCHED:
      status = shape_of(&shape, r->of.pitched.format, r->of.pitched.channels);
      shape.address = r->of.pitched.start;
      shape.width = r->of.pitched.width;
      shape.rows = r->of.pitched.rows;
      shape.pitch = r->of.pitched.pitch;
      break;
    default: return KC_INVALID_VALUE;
  }
  if (!status) *t = kc_texture_of(&shape);
  return status;
}

KC_API error cuTexObjectCreate(uint64_t *made, const resource *r, const texture_reading *how,
                               const void *view) {
  kc_levels t;
  if (view) return kc_unsupported("another view of a texture's texels");
  if (how->flags & IS_SRGB) return kc_unsupported("a texture in sRGB");
  if (how->flags & IS_SEAMLESS && how->is_linear)
    return kc_unsupported("filtering across the edges of a cube");
  error status = layout_of(&t, r);
  kc_reading reading = {
      .modes = how->modes,
      .border = how->border,
      .is_linear = (int)how->is_linear,
      .is_normalized = (how->flags & IS_NORMALIZED) != 0,
      .is_fraction = !(how->flags & READS_AS_INTEGER),
      .is_linear_between = (int)how->mipmap_filter,
      .bias = how->mipmap_bias,
      .least = how->mipmap_least,
      .most = how->mipmap_most,
  };
  if (!status) status = kc_read_as(&t, &reading);
  return status ? status : kc_new_texture(made, &t);
}

KC_API error cuTexObjectDestroy(uint64_t handle) { return kc_free_texture(handle); }

KC_API error cuSurfObjectCreate(uint64_t *made, const resource *r) {
  kc_levels t;
  if (r->type != RESOURCE_ARRAY) return KC_INVALID_VALUE;
  error status = layout_of(&t, r);
  return status ? status : kc_new_texture(made, &t);
}

KC_API error cuSurfObjectDestroy(uint64_t handle) { return kc_free_texture(handle); }
