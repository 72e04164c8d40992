/* SPDX-License-Identifier: MIT */
/*
 * handles.h - names of 64 bits for records that may be gone.
 *
 * A handle is generation << 32 | index. A record lives at its index for as long as somebody holds a reference; then its
 * generation moves on and the place is used again, so an old handle no longer fits: it is stale, and asking for it is an
 * answer (NULL) and never a crash. Records are type-stable: memory goes back to the system only with the table.
 *
 * Generations start at 1, so 0 is never a handle. A place whose generation reaches the end of its 32 bits is retired
 * rather than started again: no handle ever names a second record. That costs one place per 2^32 uses of it, and a table
 * is worn out after max_records * 2^32 allocations (a million records, ten million allocations a second: 14 years).
 *
 * Only a handle that was given out is ever "stale". A made-up number may hit a record that another thread is filling in.
 */
#ifndef VG_BASE_HANDLES_H
#define VG_BASE_HANDLES_H

#include <stdbool.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of each record. */
typedef struct vg_handle_slot {
    _Atomic uint64_t life; /* generation << 32 | references; 0 before the first use */
    uint32_t index;
    _Atomic uint32_t next_free; /* index + 1 of the next free place, 0 at the end */
} vg_handle_slot;

#ifdef VIGIL_CHECK
enum {
    VG_HANDLES_FIRST_CHUNK = 2
};
#else
enum {
    VG_HANDLES_FIRST_CHUNK = 64
};
#endif

/* Chunk k has VG_HANDLES_FIRST_CHUNK << k records, so that a few pointers reach all of them and none is up front. */
enum {
    VG_HANDLES_CHUNKS = 32
};

typedef struct vg_handles {
    size_t record_size;
    uint32_t max_records;
    _Atomic uint32_t used; /* places that were ever given out: all below it */
    _Atomic(char *) chunks[VG_HANDLES_CHUNKS];
    _Alignas(64) _Atomic uint64_t free_head; /* tag << 32 | index + 1; away from what everybody only reads */
} vg_handles;

/* A table for up to max_records (at least 1) records of record_size bytes. Records are aligned to 16, and to 64 if their
   size is a multiple of 64. 0; -ENOMEM; -EINVAL. */
int vg_handles_init(vg_handles *table, size_t record_size, uint32_t max_records);

/* Frees all records, held or not. Nobody uses the table any more. */
void vg_handles_destroy(vg_handles *table);

/* A record that is held `references` times (at least once), and its handle. The record is zero at the first use of its place, and
   as it was left at later ones. Any thread. NULL: no memory, or max_records are held. */
void *vg_handles_alloc(vg_handles *table, uint32_t references, uint64_t *handle);

/* The record that the handle names, held once more; NULL if it is stale. What was written to the record before any
   vg_handles_release of it is seen. Any thread. */
void *vg_handles_acquire(vg_handles *table, uint64_t handle);

/* Hold the record once less. True: that was the last time, and the record is no longer to be touched. */
bool vg_handles_release(vg_handles *table, void *record);

/* The handle of a record that the caller holds. */
uint64_t vg_handles_name(const void *record);

#endif
