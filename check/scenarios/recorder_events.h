/* SPDX-License-Identifier: MIT */
/* recorder_events.h - a writer of events whose words can be told apart, for the scenarios that read its ring. */
#ifndef VG_CHECK_RECORDER_EVENTS_H
#define VG_CHECK_RECORDER_EVENTS_H

#include "recorder_file.h"

enum {
    RING = FILE_RING
};

typedef struct plan {
    uint64_t before;   /* events that are there when the reader comes */
    uint64_t beside;   /* written while it reads */
    uint64_t readings; /* how often it reads */
} plan;

static vg_own_ring first_ring; /* of the body's thread: the others go on with it */

/* The words of event n are told apart from each other and from those of every other event. */
static uint64_t word_of(uint64_t n, unsigned which)
{
    return 8 * (n + 1) + which;
}

static void put(uint64_t n)
{
    vg_event_put(word_of(n, 0), word_of(n, 1), word_of(n, 2), word_of(n, 3));
}

static void *write_events(void *arg)
{
    const plan *p = arg;
    vg_my_ring = first_ring;
    for (uint64_t i = 0; i < p->beside; i++)
        put(p->before + i);
    return NULL;
}

#endif
