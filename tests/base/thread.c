/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <sched.h>
#include <signal.h>

#include "base/thread.h"

typedef struct report {
    bool ran;
    sigset_t mask;
    char name[16];
    size_t stack;
    int cpus; /* in the affinity mask, after binding to the first of them */
    int cpus_after_nonsense;
    unsigned number;
    unsigned number_again;
    const char *call_me;
} report;

static void *look_around(void *arg)
{
    report *r = arg;
    r->ran = true;
    must(pthread_sigmask(SIG_SETMASK, NULL, &r->mask) == 0);
    if (r->call_me != NULL)
        vg_thread_set_name(r->call_me);
    must(pthread_getname_np(pthread_self(), r->name, sizeof r->name) == 0);
    pthread_attr_t attr;
    must(pthread_getattr_np(pthread_self(), &attr) == 0);
    must(pthread_attr_getstacksize(&attr, &r->stack) == 0);
    must(pthread_attr_destroy(&attr) == 0);
    cpu_set_t set;
    must(sched_getaffinity(0, sizeof set, &set) == 0);
    int first = 0;
    while (!CPU_ISSET((size_t)first, &set))
        first++;
    vg_thread_bind(first);
    must(sched_getaffinity(0, sizeof set, &set) == 0);
    must(CPU_ISSET((size_t)first, &set));
    r->cpus = CPU_COUNT(&set);
    vg_thread_bind(-1);
    vg_thread_bind(CPU_SETSIZE - 1); /* a machine of 1024 CPUs may have it; then it is one CPU too */
    vg_thread_bind(CPU_SETSIZE);
    vg_thread_bind(INT32_MAX);
    must(sched_getaffinity(0, sizeof set, &set) == 0);
    r->cpus_after_nonsense = CPU_COUNT(&set);
    r->number = vg_thread_number();
    vg_thread_yield();
    r->number_again = vg_thread_number();
    return NULL;
}

static void start_and_join(report *r, size_t stack)
{
    pthread_t thread;
    assert_int_equal(vg_thread_start(&thread, stack, look_around, r), 0);
    vg_thread_join(thread);
    assert_true(r->ran);
}

static void a_thread_runs_with_the_users_signals_blocked_and_the_starter_keeps_its_mask(void **state)
{
    (void)state;
    sigset_t before;
    sigset_t after;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    report r = {.ran = false};
    start_and_join(&r, 0);
    static const int asynchronous[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGPIPE, SIGWINCH};
    for (unsigned i = 0; i < count_of(asynchronous); i++)
        assert_true(sigismember(&r.mask, asynchronous[i]));
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    for (int i = 1; i < NSIG; i++)
        assert_int_equal(sigismember(&before, i), sigismember(&after, i));
}

static void a_name_is_cut_to_what_the_system_takes(void **state)
{
    (void)state;
    report r = {.call_me = "worker/3"};
    start_and_join(&r, 0);
    assert_string_equal(r.name, "worker/3");
    r = (report){.call_me = "a name that is much too long"};
    start_and_join(&r, 0);
    assert_string_equal(r.name, "a name that is ");
}

static void a_thread_can_be_bound_and_nonsense_is_ignored(void **state)
{
    (void)state;
    report r = {.ran = false};
    start_and_join(&r, 0);
    assert_int_equal(r.cpus, 1);
    assert_int_equal(r.cpus_after_nonsense, 1);
}

static void the_stack_is_as_large_as_asked_for(void **state)
{
    (void)state;
    report r = {.ran = false};
    start_and_join(&r, 1 << 20);
    assert_in_range(r.stack, 1 << 20, (1 << 20) + (1 << 17));
}

/* The system's may be as small as musl's 128 KiB; musl itself only lets it grow, so there this is the plain case. */
static void the_default_stack_is_a_mebibyte_or_more(void **state)
{
    (void)state;
    pthread_attr_t before;
    pthread_attr_t small;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, 128 * 1024), 0);
    assert_int_equal(pthread_setattr_default_np(&small), 0);
    report r = {.ran = false};
    start_and_join(&r, 0);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_destroy(&before), 0);
    assert_int_equal(pthread_attr_destroy(&small), 0);
    assert_true(r.stack >= 1 << 20);
}

static void a_stack_that_is_too_small_is_refused(void **state)
{
    (void)state;
    assert_true(vg_thread_min_stack() > 1);
    report r = {.ran = false};
    pthread_t thread;
    assert_int_equal(vg_thread_start(&thread, 1, look_around, &r), -EINVAL);
    assert_int_equal(vg_thread_start(&thread, vg_thread_min_stack() - 1, look_around, &r), -EINVAL);
    assert_false(r.ran);
}

static void every_thread_has_its_own_number_and_keeps_it(void **state)
{
    (void)state;
    report reports[16] = {{.ran = false}};
    on_threads(count_of(reports), look_around, reports, sizeof reports[0]);
    for (unsigned i = 0; i < count_of(reports); i++) {
        assert_true(reports[i].number != 0);
        assert_int_equal(reports[i].number, reports[i].number_again);
        for (unsigned k = 0; k < i; k++)
            assert_true(reports[i].number != reports[k].number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_runs_with_the_users_signals_blocked_and_the_starter_keeps_its_mask),
        cmocka_unit_test(a_name_is_cut_to_what_the_system_takes),
        cmocka_unit_test(a_thread_can_be_bound_and_nonsense_is_ignored),
        cmocka_unit_test(the_stack_is_as_large_as_asked_for),
        cmocka_unit_test(the_default_stack_is_a_mebibyte_or_more),
        cmocka_unit_test(a_stack_that_is_too_small_is_refused),
        cmocka_unit_test(every_thread_has_its_own_number_and_keeps_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
