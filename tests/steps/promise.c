/* SPDX-License-Identifier: MIT */
/* What docs/promise.md calls O(1), from 10 to 100 000. */
#include "steps.h"

#include <vigil/cancel.h>
#include <vigil/promise.h>

static vigil_loop *loop;

static vigil_cancel_source *source_new(void)
{
    vigil_cancel_source *source = NULL;
    must_equal(vigil_cancel_create(&source), 0);
    return source;
}

static vigil_value ignore(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    return vigil_value_none();
}

/* ---- n guards on one promise ------------------------------------------------------------------------------------- */

typedef struct guards {
    size_t n;
    bool newest_first;
    unsigned long took;
} guards;

/* On the owner: elsewhere an abort is only posted. */
static void cancel_guards(void *arg)
{
    guards *it = arg;
    const size_t n = it->n;
    vigil_promise *promise = NULL;
    must_equal(vigil_promise_create(&promise, loop), 0);
    vigil_cancel_source **sources = calloc(n, sizeof *sources);
    must(sources != NULL);
    for (size_t i = 0; i < n; i++) {
        vigil_promise *guarded = NULL;
        sources[i] = source_new();
        must_equal(vigil_promise_guard(promise, vigil_cancel_token_of(sources[i]), VIGIL_FOREVER, &guarded), 0);
        must_equal(vigil_promise_mark_handled(guarded), 0);
        vigil_promise_unref(guarded);
        must_equal(vigil_promise_then(promise, ignore, ignore, NULL, NULL), 0); /* handlers between them */
    }
    unsigned long before = atomic_load(&steps);
    for (size_t i = 0; i < n; i++)
        must_equal(vigil_cancel_abort(sources[it->newest_first ? n - 1 - i : i], -ECANCELED, NULL), 0);
    it->took = atomic_load(&steps) - before;
    for (size_t i = 0; i < n; i++)
        vigil_cancel_destroy(sources[i]);
    free(sources);
    must_equal(vigil_promise_resolve(promise, vigil_value_none()), 0);
    vigil_promise_unref(promise);
}

static double cost_of_guards(size_t n, bool newest_first)
{
    guards it = {.n = n, .newest_first = newest_first};
    must_equal(vigil_loop_create(&loop, NULL), 0);
    must_equal(vigil_loop_call(loop, cancel_guards, NULL, &it), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    return (double)it.took / (double)n;
}

static double cost_of_newest(size_t n)
{
    return cost_of_guards(n, true);
}

static double cost_of_oldest(size_t n)
{
    return cost_of_guards(n, false);
}

static void a_guard_is_cancelled_in_constant_steps(void **state)
{
    (void)state;
    must_be_constant("guards, the newest first", cost_of_newest);
    must_be_constant("guards, the oldest first", cost_of_oldest);
}

/* ---- reactions --------------------------------------------------------------------------------------------------- */

static void never(vigil_reaction *reaction, vigil_promise_state state, vigil_value *value)
{
    (void)reaction;
    (void)state;
    (void)value;
    support_fail("a reaction that was taken back ran", __FILE__, __LINE__);
}

static double cost_of_reactions(size_t n)
{
    must_equal(vigil_loop_create(&loop, NULL), 0);
    vigil_promise *promise = NULL;
    must_equal(vigil_promise_create(&promise, loop), 0);
    vigil_reaction *reactions = calloc(n, sizeof *reactions);
    must(reactions != NULL);
    for (size_t i = 0; i < n; i++) {
        reactions[i].run = never;
        must_equal(vigil_promise_reaction_add(promise, &reactions[i]), 0);
    }
    unsigned long before = atomic_load(&steps);
    for (size_t i = 0; i < n; i += 2) /* every other one, then the rest from the end */
        must_equal(vigil_promise_reaction_remove(promise, &reactions[i]), 0);
    for (size_t i = n; i-- > 0;)
        must_equal(vigil_promise_reaction_remove(promise, &reactions[i]), i % 2 == 0 ? -ENOENT : 0);
    unsigned long after = atomic_load(&steps);
    must_equal(vigil_promise_resolve(promise, vigil_value_none()), 0);
    vigil_promise_unref(promise);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    free(reactions);
    return (double)(after - before) / (double)n;
}

static void a_reaction_is_taken_back_in_constant_steps(void **state)
{
    (void)state;
    must_be_constant("reactions", cost_of_reactions);
}

/* ---- chains and fans of cancel sources --------------------------------------------------------------------------- */

static double cost_of_sources(size_t n, bool chain, bool aborted)
{
    vigil_cancel_source *first = source_new();
    vigil_cancel_source **all = calloc(n, sizeof *all);
    must(all != NULL);
    for (size_t i = 0; i < n; i++) {
        vigil_cancel_token *token = vigil_cancel_token_of(chain && i > 0 ? all[i - 1] : first);
        must_equal(vigil_cancel_create_any(&all[i], &token, 1), 0);
    }
    unsigned long before = atomic_load(&steps);
    if (aborted)
        must_equal(vigil_cancel_abort(first, -ECANCELED, NULL), 0);
    vigil_cancel_destroy(first);
    for (size_t i = 0; i < n; i++)
        vigil_cancel_destroy(all[i]);
    unsigned long after = atomic_load(&steps);
    free(all);
    return (double)(after - before) / (double)n;
}

static double cost_of_chain_abort(size_t n)
{
    return cost_of_sources(n, true, true);
}

static double cost_of_chain_drop(size_t n)
{
    return cost_of_sources(n, true, false);
}

static double cost_of_fan_abort(size_t n)
{
    return cost_of_sources(n, false, true);
}

static double cost_of_fan_drop(size_t n)
{
    return cost_of_sources(n, false, false);
}

static void a_dependant_costs_the_same_in_a_chain_and_in_a_fan_of_any_size(void **state)
{
    (void)state;
    must_be_constant("a chain that is aborted", cost_of_chain_abort);
    must_be_constant("a chain that is dropped", cost_of_chain_drop);
    must_be_constant("a fan that is aborted", cost_of_fan_abort);
    must_be_constant("a fan that is dropped", cost_of_fan_drop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_guard_is_cancelled_in_constant_steps),
        test(a_reaction_is_taken_back_in_constant_steps),
        test(a_dependant_costs_the_same_in_a_chain_and_in_a_fan_of_any_size),
    };
    return run_all(tests);
}
