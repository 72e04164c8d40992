/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vigil/base.h>

#include "base/raise.h"

/* As the pool runs a task: everything that must survive a raise lies in memory. */
typedef struct call {
    vg_raise_frame frame;
    int (*function)(void *arg);
    void *arg;
    int status;
    bool raised;
} call;

static bool in_one; /* with vg_raise_call instead of a landing place and a call */

static __attribute__((noinline)) int run_in_one(call *c)
{
    vg_raise_push(&c->frame);
    c->status = vg_raise_call(&c->frame, c->function, c->arg, &c->raised);
    vg_raise_pop(&c->frame);
    return c->status;
}

static __attribute__((noinline)) int run(call *c)
{
    if (in_one)
        return run_in_one(c);
    vg_raise_push(&c->frame);
    if (VG_RAISE_LAND(&c->frame) == 0) {
        c->raised = false;
        c->status = c->function(c->arg);
    } else {
        c->raised = true;
        c->status = c->frame.status;
    }
    vg_raise_pop(&c->frame);
    return c->status;
}

static int return_it(void *arg)
{
    return *(int *)arg;
}

static int raise_it(void *arg)
{
    vigil_raise(*(int *)arg);
}

static void a_function_that_returns_is_not_disturbed(void **state)
{
    (void)state;
    int status = -7;
    call c = {.function = return_it, .arg = &status};
    assert_int_equal(run(&c), -7);
    assert_false(c.raised);
    assert_null(vg_raise_top);
}

static void a_raise_ends_the_call_with_its_status(void **state)
{
    (void)state;
    for (int status = -1; status > -200; status--) {
        call c = {.function = raise_it, .arg = &status};
        assert_int_equal(run(&c), status);
        assert_true(c.raised);
        assert_null(vg_raise_top);
    }
}

static void a_status_that_is_no_failure_counts_as_eio(void **state)
{
    (void)state;
    static const int statuses[] = {0, 1, EINVAL, INT32_MAX};
    for (unsigned i = 0; i < count_of(statuses); i++) {
        int status = statuses[i];
        call c = {.function = raise_it, .arg = &status};
        assert_int_equal(run(&c), -EIO);
        assert_true(c.raised);
    }
}

static __attribute__((noinline)) int descend(int depth, int status)
{
    char frame[64];
    memset(frame, depth, sizeof frame);
    if (depth == 0) {
        if (status < 0)
            vigil_raise(status);
        return status;
    }
    return descend(depth - 1, status) + frame[depth % 64]; /* not a tail call */
}

static int raise_from_deep_down(void *arg)
{
    return descend(*(int *)arg, -ENOSPC);
}

static void a_raise_leaves_any_depth(void **state)
{
    (void)state;
    int depth = 2000;
    call c = {.function = raise_from_deep_down, .arg = &depth};
    assert_int_equal(run(&c), -ENOSPC);
    assert_true(c.raised);
}

typedef struct nest {
    int inner_status;
    int inner_result;
} nest;

static int run_inside_then_raise(void *arg)
{
    nest *n = arg;
    call inner = {.function = raise_it, .arg = &n->inner_status};
    n->inner_result = run(&inner);
    if (!inner.raised)
        return -1;
    vigil_raise(-EPROTO);
}

static void a_raise_goes_to_the_innermost_call(void **state)
{
    (void)state;
    nest n = {.inner_status = -EDOM};
    call outer = {.function = run_inside_then_raise, .arg = &n};
    assert_int_equal(run(&outer), -EPROTO);
    assert_true(outer.raised);
    assert_int_equal(n.inner_result, -EDOM);
    assert_null(vg_raise_top);
}

/* The registers that a caller counts on must hold what they held, whatever ran in between. */
static __attribute__((noinline)) uint64_t sum_around(call *c, const uint64_t *numbers)
{
    uint64_t a = numbers[0];
    uint64_t b = numbers[1];
    uint64_t d = numbers[2];
    uint64_t e = numbers[3];
    uint64_t f = numbers[4];
    uint64_t g = numbers[5];
    (void)run(c);
    return a ^ (b << 1) ^ (d << 2) ^ (e << 3) ^ (f << 4) ^ (g << 5);
}

static void the_callers_variables_survive_a_raise(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t numbers[6];
        for (unsigned k = 0; k < count_of(numbers); k++)
            numbers[k] = random_next(&random);
        int stays = -5;
        call quiet = {.function = return_it, .arg = &stays};
        int depth = (int)(i % 50);
        call loud = {.function = raise_from_deep_down, .arg = &depth};
        uint64_t expected = sum_around(&quiet, numbers);
        assert_true(sum_around(&loud, numbers) == expected);
        assert_true(loud.raised);
    }
}

static void *raise_many(void *arg)
{
    int status = *(int *)arg;
    for (unsigned i = 0; i < 20000; i++) {
        call c = {.function = raise_it, .arg = &status};
        must(run(&c) == status && c.raised);
    }
    return NULL;
}

static void threads_raise_without_disturbing_each_other(void **state)
{
    (void)state;
    int statuses[4] = {-1, -2, -3, -4};
    on_threads(count_of(statuses), raise_many, statuses, sizeof statuses[0]);
}

static void outside_of_any_call_a_raise_aborts(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        vigil_raise(-EIO);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

/* As the loop runs its phases: what raises is taken out, and the rest goes on from the same landing place. */
static __attribute__((noinline)) void land_again(call *c, int *landings)
{
    vg_raise_push(&c->frame);
    while (VG_RAISE_LAND(&c->frame) != 0)
        ++*landings;
    if (*landings < 5)
        (void)c->function(c->arg);
    vg_raise_pop(&c->frame);
}

static void a_landing_place_may_be_used_again(void **state)
{
    (void)state;
    int status = -EIO;
    int landings = 0;
    call c = {.function = raise_it, .arg = &status};
    land_again(&c, &landings);
    assert_int_equal(landings, 5);
    assert_null(vg_raise_top);
}

static int by_landing(void **state)
{
    (void)state;
    in_one = false;
    return 0;
}

static int by_call(void **state)
{
    (void)state;
    in_one = true;
    return 0;
}

#define both_ways(test) cmocka_unit_test_setup(test, by_landing), cmocka_unit_test_setup(test, by_call)

int main(void)
{
    const struct CMUnitTest tests[] = {
        both_ways(a_function_that_returns_is_not_disturbed),    both_ways(a_raise_ends_the_call_with_its_status),
        both_ways(a_status_that_is_no_failure_counts_as_eio),   both_ways(a_raise_leaves_any_depth),
        both_ways(a_raise_goes_to_the_innermost_call),          both_ways(the_callers_variables_survive_a_raise),
        both_ways(threads_raise_without_disturbing_each_other), cmocka_unit_test(a_landing_place_may_be_used_again),
        cmocka_unit_test(outside_of_any_call_a_raise_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
