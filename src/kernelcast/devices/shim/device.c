// The device as a program sees it: memory that it shares with the engine, and a socket to it.
//
// Memory is one file without a name, mapped where the engine's addresses say, so that a pointer of
// the device is one of the host, too. All work is done when a call returns.
#define _GNU_SOURCE
#include "device.h"
#include "graphs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum request {
  HELLO = 1, ALLOCATE, FREE, MEMORY_INFO, LOAD_MODULE, GET_FUNCTION, GET_VARIABLE, LAUNCH,
  OCCUPANCY, ELAPSED, NEW_TEXTURE,
  // Without an answer:
  COPIED = 100, FILLED, NEW_STREAM, STREAM_WAITS, FREE_STREAM, RECORD, SYNCHRONIZE,
  SYNCHRONIZE_EVENT, FREE_TEXTURE, COPY_DONE,
};

static const char *const SOCKET_VARIABLE = "KERNELCAST_DEVICE";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int connection = -1;
static pid_t owner;  // the process that is connected: a child has to connect for itself
static int sticky;

int kc_uses_runtime;

static struct {
  uint64_t base, room, total_bytes;
  int32_t attributes[KC_ATTRIBUTES];
  char name[256];
} device;
static int memory_file = -1;

static kc_range *ranges;  // by rising address
static size_t range_count, range_room;

static struct registered { char *start; uint64_t size, address; } *registered_hosts;
static size_t registered_count;

static void complain(const char *what) {
  fprintf(stderr, "kernelcast: %s\n", what);
}

// ---- the connection ----

