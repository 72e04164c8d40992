/* SPDX-License-Identifier: MIT */
#include "fence.h"
#include "log.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int vg_fence_register(void)
{
    int saved = errno;
    long rc = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    errno = saved;
    return rc < 0 ? -ENOSYS : 0;
}

/* Threads have relied on the light fence without a fence of their own: going on would lose wake-ups silently, and
   nothing else that the system offers reaches every running thread. So the process ends, and says why. */
static _Noreturn void end_without_membarrier(int error)
{
    vg_log_last(
        "membarrier(2) worked when the pool or loop was created and is refused now (errno %d), probably by a seccomp "
        "filter that was installed in between. Allow membarrier in the filter, create pools and loops after it, or "
        "create the pool with fences = VIGIL_FENCE_SYMMETRIC.",
        error);
    abort();
}

void vg_fence_membarrier(void)
{
    int saved = errno;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) < 0)
        end_without_membarrier(errno);
    errno = saved;
}
