/* SPDX-License-Identifier: MIT */
/*
 * format_base.h - the sizes of the file (format.h), and the kinds of its blocks.
 */
#ifndef VG_RECORD_FORMAT_BASE_H
#define VG_RECORD_FORMAT_BASE_H

enum {
    VG_FILE_CLASSES = 5,  /* priorities, CRITICAL first */
    VG_FILE_STATES = 16,  /* room for vigil_worker_state */
    VG_FILE_PHASES = 16,  /* room for vigil_loop_phase */
    VG_FILE_STRIPES = 16, /* of the counters that threads outside share */
    VG_FILE_MOST_RINGS = 256,
    VG_FILE_LABEL_WORDS = 5 /* 39 bytes and a zero */
};

#ifdef VIGIL_CHECK /* small enough to explore; never written to a file */
enum {
    VG_FILE_HISTORY = 3,
    VG_FILE_PAST = 2,
    VG_FILE_BLOCKS = 2,
    VG_FILE_IOS = 2,
    VG_FILE_NAMES = 2,
    VG_FILE_MODULES = 1,
    VG_FILE_VERDICTS = 2,
    VG_FILE_ACTS = 2,
    VG_FILE_NAME_ROOM = 16,
    VG_FILE_PATH_ROOM = 8,
    VG_FILE_REASON_ROOM = 8,
    VG_FILE_EVIDENCE_ROOM = 8,
    VG_FILE_ADVICE_ROOM = 8,
    VG_HIST_TOP_BITS = 5
};
#else
enum {
    VG_FILE_HISTORY = 33,  /* state changes kept, and one in the making */
    VG_FILE_PAST = 128,    /* steps of a worker's last minute */
    VG_FILE_BLOCKS = 1024, /* entries of the directory */
    VG_FILE_IOS = 254,     /* streams of a loop that are shown, and their like */
    VG_FILE_NAMES = 1024,  /* functions that were given a name */
    VG_FILE_MODULES = 64,  /* executable and libraries */
    VG_FILE_VERDICTS = 64, /* the last of the watchdog's */
    VG_FILE_ACTS = 128,    /* the last of the recovery's */
    VG_FILE_NAME_ROOM = 56,
    VG_FILE_PATH_ROOM = 192,
    VG_FILE_REASON_ROOM = 320,
    VG_FILE_EVIDENCE_ROOM = 3328,
    VG_FILE_ADVICE_ROOM = 384,
    VG_HIST_TOP_BITS = 48 /* see below */
};
#endif

typedef enum vg_file_block_kind {
    VG_BLOCK_FREE = 0,
    VG_BLOCK_POOL,    /* vg_file_pool */
    VG_BLOCK_WORKERS, /* vg_file_worker, several; owner: the pool */
    VG_BLOCK_HISTS,   /* vg_file_pool_hists, several; owner: the pool */
    VG_BLOCK_LOOP,    /* vg_file_loop */
    VG_BLOCK_RING,    /* vg_file_thread, its events, VG_FILE_PAST vg_file_past; owner: the pool or loop, or 0 */
    VG_BLOCK_IO       /* vg_file_ios; owner: the loop */
} vg_file_block_kind;

#endif
