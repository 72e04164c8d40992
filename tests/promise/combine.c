/* SPDX-License-Identifier: MIT */
/* L10: all, all_settled, race, any: what they are settled with, and that nothing is left of them. The order table has their timing. */
#include "promise_test.h"

#define on_loop(body) on_loop_with(body, NULL)

static vigil_promise *sources[4];

static void open_sources(void)
{
    for (size_t i = 0; i < count_of(sources); i++)
        sources[i] = pending();
}

static void close_sources(void)
{
    for (size_t i = 0; i < count_of(sources); i++)
        drop(sources[i]);
}

typedef int (*combine_fn)(vigil_loop *of, vigil_promise *const *promises, size_t count, vigil_promise **promise);

static vigil_promise *combined(combine_fn fn)
{
    vigil_promise *p = NULL;
    must_equal(fn(loop, sources, count_of(sources), &p), 0);
    return p;
}

static vigil_value say_list(vigil_value *value, void *arg)
{
    must_equal(value->kind, arg != NULL ? VIGIL_AGGREGATE : VIGIL_LIST);
    char text[100];
    for (size_t i = 0; i < value->list->count; i++) {
        const vigil_value *item = &value->list->items[i];
        must(item->destroy == NULL); /* the list only borrows it */
        if (vigil_value_is_error(item))
            snprintf(text, sizeof text, "!%d", item->status);
        else
            snprintf(text, sizeof text, "%lld", (long long)number_in(item));
        say(text);
    }
    if (arg != NULL) {
        snprintf(text, sizeof text, "(%d)", value->status);
        say(text);
    }
    return vigil_value_none();
}

static void all_body(void *arg)
{
    (void)arg;
    open_sources();
    vigil_promise *p = combined(vigil_promise_all);
    then(p, say_list, must_not_run, NULL);
    drop(p);
    resolve(sources[2], counted(2)); /* the order is that of the promises, not of time */
    resolve(sources[0], counted(0));
    resolve(sources[3], vigil_value_int(3));
    resolve(sources[1], counted(1));
    close_sources(); /* the list keeps what it needs */
}

static void all_has_every_value_in_order(void **state)
{
    (void)state;
    on_loop(all_body);
    must_have_said("0 1 2 3");
}

static void all_rejected_body(void *arg)
{
    (void)arg;
    open_sources();
    vigil_promise *p = combined(vigil_promise_all);
    then(p, must_not_run, say_value, "first");
    drop(p);
    resolve(sources[0], counted(0));
    reject(sources[2], -EPROTO);
    reject(sources[1], -EIO); /* counts as handled, and is not reported */
    resolve(sources[3], counted(1));
    close_sources();
}

static void all_has_the_first_reason(void **state)
{
    (void)state;
    on_loop(all_rejected_body);
    must_have_said("first!-71");
}

static void all_settled_body(void *arg)
{
    (void)arg;
    open_sources();
    vigil_promise *p = combined(vigil_promise_all_settled);
    then(p, say_list, must_not_run, NULL);
    drop(p);
    reject(sources[3], -EPROTO);
    resolve(sources[0], counted(10));
    reject(sources[1], -EIO);
    resolve(sources[2], counted(12));
    close_sources();
}

static void all_settled_has_values_and_reasons(void **state)
{
    (void)state;
    on_loop(all_settled_body);
    must_have_said("10 !-5 12 !-71");
}

static void any_body(void *arg)
{
    (void)arg;
    open_sources();
    vigil_promise *p = combined(vigil_promise_any);
    then(p, say_value, must_not_run, "first");
    drop(p);
    reject(sources[0], -EIO);
    resolve(sources[3], counted(33));
    resolve(sources[1], counted(31));
    close_sources(); /* the other one never comes */
}

static void any_has_the_first_value(void **state)
{
    (void)state;
    on_loop(any_body);
    must_have_said("first=33");
}

static void any_rejected_body(void *arg)
{
    (void)arg;
    open_sources();
    vigil_promise *p = combined(vigil_promise_any);
    then(p, must_not_run, say_list, "aggregate");
    drop(p);
    for (int i = 3; i >= 0; i--)
        reject(sources[i], -10 - i);
    close_sources();
}

