/* SPDX-License-Identifier: MIT */
/*
 * A result that is dropped because a channel is full.
 *
 * A worker delivers the results of promises through a channel that holds one. If it is full, the worker writes a warning to the log and goes on,
 * so that it never blocks.
 *
 * Claimed: a send that cannot block cannot deadlock.
 *
 * True: it can, at the other end: whoever awaits the second result awaits it for ever. And the warning goes where nobody
 * is looking. Not blocking is right; throwing away is not. In the control each result lies in the memory of its own promise, and what is
 * sent is only the news that there is something: news may be merged, results may not.
 */
#include "gallery.h"

enum {
    RESULTS = 2
};

static bool drops;
static _Atomic unsigned channel;          /* 0: empty; else a result */
static _Atomic unsigned promise[RESULTS]; /* the control: where a result has its own place */

static void deliver(unsigned result)
{
    if (!drops) {
        atomic_store_explicit(&promise[result - 1], result, memory_order_relaxed); /* shown by the channel's store */
        atomic_store_explicit(&channel, 1, memory_order_release);                  /* the result; pairs with receive */
        futex_wake(&channel, 1);
        return;
    }
    unsigned empty = 0;
    /* release: the result; pairs with receive */
    if (atomic_compare_exchange_strong_explicit(&channel, &empty, result, memory_order_release, memory_order_relaxed))
        futex_wake(&channel, 1);
    else
        vgc_note("warning: channel full, result %u dropped", result);
}

static void *worker(void *arg)
{
    (void)arg;
    for (unsigned result = 1; result <= RESULTS; result++)
        deliver(result);
    return NULL;
}

static unsigned collect(unsigned received)
{
    if (drops)
        return received != 0;
    unsigned found = 0;
    for (int i = 0; i < RESULTS; i++)
        found += atomic_exchange_explicit(&promise[i], 0, memory_order_relaxed) != 0;
    return found;
}

static void await_all(void)
{
    drops = *(const bool *)vgc_arg();
    pthread_t t = vgc_thread_start(worker, NULL);
    for (unsigned settled = 0; settled < RESULTS;) {
        unsigned received = atomic_exchange_explicit(&channel, 0, memory_order_acquire); /* pairs with deliver */
        if (received == 0)
            futex_wait(&channel, 0);
        settled += collect(received);
    }
    vgc_thread_join(t);
}

static const bool yes = true, no = false;

VGC_REGISTER(dropped, "result_dropped", await_all, "each promise is settled", .arg = &yes, .expect = VGC_DEADLOCK,
             .bound = "1 worker, 2 results", .opt.sc_memory = true, .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(kept, "result_kept", await_all, "each promise is settled", .arg = &no, .bound = "1 worker, 2 results",
             .opt.spurious = 1, .opt.time_limit = GALLERY_SECONDS);
