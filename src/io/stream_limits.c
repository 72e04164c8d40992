/* SPDX-License-Identifier: MIT */
#include "stream_limits.h"

#include <stdlib.h>

#define STREAM_HIGH_WATER 65536

const vg_stream_limits *vg_limits_take(vg_io_shared *shared, const vigil_stream_options *options)
{
    const size_t high_water = options->high_water != 0 ? options->high_water : STREAM_HIGH_WATER;
    vg_stream_limits *latest = shared->limits;
    if (latest == NULL || latest->high_water != high_water || latest->most_unsent != options->most_unsent ||
        latest->idle_ns != options->idle_ns || latest->flush_ns != options->flush_ns ||
        latest->life_ns != options->life_ns) {
        latest = malloc(sizeof *latest);
        if (latest == NULL)
            return NULL;
        *latest = (vg_stream_limits){.refs = 1, /* the loop's */
                                     .high_water = high_water,
                                     .most_unsent = options->most_unsent,
                                     .idle_ns = options->idle_ns,
                                     .flush_ns = options->flush_ns,
                                     .life_ns = options->life_ns};
        vg_limits_drop(shared->limits);
        shared->limits = latest;
    }
    latest->refs++;
    return latest;
}

void vg_limits_drop(const vg_stream_limits *limits)
{
    vg_stream_limits *it = (vg_stream_limits *)(uintptr_t)limits; /* streams only read it */
    if (it != NULL && --it->refs == 0)
        free(it);
}
