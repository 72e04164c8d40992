/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "lineage.h"

#ifndef VIGIL_CHECK
#include "forkguard.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LINEAGE_MOST = INT32_MAX
};

_Atomic(_Atomic uint32_t *) vg_lineage_page;
static _Atomic uint32_t lineage_given; /* inherited: a child goes on behind its parent */
static _Atomic uint32_t
    lineage_by_pid; /* always 0, and stands for the page where the kernel wipes none: pids are compared */

static _Atomic uint32_t *open_lineage(void)
{
    _Atomic uint32_t *none = NULL;
    _Atomic uint32_t *page = vg_forkguard_page();
    _Atomic uint32_t *made = page != NULL ? page : &lineage_by_pid;
    /* relaxed: it is as the kernel gave it */
    if (atomic_compare_exchange_strong_explicit(&vg_lineage_page, &none, made, memory_order_relaxed,
                                                memory_order_relaxed))
        return made;
    vg_forkguard_page_free(page);
    return none;
}

uint32_t vg_lineage_slow(void)
{
    const int saved = errno;
    _Atomic uint32_t *page = atomic_load_explicit(&vg_lineage_page, memory_order_relaxed); /* as in vg_lineage */
    if (page == NULL)
        page = open_lineage();
    errno = saved;
    if (page == &lineage_by_pid)
        return (uint32_t)getpid();
    uint32_t none = 0;
    /* Given before it is ours: a fork in between finds it used. */
    const uint32_t number = atomic_fetch_add_explicit(&lineage_given, 1, memory_order_relaxed) % LINEAGE_MOST + 1;
    /* relaxed: the number alone; of several threads one wins */
    return atomic_compare_exchange_strong_explicit(page, &none, number, memory_order_relaxed, memory_order_relaxed)
               ? number
               : none;
}
#endif
