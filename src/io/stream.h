/* SPDX-License-Identifier: MIT */
/*
 * stream.h - one stream. Owner only; STREAMS.md says what may call whom.
 */
#ifndef VG_IO_STREAM_H
#define VG_IO_STREAM_H

#include "base/list.h"
#include "shared.h"
#include "stream_limits.h"

#include <vigil/io.h>

/* What the stream is and has seen. */
enum {
    VG_STREAM_BLOCKED = 1U << 0,   /* the system takes no more for now: wait for its event */
    VG_STREAM_HUNG_UP = 1U << 1,   /* the connection is over in both directions, or has an error */
    VG_STREAM_UNWATCHED = 1U << 2, /* hung up, and nobody wanted to know: there is no watch */
    VG_STREAM_READ_END = 1U << 3,
    VG_STREAM_FINISH = 1U << 4,   /* vigil_stream_finish was called */
    VG_STREAM_FINISHED = 1U << 5, /* and the system knows */
    VG_STREAM_CLOSING = 1U << 6,  /* given back; what is left is to be sent */
    VG_STREAM_CLOSED = 1U << 7,   /* the descriptor is closed */
    VG_STREAM_SOCKET = 1U << 8,
    VG_STREAM_BORROWED = 1U << 9,
    VG_STREAM_KEEPS = 1U << 10,    /* the loop is kept alive */
    VG_STREAM_QUEUED = 1U << 11,   /* stream->work waits for its turn */
    VG_STREAM_OVER = 1U << 12,     /* the memory goes when work has had its turn */
    VG_STREAM_STARTING = 1U << 13, /* the filter has not started: nothing else is read or sent */
    VG_STREAM_ABRUPT = 1U << 14,   /* vigil_stream_reset: no orderly end is sent */
    VG_STREAM_UNREF = 1U << 15     /* a reader does not keep the loop */
};

/* What stream->work has to do. Each call of it makes at most one call of the user's, as its last step. */
enum {
    VG_TODO_FLUSH = 1U << 0,
    VG_TODO_READ = 1U << 1,
    VG_TODO_SENT = 1U << 2,    /* writes are done: tell them */
    VG_TODO_DRAINED = 1U << 3, /* tell the one who waits for it */
    VG_TODO_CLOSED = 1U << 4,  /* tell the user, free it */
    VG_TODO_START = 1U << 5,   /* the first step of a filter */
    VG_TODO_STARTED = 1U << 6  /* tell who waits for the filter */
};

enum {
    VG_READER_PLAIN = 0, /* the user's own */
    VG_READER_PROMISE,   /* in an operation */
    VG_READER_FRAME      /* in a frame of vigil/async.h */
};

/* Bytes that were read and not taken. There are always some. */
typedef struct vg_stream_rest {
    size_t at, length;
    unsigned char bytes[];
} vg_stream_rest;

typedef struct vg_filter vg_filter;
typedef struct vg_passed vg_passed;
typedef struct vg_relay vg_relay;

struct vigil_stream {
    vg_io_shared *shared;
    vg_io_member member;
    int fd;
    uint32_t state;        /* VG_STREAM_* */
    uint32_t todo;         /* VG_TODO_* */
    int error;             /* nothing goes any more: the first failure, or 0 */
    int write_error;       /* nothing can be sent; what the peer has sent before is read first */
    uint16_t armed;        /* VIGIL_FD_* that the watch is for */
    uint8_t reader;        /* VG_READER_*: whose `read` is, if there is one */
    bool promised_drained; /* who waits for on_drained is a promise */
    vigil_watch watch;
    vigil_post work;
    vg_filter *filter; /* or NULL */
    vg_passed *passed; /* descriptors that the peer has passed; NULL: they are not taken */
    vg_relay *out_to;  /* the copy that reads from here, or NULL */
    vg_relay *in_from; /* the copy that writes to here, or NULL */

    /* reading: one of them */
    vigil_data_fn on_data;
    void *data_arg;
    vigil_read *read;
    vg_stream_rest *rest; /* read and not taken yet; NULL: nothing */

    /* writing */
    vigil_write *first, *last;           /* to be sent */
    vigil_write *sent_first, *sent_last; /* the user's that are done: to be reported */
    size_t unsent;
    uint64_t lost; /* accepted, and will not be sent */
    vigil_call_fn on_drained;
    void *drained_arg;

    /* limits and figures */
    const vg_stream_limits *limits;
    vigil_timer timer; /* idle, or flush while closing; id 0: none */
    uint64_t since, quiet;
    uint64_t bytes_read, bytes_sent, reads, sends;

    vigil_closed_fn on_closed;
    void *user;
    vigil_listener *listener; /* that it counts for, or NULL */
    vg_list_link in_listener;
};

static inline size_t vg_stream_unread(const vigil_stream *stream)
{
    return stream->rest != NULL ? stream->rest->length : 0;
}

/* Let the work run after the callback that runs now. */
void vg_stream_want(vigil_stream *stream, uint32_t todo);
/* The connection is broken: notify all waiters. */
void vg_stream_fail(vigil_stream *stream, int error);
/* The same for the sending side alone. */
void vg_stream_fail_sending(vigil_stream *stream, int error);
/* Watch for these events, VIGIL_FD_READ or _WRITE, or no longer for them. */
void vg_stream_arm(vigil_stream *stream, unsigned events);
void vg_stream_disarm(vigil_stream *stream, unsigned events);
/* Closing, and nothing is left to send. */
void vg_stream_emptied(vigil_stream *stream);
/* Hold the loop or let it go, as somebody waits or not. */
void vg_stream_keep(vigil_stream *stream);
/* The same after a reader has come or was taken away. */
void vg_stream_reader_changed(vigil_stream *stream);
/* 0: the owner, and the stream works. Else the error. */
int vg_stream_guard(const vigil_stream *stream);
/* A stream of a descriptor that is non-blocking already; state: VG_STREAM_SOCKET, or 0. 0, or what
   vigil_stream_open answers. */
int vg_stream_make(vigil_stream **stream, vigil_loop *loop, int fd, uint32_t state,
                   const vigil_stream_options *options);
/* Copy the options over, with the defaults. 0; -EINVAL. */
int vg_stream_options_take(vigil_stream_options *ours, const vigil_stream_options *given);

#endif
