/* SPDX-License-Identifier: MIT */
/*
 * ring.c - each thread's ring of events, from its first event to its end. Workers attach and detach themselves; a
 * pthread key notices the end of others. A dead thread's ring is kept until its extent is needed. Threads beyond
 * VG_FILE_MOST_RINGS have none: their events are dropped and counted.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "ring.h"

#include "block.h"
#include "hist.h"
#include "recorder.h"
#include "wait.h"

#include "base/clock.h"

#include "base/thread.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Thread_local vg_own_ring vg_my_ring;

static pthread_key_t ring_key; /* under the recorder's lock, as key_made */
static bool ring_key_made;

static void ring_thread_ends(void *unused)
{
    (void)unused;
    vg_ring_detach();
}

void vg_rings_begin(void)
{
    ring_key_made = pthread_key_create(&ring_key, ring_thread_ends) == 0;
}

void vg_rings_end(void)
{
    if (ring_key_made)
        (void)pthread_key_delete(ring_key); /* threads with a ring see its epoch */
    ring_key_made = false;
}

void vg_event_drop(void)
{
    const vg_recorder *recorder = &vg_the_recorder;
    (void)atomic_fetch_add_explicit(&recorder->front->header.drops[vg_thread_number() % VG_FILE_STRIPES].events, 1,
                                    memory_order_relaxed);
}

static void introduce_thread(vg_file_thread *thread, vg_thread_role role, uint64_t owner, uint64_t index)
{
    vg_cell_set(&thread->tid, (uint64_t)gettid());
    vg_cell_set(&thread->role, role);
    vg_cell_set(&thread->owner, owner);
    vg_cell_set(&thread->index, index);
    vg_cell_set(&thread->begun, vg_ticks());
    char name[sizeof thread->name] = "";
    if (pthread_getname_np(pthread_self(), name, sizeof name) == 0)
        vg_words_put(thread->name, name, sizeof name);
}

void vg_ring_attach(vg_thread_role role, uint64_t owner, uint64_t index)
{
    vg_recorder *recorder = &vg_the_recorder;
    vg_record_block block = {.memory = NULL};
    vg_mutex_lock(&recorder->lock);
    vg_my_ring = (vg_own_ring){.epoch = atomic_load_explicit(&vg_record_epoch, memory_order_relaxed)};
    /* A thread whose end nobody notices gets none. Workers detach themselves. */
    const bool can_end = role == VG_ROLE_WORKER || (ring_key_made && pthread_setspecific(ring_key, &vg_my_ring) == 0);
    const size_t bytes = vg_ring_bytes(recorder->ring_events);
    if (recorder->level == VIGIL_RECORD_EVENTS && recorder->rings < VG_FILE_MOST_RINGS && can_end &&
        vg_block_get_locked(&block, VG_BLOCK_RING, bytes, owner, recorder->ring_events) == 0) {
        if (block.extent == VG_FILE_BLOCKS) { /* no file, or it is full: nobody could read it */
            vg_block_put_locked(&block);
        } else {
            vg_file_thread *thread = block.memory;
            introduce_thread(thread, role, owner, index);
            vg_my_ring.events = thread->events;
            vg_my_ring.mask = recorder->ring_events - 1;
            vg_my_ring.thread = thread;
            vg_my_ring.past = (vg_file_past *)(void *)(thread->events + recorder->ring_events);
            vg_my_ring.serial = block.serial;
            vg_my_ring.extent = block.extent;
            recorder->rings++;
            vg_block_show(&block);
        }
    }
    vg_mutex_unlock(&recorder->lock);
}

void vg_ring_map_ahead_slow(vg_own_ring *ring)
{
    enum {
        PAGE = 4096 /* on larger pages some touches are redundant */
    };
    const uint64_t size = ring->mask + 1;
    const uintptr_t first = (uintptr_t)ring->events;
    const uintptr_t at = (uintptr_t)&ring->events[ring->head & ring->mask];
    const uintptr_t next = (at | (PAGE - 1)) + 1; /* the next page; it begins with an event: both are aligned to it */
    const uint64_t index = (next - first) / sizeof(vg_event);
    if (ring->head >= size || index >= size) { /* in the second round every page has been touched */
        ring->mapped = UINT64_MAX;
        return;
    }
    vg_event_word(&ring->events[index].ticks, 0); /* behind the head in the first round: no reader looks at it */
    ring->mapped = index + PAGE / sizeof(vg_event);
}

void vg_ring_detach(void)
{
    vg_recorder *recorder = &vg_the_recorder;
    vg_mutex_lock(&recorder->lock);
    if (vg_my_ring.events != NULL && vg_my_ring.epoch == atomic_load_explicit(&vg_record_epoch, memory_order_relaxed)) {
        vg_wait_end(&vg_my_ring.thread->wait);
        vg_cell_set(&vg_my_ring.thread->ended, vg_ticks());
        recorder->extents[vg_my_ring.extent].used = false;
        recorder->extents[vg_my_ring.extent].ring = true;
        recorder->rings--;
    }
    vg_my_ring = (vg_own_ring){.epoch = 0};
    vg_mutex_unlock(&recorder->lock);
}
