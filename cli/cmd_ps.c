/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/directory.h"
#include "command.h"
#include "processes.h"
#include "say.h"

static int ps(int count, char **operands)
{
    (void)count, (void)operands;
    vg_process *all;
    int found = processes_list_all(&all);
    if (found < 0) {
        say_error("ps: the records could not be listed: %s", strerror(-found));
        return EXIT_FAILED;
    }
    char directory[4096];
    if (found > 0)
        processes_print(stdout, all, found);
    else if (vg_record_directory(directory, sizeof directory) == 0)
        printf("No process of this user has Vigil inside (looked in %s). `vigil demo` starts one.\n", directory);
    free(all);
    return EXIT_FINE;
}

const struct command command_ps = {
    .name = "ps",
    .operands = "",
    .summary = "list the processes that can be looked at, also dead ones",
    .text = "Lists the processes of this user, for root those of all users, that have Vigil inside and their recorder "
            "on. A\n"
            "process that was killed or crashed leaves its record behind: it is listed as dead, with the path of that "
            "file,\n"
            "until somebody removes it.",
    .examples = "  vigil ps\n"
                "  VIGIL_DIR=/run/game vigil ps    look in another directory",
    .run = ps,
};
