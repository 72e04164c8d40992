/* SPDX-License-Identifier: MIT */
/*
 * shared.h - waits of src/share as operations.
 */
#ifndef VG_PROMISE_SHARED_H
#define VG_PROMISE_SHARED_H

#include "op.h"
#include "pool/quiescence.h"
#include "share/channel.h"

typedef struct vg_shared vg_shared;

/* How one kind of wait begins, ends early, and is put back. Answers are those of a channel: VG_CHANNEL_DONE,
   VG_CHANNEL_WAIT, or an error. */
typedef struct vg_shared_kind {
    int (*attempt)(vg_shared *wait); /* owner: do it at once, join nothing. NULL: join does it */
    int (*join)(vg_shared *wait,
                bool again);       /* owner: do it, or join the lists. VG_CHANNEL_WAIT: a waker will notify */
    void (*left)(vg_shared *wait); /* owner: the sleeper has left; take it out of its lists */
    void (*undo)(vg_shared *wait); /* any thread: it was given or woken for nobody. NULL: nothing to put back */
    void (*given)(vg_shared *wait,
                  uint32_t end);      /* owner: the end is GIVEN or CLOSED; set the answer. NULL: as it is */
    bool (*abandon)(vg_shared *wait); /* owner: it left because of its token. True: it goes on. NULL: it ends */
    bool handed;  /* what is given lies in the caller's memory: a wait that was given ends so, also with its loop */
    bool counts;  /* fulfilled with `number`, not VIGIL_NONE */
    bool several; /* a select: in several lists, of which a waker leaves one */
} vg_shared_kind;

/* In a slab, with two references: the operation's, and that of the waker, who posts the end to the loop. */
struct vg_shared {
    vigil_post post; /* first; the waker's */
    _Atomic uint32_t refs;
    int answer; /* owner: an error that a wait which is given ends with */
    const vg_shared_kind *kind;
    vg_op *op; /* owner; NULL: it is over */
    vg_realm *realm;
    int64_t number; /* owner */
    vg_sleeper sleeper;
    union {
        vg_channel_wait channel;
        struct {                    /* of a select */
            vg_channel_wait *waits; /* in memory of its own, freed with the wait */
            vigil_channel_case *cases;
            size_t count;
        };
        bool relocks; /* of a condition: it waits for the mutex alone */
        struct {      /* of a pool */
            vg_idle_watch watch;
            _Atomic bool missed; /* the watch was called after the wait had left, and is done with it */
        };
    };
};

/* Owner. Begin the wait that `with` describes: kind, sleeper.kind, .object and .amount, and the union. with->waits is
   taken over, also if it fails. */
int vg_shared_begin(vigil_loop *loop, vg_shared *with, vigil_cancel_token *token, const void *created,
                    vigil_promise **promise);

/* What vg_shared_begin reads of a description, but the union. */
static inline void vg_shared_describe(vg_shared *with, const vg_shared_kind *kind, uint32_t share, void *object)
{
    with->kind = kind;
    with->answer = 0;
    with->number = 0;
    with->sleeper.kind = share;
    with->sleeper.object = object;
    with->sleeper.amount = 0;
    with->sleeper.mutex = NULL;
}

/* Owner. Send or receive a message that could not pass at once just now. */
int vg_promise_message(vigil_loop *loop, const vg_channel_wait *message, vigil_cancel_token *token, const void *created,
                       vigil_promise **promise);

size_t vg_shared_size(void);

/* Owner. The operation waits for a lock, units or a channel and was just given it: an abort or timeout comes too late.
   If not, its sleeper has left, and the operation must be finished. */
bool vg_op_was_given(vg_op *op);

/* Owner. The loop ends. True: what the operation waited for is in the caller's memory, and it ends with *value. */
bool vg_op_was_handed(vg_op *op, vigil_value *value);

/* For vigil_promise_once: fulfilled with 1 if the caller is to try. */
int vg_promise_once_enter(vigil_loop *loop, vigil_once *once, vigil_cancel_token *token, vigil_promise **promise);

#endif
