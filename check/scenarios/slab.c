/* SPDX-License-Identifier: MIT */
/*
 * Slab objects that are freed by another thread than the one that allocated them.
 *
 * Property: an object is in one hand at a time (what is written to it races with nobody), freed objects come back to their
 * cache, and the memory stays as large as what was out at once.
 */
#include <vigil_check.h>

#include "base/slab.h"

enum {
    MOST = 3
};

typedef struct object {
    void *link; /* the slab's while it is free */
    int holder; /* plainly written by whoever has the object */
} object;

static vg_slab slab;
static vg_slab_cache home, away[2];
static object *out[MOST];

static object *take(int holder)
{
    object *one = vg_slab_alloc(&home);
    vgc_assert(one != NULL, "no allocation is made to fail here");
    one->holder = holder;
    return one;
}

/* Free objects number `arg` and, if there is only one of these threads, all of them. */
static void *free_elsewhere(void *arg)
{
    const int number = (int)(intptr_t)arg;
    vgc_assert(out[number]->holder == number, "the object is still ours");
    out[number]->holder = -1;
    vg_slab_free(&away[number], out[number]);
    vg_slab_flush(&away[number]);
    return NULL;
}

static void *free_two_elsewhere(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        vgc_assert(out[i]->holder == i, "the object is still ours");
        out[i]->holder = -1;
        vg_slab_free(&away[0], out[i]);
    }
    vg_slab_flush(&away[0]); /* they went as one batch */
    return NULL;
}

static void begin(int objects)
{
    vg_slab_init(&slab, sizeof(object));
    vg_slab_cache_init(&home, &slab);
    for (int i = 0; i < 2; i++)
        vg_slab_cache_init(&away[i], &slab);
    for (int i = 0; i < objects; i++)
        out[i] = take(i);
}

static void end(void)
{
    /* Both have come home by now: so two more objects must be old ones. */
    const size_t chunks = vg_slab_chunks(&slab);
    object *a = take(7);
    object *b = take(8);
    vgc_assert(a != b && a->holder == 7, "two objects, not one twice");
    vgc_assert(vg_slab_chunks(&slab) == chunks, "freed objects are used before new memory");
    vg_slab_destroy(&slab);
}

VGC_SCENARIO(slab_two_free, "an object is in one hand at a time and comes back to its cache",
             .bound = "2 threads free 1 each, the owner allocates 1 meanwhile")
{
    pthread_t threads[2];
    begin(2);
    for (int i = 0; i < 2; i++)
        threads[i] = vgc_thread_start(free_elsewhere, (void *)(intptr_t)i);
    object *mine = take(2);
    vgc_assert(mine->holder == 2, "nobody else writes to it");
    vg_slab_free(&home, mine);
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    end();
}

VGC_SCENARIO(slab_batch, "a batch of objects comes back whole",
             .bound = "1 thread frees 2 as one batch, the owner allocates 2 meanwhile")
{
    begin(2);
    pthread_t thread = vgc_thread_start(free_two_elsewhere, NULL);
    object *first = take(2);
    object *second = take(3);
    vgc_assert(first != second && first->holder == 2 && second->holder == 3, "two objects, not one twice");
    vg_slab_free(&home, first);
    vg_slab_free(&home, second);
    vgc_thread_join(thread);
    end();
}

static void *allocate_first(void *arg)
{
    vg_slab_cache *cache = arg;
    object *one = vg_slab_alloc(cache);
    vgc_assert(one != NULL, "no allocation is made to fail here");
    one->holder = (int)(cache - away);
    vg_slab_free(cache, one);
    return NULL;
}

VGC_SCENARIO(slab_first_chunks, "caches that take their first chunk at once lose none",
             .bound = "2 threads allocate and free 1 each")
{
    pthread_t threads[2];
    begin(0);
    for (int i = 0; i < 2; i++)
        threads[i] = vgc_thread_start(allocate_first, &away[i]);
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(vg_slab_chunks(&slab) == 2, "one chunk each");
    vg_slab_destroy(&slab); /* a chunk that fell out of the list would be a leak */
}

/* ---- pages that go back ------------------------------------------------------------------------------------------ */

enum {
    LARGE = 900,    /* bytes: two to a chunk, four to a page */
    IN_SINGLES = 4, /* objects before the first page */
    IN_PAGE = 4,
    ALL = IN_SINGLES + 2 * IN_PAGE
};

static object *large[ALL];

static void *free_large(void *arg)
{
    (void)arg;
    for (int i = IN_SINGLES + 2; i < IN_SINGLES + IN_PAGE; i++) { /* two of the first page */
        vgc_assert(large[i]->holder == i, "the object is still ours");
        large[i]->holder = -1;
        vg_slab_free(&away[0], large[i]);
    }
    vg_slab_flush(&away[0]);
    return NULL;
}

static void begin_large(void)
{
    vg_slab_init(&slab, LARGE);
    vg_slab_cache_init(&home, &slab);
    vg_slab_cache_init(&away[0], &slab);
    for (int i = 0; i < ALL; i++)
        large[i] = take(i);
    vgc_assert(home.pages == 2, "the rest fills two pages");
}

/* All objects but the first, which stays in use, can be had again, each once. */
static void end_large(void)
{
    object *again[ALL];
    for (int i = 1; i < ALL; i++)
        again[i] = take(i);
    for (int i = 1; i < ALL; i++)
        vgc_assert(again[i]->holder == i, "none was given out twice");
    vgc_assert(large[0]->holder == 0, "what is in use stays");
    vgc_assert(home.pages == 2 && home.spare == NULL, "a page that went comes back before a new one");
    vg_slab_destroy(&slab);
}

VGC_SCENARIO(slab_trim_race, "a page whose last objects come home during a trim goes whole or stays whole",
             .bound = "1 thread frees 2 of 4 objects of a page as one batch, the owner trims meanwhile")
{
    begin_large();
    const size_t before = vg_slab_chunks(&slab);
    pthread_t thread = vgc_thread_start(free_large, NULL);
    for (int i = 1; i < ALL; i++)
        if (i < IN_SINGLES + 2 || i >= IN_SINGLES + IN_PAGE)
            vg_slab_free(&home, large[i]);
    vg_slab_trim(&home, 3);
    const bool gone = home.pages == 1;
    vgc_assert(vg_slab_chunks(&slab) == before - (gone ? 2 : 0), "the number of chunks is that of the pages");
    vgc_thread_join(thread);
    if (!gone) { /* all are home now */
        vg_slab_trim(&home, 1);
        vgc_assert(home.pages == 1, "nothing in it is in use: it goes");
    }
    vg_slab_trim(&home, 1);
    vgc_assert(home.pages == 1, "the newest page stays");
    end_large();
}

VGC_SCENARIO(slab_trim_in_use, "a page with an object in use stays", .bound = "1 thread")
{
    begin_large();
    for (int i = 1; i < ALL; i++)
        if (i != IN_SINGLES + 3)
            vg_slab_free(&home, large[i]);
    vg_slab_trim(&home, 2);
    vgc_assert(home.pages == 2 && large[IN_SINGLES + 3]->holder == IN_SINGLES + 3, "it is in use");
    vg_slab_free(&home, large[IN_SINGLES + 3]);
    vg_slab_rest(&home, 1); /* an eighth of two, rounded up, is one: not yet */
    vgc_assert(home.pages == 2, "a look is paid for by frees");
    vg_slab_rest(&home, 0);
    vgc_assert(home.pages == 1, "now it goes");
    end_large();
}
