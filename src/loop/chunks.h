/* SPDX-License-Identifier: MIT */
/*
 * chunks.h - chunks of the ingress.
 *
 * Chunks are cut from blocks. Blocks double in size as the queue grows, up to 2 MiB, which may be one huge page. A
 * block returns to the system when all of its chunks are free and enough others wait (VG_CHUNKS_KEPT).
 *
 * The lock is taken once per chunk, by the producer that brings it and the owner that retires it.
 */
#ifndef VG_LOOP_CHUNKS_H
#define VG_LOOP_CHUNKS_H

#include "base/list.h"
#include "base/mutex.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VG_CHUNK_BYTES = 4096 /* and alignment: the low bits of an address are free */
};
#ifdef VIGIL_CHECK
enum {
    VG_CHUNK_BLOCK_LEAST = 1, /* chunks in a block */
    VG_CHUNK_BLOCK_MOST = 1,
    VG_CHUNK_BLOCK_MAPPED = 512, /* a block of so many is a huge page */
    VG_CHUNKS_KEPT = 1
};
#else
enum {
    VG_CHUNK_BLOCK_LEAST = 8,
    VG_CHUNK_BLOCK_MOST = 512,
    VG_CHUNK_BLOCK_MAPPED = 512,
    VG_CHUNKS_KEPT = 1024 /* 4 MiB, 160 000 posts; asking again costs the clearing of pages */
};
#endif

typedef struct vg_chunk_block vg_chunk_block;

/* What each chunk begins with. */
typedef struct vg_chunk_head {
    vg_chunk_block *block;      /* written when the chunk is cut, never changed */
    struct vg_chunk_head *next; /* in its block's free list; NULL: in use */
} vg_chunk_head;

struct vg_chunk_block {
    vg_list_link link; /* in with_free, while a chunk of it is free */
    char *memory;
    uint32_t total; /* chunks in it */
    uint32_t cut;   /* handed out at least once; the others are not zeroed yet */
    uint32_t in_use;
    vg_chunk_head *free; /* all zero behind their heads */
};

typedef struct vg_chunk_pool {
    vg_mutex lock;
    vg_list with_free;
    size_t waiting;        /* free chunks, cut or not */
    _Atomic uint64_t held; /* chunks taken from the system; written under the lock */
} vg_chunk_pool;

void vg_chunk_pool_init(vg_chunk_pool *pool);

/* All chunks must be back. */
void vg_chunk_pool_destroy(vg_chunk_pool *pool);

/* Any thread. A chunk, all zero behind its head; NULL: no memory. */
vg_chunk_head *vg_chunk_take(vg_chunk_pool *pool);

/* Give it back, all zero behind its head. Any thread. */
void vg_chunk_give(vg_chunk_pool *pool, vg_chunk_head *chunk);

#endif
