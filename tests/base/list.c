/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include "base/list.h"

typedef struct item {
    int number;
    vg_list_link link;
} item;

static item *item_of(vg_list_link *link)
{
    return vg_list_entry(link, item, link);
}

/* The list's numbers as digits, read forwards; also checks that backwards says the same. */
static long digits(const vg_list *list)
{
    long forwards = 0;
    long power = 1;
    long backwards = 0;
    vg_list_each (link, list)
        forwards = forwards * 10 + item_of(link)->number;
    for (const vg_list_link *link = list->head.previous; link != &list->head; link = link->previous, power *= 10)
        backwards += power * vg_container_of(link, item, link)->number;
    assert_int_equal(forwards, backwards);
    return forwards;
}

static void an_empty_list_has_no_first_and_no_last(void **state)
{
    (void)state;
    vg_list list = VG_LIST_INIT(list);
    assert_true(vg_list_empty(&list));
    assert_null(vg_list_first(&list));
    assert_null(vg_list_last(&list));
    assert_null(vg_list_pop_front(&list));
    vg_list_init(&list);
    assert_true(vg_list_empty(&list));
}

static void elements_keep_their_order_at_both_ends_and_in_the_middle(void **state)
{
    (void)state;
    vg_list list;
    vg_list_init(&list);
    item items[6];
    for (int i = 0; i < 6; i++)
        items[i].number = i;
    vg_list_push_back(&list, &items[2].link);
    vg_list_push_back(&list, &items[4].link);
    vg_list_push_front(&list, &items[1].link);
    vg_list_insert_after(&items[2].link, &items[3].link);
    vg_list_push_back(&list, &items[5].link);
    assert_int_equal(digits(&list), 12345);
    assert_ptr_equal(item_of(vg_list_first(&list)), &items[1]);
    assert_ptr_equal(item_of(vg_list_last(&list)), &items[5]);
    assert_ptr_equal(vg_list_next(&list, &items[3].link), &items[4].link);
    assert_null(vg_list_next(&list, &items[5].link));

    vg_list_remove(&items[3].link); /* the middle */
    assert_int_equal(digits(&list), 1245);
    vg_list_remove(&items[5].link); /* the last */
    assert_int_equal(digits(&list), 124);
    assert_ptr_equal(vg_list_pop_front(&list), &items[1].link);
    assert_false(vg_list_linked(&items[1].link));
    assert_int_equal(digits(&list), 24);
}

static void a_link_knows_whether_it_is_in_a_list_and_may_be_removed_twice(void **state)
{
    (void)state;
    vg_list list;
    vg_list_init(&list);
    item one = {.number = 1};
    vg_list_link_init(&one.link);
    assert_false(vg_list_linked(&one.link));
    vg_list_push_back(&list, &one.link);
    assert_true(vg_list_linked(&one.link));
    vg_list_remove_init(&one.link);
    vg_list_remove_init(&one.link);
    assert_false(vg_list_linked(&one.link));
    assert_true(vg_list_empty(&list));
}

static void a_safe_walk_survives_the_removal_of_its_own_element(void **state)
{
    (void)state;
    vg_list list;
    vg_list_init(&list);
    item items[5];
    for (int i = 0; i < 5; i++) {
        items[i].number = i + 1;
        vg_list_push_back(&list, &items[i].link);
    }
    vg_list_each_safe (link, after, &list) {
        if (item_of(link)->number % 2 == 1) {
            vg_list_remove(link);
            memset(link, 0x5a, sizeof *link);
        }
    }
    assert_int_equal(digits(&list), 24);
}

static void a_splice_moves_all_and_leaves_the_other_empty(void **state)
{
    (void)state;
    vg_list list;
    vg_list other;
    vg_list_init(&list);
    vg_list_init(&other);
    item items[4];
    for (int i = 0; i < 4; i++) {
        items[i].number = i + 1;
        vg_list_push_back(i < 2 ? &list : &other, &items[i].link);
    }
    vg_list_splice_back(&list, &other);
    assert_int_equal(digits(&list), 1234);
    assert_true(vg_list_empty(&other));
    vg_list_splice_back(&list, &other); /* nothing */
    assert_int_equal(digits(&list), 1234);
    vg_list_splice_back(&other, &list); /* into an empty one */
    assert_int_equal(digits(&other), 1234);
    assert_true(vg_list_empty(&list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_list_has_no_first_and_no_last),
        cmocka_unit_test(elements_keep_their_order_at_both_ends_and_in_the_middle),
        cmocka_unit_test(a_link_knows_whether_it_is_in_a_list_and_may_be_removed_twice),
        cmocka_unit_test(a_safe_walk_survives_the_removal_of_its_own_element),
        cmocka_unit_test(a_splice_moves_all_and_leaves_the_other_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
