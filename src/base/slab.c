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
        if (chunk->bytes == slab->chunk_bytes)
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
    cache->pages = 0;
    cache->trim_below = 0;
    cache->spare = NULL;
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

static size_t objects_in_page(const vg_slab *slab)
{
    return VG_SLAB_PAGE / slab->chunk_bytes * ((slab->chunk_bytes - slab->first) / slab->object_size);
}

/* An empty huge page, to be cut into chunks. NULL: none. */
static char *take_slab_page(vg_slab_cache *mine)
{
    vg_slab *slab = mine->slab;
    char *page;
    if (mine->spare != NULL) {
        page = (char *)mine->spare - slab->first;
        mine->spare = mine->spare->next;
    } else {
        page = vg_pages_map(VG_SLAB_PAGE);
        if (page == NULL)
            return NULL;
        list_slab_chunk(slab, (vg_slab_chunk *)(void *)page, VG_SLAB_PAGE);
    }
    mine->pages++;
    const uint64_t some = (uint64_t)mine->pages * objects_in_page(slab) / 8;
    mine->trim_below = some < UINT32_MAX ? (uint32_t)some : UINT32_MAX;
    return page;
}

/* The memory of one more chunk. NULL: none. */
static vg_slab_chunk *take_slab_chunk(vg_slab_cache *mine)
{
    vg_slab *slab = mine->slab;
    const size_t bytes = slab->chunk_bytes;
    if (mine->chunks < VG_SLAB_SINGLES || bytes > VG_SLAB_PAGE / 2) {
        vg_slab_chunk *chunk = aligned_alloc(bytes, bytes);
        if (chunk != NULL)
            list_slab_chunk(slab, chunk, bytes);
        return chunk;
    }
    vg_slab_chunk *chunk = (vg_slab_chunk *)(void *)mine->chunk;
    if (((uintptr_t)mine->chunk & (VG_SLAB_PAGE - 1)) == 0) { /* also at first: NULL */
        chunk = (vg_slab_chunk *)(void *)take_slab_page(mine);
        if (chunk == NULL)
            return NULL;
    } else {
        chunk->bytes = 0; /* it is no page of its own */
    }
    mine->chunk = (char *)chunk + bytes;
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

/* What others have given back; NULL: nothing. The load spares the exchange; a miss is found next time. */
static vg_slab_link *take_returned(vg_slab_cache *mine)
{
    if (atomic_load_explicit(&mine->remote, memory_order_relaxed) == NULL)
        return NULL;
    /* acquire: the links and the last users' writes; pairs with the release in hand_slab_batch_over */
    vg_slab_link *object = atomic_exchange_explicit(&mine->remote, NULL, memory_order_acquire);
    return object;
}

void *vg_slab_refill(vg_slab_cache *mine)
{
    vg_slab *slab = mine->slab;
    vg_slab_link *object = take_returned(mine); /* before fresh ones: they are warm */
    if (object != NULL) {
        ASAN_UNPOISON_MEMORY_REGION(object, slab->object_size);
        mine->local = object->next;
        return object;
    }
    if (mine->fresh == mine->fresh_end && !add_slab_chunk(mine))
        return NULL;
    void *fresh = mine->fresh;
    mine->fresh += slab->object_size;
    ASAN_UNPOISON_MEMORY_REGION(fresh, slab->object_size);
    return fresh;
}

/* The head of the huge page that an object lies in; NULL: in none. */
static vg_slab_chunk *slab_page_of(const vg_slab *slab, const vg_slab_link *object)
{
    const vg_slab_chunk *chunk = (const vg_slab_chunk *)((uintptr_t)object & ~(uintptr_t)(slab->chunk_bytes - 1));
    return chunk->bytes == slab->chunk_bytes ? NULL
                                             : (vg_slab_chunk *)((uintptr_t)object & ~(uintptr_t)(VG_SLAB_PAGE - 1));
}

static vg_slab_link *next_free_object(vg_slab_link *object)
{
    ASAN_UNPOISON_MEMORY_REGION(object, sizeof *object);
    vg_slab_link *next = object->next;
    ASAN_POISON_MEMORY_REGION(object, sizeof *object);
    return next;
}

static void set_next_free_object(vg_slab_link *object, vg_slab_link *next)
{
    ASAN_UNPOISON_MEMORY_REGION(object, sizeof *object);
    object->next = next;
    ASAN_POISON_MEMORY_REGION(object, sizeof *object);
}

/* Count the free objects of each page. Returns the last one. */
static vg_slab_link *count_free_objects(const vg_slab *slab, vg_slab_link *list)
{
    vg_slab_link *last = NULL;
    for (; list != NULL; list = next_free_object(list)) {
        vg_slab_chunk *page = slab_page_of(slab, list);
        if (page != NULL)
            page->free++;
        last = list;
    }
    return last;
}

/* The page has no object in use, and none on the cache's list any more. */
static void trim_slab_page(vg_slab_cache *mine, vg_slab_chunk *page)
{
    vg_slab *slab = mine->slab;
    vg_slab_link *first = (vg_slab_link *)(void *)((char *)page + slab->first);
    page->free = 0;
    ASAN_UNPOISON_MEMORY_REGION(page, VG_SLAB_PAGE);
    first->next = mine->spare;
    mine->spare = first;
    mine->pages--;
    vg_pages_forget((char *)page + VG_SLAB_PAGE_KEPT, VG_SLAB_PAGE - VG_SLAB_PAGE_KEPT);
    atomic_fetch_sub_explicit(&slab->chunk_count, VG_SLAB_PAGE / slab->chunk_bytes, memory_order_relaxed);
}

void vg_slab_trim(vg_slab_cache *mine, uint64_t in_use)
{
    vg_slab *slab = mine->slab;
    const size_t whole = objects_in_page(slab);
    const uintptr_t newest = ((uintptr_t)mine->chunk - 1) & ~(uintptr_t)(VG_SLAB_PAGE - 1);
    vg_slab_link *list = take_returned(mine);
    vg_slab_link *last = count_free_objects(slab, list);
    (void)count_free_objects(slab, mine->local);
    if (last != NULL)
        set_next_free_object(last, mine->local);
    else
        list = mine->local;
    vg_slab_link *kept = NULL, *kept_last = NULL, *emptied = NULL;
    for (vg_slab_link *next; list != NULL; list = next) {
        next = next_free_object(list);
        vg_slab_chunk *page = slab_page_of(slab, list);
        if (page != NULL && page->free == whole && (uintptr_t)page != newest) {
            if ((char *)list == (char *)page + slab->first) { /* once for each page */
                set_next_free_object(list, emptied);
                emptied = list;
            }
            continue;
        }
        if (kept_last != NULL)
            set_next_free_object(kept_last, list);
        else
            kept = list;
        kept_last = list;
    }
    if (kept_last != NULL)
        set_next_free_object(kept_last, NULL);
    mine->local = kept;
    for (list = kept; list != NULL; list = next_free_object(list)) {
        vg_slab_chunk *page = slab_page_of(slab, list);
        if (page != NULL)
            page->free = 0;
    }
    for (vg_slab_link *next; emptied != NULL; emptied = next) {
        next = next_free_object(emptied);
        trim_slab_page(mine, slab_page_of(slab, emptied));
    }
    /* Again when an eighth of these is left: each object that was freed pays for a bounded part of all looks. */
    const uint64_t later = (in_use + 7) / 8;
    mine->trim_below = later < UINT32_MAX ? (uint32_t)later : UINT32_MAX;
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

void vg_slab_rest(vg_slab_cache *mine, uint64_t in_use)
{
    if (mine->pages > 1 && in_use < mine->trim_below)
        vg_slab_trim(mine, in_use);
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
