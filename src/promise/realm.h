/* SPDX-License-Identifier: MIT */
/*
 * realm.h - what a loop has of promises: their memory, the lists of the pending and the rejected.
 */
#ifndef VG_PROMISE_REALM_H
#define VG_PROMISE_REALM_H

#include "base/fence.h"
#include "base/list.h"
#include "base/mutex.h"
#include "base/slab.h"
#include "loop/guard.h"
#include "loop/tally.h"
#include "loop/upstairs.h"
#include "object.h"

#include <vigil/promise.h>

enum {
    VG_SLAB_PROMISES = 0,
    VG_SLAB_OPS,
    VG_SLAB_CALLS, /* operations of vigil_async, which are larger */
    VG_SLAB_WAITS, /* operations with one word of the room above, which are smaller */
    VG_SLAB_SHARED,
    VG_SLABS
};

#ifdef VIGIL_CHECK
enum {
    VG_REALM_STRIPES = 1
};
#else
enum {
    VG_REALM_STRIPES = 8
};
#endif

/* For threads that are not the owner. */
typedef struct vg_realm_stripe {
    alignas(64) vg_mutex lock;
    vg_slab_cache caches[VG_SLABS];
} vg_realm_stripe;

/* What a loop has of promises. It keeps the memory of struct vigil_loop until the loop is destroyed and the last
   promise and operation are gone. */
struct vg_realm {
    vg_upstairs upstairs; /* first */
    vigil_loop *loop;
    vg_fence_mode fences;
    _Atomic bool traced;                  /* debug builds: somebody wants to know where promises are made */
    _Atomic bool ended;                   /* nothing is pending and nothing new is accepted. Written under away_lock */
    alignas(64) _Atomic uint64_t waiters; /* threads in vigil_promise_wait */
    alignas(64) _Atomic int64_t away;     /* objects made minus freed on other threads, and VG_REALM_OPEN */
    _Atomic uint64_t away_created, away_destroyed;
    vg_mutex away_lock;
    vg_list away_pending; /* under away_lock */

    /* Owner. */
    alignas(64) vg_slab_cache caches[VG_SLABS];
    _Atomic uint64_t own; /* operations and their waits made minus freed by the owner; one writer */
    _Atomic uint64_t own_created, own_destroyed;
    vg_list pending;
    vg_list open;                /* the pending that only the program can settle, oldest first */
    const vigil_promise *oldest; /* of these, at the last rest; a name, never followed */
    uint8_t oldest_stamp;
    vg_list rejected;       /* to be looked at at the end of the checkpoint */
    vigil_promise *to_bury; /* linked by link.post.vg_next */
    bool burying;
    bool ending;
    unsigned end_rounds;
    vg_list ops; /* in flight, the newest first */
    _Atomic uint64_t in_flight;
    _Atomic uint64_t unhandled;
    _Atomic uint64_t handled_late;
    vigil_promise_hooks hooks;
    void *io; /* owner: of the room above, or NULL */
    void (*io_forked)(void *io);
    void (*io_gone)(void *io); /* a child destroys a loop that is its parent's: nobody is notified of the end */

    vg_slab slabs[VG_SLABS];
    vg_realm_stripe stripes[VG_REALM_STRIPES];
};

#define VG_REALM_OPEN (INT64_C(1) << 40)

/* Made if there is none. Any thread. NULL: *error says why. */
vg_realm *vg_realm_of(vigil_loop *loop, int *error);
/* The same for owner's calls. */
vg_realm *vg_realm_of_owner(vigil_loop *loop, int *error);
/* Memory that may outlive the loop. NULL: none. _away: on other threads. */
void *vg_realm_alloc_away(vg_realm *realm, int slab);
void vg_realm_free_away(vg_realm *realm, int slab, void *object);
static inline void *vg_realm_alloc(vg_realm *realm, int slab);
static inline void vg_realm_free(vg_realm *realm, int slab, void *object);
/* An owner's call begins with this: right thread, and not ended. */
static inline int vg_realm_guard_owner(const vg_realm *realm);
int vg_realm_guard_owner_slow(const vg_realm *realm);

static inline bool vg_realm_ended(const vg_realm *realm)
{
    /* acquire: every promise is settled; pairs with the release in realm_end */
    return atomic_load_explicit(&realm->ended, memory_order_acquire);
}

static inline bool vg_on_owner(const vg_realm *realm)
{
    return vg_is_owner(realm->loop);
}

static inline int vg_realm_guard_owner(const vg_realm *realm)
{
    const vigil_loop *loop = realm->loop;
    if (__builtin_expect(vg_on_owner(realm) && !loop->ended && !vg_forked(&loop->guard) && !vg_realm_ended(realm), 1))
        return 0;
    return vg_realm_guard_owner_slow(realm);
}

static inline void *vg_realm_alloc(vg_realm *realm, int slab)
{
    if (__builtin_expect(!vg_on_owner(realm), 0))
        return vg_realm_alloc_away(realm, slab);
    void *object = vg_slab_alloc(&realm->caches[slab]);
    if (slab != VG_SLAB_PROMISES && object != NULL)
        vg_tally(&realm->own, 1);
    return object;
}

static inline void vg_realm_free(vg_realm *realm, int slab, void *object)
{
    if (__builtin_expect(!vg_on_owner(realm), 0)) {
        vg_realm_free_away(realm, slab, object);
        return;
    }
    vg_slab_free(&realm->caches[slab], object);
    if (slab != VG_SLAB_PROMISES)
        vg_tally(&realm->own, UINT64_MAX); /* one less */
}

#endif
