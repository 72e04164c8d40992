/* SPDX-License-Identifier: MIT */
/*
 * Handles: acquire against the last release, stale handles against reuse, two threads that allocate, handles that are
 * given back while the record is held.
 *
 * Property: a handle names its record or nothing. Whoever holds a record has it: it is not given to anybody else, and what
 * earlier holders wrote is seen (a plain field shows both).
 */
#include <vigil_check.h>

#include "base/handles.h"

#include <errno.h>

typedef struct record {
    vg_handle_slot slot;
    int life; /* plainly written by the one that allocates, and by the first holder of a life */
    int held; /* plainly written by a holder */
} record;

static vg_handles table;
static uint64_t handle;

static record *make(uint32_t references, int life, uint64_t *name)
{
    record *one = vg_handles_alloc(&table, references, name);
    if (one != NULL)
        one->life = life;
    return one;
}

static void begin(uint32_t most)
{
    vgc_assert(vg_handles_init(&table, sizeof(record), most) == 0, "no allocation is made to fail here");
}

static void *use_by_handle(void *arg)
{
    (void)arg;
    record *one = vg_handles_acquire(&table, handle);
    if (one == NULL)
        return NULL;
    vgc_assert(one->life == 1, "the record is the one that the handle names");
    (void)vg_handles_release(&table, one);
    return NULL;
}

VGC_SCENARIO(handles_last_release, "a handle names its record or nothing; the last release is seen by one",
             .bound = "2 threads acquire and release, the owner releases")
{
    pthread_t threads[2];
    begin(2);
    record *one = make(1, 1, &handle);
    for (int i = 0; i < 2; i++)
        threads[i] = vgc_thread_start(use_by_handle, NULL);
    (void)vg_handles_release(&table, one);
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(vg_handles_acquire(&table, handle) == NULL, "it is gone for ever");
    uint64_t other = 0;
    vgc_assert(make(1, 2, &other) == one && other != handle, "its place is used again, under another name");
    vg_handles_destroy(&table);
}

VGC_SCENARIO(handles_stale, "an old handle never reaches the record that came after",
             .bound = "1 thread acquires and releases twice, the owner releases and allocates again")
{
    begin(2);
    record *one = make(1, 1, &handle);
    pthread_t thread = vgc_thread_start(use_by_handle, NULL);
    uint64_t other = 0;
    (void)vg_handles_release(&table, one);
    record *next = make(1, 2, &other);
    vgc_assert(next != NULL && other != handle, "there is place");
    vgc_assert(next->life == 2, "nobody writes to it but us");
    vgc_thread_join(thread);
    (void)vg_handles_release(&table, next);
    vg_handles_destroy(&table);
}

/* What the last holder wrote is seen by the one that frees, and by the next life. */
static void *write_and_release(void *arg)
{
    record *one = arg;
    one->life = 3;
    (void)vg_handles_release(&table, one);
    return NULL;
}

VGC_SCENARIO(handles_writes_pass_on, "what a holder wrote is there for the next life of the record",
             .bound = "2 holders; one writes and releases, the other releases and allocates again")
{
    begin(1);
    record *one = make(2, 1, &handle);
    pthread_t thread = vgc_thread_start(write_and_release, one);
    if (vg_handles_release(&table, one)) {
        uint64_t other = 0;
        record *next = make(1, 4, &other); /* races with the thread's write unless the releases order them */
        vgc_assert(next == one, "the only place is free");
        vgc_assert(next->life == 4, "the old write does not come afterwards");
    }
    vgc_thread_join(thread);
    vg_handles_destroy(&table);
}

VGC_SCENARIO(handles_acquire_sees, "whoever acquires sees what was written before any release",
             .bound = "2 holders; one writes and releases, the other acquires by handle")
{
    begin(1);
    record *one = make(2, 1, &handle);
    pthread_t thread = vgc_thread_start(write_and_release, one);
    /* One reference and not two: the other's release came before the acquire that follows. */
    const bool released = (uint32_t)atomic_load_explicit(&one->slot.life, memory_order_relaxed) == 1;
    record *again = vg_handles_acquire(&table, handle);
    vgc_assert(again == one, "we still hold it");
    if (released)
        vgc_assert(again->life == 3, "what it wrote is seen");
    vgc_thread_join(thread);
    vg_handles_destroy(&table);
}

static void *make_and_release(void *arg)
{
    const int rounds = (int)(intptr_t)arg;
    for (int i = 0; i < rounds; i++) {
        uint64_t name = 0;
        record *one = make(1, 10 + vgc_thread_number(), &name);
        if (one == NULL)
            continue;
        vgc_assert(one->life == 10 + vgc_thread_number(), "the record is ours alone");
        vgc_assert(vg_handles_name(one) == name, "and has our name");
        vgc_assert(vg_handles_release(&table, one), "we were its only holder");
    }
    return NULL;
}

