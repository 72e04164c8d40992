/* SPDX-License-Identifier: MIT */
/*
 * block.c - blocks of the file: got, shown to readers, given back.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "block.h"

#include "file.h"
#include "life.h"
#include "pages.h"
#include "recorder.h"

#include <errno.h>

/* A free extent that is large enough, but not wastefully so. Rings of dead threads are kept as long as possible. */
static unsigned find_extent(const vg_recorder *recorder, size_t bytes)
{
    unsigned second = VG_FILE_BLOCKS;
    for (unsigned i = 0; i < recorder->extent_count; i++) {
        const vg_extent *extent = &recorder->extents[i];
        if (extent->used || extent->bytes < bytes || extent->bytes > 2 * bytes)
            continue;
        if (!extent->ring)
            return i;
        if (second == VG_FILE_BLOCKS)
            second = i;
    }
    return second;
}

static unsigned add_extent(vg_recorder *recorder, size_t bytes)
{
    if (recorder->file.bytes == 0 || recorder->extent_count == VG_FILE_BLOCKS ||
        recorder->file.bytes + bytes > recorder->max_bytes)
        return VG_FILE_BLOCKS;
    const uint64_t offset = recorder->file.bytes;
    void *memory = NULL;
    if (vg_file_grow(&recorder->file, bytes, &memory) != 0)
        return VG_FILE_BLOCKS;
    const unsigned at = recorder->extent_count++;
    recorder->extents[at] = (vg_extent){.memory = memory, .bytes = bytes};
    vg_file_block *entry = &recorder->front->directory[at];
    vg_cell_set(&entry->offset, offset);
    vg_cell_set(&entry->bytes, bytes);
    vg_cell_set(&recorder->front->header.file_bytes, recorder->file.bytes);
    return at;
}

int vg_block_get_locked(vg_record_block *block, vg_file_block_kind kind, size_t bytes, uint64_t owner, uint64_t entries)
{
    vg_recorder *recorder = &vg_the_recorder;
    bytes = vg_pages_round(bytes);
    *block = (vg_record_block){.bytes = bytes,
                               .serial = ++recorder->serials,
                               .epoch = atomic_load_explicit(&vg_record_epoch, memory_order_relaxed),
                               .extent = VG_FILE_BLOCKS};
    if (recorder->front != NULL) {
        vg_cell_set(&recorder->front->header.serials, recorder->serials);
        block->extent = find_extent(recorder, bytes);
        if (block->extent == VG_FILE_BLOCKS)
            block->extent = add_extent(recorder, bytes);
    }
    if (block->extent == VG_FILE_BLOCKS) {
        if (recorder->front != NULL)
            vg_cell_add(&recorder->front->header.left_out, 1);
        block->memory = vg_pages_get(bytes);
        return block->memory == NULL ? -ENOMEM : 0;
    }
    vg_extent *extent = &recorder->extents[block->extent];
    vg_file_block *entry = &recorder->front->directory[block->extent];
    /* It may still show the ring of a dead thread. */
    vg_cell_set(&entry->serial, 0);
    /* release: a reader that copied any new content sees another serial at its second look; pairs with the fence
       before that look (reader_snapshot.c, reader_events.c) */
    atomic_thread_fence(memory_order_release);
    extent->used = true;
    extent->ring = false;
    extent->copy_fork = kind == VG_BLOCK_LOOP;
    block->memory = extent->memory;
    block->bytes = extent->bytes;
    if (extent->written) /* a new one is zero, and its pages are untouched */
        vg_words_put(block->memory, NULL, block->bytes);
    extent->written = true;
    vg_cell_set(&entry->kind, kind);
    vg_cell_set(&entry->owner, owner);
    vg_cell_set(&entry->entries, entries);
    return 0;
}

int vg_block_get(vg_record_block *block, vg_file_block_kind kind, size_t bytes, uint64_t owner, uint64_t entries)
{
    vg_mutex_lock(&vg_the_recorder.lock);
    int error = vg_block_get_locked(block, kind, bytes, owner, entries);
    vg_mutex_unlock(&vg_the_recorder.lock);
    return error;
}

void vg_block_show(const vg_record_block *block)
{
    if (block->extent == VG_FILE_BLOCKS)
        return;
    /* release: the block before its serial; pairs with the fence after the reader's first look */
    atomic_store_explicit(&vg_the_recorder.front->directory[block->extent].serial, block->serial, memory_order_release);
}

void vg_block_put_locked(vg_record_block *block)
{
    vg_recorder *recorder = &vg_the_recorder;
    if (block->memory == NULL)
        return;
    if (block->epoch != atomic_load_explicit(&vg_record_epoch, memory_order_relaxed) ||
        block->extent == VG_FILE_BLOCKS) {
        (void)munmap(block->memory, block->bytes);
    } else {
        vg_cell_set(&recorder->front->directory[block->extent].serial, 0);
        recorder->extents[block->extent].used = false;
    }
    block->memory = NULL;
}

void vg_block_put(vg_record_block *block)
{
    vg_mutex_lock(&vg_the_recorder.lock);
    vg_block_put_locked(block);
    vg_mutex_unlock(&vg_the_recorder.lock);
}
