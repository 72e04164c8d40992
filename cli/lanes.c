/* SPDX-License-Identifier: MIT */
#include "lanes.h"

#include <stdlib.h>
#include <string.h>

static uint8_t percent(double share)
{
    /* What happened at all shows as something. */
    return share <= 0.0005 ? 0 : share < 0.01 ? 1 : share >= 1 ? 100 : (uint8_t)(share * 100);
}

bool lanes_add(struct lanes *lanes, const struct look *look, const vg_pool_view *pool)
{
    if (lanes->cells == NULL) {
        lanes->cells = calloc(LANE_WORKERS, sizeof lanes->cells[0]);
        if (lanes->cells == NULL)
            return false;
    }
    if (lanes->pool != pool->serial) {
        lanes->pool = pool->serial;
        lanes->looks = 0;
    }
    const vg_pool_view *then = pool_in(look->then, pool->serial);
    for (size_t i = 0; i < pool->worker_count; i++) {
        const vg_worker_view *w = &pool->workers[i];
        if (w->index >= LANE_WORKERS)
            continue;
        struct shares shares = worker_shares(look->then, look->now, worker_in(then, w->index), w);
        lanes->cells[w->index][lanes->looks % LANE_CELLS] = (struct lane_cell){
            (int8_t)shares.class_, percent(shares.run), percent(shares.search), percent(shares.block)};
    }
    lanes->looks++;
    return true;
}

const struct lane_cell *lanes_cell(const struct lanes *lanes, unsigned worker, unsigned back)
{
    if (worker >= LANE_WORKERS || back >= LANE_CELLS || back >= lanes->looks)
        return NULL;
    return &lanes->cells[worker][(lanes->looks - 1 - back) % LANE_CELLS];
}

void lanes_free(struct lanes *lanes)
{
    free(lanes->cells);
    *lanes = (struct lanes){0};
}