static void two_make_and_release(intptr_t rounds, int freed_before)
{
    pthread_t threads[2];
    uint64_t names[3];
    record *held[3];
    begin(3); /* the first chunk holds two */
    for (int i = 0; i < freed_before; i++)
        held[i] = make(1, 1, &names[i]);
    for (int i = 0; i < freed_before; i++)
        (void)vg_handles_release(&table, held[i]);
    for (int i = 0; i < 2; i++)
        threads[i] = vgc_thread_start(make_and_release, (void *)rounds);
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    for (int i = 0; i < 3; i++)
        vgc_assert((held[i] = make(1, 1, &names[i])) != NULL, "no place was lost");
    vgc_assert(held[0] != held[1] && held[1] != held[2] && held[0] != held[2], "three places, not one twice");
    vgc_assert(make(1, 1, &names[0]) == NULL, "and not one more than there are");
    vg_handles_destroy(&table);
}

VGC_SCENARIO(handles_fresh_places, "places that were never used are given out once",
             .bound = "2 threads allocate and release 1")
{
    two_make_and_release(1, 0);
}

VGC_SCENARIO(handles_free_places, "freed places are given out once at a time",
             .bound = "2 threads allocate and release 1, 2 places free")
{
    two_make_and_release(1, 2);
}

VGC_SCENARIO(handles_free_places_twice, "a free place that comes back under the same head is not taken for the old one",
             .bound = "2 threads allocate and release 2, 2 places free")
{
    two_make_and_release(2, 2);
}

/* Takes both free places and gives the first back, which is the head again, with another one behind it. */
static void *make_two_keep_second(void *arg)
{
    uint64_t names[2];
    record *first = make(1, 5, &names[0]);
    *(record **)arg = make(1, 6, &names[1]);
    if (first != NULL)
        (void)vg_handles_release(&table, first);
    return NULL;
}

VGC_SCENARIO(handles_free_places_old_head, "what was behind the head is not given out once it was taken",
             .bound = "1 thread allocates 2 and releases the first, 1 allocates 1, 2 places free")
{
    uint64_t names[4];
    record *held[4] = {NULL};
    begin(3);
    for (int i = 0; i < 2; i++)
        held[i] = make(1, 1, &names[i]);
    for (int i = 0; i < 2; i++)
        (void)vg_handles_release(&table, held[i]);
    pthread_t thread = vgc_thread_start(make_two_keep_second, &held[0]);
    held[1] = make(1, 7, &names[1]);
    vgc_thread_join(thread);
    held[2] = make(1, 8, &names[2]);
    vgc_assert(held[0] != NULL && held[1] != NULL && held[2] != NULL, "no place was lost");
    vgc_assert(held[0] != held[1] && held[1] != held[2] && held[0] != held[2], "three places, not one twice");
    vgc_assert(make(1, 1, &names[3]) == NULL, "and not one more than there are");
    vg_handles_destroy(&table);
}

static void *fill_table(void *arg)
{
    uint64_t name = 0;
    record **mine = arg;
    *mine = make(1, 5, &name);
    return NULL;
}

VGC_SCENARIO(handles_second_chunk, "two threads that need the next chunk at once agree on one",
             .bound = "2 threads allocate 1 with 2 held")
{
    pthread_t threads[2];
    static record *got[2];
    uint64_t names[2];
    begin(4);
    record *a = make(1, 1, &names[0]);
    record *b = make(1, 1, &names[1]);
    for (int i = 0; i < 2; i++)
        threads[i] = vgc_thread_start(fill_table, &got[i]);
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(got[0] != NULL && got[1] != NULL && got[0] != got[1], "a place for each");
    vgc_assert(got[0] != a && got[0] != b && got[1] != a && got[1] != b, "and none of those that are held");
    vg_handles_destroy(&table);
}

VGC_SCENARIO(handles_no_memory, "an allocation that fails loses no place", .opt.fail_alloc = 1,
             .bound = "2 threads allocate 1 with 2 held; any one allocation fails")
{
    pthread_t threads[2];
    static record *got[2];
    uint64_t names[4];
    int error = vg_handles_init(&table, sizeof(record), 4);
    if (error != 0) {
        vgc_assert(error == -ENOMEM, "the error says why");
        vg_handles_destroy(&table);
        return;
    }
    vgc_assert(make(1, 1, &names[0]) != NULL && make(1, 1, &names[1]) != NULL, "the first chunk is there");
    for (int i = 0; i < 2; i++)
        threads[i] = vgc_thread_start(fill_table, &got[i]);
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    int held = 2 + (got[0] != NULL) + (got[1] != NULL);
    while (held < 4 && make(1, 1, &names[0]) != NULL)
        held++;
    vgc_assert(held == 4, "all four places can be had in the end");
    vg_handles_destroy(&table);
}

