/* SPDX-License-Identifier: MIT */
/*
 * The recorder's ring against its reader: a thread writes events (vg_event_put of record.h) over and over into a ring of two, and
 * vg_reader_events copies them out meanwhile. Property: what the reader shows is whole. Every event that it shows has the number
 * that it says, and all of its words are of that event; it shows nothing that was not written; and what lay still is shown complete.
 */
#include "recorder_file.h"
#include "recorder_events.h"

#include <stdlib.h>

/* Returns the number after the last event that was shown. */
static uint64_t read_once(const plan *p, uint64_t from, bool at_rest)
{
    vg_event *events = NULL;
    uint64_t first = 0;
    size_t count = 0;
    vgc_assert(vg_reader_events(&recording_reader, first_ring.serial, from, &events, &first, &count) == 0,
               "the ring can be read");
    vgc_assert(first + count <= p->before + p->beside, "nothing is shown that was not written");
    for (size_t i = 0; i < count; i++) {
        const uint64_t n = first + i;
        vgc_assert(events[i].ticks == word_of(n, 0) && events[i].what == word_of(n, 1) &&
                       events[i].a == word_of(n, 2) && events[i].b == word_of(n, 3),
                   "an event that is shown is whole, and the one that it says");
    }
    const uint64_t written = p->before + p->beside;
    const uint64_t kept = written < RING ? written : RING - 1; /* the place of the next one is never believed */
    vgc_assert(!at_rest || (first + count == written && count >= kept), "what lies still is shown");
    free(events);
    return first + count;
}

static void ring_against_reader(void)
{
    const plan *p = vgc_arg();
    recording_begin();
    vg_ring_attach(VG_ROLE_WORKER, 0, 0);
    vgc_assert(vg_my_ring.events != NULL, "there is a ring");
    for (uint64_t i = 0; i < p->before; i++)
        put(i);
    first_ring = vg_my_ring;
    recording_watch(&first_ring.thread->head, sizeof first_ring.thread->head);
    recording_watch(first_ring.events, RING * sizeof(vg_event));
    recording_settle();
    vgc_assert(vg_reader_header(&recording_reader) == 0, "the file can be read");
    pthread_t writer = vgc_thread_start(write_events, (void *)(uintptr_t)p);
    uint64_t seen = 0;
    for (uint64_t i = 0; i < p->readings; i++) {
        const uint64_t now = read_once(p, 0, false);
        vgc_assert(now >= seen, "the end of what is shown does not go back");
        seen = now;
    }
    vgc_thread_join(writer);
    (void)read_once(p, 0, true);
}

#define WHOLE "the reader never shows a torn event as a whole one"

static const plan plan_first = {.beside = 2, .readings = 1};
VGC_REGISTER(first, "ring_first", ring_against_reader, WHOLE, .bound = "a ring of 2, 2 events, 1 reading",
             .arg = &plan_first);
static const plan plan_over = {.before = 2, .beside = 2, .readings = 1};
VGC_REGISTER(over, "ring_over", ring_against_reader, WHOLE, .bound = "a ring of 2 that is full, 2 events, 1 reading",
             .arg = &plan_over);
static const plan plan_round = {.before = 1, .beside = 3, .readings = 1};
VGC_REGISTER(round, "ring_round", ring_against_reader, WHOLE, .bound = "a ring of 2, 3 events, 1 reading",
             .arg = &plan_round);
static const plan plan_twice = {.before = 2, .beside = 2, .readings = 2};
VGC_REGISTER(twice, "ring_twice", ring_against_reader, WHOLE, .bound = "a ring of 2 that is full, 2 events, 2 readings",
             .arg = &plan_twice);
