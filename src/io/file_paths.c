/* SPDX-License-Identifier: MIT */
/*
 * file_paths.c - work on names: one system call each.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "file.h"

#include "base/why.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int submit_path(const vigil_files *on, const char *path, mode_t mode, vigil_async_fn work,
                       vigil_promise **promise)
{
    if (path == NULL)
        return VG_WHY_NULL("path");
    const vg_file_request wanted = {.path = path, .mode = mode};
    return vg_file_submit(on, &wanted, work, promise);
}

static int submit_paths(const vigil_files *on, const char *from, const char *to, vigil_async_fn work,
                        vigil_promise **promise)
{
    if (from == NULL || to == NULL)
        return vg_why(-EINVAL, "one of the two paths is NULL");
    const vg_file_request wanted = {.path = from, .other = to};
    return vg_file_submit(on, &wanted, work, promise);
}

static vigil_value work_rename(void *arg)
{
    const vg_file_request *it = arg;
    return vg_file_done(rename(it->path, it->other));
}

int vigil_promise_rename(const vigil_files *on, const char *from, const char *to, vigil_promise **promise)
{
    return submit_paths(on, from, to, work_rename, promise);
}

static vigil_value work_link(void *arg)
{
    const vg_file_request *it = arg;
    return vg_file_done(link(it->path, it->other));
}

int vigil_promise_link(const vigil_files *on, const char *from, const char *to, vigil_promise **promise)
{
    return submit_paths(on, from, to, work_link, promise);
}

static vigil_value work_symlink(void *arg)
{
    const vg_file_request *it = arg;
    return vg_file_done(symlink(it->path, it->other));
}

int vigil_promise_symlink(const vigil_files *on, const char *target, const char *path, vigil_promise **promise)
{
    return submit_paths(on, target, path, work_symlink, promise);
}

static vigil_value work_readlink(void *arg)
{
    const vg_file_request *it = arg;
    vigil_bytes *bytes = vg_bytes_new(PATH_MAX);
    if (bytes == NULL)
        return vigil_value_error(-ENOMEM);
    const ssize_t got = readlink(it->path, (char *)bytes->data, PATH_MAX);
    if (got < 0) {
        const vigil_value why = vg_file_error();
        free(bytes);
        return why;
    }
    bytes->length = (size_t)got;
    bytes->data[got] = 0;
    return vigil_value_pointer(bytes, free);
}

int vigil_promise_readlink(const vigil_files *on, const char *path, vigil_promise **promise)
{
    return submit_path(on, path, 0, work_readlink, promise);
}

static vigil_value work_unlink(void *arg)
{
    return vg_file_done(unlink(((const vg_file_request *)arg)->path));
}

int vigil_promise_unlink(const vigil_files *on, const char *path, vigil_promise **promise)
{
    return submit_path(on, path, 0, work_unlink, promise);
}

static vigil_value work_chmod(void *arg)
{
    const vg_file_request *it = arg;
    return vg_file_done(chmod(it->path, it->mode));
}

int vigil_promise_chmod(const vigil_files *on, const char *path, mode_t mode, vigil_promise **promise)
{
    return submit_path(on, path, mode, work_chmod, promise);
}

static vigil_value work_mkdir(void *arg)
{
    const vg_file_request *it = arg;
    return vg_file_done(mkdir(it->path, it->mode));
}

int vigil_promise_mkdir(const vigil_files *on, const char *path, mode_t mode, vigil_promise **promise)
{
    return submit_path(on, path, mode, work_mkdir, promise);
}

static vigil_value work_rmdir(void *arg)
{
    return vg_file_done(rmdir(((const vg_file_request *)arg)->path));
}

int vigil_promise_rmdir(const vigil_files *on, const char *path, vigil_promise **promise)
{
    return submit_path(on, path, 0, work_rmdir, promise);
}

/* ---- directories ------------------------------------------------------------------------------------------------- */

/* The names stand one behind the other; `type` before each. */
typedef struct name_heap {
    char *bytes;
    size_t used, room, count;
} name_heap;

static int heap_add(name_heap *heap, const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name) + 2;
    if (heap->room - heap->used < length) {
        const size_t room = heap->room * 2 + length + 1024;
        char *more = realloc(heap->bytes, room);
        if (more == NULL)
            return -ENOMEM;
        heap->bytes = more;
        heap->room = room;
    }
    heap->bytes[heap->used] = (char)entry->d_type;
    memcpy(heap->bytes + heap->used + 1, entry->d_name, length - 1);
    heap->used += length;
    heap->count++;
    return 0;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const vigil_entry *)left)->name, ((const vigil_entry *)right)->name);
}

/* One block: the head, the entries, the names. */
static vigil_value entries_of(const name_heap *heap)
{
    vigil_entries *made = malloc(sizeof *made + heap->count * sizeof(vigil_entry) + heap->used);
    if (made == NULL)
        return vigil_value_error(-ENOMEM);
    made->count = heap->count;
    made->entries = (vigil_entry *)(made + 1);
    char *names = (char *)(made->entries + made->count);
    if (heap->used != 0)
        memcpy(names, heap->bytes, heap->used);
    for (size_t i = 0; i < made->count; i++) {
        made->entries[i] = (vigil_entry){.name = names + 1, .type = (unsigned char)names[0]};
        names += strlen(names + 1) + 2;
    }
    if (made->count != 0)
        qsort(made->entries, made->count, sizeof *made->entries, by_name);
    return vigil_value_pointer(made, free);
}

static vigil_value work_readdir(void *arg)
{
    const vg_file_request *it = arg;
    name_heap heap = {0};
    int error = 0;
    DIR *folder = opendir(it->path);
    if (folder == NULL)
        return vg_file_error();
    while (error == 0) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (entry == NULL) {
            error = -errno;
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            error = heap_add(&heap, entry);
        if (error == 0)
            error = vigil_cancel_status(it->token);
    }
    (void)closedir(folder);
    const vigil_value result = error != 0 ? vigil_value_error(error) : entries_of(&heap);
    free(heap.bytes);
    return result;
}

int vigil_promise_readdir(const vigil_files *on, const char *path, vigil_promise **promise)
{
    return submit_path(on, path, 0, work_readdir, promise);
}
