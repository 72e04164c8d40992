/* SPDX-License-Identifier: MIT */
/*
 * ingress.h - the queue of posts: any thread pushes, the owner takes. INGRESS.md is the specification; I1 to I5 are
 * its invariants.
 */
#ifndef VG_LOOP_INGRESS_H
#define VG_LOOP_INGRESS_H

#include "chunks.h"

#include <vigil/loop.h>

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*vg_call_fn)(void *arg);

#ifdef VIGIL_CHECK
enum {
    VG_CHUNK_SLOTS = 2
};
#else
enum {
    VG_CHUNK_SLOTS = 160
};
#endif

typedef struct vg_ingress_slot {
    _Atomic uint64_t run; /* 0: not published; else the function, and VG_INGRESS_LEFT */
    void *arg;            /* producer's until `run` is published, then the owner's */
} vg_ingress_slot;

/* With `run`: the producer has left the loop. No function's address has this bit. */
#define VG_INGRESS_LEFT (UINT64_C(1) << 63)

typedef struct vg_chunk {
    vg_chunk_head head;
    _Atomic(struct vg_chunk *) next;
    _Atomic uint32_t any_cancel; /* 1: some of `cancels` are set */
    alignas(64) vg_ingress_slot slots[VG_CHUNK_SLOTS];
    vg_call_fn cancels[VG_CHUNK_SLOTS]; /* as `arg`; NULL: none */
} vg_chunk;

typedef struct vg_ingress {
    alignas(64) _Atomic uint64_t word; /* every producer writes it: a line of its own */
    alignas(64) _Atomic bool door;     /* true once closed; read before the word, so refusals do not count (I5) */
    _Atomic uint64_t last_word;        /* the word at the instant of closing; 0: not known yet */
    _Atomic uint64_t bound;            /* most that may wait; 0: none. Written before producers exist */
    alignas(64) vg_chunk_pool pool;
    _Atomic uint64_t installed;           /* chunks that have had a successor; for statistics */
    alignas(64) _Atomic uint64_t waiting; /* posts accepted and not taken; kept only with a bound */
    alignas(64) vg_chunk *head;           /* owner's from here: chunk of the next place to take */
    uint32_t at;                          /* that place */
    vg_chunk *limbo;                      /* taken, but not yet left by all; linked by `next` */
    _Atomic uint64_t taken;               /* owner writes, anybody reads */
} vg_ingress;

/* The parts of the word. */
#define VG_INGRESS_COUNT         ((UINT64_C(1) << 27) - 1)
#define VG_INGRESS_CLOSED        (UINT64_C(1) << 27)
#define VG_INGRESS_ADDRESS_SHIFT 28
#define VG_INGRESS_CHUNK_SHIFT   12

static inline vg_chunk *vg_ingress_chunk(uint64_t word)
{
    return (vg_chunk *)(uintptr_t)((word >> VG_INGRESS_ADDRESS_SHIFT) << VG_INGRESS_CHUNK_SHIFT);
}

static inline uint64_t vg_ingress_count(uint64_t word)
{
    return word & VG_INGRESS_COUNT;
}

/* A producer's place. */
typedef struct vg_ingress_place {
    vg_chunk *chunk;
    uint64_t at;
} vg_ingress_place;

/* A place between two posts. */
typedef struct vg_ingress_mark {
    const vg_chunk *chunk;
    uint32_t at;
} vg_ingress_mark;

typedef struct vg_taken {
    vg_call_fn run;
    void *arg;
} vg_taken;

/* 0; -ENOMEM. bound: most posts that may wait, 0 for no bound. */
int vg_ingress_init(vg_ingress *queue, uint64_t bound);

/* Free the chunks. Nobody uses the queue; its posts are forgotten. */
void vg_ingress_destroy(vg_ingress *queue);

/* The newest chunk is used up: take a place in a new one, ours or another producer's. */
int vg_ingress_place_slowly(vg_ingress *queue, vg_ingress_place *place);
/* The queue has a bound. */
int vg_ingress_push_bounded(vg_ingress *queue, uint64_t bound, vg_call_fn run, vg_call_fn cancel, void *arg,
                            vigil_post **known, vg_ingress_slot **place);

