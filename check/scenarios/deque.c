/* SPDX-License-Identifier: MIT */
/*
 * The deque by itself: one owner, thieves, growth from two slots to four, in both fence modes.
 *
 * Property: each task that was pushed comes out exactly once, and whoever gets it sees what the owner wrote into it.
 * There is no shutdown: a deque knows none. The end is a join of the thieves, after which the owner empties it.
 */
#include <vigil_check.h>

#include "pool/worker_struct.h"

#include <stdlib.h>

enum {
    MOST = 4
};

typedef struct item {
    vigil_task task;
    int number; /* written by the owner right before the push, plainly */
    _Atomic int times_out;
} item;

static item items[MOST];
static struct vigil_join_frame frames[MOST]; /* of the items, for taking back */
static vg_own_queue queue;                   /* joins know it as a vigil_forks (vigil/join.h) */
#define owner (queue.own)

/* Word by word what the owner does: u is push, o is pop, t takes back what was pushed last (with light fences only). */
typedef struct plan {
    const char *operations;
    int thieves;
    int steals; /* each */
    vg_fence_mode fences;
} plan;

static const plan *the_plan(void)
{
    return vgc_arg();
}

static void came_out(vigil_task *task)
{
    if (task == NULL)
        return;
    item *got = (item *)(void *)task;
    vgc_note("task %d came out", (int)(got - items));
    atomic_store_explicit(&frames[got - items].vg_made, 2, memory_order_relaxed); /* as whoever takes a join's entry */
    vgc_assert(got->number == 1 + (int)(got - items), "what the owner wrote into the task came with it");
    vgc_assert(atomic_fetch_add_explicit(&got->times_out, 1, memory_order_relaxed) == 0, "a task came out twice");
}

static void push(item *one)
{
    one->number = 1 + (int)(one - items);
    if (!vg_deque_push(&owner, &one->task)) {
        vgc_assert(vg_deque_grow(&owner) == 0, "no allocation is made to fail here");
        vgc_assert(vg_deque_push(&owner, &one->task), "there is room after growing");
    }
}

static void *thief(void *arg)
{
    (void)arg;
    for (int i = 0; i < the_plan()->steals; i++) {
        vigil_task *task = NULL;
        if (vg_deque_steal(&owner.deque, the_plan()->fences, &task) == VG_STEAL_WON)
            came_out(task);
    }
    return NULL;
}

static void owner_and_thieves(void)
{
    const plan *p = the_plan();
    pthread_t threads[2];
    int pushed = 0;
    if (p->fences == VG_FENCE_MEMBARRIER)
        vgc_assert(vg_fence_register() == 0, "the model has membarrier");
    vg_deque_init(&owner);
    for (int i = 0; i < p->thieves; i++)
        threads[i] = vgc_thread_start(thief, NULL);
    for (const char *c = p->operations; *c != 0; c++) {
        if (*c == 'u')
            push(&items[pushed++]);
        else if (*c == 't') {
            if (vg_forks_take_back((struct vigil_forks *)(void *)&queue, &frames[pushed - 1],
                                   atomic_load_explicit(&owner.deque.bottom, memory_order_relaxed) - 1))
                came_out(&items[pushed - 1].task);
        } else
            came_out(vg_deque_pop(&owner, p->fences));
    }
    for (int i = 0; i < p->thieves; i++)
        vgc_thread_join(threads[i]);
    while (vg_deque_size(&owner.deque) != 0)
        came_out(vg_deque_pop(&owner, p->fences));
    for (int i = 0; i < pushed; i++)
        vgc_assert(atomic_load_explicit(&items[i].times_out, memory_order_relaxed) == 1, "a task was lost");
    vg_deque_destroy(&owner.deque);
}

#define EXACTLY_ONCE "each pushed task comes out exactly once, with what was written into it"

