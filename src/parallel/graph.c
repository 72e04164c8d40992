/* SPDX-License-Identifier: MIT */
/*
 * graph.c - tasks with dependencies. README.md, "Graphs".
 *
 * Each node counts down the nodes before it. Who brings a count to zero runs that node: the first one itself, after its
 * own, and the others as spawns. So a chain costs one atomic subtraction per node and no queue.
 */
#include "call.h"

#include "base/why.h"
#include "pool/group.h"
#include "pool/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <vigil/graph.h>

#define NO_EDGE UINT32_MAX
#define NO_NODE UINT32_MAX

typedef struct graph_node {
    vigil_task task; /* first */
    vigil_graph *graph;
    int (*fn)(void *arg);
    void *arg;
    char *name;
    bool condition;
    uint32_t before;                /* nodes it waits for */
    uint32_t choices;               /* conditions that may start it */
    uint32_t first_edge, last_edge; /* of those behind it */
    uint32_t behind;                /* how many */
    uint32_t number;
} graph_node;

/* What a run needs of a node, side by side: a node that was scattered over the heap costs more than to run it. */
typedef struct graph_step {
    int (*fn)(void *arg);
    void *arg;
    uint32_t next; /* in graph->order: the first of those behind it */
    uint32_t behind;
    uint32_t before;
    bool condition;
} graph_step;

typedef struct graph_edge {
    uint32_t to;
    uint32_t next; /* of the same node, in the order of the edges */
} graph_edge;

struct vigil_graph {
    graph_node **nodes; /* each by itself: their addresses stay */
    uint32_t node_count, node_room;
    graph_edge *edges;
    uint32_t edge_count, edge_room;
    uint32_t *order;           /* the nodes behind each node, one node after the other; NULL: to be laid out */
    graph_step *steps;         /* as `order` */
    _Atomic uint32_t *waiting; /* as `order`: of a node's `before`, not ended in this run */
    uint32_t *starts;          /* as `order`: the nodes that nothing is before */
    uint32_t start_count;
    bool conditional; /* as `order`: it has conditions, so nodes may be left out */
    bool set;         /* each count in `waiting` is what a run begins with */
    _Atomic uint32_t running;
    vg_parallel call;  /* of the run */
    vigil_group group; /* likewise */
};

int vigil_graph_create(vigil_graph **graph)
{
    if (graph == NULL)
        return VG_WHY_NULL("graph");
    vigil_graph *made = calloc(1, sizeof *made);
    if (made == NULL)
        return vg_why(-ENOMEM, "no memory for a graph");
    *graph = made;
    return 0;
}

static void forget_layout(vigil_graph *graph)
{
    free(graph->order);
    free(graph->steps);
    free((void *)graph->waiting);
    free(graph->starts);
    graph->order = NULL;
    graph->steps = NULL;
    graph->waiting = NULL;
    graph->starts = NULL;
}

void vigil_graph_destroy(vigil_graph *graph)
{
    if (graph == NULL)
        return;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        free(graph->nodes[i]->name);
        free(graph->nodes[i]);
    }
    free(graph->nodes);
    free(graph->edges);
    forget_layout(graph);
    free(graph);
}

/* May it be changed? What was laid out is no longer right then. */
static int change_graph(vigil_graph *graph)
{
    if (graph == NULL)
        return VG_WHY_NULL("graph");
    if (atomic_load_explicit(&graph->running, memory_order_relaxed) != 0) /* a misuse, reported if it is seen */
        return vg_why(-EBUSY, "graph is running");
    forget_layout(graph);
    return 0;
}

/* Room for one more element. */
static int grow_table(void **table, uint32_t count, uint32_t *room, size_t bytes)
{
    if (count < *room)
        return 0;
    const uint32_t more = *room == 0 ? 16 : 2 * *room;
    void *larger = more < UINT32_MAX / 2 ? realloc(*table, more * bytes) : NULL;
    if (larger == NULL)
        return vg_why(-ENOMEM, "no memory for a larger graph");
    *table = larger;
    *room = more;
    return 0;
}

static int run_from_node(vigil_task *task);

