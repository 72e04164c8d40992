/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <sched.h>
#include <stdlib.h>

#include "base/slab.h"

enum {
    THREADS = 8
};

static size_t objects_per_chunk(const vg_slab *slab)
{
    return (slab->chunk_bytes - slab->first) / slab->object_size;
}

static void objects_are_aligned_and_do_not_overlap(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 8, 16, 24, 48, 64, 72, 100, 128, 1000, 4096, 40000};
    for (size_t s = 0; s < count_of(sizes); s++) {
        vg_slab slab;
        vg_slab_cache cache;
        vg_slab_init(&slab, sizes[s]);
        vg_slab_cache_init(&cache, &slab);
        enum {
            COUNT = 100
        };
        unsigned char *objects[COUNT];
        for (unsigned i = 0; i < COUNT; i++) {
            objects[i] = vg_slab_alloc(&cache);
            assert_non_null(objects[i]);
            assert_int_equal((uintptr_t)objects[i] % (sizes[s] % 64 == 0 ? 64 : 16), 0);
            memset(objects[i], (int)i, sizes[s]);
        }
        for (unsigned i = 0; i < COUNT; i++) {
            for (size_t b = 0; b < sizes[s]; b++)
                assert_int_equal(objects[i][b], i);
            vg_slab_free(&cache, objects[i]);
        }
        vg_slab_destroy(&slab);
    }
}

static void what_is_freed_is_used_again(void **state)
{
    (void)state;
    vg_slab slab;
    vg_slab_cache cache;
    vg_slab_init(&slab, 64);
    vg_slab_cache_init(&cache, &slab);
    void *first = vg_slab_alloc(&cache);
    vg_slab_free(&cache, first);
    for (unsigned i = 0; i < 100000; i++) {
        void *object = vg_slab_alloc(&cache);
        assert_ptr_equal(object, first);
        vg_slab_free(&cache, object);
    }
    assert_int_equal(vg_slab_chunks(&slab), 1);
    vg_slab_destroy(&slab);
}

static void another_caches_objects_go_home_in_full_batches(void **state)
{
    (void)state;
    vg_slab slab;
    vg_slab_cache home;
    vg_slab_cache guest;
    vg_slab_init(&slab, 64);
    vg_slab_cache_init(&home, &slab);
    vg_slab_cache_init(&guest, &slab);
    void *objects[VG_SLAB_BATCH];
    for (unsigned i = 0; i < VG_SLAB_BATCH; i++)
        objects[i] = vg_slab_alloc(&home);
    for (unsigned i = 0; i < VG_SLAB_BATCH; i++) {
        assert_null(atomic_load(&home.remote));
        vg_slab_free(&guest, objects[i]);
    }
    assert_non_null(atomic_load(&home.remote));
    assert_null(guest.local);
    /* They all come back, each once, before anything fresh. */
    bool seen[VG_SLAB_BATCH] = {false};
    for (unsigned i = 0; i < VG_SLAB_BATCH; i++) {
        void *object = vg_slab_alloc(&home);
        for (unsigned k = 0; k < VG_SLAB_BATCH; k++) {
            if (object == objects[k]) {
                assert_false(seen[k]);
                seen[k] = true;
            }
        }
    }
    for (unsigned i = 0; i < VG_SLAB_BATCH; i++)
        assert_true(seen[i]);
    vg_slab_destroy(&slab);
}

static void a_flush_sends_home_what_was_collected(void **state)
{
    (void)state;
    vg_slab slab;
    vg_slab_cache caches[2 * VG_SLAB_TARGETS];
    vg_slab_cache guest;
    void *objects[count_of(caches)];
    vg_slab_init(&slab, 64);
    for (unsigned i = 0; i < count_of(caches); i++) {
        vg_slab_cache_init(&caches[i], &slab);
        objects[i] = vg_slab_alloc(&caches[i]);
    }
    vg_slab_cache_init(&guest, &slab);
    for (unsigned i = 0; i < count_of(caches); i++)
        vg_slab_free(&guest, objects[i]);
    /* Twice as many owners as places: the first half was pushed out by the second. */
    for (unsigned i = 0; i < count_of(caches); i++)
        assert_ptr_equal(atomic_load(&caches[i].remote), i < VG_SLAB_TARGETS ? objects[i] : NULL);
    vg_slab_flush(&guest);
    for (unsigned i = 0; i < count_of(caches); i++)
        assert_ptr_equal(vg_slab_alloc(&caches[i]), objects[i]);
    vg_slab_flush(&guest); /* nothing left: nothing happens */
    for (unsigned i = 0; i < count_of(caches); i++)
        assert_null(atomic_load(&caches[i].remote));
    vg_slab_destroy(&slab);
}

/* ---- one produces, one consumes ------------------------------------------------------------------------------------- */

enum {
    RING = 256
};

typedef struct item {
    uint64_t number;
    uint64_t copy; /* behind the word that a free object is linked by */
} item;

typedef struct pipe {
    vg_slab slab;
    vg_slab_cache producer;
    vg_slab_cache consumer;
    _Atomic(item *) ring[RING];
    _Atomic uint64_t items; /* the producer may end them early */
} pipe_between;

