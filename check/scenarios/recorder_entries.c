/* SPDX-License-Identifier: MIT */
/*
 * What is written again and again in the same place (names, modules, verdicts, acts) against its reader. Property: what is shown is of
 * one change, never half of this one and half of that; and what lies still is shown.
 *
 * entry_* is the protocol by itself, on the smallest entry: vg_entry_put of record.h against vg_reader_entries. The others are its users,
 * on few of their words.
 */
#include "recorder_file.h"

#include "reader/reader_entries.h"
#include "watchdog/verdict_file.h"
#include "watchdog/verdicts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE "what is shown is of one change"

/* ---- the protocol ---- */

typedef struct entry {
    vg_cell writes;
    uint64_t a, b;
} entry;

static entry *the_entry(void)
{
    return recording_place(0);
}

static void put(uint64_t n)
{
    const entry next = {.a = n, .b = n + 100};
    vg_entry_put(the_entry(), &next, sizeof next);
}

typedef struct plan {
    uint64_t before, beside; /* changes */
} plan;

static void *change(void *arg)
{
    const plan *p = arg;
    for (uint64_t i = 0; i < p->beside; i++)
        put(p->before + i + 1);
    return NULL;
}

/* Which change is shown; 0: none. */
static uint64_t read_entry(void)
{
    size_t count = 1;
    int error = 0;
    entry *seen =
        vg_reader_entries(&recording_reader, recording_front.directory[0].offset, sizeof *seen, 1, &count, &error);
    vgc_assert(error == 0 && count == 1, "the section can be read");
    const uint64_t a = vg_raw_get(&seen->writes) != 0 ? seen->a : 0;
    vgc_assert(a == 0 || seen->b == a + 100, "what is shown is of one change");
    free(seen);
    return a;
}

static pthread_t begin_entry(const plan *p)
{
    recording_begin();
    vg_record_block block;
    vgc_assert(vg_block_get(&block, VG_BLOCK_LOOP, FILE_PLACE, 0, 1) == 0 && block.memory == the_entry(), "a place");
    for (uint64_t i = 0; i < p->before; i++)
        put(i + 1);
    recording_watch(the_entry(), sizeof(entry));
    recording_settle();
    return vgc_thread_start(change, (void *)(uintptr_t)p);
}

static void entry_whole(void)
{
    const plan *p = vgc_arg();
    pthread_t writer = begin_entry(p);
    vgc_assert(read_entry() <= p->before + p->beside, "nothing is shown that was not written");
    vgc_thread_join(writer);
    vgc_assert(read_entry() == p->before + p->beside, "what lies still is shown");
}

static const plan plan_first = {.beside = 2};
VGC_REGISTER(first, "entry_first", entry_whole, WHOLE, .bound = "an empty entry, 2 changes, 1 reading",
             .arg = &plan_first);
static const plan plan_again = {.before = 1, .beside = 2};
VGC_REGISTER(again, "entry_again", entry_whole, WHOLE, .bound = "an entry, 2 changes, 1 reading", .arg = &plan_again);

/* That the old, the new and nothing can be shown is seen by asserting the contrary. */
static void entry_never(void)
{
    static const plan once = {.before = 1, .beside = 1};
    const uint64_t which = (uint64_t)(uintptr_t)vgc_arg();
    pthread_t writer = begin_entry(&once);
    vgc_assert(read_entry() != which, "it is shown");
    vgc_thread_join(writer);
}

VGC_REGISTER(none, "entry_can_be_hidden", entry_never, "one that changes is not shown", .bound = "an entry, 1 change",
             .arg = (const void *)0, .expect = VGC_ASSERTION);
VGC_REGISTER(old, "entry_can_be_old", entry_never, "one that changes is shown as it was", .bound = "an entry, 1 change",
             .arg = (const void *)1, .expect = VGC_ASSERTION);
VGC_REGISTER(new, "entry_can_be_new", entry_never, "one that changes is shown as it is", .bound = "an entry, 1 change",
             .arg = (const void *)2, .expect = VGC_ASSERTION);

/* ---- verdicts ---- */

/* Verdict n has stall n, and n in its reason. */
static void say(uint64_t n)
{
    static vigil_verdict verdict; /* too large for a stack here; one thread at a time */
    verdict.number = n;
    verdict.stall = (vigil_stall)n;
    verdict.state = VIGIL_VERDICT_RAISED;
    (void)snprintf(verdict.reason, sizeof verdict.reason, "%u", (unsigned)n);
    vg_verdict_file_write(&verdict, n);
}

static void *say_next(void *arg)
{
    say((uint64_t)(uintptr_t)arg);
    return NULL;
}

static void check_verdicts(size_t at_least)
{
    vg_snapshot seen = {.tick_ns = 1};
    vg_raw raw = {.reader = &recording_reader, .snapshot = &seen};
    vgc_assert(vg_reader_header(&recording_reader) == 0 && vg_raw_verdicts(&raw) == 0, "the section can be read");
    vgc_assert(seen.verdict_count >= at_least, "what lies still is shown");
    for (size_t i = 0; i < seen.verdict_count; i++) {
        const vg_verdict_view *one = &seen.verdicts[i];
        vgc_assert(one->number != 0 && one->kind == one->number && one->reason[0] == (char)('0' + one->number) &&
                       one->repeats == 1,
                   "a verdict that is shown is whole");
    }
    free(seen.verdicts);
    free(seen.acts);
}