static int graph_add_node(vigil_graph *graph, const char *name, int (*fn)(void *arg), void *arg, bool condition,
                          vigil_node *node)
{
    int error = change_graph(graph);
    if (error != 0)
        return error;
    if (fn == NULL || node == NULL)
        return fn == NULL ? VG_WHY_NULL("fn") : VG_WHY_NULL("node");
    error = grow_table((void **)&graph->nodes, graph->node_count, &graph->node_room, sizeof *graph->nodes);
    if (error != 0)
        return error;
    graph_node *made = calloc(1, sizeof *made);
    char *copy = name != NULL ? strdup(name) : NULL;
    if (made == NULL || (name != NULL && copy == NULL)) {
        free(made);
        free(copy);
        return vg_why(-ENOMEM, "no memory for a node");
    }
    vigil_task_init(&made->task, run_from_node, NULL);
    made->graph = graph;
    made->fn = fn;
    made->arg = arg;
    made->name = copy;
    made->condition = condition;
    made->first_edge = made->last_edge = NO_EDGE;
    *node = made->number = graph->node_count;
    graph->nodes[graph->node_count++] = made;
    return 0;
}

int vigil_graph_add(vigil_graph *graph, const char *name, int (*fn)(void *arg), void *arg, vigil_node *node)
{
    return graph_add_node(graph, name, fn, arg, false, node);
}

int vigil_graph_condition_add(vigil_graph *graph, const char *name, int (*fn)(void *arg), void *arg, vigil_node *node)
{
    return graph_add_node(graph, name, fn, arg, true, node);
}

int vigil_graph_edge_add(vigil_graph *graph, vigil_node before, vigil_node after)
{
    int error = change_graph(graph);
    if (error != 0)
        return error;
    if (before >= graph->node_count || after >= graph->node_count)
        return vg_why_say(-EINVAL, "%s is %u; the graph has %u nodes", before >= graph->node_count ? "before" : "after",
                          before >= graph->node_count ? before : after, graph->node_count);
    error = grow_table((void **)&graph->edges, graph->edge_count, &graph->edge_room, sizeof *graph->edges);
    if (error != 0)
        return error;
    graph_node *from = graph->nodes[before];
    graph->edges[graph->edge_count] = (graph_edge){.to = after, .next = NO_EDGE};
    if (from->first_edge == NO_EDGE)
        from->first_edge = graph->edge_count;
    else
        graph->edges[from->last_edge].next = graph->edge_count;
    from->last_edge = graph->edge_count++;
    from->behind++;
    if (from->condition)
        graph->nodes[after]->choices++;
    else
        graph->nodes[after]->before++;
    return 0;
}

/* ---- before a run ---- */

static bool begins(const graph_node *node)
{
    return node->before == 0 && node->choices == 0;
}

/* Every node must be within reach: count down without running. Uses `waiting`, which a run sets anew. */
static int find_circles(vigil_graph *graph, uint32_t *list)
{
    uint32_t ready = 0;
    bool any = false;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const graph_node *node = graph->nodes[i];
        atomic_store_explicit(&graph->waiting[i], node->before, memory_order_relaxed); /* nothing runs yet */
        if (node->before == 0)
            list[ready++] = i;
        any = any || begins(node);
    }
    for (uint32_t at = 0; at < ready; at++) {
        const graph_step *step = &graph->steps[list[at]];
        for (uint32_t i = 0; i < step->behind && !step->condition; i++) {
            const uint32_t other = graph->order[step->next + i];
            _Atomic uint32_t *waiting = &graph->waiting[other];
            const uint32_t left = atomic_load_explicit(waiting, memory_order_relaxed) - 1; /* nothing runs yet */
            atomic_store_explicit(waiting, left, memory_order_relaxed);
            if (left == 0)
                list[ready++] = other;
        }
    }
    if (ready == graph->node_count && (any || graph->node_count == 0))
        return 0;
    return vg_why(-EDEADLK, ready == graph->node_count ? "graph has no node that nothing is before"
                                                       : "graph has nodes that wait for each other in a circle");
}

static void lay_out_steps(vigil_graph *graph)
{
    uint32_t at = 0;
    graph->conditional = false;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const graph_node *node = graph->nodes[i];
        graph->steps[i] = (graph_step){.fn = node->fn,
                                       .arg = node->arg,
                                       .next = at,
                                       .behind = node->behind,
                                       .before = node->before,
                                       .condition = node->condition};
        for (uint32_t edge = node->first_edge; edge != NO_EDGE; edge = graph->edges[edge].next)
            graph->order[at++] = graph->edges[edge].to;
        graph->conditional = graph->conditional || node->condition;
    }
}

static void lay_out_starts(vigil_graph *graph)
{
    graph->start_count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (begins(graph->nodes[i]))
            graph->starts[graph->start_count++] = i;
}

