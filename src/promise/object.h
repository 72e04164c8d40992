/* SPDX-License-Identifier: MIT */
/*
 * object.h - the struct of a promise; LIFE.md has the rules of its life.
 */
#ifndef VG_PROMISE_OBJECT_H
#define VG_PROMISE_OBJECT_H

#include "base/list.h"

#include <vigil/promise.h>

#include <stdatomic.h>
#include <stdbool.h>

typedef struct vg_realm vg_realm;

/* A node in a list of reactions: the head of vigil_reaction, vigil_promise, and an element of a combination.
   post.run is a microtask, called when `source` is settled. */
typedef struct vg_link {
    vigil_post post;
    vigil_promise *source;
} vg_link;

/* refs */
enum {
    VG_SHARE = 1,
    VG_USER = 2
};

/* state: a vigil_promise_state, and */
enum {
    VG_STATE_SETTLED = 3,
    VG_CLAIMED = 4, /* somebody has resolved it */
    VG_WAITED = 8,  /* a thread has waited for it: it counts as handled */
    VG_TAKEN = 16,  /* its value has been taken */
    VG_SHARED = 32  /* settled, and link.source has the value: a reference of ours */
};

/* kind: never changes */
enum {
    VG_KIND_ROOT = 0, /* its holder may settle it */
    VG_KIND_RESOLVER, /* the holder of the resolver may */
    VG_KIND_DERIVED   /* its handler, or the operation behind it, does */
};

/* flags: the owner's */
enum {
    VG_HANDLED = 1,
    VG_REPORTED = 2,  /* as unhandled */
    VG_LATE = 4,      /* listed to be reported as handled after all */
    VG_WAITING = 8,   /* for another promise, or for its own microtask */
    VG_AWAY = 16,     /* made by another thread, in the realm's list of those */
    VG_HANDLERS = 32, /* the union holds handlers */
    VG_LISTED = 128,  /* in a list of pending promises */
    VG_ORPHAN = 256,  /* what it waited for will never be settled */
    VG_ADOPTS = 1024, /* waits for another promise, and has no handler left to call */
    VG_FORCED = 512   /* rejected by the end of the loop: its reaction does nothing */
};

/* link.post.vg_reserved */
enum {
    VG_DIRECT = 1,   /* run as part of settling, not as a microtask */
    VG_REMOVABLE = 2 /* the link is a vg_removable */
};

/* A link that can be removed: the head of vigil_reaction, and a guard. */
typedef struct vg_removable {
    vg_link link;
    vg_link *previous; /* while it is in a list; NULL: it is the first */
} vg_removable;

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
    VG_TRACE = 12,
    VG_STAMP_SHIFT = 28 /* of the loop's time: a quarter of a second; a stamp returns after a minute */
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
    vg_list_link listed; /* owner (VG_AWAY: under the realm's lock): in the list of the pending or the rejected */
    const void *created;
    uint32_t held;
    uint8_t kind;
    uint8_t stamp; /* when it was made, see VG_STAMP_SHIFT */
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

static inline vigil_promise *vg_promise_listed(vg_list_link *listed)
{
    return vg_container_of(listed, vigil_promise, listed);
}

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
/* Return a claim; marks of waiters stay. */
static inline void vg_promise_unclaim(vigil_promise *promise)
{
    /* release: pairs with the acquire in vg_promise_claim */
    (void)atomic_fetch_and_explicit(&promise->state, ~(uint32_t)VG_CLAIMED, memory_order_release);
}

static inline vigil_promise_state vg_promise_state(const vigil_promise *promise)
{
    /* acquire: the value; pairs with the release in promise.c, publish_state */
    return (vigil_promise_state)(atomic_load_explicit(&promise->state, memory_order_acquire) & VG_STATE_SETTLED);
}

/* Where the value of a settled promise is. */
static inline vigil_value *vg_promise_value(vigil_promise *promise)
{
    /* relaxed: the caller acquired the state, or is the owner */
    bool shared = (atomic_load_explicit(&promise->state, memory_order_relaxed) & VG_SHARED) != 0;
    return shared ? &promise->link.source->value : &promise->value;
}

#endif
