/* SPDX-License-Identifier: MIT */
/* One file operation: what is asked, where it runs, what came out. fs_op.c does it, bind_fs.c brings it to JavaScript. */
#ifndef VG_JS_FS_OP_H
#define VG_JS_FS_OP_H

#include "host.h"

/* The numbers are those of OP in lib/fs.js. */
typedef enum vg_fs_kind {
    VG_FS_OPEN = 0,
    VG_FS_CLOSE,
    VG_FS_READ,
    VG_FS_WRITE,
    VG_FS_STAT,
    VG_FS_LSTAT,
    VG_FS_FSTAT,
    VG_FS_READ_FILE,
    VG_FS_WRITE_FILE,
    VG_FS_MKDIR,
    VG_FS_RMDIR,
    VG_FS_UNLINK,
    VG_FS_RENAME,
    VG_FS_READDIR,
    VG_FS_REALPATH,
    VG_FS_READLINK,
    VG_FS_SYMLINK,
    VG_FS_LINK,
    VG_FS_CHMOD,
    VG_FS_UTIMES,
    VG_FS_ACCESS,
    VG_FS_TRUNCATE,
    VG_FS_FTRUNCATE,
    VG_FS_FSYNC,
    VG_FS_COPY,
    VG_FS_MKDTEMP,
    VG_FS_REMOVE,
    VG_FS_CHOWN,
    VG_FS_KINDS
} vg_fs_kind;

typedef struct vg_fs_op {
    vg_done done;
    vigil_task task;
    vg_port *port;
    struct vg_fs_op *next, **back; /* in the host's list of those under way; owner */
    vg_fs_kind kind;
    double id;
    char *path, *path2;
    double n1, n2, n3;
    unsigned char *bytes; /* of a JavaScript value; on the pool: a copy, because the host may go first */
    size_t length;
    bool own_bytes;
    unsigned char *target; /* READ on the pool: where the bytes go in the end; held */
    vg_val held;
    _Atomic uint32_t cancelled;

    int64_t result; /* negative: an errno */
    char *data;     /* READ_FILE, READDIR (name, zero, type byte), REALPATH, READLINK, MKDTEMP */
    size_t data_length;
    double stat[18];
} vg_fs_op;

/* Do it, on this thread. May block. */
void vg_fs_run(vg_fs_op *op);
void vg_fs_free(vg_fs_op *op);

#endif
