/* SPDX-License-Identifier: MIT */
#include "registry.h"

#include "base/pages.h"

#include <errno.h>
#include <stdlib.h>

#define GROUP_SLOTS ((uint32_t)VG_REGISTRY_GROUP << VG_REGISTRY_SHIFT)

/* Group g holds the chunks from VG_REGISTRY_GROUP * (g + 1) on. */
static uint32_t group_count(const vg_registry *slots)
{
    return slots->groups + slots->groups_gone;
}

static char **group_chunks(const vg_registry *slots, uint32_t group)
{
    return slots->chunks + (size_t)VG_REGISTRY_GROUP * (group + 1);
}

static bool group_is_gone(const vg_registry *slots, uint32_t group)
{
    return group_chunks(slots, group)[0] == slots->nothing;
}

static size_t chunk_bytes(const vg_registry *slots)
{
    return (size_t)slots->record_size * VG_REGISTRY_CHUNK;
}

static size_t group_bytes(const vg_registry *slots)
{
    const size_t bytes = VG_REGISTRY_GROUP * chunk_bytes(slots);
    return (bytes + VG_HUGE_PAGE - 1) & ~(size_t)(VG_HUGE_PAGE - 1);
}

static void count_registry_bytes(vg_registry *slots, uint64_t more)
{
    const uint64_t bytes = atomic_load_explicit(&slots->bytes, memory_order_relaxed);
    atomic_store_explicit(&slots->bytes, bytes + more, memory_order_relaxed);
}

void vg_registry_init(vg_registry *slots, size_t record_size)
{
    *slots = (vg_registry){.record_size = (uint32_t)((record_size + 15) & ~(size_t)15)};
}

void vg_registry_destroy(vg_registry *slots)
{
    for (uint32_t group = 0; group < group_count(slots); group++) {
        if (!group_is_gone(slots, group))
            vg_pages_unmap(group_chunks(slots, group)[0], group_bytes(slots));
    }
    for (uint32_t i = 0; i < slots->chunk_count && i < VG_REGISTRY_GROUP; i++)
        free(slots->chunks[i]);
    free(slots->chunks);
    free(slots->nothing);
    slots->chunks = NULL;
}

/* ---- growth ------------------------------------------------------------------------------------------------------ */

static int reserve_chunks(vg_registry *slots, uint32_t more)
{
    if (slots->chunk_count + more <= slots->chunk_room)
        return 0;
    uint32_t room = 2 * slots->chunk_room + 4 * more;
    char **chunks = realloc(slots->chunks, room * sizeof *chunks);
    if (chunks == NULL)
        return -ENOMEM;
    slots->chunks = chunks;
    slots->chunk_room = room;
    return 0;
}

static bool map_group(vg_registry *slots, uint32_t group)
{
    char *memory = vg_pages_map(group_bytes(slots));
    if (memory == NULL)
        return false;
    for (uint32_t i = 0; i < VG_REGISTRY_GROUP; i++)
        group_chunks(slots, group)[i] = memory + i * chunk_bytes(slots);
    slots->groups++;
    slots->rest_below = slots->groups * (GROUP_SLOTS / 8);
    count_registry_bytes(slots, group_bytes(slots));
    return true;
}

static bool regain_group(vg_registry *slots)
{
    uint32_t group = 0;
    while (!group_is_gone(slots, group))
        group++;
    if (!map_group(slots, group))
        return false;
    slots->groups_gone--;
    slots->again = GROUP_SLOTS * (group + 1);
    slots->again_end = slots->again + GROUP_SLOTS;
    return true;
}

static bool registry_grow(vg_registry *slots)
{
    const uint32_t more = slots->chunk_count < VG_REGISTRY_GROUP ? 1 : VG_REGISTRY_GROUP;
    if (slots->used >= VG_REGISTRY_MAX || reserve_chunks(slots, more) != 0)
        return false;
    if (more == 1) {
        char *memory = aligned_alloc(64, chunk_bytes(slots));
        if (memory == NULL)
            return false;
        slots->chunks[slots->chunk_count] = memory;
        count_registry_bytes(slots, chunk_bytes(slots));
    } else if (!map_group(slots, group_count(slots))) {
        return false;
    }
    slots->chunk_count += more;
    return true;
}

