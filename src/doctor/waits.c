/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "waits.h"
#include "locks.h"
#include "memory.h"
#include "sysv.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <fcntl.h>

static void say(vg_need *wait, vg_need_kind kind, vg_waker by, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void say(vg_need *wait, vg_need_kind kind, vg_waker by, const char *format, ...)
{
    va_list words;
    wait->kind = kind;
    wait->by = by;
    va_start(words, format);
    (void)vsnprintf(wait->text, sizeof wait->text, format, words);
    va_end(words);
}

static void poll_set(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread, uint64_t address, uint64_t count)
{
    struct pollfd set[256];
    if (count > 256 || (count > 0 && !vg_memory_read(exam, thread->process, address, set, count * sizeof *set)))
        return;
    vg_peers_poll_begin(exam, thread);
    for (uint64_t i = 0; i < count; i++)
        if (set[i].fd >= 0)
            vg_peers_poll_add(exam, peers, thread, set[i].fd, (set[i].events & POLLOUT) != 0);
}

static void select_set(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread)
{
    const uint64_t most = thread->arg[0] < FD_SETSIZE ? thread->arg[0] : 0;
    vg_peers_poll_begin(exam, thread);
    for (unsigned which = 0; which < 2; which++) {
        fd_set set;
        FD_ZERO(&set);
        if (thread->arg[1 + which] == 0)
            continue;
        if (most == 0 ||
            !vg_memory_read(exam, thread->process, thread->arg[1 + which], &set, (size_t)(most + 63) / 64 * 8)) {
            thread->wait.by = VG_BY_OUTSIDE;
            return;
        }
        for (int fd = 0; (uint64_t)fd < most; fd++)
            if (FD_ISSET(fd, &set))
                vg_peers_poll_add(exam, peers, thread, fd, which == 1);
    }
}

static void classify_poll(vg_exam *exam, vg_peers *peers, vg_exam_thread *thread)
{
    vg_need *wait = &thread->wait;
    const uint64_t *arg = thread->arg;
    bool endless;
    switch (thread->call) {
    case SYS_poll:
        endless = (int)arg[2] < 0;
        break;
    case SYS_ppoll:
        endless = arg[2] == 0;
        break;
    case SYS_select:
    case SYS_pselect6:
        endless = arg[4] == 0;
        break;
    case SYS_epoll_pwait2:
        endless = arg[3] == 0;
        break;
    default:
        endless = (int)arg[3] < 0;
    }
    wait->limited = !endless;
    say(wait, VG_NEED_POLL, endless ? VG_BY_OUTSIDE : VG_BY_ITSELF, "descriptors");
    if (!endless)
        return;
    switch (thread->call) {
    case SYS_poll:
    case SYS_ppoll:
        if (arg[1] == 0)
            say(wait, VG_NEED_SIGNAL, VG_BY_OUTSIDE, "a signal");
        else
            poll_set(exam, peers, thread, arg[0], arg[1]);
        break;
    case SYS_select:
    case SYS_pselect6:
        if (arg[0] == 0)
            say(wait, VG_NEED_SIGNAL, VG_BY_OUTSIDE, "a signal");
        else
            select_set(exam, peers, thread);
        break;
    default:
        vg_peers_epoll(exam, peers, thread, (int)arg[0]);
    }
}

const char *vg_waits_answerer(const char *where)
{
    if (strncmp(where, "fuse_", 5) == 0 || strcmp(where, "request_wait_answer") == 0)
        return "the process of a FUSE file system";
    if (strncmp(where, "rpc_", 4) == 0 || strncmp(where, "nfs", 3) == 0)
        return "a server of NFS";
    if (strncmp(where, "cifs_", 5) == 0 || strncmp(where, "wait_for_response", 17) == 0)
        return "a server of SMB";
    return NULL;
}

void vg_waits_classify(vg_exam *exam, vg_peers *peers, unsigned index)
{
    vg_exam_thread *thread = &exam->threads[index];
    vg_need *wait = &thread->wait;
    *wait = (vg_need){.owner = -1, .fd = -1, .by = VG_BY_ITSELF};
    if (thread->gone || thread->state == 'R' || thread->state == 'Z' || thread->state == 'X')
        return;
    if (thread->state == 'T' || thread->state == 't') {
        say(wait, VG_NEED_SIGNAL, VG_BY_OUTSIDE,
            thread->state == 't' ? "its tracer: it is stopped" : "SIGCONT: it is stopped");
        return;
    }
    say(wait, VG_NEED_OTHER, VG_BY_OUTSIDE, "%s%s",
        thread->in_call ? "the kernel" : "memory or a call that is not shown",
        thread->state == 'D' ? " (state D)" : "");
    if (thread->where[0] != '\0' && strcmp(thread->where, "0") != 0)
        say(wait, VG_NEED_OTHER, VG_BY_OUTSIDE, "the kernel, in %s%s", thread->where,
            thread->state == 'D' ? " (state D)" : "");
    if (thread->in_call && vg_waits_answerer(thread->where) != NULL)
        say(wait, VG_NEED_OTHER, VG_BY_OUTSIDE, "an answer of %s (the kernel is in %s)",
            vg_waits_answerer(thread->where), thread->where);
    if (!thread->in_call)
        return;
    const uint64_t *arg = thread->arg;
    switch (thread->call) {
    case SYS_futex:
        vg_locks_classify(exam, thread);
        if (wait->shared || (arg[1] & 128) == 0)
            vg_peers_shared(exam, peers, thread);
        break;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
        say(wait, VG_NEED_SLEEP, VG_BY_ITSELF, "time: it sleeps");
        break;
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        classify_poll(exam, peers, thread);
        break;
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
        vg_peers_descriptor(exam, peers, thread, (int)arg[0], false);
        break;
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
        vg_peers_descriptor(exam, peers, thread, (int)arg[0], true);
        break;
    case SYS_accept:
    case SYS_accept4:
        say(wait, VG_NEED_INPUT, VG_BY_OUTSIDE, "a connection on descriptor %d", (int)arg[0]);
        break;
    case SYS_connect:
        say(wait, VG_NEED_INPUT, VG_BY_OUTSIDE, "the peer of descriptor %d to accept", (int)arg[0]);
        break;
    case SYS_wait4:
    case SYS_waitid:
        vg_peers_children(exam, thread,
                          thread->call == SYS_wait4 ? ((int)arg[0] > 0 ? (pid_t)arg[0] : 0)
                                                    : (arg[0] == 1 ? (pid_t)arg[1] : 0));
        break;
    case SYS_vfork:
    case SYS_clone:
    case SYS_clone3:
        vg_peers_children(exam, thread, 0);
        break;
    case SYS_fcntl:
        if (arg[1] != F_SETLKW && arg[1] != F_OFD_SETLKW)
            break;
        vg_peers_file_lock(exam, thread, (int)arg[0]);
        break;
    case SYS_flock:
        vg_peers_file_lock(exam, thread, (int)arg[0]);
        break;
    case SYS_semop:
    case SYS_semtimedop:
        wait->limited = thread->call == SYS_semtimedop && arg[3] != 0;
        say(wait, VG_NEED_SEMAPHORE, VG_BY_OUTSIDE, "the System V semaphores with the number %d", (int)arg[0]);
        (void)vg_sysv_semaphore(exam, thread, wait->text, sizeof wait->text);
        break;
    case SYS_msgrcv:
    case SYS_msgsnd:
        say(wait, VG_NEED_OTHER, VG_BY_OUTSIDE, "%s the System V message queue %d",
            thread->call == SYS_msgrcv ? "a message in" : "space in", (int)arg[0]);
        break;
    case SYS_mq_timedreceive:
    case SYS_mq_timedsend:
        wait->limited = arg[4] != 0;
        say(wait, VG_NEED_OTHER, VG_BY_OUTSIDE, "%s the message queue on descriptor %d",
            thread->call == SYS_mq_timedreceive ? "a message in" : "space in", (int)arg[0]);
        break;
    case SYS_open:
    case SYS_openat:
        if (strstr(thread->where, "wait_for_partner") != NULL)
            say(wait, VG_NEED_OTHER, VG_BY_OUTSIDE, "somebody who opens the other end of a named pipe");
        break;
    case SYS_futex_waitv:
        say(wait, VG_NEED_FUTEX, VG_BY_OUTSIDE, "a wake of one of %d futexes", (int)arg[1]);
        break;
    case SYS_pause:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
        say(wait, VG_NEED_SIGNAL, VG_BY_OUTSIDE, "a signal");
        break;
    case SYS_restart_syscall:
        say(wait, VG_NEED_OTHER, VG_BY_ITSELF, "a call with a timeout that was interrupted before");
        break;
    default:
        break;
    }
}
