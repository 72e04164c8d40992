/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "sights.h"
#include "procfs.h"
#include "base/clock.h"
#include "base/present.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int vg_sight_thread(const vg_exam *exam, unsigned process, pid_t tid)
{
    const vg_exam_process *p = &exam->processes[process];
    for (unsigned i = p->first; i < p->first + p->count; i++)
        if (exam->threads[i].inner_tid == tid)
            return (int)i;
    return -1;
}

/* The last number of the line "NSpid:": what the innermost namespace calls it. */
static pid_t inner_number(const char *status, pid_t otherwise)
{
    const char *line = strstr(status, "\nNSpid:");
    if (line == NULL)
        return otherwise;
    pid_t last = otherwise;
    char *end;
    for (const char *at = line + 7; *at != '\n' && *at != '\0'; at = end) {
        const long number = strtol(at, &end, 10);
        if (end == at)
            break;
        last = (pid_t)number;
    }
    return last;
}

static bool read_stat(const char *text, vg_exam_thread *thread)
{
    /* The name may hold anything, parentheses too: it ends at the last one. */
    const char *end = strrchr(text, ')');
    int policy = 0, nice = 0, processor = -1;
    if (end == NULL || end[1] == '\0')
        return false;
    thread->state = end[2];
    /* field 3 is the state; 19 nice, 39 the processor, 41 policy */
    int field = 3;
    for (const char *at = end + 2; *at != '\0'; field++) {
        if (field == 19)
            nice = atoi(at);
        if (field == 39)
            processor = atoi(at);
        if (field == 41)
            policy = atoi(at);
        at = strchr(at, ' ');
        if (at == NULL)
            break;
        at++;
    }
    thread->nice = nice;
    thread->policy = policy;
    thread->processor = processor;
    return true;
}

static void read_call(const char *text, vg_exam_thread *thread)
{
    thread->in_call = false;
    thread->call = -1;
    thread->sp = thread->ip = 0;
    memset(thread->arg, 0, sizeof thread->arg);
    uint64_t *a = thread->arg;
    long number;
    if (sscanf(text, // NOLINT(cert-err34-c)
               "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
               &number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &thread->sp, &thread->ip) == 9) {
        thread->in_call = true;
        thread->call = number;
    } else {
        memset(thread->arg, 0, sizeof thread->arg);
        thread->sp = thread->ip = 0;
        if (sscanf(text, "-1 %" SCNx64 " %" SCNx64, &thread->sp, &thread->ip) != 2) // NOLINT(cert-err34-c)
            thread->sp = thread->ip = 0;
    }
}

static void look_at_thread(vg_exam_thread *thread, pid_t pid)
{
    char text[4096];
    const vg_exam_thread before = *thread;
    if (vg_proc_read(text, sizeof text, "/proc/%d/task/%d/stat", (int)pid, (int)thread->tid) < 0 ||
        !read_stat(text, thread)) {
        thread->gone = true;
        thread->same = false;
        return;
    }
    (void)vg_proc_read(text, sizeof text, "/proc/%d/task/%d/status", (int)pid, (int)thread->tid);
    thread->blocks = vg_proc_field(text, "voluntary_ctxt_switches", 10, 0);
    thread->switches = thread->blocks + vg_proc_field(text, "nonvoluntary_ctxt_switches", 10, 0);
    thread->inner_tid = inner_number(text, thread->tid);
    (void)vg_proc_read(text, sizeof text, "/proc/%d/task/%d/schedstat", (int)pid, (int)thread->tid);
    char *end = text;
    thread->run_ns = strtoull(text, &end, 10);
    thread->queue_ns = strtoull(end, NULL, 10);
    thread->seen_ns = vg_now_ns();
    if (vg_proc_read(text, sizeof text, "/proc/%d/task/%d/syscall", (int)pid, (int)thread->tid) < 0)
        text[0] = '\0';
    read_call(text, thread);
    if (vg_proc_read(text, sizeof text, "/proc/%d/task/%d/wchan", (int)pid, (int)thread->tid) > 0)
        vg_text_copy(thread->where, sizeof thread->where, text, strlen(text), false);
    if (thread->looks++ == 0) {
        thread->first_switches = thread->switches;
        thread->first_blocks = thread->blocks;
        thread->first_run_ns = thread->run_ns;
        thread->first_queue_ns = thread->queue_ns;
        thread->first_seen_ns = thread->seen_ns;
        thread->same = thread->state == 'S' || thread->state == 'D';
        thread->ready = thread->state == 'R';
        return;
    }
    thread->ready = before.ready && thread->state == 'R';
    thread->same = before.same && before.state == thread->state && before.switches == thread->switches &&
                   before.run_ns == thread->run_ns && before.call == thread->call && before.sp == thread->sp &&
                   before.in_call == thread->in_call && memcmp(before.arg, thread->arg, sizeof before.arg) == 0;
}

static const char *language_of(const vg_exam_process *process, const char *maps)
{
    (void)process;
    if (strstr(maps, "/libjvm.so") != NULL)
        return "Java";
    if (strstr(maps, "/libpython") != NULL || strncmp(process->name, "python", 6) == 0)
        return "Python";
    if (strcmp(process->name, "node") == 0 || strstr(maps, "/libnode.so") != NULL)
        return "Node";
    if (strstr(maps, "/libstdc++.so") != NULL || strstr(maps, "/libc++.so") != NULL)
        return "C++";
    return NULL;
}

static uint64_t signal_bit(int number)
{
    return UINT64_C(1) << (number - 1);
}

