/* SPDX-License-Identifier: MIT */
/*
 * inner.h - promises from inside.
 *
 * One struct, one allocation. A promise carries its own place in somebody's list of reactions, in the microtask queue and in the
 * loop's internal lane: `link`. It can be in one of these at a time, and that is enough, because the life of a promise is a line:
 *
 *     root       pending ... resolve (lane) ... adopts another: job, then reaction, then microtask ... settled
 *     derived    reaction of its source, microtask, [as above from "adopts"] ... settled
 *     abandoned  pending, and its last user gives it back elsewhere: lane
 *
 * How long it lives
 *
 *   refs    counts the users, who may be on any thread: read-modify-writes. Its lowest bit, VG_SHARE, is the loop's own share.
 *   held    counts what the loop does with it (a reaction, a queued microtask, a report): the owner alone, plain additions.
 *
 *   The share is there while the promise is pending or held; when that is over the owner gives it up. Whoever brings refs to 0
 *   frees. So most promises see no read-modify-write of refs at all: on the owner, a word that says "one user and the share"
 *   belongs to the caller alone, and is changed by a store.
 *
 *   A pending promise that has no users and is not held will never be settled: it is freed (on the owner, who has it in a
 *   list: another thread sends it there), and with it what waits for it and is not used by anybody.
 *
 * Who may settle: state goes from 0 to VG_CLAIMED by compare-exchange, once. The winner's value is delivered on the owner.
 *
 * A value is stored once. Promises that pass it on point to the one that has it (VG_SHARED in the state: link.source, a user's reference),
 * if it has a destructor; else they have a copy.
 */
#ifndef VG_PROMISE_INNER_H
#define VG_PROMISE_INNER_H

#include "base/fence.h"
#include "base/mutex.h"
#include "base/options.h"
#include "base/raise.h"
#include "base/slab.h"
#include "base/thread.h"
#include "loop/guard.h"
#include "loop/loop.h"
#include "loop/post.h"
#include "loop/sleep.h"
#include "loop/tally.h"

#include <vigil/promise.h>

#include <string.h>

typedef struct vg_realm vg_realm;

/* A place in a list of reactions: the head of vigil_reaction, of vigil_promise, and of an element of vigil_promise_all. post.run is
   called as a microtask, when `source` is settled. */
typedef struct vg_link {
    vigil_post post;
    vigil_promise *source;
} vg_link;

/* A ring of promises: its head, and the place of each in it. */
typedef struct vg_ring {
    struct vg_ring *next;
    struct vg_ring *previous;
} vg_ring;

/* refs */
enum {
    VG_SHARE = 1,
    VG_USER = 2
};

/* state: a vigil_promise_state, and */
enum {
    VG_STATE_SETTLED = 3,
    VG_CLAIMED = 4, /* somebody has resolved it */
    VG_WAITED = 8,  /* a thread waits or has waited for it: it counts as handled */
    VG_TAKEN = 16,  /* its value has been taken */
    VG_SHARED = 32  /* settled, and link.source has the value: a reference of ours */
};

/* kind: never changes */
enum {
    VG_KIND_ROOT = 0, /* whoever has it may settle it */
    VG_KIND_RESOLVER, /* whoever has the resolver may */
    VG_KIND_DERIVED   /* its handler, or the operation behind it, does */
};

/* flags: the owner's */
enum {
    VG_HANDLED = 1,
    VG_REPORTED = 2,  /* as unhandled */
    VG_LATE = 4,      /* is in the list of rejections to be reported as handled after all */
    VG_WAITING = 8,   /* for another promise, or for its own microtask */
    VG_AWAY = 16,     /* made by another thread: it is in the realm's list of those */
    VG_HANDLERS = 32, /* the union holds handlers */
    VG_LISTED = 128,  /* in a list of pending promises */
    VG_ORPHAN = 256,  /* what it waited for will never be settled */
    VG_ADOPTS = 1024, /* waits for another promise, and has no handler left to call */
    VG_FORCED = 512   /* rejected by the end of the loop while it waited: its reaction has nothing to do any more */
};

/* link.post.vg_reserved */
enum {
    VG_DIRECT = 1 /* run as part of settling, not as a microtask */
};

typedef struct vg_handlers {
    vigil_then_fn fulfilled;
    union {
        vigil_then_fn rejected;
        vigil_value (*finally)(void *arg);
    };
    void *arg;
    void (*done)(void *arg);
} vg_handlers;

enum {
    VG_TRACE = 12
};

