/* SPDX-License-Identifier: MIT */
/*
 * call.h - one parallel call: its range, how it is split, and what ends it early. README.md has the argument.
 */
#ifndef VG_PARALLEL_CALL_H
#define VG_PARALLEL_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <vigil/parallel.h>

typedef struct vg_parallel vg_parallel;

struct vg_parallel {
    vigil_pool *pool;
    const vigil_reducer *reducer; /* NULL: pieces have no value */
    /* one piece, or several iterations of it; value: of the reducer */
    int (*piece)(vg_parallel *call, size_t begin, size_t end, void *value);
    void *arg;          /* of the user */
    const void *detail; /* of the kind of call */
    vigil_parallel_options options;
    uint64_t piece_ticks; /* a piece should last so long */
    size_t total;
    _Atomic size_t *bound;      /* what begins here or later is left out; NULL: nothing */
    _Atomic int32_t failed;     /* the first failure; 0: none. Set once. */
    _Atomic uint32_t reporting; /* somebody is in the progress hook */
    _Atomic size_t done;        /* iterations, if there is a hook */
};

/* Check pool and options and copy them; the rest of the call is zero. */
int vg_parallel_begin(vg_parallel *call, vigil_pool *pool, const vigil_parallel_options *options);

/* Run the whole range and wait. value: of the reducer, started. */
int vg_parallel_run(vg_parallel *call, size_t begin, size_t end, void *value);

/* Run fn(arg) inside a task of the pool and wait: here if this is one. */
int vg_parallel_inside(vg_parallel *call, int (*fn)(void *arg), void *arg);

/* Run fn(arg); a raise is a status. Inside a task. */
int vg_parallel_guarded(vigil_pool *pool, int (*fn)(void *arg), void *arg);

void vg_parallel_fail(vg_parallel *call, int status);

/* Must the rest be left out? */
bool vg_parallel_stopped(vg_parallel *call);

static inline void vg_value_start(const vigil_reducer *reducer, void *arg, void *value)
{
    if (reducer->start != NULL)
        reducer->start(arg, value);
    else
        memset(value, 0, reducer->bytes);
}

#endif
