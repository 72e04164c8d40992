/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <sched.h>

#include "base/handles.h"

enum {
    THREADS = 8
};

typedef struct record {
    vg_handle_slot slot;
    uint64_t name; /* its handle, while it is held */
    uint64_t mark;
} record;

static uint32_t references_of(record *r)
{
    return (uint32_t)atomic_load(&r->slot.life);
}

static void a_handle_finds_its_record_until_the_last_reference_goes(void **state)
{
    (void)state;
    vg_handles table;
    assert_int_equal(vg_handles_init(&table, sizeof(record), 10), 0);
    uint64_t handle = 0;
    record *r = vg_handles_alloc(&table, 2, &handle);
    assert_non_null(r);
    assert_true(handle != 0);
    assert_true(vg_handles_name(r) == handle);
    assert_ptr_equal(vg_handles_acquire(&table, handle), r);
    assert_int_equal(references_of(r), 3);
    assert_false(vg_handles_release(&table, r));
    assert_false(vg_handles_release(&table, r));
    assert_ptr_equal(vg_handles_acquire(&table, handle), r);
    assert_false(vg_handles_release(&table, r));
    assert_true(vg_handles_release(&table, r));
    assert_null(vg_handles_acquire(&table, handle));
    assert_null(vg_handles_acquire(&table, handle)); /* asking does not change the answer */
    vg_handles_destroy(&table);
}

static void a_stale_handle_does_not_find_the_next_record_in_its_place(void **state)
{
    (void)state;
    vg_handles table;
    assert_int_equal(vg_handles_init(&table, sizeof(record), 1), 0);
    uint64_t old = 0;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t handle;
        record *r = vg_handles_alloc(&table, 1, &handle);
        assert_non_null(r);
        assert_true(handle != old);
        assert_null(vg_handles_acquire(&table, old));
        assert_int_equal(references_of(r), 1);
        old = handle;
        assert_true(vg_handles_release(&table, r));
        assert_null(vg_handles_acquire(&table, old));
    }
    vg_handles_destroy(&table);
}

static void a_handle_that_was_given_back_is_stale_while_others_hold_the_record(void **state)
{
    (void)state;
    vg_handles table;
    assert_int_equal(vg_handles_init(&table, sizeof(record), 1), 0);
    uint64_t handle;
    record *r = vg_handles_alloc(&table, 3, &handle);
    assert_true(vg_handles_unname(&table, handle));
    assert_false(vg_handles_unname(&table, handle));
    assert_null(vg_handles_acquire(&table, handle));
    assert_false(vg_handles_alone(r));
    assert_int_equal(vg_handles_name(r), handle);
    assert_false(vg_handles_release(&table, r));
    assert_true(vg_handles_alone(r));
    vg_handles_hold(r);
    assert_false(vg_handles_alone(r));
    assert_false(vg_handles_release(&table, r));
    assert_true(vg_handles_release(&table, r));
    uint64_t next;
    assert_ptr_equal(vg_handles_alloc(&table, 1, &next), r);
    assert_true(next != handle);
    assert_false(vg_handles_unname(&table, handle)); /* of the record that was there before */
    assert_true(vg_handles_unname(&table, next));    /* the last reference: the slot is free */
    assert_ptr_equal(vg_handles_alloc(&table, 1, &handle), r);
    assert_true(handle != next);
    vg_handles_destroy(&table);
}

static void slots_that_are_freed_in_a_batch_are_free_when_it_is_handed_over(void **state)
{
    (void)state;
    enum {
        MOST = 2 * VG_HANDLES_BATCH + 1
    };
    vg_handles table;
    assert_int_equal(vg_handles_init(&table, sizeof(record), MOST), 0);
    record *held[MOST];
    uint64_t handle;
    vg_handle_batch batch = {.count = 0};
    for (unsigned i = 0; i < MOST; i++)
        held[i] = vg_handles_alloc(&table, 1, &handle);
    for (unsigned i = 0; i < MOST; i++)
        vg_handles_release_into(&table, held[i], &batch);
    assert_int_equal(batch.count, 1); /* two full ones went by themselves */
    for (unsigned i = 0; i < MOST - 1; i++)
        assert_non_null(vg_handles_alloc(&table, 1, &handle));
    assert_null(vg_handles_alloc(&table, 1, &handle));
    vg_handles_hand_over(&table, &batch);
    assert_ptr_equal(vg_handles_alloc(&table, 1, &handle), held[MOST - 1]);
    vg_handles_hand_over(&table, &batch); /* nothing is left in it */
    assert_null(vg_handles_alloc(&table, 1, &handle));
    vg_handles_destroy(&table);
}

