/* SPDX-License-Identifier: MIT */
#include "lost.h"

#include "reader/reader.h"

#include <vigil/watch.h>

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

static void add_event(lost_count *all, const vg_thread_view *thread, const vg_event *event)
{
    const vg_event_kind kind = vg_event_kind_of(event);
    const bool submit = kind == VG_EVENT_SUBMIT && event->a >> 32 == all->pool;
    const bool run = (kind == VG_EVENT_RUN || kind == VG_EVENT_RUNS) && thread->owner == all->pool;
    if ((!submit && !run) || vg_event_small(event) != all->class_ || event->ticks < all->from)
        return;
    if (kind == VG_EVENT_RUN && event->a == 0)
        return; /* a spawn: its beginning was not noted either */
    lost_tally *it = lost_tally_of(all, vg_event_address(event));
    if (it == NULL)
        return;
    if (submit) {
        it->missing += (int64_t)(event->a & UINT32_MAX);
        if (event->ticks > it->last) {
            it->last = event->ticks;
            it->by = (uint64_t)thread->tid;
        }
    } else {
        it->missing -= kind == VG_EVENT_RUNS ? (int64_t)event->a : 1;
    }
}

/* Twice over all rings: first how far back all of them reach, then the counting. */
static void read_rings(vg_reader *reader, const vg_snapshot *snapshot, lost_count *all, bool counting)
{
    for (size_t t = 0; t < snapshot->thread_count; t++) {
        const vg_thread_view *thread = &snapshot->threads[t];
        vg_event *events = NULL;
        uint64_t first = 0;
        size_t got = 0;
        if (vg_reader_events(reader, thread->serial, 0, &events, &first, &got) != 0)
            continue;
        if (!counting) {
            if (first != 0 && got != 0 && events[0].ticks > all->from)
                all->from = events[0].ticks;
        } else {
            for (size_t i = 0; i < got; i++)
                add_event(all, thread, &events[i]);
        }
        free(events);
    }
}

void vg_lost_find(uint64_t pool, unsigned class_, vg_lost *lost)
{
    char path[4096];
    vg_reader *reader = NULL;
    vg_snapshot *snapshot = NULL;
    memset(lost, 0, sizeof *lost);
    const int length = vigil_watch_path(path, sizeof path);
    if (length < 0 || (size_t)length >= sizeof path || vg_reader_open_path(&reader, path) != 0)
        return;
    lost_count *all = calloc(1, sizeof *all);
    if (all != NULL && vg_reader_snapshot(reader, &snapshot) == 0) {
        all->pool = pool;
        all->class_ = class_;
        read_rings(reader, snapshot, all, false);
        read_rings(reader, snapshot, all, true);
        const lost_tally *best = NULL;
        for (size_t i = 0; i < all->used; i++) {
            if (all->of[i].missing <= 0)
                continue;
            lost->functions++;
            if (best == NULL || all->of[i].last > best->last)
                best = &all->of[i];
        }
        if (best != NULL) {
            const int64_t age = vg_snapshot_age(snapshot, best->last);
            lost->function = best->function;
            lost->count = (uint64_t)best->missing;
            lost->submitted = age > 0 ? (uint64_t)age : 0;
            lost->by_thread = best->by;
        }
        vg_snapshot_free(snapshot);
    }
    free(all);
    vg_reader_close(reader);
}
