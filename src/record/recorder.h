/* SPDX-License-Identifier: MIT */
/*
 * recorder.h - the recorder's struct. There is one in a process.
 */
#ifndef VG_RECORD_RECORDER_H
#define VG_RECORD_RECORDER_H

#include "base/mutex.h"
#include "file.h"
#include "format.h"

#include <stdbool.h>

#include <vigil/record.h>

/* The fixed part of the file: header and sections. */
typedef struct vg_file_front {
    vg_file_header header;
    vg_file_block directory[VG_FILE_BLOCKS];
    vg_file_name names[VG_FILE_NAMES];
    vg_file_module modules[VG_FILE_MODULES];
    vg_file_verdict verdicts[VG_FILE_VERDICTS];
    vg_file_act acts[VG_FILE_ACTS];
} vg_file_front;

/* One entry of the directory, as the process knows it. */
typedef struct vg_extent {
    void *memory; /* where the block is mapped */
    size_t bytes;
    bool used;
    bool written;
    bool ring;      /* unused, and holds the events of a dead thread */
    bool copy_fork; /* a forked child gets a copy, else zeros */
} vg_extent;

typedef struct vg_recorder {
    vg_mutex lock; /* over everything here; a leaf, and no callback runs under it */
    unsigned users;
    unsigned level;       /* while there are users */
    vg_file_front *front; /* NULL: the recorder is off */
    vg_file file;
    uint64_t max_bytes;
    uint64_t ring_events;
    unsigned extent_count;
    unsigned rings;
    uint64_t serials;
    unsigned long long modules_seen; /* what the loader has added and removed */
    vg_extent extents[VG_FILE_BLOCKS];
} vg_recorder;

extern vg_recorder vg_the_recorder;

/* What the user chose. Under the recorder's lock. */
typedef struct vg_record_config {
    unsigned level;
    char directory[VG_RECORD_PATH_ROOM];
    uint64_t max_bytes;
    uint64_t ring_events;
    void (*log)(void *user, const char *text);
    void *user;
} vg_record_config;

extern vg_record_config vg_the_record_config;

#endif
