/* SPDX-License-Identifier: MIT */
/*
 * file.c - work on open files, and how any work on files travels.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "file.h"

#include "base/options.h"
#include "base/why.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void file_request_over(void *arg)
{
    vg_file_request *it = arg;
    vigil_cancel_unref(it->token);
    vigil_file_close(it->file);
    free(it);
}

static vigil_file *file_ref(vigil_file *file)
{
    if (file != NULL)
        (void)atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed); /* relaxed: the caller has one already */
    return file;
}

int vg_file_submit(const vigil_files *on, const vg_file_request *wanted, vigil_async_fn work, vigil_promise **promise)
{
    vigil_files ours;
    if (on == NULL)
        return VG_WHY_NULL("on");
    int error = vg_options_take(&ours, sizeof ours, on, on->size, sizeof ours, "on");
    if (error != 0)
        return error;
    if (ours.loop == NULL || ours.pool == NULL)
        return vg_why(-EINVAL, "on->loop or on->pool is NULL");
    const size_t path_length = wanted->path != NULL ? strlen(wanted->path) + 1 : 0;
    const size_t other_length = wanted->other != NULL ? strlen(wanted->other) + 1 : 0;
    const size_t data_length = wanted->data != NULL ? wanted->length : 0;
    vg_file_request *it = malloc(sizeof *it + path_length + other_length + data_length);
    if (it == NULL)
        return vg_why(-ENOMEM, "no memory for work on a file");
    *it = *wanted;
    char *memory = it->memory;
    if (path_length != 0)
        it->path = memcpy(memory, wanted->path, path_length);
    if (other_length != 0)
        it->other = memcpy(memory + path_length, wanted->other, other_length);
    if (data_length != 0)
        it->data = memcpy(memory + path_length + other_length, wanted->data, data_length);
    it->token = vigil_cancel_ref(ours.token);
    it->file = file_ref(wanted->file);
    vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
    options.priority = ours.priority;
    options.token = ours.token;
    options.timeout_ns = ours.timeout_ns;
    options.done = file_request_over;
    error = vigil_async(ours.loop, ours.pool, work, it, &options, promise);
    if (error != 0)
        file_request_over(it);
    return error;
}

vigil_value vg_file_error(void)
{
    return vigil_value_error(-errno);
}

vigil_value vg_file_done(int rc)
{
    return rc == 0 ? vigil_value_none() : vg_file_error();
}

vigil_bytes *vg_bytes_new(size_t room)
{
    vigil_bytes *it = room < SIZE_MAX - sizeof *it ? malloc(sizeof *it + room + 1) : NULL;
    if (it == NULL)
        return NULL;
    it->length = 0;
    it->data = (unsigned char *)(it + 1);
    it->data[0] = 0;
    return it;
}

ssize_t vg_read_all(int fd, void *buffer, size_t length, int64_t offset)
{
    size_t done = 0;
    while (done < length) {
        char *place = (char *)buffer + done;
        const ssize_t got =
            offset < 0 ? read(fd, place, length - done) : pread(fd, place, length - done, (off_t)offset + (off_t)done);
        if (got == 0)
            break;
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return -1;
    }
    return (ssize_t)done;
}

ssize_t vg_write_all(int fd, const void *data, size_t length, int64_t offset)
{
    size_t done = 0;
    while (done < length) {
        const char *place = (const char *)data + done;
        const ssize_t put = offset < 0 ? write(fd, place, length - done)
                                       : pwrite(fd, place, length - done, (off_t)offset + (off_t)done);
        if (put >= 0)
            done += (size_t)put;
        else if (errno != EINTR)
            return -1;
    }
    return (ssize_t)done;
}

/* ---- open files -------------------------------------------------------------------------------------------------- */

void vigil_file_close(vigil_file *file)
{
    /* release: our last use; acquire: the others', before the close */
    if (file == NULL || atomic_fetch_sub_explicit(&file->refs, 1, memory_order_acq_rel) != 1)
        return;
    (void)close(file->fd);
    free(file);
}

int vigil_file_fd(const vigil_file *file)
{
    return file != NULL ? file->fd : VG_WHY_NULL("file");
}

static void close_untaken_file(void *pointer)
{
    vigil_file_close(pointer);
}

