/* SPDX-License-Identifier: MIT */
/*
 * reader_entries.c - sections whose entries change under our eyes: names, modules, verdicts, acts.
 *
 * Each entry has a count of its writes, odd while it changes (vg_entry_put of record.h). A section is copied three
 * times: the first and the third copy tell the counts, the second what they count. One copy could not tell: in which
 * order the words of a copy were read is the kernel's business.
 */
#include "reader_entries.h"
#include "raw.h"

#include <errno.h>
#include <stdlib.h>

/* The count of entry i of a copy. */
static vg_cell *writes_of(void *copy, size_t bytes, size_t i)
{
    return (vg_cell *)(void *)((char *)copy + i * bytes);
}

void *vg_reader_entries(const vg_reader *reader, uint64_t offset, size_t bytes, uint64_t used, size_t *count,
                        int *error)
{
    *count = used < *count ? (size_t)used : *count;
    void *before = vg_reader_copy(reader, offset, *count * bytes, error);
    /* acquire: what an even count counts is seen; pairs with the release in vg_change_end */
    atomic_thread_fence(memory_order_acquire);
    void *copy = *error != 0 ? NULL : vg_reader_copy(reader, offset, *count * bytes, error);
    /* acquire: of what was written over the copied words the count tells us now; pairs with the fence in
       vg_change_begin */
    atomic_thread_fence(memory_order_acquire);
    void *after = *error != 0 ? NULL : vg_reader_copy(reader, offset, *count * bytes, error);
    for (size_t i = 0; *error == 0 && i < *count; i++) {
        const uint64_t writes = vg_raw_get(writes_of(before, bytes, i));
        const bool whole = writes % 2 == 0 && vg_raw_get(writes_of(after, bytes, i)) == writes;
        atomic_store_explicit(writes_of(copy, bytes, i), whole ? writes : 0, memory_order_relaxed); /* it is ours */
    }
    free(before);
    free(after);
    if (*error == 0)
        return copy;
    free(copy);
    return NULL;
}

/* ---- verdicts and acts ------------------------------------------------------------------------------------------- */

static void show_verdict(const vg_raw *raw, const vg_file_verdict *from, vg_verdict_view *view)
{
    *view = (vg_verdict_view){.number = from->number,
                              .kind = from->kind,
                              .severity = from->severity,
                              .object = from->object,
                              .worker = from->worker,
                              .function = from->function,
                              .first_age_ns = vg_raw_age(raw, from->first_ticks),
                              .last_age_ns = vg_raw_age(raw, from->last_ticks),
                              .over = from->over_ticks != 0,
                              .over_age_ns = vg_raw_age(raw, from->over_ticks),
                              .repeats = from->repeats,
                              .times = from->times};
    vg_copy_lines(view->reason, sizeof view->reason, from->reason, sizeof from->reason);
    vg_copy_lines(view->evidence, sizeof view->evidence, from->evidence, sizeof from->evidence);
    vg_copy_lines(view->advice, sizeof view->advice, from->advice, sizeof from->advice);
}

static void show_act(const vg_raw *raw, const vg_file_act *from, vg_act_view *view)
{
    *view = (vg_act_view){.number = from->number,
                          .verdict = from->verdict,
                          .kind = from->kind,
                          .result = from->result,
                          .object = from->object,
                          .worker = from->worker,
                          .age_ns = vg_raw_age(raw, from->ticks)};
    vg_copy_text(view->text, sizeof view->text, from->text, sizeof from->text);
}

static int newer_verdict_first(const void *a, const void *b)
{
    const uint64_t x = ((const vg_verdict_view *)a)->number;
    const uint64_t y = ((const vg_verdict_view *)b)->number;
    return (x < y) - (x > y);
}

static int newer_act_first(const void *a, const void *b)
{
    const uint64_t x = ((const vg_act_view *)a)->number;
    const uint64_t y = ((const vg_act_view *)b)->number;
    return (x < y) - (x > y);
}

static int show_verdicts(vg_raw *raw)
{
    vg_snapshot *snapshot = raw->snapshot;
    const vg_file_header *header = &raw->reader->header;
    size_t count = VG_FILE_VERDICTS;
    int error = 0;
    vg_file_verdict *all = vg_reader_entries(raw->reader, header->sections[VG_SECTION_VERDICTS].offset, sizeof *all,
                                             vg_raw_get(&header->verdicts), &count, &error);
    snapshot->verdicts = error != 0 ? NULL : calloc(count + 1, sizeof *snapshot->verdicts);
    if (error == 0 && snapshot->verdicts == NULL)
        error = -ENOMEM;
    for (size_t i = 0; error == 0 && i < count; i++)
        if (vg_raw_get(&all[i].writes) != 0)
            show_verdict(raw, &all[i], &snapshot->verdicts[snapshot->verdict_count++]);
    free(all);
    if (error == 0)
        qsort(snapshot->verdicts, snapshot->verdict_count, sizeof *snapshot->verdicts, newer_verdict_first);
    return error;
}

static int show_acts(vg_raw *raw)
{
    vg_snapshot *snapshot = raw->snapshot;
    const vg_file_header *header = &raw->reader->header;
    size_t count = VG_FILE_ACTS;
    int error = 0;
    vg_file_act *all = vg_reader_entries(raw->reader, header->sections[VG_SECTION_ACTS].offset, sizeof *all,
                                         vg_raw_get(&header->acts), &count, &error);
    snapshot->acts = error != 0 ? NULL : calloc(count + 1, sizeof *snapshot->acts);
    if (error == 0 && snapshot->acts == NULL)
        error = -ENOMEM;
    for (size_t i = 0; error == 0 && i < count; i++)
        if (vg_raw_get(&all[i].writes) != 0)
            show_act(raw, &all[i], &snapshot->acts[snapshot->act_count++]);
    free(all);
    if (error == 0)
        qsort(snapshot->acts, snapshot->act_count, sizeof *snapshot->acts, newer_act_first);
    return error;
}

int vg_raw_verdicts(vg_raw *raw)
{
    int error = show_verdicts(raw);
    return error != 0 ? error : show_acts(raw);
}
