/* SPDX-License-Identifier: MIT */
#include "recent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

static void keep_wake(struct recent *recent, const struct recent_wake *wake)
{
    unsigned at = recent->wake_count < RECENT_WAKES ? recent->wake_count++ : RECENT_WAKES;
    while (at > 0 && recent->wakes[at - 1].age_ns > wake->age_ns) {
        if (at < RECENT_WAKES)
            recent->wakes[at] = recent->wakes[at - 1];
        at--;
    }
    if (at < RECENT_WAKES)
        recent->wakes[at] = *wake;
}

static void read_ring(struct look *look, const vg_thread_view *thread, struct recent *recent)
{
    enum {
        SECOND = 1000000000
    };
    vg_event *events;
    uint64_t first;
    size_t count;
    if (vg_reader_events(look->reader, thread->serial, 0, &events, &first, &count) < 0)
        return;
    double ran[VG_FILE_CLASSES] = {0};
    int64_t oldest = 0;
    for (size_t i = count; i-- > 0;) {
        const vg_event *event = &events[i];
        int64_t age = vg_snapshot_age(look->now, event->ticks);
        if (age > SECOND)
            break;
        oldest = age > oldest ? age : oldest;
        vg_event_kind kind = vg_event_kind_of(event);
        if ((kind == VG_EVENT_RUN || kind == VG_EVENT_RUNS) && vg_event_small(event) < VG_FILE_CLASSES) {
            ran[vg_event_small(event)] += kind == VG_EVENT_RUN ? 1 : (double)event->a;
        } else if (kind == VG_EVENT_WAKE) {
            struct recent_wake wake = {.age_ns = age, .object = event->a >> 32, .worker = (unsigned)event->a};
            clean_text(wake.by, sizeof wake.by, thread->name, sizeof thread->name, false);
            keep_wake(recent, &wake);
        }
    }
    /* A ring that holds less than a second stands for the whole of it. */
    bool full = count > 0 && first > 0 && vg_snapshot_age(look->now, events[0].ticks) < SECOND;
    double scale = full && oldest > 1000000 ? (double)SECOND / (double)oldest : 1;
    for (unsigned i = 0; i < VG_FILE_CLASSES; i++)
        recent->rate[i] += ran[i] * scale;
    free(events);
}

void recent_read(struct look *look, struct recent *recent)
{
    *recent = (struct recent){0};
    for (size_t i = 0; i < look->now->thread_count; i++)
        read_ring(look, &look->now->threads[i], recent);
}