/* A producer prefetches, for writing, this many places ahead. */
enum {
    VG_PREFETCH_SLOTS = 16
};
/* The owner prefetches this far ahead, but nothing that a producer may be filling. */
enum {
    VG_READ_AHEAD = 32
};
/* For functions that push: lets gcc emit prefetchw. Processors without it ignore it. */
#if defined(__x86_64__)
#define VG_PUSHES __attribute__((target("prfchw")))
#else
#define VG_PUSHES
#endif

/* A push without a look at door and bound. known: learns its place before it is published, for vg_ingress_withdraw;
   NULL: nobody. */
static inline int vg_ingress_put(vg_ingress *queue, vg_call_fn run, vg_call_fn cancel, void *arg, vigil_post **known,
                                 vg_ingress_slot **place)
{
    /* acquire: the chunk's zeros; pairs with the release in vg_ingress_place_slowly */
    uint64_t word = atomic_fetch_add_explicit(&queue->word, 1, memory_order_acquire);
    vg_ingress_place it = {vg_ingress_chunk(word), vg_ingress_count(word)};
    if (__builtin_expect((word & VG_INGRESS_CLOSED) != 0 || it.at >= VG_CHUNK_SLOTS, 0)) {
        int rc = vg_ingress_place_slowly(queue, &it);
        if (rc != 0)
            return rc;
    }
    vg_ingress_slot *slot = &it.chunk->slots[it.at];
    __builtin_prefetch((const char *)slot + VG_PREFETCH_SLOTS * sizeof *slot,
                       1); /* it may lie behind the slots: a hint */
    slot->arg = arg;
    if (known != NULL)
        __atomic_store_n(known, (vigil_post *)(void *)slot, __ATOMIC_RELAXED); /* the owner may look at any time */
    if (cancel != NULL) {
        it.chunk->cancels[it.at] = cancel;
        if (atomic_load_explicit(&it.chunk->any_cancel, memory_order_relaxed) == 0) /* the line is everybody's */
            atomic_store_explicit(&it.chunk->any_cancel, 1, memory_order_relaxed);  /* the next release publishes it */
    }
    /* release: arg, cancel, and what the producer wrote before the post; pairs with the acquire in vg_ingress_take
       (I1) */
    atomic_store_explicit(&slot->run, (uint64_t)(uintptr_t)run, memory_order_release);
    *place = slot;
    return 0;
}

/* Any thread. Publish a post. 0: wake the loop, then pass *place to vg_ingress_leave. -ESHUTDOWN; -EAGAIN: bound
   reached; -ENOMEM. */
static inline int vg_ingress_push_known(vg_ingress *queue, vg_call_fn run, vg_call_fn cancel, void *arg,
                                        vigil_post **known, vg_ingress_slot **place)
{
    if (atomic_load_explicit(&queue->door, memory_order_relaxed)) /* a hint; the word decides */
        return -ESHUTDOWN;
    uint64_t bound = atomic_load_explicit(&queue->bound, memory_order_relaxed);
    if (bound != 0)
        return vg_ingress_push_bounded(queue, bound, run, cancel, arg, known, place);
    return vg_ingress_put(queue, run, cancel, arg, known, place);
}

static inline int vg_ingress_push(vg_ingress *queue, vg_call_fn run, vg_call_fn cancel, void *arg,
                                  vg_ingress_slot **place)
{
    return vg_ingress_push_known(queue, run, cancel, arg, NULL, place);
}

/* The same past the bound. */
int vg_ingress_push_unbounded(vg_ingress *queue, vg_call_fn run, vg_call_fn cancel, void *arg, vg_ingress_slot **place);

