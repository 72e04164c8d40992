/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "doctor.h"
#include "say.h"

static bool has_ended(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return true;
    const char *end = fgets(text, sizeof text, file) != NULL ? strrchr(text, ')') : NULL;
    fclose(file);
    return end == NULL || end[1] == '\0' || end[2] == 'Z' || end[2] == 'X';
}

static bool reads_as(pid_t pid, const char *name)
{
    char path[64], text[256];
    if (has_ended(pid))
        return false;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    const bool got = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    if (got && strncmp(text, name, 15) == 0 && (strlen(name) >= 15 || strlen(text) == strlen(name)))
        return true;
    /* The file that it runs may have a longer name. */
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    const ssize_t length = readlink(path, text, sizeof text - 1);
    if (length <= 0)
        return false;
    text[length] = '\0';
    const char *slash = strrchr(text, '/');
    return slash != NULL && strcmp(slash + 1, name) == 0;
}

static int find_by_name(const char *name, pid_t *pid)
{
    DIR *directory = opendir("/proc");
    if (directory == NULL) {
        say_error("doctor: /proc cannot be read: %s", strerror(errno));
        return EXIT_FAILED;
    }
    pid_t found[16];
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        const pid_t one = (pid_t)strtol(entry->d_name, NULL, 10);
        if (one > 0 && one != getpid() && reads_as(one, name)) {
            if (count < 16)
                found[count] = one;
            count++;
        }
    }
    closedir(directory);
    if (count == 0) {
        say_error("doctor: there is no process and no file called '%s'", name);
        return EXIT_FAILED;
    }
    if (count > 1) {
        say_error("doctor: %u processes are called '%s'; name one by its number:", count, name);
        for (unsigned i = 0; i < count && i < 16; i++)
            fprintf(stderr, "  vigil doctor %d\n", (int)found[i]);
        return EXIT_FAILED;
    }
    *pid = found[0];
    return 0;
}

int doctor_find(const char *operand, pid_t *pid)
{
    char *end;
    errno = 0;
    const long number = strtol(operand, &end, 10);
    if (isdigit((unsigned char)operand[0]) && *end == '\0') {
        if (errno != 0 || number <= 0 || number > 1 << 22) {
            say_error("doctor: '%s' is no number of a process", operand);
            return EXIT_FAILED;
        }
        *pid = (pid_t)number;
        return 0;
    }
    struct stat status;
    if (stat(operand, &status) == 0) {
        if (!S_ISREG(status.st_mode)) {
            say_error("doctor: '%s' is no core file", operand);
            return EXIT_FAILED;
        }
        *pid = 0;
        return 0;
    }
    if (strchr(operand, '/') != NULL) {
        say_error("doctor: %s: %s", operand, strerror(errno));
        return EXIT_FAILED;
    }
    return find_by_name(operand, pid);
}
