/* SPDX-License-Identifier: MIT */
/* jobs.h - what `vigil jobs` was asked for. */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include <stdbool.h>

struct jobs_request {
    const char *where, *kind, *state_name, *zone, *catch_up;
    bool json;
    long most;
};
extern struct jobs_request jobs_request;

#endif