/* Any thread: the last touch of a push, with the same `run`. */
static inline void vg_ingress_leave(vg_ingress_slot *place, vg_call_fn run)
{
    /* release: all that this producer did with the loop comes before its end. Pairs with the acquires in slot_is_left
       and vg_ingress_take */
    atomic_store_explicit(&place->run, (uint64_t)(uintptr_t)run | VG_INGRESS_LEFT, memory_order_release);
}

/* Owner, after a full fence (SLEEP.md). Is the next place published? */
bool vg_ingress_ready(const vg_ingress *queue);

/* Owner, after a full fence: later producers see what the owner stored before it. True: no place is given out and not
   taken. */
bool vg_ingress_idle(vg_ingress *queue);

/* Owner. The end of what is accepted: the snapshot of a phase. */
vg_ingress_mark vg_ingress_end(const vg_ingress *queue);

/* Owner. Take back what was pushed with `arg` and lies at `place`: `instead` is passed to run or cancel in its place.
   False: it is not there, or not published yet. Looks at each chunk until that one. */
bool vg_ingress_withdraw(vg_ingress *queue, uintptr_t place, const void *arg, void *instead);

/* Owner. Go on to the next chunk, if there is one. */
bool vg_ingress_next_chunk(vg_ingress *queue);

/* Owner. How much of the head chunk lies before `end`. */
static inline uint32_t vg_ingress_stop(const vg_ingress *queue, vg_ingress_mark end)
{
    return queue->head == end.chunk ? end.at : VG_CHUNK_SLOTS;
}

static inline bool vg_ingress_at_end(const vg_ingress *queue, vg_ingress_mark end)
{
    return queue->head == end.chunk && queue->at == end.at;
}

/* Owner. Take the next post before `end`; false: none, or not published. */
static inline bool vg_ingress_take(vg_ingress *queue, vg_ingress_mark end, vg_taken *post)
{
    uint32_t stop = vg_ingress_stop(queue, end);
    if (queue->at == stop) {
        if (queue->head == end.chunk || !vg_ingress_next_chunk(queue))
            return false;
        stop = vg_ingress_stop(queue, end);
        if (stop == 0) /* the step has reached the end */
            return false;
    }
    vg_ingress_slot *slot = &queue->head->slots[queue->at];
    if (queue->at + VG_READ_AHEAD < stop)
        __builtin_prefetch(slot + VG_READ_AHEAD);
    /* acquire: what the producer wrote; pairs with the release in vg_ingress_put (I1) */
    uint64_t run = atomic_load_explicit(&slot->run, memory_order_acquire);
    if (run == 0)
        return false;
    post->run = (vg_call_fn)(uintptr_t)(run & ~VG_INGRESS_LEFT);
    post->arg = slot->arg;
    queue->at++;
    uint64_t taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);
    atomic_store_explicit(&queue->taken, taken + 1, memory_order_relaxed);
    if (atomic_load_explicit(&queue->bound, memory_order_relaxed) != 0)
        (void)atomic_fetch_sub_explicit(&queue->waiting, 1, memory_order_relaxed);
    return true;
}

/* Owner. The cancel function of the last post taken; NULL: none. */
static inline vg_call_fn vg_ingress_cancel(const vg_ingress *queue)
{
    return queue->head->cancels[queue->at - 1]; /* a chunk is retired only by the take behind its last place */
}

/* Any thread: posts accepted. Exact unless a producer is bringing a chunk. */
uint64_t vg_ingress_accepted(const vg_ingress *queue);

/* Any thread. Refuse from now on. */
void vg_ingress_close(vg_ingress *queue);

/* Owner. Refuse from now on if all accepted posts are taken; true: closed now. */
bool vg_ingress_close_if_drained(vg_ingress *queue);

/* Owner, door closed: are all accepted posts taken? */
bool vg_ingress_drained(const vg_ingress *queue);

/* Owner, door closed and drained: wait until each producer has left. None of them can block. */
void vg_ingress_quiesce(vg_ingress *queue);

/* The only thread of a forked child: places of threads that are not here are filled with nothing, and all have left. */
void vg_ingress_after_fork(vg_ingress *queue);

#endif
