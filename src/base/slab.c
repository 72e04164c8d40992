/* SPDX-License-Identifier: MIT */
#include "slab.h"

#include "pages.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    VG_SLAB_LINE = 64,
    VG_SLAB_ALIGNMENT = 16
};

static size_t rounded_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) & ~(to - 1);
}

void vg_slab_init(vg_slab *slab, size_t object_size)
{
    size_t least = object_size < sizeof(vg_slab_link) ? sizeof(vg_slab_link) : object_size;
    slab->object_size = rounded_up(least, VG_SLAB_ALIGNMENT);
    slab->first =
        rounded_up(sizeof(vg_slab_chunk), slab->object_size % VG_SLAB_LINE == 0 ? VG_SLAB_LINE : VG_SLAB_ALIGNMENT);
    slab->chunk_bytes = VG_SLAB_CHUNK_BYTES;
    while (slab->chunk_bytes < slab->first + VG_SLAB_CHUNK_OBJECTS * slab->object_size)
        slab->chunk_bytes *= 2;
    atomic_init(&slab->chunks, NULL);
    atomic_init(&slab->chunk_count, 0);
    atomic_init(&slab->cache_count, 0U);
}

void vg_slab_destroy(vg_slab *slab)
{
    /* relaxed: all others are done, and their work was seen */
    vg_slab_chunk *chunk = atomic_load_explicit(&slab->chunks, memory_order_relaxed);
    while (chunk != NULL) {
        vg_slab_chunk *next = chunk->next;
        ASAN_UNPOISON_MEMORY_REGION(chunk, chunk->bytes);
        if (chunk->bytes < VG_HUGE_PAGE)
            free(chunk);
        else
            vg_pages_unmap(chunk, chunk->bytes);
        chunk = next;
    }
    atomic_store_explicit(&slab->chunks, NULL, memory_order_relaxed);
    atomic_store_explicit(&slab->chunk_count, 0, memory_order_relaxed);
}

void vg_slab_cache_init(vg_slab_cache *cache, vg_slab *slab)
{
    cache->local = NULL;
    cache->fresh = NULL;
    cache->fresh_end = NULL;
    cache->chunk = NULL;
    cache->chunks = 0;
    cache->slab = slab;
    cache->number = atomic_fetch_add_explicit(&slab->cache_count, 1, memory_order_relaxed);
    for (unsigned i = 0; i < VG_SLAB_TARGETS; i++)
        cache->pending[i] = (vg_slab_batch){.count = 0};
    atomic_init(&cache->remote, NULL);
}

size_t vg_slab_chunks(const vg_slab *slab)
{
    return atomic_load_explicit(&slab->chunk_count, memory_order_relaxed);
}

static void list_slab_chunk(vg_slab *slab, vg_slab_chunk *chunk, size_t bytes)
{
    chunk->bytes = bytes;
    vg_slab_chunk *newest = atomic_load_explicit(&slab->chunks, memory_order_relaxed);
    do {
        chunk->next = newest;
        /* relaxed: only vg_slab_destroy reads the list */
    } while (!atomic_compare_exchange_weak_explicit(&slab->chunks, &newest, chunk, memory_order_relaxed,
                                                    memory_order_relaxed));
}

/* The memory of one more chunk. NULL: none. */
static vg_slab_chunk *take_slab_chunk(vg_slab_cache *mine)
{
    vg_slab *slab = mine->slab;
    const size_t bytes = slab->chunk_bytes;
    if (mine->chunks < VG_SLAB_SINGLES || bytes > VG_HUGE_PAGE / 2) {
        vg_slab_chunk *chunk = aligned_alloc(bytes, bytes);
        if (chunk != NULL)
            list_slab_chunk(slab, chunk, bytes);
        return chunk;
    }
    if (((uintptr_t)mine->chunk & (VG_HUGE_PAGE - 1)) == 0) { /* also at first: NULL */
        char *page = vg_pages_map(VG_HUGE_PAGE);
        if (page == NULL)
            return NULL;
        mine->chunk = page;
        list_slab_chunk(slab, (vg_slab_chunk *)(void *)page, VG_HUGE_PAGE);
    }
    vg_slab_chunk *chunk = (vg_slab_chunk *)(void *)mine->chunk;
    mine->chunk += bytes;
    return chunk;
}

