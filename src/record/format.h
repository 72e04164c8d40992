/* SPDX-License-Identifier: MIT */
/*
 * format.h - the recorder's file; FORMAT.md explains it. For the recorder and the reader; writers include only their
 * part.
 */
#ifndef VG_RECORD_FORMAT_H
#define VG_RECORD_FORMAT_H

#include "format_event.h"
#include "format_io.h"
#include "format_loop.h"
#include "format_pool.h"

#define VG_FILE_MAGIC   UINT64_C(0x4345524c49474956) /* "VIGILREC" on a little-endian machine */
#define VG_FILE_VERSION 6U
#define VG_FILE_ORDER   UINT32_C(0x01020304)

/* ---- the header: offset 0 ---------------------------------------------------------------------------------------- */

typedef enum vg_file_section_kind {
    VG_SECTION_DIRECTORY = 1, /* vg_file_block */
    VG_SECTION_NAMES,         /* vg_file_name */
    VG_SECTION_MODULES,       /* vg_file_module */
    VG_SECTION_VERDICTS,      /* vg_file_verdict */
    VG_SECTION_ACTS,          /* vg_file_act */
    VG_SECTIONS
} vg_file_section_kind;

typedef struct vg_file_section {
    uint64_t offset;
    uint32_t entry_bytes;
    uint32_t entries;
} vg_file_section;

/* Events that found no ring; several writers, a line each. */
typedef struct vg_file_drops {
    alignas(64) vg_cell events;
} vg_file_drops;

typedef struct vg_file_header {
    vg_cell magic;          /* written last: until then it is no record */
    uint32_t version;       /* VG_FILE_VERSION */
    uint32_t header_bytes;  /* sizeof(vg_file_header) */
    uint32_t byte_order;    /* VG_FILE_ORDER, as the writer stores it */
    uint32_t address_bits;  /* 64 */
    uint64_t pid;           /* in the PID namespace of the process */
    uint64_t pid_namespace; /* inode of /proc/PID/ns/pid; 0: unknown */
    uint64_t locked;        /* 1: the process keeps a lock on the file (F_OFD_SETLK) */
    uint64_t start_time;    /* field 22 of /proc/PID/stat, against reuse of the pid */
    uint64_t uid;
    uint64_t level;               /* vigil_record_level */
    uint64_t ring_events;         /* records in each ring, a power of two */
    uint64_t max_bytes;           /* the file grows no further */
    uint64_t born_ticks, born_ns; /* the same moment on both clocks; ns is CLOCK_MONOTONIC */
    uint64_t born_wall_ns;        /* CLOCK_REALTIME then */
    char boot_id[40];             /* /proc/sys/kernel/random/boot_id: clocks and pids hold for one boot */
    char library[32];             /* version of libvigil */
    char command[256];            /* /proc/PID/cmdline, with blanks for zeros, cut */
    vg_file_section sections[8];  /* by vg_file_section_kind */

    /* From here on cells, written under the recorder's lock except where noted. */
    /* A later moment on both clocks. If the process died between the two, one is older. */
    vg_cell mark_ticks, mark_ns;
    vg_cell file_bytes;
    vg_cell serials;        /* the last serial that was given */
    vg_cell left_out;       /* pools, loops and threads that found no room */
    vg_cell names, modules; /* entries used in these sections */
    vg_cell verdicts, acts; /* ever written; n is in entry n % VG_FILE_VERDICTS. Watchdog alone */
    vg_cell watch_ticks;    /* when the watchdog last looked; 0: there is none. Watchdog alone */
    vg_cell watch_interval; /* ns between its looks; watchdog alone */
    vg_cell ended;          /* 1: the last user has gone; the file is removed next */
    vg_file_drops drops[VG_FILE_STRIPES];
} vg_file_header;

/* ---- the directory ----------------------------------------------------------------------------------------------- */

/* One block. Read the entry, the block, the entry again: a change means another owner. */
typedef struct vg_file_block {
    vg_cell serial; /* of the content; 0: none. Stored last (release), cleared first */
    vg_cell kind;
    vg_cell offset, bytes; /* stay when the content goes */
    vg_cell owner;         /* serial of its object */
    vg_cell entries;       /* WORKERS, HISTS: how many; RING: records */
} vg_file_block;

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* A function named by vigil_record_name; written as a verdict, under the recorder's lock. */
typedef struct vg_file_name {
    vg_cell writes;
    uint64_t address;
    char name[VG_FILE_NAME_ROOM];
} vg_file_name;

/* A mapped executable or library, to name addresses after death; written as a name. */
typedef struct vg_file_module {
    vg_cell writes;
    uint64_t begin; /* 0: it has no segments, and is not shown */
    uint64_t end;
    uint64_t base; /* load address minus file address */
    uint32_t build_id_bytes;
    uint8_t build_id[36];
    char path[VG_FILE_PATH_ROOM];
} vg_file_module;

/* ---- what the watchdog says -------------------------------------------------------------------------------------- */

/* One finding. Writer: the watchdog's thread, which makes `writes` odd during a change. */
typedef struct vg_file_verdict {
    vg_cell writes;
    uint64_t number;                  /* from 1 on */
    uint32_t kind;                    /* vigil_stall of watchdog.h */
    uint32_t severity;                /* vigil_severity of watchdog.h: 0 INFO, 1 WARNING, 2 ERROR, 3 CRITICAL */
    uint64_t object;                  /* serial of the pool or loop */
    uint64_t worker;                  /* index, UINT64_MAX: none in particular */
    uint64_t first_ticks, last_ticks; /* first seen, last confirmed */
    uint64_t over_ticks;              /* 0: it still holds */
    uint64_t repeats;                 /* times confirmed */
    uint64_t times;                   /* times raised */
    uint64_t function;                /* callback or task; 0: none */
    char reason[VG_FILE_REASON_ROOM];
    char evidence[VG_FILE_EVIDENCE_ROOM];
    char advice[VG_FILE_ADVICE_ROOM];
} vg_file_verdict;

/* One act of recovery; written as a verdict is. */
typedef struct vg_file_act {
    vg_cell writes;
    uint64_t number;
    uint64_t ticks;
    uint64_t verdict; /* its cause; 0: the user asked */
    uint32_t kind;    /* VIGIL_RECOVER_* of watchdog.h */
    int32_t result;   /* 0 or a negative errno */
    uint64_t object, worker;
    char text[VG_FILE_REASON_ROOM];
} vg_file_act;

#endif
