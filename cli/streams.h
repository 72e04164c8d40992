/* SPDX-License-Identifier: MIT */
/* streams.h - what a loop has of streams, listeners, children, queries and the like, in words and JSON. */
#ifndef CLI_STREAMS_H
#define CLI_STREAMS_H

#include <json.h>
#include <stdio.h>

#include "look.h"

struct stream_row {
    const vg_loop_view *loop;
    const vg_io_view *io;
    uint64_t wait_ns; /* the longest of what it waits for; 0: for nothing that another owes it */
};

/* Those of a loop, or of all loops (NULL); who waits longest comes first. NULL: there is none, or no memory. The caller
   frees it. */
struct stream_row *streams_list(const vg_snapshot *now, const vg_loop_view *loop, size_t *count);

/* "tcp 127.0.0.1:5432 "name"". The text is clean. */
void stream_title(const vg_io_view *io, char *room, size_t size);
/* "waits for its peer for 40 s; 12 kB unsent" */
void stream_words(const vg_io_view *io, char *room, size_t size);

/* A line for columns, under the heading. */
const char *stream_heading(void);
void stream_line(const struct stream_row *row, char *room, size_t size);

/* "12 open, 3 more than are shown; read 1.2 MB, sent 3 kB"; "" if the loop has had none. */
void streams_total(const vg_loop_view *loop, char *room, size_t size);

/* All lines of a loop on stdout, at most `most` of them. */
void streams_print(const vg_snapshot *now, const vg_loop_view *loop, size_t most);

json_object *streams_json(const vg_loop_view *loop);

#endif