/* Signals that somebody sends, or a timer; faults and the two of the C library are not among them. */
#define SENT_SIGNALS                                                                                             \
    (signal_bit(SIGHUP) | signal_bit(SIGINT) | signal_bit(SIGUSR1) | signal_bit(SIGUSR2) | signal_bit(SIGALRM) | \
     signal_bit(SIGTERM) | signal_bit(SIGCHLD) | signal_bit(SIGIO) | ~UINT64_C(0) << 33)

enum {
    COMMAND_BYTES = 256
};

static void describe(vg_exam_process *process)
{
    char text[8192];
    const int pid = (int)process->pid;
    (void)vg_proc_read(text, sizeof text, "/proc/%d/comm", pid);
    text[strcspn(text, "\n")] = '\0';
    vg_text_copy(process->name, sizeof process->name, text, strlen(text), false);
    text[0] = '\0';
    /* The kernel reads the command line from the memory of the process. */
    const ssize_t length = vg_present_command(process->pid, COMMAND_BYTES)
                               ? vg_proc_read(text, COMMAND_BYTES, "/proc/%d/cmdline", pid)
                               : 0;
    for (ssize_t i = 0; i + 1 < length; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    vg_text_copy(process->command, sizeof process->command, text, strlen(text), false);
    if (vg_proc_link(text, sizeof text, "/proc/%d/exe", pid) > 0)
        vg_text_copy(process->exe, sizeof process->exe, text, strlen(text), false);
    (void)vg_proc_read(text, sizeof text, "/proc/%d/status", pid);
    process->tracer = (unsigned)vg_proc_field(text, "TracerPid", 10, 0);
    process->parent = (pid_t)vg_proc_field(text, "PPid", 10, 0);
    const uint64_t caught = vg_proc_field(text, "SigCgt", 16, 0);
    const size_t room = 1 << 20;
    char *maps = malloc(room);
    if (maps == NULL)
        return;
    const ssize_t got = vg_proc_read(maps, room, "/proc/%d/maps", pid);
    if (got > 0) {
        process->readable = true;
        process->language = language_of(process, maps);
        process->musl = strstr(maps, "/ld-musl-") != NULL || strstr(maps, "-musl/") != NULL;
        process->vigil = strstr(maps, "/libvigil.so") != NULL || strstr(maps, "/vigil-") != NULL;
        /* Python has a handler for SIGINT in any case, which posts nothing. */
        const bool is_python = process->language != NULL && strcmp(process->language, "Python") == 0;
        process->handles_signals = (caught & (is_python ? SENT_SIGNALS & ~signal_bit(SIGINT) : SENT_SIGNALS)) != 0;
    } else {
        process->readable = false;
    }
    free(maps);
}

int vg_sight_add(vg_exam *exam, pid_t pid)
{
    for (unsigned i = 0; i < exam->process_count; i++)
        if (exam->processes[i].pid == pid)
            return (int)i;
    char text[64];
    if (exam->process_count == VG_EXAM_PROCESSES || vg_proc_read(text, sizeof text, "/proc/%d/comm", (int)pid) < 0)
        return -1;
    vg_exam_process *process = &exam->processes[exam->process_count];
    *process = (vg_exam_process){.pid = pid, .gil_thread = -1};
    describe(process);
    return (int)exam->process_count++;
}

/* Room for one process's threads, behind those of the others. */
static bool enter_threads(vg_exam *exam, vg_exam_process *process)
{
    pid_t *tids;
    const int count = vg_proc_numbers(&tids, "/proc/%d/task", (int)process->pid);
    if (count <= 0) {
        process->gone = true;
        return false;
    }
    unsigned many = (unsigned)count;
    if (many > VG_EXAM_THREADS - exam->thread_count) {
        many = VG_EXAM_THREADS - exam->thread_count;
        vg_exam_note(exam, "Process %d has %d threads; only %u were looked at.", (int)process->pid, count, many);
    }
    if (exam->thread_count + many > exam->thread_room) {
        const unsigned room = exam->thread_count + many + 64;
        vg_exam_thread *more = realloc(exam->threads, room * sizeof *more);
        if (more == NULL) {
            free(tids);
            return false;
        }
        exam->threads = more;
        exam->thread_room = room;
    }
    process->first = exam->thread_count;
    process->count = many;
    for (unsigned i = 0; i < many; i++) {
        vg_exam_thread *thread = &exam->threads[exam->thread_count++];
        *thread = (vg_exam_thread){.process = (unsigned)(process - exam->processes),
                                   .tid = tids[i],
                                   .inner_tid = tids[i],
                                   .is_main = tids[i] == process->pid,
                                   .wait = {.owner = -1, .fd = -1}};
        char text[64];
        if (vg_proc_read(text, sizeof text, "/proc/%d/task/%d/comm", (int)process->pid, (int)tids[i]) > 0)
            vg_text_copy(thread->name, sizeof thread->name, text, strcspn(text, "\n"), false);
    }
    free(tids);
    return true;
}

void vg_sight_look(vg_exam *exam, unsigned process)
{
    vg_exam_process *p = &exam->processes[process];
    if (p->gone || p->dead || (p->count == 0 && !enter_threads(exam, p)))
        return;
    unsigned gone = 0;
    for (unsigned i = p->first; i < p->first + p->count; i++) {
        if (!exam->threads[i].gone)
            look_at_thread(&exam->threads[i], p->pid);
        gone += exam->threads[i].gone;
    }
    p->gone = gone == p->count;
    pid_t *tids;
    const int count = vg_proc_numbers(&tids, "/proc/%d/task", (int)p->pid);
    for (int i = 0, at = 0; i < count; i++) { /* both are sorted */
        while ((unsigned)at < p->count && exam->threads[p->first + (unsigned)at].tid < tids[i])
            at++;
        if ((unsigned)at == p->count || exam->threads[p->first + (unsigned)at].tid != tids[i])
            p->grew = true;
    }
    free(tids);
}
