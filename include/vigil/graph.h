/* SPDX-License-Identifier: MIT */
/*
 * vigil/graph.h - tasks with dependencies, and pipelines, on the workers of a pool.
 *
 * A graph is built once and run as often as wanted. A node starts when all nodes before it have
 * ended. A condition chooses one of the nodes behind it by the value that it returns, so a graph
 * may branch and loop.
 *
 *     vigil_graph_add(graph, "load", load, &file, &a);
 *     vigil_graph_add(graph, "scale", scale, &file, &b);
 *     vigil_graph_edge_add(graph, a, b);
 *     vigil_graph_run(graph, pool, NULL);
 *
 * Each node is a task in the trace, under its own function; `vigil_graph_dot` draws the graph.
 *
 * A pipeline moves items through stages. A serial stage handles one item at a time, in the order
 * of the first stage; a parallel stage any number. At most `tokens` items are in flight, so memory
 * is bounded however fast the first stage is.
 */
#ifndef VIGIL_GRAPH_H
#define VIGIL_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>
#include <vigil/parallel.h>
#include <vigil/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef struct vigil_graph vigil_graph;

/* Names a node of one graph, counted from 0. */
typedef uint32_t vigil_node;

/* Make an empty graph. *graph is given back with vigil_graph_destroy. Any thread; does not block.
   0; -EINVAL; -ENOMEM. */
VIGIL_API int vigil_graph_create(vigil_graph **graph);

/* Free the graph, which must not be running. NULL is allowed. Any thread; does not block. */
VIGIL_API void vigil_graph_destroy(vigil_graph *graph);

/* Add a node that calls fn(arg). A negative status is a failure: it ends the run. name (copied;
   NULL for none) is for the drawing. Any thread, one at a time; does not block.
   0; -EINVAL; -ENOMEM; -EBUSY the graph is running. */
VIGIL_API int vigil_graph_add(vigil_graph *graph, const char *name, int (*fn)(void *arg), void *arg,
                              vigil_node *node);

/* Add a condition: what fn returns, counted from 0, names which of the nodes behind it starts,
   in the order in which the edges were added. That node starts at once, whatever else is before
   it. A value without a node starts none. Any thread, one at a time; does not block.
   0; -EINVAL; -ENOMEM; -EBUSY the graph is running. */
VIGIL_API int vigil_graph_condition_add(vigil_graph *graph, const char *name, int (*fn)(void *arg),
                                        void *arg, vigil_node *node);

/* Let `after` start when `before` has ended. From a condition: a choice, see above; a node is not
   kept waiting by it. Any thread, one at a time; does not block.
   0; -EINVAL; -ENOMEM; -EBUSY the graph is running. */
VIGIL_API int vigil_graph_edge_add(vigil_graph *graph, vigil_node before, vigil_node after);

/* Run the graph and wait for its end. It begins with every node that nothing is before. Nodes
   that a failure, the token or the end of the pool leaves out are not called. Of the options it
   uses priority and token. Any thread, one run at a time; blocks.
   0; the first failure; -ECANCELED; -EDEADLK nodes wait for each other in a circle, or none can
   begin: nothing was called; -EBUSY it is running; -EINVAL; -ENOMEM; -EAGAIN; -ESHUTDOWN;
   -ECHILD. */
VIGIL_API int vigil_graph_run(vigil_graph *graph, vigil_pool *pool,
                              const vigil_parallel_options *options);

/* The graph in the language of Graphviz, cut at `room` bytes with the final zero. Choices of
   conditions are dashed and numbered. Any thread, one at a time; does not block.
   Returns the length of the whole text; -EINVAL. */
VIGIL_API int vigil_graph_dot(const vigil_graph *graph, char *text, size_t room);

/* ---- pipelines ------------------------------------------------------------------------------- */

typedef enum vigil_stage_kind {
    VIGIL_STAGE_SERIAL = 0, /* one item at a time, in the order of the first stage */
    VIGIL_STAGE_PARALLEL = 1
} vigil_stage_kind;

/* One stage. The first makes items and is always serial: 1 and the item in *item, 0 at the end. The
   others get *item, and may change it for the next. Negative is a failure and ends the pipeline. */
typedef struct vigil_stage {
    vigil_stage_kind kind;
    int (*run)(void *arg, void **item);
    void *arg;
} vigil_stage;

typedef struct vigil_pipeline_options {
    size_t size;
    vigil_priority priority;   /* outside a task of the pool; the _INIT macro says VIGIL_NORMAL */
    size_t tokens;             /* most items in flight; 0: twice as many as workers */
    vigil_cancel_token *token; /* looked at before each stage; NULL: none */
    /* called for each item that is left over after a failure; NULL: they are forgotten */
    void (*drop)(void *user, void *item);
    void *user;
} vigil_pipeline_options;

#define VIGIL_PIPELINE_OPTIONS_INIT                                       \
    {                                                                     \
        sizeof(vigil_pipeline_options), VIGIL_NORMAL, 0, NULL, NULL, NULL \
    }

/* Run items through `count` stages until the first one has no more, and wait for the last. A stage
   may block, see vigil_blocking_begin. Any thread; blocks.
   0; the first failure; -ECANCELED; -ENOMEM; -EINVAL; -EAGAIN; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_pipeline_run(vigil_pool *pool, const vigil_stage *stages, size_t count,
                                 const vigil_pipeline_options *options);

#ifdef __cplusplus
}
#endif
#endif
