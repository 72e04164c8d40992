/* SPDX-License-Identifier: MIT */
/*
 * A worker's history of states (vg_worker_state) against vigil_pool_worker_history. Property: what is told is what was, each state with
 * its time, without a gap; and what may be half overwritten is not told. (The same through the recorder's file: recorder_waits.c.)
 *
 * The time in a state against vigil_pool_worker_stats_get. Property: it never falls, and no stay counts twice.
 */
#include "protocol.h"

enum {
    STEP = 10 /* change n happens at n * STEP */
};

static const vigil_worker_state states[] = {VIGIL_WORKER_UNUSED,   VIGIL_WORKER_LOOKING, VIGIL_WORKER_STEALING,
                                            VIGIL_WORKER_SPINNING, VIGIL_WORKER_PARKED,  VIGIL_WORKER_STOPPING};

typedef struct plan {
    unsigned before, beside;
} plan;

static void change(unsigned n)
{
    vgc_clock_advance(n * STEP - vgc_clock_now());
    vg_worker_state(&bare_workers[0], states[n]);
}

static void *change_beside(void *arg)
{
    const plan *p = arg;
    for (unsigned i = 0; i < p->beside; i++)
        change(p->before + i + 1);
    return NULL;
}

static unsigned change_to(vigil_worker_state state)
{
    unsigned n = 0;
    while (n < sizeof states / sizeof states[0] && states[n] != state)
        n++;
    return n;
}

/* Returns how many were told. */
static int check_told(unsigned most)
{
    vigil_worker_change told[VIGIL_WORKER_HISTORY];
    const int count = vigil_pool_worker_history(pool, 0, told, VIGIL_WORKER_HISTORY);
    vgc_assert(count >= 0 && count < VG_FILE_HISTORY, "as many as are kept");
    for (int i = 0; i < count; i++) {
        const unsigned n = change_to(told[i].state);
        vgc_assert(n != 0 && n <= most && n + (unsigned)i == change_to(told[0].state), "one after the other");
        vgc_assert(told[i].age_ns + n * STEP == told[0].age_ns + change_to(told[0].state) * STEP,
                   "a state is told with its time");
    }
    return count;
}

static void history(void)
{
    const plan *p = vgc_arg();
    const unsigned all = p->before + p->beside;
    bare_pool_init(1, VG_FENCE_SYMMETRIC);
    vgc_clock_advance(1);
    for (unsigned i = 0; i < p->before; i++)
        change(i + 1);
    pthread_t worker = vgc_thread_start(change_beside, (void *)(uintptr_t)p);
    (void)check_told(all);
    vgc_thread_join(worker);
    vgc_assert(check_told(all) == (all < VG_FILE_HISTORY ? (int)all : VG_FILE_HISTORY - 1), "what lies still is told");
}

static const vigil_worker_state there_and_back[] = {VIGIL_WORKER_LOOKING, VIGIL_WORKER_PARKED, VIGIL_WORKER_LOOKING};

/* So that the checker sees that a reading before the clock moves is another than one after it. */
static _Atomic unsigned moves;

static void *go_there_and_back(void *arg)
{
    for (unsigned i = 1; i < sizeof there_and_back / sizeof there_and_back[0]; i++) {
        vgc_clock_advance(STEP);
        atomic_store_explicit(&moves, i, memory_order_relaxed);
        vg_worker_state(arg, there_and_back[i]);
    }
    return NULL;
}

static void times(void)
{
    vigil_worker_stats told[3] = {VIGIL_WORKER_STATS_INIT, VIGIL_WORKER_STATS_INIT, VIGIL_WORKER_STATS_INIT};
    bare_pool_init(1, VG_FENCE_SYMMETRIC);
    atomic_store_explicit(&moves, 0, memory_order_relaxed);
    vgc_clock_advance(1);
    const uint64_t begin = vgc_clock_now();
    vg_worker_state(&bare_workers[0], there_and_back[0]);
    pthread_t worker = vgc_thread_start(go_there_and_back, &bare_workers[0]);
    for (unsigned i = 0; i < 3; i++) {
        if (i == 2)
            vgc_thread_join(worker);
        (void)atomic_load_explicit(&moves, memory_order_relaxed);
        vgc_assert(vigil_pool_worker_stats_get(pool, 0, &told[i]) == 0, "the worker is known");
        for (unsigned s = 0; s < VIGIL_WORKER_STATES; s++) {
            vgc_assert(i == 0 || told[i].time_ns[s] >= told[i - 1].time_ns[s], "the time in a state never falls");
            vgc_assert(told[i].time_ns[s] <= vgc_clock_now() - begin, "no stay counts twice");
        }
    }
    const uint64_t *last = told[2].time_ns;
    vgc_assert(last[VIGIL_WORKER_PARKED] == STEP, "a stay that is over is counted");
    vgc_assert(last[VIGIL_WORKER_LOOKING] + STEP == vgc_clock_now() - begin, "so is one that lasts, with those before");
}

/* With weak memory the clock would run ahead of all stores, as no machine's does. */
VGC_REGISTER(times, "times_there_and_back", times, "the time in a state never falls",
             .bound = "2 changes between 2 states beside 2 readings; sequential consistency, 3 preemptions",
             .opt.mode = VGC_PREEMPT, .opt.preemptions = 3, .opt.sc_memory = true);

#define TOLD "a state is told with its own time, and what is half overwritten is not told"
static const plan plan_first = {.before = 1, .beside = 2};
VGC_REGISTER(first, "history_first", history, TOLD, .bound = "a history of 3, 1 change, 2 more beside 1 reading",
             .arg = &plan_first);
static const plan plan_over = {.before = 3, .beside = 2};
VGC_REGISTER(over, "history_over", history, TOLD, .bound = "a history of 3 that is full, 2 changes beside 1 reading",
             .arg = &plan_over);
