/* SPDX-License-Identifier: MIT */
/* L10: Rejections that nobody handles: reported once, at the end of the checkpoint, with where the promise was made. The order table has
   the moments; here is what is told, and to whom not. */
#include "promise_test.h"

static struct {
    int unhandled, handled;
    int status;
    const void *created;
    unsigned trace_count;
    vigil_promise *promise;
} told;

static void on_unhandled(void *user, const vigil_rejection *rejection)
{
    must(user == &told);
    must(rejection->size == sizeof *rejection);
    told.unhandled++;
    told.status = rejection->reason.status;
    told.created = rejection->created;
    told.trace_count = rejection->trace_count;
    told.promise = rejection->promise;
    must_equal(vigil_promise_state_get(rejection->promise), VIGIL_REJECTED);
}

static void on_handled(void *user, const vigil_rejection *rejection)
{
    must(user == &told);
    must(rejection->promise == told.promise);
    told.handled++;
}

static void hooks_on(void)
{
    memset(&told, 0, sizeof told);
    vigil_promise_hooks hooks = {.size = sizeof hooks, .unhandled = on_unhandled, .handled = on_handled, .user = &told};
    must_equal(vigil_promise_hooks_set(loop, &hooks), 0);
}

#define on_loop(body) on_loop_with(body, NULL)

/* A function whose address range the report must name. */
static __attribute__((noinline)) vigil_promise *made_here(void)
{
    vigil_promise *p = pending();
    must(p != NULL); /* so that it is no tail call */
    return p;
}

static void place_body(void *arg)
{
    (void)arg;
    hooks_on();
    vigil_promise *p = made_here();
    reject(p, -EPROTO);
    drop(p);
}

static void a_rejection_names_its_reason_and_where_its_promise_was_made(void **state)
{
    (void)state;
    on_loop(place_body);
    must_equal(told.unhandled, 1);
    must_equal(told.status, -EPROTO);
    must(told.created != NULL);
#if !defined(NDEBUG) && __has_include(<execinfo.h>)
    must(told.trace_count > 1); /* in debug builds the whole stack, where the C library can walk it */
#endif
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static void twice_body(void *arg)
{
    hooks_on();
    vigil_promise *p = resolved(vigil_value_error(-EIO));
    (void)arg;
    must_equal(vigil_loop_immediate_call(loop, do_nothing, NULL, NULL), 0); /* more checkpoints */
    drop(p);
}

static void a_rejection_is_reported_once(void **state)
{
    (void)state;
    on_loop(twice_body);
    must_equal(told.unhandled, 1);
    must_equal(told.handled, 0);
}

static void many_body(void *arg)
{
    (void)arg;
    hooks_on();
    for (int i = 0; i < 5; i++)
        drop(resolved(vigil_value_error(-EIO)));
    vigil_promise *p = resolved(vigil_value_error(-EPROTO));
    for (int i = 0; i < 3; i++)
        drop(derive(p, must_not_run, NULL, NULL)); /* three last links */
    drop(p);
    must_equal(promise_stats().unhandled, 0);
}

static void every_last_link_reports(void **state)
{
    (void)state;
    on_loop(many_body);
    must_equal(told.unhandled, 8);
}

static void silent_body(void *arg)
{
    (void)arg;
    hooks_on();
    vigil_promise *p = resolved(vigil_value_error(-EIO));
    must_equal(vigil_promise_mark_handled(p), 0);
    drop(p);
    p = resolved(vigil_value_error(-EIO));
    vigil_value reason;
    must_equal(vigil_promise_take(p, &reason), VIGIL_REJECTED); /* who takes the reason has seen it */
    drop(p);
    p = resolved(vigil_value_error(-EIO));
    vigil_promise *all = NULL;
    must_equal(vigil_promise_all_settled(loop, &p, 1, &all), 0);
    drop(all);
    drop(p);
}

static void marked_taken_or_combined_is_handled(void **state)
{
    (void)state;
    on_loop(silent_body);
    must_equal(told.unhandled, 0);
}

static vigil_promise *kept;

static void handle_late(void *arg)
{
    (void)arg;
    must_equal(told.unhandled, 1);
    then(kept, NULL, say_value, "late");
    then(kept, NULL, say_value, "again");
    must_equal(told.handled, 0);
    drop(kept);
}

static void late_body(void *arg)
{
    (void)arg;
    hooks_on();
    kept = resolved(vigil_value_error(-EIO));
    must_equal(vigil_loop_immediate_call(loop, handle_late, NULL, NULL), 0);
}

static void handled_late_is_reported_once(void **state)
{
    (void)state;
    on_loop(late_body);
    must_have_said("late!-5 again!-5");
    must_equal(told.unhandled, 1);
    must_equal(told.handled, 1);
}

static void raising_hook(void *user, const vigil_rejection *rejection)
{
    (void)rejection;
    ++*(int *)user;
    vigil_raise(-EIO);
}

static int raised;

static void raising_body(void *arg)
{
    (void)arg;
    vigil_promise_hooks hooks = {.size = sizeof hooks, .unhandled = raising_hook, .user = &raised};
    must_equal(vigil_promise_hooks_set(loop, &hooks), 0);
    drop(resolved(vigil_value_error(-EIO)));
    drop(resolved(vigil_value_error(-EIO)));
}

static void a_hook_that_raises_harms_nobody(void **state)
{
    (void)state;
    raised = 0;
    on_loop(raising_body);
    must_equal(raised, 2);
}

static void handling_hook(void *user, const vigil_rejection *rejection)
{
    (void)user;
    then(rejection->promise, NULL, say_value, "hook"); /* it may do what any callback may */
}

static void handling_body(void *arg)
{
    (void)arg;
    vigil_promise_hooks hooks = {.size = sizeof hooks, .unhandled = handling_hook};
    must_equal(vigil_promise_hooks_set(loop, &hooks), 0);
    drop(resolved(vigil_value_error(-EIO)));
}

static void a_hook_may_handle_the_rejection(void **state)
{
    (void)state;
    on_loop(handling_body);
    must_have_said("hook!-5");
}

static void counted_body(void *arg)
{
    (void)arg;
    must_equal(vigil_promise_hooks_set(loop, NULL), 0);
    drop(resolved(vigil_value_error(-EIO)));
    kept = resolved(vigil_value_error(-EIO));
}

static void without_hooks_they_are_counted(void **state)
{
    (void)state;
    loop_open();
    must_equal(vigil_loop_ref(loop), 0);
    must_equal(vigil_loop_call(loop, counted_body, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(promise_stats().unhandled, 2);
    must_equal(vigil_promise_mark_handled(kept), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(promise_stats().handled_late, 1);
    drop(kept);
    must_equal(vigil_loop_unref(loop), 0);
    loop_close();
}

/* A rejection outside of any checkpoint, before the loop runs. */
static void a_rejection_before_the_run_is_reported_in_it(void **state)
{
    (void)state;
    loop_open();
    hooks_on();
    drop(resolved(vigil_value_error(-EIO)));
    must_equal(told.unhandled, 0);
    loop_close();
    must_equal(told.unhandled, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_rejection_names_its_reason_and_where_its_promise_was_made),
        test(a_rejection_is_reported_once),
        test(every_last_link_reports),
        test(marked_taken_or_combined_is_handled),
        test(handled_late_is_reported_once),
        test(a_hook_that_raises_harms_nobody),
        test(a_hook_may_handle_the_rejection),
        test(without_hooks_they_are_counted),
        test(a_rejection_before_the_run_is_reported_in_it),
    };
    return run_all(tests);
}