static int send_all(const void *data, size_t size) {
  const char *at = data;
  while (size) {
    ssize_t sent = send(connection, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return -1;
    at += sent;
    size -= (size_t)sent;
  }
  return 0;
}

static int receive_all(void *data, size_t size) {
  char *at = data;
  while (size) {
    ssize_t got = recv(connection, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    at += got;
    size -= (size_t)got;
  }
  return 0;
}

static int lost(void) {
  complain("the engine is gone; the program ends");
  _exit(70);
}

// Sends a request in two parts; the answer is allocated, its size told. Holds the lock.
static int exchange(uint32_t kind, const void *head, uint32_t head_bytes, const void *tail,
                    uint64_t tail_bytes, void **answer, uint64_t *answer_bytes) {
  struct { uint32_t kind, reserved; uint64_t bytes; } request = {kind, 0, head_bytes + tail_bytes};
  struct { int32_t status; uint32_t reserved; uint64_t bytes; } reply;
  if (send_all(&request, sizeof request) || send_all(head, head_bytes) ||
      (tail_bytes && send_all(tail, tail_bytes)))
    return lost();
  if (kind >= COPIED) return KC_SUCCESS;
  if (receive_all(&reply, sizeof reply)) return lost();
  void *content = reply.bytes ? malloc(reply.bytes) : NULL;
  if (reply.bytes && (!content || receive_all(content, reply.bytes))) return lost();
  if (answer && reply.status == KC_SUCCESS) {
    *answer = content;
    if (answer_bytes) *answer_bytes = reply.bytes;
  } else {
    free(content);
  }
  return reply.status;
}

static int call(uint32_t kind, const void *head, uint32_t head_bytes, const void *tail,
                uint64_t tail_bytes, void **answer, uint64_t *answer_bytes) {
  if (kc_start()) return KC_NO_DEVICE;
  pthread_mutex_lock(&lock);
  int status = exchange(kind, head, head_bytes, tail, tail_bytes, answer, answer_bytes);
  pthread_mutex_unlock(&lock);
  return status;
}

// A request with an answer of known size.
static int ask(uint32_t kind, const void *head, uint32_t head_bytes, void *result, size_t size) {
  void *answer = NULL;
  uint64_t bytes = 0;
  int status = call(kind, head, head_bytes, NULL, 0, &answer, &bytes);
  if (!status && size) memcpy(result, answer, size < bytes ? size : bytes);
  free(answer);
  return status;
}

static void tell(uint32_t kind, const void *head, uint32_t head_bytes) {
  call(kind, head, head_bytes, NULL, 0, NULL, NULL);
}

// The file of the memory comes along with one byte.
static int receive_file(void) {
  char byte, room[CMSG_SPACE(sizeof(int))];
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room,
                           .msg_controllen = sizeof room};
  if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (!head || head->cmsg_type != SCM_RIGHTS) return -1;
  int file;
  memcpy(&file, CMSG_DATA(head), sizeof file);
  return file;
}

static int open_connection(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(name);
  if (length + 1 >= sizeof address.sun_path) return -1;
  memcpy(address.sun_path + 1, name, length);  // a name without a file: nothing is left behind
  connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
  if (connection < 0 || connect(connection, (struct sockaddr *)&address, size)) return -1;
  memory_file = receive_file();
  return memory_file < 0 ? -1 : 0;
}

static int connected(void) {
  const char *name = getenv(SOCKET_VARIABLE);
  if (!name || !*name) {
    complain("this is a virtual device: start the program with `kernelcast run PROGRAM`");
    return -1;
  }
  int is_child = owner != 0;
  if (open_connection(name)) {
    complain("cannot reach the engine");
    return -1;
  }
  void *answer = NULL;
  uint64_t bytes = 0;
  uint32_t pid = (uint32_t)getpid();
  if (exchange(HELLO, &pid, sizeof pid, NULL, 0, &answer, &bytes)) return -1;
  memcpy(&device, answer, bytes < sizeof device ? bytes : sizeof device);
  free(answer);
  if (!is_child) {
    void *want = (void *)device.base;
    void *got = mmap(want, device.room, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, memory_file, 0);
    if (got != want) {
      complain("the addresses of device memory are taken in this program");
      return -1;
    }
  }
  range_count = registered_count = 0;
  sticky = 0;
  return 0;
}

int kc_start(void) {
  static int failed;
  pid_t pid = getpid();
  if (owner == pid) return failed ? KC_NO_DEVICE : KC_SUCCESS;
  pthread_mutex_lock(&lock);
  if (owner != pid) {
    failed = connected();
    owner = pid;
  }
  pthread_mutex_unlock(&lock);
  return failed ? KC_NO_DEVICE : KC_SUCCESS;
}

const char *kc_device_name(void) { return kc_start() ? "" : device.name; }
uint64_t kc_total_memory(void) { return kc_start() ? 0 : device.total_bytes; }

int kc_device_attribute(int attribute) {
  if (kc_start() || attribute < 0 || attribute >= KC_ATTRIBUTES) return 0;
  return device.attributes[attribute];
}

int kc_sticky(void) { return sticky; }

int kc_reset(void) {
  sticky = 0;
  return KC_SUCCESS;
}

int kc_unsupported(const char *name) {
  static const char *told[256];
  static int count;
  for (int i = 0; i < count; i++)
    if (told[i] == name) return KC_NOT_SUPPORTED;
  if (count < 256) told[count++] = name;
  fprintf(stderr, "kernelcast: %s is not supported by the virtual device\n", name);
  return KC_NOT_SUPPORTED;
}

// ---- memory ----

// The first range that ends behind an address.
static size_t place_of(uint64_t address) {
  size_t low = 0, high = range_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (ranges[middle].address + ranges[middle].size <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

static void add_range(kc_range range) {
  pthread_mutex_lock(&lock);
  if (range_count == range_room) {
    range_room = range_room ? 2 * range_room : 256;
    ranges = realloc(ranges, range_room * sizeof *ranges);
  }
  size_t at = place_of(range.address);
  memmove(ranges + at + 1, ranges + at, (range_count - at) * sizeof *ranges);
  ranges[at] = range;
  range_count++;
  pthread_mutex_unlock(&lock);
}

static int is_of_device(uint64_t address) {
  return owner && address >= device.base && address < device.base + device.room;
}

int kc_find(uint64_t address, kc_range *found) {
  int is_found = 0;
  pthread_mutex_lock(&lock);
  size_t at = place_of(address);
  if (at < range_count && ranges[at].address <= address) {
    *found = ranges[at];
    is_found = 1;
  }
  pthread_mutex_unlock(&lock);
  return is_found ? KC_SUCCESS : KC_INVALID_VALUE;
}

int kc_allocate(uint64_t *address, uint64_t size, int kind) {
  if (!address) return KC_INVALID_VALUE;
  if (kc_start()) return KC_NO_DEVICE;
  *address = 0;
  if (!size) return KC_SUCCESS;
  struct { uint64_t size; uint32_t kind, reserved; } request = {size, (uint32_t)kind, 0};
  int status = ask(ALLOCATE, &request, sizeof request, address, sizeof *address);
  if (!status) add_range((kc_range){*address, size, (uint32_t)kind});
  return status;
}

int kc_free(uint64_t address) {
  kc_range found;
  if (!address) return KC_SUCCESS;
  if (kc_find(address, &found) || found.address != address || found.kind == KC_VARIABLE)
    return KC_INVALID_VALUE;
  pthread_mutex_lock(&lock);
  size_t at = place_of(address);
  memmove(ranges + at, ranges + at + 1, (range_count - at - 1) * sizeof *ranges);
  range_count--;
  pthread_mutex_unlock(&lock);
  return ask(FREE, &address, sizeof address, NULL, 0);
}

int kc_memory_info(uint64_t *free_bytes, uint64_t *total_bytes) {
  uint64_t found[2] = {0, 0};
  int status = ask(MEMORY_INFO, NULL, 0, found, sizeof found);
  if (free_bytes) *free_bytes = found[0];
  if (total_bytes) *total_bytes = found[1];
  return status;
}

// Every pool is the device's memory; what a program sets is remembered, and changes nothing.
int kc_pool_attribute(int attribute, void *value, int is_set) {
  enum { REUSE_FIRST = 1, REUSE_LAST = 3, THRESHOLD = 4, LAST = 8 };
  static uint64_t held[LAST + 1] = {0, 1, 1, 1};
  uint64_t free_bytes, total_bytes;
  if (!value || attribute < REUSE_FIRST || attribute > LAST) return KC_INVALID_VALUE;
  size_t size = attribute <= REUSE_LAST ? sizeof(int) : sizeof(uint64_t);
  if (is_set) return memcpy(&held[attribute], value, size), KC_SUCCESS;
  int status = kc_memory_info(&free_bytes, &total_bytes);
  if (status) return status;
  uint64_t used = total_bytes - free_bytes;
  memcpy(value, attribute > THRESHOLD ? &used : &held[attribute], size);
  return KC_SUCCESS;
}

// Whether rows lie within what is allocated; memory of the host is the program's own matter.
static int is_within(uint64_t start, uint64_t pitch, uint64_t width, uint64_t rows) {
  kc_range found;
  if (!is_of_device(start)) return 1;
  if (kc_find(start, &found)) return 0;
  return start + (rows - 1) * pitch + width <= found.address + found.size;
}

static int is_on_device(uint64_t address) {
  kc_range found;
  return is_of_device(address) && !kc_find(address, &found) && found.kind != KC_HOST_MEMORY;
}

static void note(uint32_t kind, uint64_t stream, uint64_t direction, uint64_t to, uint64_t pitch,
                 uint64_t width, uint64_t rows) {
  uint64_t told[6] = {stream, direction, to, pitch, width, rows};
  tell(kind, told, sizeof told);
}

int kc_copy(uint64_t to, uint64_t to_pitch, uint64_t from, uint64_t from_pitch, uint64_t width,
            uint64_t rows, uint64_t stream) {
  if (kc_start()) return KC_NO_DEVICE;
  if (sticky) return sticky;
  if (!width || !rows) return KC_SUCCESS;
  if (kc_captured()) {
    kc_note_node((kc_node){.kind = KC_COPY, .to = to, .to_pitch = to_pitch, .from = from,
                           .from_pitch = from_pitch, .width = width, .rows = rows, .depth = 1});
    return KC_SUCCESS;
  }
  if (!to || !from || !is_within(to, to_pitch, width, rows) ||
      !is_within(from, from_pitch, width, rows))
    return KC_INVALID_VALUE;
  if (width == to_pitch && width == from_pitch) {
    width *= rows;
    rows = 1;
  }
  for (uint64_t row = 0; row < rows; row++)
    memmove((void *)(to + row * to_pitch), (void *)(from + row * from_pitch), width);
  uint64_t direction = (is_on_device(from) ? 2u : 0u) | (is_on_device(to) ? 1u : 0u);
  note(COPIED, stream, direction, to, to_pitch, width, rows);
  return KC_SUCCESS;
}

int kc_fill(uint64_t to, uint64_t pitch, uint32_t value, int value_bytes, uint64_t width,
            uint64_t rows, uint64_t stream) {
  if (kc_start()) return KC_NO_DEVICE;
  if (sticky) return sticky;
  if (!width || !rows) return KC_SUCCESS;
  if (kc_captured()) {
    kc_note_node((kc_node){.kind = KC_FILL, .to = to, .to_pitch = pitch, .value = value,
                           .value_bytes = value_bytes, .width = width, .rows = rows});
    return KC_SUCCESS;
  }
  if (!is_of_device(to) || !is_within(to, pitch, width, rows)) return KC_INVALID_VALUE;
  for (uint64_t row = 0; row < rows; row++) {
    char *start = (char *)(to + row * pitch);
    if (value_bytes == 1) memset(start, (int)value, width);
    else
      for (uint64_t at = 0; at < width; at += (uint64_t)value_bytes)
        memcpy(start + at, &value, (size_t)value_bytes);
  }
  note(FILLED, stream, 0, to, pitch, width, rows);
  return KC_SUCCESS;
}

// Pages of the host become pages of the reservation, where kernels reach them.
int kc_host_register(void *start, uint64_t size) {
  if (!start || !size) return KC_INVALID_VALUE;
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  char *first = (char *)((uint64_t)start / page * page);
  uint64_t whole = ((uint64_t)start + size - (uint64_t)first + page - 1) / page * page;
  uint64_t address;
  int status = kc_allocate(&address, whole, KC_HOST_MEMORY);
  if (status) return status;
  memcpy((void *)address, first, whole);
  void *mapped = mmap(first, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory_file,
                      (off_t)(address - device.base));
  if (mapped == MAP_FAILED) {
    kc_free(address);
    return KC_OUT_OF_MEMORY;
  }
  pthread_mutex_lock(&lock);
  registered_hosts =
      realloc(registered_hosts, (registered_count + 1) * sizeof *registered_hosts);
  registered_hosts[registered_count++] = (struct registered){first, whole, address};
  pthread_mutex_unlock(&lock);
  return KC_SUCCESS;
}

static struct registered *registered_at(const void *pointer) {
  for (size_t i = 0; i < registered_count; i++) {
    struct registered *one = registered_hosts + i;
    if ((char *)pointer >= one->start && (char *)pointer < one->start + one->size) return one;
  }
  return NULL;
}

int kc_host_unregister(void *start) {
  struct registered *one = registered_at(start);
  if (!one) return KC_INVALID_VALUE;
  void *held = mmap(NULL, one->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (held == MAP_FAILED) return KC_OUT_OF_MEMORY;
  memcpy(held, one->start, one->size);
  if (mremap(held, one->size, one->size, MREMAP_MAYMOVE | MREMAP_FIXED, one->start) == MAP_FAILED)
    return KC_UNKNOWN;
  uint64_t address = one->address;
  *one = registered_hosts[--registered_count];
  return kc_free(address);
}

uint64_t kc_device_address(const void *pointer) {
  struct registered *one = registered_at(pointer);
  return one ? one->address + (uint64_t)((char *)pointer - one->start) : (uint64_t)pointer;
}

// ---- arrays and textures ----

int kc_new_array(kc_array **made, kc_array shape) {
  if (!made || !shape.width || !shape.bits || !shape.channels) return KC_INVALID_VALUE;
  int is_cube = !shape.depth || shape.depth % 6 ? 0 : shape.width == shape.rows;
  if (shape.flags & KC_CUBEMAP && !is_cube) return KC_INVALID_VALUE;
  shape.pitch = shape.width * shape.bits / 8 * shape.channels;
  shape.slice = shape.pitch * (shape.rows ? shape.rows : 1);
  uint64_t bytes = shape.slice * (shape.depth ? shape.depth : 1);
  int status = kc_allocate(&shape.address, bytes, KC_DEVICE_MEMORY);
  if (status) return status;
  *made = malloc(sizeof **made);
  **made = shape;
  return KC_SUCCESS;
}

int kc_free_array(kc_array *array) {
  if (!array) return KC_SUCCESS;
  int status = kc_free(array->address);
  free(array);
  return status;
}

uint64_t kc_texel(const kc_array *array, uint64_t x, uint64_t y, uint64_t z) {
  return array->address + x + y * array->pitch + z * array->slice;
}

static uint64_t halved(uint64_t extent, unsigned level) {
  return extent && !(extent >> level) ? 1 : extent >> level;
}

static unsigned levels_of(const kc_array *shape) {
  int has_layers = (shape->flags & (KC_LAYERED | KC_CUBEMAP)) != 0;
  uint64_t longest = shape->width > shape->rows ? shape->width : shape->rows;
  if (!has_layers && shape->depth > longest) longest = shape->depth;
  unsigned levels = 0;
  while (longest >> levels) levels++;
  return levels < KC_MOST_LEVELS ? levels : KC_MOST_LEVELS;
}

int kc_new_mipmapped(kc_mipmapped **made, kc_array shape, unsigned levels) {
  if (!made || !levels) return KC_INVALID_VALUE;
  unsigned most = levels_of(&shape);
  kc_mipmapped *array = calloc(1, sizeof *array);
  int status = KC_SUCCESS, has_layers = (shape.flags & (KC_LAYERED | KC_CUBEMAP)) != 0;
  for (unsigned level = 0; level < levels && level < most && !status; level++) {
    kc_array smaller = shape;
    smaller.width = halved(shape.width, level);
    smaller.rows = halved(shape.rows, level);
    if (!has_layers) smaller.depth = halved(shape.depth, level);
    status = kc_new_array(&array->levels[level], smaller);
    if (!status) array->count++;
  }
  if (status)
    kc_free_mipmapped(array);
  else
    *made = array;
  return status;
}

int kc_free_mipmapped(kc_mipmapped *array) {
  int status = KC_SUCCESS;
  for (uint32_t level = 0; array && level < array->count; level++) {
    int freed = kc_free_array(array->levels[level]);
    if (freed) status = freed;
  }
  free(array);
  return status;
}

static kc_texture one_level(const kc_array *array) {
  return (kc_texture){
      .base = array->address,
      .pitch = array->pitch,
      .slice = array->slice,
      .x = (uint32_t)array->width,
      .y = (uint32_t)array->rows,
      .z = (uint32_t)array->depth,
      .texel_bytes = array->bits / 8 * array->channels,
      .bits = array->bits,
      .kind = array->kind,
      .levels = 1,
  };
}

kc_levels kc_texture_of(const kc_array *array) {
  return (kc_levels){.levels = {one_level(array)}, .count = 1};
}

kc_levels kc_texture_of_levels(const kc_mipmapped *array) {
  kc_levels texture = {.count = array->count};
  for (uint32_t level = 0; level < array->count; level++) {
    texture.levels[level] = one_level(array->levels[level]);
    texture.levels[level].levels = array->count - level;
  }
  return texture;
}

static int read_level_as(kc_texture *texture, const kc_reading *how) {
  static const uint8_t known[] = {KC_WRAP, KC_CLAMP, KC_MIRROR, KC_BORDER};
  int is_coloured = 0;
  for (int i = 0; i < 4; i++) is_coloured |= how->border[i] != 0;
  for (int axis = 0; axis < 3; axis++) {
    uint8_t mode = known[how->modes[axis] & 3];
    if (mode == KC_BORDER && is_coloured)
      return kc_unsupported("a border of another colour than zero");
    // Only coordinates that are normalized repeat.
    int repeats = mode == KC_WRAP || mode == KC_MIRROR;
    texture->modes[axis] = repeats && !how->is_normalized ? KC_CLAMP : mode;
  }
  texture->is_linear = how->is_linear != 0;
  texture->is_normalized = how->is_normalized;
  texture->reads_fraction = how->is_fraction && texture->kind != KC_FLOAT && texture->bits <= 16;
  texture->is_linear_between = how->is_linear_between != 0;
  texture->bias = how->bias;
  texture->least = how->least;
  texture->most = how->most;
  return KC_SUCCESS;
}

int kc_read_as(kc_levels *texture, const kc_reading *how) {
  if (texture->count > 1 && !how->is_normalized) return KC_INVALID_VALUE;
  int status = KC_SUCCESS;
  for (uint32_t level = 0; level < texture->count && !status; level++)
    status = read_level_as(&texture->levels[level], how);
  return status;
}

int kc_new_texture(uint64_t *handle, const kc_levels *texture) {
  size_t bytes = texture->count * sizeof *texture->levels;
  return ask(NEW_TEXTURE, texture->levels, bytes, handle, sizeof *handle);
}

int kc_free_texture(uint64_t handle) {
  tell(FREE_TEXTURE, &handle, sizeof handle);
  return KC_SUCCESS;
}

// ---- modules and launches ----

// The bytes of an image: a wrapper around a fat binary, one itself, a cubin, or PTX text.
static uint64_t image_bytes(const void **image) {
  const uint32_t *words = *image;
  if (words[0] == 0x466243b1) {  // the wrapper: magic, version, then where the binary is
    *image = *(const void *const *)((const char *)*image + 8);
    words = *image;
  }
  if (words[0] == 0xba55ed50) {
    uint16_t head = ((const uint16_t *)words)[3];
    return head + *(const uint64_t *)(words + 2);
  }
  if (words[0] == 0x464c457f) {  // ELF: the section headers or the program headers come last
    const char *elf = *image;
    uint64_t end = *(const uint64_t *)(elf + 40) +
                   (uint64_t) * (const uint16_t *)(elf + 58) * *(const uint16_t *)(elf + 60);
    uint64_t other = *(const uint64_t *)(elf + 32) +
                     (uint64_t) * (const uint16_t *)(elf + 54) * *(const uint16_t *)(elf + 56);
    return end > other ? end : other;
  }
  return strlen(*image);
}

void *kc_read_file(const char *name) {
  FILE *file = fopen(name, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *held = size < 0 ? NULL : calloc(1, (size_t)size + 1);
  if (held && fread(held, 1, (size_t)size, file) != (size_t)size) {
    free(held);
    held = NULL;
  }
  fclose(file);
  return held;
}

int kc_load_module(const void *image, uint32_t *module) {
  if (!image) return KC_INVALID_VALUE;
  void *answer = NULL;
  uint64_t bytes = image_bytes(&image);
  int status = call(LOAD_MODULE, NULL, 0, image, bytes, &answer, NULL);
  if (!status) memcpy(module, answer, sizeof *module);
  free(answer);
  return status;
}

int kc_get_function(uint32_t module, const char *name, kc_function **function) {
  void *answer = NULL;
  int status =
      call(GET_FUNCTION, &module, sizeof module, name, strlen(name), &answer, NULL);
  if (!status) *function = answer;
  return status;
}

int kc_get_variable(uint32_t module, const char *name, uint64_t *address, uint64_t *size) {
  void *answer = NULL;
  uint64_t found[2];
  int status = call(GET_VARIABLE, &module, sizeof module, name, strlen(name), &answer, NULL);
  if (status) return status;
  memcpy(found, answer, sizeof found);
  free(answer);
  kc_range known;
  if (kc_find(found[0], &known)) add_range((kc_range){found[0], found[1], KC_VARIABLE});
  if (address) *address = found[0];
  if (size) *size = found[1];
  return KC_SUCCESS;
}

static uint64_t parameter_bytes(const kc_function *function) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < function->parameter_count; i++) {
    uint64_t end = (uint64_t)function->parameters[i].offset + function->parameters[i].size;
    if (end > bytes) bytes = end;
  }
  return bytes;
}

void *kc_pack(const kc_function *function, void **arguments, uint64_t *bytes) {
  *bytes = parameter_bytes(function);
  char *block = calloc(1, *bytes + 1);
  for (uint32_t i = 0; block && i < function->parameter_count; i++)
    memcpy(block + function->parameters[i].offset, arguments[i], function->parameters[i].size);
  return block;
}

static const int32_t carveouts[] = {-1, 100, 0, 50};  // none, shared memory, L1 cache, both alike
static int preference_of_others = 0;

static int32_t carveout_of(const kc_function *function) {
  return function->carveout >= 0 ? function->carveout : carveouts[preference_of_others];
}

int kc_set_attribute(kc_function *function, int attribute, int value) {
  if (attribute == KC_DYNAMIC_SHARED) {
    int most = kc_device_attribute(KC_SHARED_PER_BLOCK_OPTIN) - function->shared_bytes;
    if (value < 0 || value > most) return KC_INVALID_VALUE;
    function->most_shared_bytes = value;
  }
  if (attribute == KC_CARVEOUT) {
    if (value < -1 || value > 100) return KC_INVALID_VALUE;
    function->carveout = value;
  }
  return KC_SUCCESS;
}

int kc_prefer(kc_function *function, int preference) {
  if (preference < 0 || preference > 3) return KC_INVALID_VALUE;
  if (function) function->carveout = carveouts[preference];
  else preference_of_others = preference;
  return KC_SUCCESS;
}

int kc_preference(void) { return preference_of_others; }

int kc_launch(kc_function *function, const kc_launch_shape *shape, void **arguments,
              const void *packed, uint64_t packed_bytes) {
  if (sticky) return sticky;
  uint64_t bytes = parameter_bytes(function);
  struct { uint32_t function; int32_t carveout; kc_launch_shape shape; } head =
      {function->id, carveout_of(function), *shape};
  char *block = arguments ? kc_pack(function, arguments, &bytes) : calloc(1, bytes + 1);
  if (!block) return KC_OUT_OF_MEMORY;
  if (!arguments && packed) memcpy(block, packed, packed_bytes < bytes ? packed_bytes : bytes);
  if (kc_captured()) {
    kc_note_node((kc_node){.kind = KC_LAUNCH, .function = function, .shape = *shape,
                           .packed = block, .packed_bytes = bytes});
    return KC_SUCCESS;
  }
  void *answer = NULL;
  uint64_t answer_bytes = 0;
  int status = call(LAUNCH, &head, sizeof head, block, bytes, &answer, &answer_bytes);
  // What went wrong on the device shows from the next call on, as where nobody waited for it.
  if (!status && answer_bytes >= sizeof(int32_t)) {
    memcpy(&sticky, answer, sizeof(int32_t));
    const char *printed = (const char *)answer + sizeof(int32_t);
    fwrite(printed, 1, answer_bytes - sizeof(int32_t), stdout);
  }
  free(answer);
  free(block);
  return status;
}

void kc_call_host(void (*function)(void *), void *data) {
  if (kc_captured()) kc_note_node((kc_node){.kind = KC_CALL, .call = function, .data = data});
  else function(data);
}

int kc_occupancy(kc_function *function, int threads, uint64_t shared_bytes, int *blocks) {
  struct { uint32_t function; int32_t threads; uint64_t shared_bytes; int32_t carveout; } request =
      {function->id, threads, shared_bytes, carveout_of(function)};
  return ask(OCCUPANCY, &request, sizeof request, blocks, sizeof *blocks);
}

// ---- streams and events: what was asked for, in order; the engine keeps their clocks ----

static uint64_t next_handle(void) {
  static uint64_t last = 16;  // below are the streams that always exist
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

uint64_t kc_new_stream(int is_blocking) {
  uint64_t told[2] = {next_handle(), (uint64_t)is_blocking};
  tell(NEW_STREAM, told, sizeof told);
  return told[0];
}

// A graph is done in the order in which it was captured.
void kc_stream_waits(uint64_t stream, uint64_t event) {
  if (kc_captured()) return;
  uint64_t told[2] = {stream, event};
  tell(STREAM_WAITS, told, sizeof told);
}

void kc_free_stream(uint64_t stream) { tell(FREE_STREAM, &stream, sizeof stream); }

uint64_t kc_new_event(void) { return next_handle(); }

void kc_record(uint64_t event, uint64_t stream) {
  if (kc_captured()) return;
  uint64_t told[2] = {event, stream};
  tell(RECORD, told, sizeof told);
}

int kc_synchronize(uint64_t stream) {
  if (kc_start()) return KC_NO_DEVICE;
  tell(SYNCHRONIZE, &stream, sizeof stream);
  return sticky;
}

int kc_copy_done(void) {
  uint64_t stream = 0;
  if (kc_start()) return KC_NO_DEVICE;
  tell(COPY_DONE, &stream, sizeof stream);
  return sticky;
}

int kc_synchronize_event(uint64_t event) {
  if (kc_start()) return KC_NO_DEVICE;
  tell(SYNCHRONIZE_EVENT, &event, sizeof event);
  return sticky;
}

int kc_elapsed(uint64_t start, uint64_t end, float *milliseconds) {
  uint64_t asked[2] = {start, end};
  double seconds = 0;
  int status = ask(ELAPSED, asked, sizeof asked, &seconds, sizeof seconds);
  if (!status) *milliseconds = (float)(seconds * 1e3);
  return status;
}

// ---- what errors are called ----

static const struct { int number; const char *runtime, *driver, *text; } errors[] = {
#define ERROR(number, runtime, driver, text) {number, #runtime, #driver, text},
#include "errors.h"
#undef ERROR
};

const char *kc_error_name(int error, int of_driver) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].number == error) return of_driver ? errors[i].driver : errors[i].runtime;
  return NULL;
}

const char *kc_error_text(int error) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].number == error) return errors[i].text;
  return NULL;
}
