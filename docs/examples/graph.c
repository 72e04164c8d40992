/* SPDX-License-Identifier: MIT */
/* Examples of vigil/graph.h, one for each function. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <vigil/graph.h>

/* vigil_graph_create: make an empty graph */
static vigil_graph *make_a_graph(void)
{
    vigil_graph *graph;
    if (vigil_graph_create(&graph) < 0)
        exit(1);
    return graph;
}

/* vigil_graph_add: add a step */
struct sum {
    int a, b, total, rounds;
};

static int make_a(void *arg)
{
    ((struct sum *)arg)->a = 20;
    return 0;
}

static int make_b(void *arg)
{
    ((struct sum *)arg)->b = 22;
    return 0;
}

static vigil_node add_step(vigil_graph *graph, const char *name,
                           int (*step)(void *arg), struct sum *sum)
{
    vigil_node node;
    if (vigil_graph_add(graph, name, step, sum, &node) < 0)
        exit(1);
    return node;
}

/* vigil_graph_edge_add: let one step wait for two others */
static int add_up(void *arg)
{
    struct sum *sum = arg;
    sum->total += sum->a + sum->b;
    return 0;
}

static vigil_node build(vigil_graph *graph, struct sum *sum)
{
    vigil_node a = add_step(graph, "a", make_a, sum);
    vigil_node b = add_step(graph, "b", make_b, sum);
    vigil_node both = add_step(graph, "a + b", add_up, sum);
    vigil_graph_edge_add(graph, a, both); /* a and b at once, */
    vigil_graph_edge_add(graph, b, both); /* then their sum */
    return both;
}

/* vigil_graph_condition_add: go round three times */
static int again(void *arg)
{
    return ++((struct sum *)arg)->rounds < 3 ? 0 : 1;
}

static void repeat(vigil_graph *graph, vigil_node step, struct sum *sum)
{
    vigil_node ask;
    vigil_graph_condition_add(graph, "again?", again, sum, &ask);
    vigil_graph_edge_add(graph, step, ask);
    vigil_graph_edge_add(graph, ask, step); /* choice 0: back */
}

/* vigil_graph_run: run it, as often as wanted */
static void run_twice(vigil_graph *graph, vigil_pool *pool)
{
    for (int i = 0; i < 2; i++)
        if (vigil_graph_run(graph, pool, NULL) < 0)
            fprintf(stderr, "a step failed\n");
}

/* vigil_graph_dot: draw it, for `dot -Tsvg` */
static void draw(const vigil_graph *graph)
{
    char text[1000];
    if (vigil_graph_dot(graph, text, sizeof text) < (int)sizeof text)
        fputs(text, stdout);
}

/* vigil_graph_destroy: free it */
static void drop_graph(vigil_graph *graph)
{
    vigil_graph_destroy(graph);
}

/* vigil_pipeline_run: read, change and write at the same time */
static int read_letter(void *arg, void **item)
{
    char **next = arg;
    if (**next == '\0')
        return 0;
    *item = (*next)++;
    return 1;
}

static int raise_letter(void *arg, void **item)
{
    char *letter = *item;
    (void)arg;
    *letter = (char)toupper((unsigned char)*letter);
    return 0;
}

static int write_letter(void *arg, void **item)
{
    fputc(*(char *)*item, arg);
    return 0;
}

static int shout(vigil_pool *pool, char *text)
{
    const vigil_stage stages[] = {
        {VIGIL_STAGE_SERIAL, read_letter, &text},
        {VIGIL_STAGE_PARALLEL, raise_letter, NULL},
        {VIGIL_STAGE_SERIAL, write_letter, stdout}, /* in order */
    };
    return vigil_pipeline_run(pool, stages, 3, NULL);
}

/* ---- all of them ---- */

int main(void)
{
    vigil_pool *pool;
    if (vigil_pool_create(&pool, NULL) < 0)
        return 1;
    struct sum sum = {0};
    vigil_graph *graph = make_a_graph();
    repeat(graph, build(graph, &sum), &sum);
    run_twice(graph, pool);
    assert(sum.total == 4 * 42);
    draw(graph);
    drop_graph(graph);
    char text[] = "in order\n";
    assert(shout(pool, text) == 0);
    vigil_pool_destroy(pool);
    return 0;
}
