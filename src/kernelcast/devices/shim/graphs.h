// Graphs: what is done again and again, captured from streams or built node by node. What a graph
// holds is done in the order in which its nodes are due, one after the other.
#ifndef KC_GRAPHS_H
#define KC_GRAPHS_H
#include "device.h"

typedef void (*kc_host_function)(void *);

typedef struct kc_graph kc_graph;

typedef struct kc_node {
  enum { KC_LAUNCH, KC_COPY, KC_FILL, KC_CALL, KC_CHILD, KC_EMPTY, KC_RECORD, KC_WAIT,
         KC_ALLOCATION, KC_RELEASE } kind;
  kc_function *function;
  kc_launch_shape shape;
  void *packed;
  uint64_t packed_bytes, to, to_pitch, to_slice, from, from_pitch, from_slice, width, rows, depth;
  uint32_t value;
  int value_bytes;
  kc_host_function call;
  void *data;
  uint64_t event;
  kc_graph *child, *owner;
  struct kc_node **before;
  size_t before_count;
  const struct kc_node *original;  // what this one was copied from
  int is_disabled, is_placed;
} kc_node;

struct kc_graph { kc_node **nodes; size_t count; };

// Capture: what this thread asks streams for is noted in a graph, not done. Every node follows all
// those before it.
KC_API int kc_begin_capture(void);
KC_API int kc_end_capture(kc_graph **made);
// The graph that is being captured, NULL where none is.
KC_API kc_graph *kc_captured(void);
KC_API void kc_note_node(kc_node n);

KC_API kc_graph *kc_new_graph(void);
KC_API int kc_free_graph(kc_graph *g);
KC_API int kc_clone_graph(kc_graph **made, const kc_graph *g);
// A copy that can be launched; INVALID_VALUE where nodes wait for each other.
KC_API int kc_instantiate_graph(kc_graph **made, const kc_graph *g);
KC_API int kc_launch_graph(kc_graph *g, uint64_t stream);
// A graph that can be launched does from now on what another one does; `result` is 0, or says what
// is not alike as the vendor's numbers do.
KC_API int kc_update_graph(kc_graph *g, const kc_graph *other, int *result);

// Puts a node behind those that it depends on; `status` is what making it answered.
KC_API int kc_add_node(kc_node **made, kc_graph *g, kc_node *const *before, size_t count, kc_node n,
                       int status);
// Lets a node do something else; its place in the graph stays.
KC_API int kc_change_node(kc_node *held, kc_node n, int status);
KC_API int kc_remove_node(kc_node *n);
KC_API void kc_join_nodes(kc_node *const *from, kc_node *const *to, size_t count);
KC_API kc_node *kc_counterpart(const kc_graph *copy, const kc_node *original);
KC_API int kc_kind_of_node(const kc_node *n);
// Tell a list of nodes, or where there is no place for it how long it is.
KC_API void kc_list_nodes(kc_node **told, size_t *count, kc_node *const *held, size_t held_count);
KC_API void kc_list_roots(kc_node **told, size_t *count, const kc_graph *g);

KC_API int kc_launch_node(kc_node *n, kc_function *f, kc_launch_shape shape, void **arguments,
                          void **extra);
KC_API kc_node kc_copy_node(uint64_t to, uint64_t from, uint64_t bytes);
KC_API kc_node kc_fill_node(uint64_t to, uint64_t pitch, uint32_t value, uint32_t value_bytes,
                            uint64_t width, uint64_t rows);

// Memory of graphs: whoever gives it back, it is there again when the graph is launched again.
KC_API void kc_keep_for_graphs(uint64_t address);
KC_API int kc_is_of_graphs(uint64_t address);
// What streams allocate and free in order; of a captured stream it is memory of its graph.
KC_API int kc_allocate_in_order(uint64_t *address, uint64_t size);
KC_API int kc_free_in_order(uint64_t address);
#endif
