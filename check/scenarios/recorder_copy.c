/* SPDX-License-Identifier: MIT */
/*
 * The watchdog's own look at the rings of its process (record/ring_copy.c): it reads the memory itself, not the file, while the
 * threads go on. Property: an event that is copied is whole and follows the one before it; a wait that is named is one that was.
 */
#include "recorder_file.h"
#include "recorder_events.h"

#include "record/ring_copy.h"

static void copy_once(const plan *p, bool at_rest)
{
    const uint64_t written = p->before + p->beside;
    vg_ring_copy copy = {0};
    vgc_assert(vg_ring_copy_next(&copy), "there is a ring");
    for (size_t i = 0; i < copy.count; i++) {
        const vg_event *event = &copy.events[i];
        const uint64_t n = event->ticks / 8 - 1;
        vgc_assert(n < written && event->ticks == word_of(n, 0) && event->what == word_of(n, 1) &&
                       event->a == word_of(n, 2) && event->b == word_of(n, 3),
                   "an event that is copied is whole");
        vgc_assert(i == 0 || event->ticks == copy.events[i - 1].ticks + 8, "it follows the one before it");
    }
    vgc_assert(!copy.complete || written < RING || !at_rest, "an overwritten ring is not called complete");
    const uint64_t kept = written < RING ? written : RING - 1; /* the place of the next one is never believed */
    vgc_assert(!at_rest || (copy.count >= kept && copy.events[copy.count - 1].ticks == word_of(written - 1, 0)),
               "what lies still is copied");
    vgc_assert(!vg_ring_copy_next(&copy), "there is no second ring");
    vg_ring_copy_end(&copy);
}

static void copy_against_ring(void)
{
    const plan *p = vgc_arg();
    recording_begin();
    vg_ring_attach(VG_ROLE_WORKER, 0, 0);
    for (uint64_t i = 0; i < p->before; i++)
        put(i);
    first_ring = vg_my_ring;
    pthread_t writer = vgc_thread_start(write_events, (void *)(uintptr_t)p);
    copy_once(p, false);
    vgc_thread_join(writer);
    copy_once(p, true);
}

#define WHOLE "an event that is copied is whole"
static const plan plan_first = {.beside = 2};
VGC_REGISTER(first, "copy_first", copy_against_ring, WHOLE, .bound = "a ring of 2, 2 events, 1 copy",
             .arg = &plan_first);
static const plan plan_over = {.before = 2, .beside = 2};
VGC_REGISTER(over, "copy_over", copy_against_ring, WHOLE, .bound = "a ring of 2 that is full, 2 events, 1 copy",
             .arg = &plan_over);

/* ---- waits ---- */

static vg_file_wait *the_wait; /* of the body's thread; another goes on with it */

static void wait_for(uint64_t n)
{
    vg_wait_begin(the_wait, n % 2 != 0 ? VG_WAIT_GROUP : VG_WAIT_JOB, n, n + 100, 1);
}

static void *wait_again(void *arg)
{
    (void)arg;
    vg_wait_end(the_wait);
    wait_for(2);
    return NULL;
}

static void look(bool at_rest)
{
    vg_ring_wait waits[2];
    const unsigned count = vg_ring_waits(waits, 2);
    vgc_assert(count <= 1 && (count == 1 || !at_rest), "one thread waits");
    vgc_assert(count == 0 || (waits[0].on >= 1 && waits[0].on <= 2 &&
                              waits[0].kind == (waits[0].on % 2 != 0 ? VG_WAIT_GROUP : VG_WAIT_JOB)),
               "a wait that is named is one that was");
    vgc_assert(!at_rest || waits[0].on == 2, "what lies still is named");
}

static void copy_of_waits(void)
{
    recording_begin();
    vg_ring_attach(VG_ROLE_WORKER, 0, 0);
    the_wait = &vg_my_ring.thread->wait;
    wait_for(1);
    pthread_t owner = vgc_thread_start(wait_again, NULL);
    look(false);
    vgc_thread_join(owner);
    look(true);
}

VGC_REGISTER(waits, "copy_waits", copy_of_waits, "a wait that is named is one that was",
             .bound = "a wait ends and another begins, 1 look");
