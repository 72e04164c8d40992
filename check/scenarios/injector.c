/* SPDX-License-Identifier: MIT */
/*
 * The injector by itself: producers, takers, closing, counting, sweeping.
 *
 * Properties: each task that was accepted comes out exactly once, with what its producer wrote into it; the tasks of one
 * producer reach one taker in the order in which they were pushed; what was refused never comes out; and once nothing moves,
 * what is left is visible. Closing is the injector's form of shutdown, so it races with the pushes in its own scenarios.
 */
#include <vigil_check.h>

#include "pool/injector.h"

#include <errno.h>
#include <stddef.h>

enum {
    MOST = 6
};

typedef struct item {
    vigil_task task;
    int number; /* written by the producer right before the push, plainly */
    int producer;
    _Atomic int times_out;
    _Atomic int accepted;
} item;

static item items[MOST];
static vg_injector injector;

/* What the threads of a scenario do: how many tasks each producer pushes, how many looks each taker takes. */
typedef struct plan {
    int producers, pushes;
    int takers, takes;
    int batch;  /* pushed at once by the body, before the threads start */
    bool close; /* the body closes while they run */
    bool count; /* the body counts while they run */
    bool sweep; /* the body sweeps every second task out while they run */
} plan;

static const plan *the_plan(void)
{
    return vgc_arg();
}

static void prepare(item *one, int producer)
{
    one->number = 1 + (int)(one - items);
    one->producer = producer;
    one->task.vg_stamp = 1;
}

static void came_out(vigil_task *task, int last_of[3])
{
    item *got = (item *)(void *)task;
    vgc_note("task %d came out", (int)(got - items));
    vgc_assert(got->number == 1 + (int)(got - items), "what the producer wrote into the task came with it");
    vgc_assert(got->number > last_of[got->producer], "one producer's tasks come in their order");
    last_of[got->producer] = got->number;
    vgc_assert(atomic_fetch_add_explicit(&got->times_out, 1, memory_order_relaxed) == 0, "a task came out twice");
}

static void *produce(void *arg)
{
    const int number = (int)(intptr_t)arg;
    for (int i = 0; i < the_plan()->pushes; i++) {
        item *one = &items[the_plan()->batch + number * the_plan()->pushes + i];
        prepare(one, 1 + number);
        int error = vg_injector_push(&injector, &one->task, &one->task, false);
        vgc_assert(error == 0 || error == -ESHUTDOWN, "a push is accepted or refused");
        atomic_store_explicit(&one->accepted, error == 0, memory_order_relaxed);
    }
    return NULL;
}

static void *take(void *arg)
{
    int last_of[3] = {0, 0, 0};
    (void)arg;
    for (int i = 0; i < the_plan()->takes; i++) {
        bool more = false;
        vigil_task *task = vg_injector_take(&injector, &more);
        if (task != NULL)
            came_out(task, last_of);
    }
    return NULL;
}

static bool is_unwanted(const vigil_task *task)
{
    return ((const item *)(const void *)task)->number % 2 == 0;
}

static void sweep(void)
{
    vigil_task *swept = NULL;
    if (!vg_injector_sweep(&injector, is_unwanted, &swept))
        return;
    for (vigil_task *next; swept != NULL; swept = next) {
        item *got = (item *)(void *)swept;
        next = swept->vg_next;
        vgc_note("task %d is swept out", (int)(got - items));
        vgc_assert(is_unwanted(swept), "only what is unwanted is swept out");
        vgc_assert(atomic_fetch_add_explicit(&got->times_out, 1, memory_order_relaxed) == 0, "a task came out twice");
    }
}

static uint64_t left_over(void)
{
    uint64_t out = 0;
    for (int i = 0; i < MOST; i++)
        out += atomic_load_explicit(&items[i].accepted, memory_order_relaxed) != 0 &&
               atomic_load_explicit(&items[i].times_out, memory_order_relaxed) == 0;
    return out;
}

