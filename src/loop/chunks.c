/* SPDX-License-Identifier: MIT */
#include "chunks.h"

#include "base/pages.h"

#include <stdlib.h>
#include <string.h>

void vg_chunk_pool_init(vg_chunk_pool *pool)
{
    vg_mutex_init(&pool->lock);
    vg_list_init(&pool->with_free);
    pool->waiting = 0;
    atomic_init(&pool->held, 0);
}

static void count_held(vg_chunk_pool *pool, uint64_t more)
{
    uint64_t held = atomic_load_explicit(&pool->held, memory_order_relaxed);
    atomic_store_explicit(&pool->held, held + more, memory_order_relaxed);
}

static void free_block(vg_chunk_pool *pool, vg_chunk_block *block)
{
    vg_list_remove(&block->link);
    pool->waiting -= block->total;
    count_held(pool, 0 - (uint64_t)block->total);
    if (block->total < VG_CHUNK_BLOCK_MAPPED)
        free(block->memory);
    else
        vg_pages_unmap(block->memory, (size_t)block->total * VG_CHUNK_BYTES);
    free(block);
}

void vg_chunk_pool_destroy(vg_chunk_pool *pool)
{
    for (vg_list_link *link; (link = vg_list_first(&pool->with_free)) != NULL;)
        free_block(pool, vg_list_entry(link, vg_chunk_block, link));
}

/* As many chunks as there are already, within limits. */
static vg_chunk_block *new_block(vg_chunk_pool *pool)
{
    uint64_t held = atomic_load_explicit(&pool->held, memory_order_relaxed);
    size_t total = VG_CHUNK_BLOCK_LEAST;
    while (total < held && total < VG_CHUNK_BLOCK_MOST)
        total *= 2;
    vg_chunk_block *block = malloc(sizeof *block);
    size_t bytes = total * VG_CHUNK_BYTES;
    char *memory = block == NULL                   ? NULL
                   : total < VG_CHUNK_BLOCK_MAPPED ? aligned_alloc(VG_CHUNK_BYTES, bytes)
                                                   : vg_pages_map(bytes);
    if (memory == NULL) {
        free(block);
        return NULL;
    }
    *block = (vg_chunk_block){.memory = memory, .total = (uint32_t)total};
    pool->waiting += total;
    count_held(pool, total);
    vg_list_push_front(&pool->with_free, &block->link);
    return block;
}

vg_chunk_head *vg_chunk_take(vg_chunk_pool *pool)
{
    vg_chunk_head *fresh = NULL;
    vg_mutex_lock(&pool->lock);
    vg_list_link *link = vg_list_first(&pool->with_free);
    vg_chunk_block *block = link != NULL ? vg_list_entry(link, vg_chunk_block, link) : new_block(pool);
    vg_chunk_head *chunk = block == NULL ? NULL : block->free;
    if (chunk != NULL) {
        block->free = chunk->next;
        chunk->next = NULL;
    } else if (block != NULL) {
        fresh = (vg_chunk_head *)(void *)(block->memory + (size_t)block->cut++ * VG_CHUNK_BYTES);
        chunk = fresh;
    }
    if (chunk != NULL) {
        pool->waiting--;
        if (++block->in_use == block->total)
            vg_list_remove(&block->link);
    }
    vg_mutex_unlock(&pool->lock);
    if (fresh != NULL) { /* touch the memory outside the lock: it costs page faults */
        memset(fresh, 0, VG_CHUNK_BYTES);
        fresh->block = block;
    }
    return chunk;
}

void vg_chunk_give(vg_chunk_pool *pool, vg_chunk_head *chunk)
{
    vg_chunk_block *block = chunk->block;
    vg_mutex_lock(&pool->lock);
    chunk->next = block->free;
    block->free = chunk;
    pool->waiting++;
    if (block->in_use-- == block->total)
        vg_list_push_front(&pool->with_free, &block->link);
    if (block->in_use == 0 && pool->waiting >= block->total + VG_CHUNKS_KEPT)
        free_block(pool, block);
    vg_mutex_unlock(&pool->lock);
}
