/* SPDX-License-Identifier: MIT */
/*
 * Calls that wait, wake, or make threads, and that the engine does not model. A program that uses one is told so: it
 * must not pass because nobody looked. Linked by --wrap; the types do not matter, because none of them returns.
 */
#include "internal.h"
#include <stdio.h>
#include <stdlib.h>

_Noreturn void vgc_refuse(const char *name);
_Noreturn void vgc_refuse(const char *name)
{
    if (G.current >= 0)
        fail(VGC_MISUSE, "%s is not modelled", name);
    fprintf(stderr, "vigil check: %s was called outside of a scenario, and is not modelled\n", name);
    exit(2);
}

#define REFUSE(name)                    \
    _Noreturn void __wrap_##name(void); \
    _Noreturn void __wrap_##name(void)  \
    {                                   \
        vgc_refuse(#name);              \
    }

/* The list is also in cmake/VigilCheck.cmake. */
REFUSE(pthread_cancel)
REFUSE(pthread_kill)
REFUSE(pthread_tryjoin_np)
REFUSE(pthread_timedjoin_np)
REFUSE(pthread_clockjoin_np)
REFUSE(pthread_spin_init)
REFUSE(pthread_spin_lock)
REFUSE(pthread_spin_trylock)
REFUSE(pthread_spin_unlock)
REFUSE(pthread_mutex_consistent)
REFUSE(sem_open)
REFUSE(tss_create)
REFUSE(vfork)
REFUSE(fork)
REFUSE(posix_spawn)
REFUSE(posix_spawnp)
REFUSE(system)
REFUSE(select)
REFUSE(pselect)
REFUSE(ppoll)
REFUSE(pause)
REFUSE(sigsuspend)
REFUSE(sigwait)
REFUSE(sigwaitinfo)
REFUSE(sigtimedwait)
REFUSE(epoll_create)
REFUSE(accept)
REFUSE(accept4)
REFUSE(connect)
REFUSE(recv)
REFUSE(recvfrom)
REFUSE(recvmsg)
REFUSE(send)
REFUSE(sendto)
REFUSE(sendmsg)
REFUSE(flock)
REFUSE(lockf)
REFUSE(mq_receive)
REFUSE(mq_send)
REFUSE(msgrcv)
REFUSE(semop)
REFUSE(timer_create)
