/* SPDX-License-Identifier: MIT */
/* trace_streams.h - streams and their like as lanes of a trace. */
#ifndef CLI_TRACE_STREAMS_H
#define CLI_TRACE_STREAMS_H

#include <stdio.h>

#include "look.h"

/* Write the events of all streams, each after a comma. Returns how many. */
size_t trace_streams(FILE *to, struct look *look);

#endif
