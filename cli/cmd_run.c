/* SPDX-License-Identifier: MIT */
/*
 * vigil run: JavaScript on Vigil's loop and pool.
 *
 * The JavaScript engine is a library of thirty megabytes that no other verb needs, so this one is a program of its own,
 * vigil-js, which lies beside this one or in libexec; here it is only found and started.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "say.h"

static int run(int count, char **words)
{
    static const char *const places[] = {"vigil-js", "../libexec/vigil/vigil-js"};
    char self[PATH_MAX], path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char **argv = calloc((size_t)count + 2, sizeof *argv);
    if (length < 0 || argv == NULL) {
        say_error("vigil run: the program vigil-js cannot be looked for: %m");
        free(argv);
        return EXIT_FAILED;
    }
    self[length] = 0;
    *strrchr(self, '/') = 0;
    argv[0] = path;
    memcpy(argv + 1, words, (size_t)count * sizeof *argv);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s", self, places[i]);
        execv(path, argv);
        if (errno != ENOENT)
            break;
    }
    if (errno == ENOENT)
        say_error("vigil run: this build has no JavaScript host; run scripts/setup js and build again");
    else
        say_error("vigil run: %s cannot be started: %m", path);
    free(argv);
    return EXIT_FAILED;
}

const struct command command_run_js = {
    .name = "run",
    .operands = "FILE [ARGUMENT]...",
    .summary = "run JavaScript on Vigil's loop and pool",
    .text = "Runs a program as Node 20 would: CommonJS and ES modules, timers, promises, files. Blocking work "
            "goes to the\n"
            "pool. `vigil run --help` lists the options.",
    .examples = "  vigil run server.js           a file\n"
                "  vigil run -e 'console.log(1)'  a text\n"
                "  vigil run -                    what comes from standard input",
    .raw = run,
};
