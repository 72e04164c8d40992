/* SPDX-License-Identifier: MIT */
/*
 * directory.c - where recorder files are, and whether the place can be trusted.
 *
 * Memory is a better place than a disk: pages of a file on a disk are written out again and again, and a thread that touches
 * one meanwhile waits for the disk. So /dev/shm comes before /tmp.
 *
 * In both anybody may have made our directory before us, or a link with its name. So it is opened without following links, and
 * used only if it belongs to the user and nobody else may write to it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int path_fits(size_t room, int length)
{
    return length < 0 || (size_t)length >= room ? -ENAMETOOLONG : 0;
}

int vg_record_directory_for(const char *chosen, char *path, size_t room)
{
    if (chosen[0] != '\0')
        return path_fits(room, snprintf(path, room, "%s", chosen));
    const char *named = secure_getenv("VIGIL_DIR");
    if (named != NULL && named[0] != '\0')
        return path_fits(room, snprintf(path, room, "%s", named));
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    if (runtime != NULL && runtime[0] == '/')
        return path_fits(room, snprintf(path, room, "%s/vigil", runtime));
    const char *base = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    return path_fits(room, snprintf(path, room, "%s/vigil-%lu", base, (unsigned long)geteuid()));
}

int vg_record_directory(char *path, size_t room)
{
    return vg_record_directory_for("", path, room);
}

int vg_record_directory_open(const char *path, bool make)
{
    if (make && mkdir(path, 0700) != 0 && errno != EEXIST)
        return -errno;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;
    struct stat info;
    int error = fstat(fd, &info) == 0 ? 0 : -errno;
    if (error == 0 && (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0))
        error = -EPERM;
    if (error == 0)
        return fd;
    (void)close(fd);
    return error;
}
