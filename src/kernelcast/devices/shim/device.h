// What both faces of the device share: the connection to the engine, memory, modules, launches.
//
// Every function answers with an error code; those of the runtime and of the driver are the same
// numbers. `protocol.py` has the other end of what is sent.
#ifndef KC_DEVICE_H
#define KC_DEVICE_H
#include <stddef.h>
#include <stdint.h>

#define KC_API __attribute__((visibility("default")))

enum kc_error {
  KC_SUCCESS = 0,
  KC_INVALID_VALUE = 1,
  KC_OUT_OF_MEMORY = 2,
  KC_NOT_INITIALIZED = 3,
  KC_INVALID_CONFIGURATION = 9,
  KC_INVALID_SYMBOL = 13,
  KC_INVALID_DIRECTION = 21,
  KC_MISSING_CONFIGURATION = 52,
  KC_INVALID_DEVICE_FUNCTION = 98,
  KC_NO_DEVICE = 100,
  KC_INVALID_DEVICE = 101,
  KC_INVALID_CONTEXT = 201,
  KC_FILE_NOT_FOUND = 301,
  KC_INVALID_HANDLE = 400,
  KC_NOT_FOUND = 500,
  KC_NOT_READY = 600,
  KC_NOT_SUPPORTED = 801,
  KC_UNKNOWN = 999,
};

// Reserved addresses count as no memory of the device.
enum kc_memory { KC_DEVICE_MEMORY, KC_HOST_MEMORY, KC_MANAGED_MEMORY, KC_VARIABLE, KC_RESERVED };

enum kc_copy { KC_HOST_TO_HOST, KC_HOST_TO_DEVICE, KC_DEVICE_TO_HOST, KC_DEVICE_TO_DEVICE };

// Attributes of a device by the numbers of CUdevice_attribute.
enum kc_attribute {
  KC_MAX_THREADS_PER_BLOCK = 1,
  KC_MAX_BLOCK_X, KC_MAX_BLOCK_Y, KC_MAX_BLOCK_Z, KC_MAX_GRID_X, KC_MAX_GRID_Y, KC_MAX_GRID_Z,
  KC_SHARED_PER_BLOCK, KC_CONSTANT_MEMORY, KC_WARP_SIZE, KC_MAX_PITCH, KC_REGISTERS_PER_BLOCK,
  KC_CLOCK_KHZ, KC_TEXTURE_ALIGNMENT, KC_OVERLAP, KC_SM_COUNT, KC_TIMEOUT, KC_INTEGRATED,
  KC_MAP_HOST, KC_COMPUTE_MODE,
  KC_CONCURRENT_KERNELS = 31,
  KC_PCI_BUS = 33,
  KC_MEMORY_CLOCK_KHZ = 36, KC_BUS_BITS, KC_L2_BYTES, KC_THREADS_PER_SM, KC_COPY_ENGINES,
  KC_UNIFIED_ADDRESSING,
  KC_MAJOR = 75, KC_MINOR,
  KC_SHARED_PER_SM = 81, KC_REGISTERS_PER_SM, KC_MANAGED,
  KC_COOPERATIVE = 95,
  KC_SHARED_PER_BLOCK_OPTIN = 97,
  KC_BLOCKS_PER_SM = 106,
  KC_RESERVED_SHARED = 111,
  KC_ATTRIBUTES = 256,
};

#define KC_ALL_STREAMS UINT64_MAX

// What a texture or surface is, as `ir/texture.py` lays it out.
enum kc_channel_kind { KC_FLOAT, KC_UNSIGNED, KC_SIGNED };
enum kc_texture_mode { KC_CLAMP, KC_BORDER, KC_WRAP, KC_MIRROR };

typedef struct {
  uint64_t base, pitch, slice;
  uint32_t x, y, z, texel_bytes, bits, kind, is_linear, is_normalized;
  uint8_t modes[4];  // by dimension
  uint32_t reads_fraction, levels, is_linear_between;
  float bias, least, most;
  uint32_t unused[3];
} kc_texture;

enum { KC_MOST_LEVELS = 16 };

// A texture by its levels of detail, the largest first.
typedef struct {
  kc_texture levels[KC_MOST_LEVELS];
  uint32_t count;
} kc_levels;

// How a texture is read: modes are the numbers of CUaddress_mode, `border` a colour.
typedef struct {
  const unsigned *modes;
  const float *border;
  int is_linear, is_normalized, is_fraction, is_linear_between;
  float bias, least, most;
} kc_reading;

enum kc_array_flag { KC_LAYERED = 1, KC_CUBEMAP = 4, KC_SPARSE = 64 };

// A CUDA array: rows of texels without gaps, in slices, which are the layers and faces where there
// are any; `rows` and `depth` are 0 where it has fewer dimensions.
typedef struct {
  uint64_t address, pitch, slice;
  uint64_t width, rows, depth;
  uint32_t bits, channels, kind, flags;
} kc_array;

// An array and smaller ones, each half as large as the one before.
typedef struct {
  kc_array *levels[KC_MOST_LEVELS];
  uint32_t count;
} kc_mipmapped;

