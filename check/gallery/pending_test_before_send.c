/* SPDX-License-Identifier: MIT */
/*
 * "Is a wake-up pending already?", asked before the data is out.
 *
 * To post to an event loop, a producer stores its item and sends a wake-up, unless one is pending: then the loop is coming
 * anyway. The loop takes the pending mark down and looks at the items.
 *
 * Claimed: the test is only a hint that saves a system call; if the mark is up, the loop has not looked yet.
 *
 * True: the mark is read while the item may still be in the store buffer. The mark is up from the post before; the producer sees it
 * and leaves; the loop takes the mark down, looks, and finds the old items. Then the item comes out of the store buffer, and nobody
 * looks any more. A widely used event loop had this for years. x86 shows it. It needs a producer that posts more than once, because
 * a first post never finds the mark up; tests with one post per producer pass for ever.
 *
 * The loop's bell here is what an eventfd is: a count that stays until it is read. Bell and mark are changed by atomic exchanges; the
 * mistake is not there. In the control there is a full fence between item and test, and one between taking the mark down and the look.
 */
#include "gallery.h"

enum {
    POSTS = 3
};

static bool fenced;
static _Atomic int items; /* how many were posted: stored by the one producer */
static _Atomic unsigned pending, bell;

static void full_fence(void)
{
    if (fenced)
        atomic_thread_fence(memory_order_seq_cst); /* in post: item before test; in loop: mark before look; a pair */
}

static void post(int number)
{
    atomic_store_explicit(&items, number, memory_order_release); /* the item; pairs with the load in loop */
    full_fence();
    if (atomic_load_explicit(&pending, memory_order_relaxed))
        return;
    if (atomic_exchange_explicit(&pending, 1, memory_order_acq_rel)) /* as the original: at most one sends */
        return;
    atomic_store_explicit(&bell, 1, memory_order_release); /* write to the eventfd */
    futex_wake(&bell, 1);
}

static void *loop(void *arg)
{
    (void)arg;
    for (int done = 0; done < POSTS;) {
        while (!atomic_exchange_explicit(&bell, 0, memory_order_acq_rel)) /* read of the eventfd */
            futex_wait(&bell, 0);
        (void)atomic_exchange_explicit(&pending, 0, memory_order_acq_rel); /* as the original: the mark comes down */
        full_fence();
        done = atomic_load_explicit(&items, memory_order_acquire); /* pairs with post */
    }
    return NULL;
}

static void three_posts(void)
{
    fenced = *(const bool *)vgc_arg();
    pthread_t t = vgc_thread_start(loop, NULL);
    for (int i = 1; i <= POSTS; i++)
        post(i);
    vgc_thread_join(t);
}

static const bool yes = true, no = false;

VGC_REGISTER(relaxed_test, "pending_test_before_send", three_posts, "each post is seen by the loop", .arg = &no,
             .expect = VGC_DEADLOCK, .bound = "1 producer x 3", .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(fenced_test, "pending_test_after_fence", three_posts, "each post is seen by the loop", .arg = &yes,
             .bound = "1 producer x 3", .opt.time_limit = GALLERY_SECONDS);
