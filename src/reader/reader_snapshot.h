/* SPDX-License-Identifier: MIT */
/*
 * reader_snapshot.h - one look at a recorder file.
 */
#ifndef VG_READER_READER_SNAPSHOT_H
#define VG_READER_READER_SNAPSHOT_H

#include "view.h"

typedef struct vg_reader vg_reader;
typedef struct vg_raw vg_raw;

/* 0; -EBADMSG; -ENOMEM. Free it with vg_snapshot_free. Counters of one pool are coherent (see vg_class_view); different
   objects are read one after the other. */
int vg_reader_snapshot(vg_reader *reader, vg_snapshot **result);
void vg_snapshot_free(vg_snapshot *snapshot);

/* Ticks to ns before the snapshot's moment (negative: after it), and to ns since the recorder was made. */
int64_t vg_snapshot_age(const vg_snapshot *snapshot, uint64_t ticks);
int64_t vg_snapshot_time(const vg_snapshot *snapshot, uint64_t ticks);

/* For the other files of the reader. */
uint64_t vg_raw_age(const vg_raw *raw, uint64_t ticks);
uint64_t vg_raw_ns(const vg_raw *raw, uint64_t ticks);
uint64_t vg_raw_age_of_ns(const vg_raw *raw, uint64_t ns); /* of a time on CLOCK_MONOTONIC; 0 stays 0 */
/* From what was read before, at `wait`, and after. NONE also if it changed during the reading. */
vg_wait_view vg_raw_wait(const vg_raw *raw, const vg_file_wait *before, const vg_file_wait *wait,
                         const vg_file_wait *after);
/* before and after: how many changes there were then. Newest first; returns how many are filled in. */
unsigned vg_raw_history(const vg_raw *raw, const vg_cell *before, const vg_file_change *changes, const vg_cell *after,
                        vg_change_view *history);

#endif
