/* SPDX-License-Identifier: MIT */
/*
 * launch.c - start a program. posix_spawn shares the memory until the program is loaded, so its cost does not grow with
 * ours, and it says why a program could not be loaded. What it cannot do is in launch_as.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "launch.h"

#include "base/log.h"
#include "base/why.h"
#include "launch_as.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
#define LAUNCH_CLOSEFROM 1
#endif
#endif

static void close_three(int fds[3])
{
    for (int i = 0; i < 3; i++) {
        if (fds[i] >= 0)
            (void)close(fds[i]);
        fds[i] = -1;
    }
}

/* The number must be above those that the child gets: dup2 in the child would step on it. */
static int move_up(int *fd, int above)
{
    if (*fd >= above)
        return 0;
    const int moved = fcntl(*fd, F_DUPFD_CLOEXEC, above);
    if (moved < 0)
        return -errno;
    (void)close(*fd);
    *fd = moved;
    return 0;
}

/* Opened anew by its name in /proc it is the same pipe or terminal. A socket cannot be, other devices may do something
   else then, and the controlling side of a pseudo-terminal would be another one. */
static bool may_open_anew(int fd)
{
    struct stat what;
    char name[32];
    if (fstat(fd, &what) != 0)
        return false;
    return S_ISFIFO(what.st_mode) ||
           (S_ISCHR(what.st_mode) && isatty(fd) != 0 && ptsname_r(fd, name, sizeof name) != 0);
}

/* A child expects standard streams that block. Whether they do lies in the open file, which copies share: if that were
   changed, a stream of the program would block its loop. So the child gets an open file of its own. Returns its
   descriptor; -1: a copy will do, or must. number: of the child's standard stream. */
static int open_blocking(int fd, int number)
{
    char path[32];
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK) == 0 || !may_open_anew(fd))
        return -1;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const int kept = flags & (O_ACCMODE | O_APPEND | O_DIRECT);
    const int anew = open(path, kept | O_NONBLOCK | O_CLOEXEC | O_NOCTTY); /* a FIFO's open may wait for a peer */
    if (anew >= 0 && fcntl(anew, F_SETFL, kept) == 0)
        return anew;
    vg_log(
        VG_LOG_CHILD,
        "a child starts with standard stream %d that does not block, and may fail with EAGAIN: fd %d cannot be opened "
        "again by %s: %s. See that /proc is mounted, or give the child a pipe (VIGIL_STDIO_STREAM).",
        number, fd, path, strerror(errno));
    if (anew >= 0)
        (void)close(anew);
    return -1;
}

