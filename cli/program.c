/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "say.h"

int program_become(const char *verb, const char *name, const char *missing, int count, char **words)
{
    static const char *const places[] = {"", "../libexec/vigil/"};
    char self[PATH_MAX], path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char **argv = calloc((size_t)count + 2, sizeof *argv);
    if (length < 0 || argv == NULL) {
        say_error("vigil %s: the program %s cannot be searched for: %m", verb, name);
        free(argv);
        return EXIT_FAILED;
    }
    self[length] = 0;
    *strrchr(self, '/') = 0;
    argv[0] = path;
    memcpy(argv + 1, words, (size_t)count * sizeof *argv);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s%s", self, places[i], name);
        execv(path, argv);
        if (errno != ENOENT)
            break;
    }
    if (errno == ENOENT)
        say_error("vigil %s: %s", verb, missing);
    else
        say_error("vigil %s: %s cannot be started: %m", verb, path);
    free(argv);
    return EXIT_FAILED;
}
