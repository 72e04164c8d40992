/* SPDX-License-Identifier: MIT */
/*
 * A worker's history of states (vg_worker_state) against vigil_pool_worker_history. Property: what is told is what was, each state with
 * its time, without a gap; and what may be half overwritten is not told. (The same through the recorder's file: recorder_waits.c.)
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

#define TOLD "a state is told with its own time, and what is half overwritten is not told"
static const plan plan_first = {.before = 1, .beside = 2};
VGC_REGISTER(first, "history_first", history, TOLD, .bound = "a history of 3, 1 change, 2 more beside 1 reading",
             .arg = &plan_first);
static const plan plan_over = {.before = 3, .beside = 2};
VGC_REGISTER(over, "history_over", history, TOLD, .bound = "a history of 3 that is full, 2 changes beside 1 reading",
             .arg = &plan_over);