static void numbers_that_were_never_handles_find_nothing(void **state)
{
    (void)state;
    vg_handles table;
    assert_int_equal(vg_handles_init(&table, sizeof(record), 100000), 0);
    static const uint64_t never[] = {0,
                                     1,
                                     5,
                                     99999,
                                     100000,
                                     UINT32_MAX,
                                     1ULL << 32,
                                     UINT64_MAX,
                                     1ULL << 63,
                                     (1ULL << 32) | 99999,
                                     (1ULL << 32) | 100000,
                                     (1ULL << 32) | UINT32_MAX};
    for (unsigned i = 0; i < count_of(never); i++)
        assert_null(vg_handles_acquire(&table, never[i]));
    uint64_t handle;
    assert_non_null(vg_handles_alloc(&table, 1, &handle));
    for (unsigned i = 0; i < count_of(never); i++)
        assert_true(never[i] == handle || vg_handles_acquire(&table, never[i]) == NULL);
    vg_handles_destroy(&table);
}

static void all_records_can_be_held_at_once_and_not_one_more(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 63, 64, 65, 1000, 5000};
    for (unsigned s = 0; s < count_of(sizes); s++) {
        uint32_t most = sizes[s];
        vg_handles table;
        assert_int_equal(vg_handles_init(&table, sizeof(record), most), 0);
        record **held = calloc(most, sizeof *held);
        for (uint32_t round = 0; round < 3; round++) {
            for (uint32_t i = 0; i < most; i++) {
                uint64_t handle;
                held[i] = vg_handles_alloc(&table, 1, &handle);
                assert_non_null(held[i]);
                held[i]->name = handle;
                held[i]->mark = i;
            }
            uint64_t unused = 77;
            assert_null(vg_handles_alloc(&table, 1, &unused));
            for (uint32_t i = 0; i < most; i++) {
                assert_int_equal(held[i]->mark, i); /* nobody else has the same place */
                assert_ptr_equal(vg_handles_acquire(&table, held[i]->name), held[i]);
                assert_false(vg_handles_release(&table, held[i]));
                assert_true(vg_handles_release(&table, held[i]));
            }
        }
        free(held);
        vg_handles_destroy(&table);
    }
}

static void records_are_aligned_as_their_size_allows(void **state)
{
    (void)state;
    static const size_t sizes[] = {16, 17, 40, 64, 100, 128, 192, 1000};
    for (unsigned s = 0; s < count_of(sizes); s++) {
        vg_handles table;
        assert_int_equal(vg_handles_init(&table, sizes[s], 1000), 0);
        for (unsigned i = 0; i < 1000; i++) {
            uint64_t handle;
            char *r = vg_handles_alloc(&table, 1, &handle);
            assert_int_equal((uintptr_t)r % (sizes[s] % 64 == 0 ? 64 : 16), 0);
            memset(r + sizeof(vg_handle_slot), 0xff, sizes[s] - sizeof(vg_handle_slot)); /* ours to the last byte */
            assert_int_equal(vg_handles_name(r), handle);
        }
        vg_handles_destroy(&table);
    }
}

static void a_table_of_four_thousand_million_takes_little_memory_up_front(void **state)
{
    (void)state;
    vg_handles table;
    assert_int_equal(vg_handles_init(&table, 1024, UINT32_MAX), 0);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t handle;
        assert_non_null(vg_handles_alloc(&table, 1, &handle));
    }
    unsigned chunks = 0;
    for (unsigned i = 0; i < VG_HANDLES_CHUNKS; i++)
        chunks += atomic_load(&table.chunks[i]) != NULL;
    unsigned needed = 1; /* 64 + 128 + 256 */
    while (VG_HANDLES_FIRST_CHUNK * ((1U << needed) - 1) < 200)
        needed++;
    assert_int_equal(chunks, needed);
    vg_handles_destroy(&table);
}

