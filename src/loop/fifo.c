/* SPDX-License-Identifier: MIT */
#include "fifo.h"

#include <stdlib.h>

enum {
    CALLS_PER_BLOCK = 63 /* a block is 4 KiB with its link */
};

vg_call *vg_call_refill(vg_call_store *store)
{
    vg_call_block *block = aligned_alloc(64, sizeof(vg_call) * (CALLS_PER_BLOCK + 1));
    if (block == NULL)
        return NULL;
    block->next = store->blocks;
    store->blocks = block;
    vg_call *calls = (vg_call *)block + 1;
    for (int i = CALLS_PER_BLOCK - 1; i >= 0; i--) {
        vigil_post_init(&calls[i].post, NULL, NULL);
        vg_call_free(store, &calls[i]);
    }
    return vg_call_new(store);
}

void vg_call_store_destroy(vg_call_store *store)
{
    while (store->blocks != NULL) {
        vg_call_block *next = store->blocks->next;
        free(store->blocks);
        store->blocks = next;
    }
    store->free = NULL;
}
