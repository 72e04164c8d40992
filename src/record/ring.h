/* SPDX-License-Identifier: MIT */
/*
 * ring.h - each thread's ring of events.
 */
#ifndef VG_RECORD_RING_H
#define VG_RECORD_RING_H

#include "format_event.h"
#include "life.h"

/* What a thread knows of its ring. */
typedef struct vg_own_ring {
    vg_event *events; /* NULL: it has none */
    uint64_t mask;
    uint64_t head;
    vg_file_thread *thread; /* NULL as events */
    uint64_t serial;
    uint32_t epoch; /* 0: it has not asked for one */
    uint32_t extent;
} vg_own_ring;

extern _Thread_local vg_own_ring vg_my_ring;

/* Take a ring for the calling thread, which has none of this epoch, or count that there is none to be had. */
void vg_ring_attach(vg_thread_role role, uint64_t owner, uint64_t index);
/* Give it back; the thread ends, or changes its role. Its events stay readable until another thread needs the place. */
void vg_ring_detach(void);
void vg_event_drop(void);

/* A word of an event. relaxed: a reader may copy it just now, and throws away what it may have got by halves. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the builtin writes it */
static inline void vg_event_word(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Write an event. The caller is inside a call on an object that holds the recorder, whose level is EVENTS. */
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
    /* release: a reader that has copied any of the words below sees at least the head that was there before them, and knows by it
       that the event a whole ring older is gone; pairs with the second fence in reader_events.c. On x86-64 it costs nothing. */
    atomic_thread_fence(memory_order_release);
    vg_event_word(&event->ticks, ticks);
    vg_event_word(&event->what, what);
    vg_event_word(&event->a, a);
    vg_event_word(&event->b, b);
    /* release: a reader that sees the new head sees the event; pairs with the first fence in reader_events.c */
    atomic_store_explicit(&ring->thread->head, ++ring->head, memory_order_release);
}

/* The recorder comes and goes; its lock is held. */
void vg_rings_begin(void);
void vg_rings_end(void);

#endif
