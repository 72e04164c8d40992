/* SPDX-License-Identifier: MIT */
/* trace.h - the event rings as a trace that Perfetto and chrome://tracing open. */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include <stdio.h>

#include "look.h"

struct trace_summary {
    size_t slices, arrows, threads;
};

/* Write the whole trace. 0 or a negative errno; what stdio met is left in the stream. */
int trace_write(FILE *to, struct look *look, struct trace_summary *summary);

#endif
