/* SPDX-License-Identifier: MIT */
/* What a peer of the share family fills in. Locks and semaphores are one object each; messages are 8 bytes. */
#ifndef BENCH_SHARE_HARNESS_H
#define BENCH_SHARE_HARNESS_H

#include <stddef.h>
#include <stdint.h>

struct share_peer {
    void (*lock)(void);
    void (*unlock)(void);
    void (*acquire)(void); /* of a semaphore with one unit */
    void (*post)(void);
    void (*open)(size_t capacity); /* SIZE_MAX: unbounded */
    void (*send)(uint64_t message);
    uint64_t (*receive)(void);
    double (*green)(size_t capacity, unsigned pairs, long each); /* ns in all, between asynchronous functions */
};

extern const struct share_peer share_peer; /* NULL: the peer has no such thing */

#endif
