/* SPDX-License-Identifier: MIT */
/* L14: a thread that ends inside a callback, or was joined, leaves a loop that others can run, drain and end. */
#include "loop_test.h"

#include <sys/syscall.h>
#include <unistd.h>

static vigil_loop *loop;
static _Atomic uint32_t ran;
static _Atomic int uncaught_status;

static void count_up(void *arg)
{
    (void)arg;
    (void)atomic_fetch_add(&ran, 1);
}

static void leave_the_thread(void *arg)
{
    (void)arg;
    pthread_exit(NULL);
}

static void wait_for_the_end(void *arg)
{
    (void)arg;
    while (vigil_loop_state_get(loop) < VIGIL_LOOP_TERMINATING)
        yield();
}

static void leave_for_good(vigil_at_end *node)
{
    (void)node;
    pthread_exit(NULL);
}

static void note_uncaught(void *user, const vigil_uncaught *uncaught)
{
    (void)user;
    atomic_store(&uncaught_status, uncaught->status);
}

static void *run_it(void *arg)
{
    (void)arg;
    (void)vigil_loop_run(loop, VIGIL_RUN);
    return NULL;
}

static void *run_a_turn(void *arg)
{
    (void)arg;
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    return NULL;
}

static void *ask_for_the_owner(void *arg)
{
    (void)arg;
    must(!vigil_loop_is_owner(loop));
    return NULL;
}

static void make(void)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    options.on_uncaught = note_uncaught;
    atomic_store(&ran, 0);
    atomic_store(&uncaught_status, 0);
    loop = loop_with(&options);
}

static void post(void (*fn)(void *arg))
{
    must_equal(vigil_loop_call(loop, fn, NULL, NULL), 0);
}

static void a_loop_whose_thread_was_joined_is_drained_by_whoever_shuts_it_down(void **state)
{
    (void)state;
    make();
    join_thread(start_thread(run_a_turn, NULL));
    for (int i = 0; i < 10; i++)
        post(count_up);
    must_equal(vigil_loop_shutdown(loop, 5000000000), 0);
    must_equal(atomic_load(&ran), 10);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void pthread_exit_in_a_callback_leaves_the_loop_to_others(void **state)
{
    (void)state;
    make();
    post(count_up);
    post(leave_the_thread);
    post(count_up);
    join_thread(start_thread(run_it, NULL));
    must_equal(atomic_load(&ran), 1);
    must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_AWAKE);
    join_thread(start_thread(ask_for_the_owner, NULL)); /* most likely on the same stack */
    must(!vigil_loop_is_owner(loop));
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_equal(atomic_load(&ran), 2); /* it goes on behind the callback */
    must_equal(atomic_load(&uncaught_status), -ECANCELED);
    must_equal(loop_stats(loop).uncaught, 1);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_shutdown_takes_over_from_a_thread_that_leaves_the_drain(void **state)
{
    (void)state;
    make();
    pthread_t runner = start_thread(run_it, NULL);
    loop_wait_sleeping(loop);
    post(wait_for_the_end);
    post(leave_the_thread);
    for (int i = 0; i < 100; i++)
        post(count_up);
    must_equal(vigil_loop_shutdown(loop, 5000000000), 0);
    must_equal(atomic_load(&ran), 100);
    join_thread(runner);
    must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_TERMINATED);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void *shut_it_down(void *arg)
{
    (void)arg;
    (void)vigil_loop_shutdown(loop, VIGIL_FOREVER);
    return NULL;
}

static void a_thread_that_leaves_at_the_very_end_is_followed_by_another(void **state)
{
    (void)state;
    make();
    vigil_at_end node = {.run = leave_for_good};
    must_equal(vigil_loop_at_end_add(loop, &node), 0);
    join_thread(start_thread(shut_it_down, NULL)); /* leaves when the loop is Terminated */
    must_equal(vigil_loop_shutdown(loop, 5000000000), 0);
    must_equal(vigil_loop_wait(loop, 0), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_cancelled_thread_leaves_a_loop_that_can_be_run(void **state)
{
    (void)state;
    make();
    must_equal(vigil_loop_fast_path_set(loop, VIGIL_FAST_PATH_DISABLED), 0); /* epoll_wait is a cancellation point */
    pthread_t runner = start_thread(run_it, NULL);
    loop_wait_sleeping(loop);
    must_equal(pthread_cancel(runner), 0);
    join_thread(runner);
    post(count_up);
    must_equal(vigil_loop_shutdown(loop, 5000000000), 0);
    must_equal(atomic_load(&ran), 1);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* Past everything that could set the loop free. */
static void end_the_thread_alone(void *arg)
{
    (void)arg;
    (void)syscall(SYS_exit, 0);
}

static void *be_a_stranger(void *arg)
{
    (void)arg;
    must(!vigil_loop_is_owner(loop));
    must_equal(vigil_loop_run(loop, VIGIL_RUN), -EBUSY); /* not -EDEADLK */
    must_equal(vigil_loop_tick_call(loop, count_up, NULL, NULL), -EPERM);
    return NULL;
}

static void lose_the_owner(void *arg)
{
    (void)arg;
    make();
    post(end_the_thread_alone);
    join_thread(start_thread(run_it, NULL));
    for (int i = 0; i < 8; i++) /* the stack of the lost thread is given to another */
        join_thread(start_thread(be_a_stranger, NULL));
    _exit(0);
}

static void a_thread_in_the_place_of_the_owner_is_not_the_owner(void **state)
{
    (void)state;
#ifndef __GLIBC__
    skip(); /* musl does not notice that such a thread is gone */
#endif
    if (TEST_SANITIZED || getenv("VIGIL_TEST_EMULATED") != NULL)
        skip(); /* they keep books of threads, and so does the emulator */
    must_equal(in_child(lose_the_owner, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_loop_whose_thread_was_joined_is_drained_by_whoever_shuts_it_down),
        test(pthread_exit_in_a_callback_leaves_the_loop_to_others),
        test(a_shutdown_takes_over_from_a_thread_that_leaves_the_drain),
        test(a_thread_that_leaves_at_the_very_end_is_followed_by_another),
        test(a_cancelled_thread_leaves_a_loop_that_can_be_run),
        test(a_thread_in_the_place_of_the_owner_is_not_the_owner),
    };
    return run_all(tests);
}
