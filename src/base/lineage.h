/* SPDX-License-Identifier: MIT */
/*
 * lineage.h - a number for this process that none of its ancestors has. A pid is not one: each PID namespace has its
 * own process 1, and numbers are used again. What is inherited from an ancestor is told from what is ours by it.
 */
#ifndef VG_BASE_LINEAGE_H
#define VG_BASE_LINEAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifdef VIGIL_CHECK
#include <unistd.h>

static inline uint32_t vg_lineage(void)
{
    return (uint32_t)getpid(); /* there is one process */
}
#else
extern _Atomic(_Atomic uint32_t *) vg_lineage_page; /* wiped in the child of a fork */
__attribute__((cold)) uint32_t vg_lineage_slow(void);

/* Not 0, and below 1 << 31. Any thread, and signal handlers. A child of vfork has its parent's. */
static inline uint32_t vg_lineage(void)
{
    /* relaxed: nobody has written to the page before it is here */
    _Atomic uint32_t *page = atomic_load_explicit(&vg_lineage_page, memory_order_relaxed);
    const uint32_t number = page != NULL ? atomic_load_explicit(page, memory_order_relaxed) : 0;
    return __builtin_expect(number != 0, 1) ? number : vg_lineage_slow();
}
#endif

#endif
