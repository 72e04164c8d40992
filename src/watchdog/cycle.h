/* SPDX-License-Identifier: MIT */
/*
 * cycle.h - the wait-for graph of one look (judge_cycle.c), and the words for a circle in it (cycle_words.c).
 */
#ifndef VG_WATCHDOG_CYCLE_H
#define VG_WATCHDOG_CYCLE_H

#include "judge_loop.h"
#include "locks.h"
#include "pool_history.h"
#include "record/ring_copy.h"

enum {
    VG_CYCLE_WAITS = 64 /* waits of threads outside the pools */
};

typedef struct vg_cycle_node {
    const vg_worker_fact *worker; /* NULL: another thread */
    const vg_pool_history *pool;
    const vg_loop_history *loop; /* whose thread it is, or NULL */
    int thread;
    vg_lock_wait lock;
    uint64_t group;     /* of a worker in a lock: the group of its task, by address; 0: none */
    vg_ring_wait outer; /* of a thread that is no worker; kind VG_WAIT_NONE: none */
    int outer_owner;    /* of a lock of the library that it waits for */
    bool outer_limited; /* that wait has a timeout */
    uint64_t since;     /* CLOCK_MONOTONIC: since when it waits in the lock; 0: not known */
    uint32_t from;      /* who led the search here */
    uint8_t mark;       /* 0 not seen, 1 on the path, 2 done */
} vg_cycle_node;

typedef struct vg_cycle_graph {
    vg_cycle_node *nodes;
    size_t count, room;
    uint32_t *path;
    size_t length;
    vg_ring_wait waits[VG_CYCLE_WAITS];
    unsigned wait_count;
} vg_cycle_graph;

/* A worker with a wait that it has noted (src/pool/waits.c). */
static inline bool vg_cycle_noted(const vg_cycle_node *node)
{
    return node->worker != NULL && node->lock.address == 0 && node->worker->wait.what != VG_WAITS_NOT;
}

/* CLOCK_MONOTONIC: since when it waits. */
uint64_t vg_cycle_since(const vg_cycle_node *node, const vg_look *look);

/* The circle from path[begin] to the end of the path, as a finding; none if it is too young. */
void vg_cycle_find(const vg_cycle_graph *all, size_t begin, const vg_look *look);

#endif
