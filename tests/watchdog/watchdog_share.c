/* SPDX-License-Identifier: MIT */
/* On a full machine a thread that uses what it gets for one task keeps its worker; one that is not run does not. */
#include "watchdog_test.h"

#include "watchdog/judge.h"
#include "base/thread.h"
#include "watchdog/threads.h"

#include <sched.h>
#include <sys/resource.h>

#define MS UINT64_C(1000000)

/* A stay of `whole_ms`, in which the thread ran, waited for a CPU, and slept for the rest. */
struct share {
    uint64_t least_ms, whole_ms, ran_ms, waited_ms;
    double throttled;
};

static bool thread_shares(const struct share *share, int thread)
{
    uint64_t own = 0;
    const vg_look look = {.now = (1000 + share->whole_ms) * MS, .throttled = share->throttled};
    vg_stay stay = {.since = 1000 * MS, .measured = true, .at = {.timed = true, .run_ns = 7 * MS, .delay_ns = 9 * MS}};
    const vg_thread_look latest = {.known = true,
                                   .timed = true,
                                   .state = 'R',
                                   .run_ns = stay.at.run_ns + share->ran_ms * MS,
                                   .delay_ns = stay.at.delay_ns + share->waited_ms * MS};
    const bool found = vg_stay_shares(&stay, thread, &look, share->least_ms * MS, &latest, &own);
    char text[300];
    vg_words words = vg_words_into(text, sizeof text);
    vg_say_share(&words, &stay, 4711, &latest);
    must_equal(found, words.length != 0);
    must_equal(found, vg_share_advice(&stay)[0] != 0);
    if (found) {
        must_equal(own, share->ran_ms * MS);
        must_say(text, "thread 4711 could run all the time");
        must_say(text, "of CPU in it: the machine is full");
    }
    return found;
}

static bool shares(struct share share)
{
    return thread_shares(&share, vg_thread_id());
}

static void one_that_gets_its_part_is_found_by_the_time_on_the_wall(void **state)
{
    (void)state;
    const bool usual = !vg_thread_set_back(vg_thread_id()); /* the tests may have been started with nice */
    /* 20 processes on each core: one part in 21 */
    must_equal(shares((struct share){1000, 2600, 120, 2400, 0}), usual);
    must_equal(shares((struct share){500, 2600, 60, 2400, 0}), usual);
    must_equal(shares((struct share){4000, 6100, 410, 5500, 0}), usual);
    must_equal(shares((struct share){1000, 2600, 120, 1900, 0}),
               usual); /* it waits now: the kernel has not counted that */
}

static void one_that_lasts_because_others_run_is_not(void **state)
{
    (void)state;
    must_equal(shares((struct share){1000, 2400, 120, 2200, 0}), false);    /* not yet */
    must_equal(shares((struct share){4000, 5900, 450, 5300, 0}), false);    /* not yet */
    must_equal(shares((struct share){1000, 9000, 95, 8800, 0}), false);     /* a short task */
    must_equal(shares((struct share){1000, 20000, 150, 19800, 0}), false);  /* it gets next to nothing */
    must_equal(shares((struct share){1000, 9000, 1200, 7700, 0.5}), false); /* the quota */
    must_equal(shares((struct share){1000, 9000, 300, 100, 0}), false);     /* it sleeps: told by vg_stay_lasts */
}
static _Atomic bool enough;

static int spin(void *arg)
{
    event_set(arg);
    while (!atomic_load_explicit(&enough, memory_order_relaxed)) {
    }
    return 0;
}

static void a_thread_that_computes_is_among_those_that_want_to_run(void **state)
{
    (void)state;
    struct event begun = {0};
    vigil_pool *pool = pool_of(1);
    must_equal(vigil_pool_call(pool, spin, NULL, &begun, VIGIL_NORMAL), 0);
    event_wait(&begun);
    while (vg_machine_runnable() == 0) /* it is between two CPUs for a moment */
        yield();
    atomic_store_explicit(&enough, true, memory_order_relaxed);
    pool_close(pool);
}

static void *is_nice(void *arg)
{
    (void)arg;
    must_equal(setpriority(PRIO_PROCESS, (id_t)vg_thread_id(), 5), 0);
    must(vg_thread_set_back(vg_thread_id()));
    must_equal(shares((struct share){1000, 2600, 120, 2400, 0}), false);
    return NULL;
}

static void *takes_what_nobody_wants(void *arg)
{
    (void)arg;
    const struct sched_param none = {0};
    must_equal(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    must(vg_thread_set_back(vg_thread_id()));
    must_equal(shares((struct share){1000, 2600, 120, 2400, 0}), false);
    return NULL;
}

static void a_thread_that_the_system_sets_back_is_not_blamed(void **state)
{
    (void)state;
    join_thread(start_thread(is_nice, NULL));
    join_thread(start_thread(takes_what_nobody_wants, NULL));
}

static void what_was_found_stays_found(void **state)
{
    (void)state;
    if (vg_thread_set_back(vg_thread_id()))
        return; /* nothing would be found */
    uint64_t own = 0;
    vg_look look = {.now = 3600 * MS};
    vg_stay stay = {.since = 1000 * MS, .measured = true, .at = {.timed = true}};
    const vg_thread_look latest = {
        .known = true, .timed = true, .state = 'R', .run_ns = 120 * MS, .delay_ns = 2400 * MS};
    must(vg_stay_shares(&stay, vg_thread_id(), &look, 1000 * MS, &latest, &own));
    look.now += 20000 * MS; /* it gets nothing more */
    must(vg_stay_shares(&stay, vg_thread_id(), &look, 1000 * MS, &latest, &own));
    vg_stay_begin(&stay, &look); /* the next task */
    must_equal(vg_stay_shares(&stay, vg_thread_id(), &look, 1000 * MS, &latest, &own), false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(one_that_gets_its_part_is_found_by_the_time_on_the_wall), test(one_that_lasts_because_others_run_is_not),
        test(a_thread_that_the_system_sets_back_is_not_blamed),        test(what_was_found_stays_found),
        test(a_thread_that_computes_is_among_those_that_want_to_run),
    };
    return run_all(tests);
}
