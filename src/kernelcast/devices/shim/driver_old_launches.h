// Launches as the first versions of the driver had them, which PyCUDA still calls: block, shared
// memory and parameters are set one after the other. A part of driver.c.

typedef struct old_launch {
  kc_function *function;
  unsigned block[3], shared;
  size_t bytes;
  char parameters[4096];
  struct old_launch *next;
} old_launch;

// What was set for a function; its block is a single thread where nobody has said.
static old_launch *old_launch_of(kc_function *f) {
  static old_launch *every;
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  old_launch *found = every;
  while (found && found->function != f) found = found->next;
  if (!found) {
    found = calloc(1, sizeof *found);
    *found = (old_launch){.function = f, .block = {1, 1, 1}, .next = every};
    every = found;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

KC_API error cuFuncSetBlockShape(kc_function *f, int x, int y, int z) {
  old_launch *own = old_launch_of(f);
  if (x < 1 || y < 1 || z < 1) return KC_INVALID_VALUE;
  own->block[0] = (unsigned)x, own->block[1] = (unsigned)y, own->block[2] = (unsigned)z;
  return KC_SUCCESS;
}

KC_API error cuFuncSetSharedSize(kc_function *f, unsigned bytes) {
  return old_launch_of(f)->shared = bytes, KC_SUCCESS;
}

KC_API error cuParamSetv(kc_function *f, int offset, const void *value, unsigned bytes) {
  old_launch *own = old_launch_of(f);
  if (offset < 0 || (size_t)offset + bytes > sizeof own->parameters) return KC_INVALID_VALUE;
  memcpy(own->parameters + offset, value, bytes);
  return KC_SUCCESS;
}

KC_API error cuParamSeti(kc_function *f, int offset, unsigned value) {
  return cuParamSetv(f, offset, &value, sizeof value);
}

KC_API error cuParamSetf(kc_function *f, int offset, float value) {
  return cuParamSetv(f, offset, &value, sizeof value);
}

KC_API error cuParamSetSize(kc_function *f, unsigned bytes) {
  old_launch *own = old_launch_of(f);
  if (bytes > sizeof own->parameters) return KC_INVALID_VALUE;
  return own->bytes = bytes, KC_SUCCESS;
}

KC_API error cuLaunchGridAsync(kc_function *f, int width, int height, stream s) {
  old_launch *own = old_launch_of(f);
  if (width < 1 || height < 1) return KC_INVALID_VALUE;
  kc_launch_shape shape = {{(unsigned)width, (unsigned)height, 1},
                           {own->block[0], own->block[1], own->block[2]}, own->shared, s, 0, {0}};
  return kc_launch(f, &shape, NULL, own->parameters, own->bytes);
}

KC_API error cuLaunchGrid(kc_function *f, int width, int height) {
  return cuLaunchGridAsync(f, width, height, 0);
}

KC_API error cuLaunch(kc_function *f) { return cuLaunchGrid(f, 1, 1); }
