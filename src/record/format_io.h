/* SPDX-License-Identifier: MIT */
/*
 * format_io.h - the block of what a loop has of streams, listeners, connections in the making, datagrams, children,
 * descriptors and queries.
 */
#ifndef VG_RECORD_FORMAT_IO_H
#define VG_RECORD_FORMAT_IO_H

#include "cell.h"
#include "format_base.h"

#include <stdalign.h>

typedef enum vg_io_kind {
    VG_IO_NONE = 0,
    VG_IO_TCP,
    VG_IO_UNIX,
    VG_IO_PIPE,
    VG_IO_TERMINAL,
    VG_IO_OTHER, /* a stream of something else */
    VG_IO_LISTENER,
    VG_IO_CONNECT, /* a connection that is not made yet */
    VG_IO_DATAGRAMS,
    VG_IO_CHILD,
    VG_IO_DESCRIPTOR,
    VG_IO_QUERY, /* of a resolver, or the user's */
    VG_IO_KINDS
} vg_io_kind;

/* What else than bytes is waited for. */
typedef enum vg_io_wait {
    VG_IO_WAITS_NOT = 0,
    VG_IO_WAITS_START,   /* the start of a filter, such as a TLS handshake */
    VG_IO_WAITS_CONNECT, /* the peer's answer */
    VG_IO_WAITS_ACCEPT,  /* a connection */
    VG_IO_WAITS_ROOM,    /* the end of one of its streams, or of a pause: it does not accept */
    VG_IO_WAITS_EXIT,    /* the child's end */
    VG_IO_WAITS_READY,   /* the descriptor to be ready */
    VG_IO_WAITS_ANSWER,  /* the answer to a query */
    VG_IO_WAITS
} vg_io_wait;

typedef enum vg_io_family {
    VG_IO_NO_ADDRESS = 0,
    VG_IO_IPV4,
    VG_IO_IPV6,
    VG_IO_PATH
} vg_io_family;

/* One of them. Times in cells are CLOCK_MONOTONIC in ns, as the loop knew it. Writer: the loop's owner. `writes`
   covers what comes before the first cell; the cells stand for themselves. */
typedef struct vg_file_io {
    vg_cell writes;
    uint64_t number;  /* of the loop, from 1 on */
    uint64_t kind;    /* vg_io_kind; 0: free */
    uint64_t family;  /* vg_io_family, of the peer; of a listener or datagrams its own */
    uint64_t port;    /* of a child: its pid */
    uint64_t born;    /* ticks */
    char address[40]; /* the bytes of the address, or the end of the path */
    char name[32];    /* the user's, or the program of a child; "": none */

    vg_cell wait, wait_since; /* vg_io_wait */
    vg_cell reading;          /* since when somebody waits to read; 0: nobody */
    vg_cell read_at;          /* when the last bytes came; 0: never */
    vg_cell sending;          /* since when the system takes no more; 0: it does, or nothing is to be sent */
    vg_cell sent_at;
    vg_cell bytes_read, bytes_sent, unsent;
    vg_cell streams; /* of a listener: open */
} vg_file_io;

/* Writer: the loop's owner. */
typedef struct vg_file_ios {
    vg_cell opened, closed; /* all of them, shown or not */
    vg_cell unseen;         /* open, and found no entry */
    vg_cell bytes_read, bytes_sent;
    alignas(64) vg_file_io of[VG_FILE_IOS];
} vg_file_ios;

#endif
