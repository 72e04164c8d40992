/* SPDX-License-Identifier: MIT */
/*
 * vigil run --watch FILE: a process that starts the program, and starts it again when a file it has loaded changes.
 *
 * The program tells each file before it reads it, with a zero behind its name, through descriptor 3 (lib/modules.js).
 * The watcher watches the folders of these files, because editors replace files rather than write into them. A file
 * that changed between the program's start and the moment in which its folder is watched has a change time that says
 * so.
 *
 * A change is acted upon when nothing more has changed for QUIET_NS. The program gets SIGTERM, and is
 * killed after GRACE_NS.
 */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vigil/loop.h>

#define QUIET_NS 100000000
#define GRACE_NS 5000000000
#define REPORT   3 /* the descriptor of the program */

typedef struct file {
    int folder; /* inotify's number */
    char name[];
} file;

static struct {
    vigil_loop *loop;
    char **args;      /* of the program */
    const char *name; /* what was asked for */
    int inotify, report[2];
    char path[PATH_MAX]; /* the begin of a name that has not come whole */
    size_t path_length;
    void *files;            /* tsearch: struct file */
    struct timespec begun;  /* when the program was started */
    pid_t pid;              /* 0: it does not run */
    bool changed, stopping; /* a change waits for its time; the program has got SIGTERM */
    vigil_timer quiet, grace;
    int signo; /* that ended the watcher */
} the;

static int by_name(const void *a, const void *b)
{
    const file *first = a, *second = b;
    return first->folder != second->folder ? (first->folder < second->folder ? -1 : 1)
                                           : strcmp(first->name, second->name);
}

static void start(void);

/* ---- changes ---------------------------------------------------------------------------------------------------- */

static void end_it(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    (void)arg;
    if (the.pid)
        (void)kill(the.pid, SIGKILL);
}

static void restart(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)timer;
    (void)arg;
    the.changed = false;
    if (the.signo || the.stopping)
        return;
    (void)fprintf(stderr, "(vigil) %s starts again\n", the.name);
    if (!the.pid) {
        start();
        return;
    }
    the.stopping = true;
    (void)kill(the.pid, SIGTERM);
    (void)vigil_timer_start(loop, GRACE_NS, end_it, NULL, &the.grace);
}

static void change(void)
{
    if (the.changed)
        (void)vigil_timer_again(the.loop, the.quiet, QUIET_NS);
    else
        the.changed = vigil_timer_start(the.loop, QUIET_NS, restart, NULL, &the.quiet) == 0;
}

