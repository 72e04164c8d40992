/* SPDX-License-Identifier: MIT */
/*
 * checked.c - the recorder under the model checker: off, and nothing but memory. It is no part of any protocol that is checked,
 * and the fewer steps a thread makes, the more of the others can be explored. In all other builds this file is empty.
 */
#ifdef VIGIL_CHECK
#include "record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <vigil/watch.h>

_Thread_local vg_own_ring vg_my_ring;
_Atomic uint32_t vg_record_epoch = 1;

unsigned vg_record_hold(uint32_t *epoch)
{
    *epoch = 1;
    return VIGIL_WATCH_OFF;
}

void vg_record_release(uint32_t epoch)
{
    (void)epoch;
}

int vg_block_get(vg_record_block *block, vg_file_block_kind kind, size_t bytes, uint64_t owner, uint64_t entries)
{
    (void)kind;
    (void)owner;
    (void)entries;
    bytes = (bytes + 63) / 64 * 64;
    *block =
        (vg_record_block){.memory = aligned_alloc(64, bytes), .bytes = bytes, .serial = 1, .place = VG_FILE_BLOCKS};
    if (block->memory == NULL)
        return -ENOMEM;
    memset(block->memory, 0, bytes);
    return 0;
}

void vg_block_show(const vg_record_block *block)
{
    (void)block;
}

void vg_block_put(vg_record_block *block)
{
    free(block->memory);
    block->memory = NULL;
}

void vg_ring_attach(vg_thread_role role, uint64_t owner, uint64_t index)
{
    (void)role;
    (void)owner;
    (void)index;
}

void vg_ring_detach(void)
{
}

void vg_event_drop(void)
{
}

void vg_hist_put_shared(vg_file_hist *hist, uint64_t ticks, uint64_t times)
{
    (void)hist;
    (void)ticks;
    (void)times;
}
#endif
