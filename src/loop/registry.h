/* SPDX-License-Identifier: MIT */
/*
 * registry.h - records named by slot and generation. One thread at a time: the owner, or the holder of a lock.
 *
 * Records lie in chunks that never move. After the first VG_REGISTRY_GROUP chunks, groups of them are allocated at
 * once, in huge pages (base/pages.h). A name is generation << 32 | slot + 1. Freeing a record increments the
 * generation, so an old name finds nothing. A slot whose generations are used up is not reused.
 *
 * A group without a record in use can return to the system (vg_registry_give_back). Its slots then read as free: their
 * chunks are one chunk of zeros. A group that is needed again begins with a generation that none of its names had.
 */
#ifndef VG_LOOP_REGISTRY_H
#define VG_LOOP_REGISTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of each record. */
typedef struct vg_registry_head {
    uint32_t generation; /* even: free, odd: in use */
    uint32_t next_free;  /* slot + 1; free for the record's use while it lives */
} vg_registry_head;

enum {
#ifdef VIGIL_CHECK /* so few that scenarios see memory go back and come again */
    VG_REGISTRY_SHIFT = 3,
    VG_REGISTRY_GROUP = 4,
#else
    VG_REGISTRY_SHIFT = 9,
    VG_REGISTRY_GROUP = 64,
#endif
    VG_REGISTRY_CHUNK = 1 << VG_REGISTRY_SHIFT,
    VG_REGISTRY_MAX = 1 << 30
};
#define VG_REGISTRY_WORN (UINT32_MAX - 1) /* the generation of a free slot that is not reused */

typedef struct vg_registry {
    char **chunks;
    uint32_t chunk_count; /* chunks that exist */
    uint32_t chunk_room;  /* pointers that `chunks` has place for */
    uint32_t used;        /* slots that were ever given out: all below */
    uint32_t free_head;   /* slot + 1 of the first free one */
    uint32_t live;
    uint32_t record_size; /* a multiple of 16 */
    uint32_t again;       /* slots of a group that came back and were not given out since: [again, again_end) */
    uint32_t again_end;
    uint32_t again_generation; /* even; above those of every group that was given back */
    uint32_t groups;           /* that have memory */
    uint32_t groups_gone;      /* that were given back */
    uint32_t rest_below;       /* look for groups to give back when fewer records live */
    char *nothing;             /* a chunk of zeros, for those */
    _Atomic uint64_t bytes;    /* of records; written by the one thread, read by all */
} vg_registry;

void vg_registry_init(vg_registry *slots, size_t record_size);
void vg_registry_destroy(vg_registry *slots);

/* A slot that is in no list, of a new chunk or group if need be. NULL: no memory. */
void *vg_registry_fresh(vg_registry *slots, uint32_t *slot);

/* Return groups without a record in use to the system. Nobody uses records that are free. */
void vg_registry_give_back_slowly(vg_registry *slots);

/* The same if there may be some: O(1) for each record that was freed since memory was asked for. */
static inline void vg_registry_give_back(vg_registry *slots)
{
    if (slots->live < slots->rest_below)
        vg_registry_give_back_slowly(slots);
}

/* _sized: for a caller that knows the size of a record, a constant that saves a load and a multiplication. */
static inline void *vg_registry_at_sized(const vg_registry *slots, uint32_t slot, size_t record_size)
{
    return slots->chunks[slot >> VG_REGISTRY_SHIFT] + (size_t)(slot & (VG_REGISTRY_CHUNK - 1)) * record_size;
}

static inline void *vg_registry_at(const vg_registry *slots, uint32_t slot)
{
    return vg_registry_at_sized(slots, slot, slots->record_size);
}

/* NULL: no memory. Only the head is initialised. */
static inline void *vg_registry_alloc_sized(vg_registry *slots, uint32_t *slot, size_t record_size)
{
    vg_registry_head *head;
    if (slots->free_head != 0) {
        *slot = slots->free_head - 1;
        head = (vg_registry_head *)vg_registry_at_sized(slots, *slot, record_size);
        slots->free_head = head->next_free;
    } else if ((slots->again_end | slots->groups_gone) == 0 &&
               slots->used != slots->chunk_count << VG_REGISTRY_SHIFT) { /* vg_registry_fresh, the usual case */
        *slot = slots->used++;
        head = (vg_registry_head *)vg_registry_at_sized(slots, *slot, record_size);
        head->generation = 0;
    } else {
        head = (vg_registry_head *)vg_registry_fresh(slots, slot);
        if (head == NULL)
            return NULL;
    }
    head->generation++; /* odd now */
    slots->live++;
    return head;
}

static inline void *vg_registry_alloc(vg_registry *slots, uint32_t *slot)
{
    return vg_registry_alloc_sized(slots, slot, slots->record_size);
}

static inline void vg_registry_free(vg_registry *slots, uint32_t slot, void *record)
{
    vg_registry_head *head = (vg_registry_head *)record;
    slots->live--;
    if (++head->generation == VG_REGISTRY_WORN)
        return;
    head->next_free = slots->free_head;
    slots->free_head = slot + 1;
}

static inline uint64_t vg_registry_name(uint32_t slot, const void *record)
{
    return (uint64_t)((const vg_registry_head *)record)->generation << 32 | (slot + 1);
}

/* The slot of a name; UINT32_MAX: stale. */
static inline uint32_t vg_registry_find_sized(const vg_registry *slots, uint64_t name, size_t record_size)
{
    uint32_t slot = (uint32_t)name - 1;
    if (slot >= slots->used)
        return UINT32_MAX;
    const vg_registry_head *head = (const vg_registry_head *)vg_registry_at_sized(slots, slot, record_size);
    return (head->generation & 1U) != 0 && head->generation == (uint32_t)(name >> 32) ? slot : UINT32_MAX;
}

static inline uint32_t vg_registry_find(const vg_registry *slots, uint64_t name)
{
    return vg_registry_find_sized(slots, name, slots->record_size);
}

#endif
