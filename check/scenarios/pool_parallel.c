/* SPDX-License-Identifier: MIT */
/*
 * Parallel calls: a loop that is split lazily, a graph's countdown, a pipeline's turns. What one worker wrote plainly another
 * reads plainly: only the hand-over orders it, so a weaker order is a data race.
 */
#include "pool_common.h"

#include <vigil/graph.h>
#include <vigil/parallel.h>

/* Tokens belong to a room that is not part of this program; the scenarios use none. */
int vigil_cancel_status(const vigil_cancel_token *token)
{
    (void)token;
    return 0;
}

static bool only_a_stop(int status)
{
    return status == 0 || ((status == -ECANCELED || status == -ESHUTDOWN) && the_setup()->end == STOP_NOW);
}

/* ---- a loop ---- */

enum {
    ITERATIONS = 4
};
static int seen[ITERATIONS];

static int see_piece(void *arg, size_t begin, size_t end)
{
    (void)arg;
    for (size_t i = begin; i < end; i++)
        seen[i]++;
    return 0;
}

static int loop_in_task(counted *self)
{
    (void)self;
    const int status = vigil_parallel_for(pool, 0, ITERATIONS, see_piece, NULL, NULL);
    vgc_assert(only_a_stop(status), "only a stop ends a loop early");
    for (int i = 0; i < ITERATIONS; i++)
        vgc_assert(status == 0 ? seen[i] == 1 : seen[i] <= 1, "each iteration has run once when the loop returns");
    return 0;
}

static void split_loop(void)
{
    pool_make();
    counted_make(0)->body = loop_in_task;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

static int reports; /* plainly: reports come one after another */

static int see_progress(void *user, size_t done, size_t total)
{
    (void)user;
    vgc_assert(done <= total, "not more is done than there is");
    reports++;
    return 0;
}

static int reported_loop_in_task(counted *self)
{
    (void)self;
    vigil_parallel_options options = VIGIL_PARALLEL_OPTIONS_INIT;
    options.progress = see_progress;
    options.grain = 1;
    vgc_assert(only_a_stop(vigil_parallel_for(pool, 0, ITERATIONS, see_piece, NULL, &options)),
               "only a stop ends a loop early");
    return 0;
}

static void reported_loop(void)
{
    pool_make();
    counted_make(0)->body = reported_loop_in_task;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* ---- a graph ---- */

static int cells[4];

static int first_cell(void *arg)
{
    (void)arg;
    cells[0]++;
    return 0;
}

static int left_cell(void *arg)
{
    (void)arg;
    cells[1] += cells[0];
    return 0;
}

static int right_cell(void *arg)
{
    (void)arg;
    cells[2] += cells[0];
    return 0;
}

static int last_cell(void *arg)
{
    (void)arg;
    cells[3] += cells[1] + cells[2];
    return 0;
}

static int diamond_in_task(counted *self)
{
    (void)self;
    static int (*const parts[])(void *arg) = {first_cell, left_cell, right_cell, last_cell};
    vigil_graph *graph;
    vigil_node node;
    vgc_assert(vigil_graph_create(&graph) == 0, "a graph is made");
    for (int i = 0; i < 4; i++)
        vgc_assert(vigil_graph_add(graph, NULL, parts[i], NULL, &node) == 0, "a node is added");
    for (vigil_node i = 1; i <= 2; i++)
        vgc_assert(vigil_graph_edge_add(graph, 0, i) == 0 && vigil_graph_edge_add(graph, i, 3) == 0, "edges are added");
    const int status = vigil_graph_run(graph, pool, NULL);
    vgc_assert(only_a_stop(status), "only a stop ends a graph early");
    vgc_assert(status != 0 || (cells[0] == 1 && cells[3] == 2), "the last node saw both before it");
    vigil_graph_destroy(graph);
    return 0;
}

static void diamond(void)
{
    pool_make();
    counted_make(0)->body = diamond_in_task;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* Two tasks run one graph: one of them, or both after each other. */
static vigil_graph *shared_graph;
static int shared_runs;

static int count_run(void *arg)
{
    (void)arg;
    shared_runs++;
    return 0;
}

static int shared_graph_in_task(counted *self)
{
    (void)self;
    const int status = vigil_graph_run(shared_graph, pool, NULL);
    vgc_assert(status == -EBUSY || only_a_stop(status), "a graph that runs is busy");
    return 0;
}

static void two_run_a_graph(void)
{
    vigil_node node;
    vgc_assert(vigil_graph_create(&shared_graph) == 0, "a graph is made");
    vgc_assert(vigil_graph_add(shared_graph, NULL, count_run, NULL, &node) == 0, "a node is added");
    pool_make();
    for (int i = 0; i < 2; i++) {
        counted_make(i)->body = shared_graph_in_task;
        submit_made(i, VIGIL_NORMAL);
    }
    finish();
    vigil_graph_destroy(shared_graph);
}

/* ---- a pipeline ---- */

enum {
    ITEMS = 3
};
static int read_items, last_item;
static int items[ITEMS];

static int read_one(void *arg, void **item)
{
    (void)arg;
    if (read_items == ITEMS)
        return 0;
    items[read_items] = 1 + read_items;
    *item = &items[read_items++];
    return 1;
}

static int change_one(void *arg, void **item)
{
    (void)arg;
    *(int *)*item += 10;
    return 0;
}

static int write_one(void *arg, void **item)
{
    (void)arg;
    vgc_assert(*(int *)*item == 11 + last_item, "a serial stage gets the items in order, as they were left");
    last_item++;
    return 0;
}

static int pipeline_in_task(counted *self)
{
    (void)self;
    const vigil_stage stages[] = {{VIGIL_STAGE_SERIAL, read_one, NULL},
                                  {VIGIL_STAGE_PARALLEL, change_one, NULL},
                                  {VIGIL_STAGE_SERIAL, write_one, NULL}};
    vigil_pipeline_options options = VIGIL_PIPELINE_OPTIONS_INIT;
    options.tokens = 2;
    const int status = vigil_pipeline_run(pool, stages, 3, &options);
    vgc_assert(only_a_stop(status), "only a stop ends a pipeline early");
    vgc_assert(status != 0 || last_item == ITEMS, "every item is through when the pipeline returns");
    return 0;
}

static void pipeline(void)
{
    pool_make();
    counted_make(0)->body = pipeline_in_task;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

SCENARIOS(parallel_for, split_loop, "each iteration runs once, and the caller sees what all did",
          "2 workers, 4 iterations", 2);
SCENARIOS(parallel_progress, reported_loop, "reports of progress come one after another", "2 workers, 4 iterations", 2);
SCENARIOS(graph_shared, two_run_a_graph, "runs of one graph come one after another", "2 workers, 2 tasks run it", 2);
SCENARIOS(graph_diamond, diamond, "a node runs once, after both before it", "2 workers, 4 nodes", 2);
SCENARIOS(pipe_three, pipeline, "items pass a serial stage in order, one at a time",
          "2 workers, 3 stages, 2 tokens, 3 items", 2);
