/* SPDX-License-Identifier: MIT */
/*
 * timers.c - what is due: a heap that is mended late. TIMERS.md.
 */
#include "timers.h"

#include "timer_sort.h"

#include "base/futex.h"

enum {
    FEW = 64,          /* the batch that is always there */
    PREFETCH_AHEAD = 8 /* records */
};

void vg_timers_init(vg_timers *timers, uint64_t now)
{
    *timers = (vg_timers){.next_number = 1, .origin = now};
    vg_heap_init(&timers->heap);
    vg_registry_init(&timers->slots, sizeof(vg_timer));
}

void vg_timers_destroy(vg_timers *timers)
{
    vg_heap_destroy(&timers->heap);
    vg_registry_destroy(&timers->slots);
    vg_room_free(&timers->batch_memory);
}

uint64_t vg_timers_next(vg_timers *timers)
{
    for (;;) {
        const vg_heap_entry *top = vg_heap_peek(&timers->heap);
        if (top == NULL)
            return VG_NO_DEADLINE;
        vg_timer *timer = vg_timer_of(timers, top);
        if (timer == NULL) {
            (void)vg_heap_pop(&timers->heap);
            timers->dead--;
        } else if (timer->number != timer->entry) {
            vg_heap_entry moved = vg_timer_enter(timers, timer, top->slot);
            vg_heap_replace_top(&timers->heap, moved);
        } else {
            return top->key;
        }
    }
}

/* For statistics; any thread reads it. */
void vg_timers_count_bytes(vg_timers *timers)
{
    atomic_store_explicit(&timers->bytes, timers->heap.memory.bytes + timers->batch_memory.bytes, memory_order_relaxed);
}

static int reserve_batch(vg_timers *timers, size_t room)
{
    if (room <= timers->batch_room)
        return 0;
    if (vg_room_resize(&timers->batch_memory, room * sizeof *timers->batch,
                       timers->batch_count * sizeof *timers->batch) != 0)
        return -1;
    timers->batch = timers->batch_memory.at;
    timers->batch_room = timers->batch_memory.bytes / sizeof *timers->batch;
    vg_timers_count_bytes(timers);
    return 0;
}

void vg_timers_give_back(vg_timers *timers)
{
    if (timers->batch_next != timers->batch_count || timers->running != 0)
        return; /* a heap has room for what may go back to it */
    /* A batch that was large once does not stay, but a small one does: without memory timers fire all the same. */
    if (timers->batch_memory.bytes >= VG_HUGE_PAGE / 16 && timers->batch_room / 16 > vg_heap_size(&timers->heap) &&
        vg_room_resize(&timers->batch_memory, FEW * sizeof *timers->batch, 0) == 0) {
        timers->batch = timers->batch_memory.at;
        timers->batch_room = FEW;
    }
    if (timers->heap.memory.bytes >= VG_HUGE_PAGE && timers->slots.live < timers->heap.room / 16) {
        if (timers->dead != 0)
            vg_timers_sweep(timers);
        vg_heap_give_back(&timers->heap);
    }
    vg_registry_give_back(&timers->slots);
    vg_timers_count_bytes(timers);
}

static void put_into_batch(vg_timers *timers, vg_heap_entry entry, vg_timer *timer)
{
    timer->flags = (uint16_t)((timer->flags & ~VG_TIMER_QUEUED) | VG_TIMER_BATCHED);
    timers->batch[timers->batch_count++] = entry;
}

/* Keep living owners that are due, with their true keys. The others go back or are dead. */
static size_t check_owners(vg_timers *timers, vg_heap_entry *entries, size_t count, uint64_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (i + PREFETCH_AHEAD < count)
            __builtin_prefetch(vg_timer_at(timers, entries[i + PREFETCH_AHEAD].slot), 1);
        vg_timer *timer = vg_timer_of(timers, &entries[i]);
        if (timer == NULL) {
            timers->dead--;
            continue;
        }
        vg_heap_entry entry = vg_timer_enter(timers, timer, entries[i].slot);
        if (entry.key > now) {
            (void)vg_heap_push(&timers->heap, entry); /* cannot fail: it was in there a moment ago */
            continue;
        }
        timer->flags = (uint16_t)((timer->flags & ~VG_TIMER_QUEUED) | VG_TIMER_BATCHED);
        entries[kept++] = entry;
    }
    return kept;
}

/* Many are due: take them all at once. False: no memory. */
static bool collect_many(vg_timers *timers, uint64_t now)
{
    size_t most = vg_heap_size(&timers->heap);
    /* the second half is the sort's spare */
    if (reserve_batch(timers, timers->batch_count + 2 * most) != 0)
        return false;
    vg_heap_entry *found = timers->batch + timers->batch_count;
    size_t count = vg_timer_extract(&timers->heap, now, found);
    count = check_owners(timers, found, count, now);
    vg_timer_sort(found, found + most, count);
    timers->batch_count += count;
    return true;
}

void vg_timers_collect(vg_timers *timers, uint64_t now)
{
    timers->batch_next = 0;
    timers->batch_count = 0;
    size_t few = FEW + vg_heap_size(&timers->heap) / 32;
    while (vg_timers_next(timers) <= now) {
        if (timers->batch_count == few && collect_many(timers, now))
            return;
        if (timers->batch_count == timers->batch_room &&
            reserve_batch(timers, timers->batch_room == 0 ? FEW : 2 * timers->batch_room) != 0)
            return; /* the batch fires now, the rest in the next turn */
        vg_heap_entry entry = vg_heap_pop(&timers->heap);
        put_into_batch(timers, entry, vg_timer_at(timers, entry.slot));
    }
}
