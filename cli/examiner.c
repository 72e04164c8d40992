/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "examiner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_BYTES = 64 << 20 /* of a result */
};

struct examiner {
    vigil_loop *loop;
    vigil_watch watch;
    pid_t child; /* 0: none */
    pid_t patient;
    int from;
    char *text;
    size_t size, room;
    bool done; /* and not asked for yet */
};

struct examiner *examiner_create(vigil_loop *loop)
{
    struct examiner *e = calloc(1, sizeof *e);
    if (e != NULL) {
        e->loop = loop;
        e->from = -1;
    }
    return e;
}

static void finish(struct examiner *e)
{
    if (e->watch.id != 0)
        vigil_watch_remove(e->loop, e->watch);
    e->watch.id = 0;
    close(e->from);
    e->from = -1;
    int status = 0;
    while (waitpid(e->child, &status, 0) < 0 && errno == EINTR)
        continue;
    e->child = 0;
    e->done = true;
}

void examiner_destroy(struct examiner *e)
{
    if (e == NULL)
        return;
    if (e->child > 0) {
        kill(e->child, SIGKILL);
        finish(e);
    }
    free(e->text);
    free(e);
}

static void take(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)loop, (void)watch, (void)events;
    struct examiner *e = arg;
    for (;;) {
        if (e->size + 65536 > e->room) {
            char *more = e->room < MOST_BYTES ? realloc(e->text, e->room * 2 + 65536) : NULL;
            if (more == NULL) {
                kill(e->child, SIGKILL);
                e->size = 0;
                finish(e);
                return;
            }
            e->text = more;
            e->room = e->room * 2 + 65536;
        }
        const ssize_t got = read(fd, e->text + e->size, e->room - e->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            finish(e);
            return;
        }
        e->size += (size_t)got;
    }
}

/* The command lies beside this program, or two folders up in bin. */
static void become_doctor(pid_t patient)
{
    static const char *const places[] = {"vigil", "../../bin/vigil"};
    char self[PATH_MAX], path[PATH_MAX + 64], pid[16];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return;
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(pid, sizeof pid, "%d", (int)patient);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s", self, places[i]);
        execl(path, "vigil", "doctor", "--json", pid, (char *)NULL);
    }
}

static void begin(struct examiner *e, pid_t patient)
{
    int ends[2];
    e->size = 0;
    e->patient = patient;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        e->done = true;
        return;
    }
    e->child = fork();
    if (e->child == 0) {
        if (dup2(ends[1], STDOUT_FILENO) >= 0)
            become_doctor(patient);
        _exit(1);
    }
    close(ends[1]);
    e->from = ends[0];
    fcntl(e->from, F_SETFL, O_NONBLOCK);
    if (e->child > 0 &&
        vigil_watch_add(e->loop, e->from, VIGIL_FD_READ, VIGIL_WATCH_UNREF, take, NULL, e, &e->watch) == 0)
        return;
    if (e->child > 0) {
        kill(e->child, SIGKILL);
        finish(e);
    } else {
        e->child = 0;
        close(e->from);
        e->done = true;
    }
}

const char *examiner_ask(struct examiner *e, pid_t pid, size_t *size)
{
    *size = 0;
    if (e->done && e->patient != pid)
        e->done = false; /* its caller has gone */
    if (e->done) {
        e->done = false;
        *size = e->size;
        return e->text != NULL ? e->text : "";
    }
    if (e->child == 0)
        begin(e, pid);
    return NULL;
}