static void on_inotify(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    _Alignas(struct inotify_event) char bytes[16384];
    ssize_t got;
    (void)loop;
    (void)watch;
    (void)events;
    (void)arg;
    while ((got = read(fd, bytes, sizeof bytes)) > 0) {
        for (char *at = bytes; at < bytes + got;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
            at += sizeof *event + event->len;
            if (event->mask & IN_Q_OVERFLOW) {
                change(); /* it is not known what has changed */
            } else if (event->len > 0) {
                char room[sizeof(file) + NAME_MAX + 1];
                file *wanted = (file *)(void *)room;
                wanted->folder = event->wd;
                snprintf(wanted->name, NAME_MAX + 1, "%s", event->name);
                if (tfind(wanted, &the.files, by_name))
                    change();
            }
        }
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static void learn(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    struct stat found;
    if (!slash || (size_t)(slash - path) >= sizeof folder)
        return;
    snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    int number = inotify_add_watch(the.inotify, folder, IN_CLOSE_WRITE | IN_MOVED_TO);
    const char *name = slash + 1;
    const size_t length = strlen(name) + 1;
    file *made = number >= 0 ? malloc(sizeof *made + length) : NULL;
    if (!made)
        return;
    made->folder = number;
    memcpy(made->name, name, length);
    void *there = tsearch(made, &the.files, by_name);
    if (!there || *(file **)there != made)
        free(made);
    if (stat(path, &found) == 0 &&
        (found.st_ctim.tv_sec > the.begun.tv_sec ||
         (found.st_ctim.tv_sec == the.begun.tv_sec && found.st_ctim.tv_nsec > the.begun.tv_nsec)))
        change();
}

static void on_report(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    char bytes[4096];
    ssize_t got;
    (void)loop;
    (void)watch;
    (void)events;
    (void)arg;
    while ((got = read(fd, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            the.path[the.path_length] = bytes[i];
            if (bytes[i] == 0) {
                learn(the.path);
                the.path_length = 0;
            } else if (the.path_length < sizeof the.path - 1) {
                the.path_length++;
            }
        }
    }
}

/* ---- the program ------------------------------------------------------------------------------------------------ */

static void on_end(vigil_loop *loop, vigil_child child, pid_t pid, int code, int status, void *arg)
{
    (void)child;
    (void)pid;
    (void)arg;
    the.pid = 0;
    if (the.signo) {
        (void)vigil_loop_pause(loop);
    } else if (the.stopping) {
        the.stopping = false;
        (void)vigil_timer_cancel(loop, the.grace);
        start();
    } else {
        (void)fprintf(stderr, "(vigil) %s has ended (%s %d); a change starts it again\n", the.name,
                      code == CLD_EXITED ? "status" : "signal", status);
    }
}

static void start(void)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &the.begun); /* the clock of files */
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0 && (error = posix_spawnattr_init(&attributes)) == 0) {
        posix_spawn_file_actions_adddup2(&actions, the.report[1], REPORT);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
        error = posix_spawn(&the.pid, "/proc/self/exe", &actions, &attributes, the.args, environ);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (error == 0)
        error = -vigil_child_add(the.loop, the.pid, on_end, NULL, NULL);
    if (error != 0) {
        the.pid = 0;
        (void)fprintf(stderr, "vigil run: %s could not be started: %s\n", the.name, strerror(error));
    }
}

void vg_cli_watched(void)
{
    (void)fcntl(REPORT, F_SETFD, FD_CLOEXEC);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
}

/* ---- the watcher ------------------------------------------------------------------------------------------------ */

/* A signal that somebody has sent is the program's too; that of a terminal has reached it already. */
static void on_signal(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)signal;
    (void)arg;
    the.signo = info->signo;
    if (!the.pid)
        (void)vigil_loop_pause(loop);
    else if (info->code != SI_KERNEL)
        (void)kill(the.pid, info->signo);
}

static int watch(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    int error = vigil_loop_create(&the.loop, NULL);
    the.inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (error == 0 &&
        (the.inotify < 0 || pipe2(the.report, O_CLOEXEC) < 0 || fcntl(the.report[0], F_SETFL, O_NONBLOCK) < 0))
        error = -errno;
    if (error == 0)
        error = vigil_watch_add(the.loop, the.inotify, VIGIL_FD_READ, 0, on_inotify, NULL, NULL, NULL);
    if (error == 0)
        error = vigil_watch_add(the.loop, the.report[0], VIGIL_FD_READ, 0, on_report, NULL, NULL, NULL);
    for (size_t i = 0; error == 0 && i < sizeof signals / sizeof *signals; i++)
        error = vigil_signal_add(the.loop, signals[i], on_signal, NULL, NULL);
    if (error < 0)
        return error;
    start();
    /* The program may not come so far as to tell its own file. */
    char *full = realpath(the.name, NULL);
    if (full)
        learn(full);
    free(full);
    error = vigil_loop_run(the.loop, VIGIL_RUN);
    tdestroy(the.files, free);
    (void)vigil_loop_destroy(the.loop);
    return error < 0 ? error : 0;
}

int vg_cli_watch(int argc, char **argv, int rest)
{
    size_t count = 0;
    char child[] = "--watch-child", stop[] = "--";
    the.args = calloc((size_t)argc + 3, sizeof *the.args);
    if (!the.args)
        return 1;
    the.name = argv[rest];
    the.args[count++] = argv[0];
    for (int i = 1; i < rest; i++)
        if (strcmp(argv[i], "--watch") != 0 && strcmp(argv[i], "--") != 0)
            the.args[count++] = argv[i];
    the.args[count++] = child;
    the.args[count++] = stop;
    for (int i = rest; i < argc; i++)
        the.args[count++] = argv[i];
    int error = watch();
    free(the.args);
    if (error < 0) {
        (void)fprintf(stderr, "vigil run: nothing can be watched: %s\n", vigil_strerror(error));
        return 1;
    }
    return the.signo ? 128 + the.signo : 0;
}
