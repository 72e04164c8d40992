/* SPDX-License-Identifier: MIT */
/*
 * Semaphore, once, latch and barrier. Properties: units are neither lost nor made; nobody sleeps beside units that it could have;
 * whoever passes has seen what was done before.
 */
#include <vigil_check.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <vigil/cancel.h>
#include <vigil/sync.h>

static vigil_semaphore semaphore;
static vigil_once once;
static vigil_latch latch;
static vigil_barrier barrier;
static vigil_rate rate;
static int counter;

/* ---- semaphore ---- */

static void *use_units(void *arg)
{
    const uint64_t units = (uint64_t)(uintptr_t)arg;
    vgc_assert(vigil_semaphore_acquire(&semaphore, units, VIGIL_FOREVER, NULL) == 0, "acquired");
    vgc_assert(vigil_semaphore_post(&semaphore, units) == 0, "posted");
    return NULL;
}

static void *acquire_units(void *arg)
{
    const uint64_t units = (uint64_t)(uintptr_t)arg;
    vgc_assert(vigil_semaphore_acquire(&semaphore, units, VIGIL_FOREVER, NULL) == 0, "acquired");
    vgc_assert(counter == 1, "what was done before the post is seen");
    return NULL;
}

static void post_to_waiters(bool at_rest)
{
    (void)vigil_semaphore_init(&semaphore, 0, 0);
    pthread_t a = vgc_thread_start(acquire_units, (void *)1);
    pthread_t b = vgc_thread_start(acquire_units, (void *)2);
    if (at_rest)
        vgc_quiesce();
    counter = 1;
    vgc_assert(vigil_semaphore_post(&semaphore, 3) == 0, "posted");
    vgc_quiesce();
    vgc_assert(vigil_semaphore_units(&semaphore) == 0, "both have theirs");
    vgc_thread_join(a);
    vgc_thread_join(b);
    vgc_assert(semaphore.vg_count == 0, "nothing is left in the word");
}

VGC_SCENARIO(share_semaphore_rest, "one post reaches everybody who can go on", .bound = "2 waiters",
             .opt.mode = VGC_PCT, .opt.runs = 10000)
{
    post_to_waiters(true);
}

VGC_SCENARIO(share_semaphore_race, "one post reaches everybody who can go on", .bound = "2 waiters",
             .opt.mode = VGC_PCT, .opt.runs = 20000)
{
    post_to_waiters(false);
}

VGC_SCENARIO(share_semaphore_pair, "nobody sleeps beside a unit", .bound = "2 threads x 1")
{
    (void)vigil_semaphore_init(&semaphore, 1, 1);
    pthread_t a = vgc_thread_start(use_units, (void *)1);
    (void)use_units((void *)1);
    vgc_quiesce();
    vgc_assert(semaphore.vg_count == 1, "the unit is back");
    vgc_thread_join(a);
}

static void *age(void *arg)
{
    (void)arg;
    vgc_clock_advance(1000000);
    return NULL;
}

VGC_SCENARIO(share_semaphore_old, "units that are handed over are not lost", .bound = "3 threads, and the clock",
             .opt.mode = VGC_PCT, .opt.runs = 20000)
{
    (void)vigil_semaphore_init(&semaphore, 2, 2);
    pthread_t clock = vgc_thread_start(age, NULL);
    pthread_t a = vgc_thread_start(use_units, (void *)1);
    pthread_t b = vgc_thread_start(use_units, (void *)2);
    (void)use_units((void *)2);
    (void)use_units((void *)1);
    vgc_quiesce();
    vgc_assert(semaphore.vg_count == 2, "the units are back, and nothing is left in the word");
    vgc_thread_join(clock);
    vgc_thread_join(a);
    vgc_thread_join(b);
}

static void *acquire_for_a_moment(void *arg)
{
    (void)arg;
    if (vigil_semaphore_acquire(&semaphore, 2, 1000, NULL) == 0)
        (void)vigil_semaphore_post(&semaphore, 2);
    return NULL;
}

VGC_SCENARIO(share_semaphore_timeout, "who waits behind one that gave up goes on",
             .bound = "2 waiters, 1 with a timeout", .opt.mode = VGC_PCT, .opt.runs = 20000, .opt.early_timeouts = 1)
{
    (void)vigil_semaphore_init(&semaphore, 0, 0);
    pthread_t a = vgc_thread_start(acquire_for_a_moment, NULL);
    pthread_t b = vgc_thread_start(use_units, (void *)1);
    (void)vigil_semaphore_post(&semaphore, 1);
    vgc_thread_join(a);
    vgc_thread_join(b);
    vgc_assert(semaphore.vg_count == 1, "the unit is back, and nothing is left in the word");
}

/* ---- once ---- */

static int calls;

static int happen(void *arg)
{
    calls++; /* plain: one at a time */
    counter = 1;
    return calls == 1 && arg != NULL ? -5 : 0;
}

static void *let_happen(void *arg)
{
    if (vigil_once_run(&once, happen, arg, VIGIL_FOREVER, NULL) == 0)
        vgc_assert(counter == 1, "what fn did is seen");
    return NULL;
}

static void once_with(void *fail)
{
    pthread_t a = vgc_thread_start(let_happen, fail);
    pthread_t b = vgc_thread_start(let_happen, fail);
    vgc_thread_join(a);
    vgc_thread_join(b);
    vgc_assert(calls == (fail != NULL ? 2 : 1), "once, and again after a failure");
}

VGC_SCENARIO(share_once, "it happens once, and all see it", .bound = "2 threads")
{
    once_with(NULL);
}

VGC_SCENARIO(share_once_fails, "after a failure another tries", .bound = "2 threads")
{
    once_with(&calls);
}

/* ---- latch ---- */

