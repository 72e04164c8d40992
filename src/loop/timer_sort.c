/* SPDX-License-Identifier: MIT */
/*
 * timer_sort.c - the heap as a plain array: sweep the dead, extract many, sort. TIMERS.md.
 */
#include "timer_sort.h"

#include <string.h>

enum {
    DIGIT_BITS = 11,
    DIGITS = 1 << DIGIT_BITS,
    SWEEP_AHEAD = 16,
    SMALL = 48 /* entries: below, inserting each is faster */
};

/* Make the array a heap again, from the last parent up. */
static void restore(vg_heap *heap)
{
    if (heap->end <= VG_HEAP_ROOT + 1)
        return;
    for (size_t i = (heap->end - 1) / VG_HEAP_CHILDREN + 2; i >= VG_HEAP_ROOT; i--)
        vg_heap_sift_down(heap, i, heap->at[i]);
}

size_t vg_timer_extract(vg_heap *heap, uint64_t now, vg_heap_entry *to)
{
    size_t found = 0;
    size_t kept = VG_HEAP_ROOT;
    for (size_t i = VG_HEAP_ROOT; i < heap->end; i++) {
        if (heap->at[i].key <= now)
            to[found++] = heap->at[i];
        else
            heap->at[kept++] = heap->at[i];
    }
    heap->end = kept;
    restore(heap);
    return found;
}

void vg_timers_sweep(vg_timers *timers)
{
    vg_heap *heap = &timers->heap;
    size_t kept = VG_HEAP_ROOT;
    for (size_t i = VG_HEAP_ROOT; i < heap->end; i++) {
        /* Records lie anywhere: fetch many at once. */
        if (i + SWEEP_AHEAD < heap->end)
            __builtin_prefetch(vg_timer_at(timers, heap->at[i + SWEEP_AHEAD].slot));
        if (vg_timer_of(timers, &heap->at[i]) != NULL)
            heap->at[kept++] = heap->at[i];
    }
    heap->end = kept;
    timers->dead = 0;
    restore(heap);
}

void vg_timers_shift(vg_timers *timers, unsigned flag, int64_t by)
{
    vg_heap *heap = &timers->heap;
    if (by == 0)
        return;
    vg_timers_sweep(timers);
    for (size_t i = VG_HEAP_ROOT; i < heap->end; i++) {
        vg_timer *timer = vg_timer_of(timers, &heap->at[i]);
        if ((timer->flags & flag) == 0)
            continue;
        timer->deadline = vg_timer_moved(timer->deadline, by);
        heap->at[i] = vg_timer_enter(timers, timer, heap->at[i].slot);
    }
    restore(heap);
}

static void insertion_sort(vg_heap_entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        vg_heap_entry entry = entries[i];
        size_t hole = i;
        for (; hole > 0 && vg_heap_before(entry, entries[hole - 1]); hole--)
            entries[hole] = entries[hole - 1];
        entries[hole] = entry;
    }
}

typedef struct digit {
    bool of_number;
    unsigned shift;
    uint64_t base; /* what the keys or numbers are counted from */
} digit;

static uint32_t digit_of(const vg_heap_entry *entry, digit d)
{
    uint64_t value = d.of_number ? (uint32_t)(entry->seq - (uint32_t)d.base) : entry->key - d.base;
    return (uint32_t)(value >> d.shift) & (DIGITS - 1);
}

static void one_pass(const vg_heap_entry *from, vg_heap_entry *to, size_t count, digit d)
{
    size_t place[DIGITS];
    memset(place, 0, sizeof place);
    for (size_t i = 0; i < count; i++)
        place[digit_of(&from[i], d)]++;
    size_t before = 0;
    for (size_t i = 0; i < DIGITS; i++) {
        size_t here = place[i];
        place[i] = before;
        before += here;
    }
    for (size_t i = 0; i < count; i++)
        to[place[digit_of(&from[i], d)]++] = from[i];
}

void vg_timer_sort(vg_heap_entry *entries, vg_heap_entry *spare, size_t count)
{
    if (count <= SMALL) {
        insertion_sort(entries, count);
        return;
    }
    uint64_t least = entries[0].key;
    uint64_t most = entries[0].key;
    uint32_t oldest = entries[0].seq;
    for (size_t i = 1; i < count; i++) {
        least = entries[i].key < least ? entries[i].key : least;
        most = entries[i].key > most ? entries[i].key : most;
        oldest = (int32_t)(entries[i].seq - oldest) < 0 ? entries[i].seq : oldest;
    }
    uint32_t span = 0;
    for (size_t i = 0; i < count; i++)
        span = entries[i].seq - oldest > span ? entries[i].seq - oldest : span;
    vg_heap_entry *from = entries;
    vg_heap_entry *to = spare;
    for (int of_number = 1; of_number >= 0; of_number--) {
        uint64_t range = of_number != 0 ? span : most - least;
        for (unsigned shift = 0; shift < 64 && range >> shift != 0; shift += DIGIT_BITS) {
            digit d = {.of_number = of_number != 0, .shift = shift, .base = of_number != 0 ? oldest : least};
            one_pass(from, to, count, d);
            vg_heap_entry *swap = from;
            from = to;
            to = swap;
        }
    }
    if (from != entries)
        memcpy(entries, from, count * sizeof *entries);
}