static bool add_slab_chunk(vg_slab_cache *mine)
{
    vg_slab *slab = mine->slab;
    vg_slab_chunk *chunk = take_slab_chunk(mine);
    if (chunk == NULL)
        return false;
    mine->chunks++;
    chunk->owner = mine;
    chunk->number = mine->number;
    mine->fresh = (char *)chunk + slab->first;
    mine->fresh_end = mine->fresh + (slab->chunk_bytes - slab->first) / slab->object_size * slab->object_size;
    ASAN_POISON_MEMORY_REGION(mine->fresh, (size_t)(mine->fresh_end - mine->fresh));
    atomic_fetch_add_explicit(&slab->chunk_count, 1, memory_order_relaxed);
    return true;
}

void *vg_slab_refill(vg_slab_cache *mine)
{
    vg_slab *slab = mine->slab;
    /* Returned objects before fresh ones: they are warm. The load spares the exchange; a miss is found next time. */
    if (atomic_load_explicit(&mine->remote, memory_order_relaxed) != NULL) {
        /* acquire: the links and the last users' writes; pairs with the release in hand_slab_batch_over */
        vg_slab_link *object = atomic_exchange_explicit(&mine->remote, NULL, memory_order_acquire);
        ASAN_UNPOISON_MEMORY_REGION(object, slab->object_size);
        mine->local = object->next;
        return object;
    }
    if (mine->fresh == mine->fresh_end && !add_slab_chunk(mine))
        return NULL;
    void *object = mine->fresh;
    mine->fresh += slab->object_size;
    ASAN_UNPOISON_MEMORY_REGION(object, slab->object_size);
    return object;
}

/* Many push, one takes all: no ABA. */
static void hand_slab_batch_over(vg_slab_batch *batch)
{
    _Atomic(vg_slab_link *) *remote = &batch->to->remote;
    vg_slab_link *oldest = batch->oldest;
    vg_slab_link *head = atomic_load_explicit(remote, memory_order_relaxed);
    ASAN_UNPOISON_MEMORY_REGION(oldest, sizeof *oldest);
    oldest->next = head;
    ASAN_POISON_MEMORY_REGION(oldest, sizeof *oldest);
    /* release: the links and our writes, for the owner; pairs with the acquire in vg_slab_refill. Batches below ours
       have their own releases, whose sequence ours continues. */
    while (!atomic_compare_exchange_weak_explicit(remote, &head, batch->newest, memory_order_release,
                                                  memory_order_relaxed)) {
        ASAN_UNPOISON_MEMORY_REGION(oldest, sizeof *oldest);
        oldest->next = head;
        ASAN_POISON_MEMORY_REGION(oldest, sizeof *oldest);
    }
    batch->count = 0;
}

void vg_slab_send_home(vg_slab_cache *mine, const vg_slab_chunk *chunk, vg_slab_link *object)
{
    vg_slab_cache *owner = chunk->owner;
    vg_slab_batch *batch = &mine->pending[chunk->number % VG_SLAB_TARGETS];
    if (batch->count != 0 && batch->to != owner)
        hand_slab_batch_over(batch);
    if (batch->count == 0) {
        batch->to = owner;
        batch->newest = NULL;
        batch->oldest = object;
    }
    object->next = batch->newest;
    ASAN_POISON_MEMORY_REGION(object, mine->slab->object_size);
    batch->newest = object;
    if (++batch->count >= VG_SLAB_BATCH)
        hand_slab_batch_over(batch);
}

void vg_slab_flush(vg_slab_cache *mine)
{
    for (unsigned i = 0; i < VG_SLAB_TARGETS; i++) {
        if (mine->pending[i].count != 0)
            hand_slab_batch_over(&mine->pending[i]);
    }
}
