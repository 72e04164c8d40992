/* SPDX-License-Identifier: MIT */
/*
 * shared.h - what the streams of one loop share: the buffer that they read into, and who they belong to after a fork
 * and after the end of the loop.
 */
#ifndef VG_IO_SHARED_H
#define VG_IO_SHARED_H

#include "base/list.h"
#include "loop/struct.h"
#include "record/block.h"
#include "record/format_io.h"

#include <vigil/loop.h>

#include <stdint.h>

enum {
    VG_IO_BUFFER = 65536,
    VG_IO_PIPES = 8 /* spare ones */
};

/* A stream, a listener and their like, as the loop's end sees it. */
typedef struct vg_io_member {
    vg_list_link link;
    void (*ended)(struct vg_io_member *member); /* the loop has ended; calls nobody, may leave */
    vg_file_io *shown;                          /* where viewers see it (shown.h); NULL: nowhere */
    bool counted;                               /* in the table of these, with or without an entry */
} vg_io_member;

typedef struct vg_stream_limits vg_stream_limits;
typedef struct vigil_stream vigil_stream;

typedef struct vg_io_shared {
    vigil_loop *loop;
    struct vg_realm *realm; /* until the loop has ended */
    bool ended;             /* the loop has, and may be gone */
    unsigned refs;          /* owner: the loop, and members */
    uint32_t process;       /* whose it is (vg_lineage); another one after a fork */
    vg_list members;
    vigil_at_end at_end;
    /* of copies that rest (relay.c) */
    int pipes[VG_IO_PIPES][2];
    unsigned pipe_count;
    void *spare_buffer;
    struct vg_stream_copy *spare_copy; /* of writes (stream_write.c), or NULL */
    vg_unfinished unfinished;          /* of `running` */
    vigil_stream *running;    /* its event calls the user now: it is flushed afterwards (STREAMS.md); NULL: none */
    vg_stream_limits *limits; /* of the latest stream (stream_limits.h), or NULL */
    /* shown.h */
    vg_file_ios *shown; /* NULL: there is no table */
    vg_record_block shown_block;
    uint64_t shown_used[(VG_FILE_IOS + 63) / 64]; /* entries, a bit each */
    bool shown_tried;
    unsigned char buffer[VG_IO_BUFFER];
} vg_io_shared;

/* Owner. Enter the loop's members. NULL: *error says why. */
vg_io_shared *vg_io_enter(vigil_loop *loop, vg_io_member *member, int *error);
/* Owner, or anybody after the end of the loop. The last of them and the loop frees the rest. */
void vg_io_leave(vg_io_shared *shared, vg_io_member *member);
/* The process is a child, and the loop was not made its own (vigil_loop_fork): the loop may be gone. */
bool vg_io_forked(const vg_io_shared *shared);
/* 0: the owner may go on. Else the error: another thread, a child, an ended loop. */
int vg_io_guard(const vg_io_shared *shared);

#endif
