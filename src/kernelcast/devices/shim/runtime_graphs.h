// Graphs of the runtime, captured or built node by node: a part of runtime.c. What a graph holds is
// done in the order in which its nodes are due, one after the other.

static graph *new_graph(void) { return calloc(1, sizeof(graph)); }

static void *duplicate(const void *data, uint64_t bytes) {
  return data ? memcpy(malloc(bytes + 1), data, bytes) : NULL;
}

static void free_node(node *n) {
  if (n->kind == CHILD) cudaGraphDestroy(n->child);
  free(n->packed);
  free(n->before);
  free(n);
}

KC_API error cudaGraphCreate(graph **made, unsigned flags) {
  (void)flags;
  if (!made) return answered(KC_INVALID_VALUE);
  *made = new_graph();
  return started();
}

KC_API error cudaGraphDestroy(graph *g) {
  if (!g) return answered(KC_INVALID_VALUE);
  for (size_t i = 0; i < g->count; i++) free_node(g->nodes[i]);
  free(g->nodes);
  free(g);
  return KC_SUCCESS;
}

static node *counterpart(const graph *copy, const node *original) {
  for (size_t i = 0; i < copy->count; i++)
    if (copy->nodes[i]->original == original) return copy->nodes[i];
  return NULL;
}

KC_API error cudaGraphClone(graph **made, const graph *g) {
  if (!made || !g) return answered(KC_INVALID_VALUE);
  *made = new_graph();
  for (size_t i = 0; i < g->count; i++) {
    const node *from = g->nodes[i];
    node *n = add_node(*made, *from);
    n->original = from;
    n->packed = duplicate(from->packed, from->packed_bytes);
    if (from->kind == CHILD) cudaGraphClone(&n->child, from->child);
    n->before = duplicate(from->before, from->before_count * sizeof *from->before);
  }
  for (size_t i = 0; i < g->count; i++)
    for (size_t k = 0; k < (*made)->nodes[i]->before_count; k++)
      (*made)->nodes[i]->before[k] = counterpart(*made, g->nodes[i]->before[k]);
  return KC_SUCCESS;
}

// Puts nodes in an order in which each stands behind those that it depends on; INVALID_VALUE where
// there is none.
static error sorted(graph *g) {
  node **order = calloc(g->count + 1, sizeof *order);
  size_t done = 0;
  for (size_t i = 0; i < g->count; i++) g->nodes[i]->is_placed = 0;
  for (int moved = 1; moved && done < g->count;) {
    moved = 0;
    for (size_t i = 0; i < g->count; i++) {
      node *n = g->nodes[i];
      int is_due = !n->is_placed;
      for (size_t k = 0; k < n->before_count; k++) is_due &= n->before[k]->is_placed;
      if (!is_due) continue;
      n->is_placed = moved = 1;
      order[done++] = n;
    }
  }
  error status = done == g->count ? KC_SUCCESS : KC_INVALID_VALUE;
  if (!status) memcpy(g->nodes, order, done * sizeof *order);
  free(order);
  return status;
}

KC_API error cudaGraphInstantiate(graph **made, const graph *g, unsigned long long flags) {
  (void)flags;
  error status = cudaGraphClone(made, g);
  if (!status) status = sorted(*made);
  if (status && made) cudaGraphDestroy(*made);
  return answered(status);
}

KC_API error cudaGraphInstantiateWithFlags(graph **made, const graph *g, unsigned long long flags) {
  return cudaGraphInstantiate(made, g, flags);
}

typedef struct {
  unsigned long long flags;
  stream upload;
  node *wrong;
  int result;
} instantiation;

KC_API error cudaGraphInstantiateWithParams(graph **made, const graph *g, instantiation *how) {
  how->wrong = NULL;
  error status = cudaGraphInstantiate(made, g, how->flags);
  how->result = status != 0;
  return status;
}

KC_API error cudaGraphUpload(graph *g, stream s) { return (void)g, (void)s, started(); }
KC_API error cudaGraphExecDestroy(graph *g) { return cudaGraphDestroy(g); }

KC_API error cudaGraphExecGetFlags(const graph *g, unsigned long long *flags) {
  return (void)g, *flags = 0, KC_SUCCESS;
}