static int lay_out(vigil_graph *graph)
{
    if (graph->order != NULL)
        return 0;
    graph->order = calloc(graph->edge_count + 1, sizeof *graph->order);
    graph->steps = malloc((graph->node_count + 1) * sizeof *graph->steps);
    graph->waiting = calloc(graph->node_count + 1, sizeof *graph->waiting);
    graph->starts = calloc(graph->node_count + 1, sizeof *graph->starts);
    graph->set = false;
    int error = 0;
    if (graph->order == NULL || graph->steps == NULL || graph->waiting == NULL || graph->starts == NULL) {
        error = vg_why(-ENOMEM, "no memory to lay out a graph");
    } else {
        lay_out_steps(graph);
        error = find_circles(graph, graph->starts);
        lay_out_starts(graph);
    }
    if (error != 0)
        forget_layout(graph);
    return error;
}

/* ---- a run ---- */

static void start_node(vigil_graph *graph, uint32_t number)
{
    const int refused = vigil_group_spawn(&graph->group, &graph->nodes[number]->task);
    if (__builtin_expect(refused != 0, 0))
        vg_parallel_fail(&graph->call, refused);
}

/* The node has ended: who can start now? One is returned, or NO_NODE; the others are spawned. */
static uint32_t release_behind(vigil_graph *graph, uint32_t number, int status)
{
    const graph_step *step = &graph->steps[number];
    uint32_t mine = NO_NODE;
    /* For a loop that comes here again: ordered by C1 of those behind. */
    atomic_store_explicit(&graph->waiting[number], step->before, memory_order_relaxed);
    if (step->condition)
        return (uint32_t)status < step->behind ? graph->order[step->next + (uint32_t)status] : NO_NODE;
    for (uint32_t i = 0; i < step->behind; i++) {
        const uint32_t other = graph->order[step->next + i];
        /* C1 release: what this node did comes before the other starts; acquire: so does what the rest of those before
           it did. Pairs with itself on their threads. */
        if (atomic_fetch_sub_explicit(&graph->waiting[other], 1, memory_order_acq_rel) != 1)
            continue;
        if (mine == NO_NODE)
            mine = other;
        else
            start_node(graph, other);
    }
    return mine;
}

/* Nodes that one task runs one after the other. In memory, because a raise leaves the function that changes it. */
typedef struct node_chain {
    vigil_graph *graph;
    vg_worker *worker;
    uint32_t number; /* the node that runs; NO_NODE: the end */
    unsigned blocking;
    bool traced;
    vg_trace_frame note; /* of the node that runs */
} node_chain;

static inline const graph_step *begin_node(node_chain *chain)
{
    const graph_step *step = &chain->graph->steps[chain->number];
    if (chain->traced)
        vg_trace_begin(chain->worker, &chain->note, &chain->graph->nodes[chain->number]->task,
                       (void *)(uintptr_t)step->fn, true);
    return step;
}

/* The node returned or raised `status`; go on to the next. */
static inline void end_node(node_chain *chain, int status)
{
    vg_worker *worker = chain->worker;
    vigil_graph *graph = chain->graph;
    while (__builtin_expect(worker->blocking > chain->blocking, 0))
        (void)vigil_blocking_end(); /* left by vigil_raise, or forgotten */
    if (chain->traced)
        vg_trace_inner_end(worker, &chain->note, worker->queue->class_, status);
    if (__builtin_expect(status < 0, 0)) {
        vg_parallel_fail(&graph->call, status);
        chain->number = NO_NODE;
        return;
    }
    chain->number = release_behind(graph, chain->number, status);
    if (__builtin_expect(vg_parallel_stopped(&graph->call), 0))
        chain->number = NO_NODE;
}

static int run_chain(void *arg)
{
    node_chain *chain = arg;
    while (chain->number != NO_NODE) {
        const graph_step *step = begin_node(chain);
        end_node(chain, step->fn(step->arg));
    }
    return 0;
}

/* One landing place serves all nodes of the chain. A raise ends its node; the others run in a new call. */
static int run_from_node(vigil_task *task)
{
    const graph_node *node = (const graph_node *)(const void *)task;
    vg_worker *worker = vg_worker_of(node->graph->call.pool);
    node_chain chain = {.graph = node->graph,
                        .worker = worker,
                        .number = vg_parallel_stopped(&node->graph->call) ? NO_NODE : node->number,
                        .blocking = worker->blocking,
                        .traced = worker->level == VIGIL_RECORD_EVENTS};
    vg_raise_frame frame;
    worker->depth++; /* nodes are nested in this task */
    vg_raise_push(&frame);
    while (chain.number != NO_NODE) {
        bool raised;
        const int status = vg_raise_call(&frame, run_chain, &chain, &raised);
        if (raised)
            end_node(&chain, status);
    }
    vg_raise_pop(&frame);
    worker->depth--;
    return 0;
}