static void a_size_that_cannot_be_is_refused(void **state)
{
    (void)state;
    vg_handles table;
    assert_int_equal(vg_handles_init(&table, sizeof(vg_handle_slot) - 1, 10), -EINVAL);
    assert_int_equal(vg_handles_init(&table, sizeof(record), 0), -EINVAL);
    assert_int_equal(vg_handles_init(&table, SIZE_MAX, 10), -EINVAL);
    assert_int_equal(vg_handles_init(&table, PTRDIFF_MAX / 2, 10), -ENOMEM);
}

static void a_place_whose_generations_are_used_up_is_retired(void **state)
{
    (void)state;
    vg_handles table;
    assert_int_equal(vg_handles_init(&table, sizeof(record), 2), 0);
    uint64_t first;
    record *r = vg_handles_alloc(&table, 1, &first);
    assert_true(vg_handles_release(&table, r));
    /* as if it had been used four thousand million times */
    atomic_store(&r->slot.life, (uint64_t)(UINT32_MAX - 1) << 32);
    uint64_t handle;
    assert_ptr_equal(vg_handles_alloc(&table, 1, &handle), r);
    assert_int_equal(handle >> 32, UINT32_MAX - 1);
    assert_true(vg_handles_release(&table, r));
    uint64_t last;
    assert_ptr_equal(vg_handles_alloc(&table, 1, &last), r);
    assert_int_equal(last >> 32, UINT32_MAX);
    assert_ptr_equal(vg_handles_acquire(&table, last), r);
    assert_false(vg_handles_release(&table, r));
    assert_true(vg_handles_release(&table, r));
    assert_null(vg_handles_acquire(&table, last));
    assert_null(vg_handles_acquire(&table, first));
    record *other = vg_handles_alloc(&table, 1, &handle);
    assert_non_null(other);
    assert_true(other != r);
    assert_null(vg_handles_alloc(&table, 1, &handle)); /* two places, one worn out */
    vg_handles_destroy(&table);
}

static void a_count_that_is_full_does_not_run_over(void **state)
{
    (void)state;
    vg_handles table;
    assert_int_equal(vg_handles_init(&table, sizeof(record), 2), 0);
    uint64_t handle;
    record *r = vg_handles_alloc(&table, VG_HANDLE_NAMELESS - 2, &handle);
    assert_ptr_equal(vg_handles_acquire(&table, handle), r);
    assert_null(vg_handles_acquire(&table, handle));
    assert_int_equal(vg_handles_name(r), handle);
    assert_false(vg_handles_release(&table, r));
    assert_ptr_equal(vg_handles_acquire(&table, handle), r);
    vg_handles_destroy(&table);
}

/* ---- many threads --------------------------------------------------------------------------------------------------- */

enum {
    SHARED = 64
};

typedef struct crowd {
    vg_handles table;
    _Atomic uint64_t handles[SHARED]; /* given out by somebody; live or long stale */
    _Atomic uint64_t made;
    _Atomic uint64_t ended;
    _Atomic uint64_t found;
    _Atomic uint64_t stale;
} crowd;

typedef struct member {
    crowd *all;
    unsigned number;
    uint64_t rounds;
} member;

/* Make records, publish their handles, ask for each other's: a record that is found carries the name that it was found by for
   as long as it is held. */