struct vigil_promise {
    vg_link link;
    _Atomic uint32_t refs;
    _Atomic uint32_t state;
    vg_realm *realm;
    vg_link *last; /* owner: reactions, a ring: last->post.vg_next is the first */
    union {
        vigil_value value;    /* claimed or settled */
        vg_handlers handlers; /* derived, and its handler has not run */
    };
    vg_ring place; /* owner (VG_AWAY: under the realm's lock): among the pending; later, the rejected */
    const void *created;
    uint32_t held;
    uint8_t kind;
    uint16_t flags;
#ifndef NDEBUG
    uint8_t trace_count;
    void *trace[VG_TRACE];
#endif
};

static inline vigil_promise *vg_promise_of(vigil_post *post)
{
    return (vigil_promise *)(void *)post; /* link.post is its first member */
}

/* An operation that settles a promise later: a timer, a watch, a call on the pool. awaits.c, async.c. */
typedef struct vg_op vg_op;

enum {
    VG_SLAB_PROMISES = 0,
    VG_SLAB_OPS,
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

/* What a loop has of promises. It lives, and with it the memory of struct vigil_loop, until the loop is given back and the last
   promise and operation are gone: so every promise may look at its loop. */
struct vg_realm {
    vg_upstairs upstairs; /* first */
    vigil_loop *loop;
    vg_fence_mode fences;
    _Atomic bool traced;                  /* debug builds: somebody wants to know where promises are made */
    _Atomic bool ended;                   /* nothing is pending and nothing new is accepted. Written under away_lock */
    alignas(64) _Atomic uint64_t waiters; /* threads in vigil_promise_wait */
    alignas(64) _Atomic int64_t away; /* objects made minus freed by threads other than the owner, and VG_REALM_OPEN */
    _Atomic uint64_t away_created, away_destroyed;
    vg_mutex away_lock;
    vg_ring away_pending; /* under away_lock */

    /* Owner. */
    alignas(64) vg_slab_cache caches[VG_SLABS];
    _Atomic uint64_t own; /* operations made minus freed by the owner; one writer. Its promises are counted below */
    _Atomic uint64_t own_created, own_destroyed;
    vg_ring pending;
    vg_ring rejected;       /* to be looked at at the end of the checkpoint */
    vigil_promise *to_bury; /* linked by link.post.vg_next */
    bool burying;
    bool ending;
    unsigned end_rounds;
    vg_op *ops; /* in flight, the newest first */
    vg_op *oldest_op;
    _Atomic uint64_t in_flight;
    _Atomic uint64_t unhandled;
    _Atomic uint64_t handled_late;
    vigil_promise_hooks hooks;

    vg_slab slabs[VG_SLABS];
    vg_realm_stripe stripes[VG_REALM_STRIPES];
};

#define VG_REALM_OPEN (INT64_C(1) << 40)

/* ---- realm.c ------------------------------------------------------------------------------------------------------ */

/* The realm of a loop that has not ended, made if there is none. Any thread. NULL: *error says why. */
vg_realm *vg_realm_of(vigil_loop *loop, int *error);
/* The same for owner's calls. */
vg_realm *vg_realm_of_owner(vigil_loop *loop, int *error);
/* Memory for an object that may live longer than the loop. Any thread. NULL: none. The first two on other threads. */
void *vg_realm_alloc_away(vg_realm *realm, int slab);
void vg_realm_free_away(vg_realm *realm, int slab, void *object);
static inline void *vg_realm_alloc(vg_realm *realm, int slab);
static inline void vg_realm_free(vg_realm *realm, int slab, void *object);
/* The lines that an owner's call begins with: this is the loop's thread (or nobody runs it), and it has not ended. */
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
    if (slab == VG_SLAB_OPS && object != NULL)
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
    if (slab == VG_SLAB_OPS)
        vg_tally(&realm->own, UINT64_MAX); /* one less */
}

static inline void vg_ring_init(vg_ring *ring)
{
    ring->next = ring;
    ring->previous = ring;
}

static inline void vg_ring_add(vg_ring *ring, vigil_promise *promise)
{
    promise->place.next = ring;
    promise->place.previous = ring->previous;
    ring->previous->next = &promise->place;
    ring->previous = &promise->place;
}

static inline void vg_ring_remove(vigil_promise *promise)
{
    promise->place.previous->next = promise->place.next;
    promise->place.next->previous = promise->place.previous;
}

static inline bool vg_ring_empty(const vg_ring *ring)
{
    return ring->next == ring;
}

static inline vigil_promise *vg_ring_promise(vg_ring *place)
{
    return (vigil_promise *)(void *)((char *)place - offsetof(vigil_promise, place));
}

/* ---- promise.c: owner, except where it says any thread ------------------------------------------------------------ */