/* A node sets its count anew when it has ended: only a run that left nodes out leaves other counts. */
static void set_counts(vigil_graph *graph)
{
    for (uint32_t i = 0; i < graph->node_count && !graph->set; i++)
        atomic_store_explicit(&graph->waiting[i], graph->steps[i].before,
                              memory_order_relaxed); /* published by the spawns */
    graph->set = false;
}

static int run_whole_graph(void *arg)
{
    vigil_graph *graph = arg;
    vg_group_prepare(&graph->group, graph->call.pool, vg_worker_of(graph->call.pool), 0);
    set_counts(graph);
    for (uint32_t i = graph->start_count; i-- > 0;) /* the deque gives the newest first */
        start_node(graph, graph->starts[i]);
    const int status = vigil_group_wait(&graph->group);
    if (status != 0) /* the pool was closed */
        vg_parallel_fail(&graph->call, status);
    return 0;
}

int vigil_graph_run(vigil_graph *graph, vigil_pool *pool, const vigil_parallel_options *options)
{
    if (graph == NULL)
        return VG_WHY_NULL("graph");
    vg_parallel call;
    int error = vg_parallel_begin(&call, pool, options);
    if (error != 0)
        return error;
    /* C2 acquire: the last run is over; pairs with C3 */
    if (atomic_exchange_explicit(&graph->running, 1, memory_order_acquire) != 0)
        return vg_why(-EBUSY, "graph is running");
    error = lay_out(graph);
    if (error == 0) {
        memcpy(&graph->call, &call, sizeof call); /* nobody else has either */
        error = vg_parallel_inside(&graph->call, run_whole_graph, graph);
    }
    if (error == 0)
        error = atomic_load_explicit(&graph->call.failed, memory_order_relaxed); /* as in vg_parallel_fail */
    graph->set = error == 0 && !graph->conditional;
    atomic_store_explicit(&graph->running, 0, memory_order_release); /* C3 */
    return error;
}

/* ---- a drawing ---- */

typedef struct dot_text {
    char *text;
    size_t room;
    size_t length;
} dot_text;

static void dot_put(dot_text *dot, const char *text)
{
    for (; *text != '\0'; text++, dot->length++)
        if (dot->length + 1 < dot->room)
            dot->text[dot->length] = *text;
}

static void dot_number(dot_text *dot, uint32_t number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u", number);
    dot_put(dot, text);
}

static void dot_label(dot_text *dot, const graph_node *node, uint32_t number)
{
    dot_put(dot, "  n");
    dot_number(dot, number);
    dot_put(dot, " [label=\"");
    for (const char *at = node->name; at != NULL && *at != '\0'; at++) {
        const char one[] = {*at, '\0'};
        dot_put(dot, *at == '"' ? "\\\"" : *at == '\\' ? "\\\\" : *at == '\n' ? "\\n" : one);
    }
    if (node->name == NULL)
        dot_number(dot, number);
    dot_put(dot, node->condition ? "\" shape=diamond];\n" : "\"];\n");
}

int vigil_graph_dot(const vigil_graph *graph, char *text, size_t room)
{
    if (graph == NULL || (text == NULL && room > 0))
        return graph == NULL ? VG_WHY_NULL("graph") : VG_WHY_NULL("text");
    dot_text dot = {.text = text, .room = room};
    dot_put(&dot, "digraph {\n");
    for (uint32_t i = 0; i < graph->node_count; i++)
        dot_label(&dot, graph->nodes[i], i);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const graph_node *node = graph->nodes[i];
        uint32_t choice = 0;
        for (uint32_t edge = node->first_edge; edge != NO_EDGE; edge = graph->edges[edge].next, choice++) {
            dot_put(&dot, "  n");
            dot_number(&dot, i);
            dot_put(&dot, " -> n");
            dot_number(&dot, graph->edges[edge].to);
            if (node->condition) {
                dot_put(&dot, " [style=dashed label=\"");
                dot_number(&dot, choice);
                dot_put(&dot, "\"]");
            }
            dot_put(&dot, ";\n");
        }
    }
    dot_put(&dot, "}\n");
    if (room > 0)
        text[dot.length < room ? dot.length : room - 1] = '\0';
    return (int)dot.length;
}
