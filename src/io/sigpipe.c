/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "sigpipe.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

void vg_sigpipe_block(vg_sigpipe *it)
{
    sigset_t pipe_signal, pending;
    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_signal, &it->before);
    it->was_blocked = sigismember(&it->before, SIGPIPE) == 1;
    it->was_pending = false;
    if (it->was_blocked) { /* one that was not blocked cannot have been pending */
        (void)sigemptyset(&pending);
        (void)sigpending(&pending);
        it->was_pending = sigismember(&pending, SIGPIPE) == 1;
    }
}

void vg_sigpipe_restore(const vg_sigpipe *it, bool came)
{
    const int error = errno;
    if (came && !it->was_pending) {
        const struct timespec none = {0};
        sigset_t pipe_signal;
        (void)sigemptyset(&pipe_signal);
        (void)sigaddset(&pipe_signal, SIGPIPE);
        while (sigtimedwait(&pipe_signal, NULL, &none) < 0 && errno == EINTR)
            ;
    }
    if (!it->was_blocked)
        (void)pthread_sigmask(SIG_SETMASK, &it->before, NULL);
    errno = error;
}
