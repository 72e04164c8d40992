/* SPDX-License-Identifier: MIT */
/* How long work of vigil:pool waited and ran, by class, for JavaScript. */
#include "pool_times.h"

#include <math.h>

#include "bind.h"
#include "pool_side.h"

void vg_times_note(vg_times *to, uint64_t ns)
{
    uint64_t us = ns / 1000;
    unsigned bucket = us ? 64U - (unsigned)__builtin_clzll(us) : 0;
    to->count++;
    to->sum_ns += ns;
    if (ns > to->longest_ns)
        to->longest_ns = ns;
    to->buckets[bucket < VG_TIMES_BUCKETS ? bucket : VG_TIMES_BUCKETS - 1]++;
}

/* The upper end of the bucket in which the share lies, in ms. */
static double share(const vg_times *from, double part)
{
    uint64_t wanted = (uint64_t)ceil((double)from->count * part), seen = 0;
    for (unsigned i = 0; i < VG_TIMES_BUCKETS; i++)
        if ((seen += from->buckets[i]) >= wanted && from->count)
            return fmin((double)(UINT64_C(1) << i) / 1e3, (double)from->longest_ns / 1e6);
    return 0;
}

vg_val vg_times_of(vg_engine *engine, const vg_times *from)
{
    vg_val object = vg_object(engine);
    vg_set_number(engine, object, "count", (double)from->count);
    vg_set_number(engine, object, "mean", from->count ? (double)from->sum_ns / (double)from->count / 1e6 : 0);
    vg_set_number(engine, object, "p50", share(from, 0.5));
    vg_set_number(engine, object, "p99", share(from, 0.99));
    vg_set_number(engine, object, "max", (double)from->longest_ns / 1e6);
    return object;
}