typedef struct {
  uint64_t address, size;
  uint32_t kind;  // kc_memory
} kc_range;

typedef struct {
  uint32_t id;
  int32_t registers, shared_bytes, local_bytes, constant_bytes, max_threads, architecture;
  int32_t most_shared_bytes;  // dynamic shared memory that a launch may ask for
  int32_t carveout;  // percent of the largest shared memory that it prefers, -1 for none
  uint32_t parameter_count;
  struct { uint32_t offset, size; } parameters[];
} kc_function;

typedef struct {
  uint32_t grid[3], block[3];
  uint64_t shared_bytes;
  uint64_t stream;
  uint32_t cooperative;
  uint32_t cluster[3];  // blocks of a cluster, zeros where the kernel says how many
} kc_launch_shape;

// Whether the runtime has been called: its context is then current for the driver, too.
KC_API extern int kc_uses_runtime;

// The device: -1 where the program was not started by `kernelcast run`.
KC_API int kc_start(void);
KC_API const char *kc_device_name(void);
KC_API uint64_t kc_total_memory(void);
KC_API int kc_device_attribute(int attribute);

// What went wrong last while the device worked: it stays, as in CUDA, until `kc_reset`.
KC_API int kc_sticky(void);
KC_API int kc_reset(void);
KC_API int kc_unsupported(const char *name);

KC_API int kc_allocate(uint64_t *address, uint64_t size, int kind);
KC_API int kc_free(uint64_t address);
KC_API int kc_find(uint64_t address, kc_range *found);
KC_API int kc_pool_attribute(int attribute, void *value, int is_set);
KC_API int kc_memory_info(uint64_t *free_bytes, uint64_t *total_bytes);
KC_API int kc_copy(uint64_t to, uint64_t to_pitch, uint64_t from, uint64_t from_pitch,
                   uint64_t width, uint64_t rows, uint64_t stream);
KC_API int kc_fill(uint64_t to, uint64_t pitch, uint32_t value, int value_bytes, uint64_t width,
                   uint64_t rows, uint64_t stream);
KC_API int kc_host_register(void *start, uint64_t size);
KC_API int kc_host_unregister(void *start);
KC_API uint64_t kc_device_address(const void *pointer);

KC_API int kc_new_array(kc_array **made, kc_array shape);
KC_API int kc_free_array(kc_array *array);
// Where the texel at coordinates of an array is, x in bytes.
KC_API uint64_t kc_texel(const kc_array *array, uint64_t x, uint64_t y, uint64_t z);
KC_API int kc_new_mipmapped(kc_mipmapped **made, kc_array shape, unsigned levels);
KC_API int kc_free_mipmapped(kc_mipmapped *array);
KC_API kc_levels kc_texture_of(const kc_array *array);
KC_API kc_levels kc_texture_of_levels(const kc_mipmapped *array);
KC_API int kc_read_as(kc_levels *texture, const kc_reading *how);
KC_API int kc_new_texture(uint64_t *handle, const kc_levels *texture);
KC_API int kc_free_texture(uint64_t handle);


// What a file holds, and a zero behind it; NULL where it cannot be read.
KC_API void *kc_read_file(const char *name);
KC_API int kc_load_module(const void *image, uint32_t *module);
KC_API int kc_get_function(uint32_t module, const char *name, kc_function **function);
KC_API int kc_get_variable(uint32_t module, const char *name, uint64_t *address, uint64_t *size);
// The parameters of a launch side by side, as `kc_launch` takes them packed; to be freed.
KC_API void *kc_pack(const kc_function *function, void **arguments, uint64_t *bytes);
KC_API int kc_launch(kc_function *function, const kc_launch_shape *shape, void **arguments,
                     const void *packed, uint64_t packed_bytes);
// Call a function of the host when all before it is done.
KC_API void kc_call_host(void (*function)(void *), void *data);
// Attributes that a program may set, by their numbers in CUDA.
enum { KC_DYNAMIC_SHARED = 8, KC_CARVEOUT = 9 };
KC_API int kc_set_attribute(kc_function *function, int attribute, int value);
// A preference of L1 cache or shared memory, of a kernel or, where that is NULL, of all without one.
KC_API int kc_prefer(kc_function *function, int preference);
KC_API int kc_preference(void);
KC_API int kc_occupancy(kc_function *function, int threads, uint64_t shared_bytes, int *blocks);

KC_API uint64_t kc_new_stream(int is_blocking);
KC_API void kc_stream_waits(uint64_t stream, uint64_t event);
KC_API void kc_free_stream(uint64_t stream);
KC_API uint64_t kc_new_event(void);
KC_API void kc_record(uint64_t event, uint64_t stream);
KC_API int kc_synchronize(uint64_t stream);
// What a call waits for that returns when its copy is done.
KC_API int kc_copy_done(void);
KC_API int kc_synchronize_event(uint64_t event);
KC_API int kc_elapsed(uint64_t start, uint64_t end, float *milliseconds);

KC_API const char *kc_error_name(int error, int of_driver);
KC_API const char *kc_error_text(int error);
#endif
