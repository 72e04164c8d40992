/* SPDX-License-Identifier: MIT */
/*
 * file.c - making the file, growing and removing it.
 *
 * Every mapped byte is allocated before (posix_fallocate): touching a page for which the disk has no room would kill
 * the process.
 *
 * Life. The file description has a lock (F_OFD_SETLK). The mapping keeps the description, and so the lock, after the
 * descriptor is closed; the kernel drops both at munmap, exec or exit. The magic is written under the lock: a file
 * with the magic and without the lock is dead, in every PID namespace.
 *
 * Rejected: kill(pid, 0), which means the caller's namespace; flock, which a reader can test only by taking it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "file.h"

#include "directory.h"
#include "format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Allocate and map `bytes` at the end of the file. */
static int extend_file(int fd, uint64_t offset, size_t bytes, void **memory)
{
    struct rlimit limit;
    /* Beyond it the kernel sends a deadly signal. */
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
    char name[VG_RECORD_NAME_ROOM];
    struct timespec when;
    bool ours; /* an earlier process with our pid here, or us before an exec */
} dead_file;

static int older_dead_first(const void *a, const void *b)
{
    const struct timespec *x = &((const dead_file *)a)->when;
    const struct timespec *y = &((const dead_file *)b)->when;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Has its process ended? A file in the making has no magic yet. */
static bool has_ended(int fd, const struct stat *info, vg_file_header *header)
{
    enum {
        LONG_AGO = 60 /* seconds: nobody takes that long to make a file */
    };
    if (vg_file_is_locked(fd))
        return false;
    const ssize_t got = pread(fd, header, sizeof *header, 0);
    /* relaxed: a dead file has no writer */
    if (got == (ssize_t)sizeof *header && atomic_load_explicit(&header->magic, memory_order_relaxed) == VG_FILE_MAGIC)
        return header->version == VG_FILE_VERSION && header->locked != 0 && !vg_file_is_locked(fd);
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - info->st_mtim.tv_sec > LONG_AGO;
}

static bool is_dead_file(int directory, const char *name, uint64_t namespace, dead_file *found)
{
    uint64_t pid;
    if (strlen(name) >= sizeof found->name || !vg_record_name_parse(name, &pid))
        return false;
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    struct stat info;
    vg_file_header *header = calloc(1, sizeof *header);
    const bool dead = header != NULL && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && has_ended(fd, &info, header);
    if (dead) {
        (void)snprintf(found->name, sizeof found->name, "%.*s", (int)sizeof found->name - 1, name);
        found->when = info.st_mtim;
        found->ours = namespace != 0 && header->pid_namespace == namespace && header->pid == (uint64_t)getpid();
    }
    free(header);
    (void)close(fd);
    return dead;
}

/* Crashes must not fill the disk: keep the newest few of the dead. */
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
    const uint64_t namespace = vg_pid_namespace();
    while (found != NULL && count < MOST_DEAD_FILES && (entry = readdir(listing)) != NULL) {
        if (!is_dead_file(directory, entry->d_name, namespace, &found[count]))
            continue;
        if (found[count].ours)
            (void)unlinkat(directory, found[count].name, 0);
        else
            count++;
    }
    if (count > VG_DEAD_FILES_KEPT) {
        qsort(found, count, sizeof *found, older_dead_first);
        for (size_t i = 0; i < count - VG_DEAD_FILES_KEPT; i++)
            (void)unlinkat(directory, found[i].name, 0);
    }
    free(found);
    (void)closedir(listing);
}

/* ---- ours -------------------------------------------------------------------------------------------------------- */

/* Any number will do: the file must not exist. */
static uint64_t random_nonce(void)
{
    uint64_t nonce;
    if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) == (ssize_t)sizeof nonce)
        return nonce;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)&nonce;
}

static int make_file_in(vg_file *file, int directory, const char *name, size_t bytes, void **memory)
{
    int fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    struct stat info;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int error = fstat(fd, &info) == 0 ? 0 : -errno;
    file->locked = fcntl(fd, F_OFD_SETLK, &lock) == 0; /* some file systems have no locks */
    if (error == 0)
        error = extend_file(fd, 0, bytes, memory);
    if (error != 0)
        (void)unlinkat(directory, name, 0);
    (void)close(fd); /* the mapping keeps the lock */
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
    char name[VG_RECORD_NAME_ROOM];
    int error;
    tidy_dead_files(fd);
    do {
        vg_record_name(name, sizeof name, (uint64_t)getpid(), random_nonce());
        int length = snprintf(file->path, sizeof file->path, "%s/%s", directory, name);
        error = length < 0 || (size_t)length >= sizeof file->path ? -ENAMETOOLONG
                                                                  : make_file_in(file, fd, name, bytes, memory);
    } while (error == -EEXIST);
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
