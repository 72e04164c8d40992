/* SPDX-License-Identifier: MIT */
/* L9: futex while nothing is watched, poller otherwise; switching under load loses nothing. */
#include "loop_test.h"

#include <unistd.h>

static void ignore(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)loop;
    (void)watch;
    (void)fd;
    (void)events;
    (void)arg;
}

static void add_one(void *arg)
{
    tally_add(arg, 1);
}

static void a_loop_without_descriptors_never_polls(void **state)
{
    (void)state;
    vigil_loop *loop = loop_that_stays();
    struct tally count = {0};
    pthread_t owner = start_thread(loop_runner, loop);
    for (uint32_t i = 1; i <= 100; i++) {
        must_equal(vigil_loop_call(loop, add_one, NULL, &count), 0);
        tally_wait(&count, i);
    }
    must_equal(loop_stats(loop).poll_calls, 0);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    join_thread(owner);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void forced_refuses_descriptors_with_a_reason(void **state)
{
    (void)state;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.fast_path = VIGIL_FAST_PATH_FORCED;
    vigil_loop *loop = loop_with(&options);
    int pipes[2];
    must_equal(pipe(pipes), 0);
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, ignore, NULL, NULL, NULL), -EINVAL);
    must(strstr(vigil_why(), "fast path is forced") != NULL);
    must_equal(vigil_loop_fd(loop), -EINVAL);
    must_equal(vigil_signal_add(loop, 10, (vigil_signal_fn)(void *)ignore, NULL, NULL), -EINVAL);
    must_equal(vigil_loop_fast_path_set(loop, VIGIL_FAST_PATH_AUTO), 0);
    vigil_watch watch;
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, ignore, NULL, NULL, &watch), 0);
    must_equal(vigil_loop_fast_path_set(loop, VIGIL_FAST_PATH_FORCED), -EBUSY);
    must_equal(vigil_watch_remove(loop, watch), 0);
    must_equal(vigil_loop_fast_path_set(loop, VIGIL_FAST_PATH_FORCED), 0);
    must_equal(vigil_loop_fast_path_set(loop, (vigil_fast_path)5), -EINVAL);
    must_equal(vigil_loop_destroy(loop), 0);
    close(pipes[0]);
    close(pipes[1]);
}

struct storm {
    vigil_loop *loop;
    struct tally ran;
    _Atomic bool over;
};

static void *switch_over(void *arg)
{
    struct storm *storm = arg;
    int pipes[2];
    must_equal(pipe(pipes), 0);
    for (unsigned i = 0; !atomic_load_explicit(&storm->over, memory_order_relaxed); i++) {
        vigil_watch watch;
        must_equal(vigil_watch_add(storm->loop, pipes[0], VIGIL_FD_READ, 0, ignore, NULL, NULL, &watch), 0);
        if (i % 3 == 0)
            loop_wait_sleeping(storm->loop);
        must_equal(vigil_watch_remove(storm->loop, watch), 0);
        must_equal(vigil_loop_fast_path_set(storm->loop, VIGIL_FAST_PATH_DISABLED), 0);
        if (i % 3 == 1)
            loop_wait_sleeping(storm->loop);
        must_equal(vigil_loop_fast_path_set(storm->loop, VIGIL_FAST_PATH_AUTO), 0);
    }
    close(pipes[0]);
    close(pipes[1]);
    return NULL;
}

/* Each post must be answered before the next: a wake that goes to the wrong bed hangs. */
static void switching_under_load_loses_nothing(void **state)
{
    (void)state;
    struct storm storm = {.loop = loop_that_stays()};
    pthread_t owner = start_thread(loop_runner, storm.loop);
    pthread_t switcher = start_thread(switch_over, &storm);
    uint32_t rounds = (uint32_t)scaled(30000, 300);
    for (uint32_t i = 1; i <= rounds; i++) {
        must_equal(vigil_loop_call(storm.loop, add_one, NULL, &storm.ran), 0);
        tally_wait(&storm.ran, i);
    }
    atomic_store_explicit(&storm.over, true, memory_order_relaxed);
    join_thread(switcher);
    must_equal(vigil_loop_shutdown(storm.loop, VIGIL_FOREVER), 0);
    join_thread(owner);
    must_equal(vigil_loop_destroy(storm.loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_loop_without_descriptors_never_polls),
        test(forced_refuses_descriptors_with_a_reason),
        test(switching_under_load_loses_nothing),
    };
    return run_all(tests);
}
