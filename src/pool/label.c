/* SPDX-License-Identifier: MIT */
/*
 * label.c - a name for the task that runs. It is written into the worker's record and belongs to the task whose start
 * is not later than the label (format_pool.h), so that nothing has to be cleared when a task ends.
 */
#include "label.h"

#include "base/why.h"

#include "worker.h"

#include "record/cell.h"

#include <vigil/pool.h>

#include <errno.h>
#include <vigil/record.h>

#include <string.h>

enum {
    LABEL_FIRST = 6, /* characters beside the kind */
    LABEL_IN_EVENT = LABEL_FIRST + 16
};

int vigil_task_label(const char *label)
{
    const vg_worker *worker = vg_current_worker;
    if (label == NULL)
        return VG_WHY_NULL("label");
    if (worker == NULL || worker->depth == 0)
        return vg_why(-EPERM, "no task runs on this thread");
    vg_file_worker *mine = worker->seat.counts;
    uint64_t words[VG_FILE_LABEL_WORDS] = {0};
    const size_t length = strnlen(label, sizeof words - 1);
    memcpy(words, label, length);
    vg_cell_set(&mine->label_at, 0);
    /* release: a reader that has copied any of the words below sees at least the 0; pairs with the fence in
       vg_label_read and the second one in reader_snapshot.c */
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < VG_FILE_LABEL_WORDS; i++)
        vg_cell_set(&mine->label[i], words[i]);
    vg_cell_set(&mine->label_function, atomic_load_explicit(&mine->task_function, memory_order_relaxed));
    /* release: a reader that sees the time sees the words; pairs with the acquire in vg_label_read and the first fence
       in reader_snapshot.c */
    const uint64_t now = vg_ticks();
    atomic_store_explicit(&mine->label_at, now, memory_order_release);
    if (worker->level == VIGIL_RECORD_EVENTS) { /* for traces, with as much of it as an event holds */
        uint64_t parts[3] = {0};
        const size_t kept = length < LABEL_IN_EVENT ? length : LABEL_IN_EVENT;
        memcpy(&parts[0], label, kept < LABEL_FIRST ? kept : LABEL_FIRST);
        if (kept > LABEL_FIRST)
            memcpy(&parts[1], label + LABEL_FIRST, kept - LABEL_FIRST);
        vg_event_put(now, vg_event_what(VG_EVENT_LABEL, (unsigned)kept, parts[0]), parts[1], parts[2]);
    }
    return 0;
}

void vg_label_read(const vg_file_worker *counts, vg_worker_fact *fact)
{
    uint64_t words[VG_FILE_LABEL_WORDS];
    /* acquire: the words of this time; pairs with the release in vigil_task_label */
    const uint64_t at = atomic_load_explicit(&counts->label_at, memory_order_acquire);
    for (size_t i = 0; i < VG_FILE_LABEL_WORDS; i++)
        words[i] = atomic_load_explicit(&counts->label[i], memory_order_relaxed);
    const uint64_t function = atomic_load_explicit(&counts->label_function, memory_order_relaxed);
    /* acquire: the time after the words; pairs with the fence in vigil_task_label */
    atomic_thread_fence(memory_order_acquire);
    if (at == 0 || atomic_load_explicit(&counts->label_at, memory_order_relaxed) != at ||
        at < atomic_load_explicit(&counts->task_since, memory_order_relaxed) ||
        function != (uint64_t)(uintptr_t)fact->function)
        return;
    memcpy(fact->label, words, sizeof fact->label);
    fact->label[sizeof fact->label - 1] = 0;
}
