/* SPDX-License-Identifier: MIT */
/*
 * directory.c - /dev/shm comes before /tmp, because a thread that touches a page of a disk file may wait for its
 * writeback. In both anybody may have taken our name. So the directory is opened without following links, and used
 * only if it belongs to the user alone; else the detours are tried.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int path_fits(size_t room, int length)
{
    return length < 0 || (size_t)length >= room ? -ENAMETOOLONG : 0;
}

static const char *directory_by_environment(const char *name)
{
    const char *value = secure_getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

bool vg_record_directory_chosen(const char *chosen)
{
    return chosen[0] != '\0' || directory_by_environment("VIGIL_DIR") != NULL;
}

int vg_record_directory_at(const char *chosen, unsigned index, char *path, size_t room)
{
    static const char *const shared[] = {"/dev/shm", "/tmp"};
    if (vg_record_directory_chosen(chosen)) {
        const char *named = chosen[0] != '\0' ? chosen : directory_by_environment("VIGIL_DIR");
        return index != 0 ? -ENOENT : path_fits(room, snprintf(path, room, "%s", named));
    }
    const char *runtime = directory_by_environment("XDG_RUNTIME_DIR");
    if (runtime != NULL && runtime[0] == '/') {
        if (index == 0)
            return path_fits(room, snprintf(path, room, "%s/vigil", runtime));
        index--;
    }
    const unsigned detour = index / 2;
    if (detour > VG_DIRECTORY_DETOURS)
        return -ENOENT;
    const unsigned long user = geteuid();
    if (detour == 0)
        return path_fits(room, snprintf(path, room, "%s/vigil-%lu", shared[index % 2], user));
    return path_fits(room, snprintf(path, room, "%s/vigil-%lu.%u", shared[index % 2], user, detour));
}

int vg_record_directory(char *path, size_t room)
{
    int error;
    for (unsigned i = 0; (error = vg_record_directory_at("", i, path, room)) == 0; i++) {
        int fd = vg_record_directory_open(path, false);
        if (fd >= 0) {
            (void)close(fd);
            return 0;
        }
    }
    return error == -ENOENT ? vg_record_directory_at("", 0, path, room) : error;
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

void vg_record_name(char *name, size_t room, uint64_t pid, uint64_t nonce)
{
    (void)snprintf(name, room, "%llu-%016llx", (unsigned long long)pid, (unsigned long long)nonce);
}

bool vg_record_name_parse(const char *name, uint64_t *pid)
{
    char again[VG_RECORD_NAME_ROOM];
    char *end = NULL;
    errno = 0;
    *pid = strtoull(name, &end, 10);
    if (*pid == 0 || errno != 0 || *end != '-')
        return false;
    const uint64_t nonce = strtoull(end + 1, NULL, 16);
    vg_record_name(again, sizeof again, *pid, nonce);
    return errno == 0 && strcmp(again, name) == 0; /* exactly as we write it */
}

bool vg_file_is_locked(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

uint64_t vg_pid_namespace(void)
{
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? (uint64_t)info.st_ino : 0;
}