static vigil_value work_open(void *arg)
{
    const vg_file_request *it = arg;
    vigil_file *file = malloc(sizeof *file);
    if (file == NULL)
        return vigil_value_error(-ENOMEM);
    do
        file->fd = open(it->path, it->flags | O_CLOEXEC, it->mode);
    while (file->fd < 0 && errno == EINTR);
    if (file->fd < 0) {
        const vigil_value why = vg_file_error();
        free(file);
        return why;
    }
    atomic_init(&file->refs, 1U);
    return vigil_value_pointer(file, close_untaken_file);
}

int vigil_promise_open_file(const vigil_files *on, const char *path, int flags, mode_t mode, vigil_promise **promise)
{
    if (path == NULL)
        return VG_WHY_NULL("path");
    const vg_file_request wanted = {.path = path, .flags = flags, .mode = mode};
    return vg_file_submit(on, &wanted, work_open, promise);
}

static vigil_value work_read(void *arg)
{
    const vg_file_request *it = arg;
    vigil_bytes *bytes = vg_bytes_new(it->length);
    if (bytes == NULL)
        return vigil_value_error(-ENOMEM);
    const ssize_t got = vg_read_all(it->file->fd, bytes->data, it->length, it->offset);
    if (got < 0) {
        const vigil_value why = vg_file_error();
        free(bytes);
        return why;
    }
    bytes->length = (size_t)got;
    bytes->data[got] = 0;
    return vigil_value_pointer(bytes, free);
}

int vigil_promise_file_read(const vigil_files *on, vigil_file *file, size_t length, int64_t offset,
                            vigil_promise **promise)
{
    if (file == NULL)
        return VG_WHY_NULL("file");
    const vg_file_request wanted = {.file = file, .length = length, .offset = offset};
    return vg_file_submit(on, &wanted, work_read, promise);
}

static vigil_value work_write(void *arg)
{
    const vg_file_request *it = arg;
    const ssize_t put = vg_write_all(it->file->fd, it->data, it->length, it->offset);
    return put < 0 ? vg_file_error() : vigil_value_int(put);
}

int vigil_promise_file_write(const vigil_files *on, vigil_file *file, const void *data, size_t length, int64_t offset,
                             vigil_promise **promise)
{
    if (file == NULL || (data == NULL && length != 0))
        return vg_why(-EINVAL, "file or data is NULL");
    const vg_file_request wanted = {.file = file, .data = data, .length = length, .offset = offset};
    return vg_file_submit(on, &wanted, work_write, promise);
}

static vigil_value work_sync(void *arg)
{
    return vg_file_done(fsync(((const vg_file_request *)arg)->file->fd));
}

int vigil_promise_file_sync(const vigil_files *on, vigil_file *file, vigil_promise **promise)
{
    if (file == NULL)
        return VG_WHY_NULL("file");
    const vg_file_request wanted = {.file = file};
    return vg_file_submit(on, &wanted, work_sync, promise);
}

static vigil_value work_truncate(void *arg)
{
    const vg_file_request *it = arg;
    int rc;
    do
        rc = ftruncate(it->file->fd, (off_t)it->offset);
    while (rc != 0 && errno == EINTR);
    return vg_file_done(rc);
}

int vigil_promise_file_truncate(const vigil_files *on, vigil_file *file, int64_t length, vigil_promise **promise)
{
    if (file == NULL)
        return VG_WHY_NULL("file");
    const vg_file_request wanted = {.file = file, .offset = length};
    return vg_file_submit(on, &wanted, work_truncate, promise);
}

static vigil_value work_stat(void *arg)
{
    const vg_file_request *it = arg;
    struct stat *found = malloc(sizeof *found);
    if (found == NULL)
        return vigil_value_error(-ENOMEM);
    const int rc = it->file != NULL ? fstat(it->file->fd, found)
                                    : fstatat(AT_FDCWD, it->path, found, it->follow ? 0 : AT_SYMLINK_NOFOLLOW);
    if (rc != 0) {
        const vigil_value why = vg_file_error();
        free(found);
        return why;
    }
    return vigil_value_pointer(found, free);
}

int vigil_promise_file_stat(const vigil_files *on, vigil_file *file, vigil_promise **promise)
{
    if (file == NULL)
        return VG_WHY_NULL("file");
    const vg_file_request wanted = {.file = file};
    return vg_file_submit(on, &wanted, work_stat, promise);
}

int vigil_promise_stat(const vigil_files *on, const char *path, bool follow, vigil_promise **promise)
{
    if (path == NULL)
        return VG_WHY_NULL("path");
    const vg_file_request wanted = {.path = path, .follow = follow};
    return vg_file_submit(on, &wanted, work_stat, promise);
}
