/* SPDX-License-Identifier: MIT */
/*
 * ring.h - each thread's ring of events.
 */
#ifndef VG_RECORD_RING_H
#define VG_RECORD_RING_H

#include "format_event.h"
#include "life.h"

enum {
    VG_RING_AHEAD = 32 /* events that are sure to meet no fault after vg_ring_map_ahead */
};

/* What a thread knows of its ring. */
typedef struct vg_own_ring {
    vg_event *events; /* NULL: it has none */
    uint64_t mask;
    uint64_t head;
    vg_file_thread *thread; /* NULL as events */
    vg_file_past *past;     /* likewise */
    uint64_t serial;
    uint64_t mapped; /* events on pages that the thread has touched; UINT64_MAX: all */
    uint32_t epoch;  /* 0: it has not asked for one */
    uint32_t extent;
} vg_own_ring;

extern _Thread_local vg_own_ring vg_my_ring;

/* Take a ring for the calling thread, or note that there is none. */
void vg_ring_attach(vg_thread_role role, uint64_t owner, uint64_t index);
/* The thread ends or changes its role. Its events stay readable until the extent is reused. */
void vg_ring_detach(void);
void vg_event_drop(void);
void vg_ring_map_ahead_slow(vg_own_ring *ring);

/* A word of an event. relaxed: readers discard what may be torn. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the builtin writes it */
static inline void vg_event_word(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Write an event. The caller is inside a call on a holder of the recorder at level EVENTS. */
static inline void vg_event_put(uint64_t ticks, uint64_t what, uint64_t a, uint64_t b)
{
    vg_own_ring *ring = &vg_my_ring;
    /* relaxed: the epoch changes only while nobody is inside such a call */
    if (__builtin_expect(ring->epoch != atomic_load_explicit(&vg_record_epoch, memory_order_relaxed), 0))
        vg_ring_attach(VG_ROLE_OTHER, 0, 0);
    if (__builtin_expect(ring->events == NULL, 0)) {
        vg_event_drop();
        return;
    }
    vg_event *event = &ring->events[ring->head & ring->mask];
    /* release: a reader of any word below sees at least the old head, and discards the event a ring older; pairs
       with the second fence in reader_events.c. Free on x86-64. */
    atomic_thread_fence(memory_order_release);
    vg_event_word(&event->ticks, ticks);
    vg_event_word(&event->what, what);
    vg_event_word(&event->a, a);
    vg_event_word(&event->b, b);
    /* release: the event before the head; pairs with the first fence in reader_events.c */
    atomic_store_explicit(&ring->thread->head, ++ring->head, memory_order_release);
}

/*
 * The first event on each page of a ring meets a page fault, several microseconds. Call this where nobody waits for
 * the caller, after a wake or before a sleep: the fault of the next page is taken here. As vg_event_put otherwise.
 */
static inline void vg_ring_map_ahead(void)
{
    vg_own_ring *ring = &vg_my_ring;
    /* relaxed: as in vg_event_put */
    if (ring->head + VG_RING_AHEAD > ring->mapped &&
        ring->epoch == atomic_load_explicit(&vg_record_epoch, memory_order_relaxed) && ring->events != NULL)
        vg_ring_map_ahead_slow(ring);
}

/* The recorder comes and goes; its lock is held. */
void vg_rings_begin(void);
void vg_rings_end(void);

#endif
