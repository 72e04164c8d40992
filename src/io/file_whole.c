/* SPDX-License-Identifier: MIT */
/*
 * file_whole.c - load, store and copy whole files. What is written goes to a file beside the old one, which takes its
 * name at the end: nobody sees a part of it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "file.h"

#include "base/why.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FILE_STEP = 1048576 /* between two looks at the token */
};

static int open_to_read(const char *path)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* A file of /proc has no length, and others may grow: read until the end. */
static int load_into(int fd, const vg_file_request *it, vigil_bytes **bytes)
{
    struct stat found;
    if (fstat(fd, &found) != 0)
        return -errno;
    size_t room = found.st_size > 0 ? (size_t)found.st_size + 1 : 4096;
    for (size_t length = 0;;) {
        vigil_bytes *more = realloc(*bytes, sizeof *more + room + 1);
        if (more == NULL)
            return -ENOMEM;
        *bytes = more;
        more->data = (unsigned char *)(more + 1);
        const size_t step = room - length < FILE_STEP ? room - length : FILE_STEP;
        const ssize_t got = vg_read_all(fd, more->data + length, step, -1);
        if (got < 0)
            return -errno;
        length += (size_t)got;
        if (length > it->length)
            return -EFBIG;
        more->length = length;
        more->data[length] = 0;
        if ((size_t)got < step)
            return 0;
        const int aborted = vigil_cancel_status(it->token);
        if (aborted != 0)
            return aborted;
        if (length == room)
            room *= 2;
    }
}

static vigil_value work_load(void *arg)
{
    const vg_file_request *it = arg;
    vigil_bytes *bytes = NULL;
    const int fd = open_to_read(it->path);
    if (fd < 0)
        return vigil_value_error(fd);
    const int error = load_into(fd, it, &bytes);
    (void)close(fd);
    if (error == 0)
        return vigil_value_pointer(bytes, free);
    free(bytes);
    return vigil_value_error(error);
}

int vigil_promise_load_file(const vigil_files *on, const char *path, size_t most, vigil_promise **promise)
{
    if (path == NULL)
        return VG_WHY_NULL("path");
    const vg_file_request wanted = {.path = path, .length = most};
    return vg_file_submit(on, &wanted, work_load, promise);
}

/* ---- a file beside another --------------------------------------------------------------------------------------- */

typedef struct beside {
    char path[PATH_MAX];
    int fd;
} beside;

static int beside_open(beside *it, const char *path)
{
    const int length = snprintf(it->path, sizeof it->path, "%s.XXXXXX", path);
    if (length < 0 || (size_t)length >= sizeof it->path)
        return -ENAMETOOLONG;
    it->fd = mkostemp(it->path, O_CLOEXEC);
    return it->fd < 0 ? -errno : 0;
}

/* The folder has the new name on the disk. */
static int sync_folder_of(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    if (length == 0) {
        folder[0] = '.';
        folder[1] = 0;
    } else {
        memcpy(folder, path, length);
        folder[length] = 0;
    }
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    const int rc = fsync(fd) == 0 || errno == EINVAL ? 0 : -errno; /* EINVAL: this file system has no such thing */
    (void)close(fd);
    return rc;
}

/* Takes the name, or goes away. */
static int beside_finish(beside *it, const char *path, mode_t mode, int error)
{
    if (error == 0 && (fchmod(it->fd, mode) != 0 || fsync(it->fd) != 0))
        error = -errno;
    if (close(it->fd) != 0 && error == 0)
        error = -errno;
    if (error == 0 && rename(it->path, path) != 0)
        error = -errno;
    if (error != 0) {
        (void)unlink(it->path);
        return error;
    }
    return sync_folder_of(path);
}

static vigil_value work_store(void *arg)
{
    const vg_file_request *it = arg;
    beside file;
    int error = beside_open(&file, it->path);
    if (error != 0)
        return vigil_value_error(error);
    for (size_t done = 0; done < it->length && error == 0;) {
        const size_t step = it->length - done < FILE_STEP ? it->length - done : FILE_STEP;
        error = vg_write_all(file.fd, (const char *)it->data + done, step, -1) < 0 ? -errno
                                                                                   : vigil_cancel_status(it->token);
        done += step;
    }
    error = beside_finish(&file, it->path, it->mode, error);
    return error != 0 ? vigil_value_error(error) : vigil_value_none();
}

int vigil_promise_store_file(const vigil_files *on, const char *path, const void *data, size_t length, mode_t mode,
                             vigil_promise **promise)
{
    if (path == NULL || (data == NULL && length != 0))
        return vg_why(-EINVAL, "path or data is NULL");
    const vg_file_request wanted = {.path = path, .data = data, .length = length, .mode = mode};
    return vg_file_submit(on, &wanted, work_store, promise);
}

/* ---- copying ----------------------------------------------------------------------------------------------------- */

/* Bytes of one step; 0: the end; a negative errno. *plain: the system cannot copy between these two by itself. */
static ssize_t copy_step(int from, int to, bool *plain)
{
    static const int refusals[] = {ENOSYS, EXDEV, EINVAL, EOPNOTSUPP, EPERM, EBADF};
    char buffer[65536];
    ssize_t got;
    if (!*plain) {
        got = copy_file_range(from, NULL, to, NULL, FILE_STEP, 0);
        if (got >= 0)
            return got;
        if (errno == EINTR)
            return copy_step(from, to, plain);
        for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
            *plain = *plain || errno == refusals[i];
        if (!*plain)
            return -errno;
    }
    got = vg_read_all(from, buffer, sizeof buffer, -1);
    if (got < 0 || vg_write_all(to, buffer, (size_t)got, -1) < 0)
        return -errno;
    return got;
}

static int64_t copy_to(int from, int to, const vg_file_request *it)
{
    struct stat found;
    int64_t copied = 0;
    if (fstat(from, &found) != 0)
        return -errno;
    bool plain = found.st_size == 0; /* a file of /proc says so and has bytes; copy_file_range believes it */
    for (;;) {
        const ssize_t step = copy_step(from, to, &plain);
        if (step <= 0)
            return step < 0 ? step : copied;
        copied += step;
        const int aborted = vigil_cancel_status(it->token);
        if (aborted != 0)
            return aborted;
    }
}

static vigil_value work_copy(void *arg)
{
    const vg_file_request *it = arg;
    struct stat found;
    beside file;
    const int from = open_to_read(it->path);
    if (from < 0)
        return vigil_value_error(from);
    int error = fstat(from, &found) != 0 ? -errno : S_ISDIR(found.st_mode) ? -EISDIR : beside_open(&file, it->other);
    int64_t copied = 0;
    if (error == 0) {
        copied = copy_to(from, file.fd, it);
        error = beside_finish(&file, it->other, found.st_mode & 07777, copied < 0 ? (int)copied : 0);
    }
    (void)close(from);
    return error != 0 ? vigil_value_error(error) : vigil_value_int(copied);
}

int vigil_promise_copy_file(const vigil_files *on, const char *from, const char *to, vigil_promise **promise)
{
    if (from == NULL || to == NULL)
        return vg_why(-EINVAL, "from or to is NULL");
    const vg_file_request wanted = {.path = from, .other = to};
    return vg_file_submit(on, &wanted, work_copy, promise);
}
