/* SPDX-License-Identifier: MIT */
/*
 * The readiness that a descriptor keeps (src/io/readiness.h). A "socket" is a count; who adds to it reports an edge afterwards,
 * as the poller does. Properties: nobody sleeps while there is something to read, whatever edge, look in vain, clear and
 * sleep do to each other; a close reaches everybody who waits, with its status; what was done before a report is seen by
 * whom it wakes.
 */
#include <vigil_check.h>

#include "base/futex.h"
#include "io/readiness.h"

#include <errno.h>

enum {
    READ = 1,
    WRITE = 2
};

static vg_readiness ready;
static _Atomic int there; /* what the socket holds */
static int told;

static void socket_begin(void)
{
    vg_readiness_init(&ready);
    atomic_init(&there, 0);
}

/* The peer sends, and the poller sees the edge. */
static void send_bytes(int count)
{
    for (int i = 0; i < count; i++) {
        (void)atomic_fetch_add_explicit(&there, 1, memory_order_acq_rel); /* as strong as the kernel's lock */
        vg_readiness_report(&ready, READ);
    }
}

/* One reader: what it has seen does not grow behind its back. */
static bool socket_read(void)
{
    if (atomic_load_explicit(&there, memory_order_acquire) == 0) /* pairs with the addition */
        return false;
    (void)atomic_fetch_sub_explicit(&there, 1, memory_order_acq_rel);
    return true;
}

/* Reads so many bytes, or until the close is told. */
static void *read_bytes(void *arg)
{
    uint32_t seen = vg_readiness_seen(&ready);
    for (intptr_t left = (intptr_t)arg; left > 0;) {
        if (socket_read()) {
            left--;
            continue;
        }
        vg_readiness_clear(&ready, READ, seen);
        const int rc = vg_readiness_wait(&ready, READ, VG_NO_DEADLINE, &seen);
        if (rc != 0) {
            vgc_assert(rc == -ECANCELED, "the close has its status");
            return NULL;
        }
    }
    return NULL;
}

VGC_SCENARIO(readiness_edge_1x1, "nobody sleeps while there is something to read", .opt.spurious = 1,
             .bound = "1 byte, 1 reader, 1 spurious return")
{
    socket_begin();
    const pthread_t reader = vgc_thread_start(read_bytes, (void *)1);
    send_bytes(1);
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&there, memory_order_relaxed) == 0, "the byte was read");
    vgc_thread_join(reader);
}

VGC_SCENARIO(readiness_edge_2x1, "an edge between the look in vain and the clear is kept", .bound = "2 bytes, 1 reader")
{
    socket_begin();
    const pthread_t reader = vgc_thread_start(read_bytes, (void *)2);
    send_bytes(2);
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&there, memory_order_relaxed) == 0, "both bytes were read");
    vgc_thread_join(reader);
}

static void *close_it(void *arg)
{
    (void)arg;
    vgc_assert(vg_readiness_close(&ready, -ECANCELED), "it was open");
    return NULL;
}

static void *wait_for_close(void *arg)
{
    uint32_t seen;
    (void)arg;
    vgc_assert(vg_readiness_wait(&ready, READ, VG_NO_DEADLINE, &seen) == -ECANCELED, "the close has its status");
    return NULL;
}

VGC_SCENARIO(readiness_close_wakes, "a close reaches who sleeps, and who is about to", .opt.spurious = 1,
             .bound = "2 waiters, 1 spurious return")
{
    socket_begin();
    const pthread_t one = vgc_thread_start(wait_for_close, NULL);
    const pthread_t two = vgc_thread_start(wait_for_close, NULL);
    (void)close_it(NULL);
    vgc_thread_join(one);
    vgc_thread_join(two);
    vgc_assert(!vg_readiness_close(&ready, -ESHUTDOWN), "the second close says so");
}

VGC_SCENARIO(readiness_close_races, "an edge, a reader and a close at once: the reader ends",
             .bound = "1 byte, 1 reader, 1 close")
{
    socket_begin();
    const pthread_t reader = vgc_thread_start(read_bytes, (void *)1);
    const pthread_t closer = vgc_thread_start(close_it, NULL);
    send_bytes(1);
    vgc_thread_join(reader);
    vgc_thread_join(closer);
}

/* ---- what is published ---- */

static int plain; /* the owner's, before the report */

static void *wait_and_look(void *arg)
{
    uint32_t seen;
    const int rc = vg_readiness_wait(&ready, (uint32_t)(intptr_t)arg, VG_NO_DEADLINE, &seen);
    vgc_assert(rc == 0, "it was reported");
    vgc_assert((seen & (uint32_t)(intptr_t)arg) != 0, "and is what was waited for");
    vgc_assert((seen & VG_READY_SLEEPERS) == 0, "the sleepers are nobody's business");
    if ((intptr_t)arg == READ)
        vgc_assert(plain == 1, "what was done before the report is seen");
    return NULL;
}

VGC_SCENARIO(readiness_two_events, "each waits for its own, and sees what came before it",
             .bound = "2 waiters, 2 reports")
{
    socket_begin();
    plain = 0;
    const pthread_t reader = vgc_thread_start(wait_and_look, (void *)READ);
    const pthread_t writer = vgc_thread_start(wait_and_look, (void *)WRITE);
    plain = 1;
    vg_readiness_report(&ready, READ);
    vg_readiness_report(&ready, WRITE);
    vgc_thread_join(reader);
    vgc_thread_join(writer);
}

static void *look(void *arg)
{
    (void)arg;
    const uint32_t seen = vg_readiness_seen(&ready);
    if ((seen & READ) != 0)
        vgc_assert(plain == 1, "what was done before the report is seen");
    if ((seen & VG_READY_CLOSED) != 0)
        vgc_assert(atomic_load_explicit(&ready.status, memory_order_relaxed) == -ECANCELED, "with its status");
    return NULL;
}

VGC_SCENARIO(readiness_look, "a look sees a report or a close with all that belongs to it", .bound = "1 look")
{
    socket_begin();
    plain = 0;
    const pthread_t looker = vgc_thread_start(look, NULL);
    plain = 1;
    vg_readiness_report(&ready, READ);
    (void)close_it(NULL);
    vgc_thread_join(looker);
}

static void *clear_old(void *arg)
{
    (void)arg;
    vg_readiness_clear(&ready, READ, (uint32_t)told);
    return NULL;
}

VGC_SCENARIO(readiness_clear_old, "a clear takes what was seen, and nothing newer", .bound = "1 clear, 1 report")
{
    socket_begin();
    vg_readiness_report(&ready, READ | WRITE);
    told = (int)vg_readiness_seen(&ready);
    const pthread_t other = vgc_thread_start(clear_old, NULL);
    vg_readiness_report(&ready, READ);
    vgc_thread_join(other);
    vgc_assert((vg_readiness_seen(&ready) & (READ | WRITE)) == (READ | WRITE), "the newer edge is kept");
    vg_readiness_clear(&ready, READ, vg_readiness_seen(&ready));
    vgc_assert((vg_readiness_seen(&ready) & (READ | WRITE)) == WRITE, "what was seen goes, and no more");
}
