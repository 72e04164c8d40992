/* SPDX-License-Identifier: MIT */
/*
 * reader_events.c - the events of one thread.
 *
 * The head is read before and after the events. What the thread wrote in between may lie over the oldest ones; and
 * event number head is perhaps being written just now, over the one that is a whole ring older. Both are left out.
 */
#include "reader_events.h"
#include "raw.h"
#include "reader_entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Find the ring of a thread. 0; -ENOENT; -EBADMSG; -ENOMEM. */
static int find_ring(const vg_reader *reader, uint64_t thread, uint64_t *offset, uint64_t *entries)
{
    int error = 0;
    vg_file_block *directory = vg_reader_copy(reader, reader->header.sections[VG_SECTION_DIRECTORY].offset,
                                              VG_FILE_BLOCKS * sizeof *directory, &error);
    if (error != 0)
        return error;
    error = -ENOENT;
    for (size_t i = 0; i < VG_FILE_BLOCKS && error == -ENOENT; i++) {
        if (vg_raw_get(&directory[i].serial) != thread || thread == 0 ||
            vg_raw_get(&directory[i].kind) != (uint64_t)VG_BLOCK_RING)
            continue;
        *offset = vg_raw_get(&directory[i].offset);
        *entries = vg_raw_get(&directory[i].entries);
        const uint64_t bytes = vg_raw_get(&directory[i].bytes);
        const bool fits = *entries == reader->header.ring_events && vg_ring_bytes(*entries) <= bytes;
        error = fits ? 0 : -EBADMSG;
    }
    free(directory);
    return error;
}

static int read_head(const vg_reader *reader, uint64_t ring, uint64_t *head)
{
    return vg_reader_read(reader, ring + offsetof(vg_file_thread, head), head, sizeof *head);
}

/* As find_ring; what is read of the ring from now on is this thread's, or a later one's. */
static int open_ring(const vg_reader *reader, uint64_t thread, uint64_t *ring, uint64_t *entries)
{
    const int error = find_ring(reader, thread, ring, entries);
    /* acquire: the head is this thread's, not that of one who had the ring before; pairs with the release in
       vg_block_show */
    atomic_thread_fence(memory_order_acquire);
    return error;
}

/* After the reading: the head as it is now. -ENOENT: the ring may have become another thread's. */
static int ask_again(const vg_reader *reader, uint64_t thread, uint64_t ring, uint64_t *head)
{
    uint64_t again = 0;
    uint64_t entries = 0;
    /* acquire: of what was written over the copied events the head tells us now, or the directory; pairs with the
       fences in vg_event_put and vg_block_get_locked */
    atomic_thread_fence(memory_order_acquire);
    int error = read_head(reader, ring, head);
    if (error == 0)
        error = find_ring(reader, thread, &again, &entries); /* it may have become another thread's */
    if (error == 0 && again != ring)
        error = -ENOENT;
    return error;
}

/* The oldest event that can be believed when the head is this. */
static uint64_t oldest_event(uint64_t head, uint64_t entries)
{
    return head >= entries ? head - entries + 1 : 0;
}

/* Put the events from number `first` on, of which the copied ring holds the last `entries`, in order. */
static vg_event *put_in_order(const vg_event *ring, uint64_t entries, uint64_t first, size_t count)
{
    vg_event *events = malloc((count + 1) * sizeof *events);
    for (size_t i = 0; events != NULL && i < count; i++)
        events[i] = ring[(first + i) & (entries - 1)];
    return events;
}

int vg_reader_events(vg_reader *reader, uint64_t thread, uint64_t from, vg_event **events, uint64_t *first,
                     size_t *count)
{
    uint64_t ring = 0;
    uint64_t entries = 0;
    uint64_t head = 0;
    uint64_t head_after = 0;
    int error = open_ring(reader, thread, &ring, &entries);
    if (error == 0)
        error = read_head(reader, ring, &head);
    if (error != 0)
        return error;
    /* acquire: the events that the head counts are whole; pairs with the release of the head in vg_event_put */
    atomic_thread_fence(memory_order_acquire);
    vg_event *copy = vg_reader_copy(reader, ring + sizeof(vg_file_thread), (size_t)entries * sizeof *copy, &error);
    if (error == 0)
        error = ask_again(reader, thread, ring, &head_after);
    if (error == 0) {
        if (head_after < head)
            head_after = head; /* no head goes back; what is read must end somewhere */
        *first = oldest_event(head_after, entries);
        if (from > *first)
            *first = from < head ? from : head;
        *count = head > *first ? (size_t)(head - *first) : 0;
        *events = put_in_order(copy, entries, *first, *count);
        if (*events == NULL)
            error = -ENOMEM;
    }
    free(copy);
    return error;
}

/* ---- the past ---- */

static int older_step_first(const void *a, const void *b)
{
    const uint64_t x = ((const vg_file_past *)a)->ticks;
    const uint64_t y = ((const vg_file_past *)b)->ticks;
    return (x > y) - (x < y);
}

int vg_reader_past(vg_reader *reader, uint64_t thread, vg_file_past **steps, size_t *count)
{
    uint64_t ring = 0;
    uint64_t head = 0;
    uint64_t entries = 0;
    size_t all = VG_FILE_PAST;
    int error = open_ring(reader, thread, &ring, &entries);
    if (error != 0)
        return error;
    vg_file_past *copy =
        vg_reader_entries(reader, ring + vg_past_offset(entries), sizeof *copy, VG_FILE_PAST, &all, &error);
    if (error == 0)
        error = ask_again(reader, thread, ring, &head);
    if (error != 0) {
        free(copy);
        return error;
    }
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (vg_raw_get(&copy[i].writes) != 0)
            memmove(&copy[(*count)++], &copy[i], sizeof *copy);
    qsort(copy, *count, sizeof *copy, older_step_first);
    *steps = copy;
    return 0;
}
