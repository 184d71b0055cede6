// Graphs, captured or built node by node: what the runtime's and the driver's functions share.
#include "graphs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static __thread kc_graph *captured;

static void *duplicate(const void *data, uint64_t bytes) {
  return data ? memcpy(malloc(bytes + 1), data, bytes) : NULL;
}

static kc_node *put(kc_graph *g, kc_node n) {
  g->nodes = realloc(g->nodes, (g->count + 1) * sizeof *g->nodes);
  n.owner = g;
  return g->nodes[g->count++] = memcpy(malloc(sizeof n), &n, sizeof n);
}

static void free_node(kc_node *n) {
  if (n->kind == KC_CHILD) kc_free_graph(n->child);
  free(n->packed);
  free(n->before);
  free(n);
}

// ---- capture ----

kc_graph *kc_captured(void) { return captured; }

int kc_begin_capture(void) {
  int status = kc_start();
  if (!status && captured) status = KC_INVALID_VALUE;
  if (!status) captured = kc_new_graph();
  return status;
}

int kc_end_capture(kc_graph **made) {
  *made = captured;
  captured = NULL;
  return *made ? KC_SUCCESS : KC_INVALID_VALUE;
}

void kc_note_node(kc_node made) {
  kc_node *before = captured->count ? captured->nodes[captured->count - 1] : NULL;
  kc_node *n = put(captured, made);
  if (!before) return;
  n->before = malloc(sizeof before);
  n->before[0] = before;
  n->before_count = 1;
}

// ---- graphs ----

kc_graph *kc_new_graph(void) { return calloc(1, sizeof(kc_graph)); }

int kc_free_graph(kc_graph *g) {
  if (!g) return KC_INVALID_VALUE;
  for (size_t i = 0; i < g->count; i++) free_node(g->nodes[i]);
  free(g->nodes);
  free(g);
  return KC_SUCCESS;
}

kc_node *kc_counterpart(const kc_graph *copy, const kc_node *original) {
  for (size_t i = 0; i < copy->count; i++)
    if (copy->nodes[i]->original == original) return copy->nodes[i];
  return NULL;
}

int kc_clone_graph(kc_graph **made, const kc_graph *g) {
  if (!made || !g) return KC_INVALID_VALUE;
  *made = kc_new_graph();
  for (size_t i = 0; i < g->count; i++) {
    const kc_node *from = g->nodes[i];
    kc_node *n = put(*made, *from);
    n->original = from;
    n->packed = duplicate(from->packed, from->packed_bytes);
    if (from->kind == KC_CHILD) kc_clone_graph(&n->child, from->child);
    n->before = duplicate(from->before, from->before_count * sizeof *from->before);
  }
  for (size_t i = 0; i < g->count; i++)
    for (size_t k = 0; k < (*made)->nodes[i]->before_count; k++)
      (*made)->nodes[i]->before[k] = kc_counterpart(*made, g->nodes[i]->before[k]);
  return KC_SUCCESS;
}

// Puts nodes in an order in which each stands behind those that it depends on; INVALID_VALUE where
// there is none.
static int sorted(kc_graph *g) {
  kc_node **order = calloc(g->count + 1, sizeof *order);
  size_t done = 0;
  for (size_t i = 0; i < g->count; i++) g->nodes[i]->is_placed = 0;
  for (int moved = 1; moved && done < g->count;) {
    moved = 0;
    for (size_t i = 0; i < g->count; i++) {
      kc_node *n = g->nodes[i];
      int is_due = !n->is_placed;
      for (size_t k = 0; k < n->before_count; k++) is_due &= n->before[k]->is_placed;
      if (!is_due) continue;
      n->is_placed = moved = 1;
      order[done++] = n;
    }
  }
  int status = done == g->count ? KC_SUCCESS : KC_INVALID_VALUE;
  if (!status) memcpy(g->nodes, order, done * sizeof *order);
  free(order);
  return status;
}

int kc_instantiate_graph(kc_graph **made, const kc_graph *g) {
  int status = kc_clone_graph(made, g);
  if (!status) status = sorted(*made);
  if (status && made && g) kc_free_graph(*made);
  return status;
}

static int repeated(const kc_node *n, uint64_t stream) {
  kc_launch_shape shape = n->shape;
  shape.stream = stream;
  int status = KC_SUCCESS;
  switch (n->kind) {
    case KC_LAUNCH: return kc_launch(n->function, &shape, NULL, n->packed, n->packed_bytes);
    case KC_COPY:
      for (uint64_t z = 0; z < n->depth && !status; z++)
        status = kc_copy(n->to + z * n->to_slice, n->to_pitch, n->from + z * n->from_slice,
                         n->from_pitch, n->width, n->rows, stream);
      return status;
    case KC_FILL:
      return kc_fill(n->to, n->to_pitch, n->value, n->value_bytes, n->width, n->rows, stream);
    case KC_CALL: return kc_call_host(n->call, n->data), KC_SUCCESS;
    case KC_CHILD: return kc_launch_graph(n->child, stream);
    case KC_RECORD: return kc_record(n->event, stream), KC_SUCCESS;
    case KC_WAIT: return kc_stream_waits(stream, n->event), KC_SUCCESS;
    default: return KC_SUCCESS;
  }
}

int kc_launch_graph(kc_graph *g, uint64_t stream) {
  int status = sorted(g);
  for (size_t i = 0; i < g->count && !status; i++)
    if (!g->nodes[i]->is_disabled) status = repeated(g->nodes[i], stream);
  return status;
}