void *vg_registry_fresh(vg_registry *slots, uint32_t *slot)
{
    if (slots->again == slots->again_end && slots->groups_gone != 0 && !regain_group(slots))
        return NULL;
    if (slots->again != slots->again_end) {
        *slot = slots->again++;
        if (slots->again == slots->again_end)
            slots->again = slots->again_end = 0;
        vg_registry_head *head = vg_registry_at(slots, *slot);
        head->generation = slots->again_generation;
        return head;
    }
    if (slots->used == slots->chunk_count << VG_REGISTRY_SHIFT && !registry_grow(slots))
        return NULL;
    *slot = slots->used++;
    vg_registry_head *head = vg_registry_at(slots, *slot);
    head->generation = 0;
    return head;
}

/* ---- giving back ------------------------------------------------------------------------------------------------- */

/* The last generation of any slot of the group; UINT32_MAX: one is in use, or the numbers run out. */
static uint32_t last_generation(const vg_registry *slots, uint32_t group)
{
    const char *record = group_chunks(slots, group)[0];
    uint32_t last = 0;
    for (uint32_t i = 0; i < GROUP_SLOTS; i++, record += slots->record_size) {
        const uint32_t generation = ((const vg_registry_head *)(const void *)record)->generation;
        if ((generation & 1U) != 0 || generation > UINT32_MAX / 2)
            return UINT32_MAX;
        last = generation > last ? generation : last;
    }
    return last;
}

static void drop_group(vg_registry *slots, uint32_t group)
{
    const uint32_t first = GROUP_SLOTS * (group + 1);
    vg_pages_unmap(group_chunks(slots, group)[0], group_bytes(slots));
    for (uint32_t i = 0; i < VG_REGISTRY_GROUP; i++)
        group_chunks(slots, group)[i] = slots->nothing;
    slots->groups--;
    slots->groups_gone++;
    count_registry_bytes(slots, 0 - (uint64_t)group_bytes(slots));
    if (slots->again - first < GROUP_SLOTS)
        slots->again = slots->again_end = 0;
    if (slots->used - first < GROUP_SLOTS) /* the rest of it was never given out: it is given out as the others are */
        slots->used = first + GROUP_SLOTS;
}

/* Of all free slots that have memory, the lowest first. */
static void relist_free(vg_registry *slots)
{
    slots->free_head = 0;
    for (uint32_t slot = slots->used; slot-- > 0;) {
        if (slots->chunks[slot >> VG_REGISTRY_SHIFT] == slots->nothing) {
            slot &= ~(GROUP_SLOTS - 1); /* the whole group is gone */
            continue;
        }
        if (slot >= slots->again && slot < slots->again_end)
            continue;
        vg_registry_head *head = vg_registry_at(slots, slot);
        if ((head->generation & 1U) != 0 || head->generation == VG_REGISTRY_WORN)
            continue;
        head->next_free = slots->free_head;
        slots->free_head = slot + 1;
    }
}

void vg_registry_give_back_slowly(vg_registry *slots)
{
    if (slots->nothing == NULL)
        slots->nothing = calloc(1, chunk_bytes(slots));
    /* Again when an eighth of these is left: each record that was freed pays for a bounded part of all looks. */
    slots->rest_below = (slots->live + 7) / 8;
    if (slots->nothing == NULL)
        return;
    const uint32_t before = slots->groups;
    for (uint32_t group = 0; group < group_count(slots); group++) {
        const uint32_t last = group_is_gone(slots, group) ? UINT32_MAX : last_generation(slots, group);
        if (last == UINT32_MAX)
            continue;
        if (last > slots->again_generation)
            slots->again_generation = last;
        drop_group(slots, group);
    }
    if (slots->groups != before)
        relist_free(slots);
}
