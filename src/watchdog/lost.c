/* SPDX-License-Identifier: MIT */
#include "lost.h"

#include "base/clock.h"
#include "record/record.h"
#include "record/ring_copy.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOST_FUNCTIONS = 256
};

typedef struct lost_tally {
    uint64_t function;
    int64_t missing; /* submits less runs */
    uint64_t last;   /* ticks of the last submit */
    uint64_t by;
} lost_tally;

typedef struct lost_count {
    uint64_t pool;
    unsigned class_;
    uint64_t from; /* ticks: every ring reaches back to here */
    size_t used;
    lost_tally of[LOST_FUNCTIONS];
} lost_count;

static lost_tally *lost_tally_of(lost_count *all, uint64_t function)
{
    for (size_t i = 0; i < all->used; i++)
        if (all->of[i].function == function)
            return &all->of[i];
    if (all->used == LOST_FUNCTIONS)
        return NULL;
    all->of[all->used] = (lost_tally){.function = function};
    return &all->of[all->used++];
}

static void count_event(lost_count *all, const vg_ring_copy *ring, const vg_event *event)
{
    const vg_event_kind kind = vg_event_kind_of(event);
    const bool submit = kind == VG_EVENT_SUBMIT && event->a >> 32 == all->pool;
    const bool run = (kind == VG_EVENT_RUN || kind == VG_EVENT_RUNS) && ring->owner == all->pool;
    if ((!submit && !run) || vg_event_small(event) != all->class_ || event->ticks < all->from)
        return;
    if (kind == VG_EVENT_RUN && event->a == 0)
        return; /* a spawn: its submit was not recorded either */
    lost_tally *it = lost_tally_of(all, vg_event_address(event));
    if (it == NULL)
        return;
    if (submit) {
        it->missing += (int64_t)(event->a & UINT32_MAX);
        if (event->ticks > it->last) {
            it->last = event->ticks;
            it->by = (uint64_t)ring->thread;
        }
    } else {
        it->missing -= kind == VG_EVENT_RUNS ? (int64_t)event->a : 1;
    }
}

/* Two passes over all rings: the first finds how far back all of them reach, the second counts. */
static void count_rings(lost_count *all, bool counting)
{
    vg_ring_copy ring = {0};
    while (vg_ring_copy_next(&ring)) {
        if (!counting && !ring.complete && ring.count != 0 && ring.events[0].ticks > all->from)
            all->from = ring.events[0].ticks;
        for (size_t i = 0; counting && i < ring.count; i++)
            count_event(all, &ring, &ring.events[i]);
    }
    vg_ring_copy_end(&ring);
}

static uint64_t ns_since(uint64_t ticks)
{
    const vg_file_header *header = vg_record_header();
    const uint64_t now = vg_ticks();
    if (header == NULL || ticks >= now)
        return 0;
    const double length = vg_tick_length((vg_tick_base){.ticks = header->born_ticks, .ns = header->born_ns});
    return (uint64_t)((double)(now - ticks) * length);
}

void vg_lost_find(uint64_t pool, unsigned class_, vg_lost *lost)
{
    memset(lost, 0, sizeof *lost);
    lost_count *all = calloc(1, sizeof *all);
    if (all == NULL)
        return;
    all->pool = pool;
    all->class_ = class_;
    count_rings(all, false);
    count_rings(all, true);
    const lost_tally *best = NULL;
    for (size_t i = 0; i < all->used; i++) {
        if (all->of[i].missing <= 0)
            continue;
        lost->functions++;
        if (best == NULL || all->of[i].last > best->last)
            best = &all->of[i];
    }
    if (best != NULL) {
        lost->function = best->function;
        lost->count = (uint64_t)best->missing;
        lost->submitted = ns_since(best->last);
        lost->by_thread = best->by;
    }
    free(all);
}
