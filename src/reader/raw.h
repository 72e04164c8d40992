/* SPDX-License-Identifier: MIT */
/*
 * raw.h - the reader from inside: the open file, and what a snapshot is made from.
 */
#ifndef VG_READER_RAW_H
#define VG_READER_RAW_H

#include "reader.h"
#include "record/symbols.h"

enum {
    VG_READER_PATH = 4096
};

typedef struct vg_reader {
    int fd;
    char path[VG_READER_PATH];
    vg_file_header header; /* as it was at the last snapshot; what is not a cell stays */
    /* For names; read with each snapshot, or when the first is asked for. */
    vg_file_name *names;
    size_t name_count;
    vg_file_module *modules;
    size_t module_count;
    vg_symbols *symbols[VG_FILE_MODULES]; /* of modules, when asked for; NULL: not yet */
    uint64_t symbols_of[VG_FILE_MODULES]; /* where the module began whose symbols these are */
} vg_reader;

/* A block as it was copied out of the file. */
typedef struct vg_raw_block {
    uint64_t serial, kind, owner, entries;
    uint64_t offset, bytes;
    void *memory; /* of RING: only the head */
} vg_raw_block;

/* Everything that a snapshot is made of. */
typedef struct vg_raw {
    vg_reader *reader;
    size_t count;
    vg_raw_block blocks[VG_FILE_BLOCKS];
    void *before[VG_FILE_BLOCKS]; /* of all but HISTS: what was read before `memory`, */
    void *after[VG_FILE_BLOCKS];  /* and after it */
    size_t copied;                /* bytes in all */
    uint64_t last;                /* the latest time stamp that was found */
    vg_snapshot *snapshot;
} vg_raw;

/* The value of a cell in a copy. */
static inline uint64_t vg_raw_get(const vg_cell *cell)
{
    return atomic_load_explicit(cell, memory_order_relaxed); /* nobody else has the copy */
}

static inline uint64_t vg_less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

#endif
