/* SPDX-License-Identifier: MIT */
#include "ring_copy.h"

#include "base/clock.h"
#include "recorder.h"

#include <stdlib.h>

static uint64_t event_word(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED); /* its thread may write it just now */
}

/* The thread that owns the ring goes on writing. */
static bool copy_ring(vg_ring_copy *copy, const vg_file_thread *ring, uint64_t entries)
{
    if (copy->room < entries) {
        vg_event *larger = realloc(copy->events, (size_t)entries * sizeof *larger);
        if (larger == NULL)
            return false;
        copy->events = larger;
        copy->room = (size_t)entries;
    }
    /* acquire: the events counted by the head; pairs with the release of the head in vg_event_put */
    const uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    const uint64_t begin = head > entries ? head - entries : 0;
    for (uint64_t n = begin; n < head; n++) {
        const vg_event *from = &ring->events[n & (entries - 1)];
        copy->events[n - begin] = (vg_event){.ticks = event_word(&from->ticks),
                                             .what = event_word(&from->what),
                                             .a = event_word(&from->a),
                                             .b = event_word(&from->b)};
    }
    /* acquire: the head tells which copies were overwritten; pairs with the fence in vg_event_put */
    atomic_thread_fence(memory_order_acquire);
    const uint64_t after = atomic_load_explicit(&ring->head, memory_order_relaxed);
    const uint64_t first = after >= entries ? after - entries + 1 : 0;
    const uint64_t stale = first > begin ? (first < head ? first : head) - begin : 0;
    copy->count = (size_t)(head - begin - stale);
    copy->complete = first == 0;
    for (size_t i = 0; stale != 0 && i < copy->count; i++)
        copy->events[i] = copy->events[i + stale];
    copy->thread = (int)atomic_load_explicit(&ring->tid, memory_order_relaxed);
    copy->owner = atomic_load_explicit(&ring->owner, memory_order_relaxed);
    return true;
}

bool vg_ring_copy_next(vg_ring_copy *copy)
{
    vg_recorder *recorder = &vg_the_recorder;
    bool found = false;
    vg_mutex_lock(&recorder->lock); /* no place changes its owner */
    while (!found && recorder->front != NULL && copy->next < recorder->extent_count) {
        const unsigned at = copy->next++;
        vg_file_block *block = &recorder->front->directory[at];
        if (atomic_load_explicit(&block->serial, memory_order_relaxed) == 0 ||
            atomic_load_explicit(&block->kind, memory_order_relaxed) != VG_BLOCK_RING)
            continue;
        if (!copy_ring(copy, recorder->extents[at].memory, atomic_load_explicit(&block->entries, memory_order_relaxed)))
            break;
        found = true;
    }
    vg_mutex_unlock(&recorder->lock);
    return found;
}

void vg_ring_copy_end(vg_ring_copy *copy)
{
    free(copy->events);
    copy->events = NULL;
}

/* False: the thread waits for nothing, or changed it during the reading. */
static bool read_wait(const vg_file_wait *wait, vg_ring_wait *into, uint64_t *since)
{
    /* acquire: the words of the change that the count names; pairs with the release in vg_change_end */
    const uint64_t writes = atomic_load_explicit(&wait->writes, memory_order_acquire);
    into->kind = (vg_wait_kind)atomic_load_explicit(&wait->kind, memory_order_relaxed);
    into->on = atomic_load_explicit(&wait->on, memory_order_relaxed);
    *since = atomic_load_explicit(&wait->since, memory_order_relaxed);
    /* acquire: the count after the words; pairs with the fence in vg_change_begin */
    atomic_thread_fence(memory_order_acquire);
    return writes % 2 == 0 && atomic_load_explicit(&wait->writes, memory_order_relaxed) == writes &&
           into->kind != VG_WAIT_NONE && into->kind < VG_WAIT_KINDS;
}

unsigned vg_ring_waits(vg_ring_wait *waits, unsigned room)
{
    vg_recorder *recorder = &vg_the_recorder;
    unsigned count = 0;
    vg_mutex_lock(&recorder->lock); /* no place changes its owner */
    const vg_file_front *front = recorder->front;
    const double length =
        front == NULL ? 1
                      : vg_tick_length((vg_tick_base){.ticks = front->header.born_ticks, .ns = front->header.born_ns});
    for (unsigned i = 0; front != NULL && i < recorder->extent_count && count < room; i++) {
        const vg_file_block *block = &front->directory[i];
        const vg_file_thread *ring = recorder->extents[i].memory;
        uint64_t since = 0;
        if (atomic_load_explicit(&block->serial, memory_order_relaxed) == 0 ||
            atomic_load_explicit(&block->kind, memory_order_relaxed) != VG_BLOCK_RING || !recorder->extents[i].used ||
            !read_wait(&ring->wait, &waits[count], &since))
            continue;
        const uint64_t now = vg_ticks();
        waits[count].thread = (int)atomic_load_explicit(&ring->tid, memory_order_relaxed);
        waits[count++].since_ns = now > since ? (uint64_t)((double)(now - since) * length) : 0;
    }
    vg_mutex_unlock(&recorder->lock);
    return count;
}
