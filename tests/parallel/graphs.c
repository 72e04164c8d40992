/* SPDX-License-Identifier: MIT */
/* vigil/graph.h: a node runs after all before it, once per run, on any number of workers. */
#include "dice.h"

#include <vigil/graph.h>

enum {
    MOST = 2000
};

struct cell {
    _Atomic unsigned runs;
    unsigned value; /* plain: ordered by the edges alone */
    struct cell *before[4];
    unsigned before_count;
    int status;
};

static int sum_before(void *arg)
{
    struct cell *cell = arg;
    unsigned value = 1;
    for (unsigned i = 0; i < cell->before_count; i++)
        value += cell->before[i]->value;
    cell->value = value;
    (void)atomic_fetch_add(&cell->runs, 1);
    if (cell->status == -EDOM)
        vigil_raise(cell->status);
    return cell->status;
}

/* A graph in which each node has up to four random ones before it. */
static vigil_graph *random_graph(struct dice *dice, struct cell *cells, unsigned count, unsigned reach)
{
    vigil_graph *graph;
    must_equal(vigil_graph_create(&graph), 0);
    for (unsigned i = 0; i < count; i++) {
        vigil_node node;
        cells[i] = (struct cell){.before_count = i == 0 ? 0 : roll(dice, 5)};
        must_equal(vigil_graph_add(graph, NULL, sum_before, &cells[i], &node), 0);
        must_equal(node, i);
        for (unsigned k = 0; k < cells[i].before_count; k++) {
            const unsigned back = 1 + roll(dice, reach);
            const unsigned from = back > i ? 0 : i - back;
            cells[i].before[k] = &cells[from];
            must_equal(vigil_graph_edge_add(graph, from, i), 0);
        }
    }
    return graph;
}

static void nodes_run_once_and_after_those_before_them(void **state)
{
    (void)state;
    struct dice dice = dice_of_run();
    struct cell *cells = calloc(MOST, sizeof *cells);
    for (unsigned workers = 1; workers <= 4; workers++) {
        vigil_pool *pool = pool_of(workers);
        for (unsigned reach = 1; reach <= 1000; reach *= 10) {
            const unsigned count = (unsigned)scaled(MOST, 200);
            vigil_graph *graph = random_graph(&dice, cells, count, reach);
            for (unsigned run = 1; run <= 5; run++) {
                must_equal(vigil_graph_run(graph, pool, NULL), 0);
                for (unsigned i = 0; i < count; i++) {
                    unsigned want = 1;
                    for (unsigned k = 0; k < cells[i].before_count; k++)
                        want += cells[i].before[k]->value;
                    must_equal(cells[i].value, want);
                    must_equal(cells[i].runs, run);
                }
            }
            vigil_graph_destroy(graph);
        }
        pool_close(pool);
    }
    free(cells);
}

/* ---- conditions ---- */

struct loop_state {
    int body, condition, left, right;
};

static int loop_body(void *arg)
{
    ((struct loop_state *)arg)->body++;
    return 0;
}

/* Back to the body ten times, then right. */
static int loop_condition(void *arg)
{
    struct loop_state *it = arg;
    return ++it->condition < 10 ? 0 : 2;
}

static int loop_left(void *arg)
{
    ((struct loop_state *)arg)->left++;
    return 0;
}

static int loop_right(void *arg)
{
    ((struct loop_state *)arg)->right++;
    return 7; /* not a condition: a success */
}

static void conditions_branch_and_loop(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    vigil_graph *graph;
    vigil_node start, body, inner, condition, left, right;
    struct loop_state it = {0};
    must_equal(vigil_graph_create(&graph), 0);
    must_equal(vigil_graph_add(graph, "start", loop_left, &it, &start), 0);
    must_equal(vigil_graph_add(graph, "body", loop_body, &it, &body), 0);
    must_equal(vigil_graph_add(graph, "inner", loop_body, &it, &inner), 0);
    must_equal(vigil_graph_condition_add(graph, "again?", loop_condition, &it, &condition), 0);
    must_equal(vigil_graph_add(graph, "left", loop_left, &it, &left), 0);
    must_equal(vigil_graph_add(graph, "right \"end\"", loop_right, &it, &right), 0);
    must_equal(vigil_graph_edge_add(graph, start, body), 0);
    must_equal(vigil_graph_edge_add(graph, body, inner), 0);
    must_equal(vigil_graph_edge_add(graph, inner, condition), 0);
    must_equal(vigil_graph_edge_add(graph, condition, body), 0);
    must_equal(vigil_graph_edge_add(graph, condition, left), 0);
    must_equal(vigil_graph_edge_add(graph, condition, right), 0);
    for (int run = 1; run <= 3; run++) {
        it.condition = 0;
        must_equal(vigil_graph_run(graph, pool, NULL), 0);
        must_equal(it.body, 20 * run);
        must_equal(it.left, run); /* the start alone */
        must_equal(it.right, run);
    }
    char text[512];
    const int length = vigil_graph_dot(graph, text, sizeof text);
    must_equal(length, strlen(text));
    must(strstr(text, "n0 -> n1;") != NULL && strstr(text, "n3 [label=\"again?\" shape=diamond]") != NULL);
    must(strstr(text, "n3 -> n5 [style=dashed label=\"2\"]") != NULL && strstr(text, "right \\\"end\\\"") != NULL);
    char cut[20];
    must_equal(vigil_graph_dot(graph, cut, sizeof cut), length);
    must_equal(strlen(cut), sizeof cut - 1);
    must_equal(vigil_graph_dot(graph, NULL, 0), length);
    vigil_graph_destroy(graph);
    pool_close(pool);
}

