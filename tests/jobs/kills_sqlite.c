/* SPDX-License-Identifier: MIT */
/* The killing harness on SQLite. */
#include "kills.h"

static bool cut_somebody_off(unsigned dice)
{
    (void)dice;
    return false; /* a file cannot be cut off */
}

static void the_account_is_exact(void **state)
{
    (void)state;
    char folder[] = "/tmp/vigil-kills-XXXXXX", where[64], command[64];
    must(mkdtemp(folder) != NULL);
    (void)snprintf(where, sizeof where, "%s/work.db", folder);
    the_account_is_exact_whoever_dies(where, scaled(2000, 20));
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    must_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_account_is_exact)}; /* the helpers' watchdog is a thread: no fork beside it */
    return run_all(tests);
}
