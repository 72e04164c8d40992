/* SPDX-License-Identifier: MIT */
/* faults.h - what `vigil demo --inject` can break, and which verdict must follow. */
#ifndef CLI_FAULTS_H
#define CLI_FAULTS_H

#include <stdbool.h>

#include <vigil/pool.h>
#include <vigil/watchdog.h>

#include "game.h"

struct fault {
    const char *name;
    const char *text;   /* what is done */
    vigil_stall expect; /* the verdict */
    bool healable;      /* the watchdog can mend it by itself */
    bool when_idle;     /* only bites while the pool has nothing to do */
    bool stops;         /* the process stops itself, and its watcher lets it go on */
    bool then_rest;     /* the game rests after one more turn: what is lost shows when nothing moves */
    void (*prepare)(vigil_pool_options *options); /* may be NULL */
    void (*inject)(struct game *game);            /* NULL: it needs the library variant that only vigil-demo has */
    void (*when_it_stands)(struct game *game);    /* may be NULL: ends the fault itself once it has led to a stall */
    /* The game is over: let go of what is held. false: it cannot be undone, the process has to end as it is. May be
       NULL. */
    bool (*release)(struct game *game);
};

/* NULL name ends it. */
extern const struct fault faults[];

const struct fault *fault_find(const char *name);

/* How long the game runs well before. */
#define FAULT_DELAY_NS 2000000000U

#endif
