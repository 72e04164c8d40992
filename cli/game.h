/* SPDX-License-Identifier: MIT */
/*
 * game.h - what `vigil demo` lets you look at: a game server in miniature.
 *
 * A loop drives it with timers (turns, raids, weather) and a socket (chat); 33 workers do the bots' work in five
 * classes; savers block, planners pile up in raids, battles fork and join.
 */
#ifndef CLI_GAME_H
#define CLI_GAME_H

#include <stdbool.h>

#include <vigil/loop.h>
#include <vigil/pool.h>

struct fault;

struct game_options {
    unsigned seconds;          /* 0: until SIGINT or SIGTERM */
    const struct fault *fault; /* NULL: none */
    bool recover;              /* let the watchdog act */
    int viewer; /* a socket to who watches: 'r' is sent when there is something to see, 'e' at the end, and
                                  the summary waits for an answer (or for the viewer's end) */
};

/* Play, and print the summary. The exit status: 0 if every accepted task ran, or a fault made that impossible. */
int game_play(const struct game_options *options);

/* For the faults: where they can do their harm. */
struct game {
    vigil_loop *loop;
    vigil_pool *pool;
    const struct game_options *options;
};

enum {
    GAME_WORKERS = 33
};

#endif
