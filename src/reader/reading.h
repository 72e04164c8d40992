/* SPDX-License-Identifier: MIT */
/*
 * reading.h - the reader from inside: what its files share.
 */
#ifndef VG_READER_READING_H
#define VG_READER_READING_H

#include "reader.h"
#include "record/symbols.h"

enum {
    VG_READER_PATH = 4096
};

struct vg_reader {
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
};

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

/* reader.c */
int vg_reader_read(const vg_reader *reader, uint64_t offset, void *memory, size_t bytes); /* all of it, or -EBADMSG */
bool vg_reader_holds(const vg_reader *reader, uint64_t offset, uint64_t bytes);           /* the file is that long */
void *vg_reader_copy(const vg_reader *reader, uint64_t offset, size_t bytes, int *error); /* of the caller */
int vg_reader_header(vg_reader *reader); /* read it again. 0; -EBADMSG; -EPROTO */
/* 'R', 'S', 'T', ... as in /proc/PID/stat; 0: this very process is not there any more. */
char vg_reader_process_state(const vg_file_header *header);
bool vg_reader_same_boot(const vg_file_header *header);
void vg_copy_text(char *to, size_t room, const char *from, size_t from_room);  /* ends with a zero, printable */
void vg_copy_lines(char *to, size_t room, const char *from, size_t from_room); /* the same, and keeps new lines */

/* reader_entries.c: the first `used` entries of a section that change under our eyes, in memory of the caller. Each has `bytes` and begins
   with its count of writes, which is 0 in the copy if it is empty or was being written. *count: at most how many, then how
   many. 0 in *error; -EBADMSG; -ENOMEM. */
void *vg_reader_entries(const vg_reader *reader, uint64_t offset, size_t bytes, uint64_t used, size_t *count,
                        int *error);
int vg_raw_verdicts(vg_raw *raw); /* and acts. 0; -EBADMSG; -ENOMEM */

/* reader_snapshot.c */
uint64_t vg_raw_age(const vg_raw *raw, uint64_t ticks);
uint64_t vg_raw_ns(const vg_raw *raw, uint64_t ticks);
/* From what was read before, at `wait`, and after. NONE also if it was changed meanwhile. */
vg_wait_view vg_raw_wait(const vg_raw *raw, const vg_file_wait *before, const vg_file_wait *wait,
                         const vg_file_wait *after);
/* before and after: how many changes there were then. Newest first; returns how many are told. */
unsigned vg_raw_history(const vg_raw *raw, const vg_cell *before, const vg_file_change *changes, const vg_cell *after,
                        vg_change_view *history);

/* reader_hists.c */
void vg_raw_hist(const vg_raw *raw, const vg_file_hist *from, vg_hist_view *into); /* adds */

/* reader_pool.c, reader_loop.c. 0; -ENOMEM */
int vg_raw_pool(const vg_raw *raw, size_t at, vg_pool_view *view);
void vg_raw_loop(const vg_raw *raw, size_t at, vg_loop_view *view);

/* reader_names.c */
int vg_reader_load_names(vg_reader *reader);
void vg_reader_free_names(vg_reader *reader);

#endif
