/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <vigil/loop.h>
#include <vigil/pool.h>

#include "reader/process.h"
#include "say.h"
#include "view_text.h"

static bool read_of(pid_t pid, pid_t tid, const char *file, char *room, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, room, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    room[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* What a thread that is no worker and runs no loop sleeps in. */
static void foreign_words(pid_t pid, pid_t tid, char *room, size_t size)
{
    static const struct {
        const char *where, *words;
    } known[] = {{"futex", "a lock or a signal (futex)"},
                 {"ep_poll", "events (epoll)"},
                 {"poll", "events (poll)"},
                 {"select", "events (select)"},
                 {"pipe", "a pipe"},
                 {"nanosleep", "a time (sleep)"},
                 {"do_wait", "a child"},
                 {"sigtimedwait", "a signal"},
                 {"inet_csk_accept", "a connection"},
                 {"skb_wait", "a socket"},
                 {"unix_stream", "a socket"},
                 {"n_tty_read", "a terminal"}};
    char text[256];
    long number;
    uint64_t address, op, expected;
    if (read_of(pid, tid, "syscall", text, sizeof text) &&
        sscanf(text, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64, &number, &address, &op, &expected) == 4 &&
        number == SYS_futex) {
        const int owner = vg_process_mutex_owner(pid, address, (uint32_t)expected);
        if (owner > 0) {
            snprintf(room, size, "waits: mutex 0x%" PRIx64 " of thread %d", address, owner);
            return;
        }
    }
    if (!read_of(pid, tid, "wchan", text, sizeof text) || strcmp(text, "0") == 0) {
        snprintf(room, size, "waits");
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strstr(text, known[i].where) != NULL) {
            snprintf(room, size, "waits: %s", known[i].words);
            return;
        }
    snprintf(room, size, "waits in the kernel: %.60s", text);
}

static void describe(struct look *look, pid_t pid, struct thread_row *row, pid_t inner)
{
    const vg_snapshot *now = look->now;
    char words[512] = "";
    for (size_t p = 0; p < now->pool_count && words[0] == '\0'; p++)
        for (size_t w = 0; w < now->pools[p].worker_count; w++) {
            const vg_worker_view *worker = &now->pools[p].workers[w];
            if (worker->tid != inner)
                continue;
            if (worker->state == VIGIL_WORKER_PARKED && !worker->in_task)
                snprintf(words, sizeof words, "waits: work");
            else
                worker_words(look, worker, words, sizeof words);
        }
    for (size_t l = 0; l < now->loop_count && words[0] == '\0'; l++)
        if (now->loops[l].tid == inner) {
            if (now->loops[l].state == VIGIL_LOOP_SLEEPING)
                snprintf(words, sizeof words, "waits: events");
            else
                loop_words(look, &now->loops[l], words, sizeof words);
        }
    if (words[0] == '\0' && row->state == 'R')
        snprintf(words, sizeof words, "runs");
    if (words[0] == '\0')
        foreign_words(pid, row->tid, words, sizeof words);
    clean_text(row->does, sizeof row->does, words, strlen(words), false);
}

static struct thread_row *row_of(struct threads *threads, pid_t tid)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->of[i].tid == tid)
            return &threads->of[i];
    if (threads->count == threads->room) {
        const size_t room = threads->room > 0 ? 2 * threads->room : 64;
        struct thread_row *more = realloc(threads->of, room * sizeof *more);
        if (more == NULL)
            return NULL;
        threads->of = more;
        threads->room = room;
    }
    struct thread_row *row = &threads->of[threads->count++];
    *row = (struct thread_row){.tid = tid};
    return row;
}

static int busiest_first(const void *a, const void *b)
{
    const struct thread_row *x = a, *y = b;
    if (x->cpu != y->cpu)
        return x->cpu > y->cpu ? -1 : 1;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Its number in its own PID namespace, which its record has. */
static pid_t inner_number(pid_t pid, pid_t tid)
{
    char text[4096];
    if (!read_of(pid, tid, "status", text, sizeof text))
        return tid;
    const char *line = strstr(text, "NSpid:");
    pid_t last = tid;
    for (char *at = line != NULL ? (char *)(uintptr_t)line + 6 : NULL; at != NULL && *at != '\n' && *at != '\0';) {
        char *end;
        const long number = strtol(at, &end, 10);
        if (end == at)
            break;
        last = (pid_t)number;
        at = end;
    }
    return last;
}

bool threads_look(struct threads *threads, struct look *look)
{
    const pid_t pid = look->now->alive ? vg_reader_local_pid(look->reader) : 0;
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = pid > 0 ? opendir(path) : NULL;
    if (tasks == NULL)
        return false;
    struct timespec clock;
    clock_gettime(CLOCK_MONOTONIC, &clock);
    const uint64_t at = (uint64_t)clock.tv_sec * 1000000000 + (uint64_t)clock.tv_nsec;
    for (size_t i = 0; i < threads->count; i++)
        threads->of[i].seen = false;
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct thread_row *row = tid > 0 ? row_of(threads, tid) : NULL;
        if (row == NULL || !read_of(pid, tid, "stat", text, sizeof text))
            continue;
        const char *end = strrchr(text, ')'), *begin = strchr(text, '(');
        if (end == NULL || begin == NULL || end[1] == '\0')
            continue;
        row->seen = true;
        row->state = end[2];
        clean_text(row->name, sizeof row->name, begin + 1, (size_t)(end - begin - 1), false);
        const uint64_t before = row->run_ns;
        row->run_ns = read_of(pid, tid, "schedstat", text, sizeof text) ? strtoull(text, NULL, 10) : 0;
        row->known = threads->at_ns != 0 && at > threads->at_ns && before != 0;
        row->cpu =
            row->known && row->run_ns > before ? (double)(row->run_ns - before) / (double)(at - threads->at_ns) : 0;
        describe(look, pid, row, inner_number(pid, tid));
    }
    closedir(tasks);
    size_t kept = 0;
    for (size_t i = 0; i < threads->count; i++)
        if (threads->of[i].seen)
            threads->of[kept++] = threads->of[i];
    threads->count = kept;
    threads->at_ns = at;
    if (kept > 0)
        qsort(threads->of, kept, sizeof *threads->of, busiest_first);
    return kept > 0;
}

char threads_state(pid_t pid, pid_t tid)
{
    char text[512];
    const char *end = read_of(pid, tid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    return end != NULL && end[1] != '\0' ? end[2] : '\0';
}

void threads_free(struct threads *threads)
{
    free(threads->of);
    *threads = (struct threads){0};
}

const char *threads_heading(void)
{
    return "    THREAD NAME             CPU %  STATE   DOES OR WAITS FOR";
}

void threads_line(const struct thread_row *row, char *room, size_t size)
{
    const char *state = row->state == 'R'                        ? (row->cpu > 0 ? "on CPU" : "ready")
                        : row->state == 'D'                      ? "disk"
                        : row->state == 'T' || row->state == 't' ? "stopped"
                        : row->state == 'Z'                      ? "ended"
                                                                 : "asleep";
    snprintf(room, size, "%10d %-15s %6.1f  %-7s %s", (int)row->tid, row->name, 100 * row->cpu, state, row->does);
}
