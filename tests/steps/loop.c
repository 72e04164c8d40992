/* SPDX-License-Identifier: MIT */
/* What docs/loop.md calls O(1), from 10 to 100 000. */
#include "steps.h"

#include <vigil/loop.h>

static vigil_loop *loop;

static void nothing(void *arg)
{
    (void)arg;
}

static void never(vigil_loop *in, vigil_timer timer, void *arg)
{
    (void)in;
    (void)timer;
    (void)arg;
}

static void at_end(vigil_at_end *node)
{
    (void)node;
}

static void begin(void)
{
    must_equal(vigil_loop_create(&loop, NULL), 0);
}

static void end(void)
{
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- posts -------------------------------------------------------------------------------------------------------- */

static double cost_of_calls(size_t n)
{
    begin();
    unsigned long before = atomic_load(&steps);
    for (size_t i = 0; i < n; i++)
        must_equal(vigil_loop_call(loop, nothing, NULL, NULL), 0);
    unsigned long after = atomic_load(&steps);
    end();
    return (double)(after - before) / (double)n;
}

/* From the first post to the end of the last: what a turn pays once is shared. */
static double cost_of_running_calls(size_t n)
{
    begin();
    for (size_t i = 0; i < n; i++)
        must_equal(vigil_loop_call(loop, nothing, NULL, NULL), 0);
    unsigned long before = atomic_load(&steps);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    unsigned long after = atomic_load(&steps);
    end();
    return (double)(after - before) / (double)n;
}

static double cost_of_microtasks(size_t n)
{
    begin();
    unsigned long before = atomic_load(&steps);
    for (size_t i = 0; i < n; i++)
        must_equal(vigil_loop_microtask_call(loop, nothing, NULL, NULL), 0);
    unsigned long after = atomic_load(&steps);
    end();
    return (double)(after - before) / (double)n;
}

static void a_post_costs_the_same_at_any_backlog(void **state)
{
    (void)state;
    must_be_constant("vigil_loop_call", cost_of_calls);
    must_be_constant("a call that runs", cost_of_running_calls);
    must_be_constant("vigil_loop_microtask_call", cost_of_microtasks);
}

/* ---- timers ------------------------------------------------------------------------------------------------------- */

enum {
    HOUR_S = 3600
};

static double cost_of_timers(size_t n, bool later)
{
    begin();
    vigil_timer *timers = calloc(n, sizeof *timers);
    must(timers != NULL);
    for (size_t i = 0; i < n; i++)
        must_equal(vigil_timer_start(loop, (int64_t)(HOUR_S + i % 1000) * 1000000000, never, NULL, &timers[i]), 0);
    unsigned long before = atomic_load(&steps);
    for (size_t i = 0; i < n; i++) {
        if (later)
            must_equal(vigil_timer_again(loop, timers[i], INT64_C(3) * HOUR_S * 1000000000), 0);
        else
            must_equal(vigil_timer_cancel(loop, timers[i]), 0);
    }
    unsigned long after = atomic_load(&steps);
    free(timers);
    end();
    return (double)(after - before) / (double)n;
}

static double cost_of_cancels(size_t n)
{
    return cost_of_timers(n, false);
}

static double cost_of_postponing(size_t n)
{
    return cost_of_timers(n, true);
}

static void a_timer_is_cancelled_and_postponed_in_constant_steps(void **state)
{
    (void)state;
    must_be_constant("vigil_timer_cancel", cost_of_cancels);
    must_be_constant("vigil_timer_again, to a later time", cost_of_postponing);
}

/* ---- the end ------------------------------------------------------------------------------------------------------ */

static double cost_of_nodes(size_t n)
{
    begin();
    vigil_at_end *nodes = calloc(n, sizeof *nodes);
    must(nodes != NULL);
    unsigned long before = atomic_load(&steps);
    for (size_t i = 0; i < n; i++) {
        vigil_at_end_init(&nodes[i], at_end);
        must_equal(vigil_loop_at_end_add(loop, &nodes[i]), 0);
    }
    for (size_t i = 0; i < n; i++)
        must_equal(vigil_loop_at_end_remove(loop, &nodes[i * 7919 % n]), 0);
    unsigned long after = atomic_load(&steps);
    end();
    free(nodes);
    return (double)(after - before) / (double)n;
}

static void a_node_for_the_end_costs_constant_steps(void **state)
{
    (void)state;
    must_be_constant("vigil_loop_at_end_add and _remove", cost_of_nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_post_costs_the_same_at_any_backlog),
        test(a_timer_is_cancelled_and_postponed_in_constant_steps),
        test(a_node_for_the_end_costs_constant_steps),
    };
    return run_all(tests);
}
