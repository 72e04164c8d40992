/* SPDX-License-Identifier: MIT */
/*
 * The readiness that a descriptor keeps (src/io/readiness.h). A "socket" is a count behind a lock, as the kernel has it; who
 * adds to it reports an edge afterwards, as the poller does. Properties: nobody sleeps while there is something to read,
 * whatever edge, look in vain, clear and sleep do to each other; a close reaches everybody who waits, with its status; what
 * was done before a report is seen by whom it wakes.
 */
#include <vigil_check.h>

#include "base/futex.h"
#include "base/mutex.h"
#include "io/readiness.h"

#include <errno.h>

enum {
    READ = 1,
    WRITE = 2
};

static vg_readiness ready;
static vg_mutex kernel;
static int there, taken, told;

static void socket_begin(void)
{
    vg_readiness_init(&ready);
    vg_mutex_init(&kernel);
    there = taken = told = 0;
}

/* The peer sends, and the poller sees the edge. */
static void *send_bytes(void *arg)
{
    for (intptr_t i = (intptr_t)arg; i > 0; i--) {
        vg_mutex_lock(&kernel);
        there++;
        vg_mutex_unlock(&kernel);
        vg_readiness_report(&ready, READ);
    }
    return NULL;
}

static bool socket_read(void)
{
    vg_mutex_lock(&kernel);
    const bool any = there > 0;
    if (any) {
        there--;
        taken++;
    }
    vg_mutex_unlock(&kernel);
    return any;
}

/* Reads until so many were taken in all, or the close is told. */
static void *read_bytes(void *arg)
{
    uint32_t seen = vg_readiness_seen(&ready);
    for (;;) {
        vg_mutex_lock(&kernel);
        const bool enough = taken >= (intptr_t)arg;
        vg_mutex_unlock(&kernel);
        if (enough)
            return NULL;
        if (socket_read())
            continue;
        vg_readiness_clear(&ready, READ, seen);
        const int rc = vg_readiness_wait(&ready, READ, VG_NO_DEADLINE, &seen);
        if (rc != 0) {
            vgc_assert(rc == -ECANCELED, "the close has its status");
            return NULL;
        }
    }
}

VGC_SCENARIO(readiness_edge_1x1, "nobody sleeps while there is something to read", .opt.spurious = 1,
             .bound = "1 byte, 1 reader, 1 spurious return")
{
    socket_begin();
    const pthread_t reader = vgc_thread_start(read_bytes, (void *)1);
    (void)send_bytes((void *)1);
    vgc_quiesce();
    vgc_assert(taken == 1, "the byte was read");
    vgc_thread_join(reader);
}

VGC_SCENARIO(readiness_edge_2x1, "an edge between the look in vain and the clear is kept", .bound = "2 bytes, 1 reader")
{
    socket_begin();
    const pthread_t reader = vgc_thread_start(read_bytes, (void *)2);
    (void)send_bytes((void *)2);
    vgc_quiesce();
    vgc_assert(taken == 2, "both bytes were read");
    vgc_thread_join(reader);
}

static void *close_it(void *arg)
{
    (void)arg;
    vgc_assert(vg_readiness_close(&ready, -ECANCELED), "it was open");
    return NULL;
}

VGC_SCENARIO(readiness_close_wakes, "a close reaches who sleeps, and who is about to", .opt.spurious = 1,
             .bound = "2 readers, 1 spurious return")
{
    socket_begin();
    const pthread_t one = vgc_thread_start(read_bytes, (void *)1);
    const pthread_t two = vgc_thread_start(read_bytes, (void *)1);
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
    (void)send_bytes((void *)1);
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
