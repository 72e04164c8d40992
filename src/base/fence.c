/* SPDX-License-Identifier: MIT */
#include "fence.h"

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

void vg_fence_membarrier(void)
{
    int saved = errno;
    /* It can fail only if the process is not registered, which vg_fence_register has excluded; going on without the
       fence would lose wake-ups silently, so that would be the end. */
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) < 0)
        abort();
    errno = saved;
}