/* ---- handles that are given back while the record is held ---- */

static _Atomic int unnamed;

/* Writes, gives the handle back, and takes the place if it is free. */
static void *write_unname_and_make(void *arg)
{
    record *one = arg;
    uint64_t other = 0;
    one->life = 3;
    if (vg_handles_unname(&table, handle))
        (void)atomic_fetch_add_explicit(&unnamed, 1, memory_order_relaxed);
    record *next = make(1, 4, &other);
    if (next != NULL) {
        vgc_assert(next == one && other != handle, "the only place, under another name");
        next->held = 4; /* races with the holder's write unless its release came before */
        (void)vg_handles_release(&table, next);
    }
    return NULL;
}

VGC_SCENARIO(handles_alone, "who is alone with a record sees all that others did, and they see nothing of a later use",
             .bound = "a holder, and a thread that writes, gives the handle back and allocates again")
{
    begin(1);
    atomic_store_explicit(&unnamed, 0, memory_order_relaxed);
    record *one = make(2, 1, &handle);
    pthread_t thread = vgc_thread_start(write_unname_and_make, one);
    if (vg_handles_alone(one)) {
        vgc_assert(one->life == 3, "what the last named holder wrote is seen");
        one->life = 5;
    }
    one->held = 1;
    (void)vg_handles_release(&table, one);
    vgc_thread_join(thread);
    vgc_assert(atomic_load_explicit(&unnamed, memory_order_relaxed) == 1, "the handle was given back");
    vgc_assert(vg_handles_acquire(&table, handle) == NULL, "and is stale");
    uint64_t other = 0;
    vgc_assert(make(1, 2, &other) == one, "the place was freed, once");
    vgc_assert(make(1, 2, &other) == NULL, "and not twice");
    vg_handles_destroy(&table);
}

static void *acquire_and_unname(void *arg)
{
    (void)arg;
    record *one = vg_handles_acquire(&table, handle);
    if (vg_handles_unname(&table, handle))
        (void)atomic_fetch_add_explicit(&unnamed, 1, memory_order_relaxed);
    if (one != NULL) {
        vgc_assert(one->life == 1, "we hold it, with or without a name");
        (void)vg_handles_release(&table, one);
    }
    return NULL;
}

VGC_SCENARIO(handles_unnamed_once, "a handle is given back once, and never with the reference of somebody else",
             .bound = "2 threads acquire, give the handle back and release; 1 holder releases")
{
    pthread_t threads[2];
    begin(1);
    atomic_store_explicit(&unnamed, 0, memory_order_relaxed);
    record *one = make(2, 1, &handle);
    for (int i = 0; i < 2; i++)
        threads[i] = vgc_thread_start(acquire_and_unname, NULL);
    vgc_assert(one->life == 1, "it is ours until we release it");
    (void)vg_handles_release(&table, one);
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(atomic_load_explicit(&unnamed, memory_order_relaxed) == 1, "one of them gave it back");
    uint64_t other = 0;
    vgc_assert(make(1, 2, &other) == one && other != handle, "the place was freed");
    vgc_assert(make(1, 2, &other) == NULL, "once");
    vg_handles_destroy(&table);
}

static void *release_many(void *arg)
{
    record **held = arg;
    vg_handle_batch batch = {.count = 0};
    for (int i = 0; i < 3; i++) {
        held[i]->held = 1;
        vg_handles_release_into(&table, held[i], &batch);
    }
    vg_handles_hand_over(&table, &batch);
    return NULL;
}

VGC_SCENARIO(handles_batch, "slots that are freed in batches are given out once each, with what was written",
             .bound = "1 thread frees 3 in batches of 2, another allocates and releases 2")
{
    static record *held[3];
    uint64_t name = 0;
    begin(3);
    for (int i = 0; i < 3; i++)
        held[i] = make(1, 1, &name);
    pthread_t thread = vgc_thread_start(release_many, held);
    for (int i = 0; i < 2; i++) {
        record *one = make(1, 2, &name);
        if (one == NULL)
            continue;
        one->held = 2;
        (void)vg_handles_release(&table, one);
    }
    vgc_thread_join(thread);
    for (int i = 0; i < 3; i++)
        vgc_assert((held[i] = make(1, 1, &name)) != NULL, "no place was lost");
    vgc_assert(held[0] != held[1] && held[1] != held[2] && held[0] != held[2], "three places, not one twice");
    vg_handles_destroy(&table);
}
