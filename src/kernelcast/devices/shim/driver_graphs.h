// Graphs as the driver alone has them: a part of driver.c.
#define FACE(name) cu##name
#include "graph_calls.h"
#undef FACE

typedef struct {
  kc_function *function;
  unsigned grid[3], block[3], shared;
  void **arguments, **extra;
  kc_function *kernel;
  context context;
} kernel_node;

typedef struct {
  address to;
  size_t pitch;
  unsigned value, value_bytes;
  size_t width, rows;
} fill_node;

static error kernel_of(kc_node *n, const kernel_node *k) {
  kc_launch_shape shape = {{k->grid[0], k->grid[1], k->grid[2]},
                           {k->block[0], k->block[1], k->block[2]}, k->shared, 0, 0, {0}};
  kc_function *f = k->function ? k->function : k->kernel;
  return f ? kc_launch_node(n, f, shape, k->arguments, k->extra) : KC_INVALID_VALUE;
}

static kc_node copy_of(const copy_3d *c) {
  side from = side_of(&c->from, c->width), to = side_of(&c->to, c->width);
  return (kc_node){.kind = KC_COPY, .to = to.start, .to_pitch = to.pitch, .to_slice = to.slice,
                   .from = from.start, .from_pitch = from.pitch, .from_slice = from.slice,
                   .width = c->width, .rows = c->rows, .depth = c->depth};
}

static kc_node fill_of(const fill_node *f) {
  return kc_fill_node(f->to, f->pitch, f->value, f->value_bytes, f->width, f->rows);
}

KC_API error cuGraphAddKernelNode_v2(kc_node **made, kc_graph *g, kc_node *const *before,
                                     size_t count, const kernel_node *p) {
  kc_node n = {0};
  error status = kernel_of(&n, p);
  return kc_add_node(made, g, before, count, n, status);
}

KC_API error cuGraphKernelNodeSetParams_v2(kc_node *held, const kernel_node *p) {
  kc_node n = {0};
  error status = kernel_of(&n, p);
  return kc_change_node(held, n, status);
}

KC_API error cuGraphExecKernelNodeSetParams_v2(kc_graph *g, kc_node *held, const kernel_node *p) {
  return cuGraphKernelNodeSetParams_v2(kc_counterpart(g, held), p);
}

// Of copies and fills, how they are added, and changed in a graph and in one that can be launched.
#define NODE(kind, parameters, make)                                                            \
  KC_API error cuGraphAdd##kind##Node(kc_node **made, kc_graph *g, kc_node *const *before,      \
                                      size_t count, const parameters *p, context c) {           \
    return (void)c, kc_add_node(made, g, before, count, make(p), KC_SUCCESS);                   \
  }                                                                                             \
  KC_API error cuGraph##kind##NodeSetParams(kc_node *held, const parameters *p) {               \
    return kc_change_node(held, make(p), KC_SUCCESS);                                           \
  }                                                                                             \
  KC_API error cuGraphExec##kind##NodeSetParams(kc_graph *g, kc_node *held,                     \
                                                const parameters *p, context c) {               \
    return (void)c, kc_change_node(kc_counterpart(g, held), make(p), KC_SUCCESS);               \
  }
NODE(Memcpy, copy_3d, copy_of)
NODE(Memset, fill_node, fill_of)

KC_API error cuGraphAddDependencies_v2(kc_graph *g, kc_node *const *from, kc_node *const *to,
                                       const void *edges, size_t count) {
  return (void)g, (void)edges, kc_join_nodes(from, to, count), KC_SUCCESS;
}

KC_API error cuGraphNodeGetDependencies_v2(const kc_node *n, kc_node **told, void *edges,
                                           size_t *count) {
  return (void)edges, kc_list_nodes(told, count, n->before, n->before_count), KC_SUCCESS;
}

typedef struct { int result; kc_node *wrong, *wrong_from; } update;

KC_API error cuGraphExecUpdate_v2(kc_graph *g, const kc_graph *other, update *told) {
  *told = (update){0};
  return kc_update_graph(g, other, &told->result);
}

KC_API error cuStreamBeginCapture_v2(stream s, int mode) {
  return (void)s, (void)mode, kc_begin_capture();
}

KC_API error cuStreamGetCaptureInfo_v2(stream s, int *status, uint64_t *id, kc_graph **held,
                                       kc_node ***before, size_t *count) {
  return (void)s, capture_of(status, id, held, before, count);
}

KC_API error cuStreamGetCaptureInfo_v3(stream s, int *status, uint64_t *id, kc_graph **held,
                                       kc_node ***before, const void **edges, size_t *count) {
  if (edges) *edges = NULL;
  return (void)s, capture_of(status, id, held, before, count);
}
