/* SPDX-License-Identifier: MIT */
/*
 * launch_as.c - start a program as another user or with a mask for files, which posix_spawn cannot. By fork: a child
 * that shared our memory and changed its user would take core dumps and debuggers from us too, because the system keeps
 * that permission with the memory.
 *
 * The child makes only calls that are safe after a fork of many threads. If one fails, its errno comes back through a
 * pipe that the exec closes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "launch_as.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_range_of(unsigned first, unsigned last)
{
#ifdef SYS_close_range
    if (first > last || syscall(SYS_close_range, first, last, 0U) == 0)
        return;
#endif
    struct rlimit limit; /* an old kernel: one by one */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= last)
        last = (unsigned)limit.rlim_cur;
    for (unsigned fd = first; fd <= last && fd != UINT32_MAX; fd++)
        (void)close((int)fd);
}

static void default_signals(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    for (int signo = 1; signo < NSIG; signo++)
        (void)sigaction(signo, &usual, NULL); /* fails for those that nobody may change */
}

/* The groups first: only the old user may choose them. */
static int become(const vigil_identity *identity)
{
    if (setgroups(identity->group_count, identity->groups) != 0 ||
        setresgid(identity->gid, identity->gid, identity->gid) != 0 ||
        setresuid(identity->uid, identity->uid, identity->uid) != 0)
        return errno;
    return 0;
}

/* In the child. Returns the errno of what failed. */
static int child_begin(const vigil_process_options *options, const int theirs[3], const int *further, int report)
{
    sigset_t none;
    const int first = 3 + (int)options->fd_count;
    for (int i = 0; i < 3; i++) {
        const int from = theirs[i] >= 0 ? theirs[i] : i;
        if (from != i ? dup2(from, i) < 0 : fcntl(i, F_SETFD, 0) != 0)
            return errno;
    }
    for (size_t i = 0; i < options->fd_count; i++)
        if (dup2(further[i], 3 + (int)i) < 0)
            return errno;
    close_range_of((unsigned)first, (unsigned)report - 1);
    close_range_of((unsigned)report + 1, UINT32_MAX);
    if ((options->session && setsid() < 0) || (!options->session && options->group && setpgid(0, 0) != 0) ||
        (options->cwd != NULL && chdir(options->cwd) != 0))
        return errno;
    if (options->umask != NULL)
        (void)umask(*options->umask);
    const int error = options->identity != NULL ? become(options->identity) : 0;
    if (error != 0)
        return error;
    default_signals();
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)execvpe(options->file != NULL ? options->file : options->argv[0], (char *const *)(uintptr_t)options->argv,
                  options->env != NULL ? (char *const *)(uintptr_t)options->env : environ);
    return errno;
}

/* What the child has to say: 0 if its exec has closed the pipe. */
static int wait_for_exec(int from, pid_t pid)
{
    int said = 0;
    ssize_t got;
    do
        got = read(from, &said, sizeof said);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof said)
        return 0;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return said;
}

int vg_launch_as(const vigil_process_options *options, const int theirs[3], const int *further, pid_t *pid)
{
    int ends[2];
    sigset_t all, before;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    const int report = fcntl(ends[1], F_DUPFD_CLOEXEC, 3 + (int)options->fd_count); /* above the child's numbers */
    int error = report < 0 ? errno : 0;
    (void)close(ends[1]);
    if (error == 0) {
        (void)sigfillset(&all); /* no handler of ours runs in the child */
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        *pid = fork();
        if (*pid == 0) {
            const int said = child_begin(options, theirs, further, report);
            (void)!write(report, &said, sizeof said);
            _exit(127);
        }
        error = *pid < 0 ? errno : 0;
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        (void)close(report);
    }
    if (error == 0)
        error = wait_for_exec(ends[0], *pid);
    (void)close(ends[0]);
    return error;
}
