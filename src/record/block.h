/* SPDX-License-Identifier: MIT */
/*
 * block.h - memory in the recorder's file for what a pool, loop or thread counts.
 */
#ifndef VG_RECORD_BLOCK_H
#define VG_RECORD_BLOCK_H

#include "format_base.h"

#include <stddef.h>
#include <stdint.h>

typedef struct vg_record_block {
    void *memory; /* zeroed when it is got; NULL: none */
    size_t bytes;
    uint64_t serial; /* names the object, also outside the file */
    uint32_t epoch;
    uint32_t extent; /* in the directory; VG_FILE_BLOCKS: it lies outside the file */
} vg_record_block;

/* Zeroed, aligned to a page. The caller holds the recorder. 0; -ENOMEM. */
int vg_block_get(vg_record_block *block, vg_file_block_kind kind, size_t bytes, uint64_t owner, uint64_t entries);
/* Show it to readers. What is not a cell has been filled in. */
void vg_block_show(const vg_record_block *block);
/* Free it, if it has memory. In a forked child: only the memory. */
void vg_block_put(vg_record_block *block);

/* The same two with the recorder's lock held. */
int vg_block_get_locked(vg_record_block *block, vg_file_block_kind kind, size_t bytes, uint64_t owner,
                        uint64_t entries);
void vg_block_put_locked(vg_record_block *block);

#endif