static error repeated(const node *n, stream s) {
  kc_launch_shape shape = n->shape;
  shape.stream = s;
  error status = KC_SUCCESS;
  switch (n->kind) {
    case LAUNCH: return kc_launch(n->function, &shape, NULL, n->packed, n->packed_bytes);
    case COPY:
      for (uint64_t z = 0; z < n->depth && !status; z++)
        status = kc_copy(n->to + z * n->to_slice, n->to_pitch, n->from + z * n->from_slice,
                         n->from_pitch, n->width, n->rows, s);
      return status;
    case FILL: return kc_fill(n->to, n->to_pitch, n->value, n->value_bytes, n->width, n->rows, s);
    case CALL: n->call(n->data); return KC_SUCCESS;
    case CHILD: return cudaGraphLaunch(n->child, s);
    case RECORD: return kc_record(n->event, s), KC_SUCCESS;
    case WAIT: return kc_stream_waits(s, n->event), KC_SUCCESS;
    default: return KC_SUCCESS;
  }
}

KC_API error cudaGraphLaunch(graph *g, stream s) {
  error status = sorted(g);
  for (size_t i = 0; i < g->count && !status; i++)
    if (!g->nodes[i]->is_disabled) status = repeated(g->nodes[i], s);
  return ended(status);
}

// ---- nodes ----

// Puts a node behind those that it depends on; status is what making it answered.
static error added(node **made, graph *g, node *const *before, size_t count, node n, error status) {
  if (status || !made || !g) return answered(status ? status : KC_INVALID_VALUE);
  *made = add_node(g, n);
  (*made)->before = duplicate(before, count * sizeof *before);
  (*made)->before_count = before ? count : 0;
  return KC_SUCCESS;
}

// Lets a node do something else; its place in the graph stays.
static error changed(node *held, node n, error status) {
  if (status || !held) return answered(status ? status : KC_INVALID_VALUE);
  free(held->packed);
  n.before = held->before;
  n.before_count = held->before_count;
  n.original = held->original;
  n.is_disabled = held->is_disabled;
  *held = n;
  return KC_SUCCESS;
}

typedef struct {
  const void *host;
  dim3 grid, block;
  unsigned shared;
  void **arguments, **extra;
} kernel_node;

typedef struct {
  void *to;
  size_t pitch;
  unsigned value, value_bytes;
  size_t width, rows;
} fill_node;

typedef struct { host_function call; void *data; } host_node;

static error kernel_of(node *n, const kernel_node *k) {
  kc_function *f;
  error status = function_of(k->host, &f);
  if (status) return status;
  if (!k->arguments && k->extra) return kc_unsupported("a kernel node with packed arguments");
  *n = (node){.kind = LAUNCH, .function = f, .host = k->host};
  n->shape = (kc_launch_shape){{k->grid.x, k->grid.y, k->grid.z},
                               {k->block.x, k->block.y, k->block.z}, k->shared, 0, 0, {0}};
  n->packed = kc_pack(f, k->arguments, &n->packed_bytes);
  return KC_SUCCESS;
}

static error copy_of(node *n, const copy_3d *c) {
  const kc_array *array = c->from_array ? c->from_array : c->to_array;
  side from = side_of(c->from_array, c->from_position, &c->from);
  side to = side_of(c->to_array, c->to_position, &c->to);
  *n = (node){.kind = COPY, .to = (uint64_t)to.start, .to_pitch = to.pitch, .to_slice = to.slice,
              .from = (uint64_t)from.start, .from_pitch = from.pitch, .from_slice = from.slice};
  n->width = c->extent.width * (array ? array->bits / 8 * array->channels : 1);
  n->rows = c->extent.rows ? c->extent.rows : 1;
  n->depth = c->extent.depth ? c->extent.depth : 1;
  return KC_SUCCESS;
}

static node plain_copy(uint64_t to, uint64_t from, size_t n) {
  return (node){.kind = COPY, .to = to, .to_pitch = n, .from = from, .from_pitch = n, .width = n,
                .rows = 1, .depth = 1};
}

static error symbol_copy(node *n, const void *symbol, const void *host, size_t bytes,
                         size_t offset, int is_read) {
  uint64_t address, size;
  error status = variable_of(symbol, &address, &size);
  if (!status && offset + bytes > size) status = KC_INVALID_VALUE;
  address += offset;
  *n = is_read ? plain_copy((uint64_t)host, address, bytes)
               : plain_copy(address, (uint64_t)host, bytes);
  return status;
}

