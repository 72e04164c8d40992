/* SPDX-License-Identifier: MIT */
/*
 * op.h - operations: what settles a promise of the library. An operation is in the realm's list until it finishes,
 * once, on the owner: what it waits for has come, its token was aborted, its time is up, or the loop ends. References:
 * the list, an abort in the lane, an open watch, a task in a pool.
 */
#ifndef VG_PROMISE_OP_H
#define VG_PROMISE_OP_H

#include "base/list.h"
#include "share/cancel.h"
#include "realm.h"

#include <vigil/pool.h>

/* vigil_async: where the call is */
enum {
    VG_CALL_WAITS = 0, /* for its limit: not submitted */
    VG_CALL_QUEUED,    /* submitted to the pool */
    VG_CALL_RUNNING,
    VG_CALL_DEAD, /* will not be run */
    VG_CALL_OVER  /* its result is on the way to the loop */
};

typedef struct vg_op vg_op;

struct vg_op {
    vigil_post abort_post; /* first */
    _Atomic uint32_t refs;
    bool finished; /* owner */
    bool kept;     /* owner: it keeps the loop alive by itself */
    uint8_t slab; /* whose memory it is: VG_SLAB_OPS, _CALLS with the part of vigil_async, _WAITS with above[0] alone */
    vg_realm *realm;
    vigil_promise *promise;    /* owner: a user's reference until it is finished; may be NULL */
    vg_list_link in_realm;     /* owner: in the list of those in flight */
    vigil_cancel_token *token; /* owner: a reference, or NULL */
    vigil_cancel_handler handler;
    void (*stop)(vg_op *op); /* owner: take back what it waits for; may be NULL */
    vigil_timer timer;       /* owner; 0: none */
    union {
        uint64_t id;        /* of a watch, a child or a signal; the address of a shared_wait */
        void *above[8];     /* for a room above */
        vg_removable guard; /* vigil_promise_guard: in the list of the guarded promise */
        struct {            /* vigil_cancel_create_timeout */
            vg_cancel_clock clock;
            vigil_cancel_source *source; /* a reference */
        };
        struct { /* vigil_async, and in VG_SLAB_CALLS alone */
            vigil_task task;
            vigil_post deliver_post;
            _Atomic uint32_t call;
            vigil_priority priority;
            vigil_pool *pool;
            vigil_async_fn fn;
            void *arg;
            void (*done)(void *arg);    /* owner; NULL: arg_users and after are not used */
            _Atomic uint32_t arg_users; /* the pool's and the loop's side; the last calls done */
            vg_link after;              /* the last reaction of its promise */
            vigil_value result;
            vigil_limit *limit;    /* owner: it has a place in it */
            vg_list_link in_limit; /* owner: waits for a place */
        };
    };
};

/* Owner. In the list, with one reference, and a promise if created is not NULL, with a reference for the operation
   and one for the user. slab: VG_SLAB_OPS, _CALLS or _WAITS. NULL: *error says why. */
vg_op *vg_op_new_of(vg_realm *realm, uint8_t slab, vigil_cancel_token *token, const void *created, int *error);

static inline vg_op *vg_op_new(vg_realm *realm, vigil_cancel_token *token, const void *created, int *error)
{
    return vg_op_new_of(realm, VG_SLAB_OPS, token, created, error);
}
/* Owner. What vg_op_new asks first: 0; -ECANCELED the token is aborted; -ESHUTDOWN the loop ends. */
int vg_op_may_begin(const vg_realm *realm, vigil_cancel_token *token);
/* Owner. The last step of a start: from here on the token and the time may finish it, and the user gets the promise.
   0; else it is discarded. */
int vg_op_arm(vg_op *op, vigil_cancel_token *token, int64_t timeout_ns, vigil_promise **promise);
/* Owner. It could not be started: nothing of it is seen. */
void vg_op_discard(vg_op *op);
/* Owner. Takes the value over; destroys it if it is finished already. */
void vg_op_finish(vg_op *op, vigil_value value);
/* Owner. Nothing can finish it: its promise stays pending. */
void vg_op_forget(vg_op *op);
/* Any thread. */
void vg_op_ref(vg_op *op);
void vg_op_unref(vg_op *op);

size_t vg_op_size(int slab);
/* Owner. The loop ends. True: there was something. */
bool vg_realm_end_ops(vg_realm *realm);
/* Owner. In a forked child: what is on a pool stays with the parent. */
void vg_realm_fork_ops(vg_realm *realm);

#endif
