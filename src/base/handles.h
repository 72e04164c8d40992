/* SPDX-License-Identifier: MIT */
/*
 * handles.h - 64-bit names for records that may be gone. A handle is generation << 32 | index. When the last reference
 * goes, the generation moves on and the slot is reused, so an old handle is stale and gets NULL. Generations start at
 * 1 or above: 0 is never a handle. Memory is type-stable until the table is destroyed. NOTES.md has the argument.
 */
#ifndef VG_BASE_HANDLES_H
#define VG_BASE_HANDLES_H

#include <stdbool.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of each record. */
typedef struct vg_handle_slot {
    _Atomic uint64_t life; /* generation << 32 | VG_HANDLE_NAMELESS | references; 0 before the first use */
    uint32_t index;
    _Atomic uint32_t next_free; /* index + 1 of the next free slot; 0: none */
} vg_handle_slot;

#define VG_HANDLE_NAMELESS UINT32_C(0x80000000) /* in life: the handle was given back, only holders reach the record */

#ifdef VIGIL_CHECK
enum {
    VG_HANDLES_FIRST_CHUNK = 2,
    VG_HANDLES_BATCH = 2
};
#else
enum {
    VG_HANDLES_FIRST_CHUNK = 64,
    VG_HANDLES_BATCH = 32
};
#endif

/* Free slots that one thread has collected, to be handed over at once. All zero: none. */
typedef struct vg_handle_batch {
    vg_handle_slot *oldest;
    uint32_t newest; /* index + 1 */
    uint32_t count;
} vg_handle_batch;

/* Chunk k has VG_HANDLES_FIRST_CHUNK << k records. */
enum {
    VG_HANDLES_CHUNKS = 32
};

typedef struct vg_handles {
    size_t record_size;
    uint32_t max_records;
    uint32_t
        first_generation;  /* 1; another one, set before the first alloc, makes names that other tables do not give */
    _Atomic uint32_t used; /* slots ever given out: all below */
    _Atomic(char *) chunks[VG_HANDLES_CHUNKS];
    _Alignas(64) _Atomic uint64_t free_head; /* tag << 32 | index + 1; away from what everybody only reads */
} vg_handles;

/* For up to max_records (at least 1) records, aligned to 16, or to 64 if the size is a multiple of 64. 0; -ENOMEM;
   -EINVAL. */
int vg_handles_init(vg_handles *table, size_t record_size, uint32_t max_records);

/* Frees all records, held or not. */
void vg_handles_destroy(vg_handles *table);

/* A record held `references` times (at least once), and its handle. Zero at the first use of its slot, later as it
   was left. Any thread. NULL: no memory, or max_records are held. */
void *vg_handles_alloc(vg_handles *table, uint32_t references, uint64_t *handle);

/* The record, held once more; NULL: stale. Writes before any vg_handles_release are seen. Any thread. */
void *vg_handles_acquire(vg_handles *table, uint64_t handle);

/* One more reference for a caller that holds the record. */
void vg_handles_hold(void *record);

/* True: that was the last reference; do not touch the record. */
bool vg_handles_release(vg_handles *table, void *record);

/* The same; a slot that becomes free goes to the caller's batch, which is handed over when it is full. */
void vg_handles_release_into(vg_handles *table, void *record, vg_handle_batch *batch);
void vg_handles_hand_over(vg_handles *table, vg_handle_batch *batch);

/* Drop the reference that belongs to the handle, and the handle: it is stale from now on. One exchange. false: it was
   stale. Any thread. */
bool vg_handles_unname(vg_handles *table, uint64_t handle);

/* Is the caller the only holder, for ever? Then what all others did with the record is seen. */
static inline bool vg_handles_alone(const void *record)
{
    const vg_handle_slot *slot = record;
    /* acquire: what earlier holders did; pairs with the releases in vg_handles_unname and drop_reference */
    return (uint32_t)atomic_load_explicit(&slot->life, memory_order_acquire) == (VG_HANDLE_NAMELESS | 1);
}

/* The handle of a record that the caller holds. */
uint64_t vg_handles_name(const void *record);

#endif