#define DEQUE(id, text, ops, thief_count, steal_count, mode, size, ...)                            \
    static const plan plan_##id = {                                                                \
        .operations = (ops), .thieves = (thief_count), .steals = (steal_count), .fences = (mode)}; \
    VGC_REGISTER(id, text, owner_and_thieves, EXACTLY_ONCE, .arg = &plan_##id, .bound = (size), ##__VA_ARGS__)

DEQUE(last_task, "deque_last_task", "uo", 1, 1, VG_FENCE_SYMMETRIC, "push, pop; 1 thief x 1; full fences");
DEQUE(last_task_m, "deque_last_task_membarrier", "uo", 1, 1, VG_FENCE_MEMBARRIER, "push, pop; 1 thief x 1; membarrier");
DEQUE(last_of_two, "deque_last_of_two", "uuoo", 1, 2, VG_FENCE_SYMMETRIC, "2 push, 2 pop; 1 thief x 2; full fences");
DEQUE(last_of_two_m, "deque_last_of_two_membarrier", "uuoo", 1, 2, VG_FENCE_MEMBARRIER,
      "2 push, 2 pop; 1 thief x 2; membarrier");
DEQUE(opened, "deque_opened", "uuuoo", 1, 3, VG_FENCE_SYMMETRIC, "3 push, 2 pop; 1 thief x 3; growth; full fences");
DEQUE(opened_m, "deque_opened_membarrier", "uuo", 2, 1, VG_FENCE_MEMBARRIER,
      "2 push, pop; 2 thieves x 1, one takes what the other has opened; membarrier");
DEQUE(skipped, "deque_skipped", "uuoouo", 1, 2, VG_FENCE_MEMBARRIER,
      "2 push, 2 pop, push and pop behind what was left open; 1 thief x 2; membarrier");
DEQUE(skipped_grow, "deque_skipped_growth", "uuoouu", 1, 2, VG_FENCE_MEMBARRIER,
      "2 push, 2 pop, 2 push behind what was left open; 1 thief x 2; membarrier");
DEQUE(skipped_back, "deque_skipped_taken_back", "uuotut", 1, 2, VG_FENCE_MEMBARRIER,
      "2 push, pop, take back, push, take back; 1 thief x 2; membarrier");
DEQUE(back, "deque_last_taken_back", "ut", 2, 1, VG_FENCE_MEMBARRIER, "push, take back; 2 thieves x 1; membarrier");
DEQUE(back_of_two, "deque_last_of_two_taken_back", "uuto", 1, 2, VG_FENCE_MEMBARRIER,
      "2 push, take back, pop; 1 thief x 2; membarrier");
DEQUE(back_again, "deque_slot_taken_back_and_used_again", "utut", 1, 2, VG_FENCE_MEMBARRIER,
      "push, take back, push, take back; 1 thief x 2; membarrier");
DEQUE(back_twice, "deque_taken_back_twice", "utt", 1, 1, VG_FENCE_MEMBARRIER,
      "push, take back, take back what is not there; 1 thief x 1; membarrier");
DEQUE(back_opened, "deque_opened_taken_back", "uut", 2, 1, VG_FENCE_MEMBARRIER,
      "2 push, take back; 2 thieves x 1, one takes what the other has opened; membarrier");
DEQUE(again, "deque_slot_used_again", "uouo", 2, 1, VG_FENCE_SYMMETRIC,
      "push, pop, push, pop; 2 thieves x 1; full fences");
DEQUE(grow, "deque_growth", "uuuo", 2, 1, VG_FENCE_SYMMETRIC, "3 push, 1 pop; 2 thieves x 1; growth; full fences");
DEQUE(grow_m, "deque_growth_membarrier", "uuuo", 1, 2, VG_FENCE_MEMBARRIER,
      "3 push, 1 pop; 1 thief x 2; growth; membarrier");
DEQUE(grow_back, "deque_growth_taken_back", "uuut", 1, 2, VG_FENCE_MEMBARRIER,
      "3 push, take back; 1 thief x 2; growth; membarrier");
DEQUE(four, "deque_4_operations", "uuuo", 2, 2, VG_FENCE_SYMMETRIC,
      "1 owner x 4 (3 push, 1 pop), 2 thieves x 2; growth; full fences", .deep = true);
DEQUE(four_m, "deque_4_operations_membarrier", "uuuo", 2, 2, VG_FENCE_MEMBARRIER,
      "1 owner x 4 (3 push, 1 pop), 2 thieves x 2; growth; membarrier", .deep = true);
DEQUE(four_pops, "deque_4_operations_pops", "uuoo", 2, 2, VG_FENCE_SYMMETRIC,
      "1 owner x 4 (2 push, 2 pop), 2 thieves x 2; full fences", .deep = true);
DEQUE(four_pops_m, "deque_4_operations_pops_membarrier", "uuoo", 2, 2, VG_FENCE_MEMBARRIER,
      "1 owner x 4 (2 push, 2 pop), 2 thieves x 2; membarrier", .deep = true);

/* The audit counts what lies in a deque while its owner lets it grow. */
static void *counter(void *arg)
{
    const int64_t found = vg_deque_tasks(&owner.deque);
    vgc_assert(found >= 0 && found <= 3, "no more are found than were pushed");
    return arg;
}

static void owner_and_counter(void)
{
    vg_deque_init(&owner);
    pthread_t other = vgc_thread_start(counter, NULL);
    for (int i = 0; i < 3; i++)
        push(&items[i]);
    vgc_thread_join(other);
    vgc_assert(vg_deque_tasks(&owner.deque) == 3, "at rest all are found");
    for (int i = 0; i < 3; i++)
        came_out(vg_deque_pop(&owner, VG_FENCE_SYMMETRIC));
    vg_deque_destroy(&owner.deque);
}

VGC_REGISTER(deque_growth_counted, "deque_growth_counted", owner_and_counter,
             "a look from outside reads an array that is there", .bound = "3 pushes with growth, 1 counts");