static void producers_and_takers(void)
{
    const plan *p = the_plan();
    pthread_t threads[4];
    int started = 0;
    vg_injector_init(&injector);
    for (int i = 0; i < p->batch; i++) {
        prepare(&items[i], 0);
        items[i].task.vg_next = i > 0 ? &items[i - 1].task : NULL;
        atomic_store_explicit(&items[i].accepted, 1, memory_order_relaxed);
    }
    if (p->batch != 0)
        vgc_assert(vg_injector_push(&injector, &items[p->batch - 1].task, &items[0].task, false) == 0, "open");
    for (int i = 0; i < p->producers; i++)
        threads[started++] = vgc_thread_start(produce, (void *)(intptr_t)i);
    for (int i = 0; i < p->takers; i++)
        threads[started++] = vgc_thread_start(take, NULL);
    uint64_t count = 0;
    if (p->close)
        vg_injector_close(&injector);
    if (p->count)
        (void)vg_injector_count(&injector, &count);
    if (p->sweep)
        sweep();
    for (int i = 0; i < started; i++)
        vgc_thread_join(threads[i]);

    const uint64_t left = left_over();
    vgc_assert(vg_injector_visible(&injector) == (left != 0), "what is left is visible, and nothing else is");
    vgc_assert(vg_injector_count(&injector, &count) && count == left, "the count is exact when nothing moves");
    int last_of[3] = {0, 0, 0};
    for (vigil_task *task;;) {
        bool more = false;
        task = vg_injector_take(&injector, &more);
        if (task == NULL)
            break;
        came_out(task, last_of);
    }
    for (int i = 0; i < MOST; i++)
        vgc_assert(atomic_load_explicit(&items[i].times_out, memory_order_relaxed) ==
                       atomic_load_explicit(&items[i].accepted, memory_order_relaxed),
                   "accepted tasks come out once, refused ones never");
    vgc_assert(vg_injector_oldest(&injector) == 0, "an empty injector has no oldest task");
}

#define PROPERTY "each accepted task comes out exactly once, in order, with what was written into it"

#define INJECTOR(id, size, ...) \
    VGC_REGISTER(id, "injector_" #id, producers_and_takers, PROPERTY, .bound = (size), .arg = &plan_##id, ##__VA_ARGS__)

static const plan plan_one_one = {.producers = 1, .pushes = 2, .takers = 1, .takes = 2};
INJECTOR(one_one, "1 producer x 2, 1 taker x 2");
static const plan plan_two_producers = {.producers = 2, .pushes = 1, .takers = 1, .takes = 2};
INJECTOR(two_producers, "2 producers x 1, 1 taker x 2");
static const plan plan_two_takers = {.producers = 1, .pushes = 1, .takers = 2, .takes = 1, .batch = 2};
INJECTOR(two_takers, "2 queued, 1 producer x 1, 2 takers x 1");
static const plan plan_refill = {.takers = 2, .takes = 2, .batch = 4};
INJECTOR(refill, "4 queued (more than the ring holds), 2 takers x 2");
static const plan plan_two_two = {.producers = 2, .pushes = 1, .takers = 2, .takes = 1};
INJECTOR(two_two, "2 producers x 1, 2 takers x 1");
static const plan plan_closing = {.producers = 2, .pushes = 1, .takers = 1, .takes = 1, .close = true};
INJECTOR(closing, "2 producers x 1, 1 taker x 1, against close");
static const plan plan_counting = {.producers = 1, .pushes = 1, .takers = 1, .takes = 2, .batch = 2, .count = true};
INJECTOR(counting, "2 queued, 1 producer x 1, 1 taker x 2, against count");
static const plan plan_sweeping = {.takers = 1, .takes = 2, .batch = 5, .sweep = true};
INJECTOR(sweeping, "5 queued (more than the ring holds), 1 taker x 2, against a sweep");
static const plan plan_sweeping_push = {
    .producers = 1, .pushes = 1, .takers = 1, .takes = 1, .batch = 2, .sweep = true};
INJECTOR(sweeping_push, "2 queued, 1 producer x 1, 1 taker x 1, against a sweep");
static const plan plan_two_two_again = {.producers = 2, .pushes = 1, .takers = 2, .takes = 2};
INJECTOR(two_two_again, "2 producers x 1, 2 takers x 2", .deep = true);
static const plan plan_ring_again = {.producers = 1, .pushes = 1, .takers = 2, .takes = 2, .batch = 4};
INJECTOR(ring_again, "4 queued, 1 producer x 1, 2 takers x 2: the ring is filled twice", .deep = true);
