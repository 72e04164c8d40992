/* SPDX-License-Identifier: MIT */
/*
 * forked.c - the child of a task is not a worker. README.md, "File by file".
 */
#include "forked.h"

#include "run.h"
#include "worker_struct.h"

#include <pthread.h>
#include <stddef.h>

void vg_forked_forget(void)
{
    vg_current_worker = NULL;
    vg_cancelling_top = NULL;
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
