/* SPDX-License-Identifier: MIT */
/*
 * slots.h - records that are named by slot and generation, for one thread at a time (the owner, or who holds the lock).
 *
 * Records lie in chunks that never move. Beyond the first VG_SLOTS_GROUP chunks, they are allocated so many at a time, in a
 * piece that the kernel may back with huge pages: a million records in random order are then a matter of cache misses alone. A name is generation << 32 | slot + 1; the generation moves on when the record is
 * given back, so an old name finds nothing. A slot whose generation has come round is not used again.
 */
#ifndef VG_LOOP_SLOTS_H
#define VG_LOOP_SLOTS_H

#include <stddef.h>
#include <stdint.h>

/* The first member of each record. */
typedef struct vg_slot_head {
    uint32_t generation; /* even: free, odd: in use */
    uint32_t next_free;  /* slot + 1; while the record is in use, its own to write to */
} vg_slot_head;

enum {
    VG_SLOTS_SHIFT = 9,
    VG_SLOTS_CHUNK = 1 << VG_SLOTS_SHIFT,
    VG_SLOTS_GROUP = 64,
    VG_SLOTS_MAX = 1 << 30
};

typedef struct vg_slots {
    char **chunks;
    uint32_t chunk_count; /* chunks that exist */
    uint32_t chunk_room;  /* pointers that `chunks` has place for */
    uint32_t used;        /* slots that were ever given out: all below */
    uint32_t free_head;   /* slot + 1 of the first free one */
    uint32_t live;
    uint32_t record_size; /* a multiple of 16 */
} vg_slots;

void vg_slots_init(vg_slots *slots, size_t record_size);
void vg_slots_destroy(vg_slots *slots);

/* One chunk more, or a group of them. NULL: no memory. */
void *vg_slots_grow(vg_slots *slots);

static inline void *vg_slots_at(const vg_slots *slots, uint32_t slot)
{
    return slots->chunks[slot >> VG_SLOTS_SHIFT] + (size_t)(slot & (VG_SLOTS_CHUNK - 1)) * slots->record_size;
}

/* NULL: no memory. The record is as it was left, but for its head. */
static inline void *vg_slots_alloc(vg_slots *slots, uint32_t *slot)
{
    vg_slot_head *head;
    if (slots->free_head != 0) {
        *slot = slots->free_head - 1;
        head = (vg_slot_head *)vg_slots_at(slots, *slot);
        slots->free_head = head->next_free;
    } else {
        if (slots->used == slots->chunk_count << VG_SLOTS_SHIFT && vg_slots_grow(slots) == NULL)
            return NULL;
        *slot = slots->used++;
        head = (vg_slot_head *)vg_slots_at(slots, *slot);
        head->generation = 0;
    }
    head->generation++; /* odd now */
    slots->live++;
    return head;
}

static inline void vg_slots_free(vg_slots *slots, uint32_t slot, void *record)
{
    vg_slot_head *head = (vg_slot_head *)record;
    slots->live--;
    if (++head->generation == 0)
        return; /* come round: retired */
    head->next_free = slots->free_head;
    slots->free_head = slot + 1;
}

static inline uint64_t vg_slots_name(uint32_t slot, const void *record)
{
    return (uint64_t)((const vg_slot_head *)record)->generation << 32 | (slot + 1);
}

/* The slot of a name; UINT32_MAX if it is stale. */
static inline uint32_t vg_slots_find(const vg_slots *slots, uint64_t name)
{
    uint32_t slot = (uint32_t)name - 1;
    if (slot >= slots->used)
        return UINT32_MAX;
    const vg_slot_head *head = (const vg_slot_head *)vg_slots_at(slots, slot);
    return (head->generation & 1U) != 0 && head->generation == (uint32_t)(name >> 32) ? slot : UINT32_MAX;
}

#endif
