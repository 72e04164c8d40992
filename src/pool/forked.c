/* SPDX-License-Identifier: MIT */
/*
 * forked.c - the child of a task is not a worker. README.md, "File by file".
 */
#include "forked.h"

#include "base/log.h"
#include "own.h"
#include "run.h"
#include "worker_struct.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

void vg_forked_forget(void)
{
    vg_worker_here(NULL);
    vg_cancelling_top = NULL;
}

void vg_forked_end(int status)
{
    vg_log_last("process %d, the child of a fork inside a task, has returned from the task. It has no worker, so it "
                "ends here, with status "
                "%d. Let such a child end with _exit or exec.",
                (int)getpid(), status < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
    _exit(status < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

#ifdef VIGIL_CHECK
void vg_forked_watch(void)
{
}
#else
static void watch_forks_once(void)
{
    (void)pthread_atfork(NULL, NULL, vg_forked_forget); /* without memory: vigil_pool_destroy forgets as well */
}

void vg_forked_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks_once);
}
#endif
