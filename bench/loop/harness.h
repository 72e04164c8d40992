/* SPDX-License-Identifier: MIT */
/*
 * What a loop has to offer to take part. The measuring is in harness.c, the same for all; a peer fills in this struct and leaves
 * out what its loop does not have.
 */
#ifndef BENCH_LOOP_HARNESS_H
#define BENCH_LOOP_HARNESS_H

#include "../peer/peer.h"

#include <stdbool.h>

typedef void (*loop_fn)(void *arg);

/* A message of the peers that have no queue of their own: the usual list under a mutex, with embedded nodes, so that they pay
   for no allocation. */
struct loop_message {
    struct loop_message *next;
    loop_fn fn;
    void *arg;
};

struct loop_peer {
    /* Make the loop. with_fd: it also watches a pipe on which nothing happens. */
    void (*open)(bool with_fd);
    /* Run it on this thread until stop is called (by a callback). */
    void (*run)(void);
    void (*stop)(void);

    /* Any thread. `message` is memory for those who need it. */
    void (*post)(struct loop_message *message, loop_fn fn, void *arg);

    /* Timers, by number. timers: make room for n, which is not measured. delay in ms. */
    void (*timers)(size_t n, loop_fn fn);
    void (*timer_add)(size_t i, unsigned delay_ms);
    void (*timer_again)(size_t i, unsigned delay_ms);
    void (*timer_cancel)(size_t i);

    /* Call loop_readable(fd) whenever fd is readable. */
    void (*watch)(int fd);

    /* Call fn(arg) right after the callback that asks; it asks again inside. */
    void (*soon)(loop_fn fn, void *arg);
};

extern const struct loop_peer loop_peer; /* the peer's */
extern const long loop_most_timers;      /* the peer's: more take for ever */

/* Harness: called by peers. */
void loop_readable(int fd);

/* The list under a mutex. push: true if it was empty, so the loop has to be told. */
bool loop_queue_push(struct loop_message *message, loop_fn fn, void *arg);
void loop_queue_run(void);

#endif