/* theirs[i]: what becomes the child's i; -1: its own. */
static int open_stdio(const vigil_process_options *options, int ours[3], int theirs[3])
{
    const int above = 3 + (int)options->fd_count;
    for (int i = 0; i < 3; i++) {
        int ends[2];
        int error = 0;
        switch (options->stdio[i].kind) {
        case VIGIL_STDIO_NULL:
            theirs[i] = open("/dev/null", (i == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
            error = theirs[i] < 0 ? -errno : 0;
            break;
        case VIGIL_STDIO_STREAM:
            if (pipe2(ends, O_CLOEXEC) != 0)
                return -errno;
            ours[i] = ends[i == 0 ? 1 : 0];
            theirs[i] = ends[i == 0 ? 0 : 1];
            break;
        case VIGIL_STDIO_FD:
            theirs[i] = open_blocking(options->stdio[i].fd, i);
            if (theirs[i] < 0)
                theirs[i] = fcntl(options->stdio[i].fd, F_DUPFD_CLOEXEC, above);
            error = theirs[i] < 0 ? -errno : 0;
            break;
        default:
            theirs[i] = open_blocking(i, i);
            break;
        }
        if (error == 0 && theirs[i] >= 0)
            error = move_up(&theirs[i], above);
        if (error == 0 && ours[i] >= 0)
            error = move_up(&ours[i], above);
        if (error != 0)
            return error;
    }
    return 0;
}

/* Copies of options->fds, close-on-exec and above the numbers that the child gets. */
static int copy_further(const vigil_process_options *options, int *copies)
{
    for (size_t i = 0; i < options->fd_count; i++) {
        copies[i] = fcntl(options->fds[i], F_DUPFD_CLOEXEC, 3 + (int)options->fd_count);
        if (copies[i] < 0)
            return -errno;
    }
    return 0;
}

/* Whatever else is open, and was not marked, is closed in the child. */
static int close_the_rest(posix_spawn_file_actions_t *actions, int from)
{
#ifdef LAUNCH_CLOSEFROM
    return posix_spawn_file_actions_addclosefrom_np(actions, from);
#else
    DIR *folder = opendir("/proc/self/fd");
    int rc = folder == NULL ? errno : 0;
    const struct dirent *entry;
    while (rc == 0 && (entry = readdir(folder)) != NULL) {
        const int fd = atoi(entry->d_name);
        const int flags = fd >= from ? fcntl(fd, F_GETFD) : -1;
        if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
            rc = posix_spawn_file_actions_addclose(actions, fd);
    }
    if (folder != NULL)
        (void)closedir(folder);
    return rc;
#endif
}

static int fill_actions(posix_spawn_file_actions_t *actions, const vigil_process_options *options, const int theirs[3],
                        const int *further)
{
    int rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++) /* with the same number twice it only loses close-on-exec */
        rc = posix_spawn_file_actions_adddup2(actions, theirs[i] >= 0 ? theirs[i] : i, i);
    for (size_t i = 0; i < options->fd_count && rc == 0; i++)
        rc = posix_spawn_file_actions_adddup2(actions, further[i], 3 + (int)i);
    if (rc == 0 && options->cwd != NULL)
        rc = posix_spawn_file_actions_addchdir_np(actions, options->cwd);
    if (rc == 0)
        rc = close_the_rest(actions, 3 + (int)options->fd_count);
    return rc;
}

/* Nothing blocked, nothing ignored, no handler. */
static int fill_attributes(posix_spawnattr_t *attributes, const vigil_process_options *options)
{
    sigset_t none, all;
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int rc = posix_spawnattr_setsigmask(attributes, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attributes, &all);
    if (options->session) {
        flags |= POSIX_SPAWN_SETSID;
    } else if (options->group) {
        flags |= POSIX_SPAWN_SETPGROUP;
        if (rc == 0)
            rc = posix_spawnattr_setpgroup(attributes, 0);
    }
    return rc == 0 ? posix_spawnattr_setflags(attributes, (short)flags) : rc;
}

static int spawn(const vigil_process_options *options, const int theirs[3], const int *further, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (options->identity != NULL || options->umask != NULL)
        return vg_launch_as(options, theirs, further, pid);
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0)
        return rc;
    rc = posix_spawnattr_init(&attributes);
    if (rc == 0) {
        rc = fill_actions(&actions, options, theirs, further);
        if (rc == 0)
            rc = fill_attributes(&attributes, options);
        if (rc == 0)
            rc = posix_spawnp(pid, options->file != NULL ? options->file : options->argv[0], &actions, &attributes,
                              (char *const *)(uintptr_t)options->argv,
                              options->env != NULL ? (char *const *)(uintptr_t)options->env : environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return rc;
}

int vg_launch(const vigil_process_options *options, int ends[3], pid_t *pid)
{
    int theirs[3] = {-1, -1, -1};
    int further[VG_LAUNCH_FDS];
    for (size_t i = 0; i < options->fd_count; i++)
        further[i] = -1;
    ends[0] = ends[1] = ends[2] = -1;
    int error = open_stdio(options, ends, theirs);
    if (error == 0)
        error = copy_further(options, further);
    if (error == 0)
        error = -spawn(options, theirs, further, pid);
    close_three(theirs);
    for (size_t i = 0; i < options->fd_count; i++)
        if (further[i] >= 0)
            (void)close(further[i]);
    if (error == 0)
        return 0;
    close_three(ends);
    return vg_why_say(error, "cannot start \"%s\"%s%s: %s", options->file != NULL ? options->file : options->argv[0],
                      options->cwd != NULL ? " in " : "", options->cwd != NULL ? options->cwd : "", strerror(-error));
}
