/* SPDX-License-Identifier: MIT */
/*
 * file.h - one piece of work on files, from the loop to a worker and back. The request has copies of all that
 * the caller gave; it is freed by whichever side is last (vigil_async_options.done).
 */
#ifndef VG_IO_FILE_H
#define VG_IO_FILE_H

#include <vigil/file.h>

#include <stdatomic.h>

struct vigil_file {
    _Atomic uint32_t refs;
    int fd;
};

typedef struct vg_file_request {
    vigil_cancel_token *token; /* a reference, or NULL: long work looks at it */
    vigil_file *file;          /* a reference, or NULL */
    const char *path, *other;
    const void *data; /* `length` bytes */
    size_t length;
    int64_t offset;
    int flags;
    mode_t mode;
    bool follow;
    char memory[]; /* both paths, then the data */
} vg_file_request;

/* What the request is for; path, other and data of `wanted` are copied. */
int vg_file_submit(const vigil_files *on, const vg_file_request *wanted, vigil_async_fn work, vigil_promise **promise);

/* On a worker. An error of the last system call. */
vigil_value vg_file_error(void);
/* 0: nothing; -1: errno. */
vigil_value vg_file_done(int rc);
/* Room for so many bytes and a zero. NULL: none. */
vigil_bytes *vg_bytes_new(size_t room);
/* All of it, in spite of short and interrupted calls. Offset -1: where the file is. Bytes, or -1 with errno. */
ssize_t vg_read_all(int fd, void *buffer, size_t length, int64_t offset);
ssize_t vg_write_all(int fd, const void *data, size_t length, int64_t offset);

#endif
