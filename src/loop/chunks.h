/* SPDX-License-Identifier: MIT */
/*
 * chunks.h - where the ingress gets its chunks from, and where they go back to.
 *
 * Chunks are cut from blocks. Blocks double in size as the queue grows, up to 2 MiB, which the kernel backs with one huge page where
 * it may: a backlog of ten million posts then costs hundreds of page faults and not a hundred thousand. A block goes back to
 * the system when all of its chunks are back and enough others wait (VG_CHUNKS_KEPT), so memory follows the backlog down.
 *
 * A lock guards it: it is taken once for each chunk's worth of posts, by the producer that brings a chunk and by the
 * owner that retires one.
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
    VG_CHUNKS_KEPT = 1
};
#else
enum {
    VG_CHUNK_BLOCK_LEAST = 8,
    VG_CHUNK_BLOCK_MOST = 512,
    VG_CHUNKS_KEPT = 1024 /* 4 MiB, 160 000 posts: giving back and asking again costs the clearing of pages */
};
#endif

typedef struct vg_chunk_block vg_chunk_block;

/* What each chunk begins with. */
typedef struct vg_chunk_head {
    vg_chunk_block *block;      /* written when the chunk is cut, never changed */
    struct vg_chunk_head *next; /* in its block's list of free ones; NULL while it is in use */
} vg_chunk_head;

struct vg_chunk_block {
    vg_list_link link; /* in with_free, while a chunk of it is free */
    char *memory;
    uint32_t total; /* chunks in it */
    uint32_t cut;   /* of them: were handed out at least once; the others are not zeroed yet */
    uint32_t in_use;
    vg_chunk_head *free; /* all zero behind their heads */
};

typedef struct vg_chunk_pool {
    vg_mutex lock;
    vg_list with_free;
    size_t waiting;        /* free chunks, cut or not */
    _Atomic uint64_t held; /* chunks that were taken from the system; written under the lock */
} vg_chunk_pool;

void vg_chunk_pool_init(vg_chunk_pool *pool);

/* All chunks must be back. */
void vg_chunk_pool_destroy(vg_chunk_pool *pool);

/* A chunk that is all zero behind its head; NULL: no memory. Any thread. */
vg_chunk_head *vg_chunk_take(vg_chunk_pool *pool);

/* Give it back, all zero behind its head. Any thread. */
void vg_chunk_give(vg_chunk_pool *pool, vg_chunk_head *chunk);

#endif
