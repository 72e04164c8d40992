/* SPDX-License-Identifier: MIT */
/*
 * verdict_file.c - what the watchdog says and does, in the recorder's file, where it can be read from outside and after
 * the end.
 *
 * The watchdog's thread is the only writer of these sections. It holds the recorder for the length of a look, so that
 * the file cannot go while it writes, and comes and goes with the pools and loops all the same.
 */
#include "verdict_file.h"

#include "base/clock.h"
#include "record/format.h"
#include "record/record.h"

#include <stdio.h>
#include <string.h>

static struct {
    bool held;
    uint32_t epoch;
    unsigned looks;
    double length; /* of a tick */
    vg_tick_base base;
} verdict_file;

void vg_verdict_file_begin(uint64_t interval_ns)
{
    (void)vg_record_hold(&verdict_file.epoch);
    verdict_file.held = true;
    vg_file_header *header = vg_record_header();
    if (header == NULL)
        return;
    if (verdict_file.base.ticks == 0)
        verdict_file.base = (vg_tick_base){.ticks = header->born_ticks, .ns = header->born_ns};
    verdict_file.length = vg_tick_length(verdict_file.base);
    vg_cell_set(&header->watch_interval, interval_ns);
    vg_cell_set(&header->watch_ticks, vg_ticks());
    if (verdict_file.looks++ % 5 == 0)
        vg_record_mark();
}

void vg_verdict_file_end(void)
{
    if (verdict_file.held)
        vg_record_release(verdict_file.epoch);
    verdict_file.held = false;
}

void vg_verdict_file_stop(void)
{
    verdict_file.looks = 0;
    verdict_file.base = (vg_tick_base){0};
}

/* A moment of CLOCK_MONOTONIC in ticks, by what a tick has lasted so far. */
static uint64_t ticks_at(uint64_t ns)
{
    const uint64_t now_ns = vg_now_ns();
    const uint64_t now = vg_ticks();
    if (ns >= now_ns || verdict_file.length <= 0)
        return now;
    const uint64_t ago = (uint64_t)((double)(now_ns - ns) / verdict_file.length);
    return ago < now ? now - ago : 1;
}

static void put_text(char *to, size_t room, const char *from)
{
    size_t length = strlen(from);
    length = length < room - 1 ? length : room - 1;
    memset(to, 0, room); /* nothing of an older, longer text stays in the file */
    memcpy(to, from, length + 1);
    to[length] = 0;
}

/* Where a verdict is, or where the next one goes. Nobody else writes here, so we may look at it as it is. */
static vg_file_verdict *verdict_place(vg_file_verdict *all, uint64_t written, uint64_t number)
{
    for (size_t i = 0; i < VG_FILE_VERDICTS; i++)
        if (all[i].number == number)
            return &all[i];
    return &all[written % VG_FILE_VERDICTS];
}

void vg_verdict_file_write(const vigil_verdict *verdict, uint64_t serial)
{
    vg_file_header *header = verdict_file.held ? vg_record_header() : NULL;
    vg_file_verdict *all = header != NULL ? vg_record_verdicts() : NULL;
    if (all == NULL)
        return;
    char evidence[sizeof verdict->evidence + sizeof verdict->stacks];
    (void)snprintf(evidence, sizeof evidence, "%s%s", verdict->evidence, verdict->stacks);
    const uint64_t written = atomic_load_explicit(&header->verdicts, memory_order_relaxed); /* by us */
    vg_file_verdict *at = verdict_place(all, written, verdict->number);
    const bool is_new = at->number != verdict->number;
    vg_file_verdict next = {.number = verdict->number,
                            .kind = (uint32_t)verdict->stall,
                            .severity = (uint32_t)verdict->severity,
                            .object = serial,
                            .worker = verdict->worker < 0 ? UINT64_MAX : (uint64_t)verdict->worker,
                            .first_ticks = ticks_at(verdict->since_ns),
                            .last_ticks = is_new ? 0 : at->last_ticks,
                            .over_ticks = is_new ? 0 : at->over_ticks,
                            .repeats = is_new ? 0 : at->repeats,
                            .times = verdict->times,
                            .function = (uint64_t)(uintptr_t)verdict->function};
    if (verdict->state == VIGIL_VERDICT_CLEARED) {
        next.over_ticks = ticks_at(verdict->at_ns);
    } else {
        next.over_ticks = 0; /* it may have been over, and is back */
        next.last_ticks = ticks_at(verdict->at_ns);
        next.repeats++;
    }
    put_text(next.reason, sizeof next.reason, verdict->reason);
    put_text(next.evidence, sizeof next.evidence, evidence);
    put_text(next.advice, sizeof next.advice, verdict->advice);
    vg_entry_put(at, &next, sizeof next);
    if (is_new)
        vg_cell_set(&header->verdicts, written + 1);
}

void vg_verdict_file_act(uint32_t kind, int result, uint64_t number, uint64_t serial, int worker, const char *text)
{
    vg_file_header *header = verdict_file.held ? vg_record_header() : NULL;
    vg_file_act *all = header != NULL ? vg_record_acts() : NULL;
    if (all == NULL)
        return;
    const uint64_t written = atomic_load_explicit(&header->acts, memory_order_relaxed); /* by us */
    vg_file_act next = {.number = written + 1,
                        .ticks = vg_ticks(),
                        .verdict = number,
                        .kind = kind,
                        .result = result,
                        .object = serial,
                        .worker = worker < 0 ? UINT64_MAX : (uint64_t)worker};
    put_text(next.text, sizeof next.text, text);
    vg_entry_put(&all[written % VG_FILE_ACTS], &next, sizeof next);
    vg_cell_set(&header->acts, written + 1);
}
