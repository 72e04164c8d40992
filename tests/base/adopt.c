/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/adopt.h"

static void the_first_one_sets_up_and_nobody_after_it(void **state)
{
    (void)state;
    _Atomic uint32_t owner = 0;
    uint32_t before = 1;
    assert_true(vg_adopt_begin(&owner, &before));
    assert_int_equal(before, 0);
    vg_adopt_end(&owner);
    assert_false(vg_adopt_begin(&owner, &before));
}

/* Whether a child sets up; 2 if it did not come to an answer. */
static int in_a_child(_Atomic uint32_t *owner)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint32_t before = 0;
        (void)alarm(20); /* a child that waits for its parent's thread waits for ever */
        if (!vg_adopt_begin(owner, &before))
            _exit(0);
        vg_adopt_end(owner);
        _exit(before != 0 && !vg_adopt_begin(owner, &before) ? 1 : 2);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static void a_child_begins_again(void **state)
{
    (void)state;
    _Atomic uint32_t owner = 0;
    uint32_t before;
    assert_true(vg_adopt_begin(&owner, &before));
    vg_adopt_end(&owner);
    assert_int_equal(in_a_child(&owner), 1);
    assert_false(vg_adopt_begin(&owner, &before));
}

static void a_child_does_not_wait_for_what_its_parent_was_at(void **state)
{
    (void)state;
    _Atomic uint32_t owner = 0;
    uint32_t before;
    assert_true(vg_adopt_begin(&owner, &before));
    assert_int_equal(in_a_child(&owner), 1);
    vg_adopt_end(&owner);
}

enum {
    THREADS = 4,
    SHELVES = 500
};

typedef struct shelf {
    _Atomic uint32_t owner;
    unsigned made; /* plain: adopting alone orders it */
} shelf;

static void *use(void *arg)
{
    shelf *all = *(shelf **)arg;
    for (unsigned i = 0; i < SHELVES; i++) {
        uint32_t before;
        if (vg_adopt_begin(&all[i].owner, &before)) {
            all[i].made++;
            vg_adopt_end(&all[i].owner);
        }
        must(all[i].made == 1);
    }
    return NULL;
}

static void of_several_threads_one_sets_up_and_the_others_see_it(void **state)
{
    (void)state;
    static shelf all[SHELVES];
    shelf *args[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        args[i] = all;
    on_threads(THREADS, use, args, sizeof args[0]);
}

static void no_process_has_the_number_of_an_ancestor(void **state)
{
    (void)state;
    const uint32_t first = vg_lineage();
    assert_int_equal(vg_lineage(), first);
    assert_true(first != 0 && (first & VG_ADOPTING) == 0);
    for (int siblings = 0; siblings < 3; siblings++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            const uint32_t second = vg_lineage();
            pid_t grandchild = fork();
            if (grandchild == 0)
                _exit(vg_lineage() != first && vg_lineage() != second ? 0 : 1);
            int status = 1;
            _exit(grandchild > 0 && waitpid(grandchild, &status, 0) == grandchild && status == 0 && second != first
                      ? 0
                      : 1);
        }
        int status = 1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(vg_lineage(), first);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_one_sets_up_and_nobody_after_it),
        cmocka_unit_test(a_child_begins_again),
        cmocka_unit_test(a_child_does_not_wait_for_what_its_parent_was_at),
        cmocka_unit_test(no_process_has_the_number_of_an_ancestor),
        cmocka_unit_test(of_several_threads_one_sets_up_and_the_others_see_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
