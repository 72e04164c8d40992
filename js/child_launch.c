/* SPDX-License-Identifier: MIT */
/*
 * Starting a program. vigil_process_open starts children too, with three standard streams; programs of Node's kind give a child any
 * number of descriptors, another user, and its own argv[0].
 *
 * Between fork and exec only calls that a signal handler may make: other threads may have held any lock.
 */
#include "child_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int vg_child_pair(int pair[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? -errno : 0;
}

static void become(const vg_launch *launch, int report)
{
    sigset_t none;
    int error, copies[VG_CHILD_MOST];
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (int signo = 1; signo < NSIG; signo++)
        if (signo != SIGKILL && signo != SIGSTOP)
            sigaction(signo, &plain, NULL);
    if (launch->detached)
        setsid();
    /* First copies beyond all that will be overwritten, then to their places. */
    for (unsigned i = 0; i < launch->count; i++) {
        copies[i] = fcntl(launch->fds[i], F_DUPFD_CLOEXEC, (int)launch->count);
        if (copies[i] < 0)
            goto failed;
    }
    for (unsigned i = 0; i < launch->count; i++)
        if (dup2(copies[i], (int)i) < 0)
            goto failed;
    for (unsigned i = 0; i < launch->count && i < 3; i++) {
        /* Standard streams are expected to block. */
        int flags = fcntl((int)i, F_GETFL);
        if (flags >= 0 && flags & O_NONBLOCK && launch->fds[i] > 2)
            fcntl((int)i, F_SETFL, flags & ~O_NONBLOCK);
    }
    if (launch->cwd && chdir(launch->cwd) < 0)
        goto failed;
    if ((launch->gid >= 0 || launch->uid >= 0) && geteuid() == 0)
        setgroups(0, NULL);
    if (launch->gid >= 0 && setgid((gid_t)launch->gid) < 0)
        goto failed;
    if (launch->uid >= 0 && setuid((uid_t)launch->uid) < 0)
        goto failed;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (launch->env)
        environ = launch->env;
    execvp(launch->file, launch->argv);
failed:
    error = errno;
    (void)!write(report, &error, sizeof error);
    _exit(127);
}

pid_t vg_child_launch(const vg_launch *launch)
{
    int report[2], error = 0;
    sigset_t all, before;
    ssize_t count;
    pid_t pid;
    if (pipe2(report, O_CLOEXEC) < 0)
        return -errno;
    /* The pipe must not be where the child's own descriptors go. */
    if (report[1] < (int)launch->count) {
        int moved = fcntl(report[1], F_DUPFD_CLOEXEC, (int)launch->count);
        if (moved >= 0)
            close(report[1]);
        report[1] = moved >= 0 ? moved : report[1];
    }
    /* No handler of ours runs in the child. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0)
        become(launch, report[1]);
    error = pid < 0 ? errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    if (pid < 0) {
        close(report[0]);
        return -error;
    }
    do
        count = read(report[0], &error, sizeof error);
    while (count < 0 && errno == EINTR);
    close(report[0]);
    if (count == (ssize_t)sizeof error) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
        return -error;
    }
    return pid;
}
