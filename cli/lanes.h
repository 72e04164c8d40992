/* SPDX-License-Identifier: MIT */
/* lanes.h - the recent past of each worker of one pool, a cell per look. */
#ifndef CLI_LANES_H
#define CLI_LANES_H

#include "look.h"

enum {
    LANE_CELLS = 256,
    LANE_WORKERS = 2048 /* workers and spares */
};

struct lane_cell {
    int8_t class_;              /* -1: none */
    uint8_t run, search, block; /* percent of the time */
};

struct lanes {
    uint64_t pool; /* serial */
    uint64_t looks;
    struct lane_cell (*cells)[LANE_CELLS]; /* of each worker; cell of look n is n % LANE_CELLS */
};

/* Add what happened since the last look. false: no memory. Another pool than before begins anew. */
bool lanes_add(struct lanes *lanes, const struct look *look, const vg_pool_view *pool);

/* The cell `back` looks ago, 0 the newest; NULL if there is none. */
const struct lane_cell *lanes_cell(const struct lanes *lanes, unsigned worker, unsigned back);

void lanes_free(struct lanes *lanes);

#endif
