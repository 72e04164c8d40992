/* SPDX-License-Identifier: MIT */
/*
 * recorder_file.h - the recorder's file as memory: the recorder writes to it (life.c, block.c, ring.c, names.c, verdict_file.c), the reader gets
 * at it (reader.c and reader_*.c) through pread, and both are the library's sources unchanged.
 *
 * The kernel's copy is word by word, each word whole and relaxed, because a system call orders nothing for others. That is also weaker
 * than any kernel in that the words of one copy come in no order.
 *
 * Only words that a scenario names (recording_watch) are read while others write. All others are told as they were before (recording_settle):
 * those that stay the same, and those at which the scenario does not look. So each scenario is about few words, and small.
 */
#ifndef VGC_RECORDER_FILE_H
#define VGC_RECORDER_FILE_H

#include <vigil_check.h>

#include "reader/process.h"
#include "reader/raw.h"
#include "reader/reader_entries.h"
#include "reader/reader_snapshot.h"
#include "record/directory.h"
#include "record/file.h"
#include "record/life.h"
#include "record/record.h"
#include "record/recorder.h"

enum {
    FILE_RING = 2,     /* events */
    FILE_PLACE = 4096, /* bytes of a block */
    FILE_PLACES = 2    /* more do not fit into the file */
};

extern vg_file_front recording_front;
extern vg_reader recording_reader;

void recording_begin(void);                           /* the recorder is on, and its file is empty */
void *recording_place(unsigned place);                /* the memory of a block */
void recording_watch(const void *from, size_t bytes); /* in recording_front, or in a block */
void recording_settle(void);                          /* after all else, before other threads */
vg_snapshot *recording_snapshot(void);                /* the caller's */

#endif