static int parts[2];

static void *count_down(void *arg)
{
    *(int *)arg = 1;
    vgc_assert(vigil_latch_down((vigil_latch *)vgc_arg(), 1) == 0, "counted");
    return NULL;
}

static vigil_latch *heap_latch;

static void *down_on_heap(void *arg)
{
    *(int *)arg = 1;
    vgc_assert(vigil_latch_down(heap_latch, 1) == 0, "counted");
    return NULL;
}

VGC_SCENARIO(share_latch_freed, "whoever waits sees all, and may free the latch", .bound = "2 down, 1 waits")
{
    heap_latch = malloc(sizeof *heap_latch);
    (void)vigil_latch_init(heap_latch, 2);
    pthread_t a = vgc_thread_start(down_on_heap, &parts[0]);
    pthread_t b = vgc_thread_start(down_on_heap, &parts[1]);
    vgc_assert(vigil_latch_wait(heap_latch, VIGIL_FOREVER, NULL) == 0, "open");
    vgc_assert(parts[0] + parts[1] == 2, "both have counted down");
    free(heap_latch);
    vgc_thread_join(a);
    vgc_thread_join(b);
}

static void *wait_for_latch(void *arg)
{
    (void)arg;
    vgc_assert(vigil_latch_wait(&latch, VIGIL_FOREVER, NULL) == 0, "open");
    counter++;
    return NULL;
}

VGC_SCENARIO(share_latch_rest, "a latch that opens lets all go", .bound = "1 waits", .arg = &latch)
{
    (void)vigil_latch_init(&latch, 1);
    pthread_t a = vgc_thread_start(wait_for_latch, NULL);
    vgc_quiesce();
    (void)count_down(&parts[0]);
    vgc_quiesce();
    vgc_assert(counter == 1, "it went on");
    vgc_thread_join(a);
}

/* ---- barrier ---- */

static void *arrive(void *arg)
{
    *(int *)arg = 1;
    vgc_assert(vigil_barrier_wait(&barrier, VIGIL_FOREVER, NULL) >= 0, "passed");
    vgc_assert(parts[0] + parts[1] == 2, "both have arrived");
    return NULL;
}

VGC_SCENARIO(share_barrier, "nobody passes alone", .bound = "2 parties")
{
    (void)vigil_barrier_init(&barrier, 2);
    pthread_t a = vgc_thread_start(arrive, &parts[0]);
    (void)arrive(&parts[1]);
    vgc_thread_join(a);
}

static void *arrive_for_a_moment(void *arg)
{
    *(int *)arg = vigil_barrier_wait(&barrier, 1000, NULL);
    return NULL;
}

VGC_SCENARIO(share_barrier_timeout, "both pass or none", .bound = "2 parties with timeouts", .opt.mode = VGC_PCT,
             .opt.runs = 20000, .opt.early_timeouts = 1)
{
    (void)vigil_barrier_init(&barrier, 2);
    pthread_t a = vgc_thread_start(arrive_for_a_moment, &parts[0]);
    (void)arrive_for_a_moment(&parts[1]);
    vgc_thread_join(a);
    vgc_assert((parts[0] >= 0) == (parts[1] >= 0), "both or none");
    vgc_assert(barrier.vg_arrived == 0 && barrier.vg_waiters.vg_first == NULL, "nobody is left");
}

/* ---- rate ---- */

static _Atomic int units_taken;

static void *take_now(void *arg)
{
    (void)arg;
    const int status = vigil_rate_take(&rate, 1, 0, NULL);
    vgc_assert(status == 0 || status == -ETIMEDOUT, "taken, or too early");
    if (status == 0)
        (void)atomic_fetch_add_explicit(&units_taken, 1, memory_order_relaxed);
    return NULL;
}

VGC_SCENARIO(share_rate_now, "units are neither lost nor made", .bound = "3 threads x 1, 2 units in reserve")
{
    vgc_assert(vigil_rate_init(&rate, 1, 1000000, 2) == 0, "a rate is made");
    pthread_t a = vgc_thread_start(take_now, NULL);
    pthread_t b = vgc_thread_start(take_now, NULL);
    (void)take_now(NULL);
    vgc_thread_join(a);
    vgc_thread_join(b);
    vgc_assert(units_taken == 2, "the reserve, and no more");
    vgc_clock_advance(1000000);
    (void)take_now(NULL);
    (void)take_now(NULL);
    vgc_assert(units_taken == 3, "one came with the time");
}

static void *take_or_leave(void *arg)
{
    const int status = vigil_rate_take(&rate, 1, VIGIL_FOREVER, arg);
    vgc_assert(status == 0 || status == -ECANCELED, "taken, or cancelled");
    if (status == 0)
        (void)atomic_fetch_add_explicit(&units_taken, 1, memory_order_relaxed);
    return NULL;
}

VGC_SCENARIO(share_rate_cancel, "who leaves puts its unit back", .bound = "1 waiter that is cancelled",
             .opt.mode = VGC_PCT, .opt.runs = 5000)
{
    vigil_cancel_source *source = NULL;
    vgc_assert(vigil_rate_init(&rate, 1, 1000000000, 1) == 0, "a rate is made");
    vgc_assert(vigil_cancel_create(&source) == 0, "a token is made");
    (void)take_now(NULL);
    pthread_t a = vgc_thread_start(take_or_leave, vigil_cancel_token_of(source));
    (void)vigil_cancel_abort(source, -ECANCELED, NULL);
    vgc_thread_join(a);
    vgc_assert(units_taken == 1, "its instant has not come");
    vgc_clock_advance(1000000000);
    (void)take_now(NULL);
    vgc_assert(units_taken == 2, "its unit is for others");
    vigil_cancel_destroy(source);
}
