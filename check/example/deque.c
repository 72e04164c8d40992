/* SPDX-License-Identifier: MIT */
/*
 * A user's own structure under the checker: a Chase-Lev deque after Lê et al. (2013) that starts with room for two and grows.
 * One owner pushes and takes, two thieves steal. Each item must come out exactly once.
 */
#include <vigil_check.h>
#include <stdatomic.h>
#include <stdlib.h>

struct array {
    struct array *older; /* retired ones live until the end: a slow thief may still read them */
    int64_t mask;
    _Atomic int slots[];
};

struct deque {
    _Atomic int64_t top, bottom;
    _Atomic(struct array *) array;
};

enum {
    EMPTY = -1,
    LOST = -2
};

static struct array *array_new(int64_t size, struct array *older)
{
    struct array *a = malloc(sizeof *a + (size_t)size * sizeof a->slots[0]);
    a->older = older;
    a->mask = size - 1;
    for (int64_t i = 0; i < size; i++)
        atomic_init(&a->slots[i], 0);
    return a;
}

static void push(struct deque *q, int item)
{
    int64_t b = atomic_load_explicit(&q->bottom, memory_order_relaxed);
    int64_t t = atomic_load_explicit(&q->top, memory_order_acquire);
    struct array *a = atomic_load_explicit(&q->array, memory_order_relaxed);
    if (b - t > a->mask) {
        struct array *bigger = array_new(2 * (a->mask + 1), a);
        for (int64_t i = t; i < b; i++)
            atomic_store_explicit(&bigger->slots[i & bigger->mask],
                                  atomic_load_explicit(&a->slots[i & a->mask], memory_order_relaxed),
                                  memory_order_relaxed);
        /* The copied slots before the pointer to them; pairs with the load in steal. */
        atomic_store_explicit(&q->array, bigger, memory_order_release);
        a = bigger;
    }
    atomic_store_explicit(&a->slots[b & a->mask], item, memory_order_relaxed);
    /* The item before the index that shows it; pairs with the load of bottom in steal. */
    atomic_store_explicit(&q->bottom, b + 1, memory_order_release);
}

static int take(struct deque *q)
{
    int64_t b = atomic_load_explicit(&q->bottom, memory_order_relaxed) - 1;
    struct array *a = atomic_load_explicit(&q->array, memory_order_relaxed);
    /* release, each time that bottom is written: whoever reads this value must see the items below it. (Since C++20 a relaxed
     * store does not carry on what an earlier release store of the same thread had published.) */
    atomic_store_explicit(&q->bottom, b, memory_order_release);
    /* The claim on the last item before the look at top; pairs with the fence in steal. */
    atomic_thread_fence(memory_order_seq_cst);
    int64_t t = atomic_load_explicit(&q->top, memory_order_relaxed);
    if (t > b) {
        atomic_store_explicit(&q->bottom, b + 1, memory_order_release);
        return EMPTY;
    }
    int item = atomic_load_explicit(&a->slots[b & a->mask], memory_order_relaxed);
    if (t == b) {
        /* The last one: whoever moves top has it. seq_cst as in the paper. */
        if (!atomic_compare_exchange_strong_explicit(&q->top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
            item = EMPTY;
        atomic_store_explicit(&q->bottom, b + 1, memory_order_release);
    }
    return item;
}

static int steal(struct deque *q)
{
    int64_t t = atomic_load_explicit(&q->top, memory_order_acquire);
    /* The look at top before the look at bottom; pairs with the fence in take. */
    atomic_thread_fence(memory_order_seq_cst);
    int64_t b = atomic_load_explicit(&q->bottom, memory_order_acquire);
    if (t >= b)
        return EMPTY;
    struct array *a = atomic_load_explicit(&q->array, memory_order_acquire);
    int item = atomic_load_explicit(&a->slots[t & a->mask], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&q->top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
        return LOST;
    return item;
}

static struct deque q;
static _Atomic int seen[8];

static void got(int item)
{
    if (item > 0)
        vgc_assert(atomic_fetch_add_explicit(&seen[item], 1, memory_order_relaxed) == 0, "an item came out twice");
}

static void *thief(void *arg)
{
    for (intptr_t i = (intptr_t)arg; i > 0; i--)
        got(steal(&q));
    return NULL;
}

static void owner_against_thieves(int pushes, int takes, int thieves, intptr_t steals)
{
    pthread_t t[2];
    atomic_store_explicit(&q.array, array_new(2, NULL), memory_order_relaxed);
    for (int i = 0; i < thieves; i++)
        t[i] = vgc_thread_start(thief, (void *)steals);
    for (int i = 1; i <= pushes; i++)
        push(&q, i);
    for (int i = 0; i < takes; i++)
        got(take(&q));
    for (int i = 0; i < thieves; i++)
        vgc_thread_join(t[i]);
    for (int item; (item = take(&q)) != EMPTY;)
        got(item);
    for (int i = 1; i <= pushes; i++)
        vgc_assert(atomic_load_explicit(&seen[i], memory_order_relaxed) == 1, "an item was lost");
    for (struct array *a = atomic_load_explicit(&q.array, memory_order_relaxed), *older; a != NULL; a = older) {
        older = a->older;
        free(a);
    }
}

VGC_SCENARIO(deque_one_thief, "each pushed item comes out exactly once",
             .bound = "owner: 3 push, 1 take; 1 thief x 2; growth")
{
    owner_against_thieves(3, 1, 1, 2);
}

VGC_SCENARIO(deque_two_thieves, "each pushed item comes out exactly once",
             .bound = "owner: 3 push, 1 take; 2 thieves x 1; growth")
{
    owner_against_thieves(3, 1, 2, 1);
}

VGC_SCENARIO(deque_two_thieves_twice, "each pushed item comes out exactly once", .deep = true,
             .bound = "owner: 3 push, 1 take; 2 thieves x 2; growth")
{
    owner_against_thieves(3, 1, 2, 2);
}
