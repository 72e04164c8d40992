/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "forkguard.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    VG_GUARD_BYTES = 4096
};

/* qemu-user accepts every advice: a kernel that takes an invalid one lies. */
static bool wiped_on_fork(void *page)
{
    return madvise(page, VG_GUARD_BYTES, -1) != 0 && madvise(page, VG_GUARD_BYTES, MADV_WIPEONFORK) == 0;
}

static void *map_guard_page(void)
{
    return mmap(NULL, VG_GUARD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void *vg_forkguard_page(void)
{
    void *page = map_guard_page();
    if (page == MAP_FAILED)
        return NULL;
    if (wiped_on_fork(page))
        return page;
    vg_forkguard_page_free(page);
    return NULL;
}

void vg_forkguard_page_free(void *page)
{
    if (page != NULL)
        (void)munmap(page, VG_GUARD_BYTES);
}

int vg_forkguard_init(vg_forkguard *guard)
{
    uint32_t *page = map_guard_page();
    if (page == MAP_FAILED)
        return -ENOMEM;
    guard->pid = wiped_on_fork(page) ? 0 : getpid();
    *page = guard->pid == 0;
    guard->page = page;
    return 0;
}

void vg_forkguard_destroy(vg_forkguard *guard)
{
    vg_forkguard_page_free((void *)(uintptr_t)guard->page);
    guard->page = NULL;
}

bool vg_forkguard_decide(const vg_forkguard *guard)
{
    return guard->pid == 0 || guard->pid != getpid();
}
