/* SPDX-License-Identifier: MIT */
/* recent.h - what the event rings still know: the last wakes, and how much ran in the last second. */
#ifndef CLI_RECENT_H
#define CLI_RECENT_H

#include "look.h"

enum {
    RECENT_WAKES = 6
};

struct recent_wake {
    int64_t age_ns;
    char by[32];     /* the thread that sent it */
    uint64_t object; /* serial of the pool or loop */
    unsigned worker; /* of a pool */
};

struct recent {
    double rate[VG_FILE_CLASSES]; /* tasks that ended in the last second of the record, per second */
    unsigned wake_count;
    struct recent_wake wakes[RECENT_WAKES]; /* newest first */
};

/* Read every ring. What a busy ring has overwritten is estimated from what it still has. */
void recent_read(struct look *look, struct recent *recent);

#endif
