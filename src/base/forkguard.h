/* SPDX-License-Identifier: MIT */
/*
 * forkguard.h - detect a forked child with one load. The guard is a page that the kernel wipes in the child
 * (MADV_WIPEONFORK); without that, pids are compared.
 */
#ifndef VG_BASE_FORKGUARD_H
#define VG_BASE_FORKGUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct vg_forkguard {
    const uint32_t *page; /* 1 in the process that made it, 0 in its children; 0 everywhere if the pid decides */
    pid_t pid;            /* 0: the page decides */
} vg_forkguard;

/* A page of zeros that the kernel fills with zeros again in the child of a fork; NULL: there is none. */
void *vg_forkguard_page(void);
void vg_forkguard_page_free(void *page); /* NULL is allowed */

int vg_forkguard_init(vg_forkguard *guard); /* 0; -ENOMEM */
void vg_forkguard_destroy(vg_forkguard *guard);
__attribute__((cold)) bool vg_forkguard_decide(const vg_forkguard *guard); /* the page is 0: is this a child? */

/* Only a hint: true in every child, and in every process without MADV_WIPEONFORK. */
static inline bool vg_forked_page(const vg_forkguard *guard)
{
    return __builtin_expect(*guard->page == 0, 0);
}

static inline bool vg_forked(const vg_forkguard *guard)
{
    return vg_forked_page(guard) && vg_forkguard_decide(guard);
}

#endif
