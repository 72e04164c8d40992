/* SPDX-License-Identifier: MIT */
/*
 * sinks.h - a list that signal handlers read at any moment, on any thread. SIGNALS.md, "The list".
 *
 * Writers hold a lock of the caller's. Readers hold nothing: they count themselves into the current phase. A writer
 * that has unlinked a sink flips the phase and waits until the old phase is empty, twice, so that a stream of new
 * handlers cannot keep it waiting.
 */
#ifndef VG_LOOP_SINKS_H
#define VG_LOOP_SINKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct vg_signal_record {
    int32_t signo; /* 0: look at what was missed */
    int32_t code;
    int32_t pid;
    uint32_t uid;
    int32_t value;
} vg_signal_record;

/* One per loop that watches signals. */
typedef struct vg_sink {
    _Atomic(struct vg_sink *) next;
    _Atomic uint64_t wanted; /* bit signo - 1 */
    /* In a signal handler: pass the record on. */
    void (*put)(struct vg_sink *sink, const vg_signal_record *record);
    uint32_t listed_by; /* the process in whose list it is; 0: none. Under the writers' lock */
} vg_sink;

typedef struct vg_sinks {
    _Atomic(vg_sink *) first;
    _Atomic uint32_t phase;
    _Atomic uint32_t inside[2]; /* readers of each phase */
} vg_sinks;

static inline uint64_t vg_sink_bit(int signo)
{
    return UINT64_C(1) << (signo - 1);
}

void vg_sinks_init(vg_sinks *sinks);

/* A writer. */
void vg_sinks_add(vg_sinks *sinks, vg_sink *sink);

/* A writer. On return no reader is or will be inside the sink. */
void vg_sinks_remove(vg_sinks *sinks, vg_sink *sink);

/* A reader: pass the record to each sink that wants its signal. False: none does. Async-signal-safe. */
bool vg_sinks_put(vg_sinks *sinks, const vg_signal_record *record);

#endif