static void *produce(void *arg)
{
    pipe_between *p = arg;
    const time_t end = seconds_now() + ENOUGH_S;
    uint64_t items = atomic_load_explicit(&p->items, memory_order_relaxed);
    for (uint64_t i = 0; i < items; i++) {
        while (atomic_load_explicit(&p->ring[i % RING], memory_order_acquire) != NULL)
            (void)sched_yield();
        item *it = vg_slab_alloc(&p->producer);
        must(it != NULL);
        it->number = i;
        it->copy = ~i;
        if (i % RING == 0 && seconds_now() >= end) {
            items = i + 1;
            atomic_store_explicit(&p->items, items, memory_order_relaxed); /* seen with the last item */
        }
        atomic_store_explicit(&p->ring[i % RING], it, memory_order_release);
    }
    return NULL;
}

static void *consume(void *arg)
{
    pipe_between *p = arg;
    for (uint64_t i = 0; i < atomic_load_explicit(&p->items, memory_order_relaxed); i++) {
        item *it;
        while ((it = atomic_load_explicit(&p->ring[i % RING], memory_order_acquire)) == NULL)
            (void)sched_yield();
        must(it->number == i && it->copy == ~i);
        vg_slab_free(&p->consumer, it);
        atomic_store_explicit(&p->ring[i % RING], NULL, memory_order_release);
    }
    return NULL;
}

static void memory_stays_flat_when_one_thread_allocates_and_another_frees(void **state)
{
    (void)state;
    static pipe_between p;
    p.items = scaled(5000000, 100000);
    vg_slab_init(&p.slab, sizeof(item));
    vg_slab_cache_init(&p.producer, &p.slab);
    vg_slab_cache_init(&p.consumer, &p.slab);
    pthread_t producer;
    assert_int_equal(pthread_create(&producer, NULL, produce, &p), 0);
    consume(&p);
    assert_int_equal(pthread_join(producer, NULL), 0);
    /* out at once: the ring, one in each hand, a batch that is not full, and a taken list that is all in use */
    size_t most = RING + 2 + VG_SLAB_BATCH;
    assert_in_range(vg_slab_chunks(&p.slab), 1, 1 + most / objects_per_chunk(&p.slab));
    vg_slab_destroy(&p.slab);
}

/* ---- everybody does everything -------------------------------------------------------------------------------------- */

enum {
    PLACES = 512
};

typedef struct exchange {
    vg_slab slab;
    vg_slab_cache caches[THREADS];
    _Atomic(item *) places[PLACES];
} exchange;

typedef struct trader {
    exchange *market;
    unsigned number;
    uint64_t rounds;
} trader;

static exchange market;

/* Put a fresh object in a random place and free whatever was there, mostly somebody else's. */
static void *trade(void *arg)
{
    trader *me = arg;
    vg_slab_cache *mine = &me->market->caches[me->number];
    uint64_t random = me->number + 1;
    for (uint64_t i = 0; i < me->rounds; i++) {
        item *it = vg_slab_alloc(mine);
        must(it != NULL);
        it->number = random_next(&random);
        it->copy = ~it->number;
        /* both: the object's contents go with it */
        it = atomic_exchange_explicit(&me->market->places[it->number % PLACES], it, memory_order_acq_rel);
        if (it != NULL) {
            must(it->copy == ~it->number);
            vg_slab_free(mine, it);
        }
        if (i % 1000 == 0)
            vg_slab_flush(mine);
    }
    vg_slab_flush(mine);
    return NULL;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (void *const *)a;
    uintptr_t y = (uintptr_t) * (void *const *)b;
    return (x > y) - (x < y);
}

static void eight_threads_that_free_each_others_objects_keep_memory_flat(void **state)
{
    (void)state;
    vg_slab_init(&market.slab, sizeof(item));
    trader traders[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        vg_slab_cache_init(&market.caches[i], &market.slab);
        traders[i] = (trader){.market = &market, .number = i, .rounds = scaled(1000000, 20000)};
    }
    on_threads(THREADS, trade, traders, sizeof traders[0]);
    /* One cache's objects: at most all places, and what waits in the others' batches or in its own lists. */
    size_t most = PLACES + 1 + (THREADS - 1) * VG_SLAB_BATCH;
    assert_in_range(vg_slab_chunks(&market.slab), THREADS, THREADS * (1 + most / objects_per_chunk(&market.slab)));

    /* Nothing is lost and nothing is there twice: once all is given back, each cache can give out all it ever made before it
       needs another chunk, and no object comes twice. */
    for (unsigned i = 0; i < PLACES; i++) {
        item *it = atomic_exchange(&market.places[i], NULL);
        if (it != NULL)
            vg_slab_free(&market.caches[0], it);
    }
    vg_slab_flush(&market.caches[0]);
    size_t chunks = vg_slab_chunks(&market.slab);
    size_t made = chunks * objects_per_chunk(&market.slab);
    void **objects = calloc(made, sizeof *objects);
    size_t count = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        vg_slab_cache *cache = &market.caches[i];
        while (cache->local != NULL || atomic_load(&cache->remote) != NULL || cache->fresh != cache->fresh_end) {
            assert_true(count < made);
            objects[count++] = vg_slab_alloc(cache);
        }
    }
    assert_int_equal(count, made);
    qsort(objects, count, sizeof *objects, by_address);
    for (size_t i = 1; i < count; i++)
        assert_true(objects[i - 1] != objects[i]);
    free(objects);
    assert_int_equal(vg_slab_chunks(&market.slab), chunks);
    vg_slab_destroy(&market.slab);
}