static error fill_of(node *n, const fill_node *f) {
  *n = (node){.kind = FILL, .to = (uint64_t)f->to, .to_pitch = f->pitch, .value = f->value,
              .value_bytes = (int)f->value_bytes, .width = f->width * f->value_bytes,
              .rows = f->rows};
  if (f->rows < 2) n->to_pitch = n->width;
  if (f->value_bytes == 1) n->value &= 255;
  return KC_SUCCESS;
}

static error host_of(node *n, const host_node *h) {
  *n = (node){.kind = CALL, .call = h->call, .data = h->data};
  return KC_SUCCESS;
}

// Of every kind of node, how it is added, and changed in a graph and in one that can be launched.
#define NODE(kind, parameters, make)                                                            \
  KC_API error cudaGraphAdd##kind##Node(node **made, graph *g, node *const *before, size_t count, \
                                        const parameters *p) {                                  \
    node n = {0};                                                                               \
    error status = make(&n, p);                                                                 \
    return added(made, g, before, count, n, status);                                            \
  }                                                                                             \
  KC_API error cudaGraph##kind##NodeSetParams(node *held, const parameters *p) {                \
    node n = {0};                                                                               \
    error status = make(&n, p);                                                                 \
    return changed(held, n, status);                                                            \
  }                                                                                             \
  KC_API error cudaGraphExec##kind##NodeSetParams(graph *g, node *held, const parameters *p) {  \
    return cudaGraph##kind##NodeSetParams(counterpart(g, held), p);                             \
  }
NODE(Kernel, kernel_node, kernel_of)
NODE(Memcpy, copy_3d, copy_of)
NODE(Memset, fill_node, fill_of)
NODE(Host, host_node, host_of)

KC_API error cudaGraphAddMemcpyNode1D(node **made, graph *g, node *const *before, size_t count,
                                      void *to, const void *from, size_t bytes, unsigned kind) {
  (void)kind;
  node n = plain_copy((uint64_t)to, (uint64_t)from, bytes);
  return added(made, g, before, count, n, KC_SUCCESS);
}

KC_API error cudaGraphMemcpyNodeSetParams1D(node *held, void *to, const void *from, size_t bytes,
                                            unsigned kind) {
  (void)kind;
  return changed(held, plain_copy((uint64_t)to, (uint64_t)from, bytes), KC_SUCCESS);
}

KC_API error cudaGraphExecMemcpyNodeSetParams1D(graph *g, node *held, void *to, const void *from,
                                                size_t bytes, unsigned kind) {
  return cudaGraphMemcpyNodeSetParams1D(counterpart(g, held), to, from, bytes, kind);
}

// The same of copies to a variable and from one; arguments stand in the order of each.
#define SYMBOL_NODE(direction, first, second, is_read, symbol, host)                               \
  KC_API error cudaGraphAddMemcpyNode##direction(node **made, graph *g, node *const *before,       \
                                                 size_t count, first, second, size_t bytes,        \
                                                 size_t offset, unsigned kind) {                   \
    node n;                                                                                        \
    (void)kind;                                                                                    \
    error status = symbol_copy(&n, symbol, host, bytes, offset, is_read);                          \
    return added(made, g, before, count, n, status);                                               \
  }                                                                                                \
  KC_API error cudaGraphMemcpyNodeSetParams##direction(node *held, first, second, size_t bytes,    \
                                                       size_t offset, unsigned kind) {             \
    node n;                                                                                        \
    (void)kind;                                                                                    \
    error status = symbol_copy(&n, symbol, host, bytes, offset, is_read);                          \
    return changed(held, n, status);                                                               \
  }                                                                                                \
  KC_API error cudaGraphExecMemcpyNodeSetParams##direction(                                        \
      graph *g, node *held, first, second, size_t bytes, size_t offset, unsigned kind) {           \
    return cudaGraphMemcpyNodeSetParams##direction(counterpart(g, held), a, b, bytes, offset,      \
                                                   kind);                                          \
  }
SYMBOL_NODE(ToSymbol, const void *a, const void *b, 0, a, b)
SYMBOL_NODE(FromSymbol, void *a, const void *b, 1, b, a)

KC_API error cudaGraphAddEmptyNode(node **made, graph *g, node *const *before, size_t count) {
  return added(made, g, before, count, (node){.kind = EMPTY}, KC_SUCCESS);
}