struct choice {
    int answer;
    int runs[3];
};

static int choose(void *arg)
{
    return ((const struct choice *)arg)->answer;
}

static int count_run(void *arg)
{
    ++*(int *)arg;
    return 0;
}

/* The last node waits for one that always runs and one that is chosen. What a run has counted down for it must not count in the
   next. */
static void a_node_left_out_waits_for_both_again(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    vigil_graph *graph;
    vigil_node always, question, chosen, other, last;
    struct choice it = {.answer = 1};
    int always_runs = 0;
    must_equal(vigil_graph_create(&graph), 0);
    must_equal(vigil_graph_add(graph, "always", count_run, &always_runs, &always), 0);
    must_equal(vigil_graph_condition_add(graph, "which?", choose, &it, &question), 0);
    must_equal(vigil_graph_add(graph, "chosen", count_run, &it.runs[0], &chosen), 0);
    must_equal(vigil_graph_add(graph, "other", count_run, &it.runs[1], &other), 0);
    must_equal(vigil_graph_add(graph, "last", count_run, &it.runs[2], &last), 0);
    must_equal(vigil_graph_edge_add(graph, question, chosen), 0);
    must_equal(vigil_graph_edge_add(graph, question, other), 0);
    must_equal(vigil_graph_edge_add(graph, always, last), 0);
    must_equal(vigil_graph_edge_add(graph, chosen, last), 0);
    for (int run = 1; run <= 3; run++) {
        must_equal(vigil_graph_run(graph, pool, NULL), 0);
        must_equal(always_runs, run);
        must_equal(it.runs[1], run);
        must_equal(it.runs[2], 0);
    }
    it.answer = 0;
    must_equal(vigil_graph_run(graph, pool, NULL), 0);
    must_equal(it.runs[0], 1);
    must_equal(it.runs[2], 1);
    vigil_graph_destroy(graph);
    pool_close(pool);
}

/* ---- ends ---- */

static void a_failure_leaves_the_rest_out(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct cell cells[100] = {0};
    vigil_graph *graph;
    must_equal(vigil_graph_create(&graph), 0);
    for (unsigned i = 0; i < 100; i++) {
        vigil_node node;
        must_equal(vigil_graph_add(graph, NULL, sum_before, &cells[i], &node), 0);
        if (i > 0)
            must_equal(vigil_graph_edge_add(graph, i - 1, i), 0);
    }
    for (int status = -EDOM; status <= -EIO; status += EDOM - EIO) {
        cells[50].status = status; /* -EDOM raises */
        must_equal(vigil_graph_run(graph, pool, NULL), status);
        must_equal(cells[51].runs, 0);
    }
    cells[50].status = 0;
    must_equal(vigil_graph_run(graph, pool, NULL), 0); /* a failed run leaves nothing behind */
    must_equal(cells[99].runs, 1);
    must_equal(cells[0].runs, 3);
    vigil_cancel_source *source;
    must_equal(vigil_cancel_create(&source), 0);
    must_equal(vigil_cancel_abort(source, -ETIMEDOUT, NULL), 0);
    vigil_parallel_options options = VIGIL_PARALLEL_OPTIONS_INIT;
    options.token = vigil_cancel_token_of(source);
    must_equal(vigil_graph_run(graph, pool, &options), -ETIMEDOUT);
    must_equal(cells[0].runs, 3);
    vigil_cancel_destroy(source);
    vigil_graph_destroy(graph);
    pool_close(pool);
}

static int add_while_running(void *arg)
{
    vigil_graph *graph = arg;
    vigil_node node;
    must_equal(vigil_graph_add(graph, NULL, add_while_running, graph, &node), -EBUSY);
    must_equal(vigil_graph_edge_add(graph, 0, 0), -EBUSY);
    must_equal(vigil_graph_run(graph, vigil_pool_current(), NULL), -EBUSY);
    return 0;
}

static void circles_and_changes_are_refused(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    vigil_graph *graph;
    struct cell cells[3] = {0};
    vigil_node node;
    must_equal(vigil_graph_create(&graph), 0);
    must_equal(vigil_graph_run(graph, pool, NULL), 0); /* empty */
    must_equal(vigil_graph_add(graph, NULL, add_while_running, graph, &node), 0);
    must_equal(vigil_graph_run(graph, pool, NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        must_equal(vigil_graph_add(graph, NULL, sum_before, &cells[i], &node), 0);
    must_equal(vigil_graph_edge_add(graph, 1, 2), 0);
    must_equal(vigil_graph_edge_add(graph, 2, 3), 0);
    must_equal(vigil_graph_edge_add(graph, 3, 1), 0);
    must_equal(vigil_graph_run(graph, pool, NULL), -EDEADLK);
    must_equal(cells[0].runs, 0);
    vigil_graph_destroy(graph);
    must_equal(vigil_graph_create(&graph), 0);
    struct loop_state it = {0};
    must_equal(vigil_graph_condition_add(graph, NULL, loop_condition, &it, &node), 0);
    must_equal(vigil_graph_edge_add(graph, 0, 0), 0);
    must_equal(vigil_graph_run(graph, pool, NULL), -EDEADLK); /* nothing can begin */
    vigil_graph_destroy(graph);
    vigil_graph_destroy(NULL);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(nodes_run_once_and_after_those_before_them),
        test(conditions_branch_and_loop),
        test(a_node_left_out_waits_for_both_again),
        test(a_failure_leaves_the_rest_out),
        test(circles_and_changes_are_refused),
    };
    return run_all(tests);
}
