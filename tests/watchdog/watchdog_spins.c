/* SPDX-License-Identifier: MIT */
/* A loop that turns without rest: the verdict names the descriptor, the timer or the microtask. */
#include "watchdog_test.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

struct spinning {
    vigil_loop *loop;
    int fd;
    _Atomic bool end;
};

static void *runs_loop(void *arg)
{
    struct spinning *it = arg;
    (void)vigil_loop_run(it->loop, VIGIL_RUN);
    return NULL;
}

static void ignores_hangup(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    struct spinning *it = arg;
    (void)fd;
    (void)events;
    if (atomic_load_explicit(&it->end, memory_order_relaxed))
        must_equal(vigil_watch_remove(loop, watch), 0);
}

static void a_descriptor_that_is_hung_up_is_named(void **state)
{
    (void)state;
    struct heard heard;
    struct spinning it = {0};
    int pair[2];
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    it.fd = pair[0];
    must_equal(vigil_loop_create(&it.loop, NULL), 0);
    must_equal(vigil_watch_add(it.loop, pair[0], VIGIL_FD_WRITE & 0, 0, ignores_hangup, NULL, &it, NULL), 0);
    watch_with(&heard, VIGIL_STALL_LOOP_SPINS, 0);
    pthread_t thread = start_thread(runs_loop, &it);
    must_equal(close(pair[1]), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "descriptor %d is hung up", pair[0]);
    must_say(verdict->reason, wanted);
    must_say(verdict->evidence, "without rest");
    atomic_store_explicit(&it.end, true, memory_order_relaxed);
    join_thread(thread);
    must_equal(vigil_watchdog_stop(), 0);
    must_equal(vigil_loop_destroy(it.loop), 0);
    must_equal(close(pair[0]), 0);
}

static void starts_itself_again(vigil_loop *loop, vigil_timer timer, void *arg)
{
    struct spinning *it = arg;
    (void)timer;
    if (!atomic_load_explicit(&it->end, memory_order_relaxed))
        must_equal(vigil_timer_start(loop, 0, starts_itself_again, it, NULL), 0);
}

static void a_timer_that_starts_itself_again_is_named(void **state)
{
    (void)state;
    struct heard heard;
    struct spinning it = {0};
    must_equal(vigil_loop_create(&it.loop, NULL), 0);
    must_equal(vigil_timer_start(it.loop, 0, starts_itself_again, &it, NULL), 0);
    watch_with(&heard, VIGIL_STALL_LOOP_SPINS, 0);
    pthread_t thread = start_thread(runs_loop, &it);
    must_say(verdict_of(&heard)->reason, "timers fire in a second");
    atomic_store_explicit(&it.end, true, memory_order_relaxed);
    join_thread(thread);
    must_equal(vigil_watchdog_stop(), 0);
    must_equal(vigil_loop_destroy(it.loop), 0);
}

static void queues_itself(void *arg)
{
    struct spinning *it = arg;
    if (!atomic_load_explicit(&it->end, memory_order_relaxed))
        must_equal(vigil_loop_microtask_call(it->loop, queues_itself, NULL, it), 0);
}

static void a_microtask_that_queues_itself_is_named(void **state)
{
    (void)state;
    struct heard heard;
    struct spinning it = {0};
    must_equal(vigil_loop_create(&it.loop, NULL), 0);
    must_equal(vigil_loop_call(it.loop, queues_itself, NULL, &it), 0);
    watch_with(&heard, VIGIL_STALL_LOOP_SPINS, 0);
    pthread_t thread = start_thread(runs_loop, &it);
    must_say(verdict_of(&heard)->reason, "microtasks queue further microtasks");
    atomic_store_explicit(&it.end, true, memory_order_relaxed);
    join_thread(thread);
    must_equal(vigil_watchdog_stop(), 0);
    must_equal(vigil_loop_destroy(it.loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_descriptor_that_is_hung_up_is_named),
        test(a_timer_that_starts_itself_again_is_named),
        test(a_microtask_that_queues_itself_is_named),
    };
    return run_all(tests);
}
