/* SPDX-License-Identifier: MIT */
/*
 * vigil/file.h - files and directories as promises. The work is done by a pool, with a priority;
 * the loop never waits for a disk.
 *
 *     vigil_files on = VIGIL_FILES_INIT;
 *     on.loop = loop;
 *     on.pool = pool;
 *     vigil_promise_load_file(&on, "/etc/hostname", 4096, &promise);
 *
 * Every promise may end early with the token's status or -ETIMEDOUT. Then work that has not started
 * is not done; what has, ends by itself, long work at its next step. Nothing that the caller gives
 * is used after the call has returned: paths and data are copied, and what is read has memory of
 * its own. So an early end leaves nothing behind that could be freed too soon.
 *
 * Values that are pointers are destroyed with the promise; vigil_value_move takes them.
 */
#ifndef VIGIL_FILE_H
#define VIGIL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <vigil/base.h>
#include <vigil/cancel.h>
#include <vigil/loop.h>
#include <vigil/pool.h>
#include <vigil/promise.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where and how the work is done. Start from VIGIL_FILES_INIT. */
typedef struct vigil_files {
    size_t size;
    vigil_loop *loop;          /* gets the promises; must be set */
    vigil_pool *pool;          /* does the work; must be set */
    vigil_priority priority;   /* the _INIT macro says VIGIL_NORMAL */
    vigil_cancel_token *token; /* NULL: none */
    int64_t timeout_ns;        /* the _INIT macro says VIGIL_FOREVER */
} vigil_files;
#define VIGIL_FILES_INIT                                                   \
    {                                                                      \
        sizeof(vigil_files), NULL, NULL, VIGIL_NORMAL, NULL, VIGIL_FOREVER \
    }

/* ---- open files ------------------------------------------------------------------------------ */

typedef struct vigil_file vigil_file;

/* open(2): a promise for a vigil_file (VIGIL_POINTER). A file that nobody takes is closed. It is
   always close-on-exec. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_open_file(const vigil_files *on, const char *path, int flags,
                                      mode_t mode, vigil_promise **promise);

/* Give the file back. It is closed when the work on it that is in flight has ended. NULL is
   allowed. Any thread; may block as close(2) does. */
VIGIL_API void vigil_file_close(vigil_file *file);

/* The descriptor. It stays the file's. Any thread; does not block.
   Returns the descriptor; -EINVAL. */
VIGIL_API int vigil_file_fd(const vigil_file *file);

/* Bytes that were read. */
typedef struct vigil_bytes {
    size_t length;
    unsigned char *data; /* a zero stands behind the last byte */
} vigil_bytes;

/* Read up to `length` bytes at the offset (-1: where the file is): a promise for a vigil_bytes
   (VIGIL_POINTER), shorter at the end of the file. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_file_read(const vigil_files *on, vigil_file *file, size_t length,
                                      int64_t offset, vigil_promise **promise);

/* Write all the bytes, a copy of them, at the offset (-1: where the file is): a promise for their
   number (VIGIL_INT). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_file_write(const vigil_files *on, vigil_file *file, const void *data,
                                       size_t length, int64_t offset, vigil_promise **promise);

/* fsync(2). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_file_sync(const vigil_files *on, vigil_file *file,
                                      vigil_promise **promise);

/* ftruncate(2). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_file_truncate(const vigil_files *on, vigil_file *file, int64_t length,
                                          vigil_promise **promise);

/* fstat(2): a promise for a struct stat (VIGIL_POINTER). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_file_stat(const vigil_files *on, vigil_file *file,
                                      vigil_promise **promise);

/* ---- whole files ----------------------------------------------------------------------------- */

/* Read a whole file of at most `most` bytes: a promise for a vigil_bytes (VIGIL_POINTER), rejected
   with -EFBIG if it is longer. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_load_file(const vigil_files *on, const char *path, size_t most,
                                      vigil_promise **promise);

/* Write a whole file: others see the old one or the new one, never a part. The bytes are on the
   disk when it is fulfilled (VIGIL_NONE). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_store_file(const vigil_files *on, const char *path, const void *data,
                                       size_t length, mode_t mode, vigil_promise **promise);

/* Copy a file with its permissions, inside the system if that can be: a promise for the number of
   bytes (VIGIL_INT). Others see the whole copy or nothing. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_copy_file(const vigil_files *on, const char *from, const char *to,
                                      vigil_promise **promise);

/* ---- paths ----------------------------------------------------------------------------------- */

/* stat(2), or lstat(2) if links are not followed: a promise for a struct stat (VIGIL_POINTER).
   Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_stat(const vigil_files *on, const char *path, bool follow,
                                 vigil_promise **promise);

/* rename(2). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_rename(const vigil_files *on, const char *from, const char *to,
                                   vigil_promise **promise);

/* link(2). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_link(const vigil_files *on, const char *from, const char *to,
                                 vigil_promise **promise);

/* symlink(2): `path` becomes a link to `target`. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_symlink(const vigil_files *on, const char *target, const char *path,
                                    vigil_promise **promise);

/* readlink(2): a promise for a vigil_bytes (VIGIL_POINTER). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_readlink(const vigil_files *on, const char *path,
                                     vigil_promise **promise);

/* unlink(2). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_unlink(const vigil_files *on, const char *path,
                                   vigil_promise **promise);

/* chmod(2). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_chmod(const vigil_files *on, const char *path, mode_t mode,
                                  vigil_promise **promise);

/* mkdir(2). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_mkdir(const vigil_files *on, const char *path, mode_t mode,
                                  vigil_promise **promise);

/* rmdir(2). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_rmdir(const vigil_files *on, const char *path, vigil_promise **promise);

/* What a directory holds, without "." and "..", in the order of their bytes. */
typedef struct vigil_entry {
    const char *name;
    unsigned char type; /* DT_REG, DT_DIR, ... of <dirent.h>; DT_UNKNOWN: ask vigil_promise_stat */
} vigil_entry;
typedef struct vigil_entries {
    size_t count;
    vigil_entry *entries;
} vigil_entries;

/* Read a directory: a promise for a vigil_entries (VIGIL_POINTER). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_readdir(const vigil_files *on, const char *path,
                                    vigil_promise **promise);

#ifdef __cplusplus
}
#endif
#endif
