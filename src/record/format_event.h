/* SPDX-License-Identifier: MIT */
/*
 * format_event.h - events and a thread's ring, in the file.
 */
#ifndef VG_RECORD_FORMAT_EVENT_H
#define VG_RECORD_FORMAT_EVENT_H

#include "format_past.h"
#include "format_wait.h"

#include <stdalign.h>

/*
 * 32 bytes. `what`: kind in bits 56-63, a small number (class, phase) in 48-55, an address in 0-47, a function unless
 * noted. Events that last are written at their end. `id`, the task's submit stamp, joins them.
 */
typedef struct vg_event {
    uint64_t ticks;
    uint64_t what;
    uint64_t a;
    uint64_t b;
} vg_event;

typedef enum vg_event_kind {
    VG_EVENT_NONE = 0,
    VG_EVENT_SUBMIT, /* small: class. ticks: the task's id. a: pool's serial << 32 | number of tasks. b: the task */
    VG_EVENT_RUN,    /* small: class. a: id, 0 for a spawn. b: status << 48 | duration; see vg_event_status */
    VG_EVENT_CANCEL, /* small: class. a: id. b: the task */
    VG_EVENT_PARK,   /* small: 0; no address. a: ticks from wake to first step, 0: not woken. b: duration */
    VG_EVENT_WAKE,   /* no address. a: serial of the pool or loop << 32 | worker. b: 0 */
    VG_EVENT_STEAL,  /* small: class; no address. a: victim << 32 | 1. b: 0 */
    VG_EVENT_WAIT,   /* small: vg_wait_kind; address: where. a: on. b: duration */
    VG_EVENT_POST,   /* to the internal lane (others are counted). small: 1. a: serial of the loop << 32. b: the post */
    VG_EVENT_CALL,   /* small: vigil_loop_phase. a: serial of the loop << 32 | 1. b: duration */
    VG_EVENT_SLEEP,  /* of a loop; no address. a: as VG_EVENT_PARK. b: duration */
    VG_EVENT_MARK,   /* the user's: bits 48-55 length, 6 characters in 0-47, the rest in b. a: value */
    VG_EVENT_SETTLE, /* small: 1 fulfilled, 2 rejected; no address. a: id of the promise. b: id of the task, or 0 */
    VG_EVENT_PROMISIFY, /* small: class. a: id of the promise. b: 0. The next submit in this ring is its task's */
    VG_EVENT_RUNS,      /* several short tasks. small: class; function: the last. a: how many. b: duration in all */
    VG_EVENT_CALLS,     /* the same for callbacks. small: vigil_loop_phase. a: serial of the loop << 32 | how many */
    VG_EVENT_IO,        /* the end of a stream and its like. small: vg_io_kind; address: of an IPv4 peer, then its port.
                           a: serial of the loop << 32 | number. b: its age */
    VG_EVENT_LABEL,     /* of the task that runs: bits 48-55 length, 6 characters in 0-47, the next in a, then b */
    VG_EVENT_KINDS
} vg_event_kind;

#define VG_EVENT_ADDRESS UINT64_C(0x0000ffffffffffff)

static inline uint64_t vg_event_what(vg_event_kind kind, unsigned small, uint64_t address)
{
    return (uint64_t)kind << 56 | (uint64_t)(small & 0xffU) << 48 | (address & VG_EVENT_ADDRESS);
}

static inline vg_event_kind vg_event_kind_of(const vg_event *event)
{
    return (vg_event_kind)(event->what >> 56);
}

static inline unsigned vg_event_small(const vg_event *event)
{
    return (unsigned)(event->what >> 48 & 0xffU);
}

static inline uint64_t vg_event_address(const vg_event *event)
{
    return event->what & VG_EVENT_ADDRESS;
}

static inline uint64_t vg_event_duration(const vg_event *event)
{
    return event->b & VG_EVENT_ADDRESS;
}

/* Of VG_EVENT_RUN: 0 completed, else the positive error, at most 0xffff. */
static inline unsigned vg_event_status(const vg_event *event)
{
    return (unsigned)(event->b >> 48);
}

/* The head of a VG_BLOCK_RING; the events follow, then the steps of the past. Writer: the thread, unless noted. */
typedef struct vg_file_thread {
    vg_cell tid;
    vg_cell role;      /* vg_thread_role */
    vg_cell owner;     /* serial of the pool or loop; 0: none */
    vg_cell index;     /* of the worker in its pool */
    vg_cell begun;     /* ticks */
    vg_cell ended;     /* ticks; 0: alive. The ring stays readable until it is reused */
    char name[16];     /* the thread's name when it got the ring */
    vg_file_wait wait; /* of threads that are no workers */
    alignas(64)
        vg_cell head; /* events ever written; event number head may be in the making, so the oldest valid one is head
                         - ring_events + 1 */
    alignas(64) vg_event events[];
} vg_file_thread;

/* Where the steps begin, and how long the whole block is, for a ring of so many events. */
static inline uint64_t vg_past_offset(uint64_t ring_events)
{
    return sizeof(vg_file_thread) + ring_events * sizeof(vg_event);
}

static inline uint64_t vg_ring_bytes(uint64_t ring_events)
{
    return vg_past_offset(ring_events) + VG_FILE_PAST * sizeof(vg_file_past);
}

typedef enum vg_thread_role {
    VG_ROLE_OTHER = 0, /* it called the library */
    VG_ROLE_WORKER,
    VG_ROLE_LOOP, /* it runs a loop */
    VG_ROLES
} vg_thread_role;

#endif
