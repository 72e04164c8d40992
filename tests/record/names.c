/* SPDX-License-Identifier: MIT */
/* Names of functions: each has one place, however often it is named, and what is read is its last name. */
#include "watch_test.h"

static void name_it(unsigned number, const char *word, int expected)
{
    char name[64];
    snprintf(name, sizeof name, "%s %u", word, number);
    must_equal(vigil_record_name((void (*)(void))(uintptr_t)(4096 + number), name), expected);
}

static void must_be_called(vg_reader *reader, unsigned number, const char *word)
{
    char name[64], seen[64];
    snprintf(name, sizeof name, "%s %u", word, number);
    vg_reader_name(reader, 4096 + number, seen, sizeof seen);
    if (strcmp(seen, name) != 0) {
        fprintf(stderr, "\"%s\" is not \"%s\"\n", seen, name);
        support_fail("the name", __FILE__, __LINE__);
    }
}

static void a_function_that_is_named_again_needs_no_second_place(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    for (unsigned i = 0; i < VG_FILE_NAMES; i++) {
        name_it(i, "first", 0);
        name_it(i, "second", 0); /* the newest */
        name_it(0, "third", 0);  /* the oldest */
    }
    name_it(VG_FILE_NAMES, "none", -ENOSPC);
    name_it(VG_FILE_NAMES - 1, "third", 0);
    vg_reader *reader = NULL;
    must_equal(vg_reader_open_pid(&reader, getpid()), 0);
    vg_snapshot *seen = NULL;
    must_equal(vg_reader_snapshot(reader, &seen), 0);
    must_be_called(reader, 0, "third");
    for (unsigned i = 1; i < VG_FILE_NAMES - 1; i++)
        must_be_called(reader, i, "second");
    must_be_called(reader, VG_FILE_NAMES - 1, "third");
    vg_snapshot_free(seen);
    vg_reader_close(reader);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        watch_test(a_function_that_is_named_again_needs_no_second_place),
    };
    return run_all(tests);
}
