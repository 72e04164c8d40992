/* SPDX-License-Identifier: MIT */
/*
 * readiness.h - what a descriptor was ready for, in one word that threads can sleep on.
 *
 * The word holds the events, whether it is closed, whether a thread sleeps, and a number that grows with each report.
 * R1  A report changes the number: a thread that compared the word before does not fall asleep on it.
 * R2  A clear names the number it has seen: it never takes away what was reported later.
 * R3  A thread sleeps only on a word with SLEEPERS; a report or close takes SLEEPERS away and wakes all.
 * So a thread that sleeps has seen neither its events nor the close, and the next of either wakes it. The number has 24
 * bits: a thread would have to miss 2^24 reports between its look and its sleep to be wrong.
 */
#ifndef VG_IO_READINESS_H
#define VG_IO_READINESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    VG_READY_EVENTS = 63, /* VIGIL_FD_READ to VIGIL_FD_HANGUP */
    VG_READY_CLOSED = 64,
    VG_READY_SLEEPERS = 128,
    VG_READY_STEP = 256
};

typedef struct vg_readiness {
    _Atomic uint32_t word;
    _Atomic int status; /* of the close; written before CLOSED */
} vg_readiness;

void vg_readiness_init(vg_readiness *it);

/* Any thread. The events and the number; with VG_READY_CLOSED when it is over. */
uint32_t vg_readiness_seen(const vg_readiness *it);
/* The poller has seen these events. */
void vg_readiness_report(vg_readiness *it, uint32_t events);
/* Any thread. Take the events away, unless there was a report after `seen`. */
void vg_readiness_clear(vg_readiness *it, uint32_t events, uint32_t seen);
/* Any thread. Over for good: all sleepers get the status. False: it was over already. */
bool vg_readiness_close(vg_readiness *it, int status);
/* Blocks until one of the events is there: 0 and *seen. The status of the close; -ETIMEDOUT. */
int vg_readiness_wait(vg_readiness *it, uint32_t events, uint64_t deadline_ns, uint32_t *seen);

#endif