/* A pending promise with `users` references and `held` holds. Any thread (held must be 0 on others). */
vigil_promise *vg_promise_new(vg_realm *realm, uint8_t kind, uint32_t users, uint32_t held, const void *created);
/* Takes the value over, whatever it is. The promise must be claimed, or derived. */
void vg_promise_resolve_with(vigil_promise *promise, const vigil_value *value);
static inline void vg_promise_resolve(vigil_promise *promise, vigil_value value)
{
    vg_promise_resolve_with(promise, &value);
}
/* The same with the result of another promise that is settled. */
void vg_promise_pass_on(vigil_promise *promise, vigil_promise *from);
/* Any thread; false: somebody else was first. */
static inline bool vg_promise_claim(vigil_promise *promise)
{
    uint32_t pending = atomic_load_explicit(&promise->state, memory_order_relaxed);
    do {
        if ((pending & (VG_CLAIMED | VG_STATE_SETTLED)) != 0)
            return false;
        /* acquire: the link and the value are ours to write; pairs with the release of a claim that was given back */
    } while (!atomic_compare_exchange_weak_explicit(&promise->state, &pending, pending | VG_CLAIMED,
                                                    memory_order_acquire, memory_order_relaxed));
    return true;
}
/* Give a claim back; what waiters have left in the word meanwhile stays. */
static inline void vg_promise_unclaim(vigil_promise *promise)
{
    /* release: pairs with the acquire in vg_promise_claim */
    (void)atomic_fetch_and_explicit(&promise->state, ~(uint32_t)VG_CLAIMED, memory_order_release);
}
/* Let post.run of the link be called when it is settled. The caller has held what the link is part of. */
void vg_promise_subscribe(vigil_promise *promise, vg_link *link);
/* Take it out again. False: it is not in the list (any more). */
bool vg_promise_unsubscribe(vigil_promise *promise, vg_link *link);
void vg_promise_handled(vigil_promise *promise);
void vg_promise_hold(vigil_promise *promise);
void vg_promise_unhold(vigil_promise *promise);
/* What it waits for will never come: it is not held by its reaction any more. */
void vg_promise_orphan(vigil_promise *promise);
/* Reject it at the end of the loop, whatever it waits for. */
void vg_promise_force(vigil_promise *promise, int status);
/* Call and answer with what it returned or raised. */
void vg_call_then(vigil_value *result, vigil_then_fn fn, vigil_value *value, void *arg);
vigil_value vg_call_plain(vigil_value (*fn)(void *arg), void *arg);
void vg_call_done(void (*done)(void *arg), void *arg);
/* Queue link.post as a microtask. */
static inline void vg_promise_queue(vg_realm *realm, vg_link *link)
{
    vg_fifo_push(&realm->loop->microtasks, &link->post);
}

static inline vigil_promise_state vg_promise_state(const vigil_promise *promise)
{
    /* acquire: the value; pairs with the release in promise.c, publish_state */
    return (vigil_promise_state)(atomic_load_explicit(&promise->state, memory_order_acquire) & VG_STATE_SETTLED);
}

/* A value has just been written word by word; read as the compiler would copy a struct, 16 bytes at once, it would have to wait for
   those words to leave the processor's store buffer: some 5 ns. (src/CMakeLists.txt keeps the compiler from putting the words
   together again.) */
static inline void vg_value_copy(vigil_value *to, const vigil_value *from)
{
    uint64_t head;
    memcpy(&head, from, sizeof head); /* kind and status */
    int64_t body = from->integer;
    void (*destroy)(void *pointer) = from->destroy;
    memcpy(to, &head, sizeof head);
    to->integer = body;
    to->destroy = destroy;
}

/* Where the value of a settled promise is. */
static inline vigil_value *vg_promise_value(vigil_promise *promise)
{
    /* relaxed: who asks has seen the state, with an acquire, or is the owner */
    bool shared = (atomic_load_explicit(&promise->state, memory_order_relaxed) & VG_SHARED) != 0;
    return shared ? &promise->link.source->value : &promise->value;
}

/* adopt.c */
void vg_promise_adopt(vigil_promise *promise, vigil_promise *other);
void vg_promise_call_thenable(vigil_promise *promise, vigil_value value);

/* unhandled.c */
void vg_realm_rejected(vg_realm *realm, vigil_promise *promise);
void vg_realm_report(vg_upstairs *upstairs, vigil_loop *loop);

/* op.c */
size_t vg_op_size(void);
bool vg_realm_end_ops(vg_realm *realm);  /* the loop ends. True: there was something */
void vg_realm_fork_ops(vg_realm *realm); /* this is the child: what was in flight on a pool stays with the parent */

#endif
