/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t vg_proc_read(char *to, size_t room, const char *format, ...)
{
    char path[256];
    va_list words;
    va_start(words, format);
    (void)vsnprintf(path, sizeof path, format, words);
    va_end(words);
    to[0] = '\0';
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    size_t length = 0;
    while (length + 1 < room) {
        const ssize_t got = read(fd, to + length, room - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && length == 0) {
            const int error = errno;
            (void)close(fd);
            return -error;
        }
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    (void)close(fd);
    to[length] = '\0';
    return (ssize_t)length;
}

ssize_t vg_proc_link(char *to, size_t room, const char *format, ...)
{
    char path[256];
    va_list words;
    va_start(words, format);
    (void)vsnprintf(path, sizeof path, format, words);
    va_end(words);
    const ssize_t length = readlink(path, to, room - 1);
    to[length > 0 ? length : 0] = '\0';
    return length < 0 ? -errno : length;
}

uint64_t vg_proc_field(const char *text, const char *name, int base, uint64_t otherwise)
{
    const size_t length = strlen(name);
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n'), line += line != NULL) {
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            return strtoull(line + length + 1, NULL, base);
    }
    return otherwise;
}

static int compare_numbers(const void *a, const void *b)
{
    const pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;
    return (left > right) - (left < right);
}

int vg_proc_numbers(pid_t **numbers, const char *format, ...)
{
    char path[256];
    va_list words;
    va_start(words, format);
    (void)vsnprintf(path, sizeof path, format, words);
    va_end(words);
    *numbers = NULL;
    DIR *directory = opendir(path);
    if (directory == NULL)
        return -errno;
    size_t count = 0, room = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char *end;
        const long number = strtol(entry->d_name, &end, 10);
        if (end == entry->d_name || *end != '\0' || number < 0)
            continue;
        if (count == room) {
            room = room == 0 ? 64 : room * 2;
            pid_t *more = realloc(*numbers, room * sizeof **numbers);
            if (more == NULL) {
                (void)closedir(directory);
                free(*numbers);
                *numbers = NULL;
                return -ENOMEM;
            }
            *numbers = more;
        }
        (*numbers)[count++] = (pid_t)number;
    }
    (void)closedir(directory);
    if (count > 0)
        qsort(*numbers, count, sizeof **numbers, compare_numbers);
    return (int)count;
}
