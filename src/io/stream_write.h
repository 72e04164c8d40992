/* SPDX-License-Identifier: MIT */
#ifndef VG_IO_STREAM_WRITE_H
#define VG_IO_STREAM_WRITE_H

#include "stream.h"

/* A write of our own: its bytes are behind it, or descriptors before them. */
typedef struct vg_stream_copy {
    vigil_write write; /* first */
    struct iovec part;
    size_t room;
    int *fds; /* of a write that passes descriptors: behind the bytes */
    size_t fd_count;
    unsigned char bytes[];
} vg_stream_copy;

/* A write whose bytes are in a pipe. */
typedef struct vg_stream_piped {
    vigil_write write; /* first */
    int pipe;          /* the end to read from */
} vg_stream_piped;

/* 0: so many bytes may be written. */
int vg_stream_guard_write(vigil_stream *stream, size_t length);
/* The bytes are accepted; write: to be queued, or NULL. 0 or 1, as vigil_stream_write. */
int vg_stream_accept_write(vigil_stream *stream, vigil_write *write, size_t length);
/* Give the system what it takes. Calls nobody: what is done is in the list of the sent. */
void vg_stream_flush(vigil_stream *stream);
/* Send `length` bytes from the pipe here and now, if nothing waits before them. *sent: how many the system has taken;
   the rest is to be queued. 0; an error, and the stream is to fail with it. */
int vg_stream_send_piped(vigil_stream *stream, int pipe, size_t length, size_t *sent);
/* Send these parts, or what the system takes of them, by the filter if there is one. Bytes; -1 and errno. */
ssize_t vg_stream_send_parts(vigil_stream *stream, struct iovec *parts, size_t count);
/* The peer was promised an end and has not got it. */
bool vg_stream_must_finish(const vigil_stream *stream);
/* Nothing more will be sent: move the user's writes to the sent ones, with this status. */
void vg_stream_drop_writes(vigil_stream *stream, int status);
/* Take the next write that is done off the list, which is not empty. It is the user's, to be reported. */
vigil_write *vg_stream_next_sent(vigil_stream *stream);

#endif
