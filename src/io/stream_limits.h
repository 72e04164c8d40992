/* SPDX-License-Identifier: MIT */
/*
 * stream_limits.h - the limits of streams. Most streams of a loop have the same ones, so they share them. Owner only,
 * as the streams.
 */
#ifndef VG_IO_STREAM_LIMITS_H
#define VG_IO_STREAM_LIMITS_H

#include "shared.h"

#include <vigil/io.h>

struct vg_stream_limits {
    uint64_t refs; /* streams, and the loop for the latest */
    size_t high_water, most_unsent;
    int64_t idle_ns, flush_ns, life_ns;
};

/* Those of the options. NULL: no memory. */
const vg_stream_limits *vg_limits_take(vg_io_shared *shared, const vigil_stream_options *options);
/* A stream, or the loop, does not need them any more. NULL is allowed. */
void vg_limits_drop(const vg_stream_limits *limits);

#endif
