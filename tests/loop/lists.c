/* SPDX-License-Identifier: MIT */
/* What a loop keeps in lists: an entry in the middle or at the end goes, and the others stay reachable. */
#include "loop_test.h"

#include "loop/fds.h"
#include "loop/struct.h"

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

static void a_number_behind_a_missing_page_is_found(void **state)
{
    (void)state;
    vg_fds fds = {0};
    const int far = 3 * VG_FDS_PAGE; /* the first of its page; the pages before it are missing */
    vg_fd *made = vg_fds_make(&fds, far);
    must(made != NULL);
    made->in_poller = true;
    int fd = 5;
    must(vg_fds_next(&fds, &fd) == made);
    must_equal(fd, far);
    fd = far + 1;
    must(vg_fds_next(&fds, &fd) == NULL);
    vg_fds_destroy(&fds);
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

static void a_hook_that_goes_behind_a_living_one_leaves_its_slot(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_hook_calls calls = {.size = sizeof calls};
    vigil_hook first, second;
    must_equal(vigil_hook_add(loop, &calls, NULL, &first), 0);
    must_equal(vigil_hook_add(loop, &calls, NULL, &second), 0);
    must_equal(loop->hook_slots.live, 2);
    must_equal(vigil_hook_remove(loop, second), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_equal(loop->hook_slots.live, 1);
    must_equal(vigil_hook_remove(loop, first), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- callbacks for the end --------------------------------------------------------------------------------------- */

static vigil_at_end at[3];
static int ended[3]; /* how often each was called */

static void note_end(vigil_at_end *it)
{
    ended[it - at]++;
}

static void a_callback_that_comes_after_the_last_was_removed_hides_none(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    for (int i = 0; i < 3; i++)
        vigil_at_end_init(&at[i], note_end);
    must_equal(vigil_loop_at_end_add(loop, &at[0]), 0);
    must_equal(vigil_loop_at_end_add(loop, &at[1]), 0);
    must_equal(vigil_loop_at_end_remove(loop, &at[1]), 0);
    must_equal(vigil_loop_at_end_add(loop, &at[2]), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    must_equal(ended[0], 1);
    must_equal(ended[1], 0);
    must_equal(ended[2], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_number_behind_a_missing_page_is_found),
        test(a_hook_that_goes_behind_a_living_one_leaves_its_slot),
        test(a_callback_that_comes_after_the_last_was_removed_hides_none),
    };
    return run_all(tests);
}
