/* SPDX-License-Identifier: MIT */
#include "fifo.h"

#include "base/pages.h"

#include <stdlib.h>

enum {
    CALL_BLOCK_LEAST = 4096
};

static vg_call_block *make_call_block(vg_call_store *store)
{
    const uint64_t held = atomic_load_explicit(&store->bytes, memory_order_relaxed);
    size_t bytes = CALL_BLOCK_LEAST;
    while (bytes < held && bytes < VG_HUGE_PAGE)
        bytes *= 2;
    vg_call_block *block = bytes < VG_HUGE_PAGE ? aligned_alloc(64, bytes) : vg_pages_map(bytes);
    if (block == NULL)
        return NULL;
    *block = (vg_call_block){.next = store->blocks, .bytes = bytes};
    store->blocks = block;
    store->fresh = (vg_call *)block + 1;
    store->fresh_end = (vg_call *)block + bytes / sizeof(vg_call);
    atomic_store_explicit(&store->bytes, held + bytes, memory_order_relaxed);
    return block;
}

vg_call *vg_call_refill(vg_call_store *store)
{
    if (store->fresh == store->fresh_end && make_call_block(store) == NULL)
        return NULL;
    vg_call *call = store->fresh++;
    vigil_post_init(&call->post, NULL, NULL);
    return call;
}

void vg_call_store_destroy(vg_call_store *store)
{
    while (store->blocks != NULL) {
        vg_call_block *block = store->blocks;
        store->blocks = block->next;
        if (block->bytes < VG_HUGE_PAGE)
            free(block);
        else
            vg_pages_unmap(block, block->bytes);
    }
    store->free = NULL;
    store->fresh = store->fresh_end = NULL;
    atomic_store_explicit(&store->bytes, 0, memory_order_relaxed);
}