static void what_a_burst_leaves_goes_back_to_the_system(void **state)
{
    (void)state;
    enum {
        SIZE = 128,
        BURST = 100000 /* 12 MiB: the first chunks and five huge pages */
    };
    vg_slab slab;
    vg_slab_cache cache;
    unsigned char **objects = malloc(BURST * sizeof *objects);
    assert_non_null(objects);
    vg_slab_init(&slab, SIZE);
    vg_slab_cache_init(&cache, &slab);
    const size_t page_chunks = VG_SLAB_PAGE / slab.chunk_bytes;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < BURST; i++) {
            objects[i] = vg_slab_alloc(&cache);
            memset(objects[i], 0xee, SIZE);
            memcpy(objects[i], &i, sizeof i);
        }
        for (unsigned i = 0; i < BURST; i++)
            assert_memory_equal(objects[i], &i, sizeof i); /* none was given out twice */
        const size_t burst = vg_slab_chunks(&slab);
        assert_true(burst > VG_SLAB_SINGLES + 4 * page_chunks && burst <= VG_SLAB_SINGLES + 7 * page_chunks);
        for (unsigned i = 0; i < BURST; i++)
            if (i != BURST / 2)
                vg_slab_free(&cache, objects[i]);
        vg_slab_rest(&cache, BURST / 2); /* too many, says the caller */
        assert_int_equal(vg_slab_chunks(&slab), burst);
        vg_slab_rest(&cache, 1); /* the page of the one that is in use stays, and the newest */
        assert_true(vg_slab_chunks(&slab) <= VG_SLAB_SINGLES + 2 * page_chunks);
        unsigned char in_use[SIZE];
        memset(in_use, 0xee, SIZE);
        const unsigned number = BURST / 2;
        memcpy(in_use, &number, sizeof number);
        assert_memory_equal(objects[number], in_use, SIZE);
        vg_slab_free(&cache, objects[number]);
        vg_slab_rest(&cache, 0);
        assert_in_range(vg_slab_chunks(&slab), VG_SLAB_SINGLES + 1, VG_SLAB_SINGLES + page_chunks);
    }
    /* What was trimmed reads as zero: the system has it. */
    const unsigned char *trimmed = (unsigned char *)cache.spare - slab.first + VG_SLAB_PAGE_KEPT;
    for (size_t i = 0; i < VG_SLAB_PAGE - VG_SLAB_PAGE_KEPT; i++)
        if (trimmed[i] != 0)
            fail_msg("byte %zu of a trimmed page is still there", i);
    vg_slab_destroy(&slab);
    free(objects);
}

#ifdef VG_SLAB_POISON
static void the_address_sanitizer_sees_a_look_at_a_freed_object(void **state)
{
    (void)state;
    vg_slab slab;
    vg_slab_cache home;
    vg_slab_cache guest;
    vg_slab_init(&slab, 64);
    vg_slab_cache_init(&home, &slab);
    vg_slab_cache_init(&guest, &slab);
    char *object = vg_slab_alloc(&home);
    assert_null(__asan_region_is_poisoned(object, 64));
    assert_true(__asan_address_is_poisoned(object + 64)); /* the next one was never given out */
    vg_slab_free(&home, object);
    assert_ptr_equal(__asan_region_is_poisoned(object, 64), object);
    assert_ptr_equal(vg_slab_alloc(&home), object);
    assert_null(__asan_region_is_poisoned(object, 64));
    vg_slab_free(&guest, object);
    assert_true(__asan_address_is_poisoned(object));
    vg_slab_flush(&guest);
    assert_true(__asan_address_is_poisoned(object) && __asan_address_is_poisoned(object + 63));
    assert_ptr_equal(vg_slab_alloc(&home), object);
    assert_null(__asan_region_is_poisoned(object, 64));
    vg_slab_destroy(&slab);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_aligned_and_do_not_overlap),
        cmocka_unit_test(what_is_freed_is_used_again),
        cmocka_unit_test(another_caches_objects_go_home_in_full_batches),
        cmocka_unit_test(a_flush_sends_home_what_was_collected),
        cmocka_unit_test(memory_stays_flat_when_one_thread_allocates_and_another_frees),
        cmocka_unit_test(eight_threads_that_free_each_others_objects_keep_memory_flat),
        cmocka_unit_test(what_a_burst_leaves_goes_back_to_the_system),
#ifdef VG_SLAB_POISON
        cmocka_unit_test(the_address_sanitizer_sees_a_look_at_a_freed_object),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
