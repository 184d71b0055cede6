// The functions of graphs that the runtime and the driver have alike, under the names that FACE
// makes: a part of runtime.c and of driver.c.

KC_API error FACE(GraphCreate)(kc_graph **made, unsigned flags) {
  (void)flags;
  if (!made) return answered(KC_INVALID_VALUE);
  *made = kc_new_graph();
  return started();
}

KC_API error FACE(GraphDestroy)(kc_graph *g) { return answered(kc_free_graph(g)); }
KC_API error FACE(GraphExecDestroy)(kc_graph *g) { return answered(kc_free_graph(g)); }

KC_API error FACE(GraphClone)(kc_graph **made, const kc_graph *g) {
  return answered(kc_clone_graph(made, g));
}

KC_API error FACE(GraphInstantiateWithFlags)(kc_graph **made, const kc_graph *g,
                                             unsigned long long flags) {
  return (void)flags, answered(kc_instantiate_graph(made, g));
}

typedef struct {
  unsigned long long flags;
  stream upload;
  kc_node *wrong;
  int result;
} instantiation;

KC_API error FACE(GraphInstantiateWithParams)(kc_graph **made, const kc_graph *g,
                                              instantiation *how) {
  how->wrong = NULL;
  error status = kc_instantiate_graph(made, g);
  how->result = status != 0;
  return answered(status);
}

KC_API error FACE(GraphUpload)(kc_graph *g, stream s) { return (void)g, (void)s, started(); }

KC_API error FACE(GraphExecGetFlags)(const kc_graph *g, unsigned long long *flags) {
  return (void)g, *flags = 0, KC_SUCCESS;
}

KC_API error FACE(GraphLaunch)(kc_graph *g, stream s) { return ended(kc_launch_graph(g, s)); }

// ---- nodes ----

KC_API error FACE(GraphAddEmptyNode)(kc_node **made, kc_graph *g, kc_node *const *before,
                                     size_t count) {
  return answered(kc_add_node(made, g, before, count, (kc_node){.kind = KC_EMPTY}, KC_SUCCESS));
}

KC_API error FACE(GraphAddChildGraphNode)(kc_node **made, kc_graph *g, kc_node *const *before,
                                          size_t count, const kc_graph *child) {
  kc_node n = {.kind = KC_CHILD};
  error status = kc_clone_graph(&n.child, child);
  return answered(kc_add_node(made, g, before, count, n, status));
}

KC_API error FACE(GraphChildGraphNodeGetGraph)(const kc_node *n, kc_graph **child) {
  if (n->kind != KC_CHILD) return answered(KC_INVALID_VALUE);
  return *child = n->child, KC_SUCCESS;
}

KC_API error FACE(GraphAddEventRecordNode)(kc_node **made, kc_graph *g, kc_node *const *before,
                                           size_t count, event e) {
  kc_node n = {.kind = KC_RECORD, .event = e};
  return answered(kc_add_node(made, g, before, count, n, KC_SUCCESS));
}

KC_API error FACE(GraphAddEventWaitNode)(kc_node **made, kc_graph *g, kc_node *const *before,
                                         size_t count, event e) {
  kc_node n = {.kind = KC_WAIT, .event = e};
  return answered(kc_add_node(made, g, before, count, n, KC_SUCCESS));
}

typedef struct { kc_host_function call; void *data; } host_node;

static kc_node host_of(const host_node *h) {
  return (kc_node){.kind = KC_CALL, .call = h->call, .data = h->data};
}

KC_API error FACE(GraphAddHostNode)(kc_node **made, kc_graph *g, kc_node *const *before,
                                    size_t count, const host_node *p) {
  return answered(kc_add_node(made, g, before, count, host_of(p), KC_SUCCESS));
}

KC_API error FACE(GraphHostNodeSetParams)(kc_node *held, const host_node *p) {
  return answered(kc_change_node(held, host_of(p), KC_SUCCESS));
}

KC_API error FACE(GraphExecHostNodeSetParams)(kc_graph *g, kc_node *held, const host_node *p) {
  return answered(kc_change_node(kc_counterpart(g, held), host_of(p), KC_SUCCESS));
}

// Memory of a graph is there from the start.
typedef struct {
  int pool[22];
  const void *access;
  size_t access_count, bytes;
  uint64_t pointer;
} memory_node;

static uint64_t memory_of_graphs[4];  // used now and at most, reserved now and at most

