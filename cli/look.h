/* SPDX-License-Identifier: MIT */
/*
 * look.h - one process that is being looked at: how it is found, and what has changed since a moment ago.
 *
 * A look keeps the snapshots of the last second or so, so that rates and recent latencies come from the same counters
 * as everything else. Nothing in here waits for the process.
 */
#ifndef CLI_LOOK_H
#define CLI_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"

enum {
    LOOK_KEEP = 16, /* snapshots kept */
    NAME_ROOM = 128 /* for the name of a function */
};

struct look {
    vg_reader *reader;
    vg_snapshot *now;  /* the newest; never NULL after look_open */
    vg_snapshot *then; /* the one before it, or NULL: for what changed between two looks */
    vg_snapshot *past; /* about a second old (the oldest there is, if none is so old), or NULL: for rates */
    unsigned count;    /* snapshots in kept, newest first */
    vg_snapshot *kept[LOOK_KEEP];
};

/*
 * Find what the operand names (a pid, a path, or NULL: the only process there is), open it and take a first snapshot.
 * `verb` is for the texts. dead_too: without an operand, a file that a dead process left counts as well.
 * 0, or an exit status, after a line on stderr that says what to do.
 */
int look_open(struct look *look, const char *verb, const char *operand, bool dead_too);
void look_close(struct look *look);

/* Is the operand (as above) a living process without a record? *pid: which; else 0. */
bool look_is_absent(const char *operand, pid_t *pid);

/* Take another snapshot. 0 or a negative errno; then the last one stays. */
int look_again(struct look *look);

/* If nobody inside has judged the process lately: wait, look again, and judge it from outside (reader/outside.h). Every
   look_again judges so too when it has an older snapshot. 0 or a negative errno. */
int look_judge(struct look *look);

/* "running", "stopped", "dead", "ended" */
const char *look_state(const vg_snapshot *snapshot);

/* The name of the program: the last part of the command's first word. */
const char *look_program(const vg_snapshot *snapshot, char *room, size_t size);

/* The name of a function without "+0x0"; "" for 0. The text is clean. */
const char *look_name(struct look *look, uint64_t address, char room[NAME_ROOM]);

/* The same pool, loop or worker in an older snapshot; NULL if it was not there. */
const vg_pool_view *pool_in(const vg_snapshot *snapshot, uint64_t serial);
const vg_loop_view *loop_in(const vg_snapshot *snapshot, uint64_t serial);
const vg_worker_view *worker_in(const vg_pool_view *pool, unsigned index);

/* What a verdict is about: "pool NAME", "worker 3 of pool NAME", "loop NAME", "process". The text is clean. */
const char *verdict_subject(const vg_snapshot *snapshot, const vg_verdict_view *verdict, char room[NAME_ROOM]);

/* Seconds between two snapshots of one process; 0 if `before` is NULL or nothing has passed. */
double seconds_between(const vg_snapshot *before, const vg_snapshot *now);

/* How a worker spent the time between two snapshots, in parts of 1; `class_` is the one it started most of, or is in;
   -1. */
struct shares {
    double run, search, park, block;
    int class_;
};
struct shares worker_shares(const vg_snapshot *before, const vg_snapshot *now, const vg_worker_view *was,
                            const vg_worker_view *is);

/* Workers in each state, spares included. */
struct crowd {
    unsigned running, searching, parked, blocked, threads, spares;
};
struct crowd pool_crowd(const vg_pool_view *pool);

/* Whether a snapshot has a stall (ERROR or CRITICAL) that still holds. */
bool has_stall(const vg_snapshot *snapshot);

#endif
