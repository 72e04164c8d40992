/* SPDX-License-Identifier: MIT */
/*
 * fifo.h - the owner's queues: ticks, microtasks, immediates, deferred calls. One thread; the only atomic is the
 * queued mark of a post, because other threads may try to post it.
 *
 * A queued thing is a vigil_post. A function with an argument travels in a vg_call, whose post has run == NULL: that
 * saves an indirect call per microtask.
 */
#ifndef VG_LOOP_FIFO_H
#define VG_LOOP_FIFO_H

#include <vigil/loop.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vg_fifo {
    vigil_post *first;
    vigil_post *last;
    size_t count;
} vg_fifo;

typedef struct vg_call {
    vigil_post post; /* run == NULL: it is a vg_call */
    vigil_call_fn fn;
    vigil_call_fn cancel;
    void *arg;
    uint64_t reserved;
} vg_call;

/* The owner's store of calls. A block is as large as all before it, up to a huge page. */
typedef struct vg_call_block {
    struct vg_call_block *next;
    size_t bytes;
} vg_call_block;

typedef struct vg_call_store {
    vigil_post *free; /* linked by vg_next */
    vg_call *fresh;   /* the part of the newest block that was never used */
    vg_call *fresh_end;
    vg_call_block *blocks;
    _Atomic uint64_t bytes; /* of all blocks; written by the owner */
} vg_call_store;

static inline void vg_fifo_push(vg_fifo *fifo, vigil_post *post)
{
    post->vg_next = NULL;
    if (fifo->first == NULL)
        fifo->first = post;
    else
        fifo->last->vg_next = post;
    fifo->last = post;
    fifo->count++;
}

static inline vigil_post *vg_fifo_pop(vg_fifo *fifo)
{
    vigil_post *post = fifo->first;
    if (post != NULL) {
        fifo->first = post->vg_next;
        fifo->count--;
    }
    return post;
}

/* Put all of `tail` behind `fifo`; `tail` is empty afterwards. */
static inline void vg_fifo_append(vg_fifo *fifo, vg_fifo *tail)
{
    if (tail->first == NULL)
        return;
    if (fifo->first == NULL)
        fifo->first = tail->first;
    else
        fifo->last->vg_next = tail->first;
    fifo->last = tail->last;
    fifo->count += tail->count;
    tail->first = NULL;
    tail->count = 0;
}

/* A call that was never used; NULL: no memory. */
vg_call *vg_call_refill(vg_call_store *store);

/* Free every block. No call is in use. */
void vg_call_store_destroy(vg_call_store *store);

static inline vg_call *vg_call_new(vg_call_store *store)
{
    vigil_post *post = store->free;
    if (post == NULL)
        return vg_call_refill(store);
    store->free = post->vg_next;
    return (vg_call *)post;
}

static inline void vg_call_free(vg_call_store *store, vg_call *call)
{
    call->post.vg_next = store->free;
    store->free = &call->post;
}

/* Run what was popped. Its memory is free for reuse before the function is entered. */
static inline void vg_fifo_run(vg_call_store *store, vigil_post *post)
{
    if (post->run == NULL) {
        vg_call *call = (vg_call *)post;
        vigil_call_fn fn = call->fn;
        void *arg = call->arg;
        vg_call_free(store, call);
        fn(arg);
        return;
    }
    /* release: our read of vg_next comes before the next push; pairs with the acquire in vg_post_claim */
    atomic_store_explicit(&post->vg_queued, 0, memory_order_release);
    post->run(post);
}

static inline void vg_fifo_cancel(vg_call_store *store, vigil_post *post)
{
    if (post->run == NULL) {
        vg_call *call = (vg_call *)post;
        vigil_call_fn cancel = call->cancel;
        void *arg = call->arg;
        vg_call_free(store, call);
        if (cancel != NULL)
            cancel(arg);
        return;
    }
    atomic_store_explicit(&post->vg_queued, 0, memory_order_release); /* release: as above */
    if (post->cancel != NULL)
        post->cancel(post);
}

/* Any thread. Mark a post as queued; false: it already is. */
static inline bool vg_post_claim(vigil_post *post)
{
    /* acquire: the loop's last look at the post comes before our writes; pairs with the release in vg_fifo_run */
    return atomic_exchange_explicit(&post->vg_queued, 1, memory_order_acquire) == 0;
}

#endif