int kc_update_graph(kc_graph *g, const kc_graph *other, int *result) {
  enum { TOPOLOGY_CHANGED = 2, NODE_TYPE_CHANGED = 3, UPDATE_FAILURE = 910 };
  kc_graph *made;
  *result = 0;
  int status = kc_instantiate_graph(&made, other);
  if (status) return status;
  if (made->count != g->count) *result = TOPOLOGY_CHANGED;
  for (size_t i = 0; i < made->count && !*result; i++)
    if (made->nodes[i]->kind != g->nodes[i]->kind) *result = NODE_TYPE_CHANGED;
  if (*result) return kc_free_graph(made), UPDATE_FAILURE;
  for (size_t i = 0; i < made->count; i++) {
    // What the program knows are the nodes that the graph was made of at first.
    const kc_node *original = g->nodes[i]->original;
    g->nodes[i]->original = made->nodes[i]->original;
    made->nodes[i]->original = original;
  }
  kc_graph held = *g;
  *g = *made;
  *made = held;
  for (size_t i = 0; i < g->count; i++) g->nodes[i]->owner = g;
  return kc_free_graph(made);
}

// ---- nodes ----

int kc_add_node(kc_node **made, kc_graph *g, kc_node *const *before, size_t count, kc_node n,
                int status) {
  if (status || !made || !g) return status ? status : KC_INVALID_VALUE;
  *made = put(g, n);
  (*made)->before = duplicate(before, count * sizeof *before);
  (*made)->before_count = before ? count : 0;
  return KC_SUCCESS;
}

int kc_change_node(kc_node *held, kc_node n, int status) {
  if (status || !held) return status ? status : KC_INVALID_VALUE;
  free(held->packed);
  n.before = held->before;
  n.before_count = held->before_count;
  n.owner = held->owner;
  n.original = held->original;
  n.is_disabled = held->is_disabled;
  *held = n;
  return KC_SUCCESS;
}

int kc_remove_node(kc_node *n) {
  kc_graph *g = n->owner;
  size_t kept = 0;
  for (size_t i = 0; i < g->count; i++) {
    kc_node *other = g->nodes[i];
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

void kc_join_nodes(kc_node *const *from, kc_node *const *to, size_t count) {
  for (size_t i = 0; i < count; i++) {
    kc_node *n = to[i];
    n->before = realloc(n->before, (n->before_count + 1) * sizeof *n->before);
    n->before[n->before_count++] = from[i];
  }
}

int kc_kind_of_node(const kc_node *n) {
  static const int kinds[] = {0, 1, 2, 3, 4, 5, 7, 6, 10, 11};
  return kinds[n->kind];
}

void kc_list_nodes(kc_node **told, size_t *count, kc_node *const *held, size_t held_count) {
  if (told) {
    if (*count > held_count) *count = held_count;
    if (*count) memcpy(told, held, *count * sizeof *held);
  } else {
    *count = held_count;
  }
}

void kc_list_roots(kc_node **told, size_t *count, const kc_graph *g) {
  kc_node **roots = calloc(g->count + 1, sizeof *roots);
  size_t found = 0;
  for (size_t i = 0; i < g->count; i++)
    if (!g->nodes[i]->before_count) roots[found++] = g->nodes[i];
  kc_list_nodes(told, count, roots, found);
  free(roots);
}

int kc_launch_node(kc_node *n, kc_function *f, kc_launch_shape shape, void **arguments,
                   void **extra) {
  if (!arguments && extra) return kc_unsupported("a kernel node with packed arguments");
  *n = (kc_node){.kind = KC_LAUNCH, .function = f, .shape = shape};
  n->packed = kc_pack(f, arguments, &n->packed_bytes);
  return KC_SUCCESS;
}

kc_node kc_copy_node(uint64_t to, uint64_t from, uint64_t bytes) {
  return (kc_node){.kind = KC_COPY, .to = to, .to_pitch = bytes, .from = from, .from_pitch = bytes,
                   .width = bytes, .rows = 1, .depth = 1};
}

kc_node kc_fill_node(uint64_t to, uint64_t pitch, uint32_t value, uint32_t value_bytes,
                     uint64_t width, uint64_t rows) {
  if (value_bytes == 1) value &= 255;
  width *= value_bytes;
  return (kc_node){.kind = KC_FILL, .to = to, .to_pitch = rows < 2 ? width : pitch, .value = value,
                   .value_bytes = (int)value_bytes, .width = width, .rows = rows};
}

// ---- memory ----

static uint64_t *of_graphs;
static size_t of_graphs_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void kc_keep_for_graphs(uint64_t address) {
  pthread_mutex_lock(&lock);
  of_graphs = realloc(of_graphs, (of_graphs_count + 1) * sizeof *of_graphs);
  of_graphs[of_graphs_count++] = address;
  pthread_mutex_unlock(&lock);
}

int kc_is_of_graphs(uint64_t address) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < of_graphs_count && !found; i++) found = of_graphs[i] == address;
  pthread_mutex_unlock(&lock);
  return found;
}

int kc_allocate_in_order(uint64_t *address, uint64_t size) {
  int status = kc_allocate(address, size, KC_DEVICE_MEMORY);
  if (status || !captured) return status;
  kc_keep_for_graphs(*address);
  kc_note_node((kc_node){.kind = KC_ALLOCATION, .to = *address, .width = size});
  return KC_SUCCESS;
}

int kc_free_in_order(uint64_t address) {
  if (captured) kc_note_node((kc_node){.kind = KC_RELEASE, .to = address});
  if (captured || kc_is_of_graphs(address)) return KC_SUCCESS;
  return kc_start() ? KC_NO_DEVICE : kc_free(address);
}
