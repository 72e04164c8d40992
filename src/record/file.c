/* SPDX-License-Identifier: MIT */
/*
 * file.c - making the file, letting it grow, removing it.
 *
 * Every byte that is mapped has been allocated before (posix_fallocate): a page of a sparse file for which the disk has no room
 * would kill the process when it is touched. So "no space" is known here, where it is an error like any other.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "file.h"

#include "directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Allocate and map `bytes` at the end of the file. */
static int extend_file(int fd, uint64_t offset, size_t bytes, void **memory)
{
    struct rlimit limit;
    /* Beyond this limit the kernel sends a signal that kills. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && offset + bytes > limit.rlim_cur)
        return -EFBIG;
    int error;
    do
        error = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
    while (error == EINTR);
    if (error != 0)
        return -error;
    *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    return *memory == MAP_FAILED ? -errno : 0;
}

/* ---- what others have left behind -------------------------------------------------------------------------------- */

typedef struct dead_file {
    char name[16];
    struct timespec when;
} dead_file;

static int older_dead_first(const void *a, const void *b)
{
    const struct timespec *x = &((const dead_file *)a)->when;
    const struct timespec *y = &((const dead_file *)b)->when;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Is it the file of a process that is not there any more? */
static bool is_dead_file(int directory, const char *name, dead_file *found)
{
    char *end = NULL;
    errno = 0;
    const long pid = strtol(name, &end, 10);
    if (pid <= 0 || *end != '\0' || strlen(name) >= sizeof found->name || errno != 0)
        return false;
    if (kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return false;
    struct stat info;
    if (fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
        return false;
    (void)snprintf(found->name, sizeof found->name, "%.*s", (int)sizeof found->name - 1, name);
    found->when = info.st_mtim;
    return true;
}

/* A service that crashes again and again must not fill the disk: keep the newest few of the dead. */
static void tidy_dead_files(int directory)
{
    enum {
        MOST_DEAD_FILES = 1024
    };
    int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* fdopendir keeps what it is given */
    DIR *listing = copy >= 0 ? fdopendir(copy) : NULL;
    if (listing == NULL) {
        if (copy >= 0)
            (void)close(copy);
        return;
    }
    dead_file *found = malloc(MOST_DEAD_FILES * sizeof *found);
    size_t count = 0;
    const struct dirent *entry;
    while (found != NULL && count < MOST_DEAD_FILES && (entry = readdir(listing)) != NULL)
        count += is_dead_file(directory, entry->d_name, &found[count]);
    if (count > VG_DEAD_FILES_KEPT) {
        qsort(found, count, sizeof *found, older_dead_first);
        for (size_t i = 0; i < count - VG_DEAD_FILES_KEPT; i++)
            (void)unlinkat(directory, found[i].name, 0);
    }
    free(found);
    (void)closedir(listing);
}

/* ---- ours -------------------------------------------------------------------------------------------------------- */

static int make_file_in(vg_file *file, int directory, const char *name, size_t bytes, void **memory)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(directory, name, flags, 0600);
    if (fd < 0 && errno == EEXIST) { /* of an earlier process with our number, or of us before an exec */
        (void)unlinkat(directory, name, 0);
        fd = openat(directory, name, flags, 0600);
    }
    if (fd < 0)
        return -errno;
    struct stat info;
    int error = fstat(fd, &info) == 0 ? 0 : -errno;
    if (error == 0)
        error = extend_file(fd, 0, bytes, memory);
    if (error != 0)
        (void)unlinkat(directory, name, 0);
    (void)close(fd);
    if (error != 0)
        return error;
    file->device = info.st_dev;
    file->inode = info.st_ino;
    file->bytes = bytes;
    return 0;
}

int vg_file_make(vg_file *file, const char *directory, size_t bytes, void **memory)
{
    file->bytes = 0;
    int fd = vg_record_directory_open(directory, true);
    if (fd < 0)
        return fd;
    char name[16];
    (void)snprintf(name, sizeof name, "%ld", (long)getpid());
    int length = snprintf(file->path, sizeof file->path, "%s/%s", directory, name);
    int error = length < 0 || (size_t)length >= sizeof file->path ? -ENAMETOOLONG : 0;
    if (error == 0) {
        tidy_dead_files(fd);
        error = make_file_in(file, fd, name, bytes, memory);
    }
    (void)close(fd);
    return error;
}

static bool is_same_file(const vg_file *file, const struct stat *info)
{
    return S_ISREG(info->st_mode) && info->st_dev == file->device && info->st_ino == file->inode;
}

int vg_file_grow(vg_file *file, size_t bytes, void **memory)
{
    int fd = open(file->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    struct stat info;
    int error = fstat(fd, &info) == 0 ? 0 : -errno;
    if (error == 0 && !is_same_file(file, &info))
        error = -ESTALE; /* somebody has put another in its place */
    if (error == 0)
        error = extend_file(fd, file->bytes, bytes, memory);
    (void)close(fd);
    if (error == 0)
        file->bytes += bytes;
    return error;
}

void vg_file_remove(vg_file *file)
{
    struct stat info;
    if (file->bytes != 0 && lstat(file->path, &info) == 0 && is_same_file(file, &info))
        (void)unlink(file->path);
    file->bytes = 0;
}
