/* SPDX-License-Identifier: MIT */
/* One file operation: what is asked, where it runs, what came out. fs_op.c does it, bind_fs.c brings it to JavaScript. */
#ifndef VG_JS_FS_OP_H
#define VG_JS_FS_OP_H

#include "port.h"

#define VG_FS_STATS       20 /* the numbers of a stat; lib/fs_results.js knows their order */
#define VG_FS_LINK_ITSELF 1  /* n3 of CHOWN and UTIMES with a path: a symbolic link is not followed */

typedef struct vg_fs_op {
    vg_done done;
    vigil_task task;
    vg_port *port;
    struct vg_fs_op *next, **back; /* in the host's list of those under way; owner */
    unsigned kind;                 /* VG_FS_*; VG_COUNT_fsOp: unknown */
    double id;
    char *path, *path2;
    double n1, n2, n3;
    unsigned char *bytes; /* of a JavaScript value; on the pool: a copy, because the host may go first */
    size_t length;
    bool own_bytes;
    bool reads;  /* READ on the pool: the bytes go into `held` in the end */
    vg_val held; /* the array of a call; no pointer into its memory is kept across a turn */
    _Atomic uint32_t cancelled;

    int64_t result; /* negative: an errno */
    char *data;     /* READ_FILE, READDIR (name, zero, type byte), REALPATH, READLINK, MKDTEMP */
    size_t data_length;
    double stat[VG_FS_STATS];
} vg_fs_op;

/* Do it, on this thread. May block. */
void vg_fs_run(vg_fs_op *op);
void vg_fs_free(vg_fs_op *op);

#endif
