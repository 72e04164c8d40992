/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/forkguard.h"

/* What `forked` says in a child, and in a child of the child: 0 no and no, 1 child only, 2 grandchild only, 3 both. */
static int in_descendants(const vg_forkguard *guard)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int answer = vg_forked(guard) ? 1 : 0;
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(vg_forked(guard) ? 2 : 0);
        int status = 0;
        if (grandchild < 0 || waitpid(grandchild, &status, 0) != grandchild || !WIFEXITED(status))
            _exit(99);
        _exit(answer | WEXITSTATUS(status));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void children_know_that_they_are_children(void **state)
{
    (void)state;
    vg_forkguard guard;
    assert_int_equal(vg_forkguard_init(&guard), 0);
    assert_false(vg_forked(&guard));
    assert_int_equal(in_descendants(&guard), 3);
    assert_false(vg_forked(&guard));
    vg_forkguard_destroy(&guard);
}

static void a_guard_made_in_the_child_belongs_to_the_child(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        vg_forkguard guard;
        _exit(vg_forkguard_init(&guard) == 0 && !vg_forked(&guard) ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void without_a_wiped_page_process_ids_tell(void **state)
{
    (void)state;
    static const uint32_t never_written = 0;
    vg_forkguard guard = {.page = &never_written, .pid = getpid()};
    assert_false(vg_forked(&guard));
    assert_int_equal(in_descendants(&guard), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_know_that_they_are_children),
        cmocka_unit_test(a_guard_made_in_the_child_belongs_to_the_child),
        cmocka_unit_test(without_a_wiped_page_process_ids_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
