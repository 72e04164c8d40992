/* SPDX-License-Identifier: MIT */
/*
 * slab.h - objects of one size that travel between threads. A slab is the memory, a cache one thread's door to it. An
 * object returns to the cache that made it, in batches. A cache has one user at a time and stays where it is until
 * vg_slab_destroy, which frees the chunks. NOTES.md has the argument.
 */
#ifndef VG_BASE_SLAB_H
#define VG_BASE_SLAB_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define VG_SLAB_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VG_SLAB_POISON 1
#endif
#endif
#ifdef VG_SLAB_POISON
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, bytes)   ((void)(start), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(start, bytes) ((void)(start), (void)(bytes))
#endif

#ifdef VIGIL_CHECK
enum {
    VG_SLAB_BATCH = 2,
    VG_SLAB_TARGETS = 1,
    VG_SLAB_CHUNK_BYTES = 64,
    VG_SLAB_CHUNK_OBJECTS = 2, /* objects in a chunk, at least */
    VG_SLAB_SINGLES = 2,
    VG_SLAB_PAGE = 4096,
    VG_SLAB_PAGE_KEPT = VG_SLAB_PAGE,
};
#else
enum {
    VG_SLAB_BATCH = 32,
    VG_SLAB_TARGETS = 4,
    VG_SLAB_CHUNK_BYTES = 32768,
    VG_SLAB_CHUNK_OBJECTS = 8,
    VG_SLAB_SINGLES = 64,         /* chunks of a cache before it takes huge pages full of them */
    VG_SLAB_PAGE = 2 << 20,       /* VG_HUGE_PAGE */
    VG_SLAB_PAGE_KEPT = 64 << 10, /* of a page that is trimmed: its head, and a multiple of the system's page */
};
#endif

typedef struct vg_slab_cache vg_slab_cache;

/* A free object: its first word. */
typedef struct vg_slab_link {
    struct vg_slab_link *next;
} vg_slab_link;

/* The head of a chunk. Chunks are aligned to their size: mask an object's address. */
typedef struct vg_slab_chunk {
    vg_slab_cache *owner;
    struct vg_slab_chunk *next; /* in the slab's list of what is to be freed */
    size_t bytes;               /* to be freed: a huge page has its first chunk in the list; 0: the others in it */
    uint32_t number;            /* a copy of the owner's: a free must not touch the line that the owner writes */
    uint32_t free;              /* first chunk of a huge page: its free objects, counted by vg_slab_trim; else 0 */
} vg_slab_chunk;

typedef struct vg_slab {
    size_t object_size; /* rounded up to a multiple of 16 */
    size_t chunk_bytes; /* a power of two */
    size_t first;       /* offset of a chunk's first object */
    _Atomic(vg_slab_chunk *) chunks;
    _Atomic size_t chunk_count;
    _Atomic uint32_t cache_count;
} vg_slab;

/* Objects of one other cache, to be handed over. */
typedef struct vg_slab_batch {
    vg_slab_cache *to;
    vg_slab_link *newest;
    vg_slab_link *oldest;
    uint32_t count; /* 0: the rest means nothing */
} vg_slab_batch;

struct vg_slab_cache {
    vg_slab_link *local;
    char *fresh; /* the part of the newest chunk that was never used */
    char *fresh_end;
    vg_slab *slab;
    char *chunk; /* the next one of the huge page that is being cut; at a page's end: none */
    uint32_t chunks;
    uint32_t pages;                             /* huge pages with objects */
    uint32_t trim_below;                        /* objects in use: trimming is worth while */
    vg_slab_link *spare;                        /* the first objects of trimmed pages, which are used before new ones */
    uint32_t number;                            /* spreads the caches over the places below */
    vg_slab_batch pending[VG_SLAB_TARGETS];     /* by number of the target, so that producers do not collide */
    alignas(64) _Atomic(vg_slab_link *) remote; /* returned by others; its own line, because all write it */
};

void vg_slab_init(vg_slab *slab, size_t object_size);

/* Frees every chunk. Nobody uses the slab or its caches any more. */
void vg_slab_destroy(vg_slab *slab);

void vg_slab_cache_init(vg_slab_cache *cache, vg_slab *slab);

/* Hand over what `mine` has collected, before its thread goes idle. */
void vg_slab_flush(vg_slab_cache *mine);

/* The owner rests, with at most `in_use` objects of this cache in use: if that is few, trim. */
void vg_slab_rest(vg_slab_cache *mine, uint64_t in_use);
/* Return huge pages without an object in use to the system, but for the newest. O(free objects). */
void vg_slab_trim(vg_slab_cache *mine, uint64_t in_use);

/* Chunks that hold memory of the system. Any thread. */
size_t vg_slab_chunks(const vg_slab *slab);

/* The slow halves of the two functions below. */
void *vg_slab_refill(vg_slab_cache *mine);
void vg_slab_send_home(vg_slab_cache *mine, const vg_slab_chunk *chunk, vg_slab_link *object);

/* Aligned to 16, or to 64 if the size is a multiple of 64; contents undefined. NULL: no memory. */
static inline void *vg_slab_alloc(vg_slab_cache *mine)
{
    vg_slab_link *object = mine->local;
    if (object == NULL)
        return vg_slab_refill(mine);
    ASAN_UNPOISON_MEMORY_REGION(object, mine->slab->object_size);
    mine->local = object->next;
    __builtin_prefetch(object->next, 1); /* the next one to be given out was written by another thread */
    return object;
}

/* Free an object of any cache of this slab. */
static inline void vg_slab_free(vg_slab_cache *mine, void *object)
{
    vg_slab *slab = mine->slab;
    const vg_slab_chunk *chunk = (const vg_slab_chunk *)((uintptr_t)object & ~(uintptr_t)(slab->chunk_bytes - 1));
    vg_slab_link *link = object;
    if (chunk->owner != mine) {
        vg_slab_send_home(mine, chunk, link);
        return;
    }
    link->next = mine->local;
    mine->local = link;
    ASAN_POISON_MEMORY_REGION(object, slab->object_size);
}

#endif