KC_API error FACE(GraphAddMemAllocNode)(kc_node **made, kc_graph *g, kc_node *const *before,
                                        size_t count, memory_node *p) {
  error status = kc_allocate(&p->pointer, p->bytes, KC_DEVICE_MEMORY);
  kc_node n = {.kind = KC_ALLOCATION, .to = p->pointer, .width = p->bytes};
  for (int i = 0; i < 4 && !status; i++) memory_of_graphs[i] += p->bytes;
  if (!status) kc_keep_for_graphs(p->pointer);
  return answered(kc_add_node(made, g, before, count, n, status));
}

KC_API error FACE(GraphAddMemFreeNode)(kc_node **made, kc_graph *g, kc_node *const *before,
                                       size_t count, uint64_t pointer) {
  kc_node n = {.kind = KC_RELEASE, .to = pointer};
  return answered(kc_add_node(made, g, before, count, n, KC_SUCCESS));
}

KC_API error FACE(GraphMemFreeNodeGetParams)(const kc_node *n, uint64_t *pointer) {
  return *pointer = n->to, KC_SUCCESS;
}

KC_API error FACE(DeviceGetGraphMemAttribute)(int device, unsigned attribute, uint64_t *value) {
  if (device || attribute > 3) return answered(KC_INVALID_VALUE);
  return *value = memory_of_graphs[attribute], started();
}

KC_API error FACE(DeviceSetGraphMemAttribute)(int device, unsigned attribute, uint64_t *value) {
  enum { USED_AT_MOST = 1, RESERVED_AT_MOST = 3 };
  (void)value;
  if (device || (attribute != USED_AT_MOST && attribute != RESERVED_AT_MOST))
    return answered(KC_INVALID_VALUE);
  return memory_of_graphs[attribute] = memory_of_graphs[attribute - 1], started();
}

KC_API error FACE(DeviceGraphMemTrim)(int device) { return (void)device, started(); }

// ---- what a graph is made of ----

KC_API error FACE(GraphNodeGetType)(const kc_node *n, int *type) {
  return *type = kc_kind_of_node(n), KC_SUCCESS;
}

KC_API error FACE(GraphGetNodes)(const kc_graph *g, kc_node **told, size_t *count) {
  return kc_list_nodes(told, count, g->nodes, g->count), KC_SUCCESS;
}

KC_API error FACE(GraphGetRootNodes)(const kc_graph *g, kc_node **told, size_t *count) {
  return kc_list_roots(told, count, g), KC_SUCCESS;
}

KC_API error FACE(GraphNodeFindInClone)(kc_node **found, const kc_node *original,
                                        const kc_graph *copy) {
  *found = kc_counterpart(copy, original);
  return answered(*found ? KC_SUCCESS : KC_INVALID_VALUE);
}

KC_API error FACE(GraphDestroyNode)(kc_node *n) { return answered(kc_remove_node(n)); }

KC_API error FACE(GraphNodeSetEnabled)(kc_graph *g, const kc_node *original, unsigned is_enabled) {
  kc_node *n = kc_counterpart(g, original);
  if (!n) return answered(KC_INVALID_VALUE);
  return n->is_disabled = !is_enabled, KC_SUCCESS;
}

KC_API error FACE(GraphNodeGetEnabled)(const kc_graph *g, const kc_node *original,
                                       unsigned *is_enabled) {
  const kc_node *n = kc_counterpart(g, original);
  if (!n) return answered(KC_INVALID_VALUE);
  return *is_enabled = !n->is_disabled, KC_SUCCESS;
}

// ---- capture ----

KC_API error FACE(StreamEndCapture)(stream s, kc_graph **made) {
  return (void)s, answered(kc_end_capture(made));
}

KC_API error FACE(StreamIsCapturing)(stream s, int *status) {
  return (void)s, *status = kc_captured() != NULL, KC_SUCCESS;
}

KC_API error FACE(ThreadExchangeStreamCaptureMode)(int *mode) {
  static __thread int held;
  int before = held;
  held = *mode;
  return *mode = before, KC_SUCCESS;
}

static error capture_of(int *status, uint64_t *id, kc_graph **held, kc_node ***before,
                        size_t *count) {
  kc_graph *captured = kc_captured();
  *status = captured != NULL;
  if (id) *id = captured != NULL;
  if (held) *held = captured;
  size_t known = captured && captured->count ? 1 : 0;
  if (before) *before = known ? &captured->nodes[captured->count - 1] : NULL;
  if (count) *count = known;
  return KC_SUCCESS;
}
