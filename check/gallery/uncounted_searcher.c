/* SPDX-License-Identifier: MIT */
/*
 * A hole in wake throttling: a worker that gets up by itself and does not count as searching.
 *
 * To avoid a herd only one wake is in flight: a push wakes nobody as long as somebody searches, because a searcher that finds a task wakes
 * the next one before it runs it (the chain). A searcher that finds nothing counts itself as parked, shows its bit, and looks
 * once more. In the variant, if it sees work then, it takes its bit back and just goes to fetch the task.
 *
 * Claimed: why sleep and be woken when the work is in sight? It is awake, that is all that matters.
 *
 * True: it is awake, but nobody in the books: it does not count as searching, so it has no duty to look again and to wake the next one when
 * it has found its task. Those who pushed while it was still counted have relied on just that. Two tasks were pushed, it
 * takes one, the others sleep on beside the second. If tasks end soon nobody notices: the worker comes back for
 * the second one. If the first waits for the second, that is the end. So the tasks here never end: they all must be started.
 *
 * In the control a worker that sees work after it has parked wakes one by the rules (perhaps itself), and whoever gets up searches.
 *
 * Everything here is a read-modify-write on few words, so the whole space is too large for an exhibit; the bounds are
 * in the table. The memory is sequentially consistent: the hole is in the counting, and fences are other exhibits' business.
 */
#include "gallery.h"

enum {
    MOST = 3,
    SEARCH = 1,
    PARKED = 16
};

struct size {
    bool uncounted;
    int workers, tasks;
};

static const struct size *size;
static _Atomic int queued;    /* any worker may take from it */
static _Atomic unsigned word; /* how many search, and how many are parked */
static _Atomic unsigned bits; /* who is parked */
static _Atomic unsigned wake[MOST];
static _Atomic int started;

static bool take(void)
{
    int n = atomic_load_explicit(&queued, memory_order_relaxed);
    while (n > 0)
        if (atomic_compare_exchange_strong_explicit(&queued, &n, n - 1, memory_order_acquire,
                                                    memory_order_relaxed)) /* pairs with submit */
            return true;
    return false;
}

static bool visible(void)
{
    return atomic_load_explicit(&queued, memory_order_relaxed) > 0;
}

static bool wants_wake(unsigned w)
{
    return w % PARKED == 0 && w / PARKED != 0;
}

static bool take_bit(int worker)
{
    return (atomic_fetch_and_explicit(&bits, ~(1U << worker), memory_order_relaxed) & (1U << worker)) != 0;
}

/* Takes the token and hands it to a parked worker, which then counts as searching. */
static void wake_one(void)
{
    unsigned w = atomic_load_explicit(&word, memory_order_relaxed);
    do {
        if (!wants_wake(w))
            return;
    } while (
        !atomic_compare_exchange_strong_explicit(&word, &w, w + SEARCH, memory_order_relaxed, memory_order_relaxed));
    for (int i = 0; i < size->workers; i++)
        if (take_bit(i)) {
            (void)atomic_fetch_sub_explicit(&word, PARKED, memory_order_relaxed);
            atomic_store_explicit(&wake[i], 1, memory_order_release); /* pairs with park */
            futex_wake(&wake[i], 1);
            return;
        }
    if (atomic_fetch_sub_explicit(&word, SEARCH, memory_order_relaxed) % PARKED != 1)
        return; /* another searches */
    if (atomic_load_explicit(&bits, memory_order_relaxed) && visible())
        wake_one();
}

static void submit(void)
{
    (void)atomic_fetch_add_explicit(&queued, 1, memory_order_release); /* the task; pairs with take */
    wake_one();
}

/* A searcher has found a task: the last one looks again, and keeps the chain going. */
static void search_end(void)
{
    if (atomic_fetch_sub_explicit(&word, SEARCH, memory_order_relaxed) % PARKED != 1)
        return;
    if (visible())
        wake_one();
}

/* Parks; true: woken, and searching. false: it got up by itself, and nobody counts it. */
static bool park(int me)
{
    (void)atomic_fetch_add_explicit(&word, PARKED - SEARCH, memory_order_relaxed);
    (void)atomic_fetch_or_explicit(&bits, 1U << me, memory_order_relaxed);
    if (visible()) {
        if (size->uncounted && take_bit(me)) {
            (void)atomic_fetch_sub_explicit(&word, PARKED, memory_order_relaxed);
            return false;
        }
        wake_one();
    }
    while (!atomic_exchange_explicit(&wake[me], 0, memory_order_acquire)) /* pairs with wake_one */
        futex_wait(&wake[me], 0);
    return true;
}

/* Starts one task, which never ends. */
static void *worker(void *arg)
{
    int me = (int)(intptr_t)arg;
    bool searching = false;
    for (;;) {
        if (!searching) {
            if (take())
                break;
            (void)atomic_fetch_add_explicit(&word, SEARCH, memory_order_relaxed);
        }
        if (take()) {
            search_end();
            break;
        }
        searching = park(me);
    }
    (void)atomic_fetch_add_explicit(&started, 1, memory_order_relaxed);
    return NULL;
}

static void all_must_start(void)
{
    size = vgc_arg();
    for (int i = 0; i < size->workers; i++)
        (void)vgc_thread_start(worker, (void *)(intptr_t)i);
    for (int i = 0; i < size->tasks; i++)
        submit();
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&started, memory_order_relaxed) == size->tasks,
               "a task is queued beside a parked worker");
}

static const struct size hole_of_3 = {true, 3, 3}, hole_of_2 = {true, 2, 2}, right_of_3 = {false, 3, 3},
                         right_of_2 = {false, 2, 2};

#define PROPERTY "no task is queued beside a parked worker, though no task ever ends"

VGC_REGISTER(hole_of_3, "uncounted_searcher", all_must_start, PROPERTY, .arg = &hole_of_3, .expect = VGC_ASSERTION,
             .bound = "3 workers, 3 dependent tasks; random priorities", .opt.mode = VGC_PCT, .opt.runs = 200000,
             .opt.sc_memory = true, .opt.allow_sleepers = true, .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(hole_of_2, "uncounted_searcher_two_workers", all_must_start, PROPERTY, .arg = &hole_of_2,
             .expect = VGC_ASSERTION, .bound = "2 workers, 2 dependent tasks; 3 preemptions", .opt.mode = VGC_PREEMPT,
             .opt.preemptions = 3, .opt.sc_memory = true, .opt.allow_sleepers = true,
             .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(right_of_2, "counted_searcher_two_workers", all_must_start, PROPERTY, .arg = &right_of_2,
             .bound = "2 workers, 2 dependent tasks; 4 preemptions", .opt.mode = VGC_PREEMPT, .opt.preemptions = 4,
             .opt.sc_memory = true, .opt.allow_sleepers = true, .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(right_of_3, "counted_searcher", all_must_start, PROPERTY, .arg = &right_of_3,
             .bound = "3 workers, 3 dependent tasks; 2 preemptions", .opt.mode = VGC_PREEMPT, .opt.preemptions = 2,
             .opt.sc_memory = true, .opt.allow_sleepers = true, .opt.time_limit = GALLERY_SECONDS);
