/* SPDX-License-Identifier: MIT */
/*
 * timers.h - TIMERS.md says how, docs/loop.md what.
 */
#ifndef VG_LOOP_TIMERS_H
#define VG_LOOP_TIMERS_H

#include "base/futex.h"
#include "base/heap.h"
#include "registry.h"

#include <vigil/loop.h>

enum {
    VG_TIMER_QUEUED = 1,  /* an entry of the heap is its own */
    VG_TIMER_BATCHED = 2, /* an entry of the batch is its own */
    VG_TIMER_RUNNING = 4, /* its callback runs */
    VG_TIMER_REFD = 8,
    VG_TIMER_BOOT = 16, /* on CLOCK_BOOTTIME: clocks.h */
    VG_TIMER_WALL = 32, /* on CLOCK_REALTIME */
    VG_TIMER_CLOCKS = VG_TIMER_BOOT | VG_TIMER_WALL,
    VG_SLACK_UNIT = 65536, /* ns */
    VG_SINCE_SHIFT = 20
};

/* One cache line. */
typedef struct vg_timer {
    vg_registry_head head; /* next_free: key of its heap entry, rounded up to units of 2^VG_SINCE_SHIFT, and
                              UINT32_MAX on another clock */
    uint64_t deadline;     /* when due; the heap's key may be earlier (postponed), or later by its slack */
    uint32_t number;       /* of its last arming: ties are broken by it */
    uint32_t entry;        /* number in its entry: another number there means dead */
    uint64_t interval;
    vigil_timer_fn fn;
    void *arg;
    const void *created;
    uint32_t since; /* age of the loop at creation, in units of 2^VG_SINCE_SHIFT ns */
    uint16_t slack; /* in units of VG_SLACK_UNIT */
    uint16_t flags;
} vg_timer;

/* A deadline of a timer on another clock, moved. It may lie before the loop's clock began, and is below zero then, as
   an int64_t: the points of a schedule are counted from it. */
static inline uint64_t vg_timer_moved(uint64_t time, int64_t by)
{
    int64_t moved;
    if (__builtin_add_overflow((int64_t)time, by, &moved))
        moved = by < 0 ? INT64_MIN : INT64_MAX;
    return (uint64_t)moved;
}

/* Was it due before the loop's clock began, which is when the machine booted? */
static inline bool vg_timer_before(const vg_timer *timer)
{
    return (timer->flags & VG_TIMER_CLOCKS) != 0 && (int64_t)timer->deadline <= 0;
}

/* The deadline as a time of the loop: at least 1. */
static inline uint64_t vg_timer_due(const vg_timer *timer)
{
    return vg_timer_before(timer) ? 1 : timer->deadline;
}

/* When the heap looks at it: the roundest time in [deadline, deadline + slack], so that timers with slack meet. */
static inline uint64_t vg_timer_key(uint64_t deadline, uint16_t slack)
{
    uint64_t end = deadline + (uint64_t)slack * VG_SLACK_UNIT;
    uint64_t differ = deadline ^ end;
    if (differ == 0 || end < deadline)
        return deadline;
    /* The highest differing bit is 1 in `end`: all below may be zero. */
    return end & ~((UINT64_MAX >> __builtin_clzll(differ)) >> 1);
}

typedef struct vg_timers {
    vg_heap heap;
    vg_registry slots;
    size_t dead; /* entries in the heap that belong to nobody */
    uint32_t next_number;
    uint64_t origin;      /* what rounded times are counted from */
    uint64_t refd;        /* timers that keep the loop alive */
    vg_heap_entry *batch; /* due in this turn, in order; batch_next has not run yet */
    size_t batch_next;
    size_t batch_count;
    size_t batch_room;
    vg_room batch_memory;
    _Atomic uint64_t bytes; /* of heap and batch: for statistics, written by the owner */
    uint64_t running;       /* name of the one whose callback was entered; 0: none */
} vg_timers;

_Static_assert(sizeof(vg_timer) == 64, "a record of the registry has the size of a timer");

static inline vg_timer *vg_timer_at(const vg_timers *timers, uint32_t slot)
{
    return (vg_timer *)vg_registry_at_sized(&timers->slots, slot, sizeof(vg_timer));
}

/* The timer that owns the heap entry; NULL: dead. */
static inline vg_timer *vg_timer_of(const vg_timers *timers, const vg_heap_entry *entry)
{
    vg_timer *timer = vg_timer_at(timers, entry->slot);
    return (timer->flags & VG_TIMER_QUEUED) != 0 && timer->entry == entry->seq ? timer : NULL;
}

/* A time in units of 2^VG_SINCE_SHIFT ns, rounded down and clamped. */
static inline uint32_t vg_timer_coarse(const vg_timers *timers, uint64_t key)
{
    uint64_t units = key > timers->origin ? (key - timers->origin) >> VG_SINCE_SHIFT : 0;
    return units < UINT32_MAX - 1 ? (uint32_t)units : UINT32_MAX - 1;
}

/* Is the entry early enough for this deadline, as far as rounded times show? Then it is mended when it comes up. False
   for deadlines that the rounding clamps. */
static inline bool vg_timer_entry_serves(const vg_timers *timers, const vg_timer *timer, uint64_t deadline)
{
    const uint64_t units = (deadline - timers->origin) >> VG_SINCE_SHIFT; /* before the origin: more than 32 bits */
    return units - timer->head.next_free < UINT32_MAX - timer->head.next_free;
}

/* The entry for the timer as armed now, due then; from here on its own. */
static inline vg_heap_entry vg_timer_enter_at(const vg_timers *timers, vg_timer *timer, uint32_t slot, uint64_t due,
                                              bool on_another_clock)
{
    vg_heap_entry entry = {.key = vg_timer_key(due, timer->slack), .seq = timer->number, .slot = slot};
    timer->entry = timer->number;
    timer->head.next_free = on_another_clock ? UINT32_MAX : vg_timer_coarse(timers, entry.key) + 1;
    return entry;
}

static inline vg_heap_entry vg_timer_enter(const vg_timers *timers, vg_timer *timer, uint32_t slot)
{
    return vg_timer_enter_at(timers, timer, slot, vg_timer_due(timer), (timer->flags & VG_TIMER_CLOCKS) != 0);
}

/* Collect what is due at `now` into the batch. */
void vg_timers_collect(vg_timers *timers, uint64_t now);

/* The key of the earliest living timer, or VG_NO_DEADLINE. Drops dead entries from the top. */
uint64_t vg_timers_next(vg_timers *timers);

/* Return memory to the system that a burst has left behind. Before the loop sleeps. */
void vg_timers_give_back(vg_timers *timers);
void vg_timers_count_bytes(vg_timers *timers);

void vg_timers_init(vg_timers *timers, uint64_t now);
void vg_timers_destroy(vg_timers *timers);

#endif