KC_API error cudaGraphAddChildGraphNode(node **made, graph *g, node *const *before, size_t count,
                                        const graph *child) {
  node n = {.kind = CHILD};
  error status = cudaGraphClone(&n.child, child);
  return added(made, g, before, count, n, status);
}

KC_API error cudaGraphChildGraphNodeGetGraph(const node *n, graph **child) {
  if (n->kind != CHILD) return answered(KC_INVALID_VALUE);
  return *child = n->child, KC_SUCCESS;
}

KC_API error cudaGraphAddEventRecordNode(node **made, graph *g, node *const *before, size_t count,
                                         event e) {
  return added(made, g, before, count, (node){.kind = RECORD, .event = e}, KC_SUCCESS);
}

KC_API error cudaGraphAddEventWaitNode(node **made, graph *g, node *const *before, size_t count,
                                       event e) {
  return added(made, g, before, count, (node){.kind = WAIT, .event = e}, KC_SUCCESS);
}

// Memory of a graph is there from the start.
typedef struct {
  int pool[22];
  const void *access;
  size_t access_count, bytes;
  void *pointer;
} memory_node;

static uint64_t memory_of_graphs[4];  // used now and at most, reserved now and at most

KC_API error cudaGraphAddMemAllocNode(node **made, graph *g, node *const *before, size_t count,
                                      memory_node *p) {
  error status = kc_allocate((uint64_t *)&p->pointer, p->bytes, KC_DEVICE_MEMORY);
  node n = {.kind = ALLOCATION, .to = (uint64_t)p->pointer, .width = p->bytes};
  for (int i = 0; i < 4 && !status; i++) memory_of_graphs[i] += p->bytes;
  if (!status) keep_for_graphs((uint64_t)p->pointer);
  return added(made, g, before, count, n, status);
}

KC_API error cudaGraphAddMemFreeNode(node **made, graph *g, node *const *before, size_t count,
                                     void *pointer) {
  node n = {.kind = RELEASE, .to = (uint64_t)pointer};
  return added(made, g, before, count, n, KC_SUCCESS);
}

KC_API error cudaGraphMemFreeNodeGetParams(const node *n, void **pointer) {
  return *pointer = (void *)n->to, KC_SUCCESS;
}

KC_API error cudaDeviceGetGraphMemAttribute(int device, unsigned attribute, uint64_t *value) {
  if (device || attribute > 3) return answered(KC_INVALID_VALUE);
  return *value = memory_of_graphs[attribute], started();
}

KC_API error cudaDeviceSetGraphMemAttribute(int device, unsigned attribute, uint64_t *value) {
  enum { USED_AT_MOST = 1, RESERVED_AT_MOST = 3 };
  (void)value;
  if (device || (attribute != USED_AT_MOST && attribute != RESERVED_AT_MOST))
    return answered(KC_INVALID_VALUE);
  return memory_of_graphs[attribute] = memory_of_graphs[attribute - 1], started();
}

KC_API error cudaDeviceGraphMemTrim(int device) { return (void)device, started(); }

// ---- what a graph is made of ----

KC_API error cudaGraphNodeGetType(const node *n, int *type) {
  static const int types[] = {0, 1, 2, 3, 4, 5, 7, 6, 10, 11};
  return *type = types[n->kind], KC_SUCCESS;
}

// Tells a list, or where there is no place for it how long it is.
static void list(node **told, size_t *count, node *const *held, size_t held_count) {
  if (told) {
    if (*count > held_count) *count = held_count;
    if (*count) memcpy(told, held, *count * sizeof *held);
  } else {
    *count = held_count;
  }
}

KC_API error cudaGraphGetNodes(const graph *g, node **told, size_t *count) {
  return list(told, count, g->nodes, g->count), KC_SUCCESS;
}

KC_API error cudaGraphGetRootNodes(const graph *g, node **told, size_t *count) {
  node **roots = calloc(g->count + 1, sizeof *roots);
  size_t found = 0;
  for (size_t i = 0; i < g->count; i++)
    if (!g->nodes[i]->before_count) roots[found++] = g->nodes[i];
  list(told, count, roots, found);
  free(roots);
  return KC_SUCCESS;
}

KC_API error cudaGraphNodeFindInClone(node **found, const node *original, const graph *copy) {
  *found = counterpart(copy, original);
  return answered(*found ? KC_SUCCESS : KC_INVALID_VALUE);
}

