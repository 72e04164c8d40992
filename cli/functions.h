/* SPDX-License-Identifier: MIT */
/* functions.h - which functions take the time: tasks and callbacks from the rings, and any function by sampling from
   outside. */
#ifndef CLI_FUNCTIONS_H
#define CLI_FUNCTIONS_H

#include "look.h"
#include "threads.h"

enum {
    FUNCTIONS_MOST = 64
};

struct function_row {
    char name[NAME_ROOM];
    double share;   /* of the time looked at: in tasks or callbacks, or on a processor */
    uint64_t count; /* how often it ran or was met */
};

struct functions {
    size_t count; /* the most expensive first */
    struct function_row of[FUNCTIONS_MOST];
};

/* Tasks and callbacks of the last seconds that the rings still have. *seconds: how many that are. */
void functions_from_rings(struct look *look, struct functions *functions, double *seconds);

/* Samples: each look asks every thread that is on a CPU where it is, some times within 30 ms. */
struct sampler;
struct sampler *sampler_create(void); /* NULL: this build or processor has none, or no memory */
void sampler_free(struct sampler *sampler);
/* Stops the threads that run for some microseconds each; those that sleep are left alone. false: it may not. */
bool sampler_look(struct sampler *sampler, struct look *look, const struct threads *threads);
/* Of the last looks. *samples: how many there are; *stop_ns: the longest stop of a thread. */
void sampler_functions(struct sampler *sampler, struct look *look, struct functions *functions, unsigned *samples,
                       uint64_t *stop_ns);

#endif