static void verdict_shown(void)
{
    const uint64_t before = (uint64_t)(uintptr_t)vgc_arg();
    recording_begin();
    vg_verdict_file_begin(1);
    for (uint64_t n = 1; n <= before; n++)
        say(n);
    vg_file_verdict *place = &recording_front.verdicts[before % VG_FILE_VERDICTS];
    recording_watch(&place->writes, 3 * sizeof(uint64_t)); /* and number, kind */
    recording_watch(&place->repeats, sizeof place->repeats);
    recording_watch(place->reason, sizeof place->reason);
    recording_watch(&recording_front.header.verdicts, sizeof(vg_cell));
    recording_settle();
    pthread_t writer = vgc_thread_start(say_next, (void *)(uintptr_t)(before + 1));
    check_verdicts(before == 0 ? 0 : VG_FILE_VERDICTS - 1);
    vgc_thread_join(writer);
    check_verdicts(before == 0 ? 1 : VG_FILE_VERDICTS);
    vg_verdict_file_end();
}

VGC_REGISTER(verdict_first, "verdict_first", verdict_shown, WHOLE, .bound = "an empty slot, 1 verdict, 1 reading",
             .arg = (const void *)0);
VGC_REGISTER(verdict_over, "verdict_over", verdict_shown, WHOLE,
             .bound = "2 slots that are full, 1 verdict over the older, 1 reading", .arg = (const void *)2);

/* ---- acts ---- */

/* Act n answers verdict n, and has n in its text. */
static void act(uint64_t n)
{
    const char text[] = {(char)('0' + n), 0};
    vg_verdict_file_act(1, 0, n, n, 0, text);
}

static void *act_next(void *arg)
{
    act((uint64_t)(uintptr_t)arg);
    return NULL;
}

static void check_acts(size_t at_least)
{
    vg_snapshot seen = {.tick_ns = 1};
    vg_raw raw = {.reader = &recording_reader, .snapshot = &seen};
    vgc_assert(vg_reader_header(&recording_reader) == 0 && vg_raw_verdicts(&raw) == 0, "the section can be read");
    vgc_assert(seen.act_count >= at_least, "what lies still is shown");
    for (size_t i = 0; i < seen.act_count; i++)
        vgc_assert(seen.acts[i].verdict == seen.acts[i].number &&
                       seen.acts[i].text[0] == (char)('0' + seen.acts[i].number),
                   "an act that is shown is whole");
    free(seen.verdicts);
    free(seen.acts);
}

static void act_over(void)
{
    recording_begin();
    vg_verdict_file_begin(1);
    for (uint64_t n = 1; n <= VG_FILE_ACTS; n++)
        act(n);
    vg_file_act *place = &recording_front.acts[0];
    recording_watch(&place->writes, 2 * sizeof(uint64_t)); /* and number */
    recording_watch(&place->verdict, sizeof place->verdict);
    recording_watch(place->text, sizeof place->text);
    recording_settle();
    pthread_t writer = vgc_thread_start(act_next, (void *)(uintptr_t)(VG_FILE_ACTS + 1));
    check_acts(VG_FILE_ACTS - 1);
    vgc_thread_join(writer);
    check_acts(VG_FILE_ACTS);
    vg_verdict_file_end();
}

VGC_REGISTER(act_over, "act_over", act_over, WHOLE, .bound = "2 slots that are full, 1 act over the older, 1 reading");

/* ---- names ---- */

static void function(void)
{
}

static void *rename_it(void *arg)
{
    (void)arg;
    vgc_assert(vigil_record_name(function, "Beeeeeeeeeeeeee") == 0, "a name");
    return NULL;
}

static void name_again(void)
{
    char name[32];
    recording_begin();
    vgc_assert(vigil_record_name(function, "Aaaaaaaaaaaaaaa") == 0, "a name");
    recording_watch(&recording_front.names[0], sizeof recording_front.names[0]);
    recording_settle();
    vgc_assert(vg_reader_header(&recording_reader) == 0, "the file can be read");
    pthread_t writer = vgc_thread_start(rename_it, NULL);
    vg_reader_name(&recording_reader, (uint64_t)(uintptr_t)function, name, sizeof name);
    vgc_assert(strcmp(name, "Aaaaaaaaaaaaaaa") == 0 || strcmp(name, "Beeeeeeeeeeeeee") == 0 || name[0] == '0',
               "a name is shown whole, or not at all");
    vgc_thread_join(writer);
    vgc_assert(vg_reader_load_names(&recording_reader) == 0, "the section can be read");
    vg_reader_name(&recording_reader, (uint64_t)(uintptr_t)function, name, sizeof name);
    vgc_assert(strcmp(name, "Beeeeeeeeeeeeee") == 0, "what lies still is shown");
    vg_reader_free_names(&recording_reader);
}

VGC_REGISTER(name, "name_again", name_again, WHOLE, .bound = "a name of 2 words, 1 change, 1 reading",
             .opt.allow_leaks = true /* the names are kept as long as the process lives */);