KC_API error cudaGraphDestroyNode(node *n) {
  graph *g = n->owner;
  size_t kept = 0;
  for (size_t i = 0; i < g->count; i++) {
    node *other = g->nodes[i];
    size_t left = 0;
    for (size_t k = 0; k < other->before_count; k++)
      if (other->before[k] != n) other->before[left++] = other->before[k];
    other->before_count = left;
    if (other != n) g->nodes[kept++] = other;
  }
  g->count = kept;
  free_node(n);
  return KC_SUCCESS;
}

KC_API error cudaGraphNodeSetEnabled(graph *g, const node *original, unsigned is_enabled) {
  node *n = counterpart(g, original);
  if (!n) return answered(KC_INVALID_VALUE);
  return n->is_disabled = !is_enabled, KC_SUCCESS;
}

KC_API error cudaGraphNodeGetEnabled(const graph *g, const node *original, unsigned *is_enabled) {
  const node *n = counterpart(g, original);
  if (!n) return answered(KC_INVALID_VALUE);
  return *is_enabled = !n->is_disabled, KC_SUCCESS;
}

static error joined(node *const *from, node *const *to, size_t count) {
  for (size_t i = 0; i < count; i++) {
    node *n = to[i];
    n->before = realloc(n->before, (n->before_count + 1) * sizeof *n->before);
    n->before[n->before_count++] = from[i];
  }
  return KC_SUCCESS;
}

#if RUNTIME < 13
KC_API error cudaGraphAddDependencies(graph *g, node *const *from, node *const *to, size_t count) {
  return (void)g, joined(from, to, count);
}

KC_API error cudaGraphNodeGetDependencies(const node *n, node **told, size_t *count) {
  return list(told, count, n->before, n->before_count), KC_SUCCESS;
}
#else
KC_API error cudaGraphAddDependencies(graph *g, node *const *from, node *const *to,
                                      const void *edges, size_t count) {
  return (void)g, (void)edges, joined(from, to, count);
}

KC_API error cudaGraphNodeGetDependencies(const node *n, node **told, void *edges, size_t *count) {
  return (void)edges, list(told, count, n->before, n->before_count), KC_SUCCESS;
}
#endif

typedef struct { int result; node *wrong, *wrong_from; } update;

// A graph that can be launched does from now on what another one does, if its nodes are alike.
KC_API error cudaGraphExecUpdate(graph *g, const graph *other, update *told) {
  enum { TOPOLOGY_CHANGED = 2, NODE_TYPE_CHANGED = 3, UPDATE_FAILURE = 910 };
  graph *made;
  *told = (update){0};
  error status = cudaGraphInstantiate(&made, other, 0);
  if (status) return status;
  if (made->count != g->count) told->result = TOPOLOGY_CHANGED;
  for (size_t i = 0; i < made->count && !told->result; i++)
    if (made->nodes[i]->kind != g->nodes[i]->kind) told->result = NODE_TYPE_CHANGED;
  for (size_t i = 0; i < made->count && !told->result; i++) {
    // What the program knows are the nodes that the graph was made of at first.
    const node *original = g->nodes[i]->original;
    g->nodes[i]->original = made->nodes[i]->original;
    made->nodes[i]->original = original;
  }
  if (told->result) return cudaGraphDestroy(made), answered(UPDATE_FAILURE);
  graph held = *g;
  *g = *made;
  *made = held;
  for (size_t i = 0; i < g->count; i++) g->nodes[i]->owner = g;
  return cudaGraphDestroy(made);
}

// ---- capture ----

KC_API error cudaStreamBeginCapture(stream s, int mode) {
  (void)s, (void)mode;
  if (started()) return last;
  if (captured) return answered(KC_INVALID_VALUE);
  captured = new_graph();
  return KC_SUCCESS;
}

KC_API error cudaStreamEndCapture(stream s, graph **made) {
  (void)s;
  *made = captured;
  captured = NULL;
  return answered(*made ? KC_SUCCESS : KC_INVALID_VALUE);
}

KC_API error cudaStreamIsCapturing(stream s, int *status) {
  (void)s;
  *status = captured != NULL;
  return KC_SUCCESS;
}

KC_API error cudaThreadExchangeStreamCaptureMode(int *mode) {
  static __thread int held;
  int before = held;
  held = *mode;
  return *mode = before, KC_SUCCESS;
}
