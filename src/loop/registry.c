/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "registry.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    REGISTRY_HUGE_PAGE = 2 << 20
};

void vg_registry_init(vg_registry *slots, size_t record_size)
{
    *slots = (vg_registry){.record_size = (uint32_t)((record_size + 15) & ~(size_t)15)};
}

void vg_registry_destroy(vg_registry *slots)
{
    for (uint32_t i = 0; i < slots->chunk_count; i += i < VG_REGISTRY_GROUP ? 1 : VG_REGISTRY_GROUP)
        free(slots->chunks[i]);
    free(slots->chunks);
    slots->chunks = NULL;
}

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

void *vg_registry_grow(vg_registry *slots)
{
    uint32_t more = slots->chunk_count < VG_REGISTRY_GROUP ? 1 : VG_REGISTRY_GROUP;
    if (slots->used >= VG_REGISTRY_MAX || reserve_chunks(slots, more) != 0)
        return NULL;
    size_t bytes = (size_t)slots->record_size * VG_REGISTRY_CHUNK;
    bool huge = more * bytes >= REGISTRY_HUGE_PAGE;
    size_t all = huge ? (more * bytes + REGISTRY_HUGE_PAGE - 1) & ~(size_t)(REGISTRY_HUGE_PAGE - 1) : more * bytes;
    char *memory = aligned_alloc(huge ? REGISTRY_HUGE_PAGE : 64, all);
    if (memory == NULL)
        return NULL;
    if (huge) {
        int saved = errno;
        (void)madvise(memory, all, MADV_HUGEPAGE); /* a wish */
        errno = saved;
    }
    for (uint32_t i = 0; i < more; i++)
        slots->chunks[slots->chunk_count++] = memory + i * bytes;
    return memory;
}
