/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include "base/heap.h"

/* The plain reference: an unsorted array that is searched through. */
typedef struct model {
    vg_heap_entry *entries;
    size_t size;
} model;

static size_t model_first(const model *m)
{
    size_t first = 0;
    for (size_t i = 1; i < m->size; i++) {
        const vg_heap_entry *a = &m->entries[i];
        const vg_heap_entry *b = &m->entries[first];
        /* said differently from the heap on purpose: the distance from b to a, in the upper half of the circle */
        if (a->key < b->key || (a->key == b->key && a->seq - b->seq >= 0x80000000U))
            first = i;
    }
    return first;
}

static vg_heap_entry model_pop(model *m)
{
    size_t first = model_first(m);
    vg_heap_entry entry = m->entries[first];
    m->entries[first] = m->entries[--m->size];
    return entry;
}

static bool same(vg_heap_entry a, vg_heap_entry b)
{
    return a.key == b.key && a.seq == b.seq && a.slot == b.slot;
}

static bool slot_divides_by(const vg_heap_entry *entry, void *arg)
{
    return entry->slot % *(uint32_t *)arg == 0;
}

static size_t model_filter(model *m, uint32_t divisor)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->size; i++) {
        if (!slot_divides_by(&m->entries[i], &divisor))
            m->entries[kept++] = m->entries[i];
    }
    size_t dropped = m->size - kept;
    m->size = kept;
    return dropped;
}

static void random_operations_agree_with_a_plain_search(void **state)
{
    (void)state;
    enum {
        MOST = 700
    };
    vg_heap heap;
    vg_heap_init(&heap);
    model m = {.entries = calloc(MOST, sizeof(vg_heap_entry)), .size = 0};
    uint64_t random = 42;
    uint32_t seq = UINT32_MAX - 30000; /* wraps around in the middle of the run */
    uint64_t operations = scaled(100000, 20000);
    uint64_t fullest = 0;
    for (uint64_t i = 0; i < operations; i++) {
        uint64_t dice = random_next(&random) >> 33;
        bool growing = i / 2000 % 2 == 0;
        vg_heap_entry entry = {.key = dice % 97, .seq = seq, .slot = (uint32_t)i};
        unsigned action = (unsigned)(dice / 97 % 16);
        if (action < (growing ? 9U : 5U) && m.size < MOST) {
            seq++;
            assert_int_equal(vg_heap_push(&heap, entry), 0);
            m.entries[m.size++] = entry;
        } else if (action < 12) {
            if (m.size == 0) {
                assert_null(vg_heap_peek(&heap));
            } else {
                vg_heap_entry wanted = model_pop(&m);
                assert_true(same(*vg_heap_peek(&heap), wanted));
                assert_true(same(vg_heap_pop(&heap), wanted));
            }
        } else if (m.size > 0) {
            seq++;
            m.entries[model_first(&m)] = entry;
            vg_heap_replace_top(&heap, entry);
        }
        if (i % 1500 == 1499) {
            uint32_t divisor = (uint32_t)(2 + dice % 5);
            size_t dropped = model_filter(&m, divisor);
            assert_int_equal(vg_heap_filter(&heap, slot_divides_by, &divisor), dropped);
        }
        assert_int_equal(vg_heap_size(&heap), m.size);
        fullest = m.size > fullest ? m.size : fullest;
    }
    assert_true(fullest > 256); /* five levels: the walk was not over small heaps alone */
    while (m.size > 0)
        assert_true(same(vg_heap_pop(&heap), model_pop(&m)));
    assert_null(vg_heap_peek(&heap));
    vg_heap_destroy(&heap);
    free(m.entries);
}

static void equal_keys_come_out_in_the_order_of_their_numbers_across_the_wrap(void **state)
{
    (void)state;
    vg_heap heap;
    vg_heap_init(&heap);
    uint32_t seq = UINT32_MAX - 499;
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(vg_heap_push(&heap, (vg_heap_entry){.key = 7, .seq = seq++, .slot = i}), 0);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(vg_heap_pop(&heap).slot, i);
    vg_heap_destroy(&heap);
}

static void children_of_one_node_share_a_cache_line(void **state)
{
    (void)state;
    vg_heap heap;
    vg_heap_init(&heap);
    assert_int_equal(vg_heap_reserve(&heap, 5000), 0);
    for (size_t p = VG_HEAP_ROOT; p < 1000; p++) {
        size_t first = 4 * p - 8;
        assert_int_equal((uintptr_t)&heap.at[first] % 64, 0);
        for (size_t c = first; c < first + 4; c++)
            assert_int_equal(c / 4 + 2, p);
    }
    vg_heap_destroy(&heap);
}

static void after_a_reserve_pushes_do_not_move_the_array(void **state)
{
    (void)state;
    vg_heap heap;
    vg_heap_init(&heap);
    assert_int_equal(vg_heap_push(&heap, (vg_heap_entry){.key = 1}), 0);
    assert_int_equal(vg_heap_reserve(&heap, 3000), 0);
    assert_int_equal(vg_heap_peek(&heap)->key, 1);
    const vg_heap_entry *array = heap.at;
    while (vg_heap_size(&heap) < 3000)
        assert_int_equal(vg_heap_push(&heap, (vg_heap_entry){.key = 5000 - vg_heap_size(&heap)}), 0);
    assert_ptr_equal(heap.at, array);
    vg_heap_destroy(&heap);
}

static void a_size_that_cannot_be_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    vg_heap heap;
    vg_heap_init(&heap);
    assert_int_equal(vg_heap_push(&heap, (vg_heap_entry){.key = 3, .slot = 4}), 0);
    assert_int_equal(vg_heap_reserve(&heap, SIZE_MAX), -ENOMEM);
    assert_int_equal(vg_heap_reserve(&heap, SIZE_MAX / sizeof(vg_heap_entry)), -ENOMEM);
    assert_int_equal(vg_heap_size(&heap), 1);
    assert_int_equal(vg_heap_pop(&heap).slot, 4);
    vg_heap_destroy(&heap);
}

static bool everything(const vg_heap_entry *entry, void *arg)
{
    (void)entry;
    ++*(int *)arg;
    return true;
}

static void a_filter_may_drop_all_or_meet_an_empty_heap(void **state)
{
    (void)state;
    vg_heap heap;
    vg_heap_init(&heap);
    int asked = 0;
    assert_int_equal(vg_heap_filter(&heap, everything, &asked), 0);
    assert_int_equal(asked, 0);
    for (uint32_t i = 0; i < 50; i++)
        assert_int_equal(vg_heap_push(&heap, (vg_heap_entry){.key = i}), 0);
    assert_int_equal(vg_heap_filter(&heap, everything, &asked), 50);
    assert_int_equal(asked, 50);
    assert_null(vg_heap_peek(&heap));
    vg_heap_destroy(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_agree_with_a_plain_search),
        cmocka_unit_test(equal_keys_come_out_in_the_order_of_their_numbers_across_the_wrap),
        cmocka_unit_test(children_of_one_node_share_a_cache_line),
        cmocka_unit_test(after_a_reserve_pushes_do_not_move_the_array),
        cmocka_unit_test(a_size_that_cannot_be_is_refused_and_changes_nothing),
        cmocka_unit_test(a_filter_may_drop_all_or_meet_an_empty_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
