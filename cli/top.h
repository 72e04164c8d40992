/* SPDX-License-Identifier: MIT */
/* top.h - the live view in the terminal, for `vigil top` and `vigil demo`. */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "look.h"
#include "queues.h"

enum top_view {
    TOP_LANES,   /* pools, loops and lanes */
    TOP_THREADS, /* every thread: CPU, and what it waits for */
    TOP_FUNCTIONS,
    TOP_STREAMS, /* streams, listeners, children: age, and what each waits for */
    TOP_QUEUES   /* queues of jobs */
};

struct top_options {
    enum top_view view; /* the first on a screen; the only one in plain text */
    unsigned interval_ms;
    unsigned looks;           /* end after so many; 0: never */
    const char *note;         /* a line at the bottom; may be NULL */
    bool end_with_it;         /* end when the process has ended */
    bool (*over)(void *user); /* asked at each look: true ends the view; may be NULL */
    void *user;
    struct queues *queues; /* of jobs; may be NULL */
};

/* On the terminal, with ncurses. Returns an exit status when the user quits. */
int top_screen(struct look *look, const struct top_options *options);

/* As plain text on stdout, one block a look, until the process has ended. */
int top_plain(struct look *look, const struct top_options *options);

#endif
