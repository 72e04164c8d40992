/* SPDX-License-Identifier: MIT */
/*
 * Data that belongs to one process (adopt.h). Property: it is set up once, everyone sees it set up, and who waits for that is
 * woken. Sleeps may return for no reason.
 */
#include <vigil_check.h>

#include "base/adopt.h"

static _Atomic uint32_t owner;
static int made, number; /* plain: two who set up at a time, and a look before the end, would be races */

static void *use(void *arg)
{
    uint32_t before = 1;
    (void)arg;
    if (vg_adopt_begin(&owner, &before)) {
        vgc_assert((before == 0) == (vgc_arg() == NULL), "who comes knows whether another process was here");
        made++;
        number = 7;
        vg_adopt_end(&owner);
    }
    vgc_assert(number == 7, "it is set up for everyone");
    return NULL;
}

static void set_up_by(int threads)
{
    pthread_t other[2];
    for (int i = 0; i < threads - 1; i++)
        other[i] = vgc_thread_start(use, NULL);
    (void)use(NULL);
    for (int i = 0; i < threads - 1; i++)
        vgc_thread_join(other[i]);
    vgc_assert(made == 1, "it is set up once");
}

#define ONCE "a process's data is set up once, and nobody who waits for that is forgotten"

VGC_SCENARIO(adopt_two, ONCE, .opt.spurious = 1, .bound = "2 threads, 1 spurious return")
{
    set_up_by(2);
}

VGC_SCENARIO(adopt_three, ONCE, .bound = "3 threads")
{
    set_up_by(3);
}

VGC_SCENARIO(adopt_child, ONCE, .bound = "2 threads of a child; its parent was in the middle of it", .arg = "forked")
{
    atomic_init(&owner, VG_ADOPTING | 1); /* process 1 is not us */
    set_up_by(2);
}
