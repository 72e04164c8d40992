/* SPDX-License-Identifier: MIT */
#include "instant.h"

enum {
    MARGIN_NS = 100,
    HORIZON_NS = 1000000,
    YOUNG_NS = 2000000 /* readings this far apart give the length of a tick to 1 in 10 000 */
};

void vg_instant_init(vg_instant_clock *instant, vg_tick_base base)
{
    *instant = (vg_instant_clock){.base = base, .measured_at = base.ns + YOUNG_NS / 2};
}

static void measure(vg_instant_clock *instant, uint64_t ticks, uint64_t ns)
{
    uint64_t age = ns - instant->base.ns;
    uint64_t passed = ticks - instant->base.ticks;
    instant->measured_at = ns;
    instant->horizon = 0;
    double length = (double)age / (double)(passed != 0 ? passed : 1);
    if (length < 0.01 || length > 1000.0)
        return; /* not a counter that we understand */
    length *= 1.0 + 1.0 / 1024;
    instant->length = (uint64_t)(length * 4294967296.0);
    instant->horizon = (uint64_t)(HORIZON_NS / length);
}

uint64_t vg_instant_read(vg_instant_clock *instant)
{
    uint64_t ticks = vg_ticks();
    uint64_t ns = vg_now_ns();
    if (ns - instant->base.ns >= 2 * (instant->measured_at - instant->base.ns))
        measure(instant, ticks, ns);
    instant->ticks = ticks;
    instant->ns = ns + MARGIN_NS;
    return ns;
}
