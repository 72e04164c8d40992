/* SPDX-License-Identifier: MIT */
/*
 * checked.c - the recorder under the model checker: memory only, off unless a scenario asks (checked.h), so that
 * threads make few steps. Empty in all other builds.
 */
#ifdef VIGIL_CHECK
#include "checked.h"
#include "block.h"
#include "hist.h"
#include "life.h"
#include "ring.h"
#include "subject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Thread_local vg_own_ring vg_my_ring;
_Atomic uint32_t vg_record_epoch = 1;
vigil_record_level vg_checked_level = VIGIL_RECORD_OFF;

static void no_watchdog(void)
{
}
void (*const vg_subject_added)(void) = no_watchdog;

unsigned vg_record_hold(uint32_t *epoch)
{
    *epoch = 1;
    return vg_checked_level;
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
        (vg_record_block){.memory = aligned_alloc(64, bytes), .bytes = bytes, .serial = 1, .extent = VG_FILE_BLOCKS};
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

void vg_ring_map_ahead_slow(vg_own_ring *ring)
{
    (void)ring;
}

void vg_hist_put_shared(vg_file_hist *hist, uint64_t ticks, uint64_t times)
{
    (void)hist;
    (void)ticks;
    (void)times;
}
#endif