static void any_has_all_reasons_when_all_are_rejected(void **state)
{
    (void)state;
    on_loop(any_rejected_body);
    must_have_said("!-10 !-11 !-12 !-13 (-10)");
}

static void race_body(void *arg)
{
    (void)arg;
    open_sources();
    vigil_promise *p = combined(vigil_promise_race);
    then(p, say_value, must_not_run, "first");
    drop(p);
    resolve(sources[1], counted(1));
    reject(sources[0], -EIO);
    close_sources();
    vigil_promise *never = NULL;
    must_equal(vigil_promise_race(loop, NULL, 0, &never), 0);
    must_equal(vigil_promise_state_get(never), VIGIL_PENDING);
    drop(never);
}

static void race_is_settled_as_the_first(void **state)
{
    (void)state;
    on_loop(race_body);
    must_have_said("first=1");
}

/* The same promise several times, the same value in several lists, and the list passed on. */
static void shared_body(void *arg)
{
    (void)arg;
    vigil_promise *p = pending();
    vigil_promise *same[] = {p, p, p};
    vigil_promise *a = NULL;
    vigil_promise *b = NULL;
    must_equal(vigil_promise_all(loop, same, 3, &a), 0);
    must_equal(vigil_promise_all_settled(loop, same, 2, &b), 0);
    vigil_promise *passed = derive(a, NULL, NULL, NULL);
    then(passed, say_list, NULL, NULL);
    then(b, say_list, NULL, NULL);
    resolve(p, counted(4));
    drop(p);
    drop(a);
    drop(b);
    drop(passed);
}

static void one_promise_may_be_in_many_lists(void **state)
{
    (void)state;
    on_loop(shared_body);
    must_have_said("4 4 4 4 4");
}

static void nested_body(void *arg)
{
    (void)arg;
    vigil_promise *inner = NULL;
    vigil_promise *leaf = resolved(counted(1));
    must_equal(vigil_promise_all(loop, &leaf, 1, &inner), 0);
    drop(leaf);
    for (uint64_t depth = 0; depth < 1000; depth++) {
        vigil_promise *outer = NULL;
        must_equal(vigil_promise_all(loop, &inner, 1, &outer), 0);
        drop(inner);
        inner = outer;
    }
    then(inner, say_it, must_not_run, "deep");
    drop(inner);
}

static void lists_of_lists_are_freed(void **state)
{
    (void)state;
    on_loop(nested_body);
    must_have_said("deep");
}

static void lost_body(void *arg)
{
    (void)arg;
    open_sources();
    vigil_promise *race = combined(vigil_promise_race);
    vigil_promise *all = combined(vigil_promise_all);
    resolve(sources[1], counted(1));
    close_sources(); /* the rest never comes, and is freed here */
    must_equal(promise_stats().alive, 3);
    then(race, say_value, must_not_run, "race");
    then(all, must_not_run, must_not_run, NULL);
    drop(race);
    drop(all);
}

static void what_nobody_can_settle_is_not_kept_by_a_race(void **state)
{
    (void)state;
    on_loop(lost_body);
    must_have_said("race=1");
}

static void bad_body(void *arg)
{
    (void)arg;
    vigil_promise *p = NULL;
    vigil_promise *some[] = {resolved(vigil_value_none()), NULL};
    must_equal(vigil_promise_all(loop, some, 2, &p), -EINVAL);
    must_equal(vigil_promise_all(loop, some, 1, NULL), -EINVAL);
    must_equal(vigil_promise_all(loop, NULL, 1, &p), -EINVAL);
    must_equal(vigil_promise_any(loop, some, SIZE_MAX / 8, &p), -EINVAL); /* finds the NULL before it counts bytes */
    must(p == NULL);
    drop(some[0]);
}

static void bad_calls_are_refused(void **state)
{
    (void)state;
    on_loop(bad_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(all_has_every_value_in_order),
        test(all_has_the_first_reason),
        test(all_settled_has_values_and_reasons),
        test(any_has_the_first_value),
        test(any_has_all_reasons_when_all_are_rejected),
        test(race_is_settled_as_the_first),
        test(one_promise_may_be_in_many_lists),
        test(lists_of_lists_are_freed),
        test(what_nobody_can_settle_is_not_kept_by_a_race),
        test(bad_calls_are_refused),
    };
    return run_all(tests);
}
