// Graphs as the runtime alone has them: a part of runtime.c.
#define FACE(name) cuda##name
#include "graph_calls.h"
#undef FACE

KC_API error cudaGraphInstantiate(kc_graph **made, const kc_graph *g, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(made, g, flags);
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

static error kernel_of(kc_node *n, const kernel_node *k) {
  kc_function *f;
  error status = function_of(k->host, &f);
  if (status) return status;
  kc_launch_shape shape = {{k->grid.x, k->grid.y, k->grid.z},
                           {k->block.x, k->block.y, k->block.z}, k->shared, 0, 0, {0}};
  return kc_launch_node(n, f, shape, k->arguments, k->extra);
}

static error copy_of(kc_node *n, const copy_3d *c) {
  const kc_array *array = c->from_array ? c->from_array : c->to_array;
  side from = side_of(c->from_array, c->from_position, &c->from);
  side to = side_of(c->to_array, c->to_position, &c->to);
  *n = (kc_node){.kind = KC_COPY, .to = (uint64_t)to.start, .to_pitch = to.pitch,
                 .to_slice = to.slice, .from = (uint64_t)from.start, .from_pitch = from.pitch,
                 .from_slice = from.slice};
  n->width = c->extent.width * (array ? array->bits / 8 * array->channels : 1);
  n->rows = c->extent.rows ? c->extent.rows : 1;
  n->depth = c->extent.depth ? c->extent.depth : 1;
  return KC_SUCCESS;
}

static error symbol_copy(kc_node *n, const void *symbol, const void *host, size_t bytes,
                         size_t offset, int is_read) {
  uint64_t address, size;
  error status = variable_of(symbol, &address, &size);
  if (!status && offset + bytes > size) status = KC_INVALID_VALUE;
  address += offset;
  *n = is_read ? kc_copy_node((uint64_t)host, address, bytes)
               : kc_copy_node(address, (uint64_t)host, bytes);
  return status;
}

static error fill_of(kc_node *n, const fill_node *f) {
  *n = kc_fill_node((uint64_t)f->to, f->pitch, f->value, f->value_bytes, f->width, f->rows);
  return KC_SUCCESS;
}

// Of every kind of node, how it is added, and changed in a graph and in one that can be launched.
#define NODE(kind, parameters, make)                                                              \
  KC_API error cudaGraphAdd##kind##Node(kc_node **made, kc_graph *g, kc_node *const *before,      \
                                        size_t count, const parameters *p) {                      \
    kc_node n = {0};                                                                              \
    error status = make(&n, p);                                                                   \
    return answered(kc_add_node(made, g, before, count, n, status));                              \
  }                                                                                               \
  KC_API error cudaGraph##kind##NodeSetParams(kc_node *held, const parameters *p) {               \
    kc_node n = {0};                                                                              \
    error status = make(&n, p);                                                                   \
    return answered(kc_change_node(held, n, status));                                             \
  }                                                                                               \
  KC_API error cudaGraphExec##kind##NodeSetParams(kc_graph *g, kc_node *held,                     \
                                                  const parameters *p) {                          \
    return cudaGraph##kind##NodeSetParams(kc_counterpart(g, held), p);                            \
  }
NODE(Kernel, kernel_node, kernel_of)
NODE(Memcpy, copy_3d, copy_of)
NODE(Memset, fill_node, fill_of)

KC_API error cudaGraphAddMemcpyNode1D(kc_node **made, kc_graph *g, kc_node *const *before,
                                      size_t count, void *to, const void *from, size_t bytes,
                                      unsigned kind) {
  (void)kind;
  kc_node n = kc_copy_node((uint64_t)to, (uint64_t)from, bytes);
  return answered(kc_add_node(made, g, before, count, n, KC_SUCCESS));
}

KC_API error cudaGraphMemcpyNodeSetParams1D(kc_node *held, void *to, const void *from,
                                            size_t bytes, unsigned kind) {
  (void)kind;
  kc_node n = kc_copy_node((uint64_t)to, (uint64_t)from, bytes);
  return answered(kc_change_node(held, n, KC_SUCCESS));
}

KC_API error cudaGraphExecMemcpyNodeSetParams1D(kc_graph *g, kc_node *held, void *to,
                                                const void *from, size_t bytes, unsigned kind) {
  return cudaGraphMemcpyNodeSetParams1D(kc_counterpart(g, held), to, from, bytes, kind);
}

// The same of copies to a variable and from one; arguments stand in the order of each.
#define SYMBOL_NODE(direction, first, second, is_read, symbol, host)                               \
  KC_API error cudaGraphAddMemcpyNode##direction(kc_node **made, kc_graph *g,                      \
                                                 kc_node *const *before, size_t count, first,      \
                                                 second, size_t bytes, size_t offset,              \
                                                 unsigned kind) {                                  \
    kc_node n;                                                                                     \
    (void)kind;                                                                                    \
    error status = symbol_copy(&n, symbol, host, bytes, offset, is_read);                          \
    return answered(kc_add_node(made, g, before, count, n, status));                               \
  }                                                                                                \
  KC_API error cudaGraphMemcpyNodeSetParams##direction(kc_node *held, first, second, size_t bytes, \
                                                       size_t offset, unsigned kind) {             \
    kc_node n;                                                                                     \
    (void)kind;                                                                                    \
    error status = symbol_copy(&n, symbol, host, bytes, offset, is_read);                          \
    return answered(kc_change_node(held, n, status));                                              \
  }                                                                                                \
  KC_API error cudaGraphExecMemcpyNodeSetParams##direction(                                        \
      kc_graph *g, kc_node *held, first, second, size_t bytes, size_t offset, unsigned kind) {     \
    return cudaGraphMemcpyNodeSetParams##direction(kc_counterpart(g, held), a, b, bytes, offset,   \
                                                   kind);                                          \
  }
SYMBOL_NODE(ToSymbol, const void *a, const void *b, 0, a, b)
SYMBOL_NODE(FromSymbol, void *a, const void *b, 1, b, a)

#if RUNTIME < 13
KC_API error cudaGraphAddDependencies(kc_graph *g, kc_node *const *from, kc_node *const *to,
                                      size_t count) {
  return (void)g, kc_join_nodes(from, to, count), KC_SUCCESS;
}

KC_API error cudaGraphNodeGetDependencies(const kc_node *n, kc_node **told, size_t *count) {
  return kc_list_nodes(told, count, n->before, n->before_count), KC_SUCCESS;
}
#else
KC_API error cudaGraphAddDependencies(kc_graph *g, kc_node *const *from, kc_node *const *to,
                                      const void *edges, size_t count) {
  return (void)g, (void)edges, kc_join_nodes(from, to, count), KC_SUCCESS;
}

KC_API error cudaGraphNodeGetDependencies(const kc_node *n, kc_node **told, void *edges,
                                          size_t *count) {
  return (void)edges, kc_list_nodes(told, count, n->before, n->before_count), KC_SUCCESS;
}
#endif

typedef struct { int result; kc_node *wrong, *wrong_from; } update;

KC_API error cudaGraphExecUpdate(kc_graph *g, const kc_graph *other, update *told) {
  *told = (update){0};
  return answered(kc_update_graph(g, other, &told->result));
}

KC_API error cudaStreamBeginCapture(stream s, int mode) {
  (void)s, (void)mode;
  error status = started();
  return status ? status : answered(kc_begin_capture());
}