static void *live_with_handles(void *arg)
{
    member *me = arg;
    crowd *all = me->all;
    uint64_t random = me->number + 1;
    uint64_t found = 0;
    uint64_t stale = 0;
    for (uint64_t i = 0; i < me->rounds; i++) {
        uint64_t handle;
        record *mine = vg_handles_alloc(&all->table, 1, &handle);
        if (mine != NULL) {
            atomic_fetch_add_explicit(&all->made, 1, memory_order_relaxed);
            mine->name = handle;
            mine->mark = ~handle;
            /* release: the record is filled in before its handle is seen; pairs with the load below */
            atomic_store_explicit(&all->handles[random_next(&random) % SHARED], handle, memory_order_release);
        }
        for (unsigned k = 0; k < 4; k++) {
            uint64_t wanted = atomic_load_explicit(&all->handles[random_next(&random) % SHARED], memory_order_acquire);
            record *other = vg_handles_acquire(&all->table, wanted);
            if (other == NULL) {
                stale++;
                continue;
            }
            found++;
            must(other->name == wanted && other->mark == ~wanted);
            if (i % 64 == 0)
                (void)sched_yield(); /* hold it for longer than its maker does */
            must(vg_handles_name(other) == wanted && other->name == wanted);
            if (vg_handles_release(&all->table, other))
                atomic_fetch_add_explicit(&all->ended, 1, memory_order_relaxed);
        }
        if (mine != NULL && vg_handles_release(&all->table, mine))
            atomic_fetch_add_explicit(&all->ended, 1, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&all->found, found, memory_order_relaxed);
    atomic_fetch_add_explicit(&all->stale, stale, memory_order_relaxed);
    return NULL;
}

static void threads_that_ask_for_each_others_records_get_the_right_one_or_none(void **state)
{
    (void)state;
    static crowd all;
    /* fewer places than threads could use at once, so that being full happens too */
    assert_int_equal(vg_handles_init(&all.table, sizeof(record), THREADS - 2), 0);
    member members[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        members[i] = (member){.all = &all, .number = i, .rounds = scaled(500000, 10000)};
    on_threads(THREADS, live_with_handles, members, sizeof members[0]);
    /* Every record ended once, and every place is free again. */
    assert_int_equal(atomic_load(&all.made), atomic_load(&all.ended));
    assert_true(atomic_load(&all.stale) > 0);
    assert_true(atomic_load(&all.found) > 0);
    for (unsigned i = 0; i < THREADS - 2; i++) {
        uint64_t handle;
        assert_non_null(vg_handles_alloc(&all.table, 1, &handle));
    }
    uint64_t handle;
    assert_null(vg_handles_alloc(&all.table, 1, &handle));
    vg_handles_destroy(&all.table);
}

typedef struct builder {
    vg_handles *table;
    pthread_barrier_t *start;
    uint64_t handles[1000];
} builder;

static void *build(void *arg)
{
    builder *me = arg;
    (void)pthread_barrier_wait(me->start);
    for (unsigned i = 0; i < count_of(me->handles); i++) {
        record *r = vg_handles_alloc(me->table, 1, &me->handles[i]);
        must(r != NULL);
        r->name = me->handles[i];
    }
    return NULL;
}

static void chunks_that_several_threads_need_at_once_are_made_once(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 10; round++) {
        vg_handles table;
        assert_int_equal(vg_handles_init(&table, sizeof(record), THREADS * 1000), 0);
        pthread_barrier_t start;
        assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
        static builder builders[THREADS];
        for (unsigned i = 0; i < THREADS; i++)
            builders[i] = (builder){.table = &table, .start = &start};
        on_threads(THREADS, build, builders, sizeof builders[0]);
        (void)pthread_barrier_destroy(&start);
        for (unsigned i = 0; i < THREADS; i++) {
            for (unsigned k = 0; k < 1000; k++) {
                record *r = vg_handles_acquire(&table, builders[i].handles[k]);
                assert_non_null(r);
                assert_int_equal(r->name, builders[i].handles[k]);
            }
        }
        uint64_t handle;
        assert_null(vg_handles_alloc(&table, 1, &handle)); /* exactly as many as asked for */
        vg_handles_destroy(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_finds_its_record_until_the_last_reference_goes),
        cmocka_unit_test(a_stale_handle_does_not_find_the_next_record_in_its_place),
        cmocka_unit_test(a_handle_that_was_given_back_is_stale_while_others_hold_the_record),
        cmocka_unit_test(slots_that_are_freed_in_a_batch_are_free_when_it_is_handed_over),
        cmocka_unit_test(numbers_that_were_never_handles_find_nothing),
        cmocka_unit_test(all_records_can_be_held_at_once_and_not_one_more),
        cmocka_unit_test(records_are_aligned_as_their_size_allows),
        cmocka_unit_test(a_table_of_four_thousand_million_takes_little_memory_up_front),
        cmocka_unit_test(a_size_that_cannot_be_is_refused),
        cmocka_unit_test(a_place_whose_generations_are_used_up_is_retired),
        cmocka_unit_test(a_count_that_is_full_does_not_run_over),
        cmocka_unit_test(threads_that_ask_for_each_others_records_get_the_right_one_or_none),
        cmocka_unit_test(chunks_that_several_threads_need_at_once_are_made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
