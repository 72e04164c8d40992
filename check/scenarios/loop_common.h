/* SPDX-License-Identifier: MIT */
/*
 * What the scenarios of the loop share: posts that count themselves, producers, and a loop that is filled in by hand.
 *
 * Every post says once and for all what became of it: accepted or refused, run or cancelled. It carries a number that its
 * producer writes plainly right before the post, and one that the producer writes right after it (`after`); the first must
 * be seen by the callback, the second by whoever waited for the end of the loop.
 */
#ifndef VIGIL_CHECK_LOOP_COMMON_H
#define VIGIL_CHECK_LOOP_COMMON_H

#include <vigil/loop.h>
#include <vigil_check.h>

#include "base/clock.h"
#include "base/thread.h"
#include "loop/ending.h"
#include "loop/guard.h"
#include "loop/sleep.h"
#include "record/checked.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

enum {
    MOST_POSTS = 10,
    MOST_PRODUCERS = 2
};

typedef struct counted_post {
    vigil_post node; /* for posts that lie in their sender's memory */
    int payload;     /* plainly written before the post, read by the callback */
    int producer;
    bool given;
    _Atomic int refused;
    _Atomic int ran;
    _Atomic int cancelled;
} counted_post;

static counted_post posts[MOST_POSTS];
static int last_of[MOST_PRODUCERS + 1]; /* callbacks only: the newest post of each producer that ran */

static inline int number_of(const counted_post *post)
{
    return (int)(post - posts);
}

static inline void post_ran(void *arg)
{
    counted_post *post = arg;
    vgc_note("post %d runs", number_of(post));
    vgc_assert(post->payload == 1 + number_of(post), "what the producer wrote came with the post");
    vgc_assert(post->payload > last_of[post->producer], "posts of one producer run in their order");
    last_of[post->producer] = post->payload;
    vgc_assert(atomic_fetch_add_explicit(&post->ran, 1, memory_order_relaxed) == 0, "a post ran twice");
}

static inline void post_cancelled(void *arg)
{
    counted_post *post = arg;
    vgc_note("post %d is cancelled", number_of(post));
    vgc_assert(post->payload == 1 + number_of(post), "what the producer wrote came with the post");
    vgc_assert(atomic_fetch_add_explicit(&post->cancelled, 1, memory_order_relaxed) == 0, "a post was cancelled twice");
}

static inline counted_post *post_make(int number, int producer)
{
    counted_post *post = &posts[number];
    post->payload = 1 + number;
    post->producer = producer;
    post->given = true;
    return post;
}

static inline void post_answered(counted_post *post, int error)
{
    vgc_assert(error == 0 || error == -ESHUTDOWN, "a post is accepted, or refused because the loop ends");
    atomic_store_explicit(&post->refused, error != 0, memory_order_relaxed);
}

static inline bool was_refused(int number)
{
    return atomic_load_explicit(&posts[number].refused, memory_order_relaxed) != 0;
}

static inline int ran(int number)
{
    return atomic_load_explicit(&posts[number].ran, memory_order_relaxed);
}

static inline int cancelled(int number)
{
    return atomic_load_explicit(&posts[number].cancelled, memory_order_relaxed);
}

/* Accepted is run (or cancelled), once; refused is neither. */
static inline void each_post_ended_once(bool must_run)
{
    for (int i = 0; i < MOST_POSTS; i++) {
        if (!posts[i].given)
            continue;
        if (was_refused(i))
            vgc_assert(ran(i) + cancelled(i) == 0, "a refused post is left alone");
        else if (must_run)
            vgc_assert(ran(i) == 1 && cancelled(i) == 0, "an accepted post has run: the loop does not sleep beside it");
        else
            vgc_assert(ran(i) + cancelled(i) == 1, "an accepted post has run or was cancelled");
    }
}

/* ---- the loop ---- */

static vigil_loop *loop;

static inline void *run_the_loop(void *arg)
{
    (void)arg;
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    return NULL;
}

static inline void loop_make(vigil_fast_path bed, bool stay)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.fast_path = bed;
    options.stay = stay;
    vgc_assert(vigil_loop_create(&loop, &options) == 0, "the loop is made");
}

static inline void post_number(int number, int producer)
{
    counted_post *post = post_make(number, producer);
    post_answered(post, vigil_loop_call(loop, post_ran, post_cancelled, post));
}

static inline bool asleep(void)
{
    return vg_state(loop) == VIGIL_LOOP_SLEEPING;
}

#endif
