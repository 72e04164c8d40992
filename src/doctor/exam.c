/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "exam.h"
#include "core.h"
#include "diagnoses.h"
#include "graph.h"
#include "limits.h"
#include "locks.h"
#include "peers.h"
#include "procfs.h"
#include "python.h"
#include "sights.h"
#include "spins.h"
#include "stacks.h"
#include "waits.h"
#include "base/clock.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    EXAM_ROUNDS = 4, /* looks, besides the last; processes that are found in one are looked at in the next */
    EXAM_SPAN_MS = 800,
    EXAM_STACKS_MS = 40000 /* by the clock: on a full machine it takes longer; fence_in.c limits processor time */
};

void vg_exam_note(vg_exam *exam, const char *format, ...)
{
    char text[sizeof exam->notes[0]];
    va_list words;
    va_start(words, format);
    (void)vsnprintf(text, sizeof text, format, words);
    va_end(words);
    for (unsigned i = 0; i < exam->note_count; i++)
        if (strcmp(exam->notes[i], text) == 0)
            return;
    if (exam->note_count < sizeof exam->notes / sizeof exam->notes[0])
        memcpy(exam->notes[exam->note_count++], text, sizeof text);
}

static void look_at_all(vg_exam *exam)
{
    const unsigned many = exam->process_count;
    for (unsigned i = 0; i < many; i++) {
        vg_sight_look(exam, i);
        for (unsigned t = exam->processes[i].first; t < exam->processes[i].first + exam->processes[i].count; t++) {
            vg_exam_thread *thread = &exam->threads[t];
            if (thread->looks < 2)
                thread->stop_seen = false;
            else if (thread->state == 'T' || thread->state == 't')
                thread->stop_seen = true;
        }
    }
}

static void classify_all(vg_exam *exam, vg_peers *peers)
{
    const unsigned many = exam->thread_count;
    for (unsigned i = 0; i < many; i++) {
        vg_exam_thread *thread = &exam->threads[i];
        vg_waits_classify(exam, peers, i);
        const pid_t owner = vg_locks_owner_now(exam, thread);
        const bool is_mutex = thread->wait.kind == VG_NEED_MUTEX;
        thread->owner_steady = !is_mutex || thread->owner_before == 0 || owner == thread->owner_before;
        if (!thread->owner_steady)
            thread->same = false; /* the lock went through other hands: it is in use */
        thread->owner_before = owner;
    }
}

static void wait_ns(uint64_t ns)
{
    const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* Why the memory of a process may not be read: which setting stands in the way. */
static void explain_refusal(vg_exam_process *process)
{
    char mine[4096], its[4096], text[64];
    process->readable = false;
    (void)vg_proc_read(its, sizeof its, "/proc/%d/status", (int)process->pid);
    (void)vg_proc_read(mine, sizeof mine, "/proc/self/status");
    const uint64_t user = vg_proc_field(its, "Uid", 10, 0);
    if (vg_proc_read(text, sizeof text, "/proc/sys/kernel/yama/ptrace_scope") <= 0)
        text[0] = '0';
    if (user != geteuid() && geteuid() != 0)
        (void)snprintf(
            process->refusal, sizeof process->refusal,
            "It belongs to user %llu, and you are user %u: its memory and stacks may not be read. Run this command as "
            "that user or as root (sudo).",
            (unsigned long long)user, (unsigned)geteuid());
    else if (text[0] == '3')
        (void)snprintf(process->refusal, sizeof process->refusal,
                       "kernel.yama.ptrace_scope is 3: nobody may look into another process until the next boot.");
    else if (text[0] >= '1' && geteuid() != 0)
        (void)snprintf(process->refusal, sizeof process->refusal,
                       "kernel.yama.ptrace_scope is %c: only root may look into other processes. Run this command as "
                       "root (sudo), or "
                       "set it to 0: sysctl kernel.yama.ptrace_scope=0.",
                       text[0]);
    else if (geteuid() == 0)
        (void)snprintf(
            process->refusal, sizeof process->refusal,
            "Root may not look into it either: this command lacks CAP_SYS_PTRACE (in a container: --cap-add "
            "SYS_PTRACE, or a seccomp profile that allows process_vm_readv), or a security module forbids it.");
    else
        (void)snprintf(
            process->refusal, sizeof process->refusal,
            "It is not dumpable: it has changed its user or its rights, or has asked for it (PR_SET_DUMPABLE). Run "
            "this command as root (sudo).");
}

static void check_access(vg_exam *exam, unsigned process)
{
    vg_exam_process *p = &exam->processes[process];
    if (p->refusal[0] != '\0' || p->dead || p->gone)
        return;
    char text[512];
    ssize_t got = vg_proc_read(text, sizeof text, "/proc/%d/maps", (int)p->pid);
    if (got > 0) {
        /* Where nothing is mapped: the kernel looks at our rights first, and no page has to arrive. */
        char byte;
        struct iovec to = {&byte, 1}, from = {(void *)(uintptr_t)1, 1}; // NOLINT(performance-no-int-to-ptr)
        if (process_vm_readv(p->pid, &to, 1, &from, 1, 0) == 1 || (errno != EPERM && errno != ENOSYS))
            return;
    } else if (got == 0) {
        return; /* a kernel thread or a zombie: there is no memory */
    }
    explain_refusal(p);
}

static int by_importance(const void *a, const void *b)
{
    const vg_diagnosis *left = a, *right = b;
    return ((int)left->kind > (int)right->kind) - ((int)left->kind < (int)right->kind);
}

static void conclude(vg_exam *exam)
{
    const char *language = exam->processes[0].language;
    vg_graph_solve(exam);
    /* Goroutines and Java's monitors are not visible in threads; their runtimes park threads as they like. */
    const bool managed = language != NULL && (strcmp(language, "Go") == 0 || strcmp(language, "Java") == 0);
    if (!managed)
        vg_graph_judge(exam);
    vg_diagnose_threads(exam);
    if (managed)
        vg_exam_note(exam,
                     strcmp(language, "Go") == 0 ? "This is a Go program. Goroutines are not threads, so a deadlock "
                                                   "among them cannot be seen from here: "
                                                   "kill -QUIT %d makes it print all goroutines and end."
                                                 : "This is a Java program. Its monitors are not visible here: jcmd %d "
                                                   "Thread.print shows them, and names "
                                                   "deadlocks.",
                     (int)exam->processes[0].pid);
    qsort(exam->findings, exam->finding_count, sizeof exam->findings[0], by_importance);
}

static void add_notes(vg_exam *exam)
{
    const vg_exam_process *patient = &exam->processes[0];
    if (patient->count == 1 && exam->threads[patient->first].state == 'Z')
        vg_exam_note(
            exam,
            "The process has ended. It stays in the list of processes (a zombie) until its parent, process %d, waits "
            "for it.",
            (int)patient->parent);
    if (patient->language != NULL && strcmp(patient->language, "Python") == 0 && patient->gil_thread >= 0)
        vg_exam_note(exam, "Python's global interpreter lock is held by thread %d.",
                     (int)exam->threads[patient->gil_thread].tid);
    if (patient->language != NULL && strcmp(patient->language, "Node") == 0)
        vg_exam_note(exam, "This is Node: thread %d runs JavaScript, the others are libuv's and V8's pools.",
                     (int)patient->pid);
    for (unsigned i = 0; i < exam->process_count; i++)
        if (exam->absent[i])
            vg_exam_note(exam,
                         "A page of the memory of process %d does not arrive: it belongs to a userfaultfd that nobody "
                         "serves, or to a file on a disk or server that does not answer. What lies there is not known.",
                         (int)exam->processes[i].pid);
    if (exam->stacks_cut)
        vg_exam_note(exam, "Reading the stacks took too long or failed; some are missing.");
    if (patient->musl)
        vg_exam_note(exam, "This program uses musl, whose normal mutexes do not note who holds them.");
}

static vg_exam *exam_create(const vg_exam_options *options)
{
    vg_exam *exam = calloc(1, sizeof *exam);
    if (exam == NULL)
        return NULL;
    exam->absent = calloc(VG_EXAM_PROCESSES, sizeof *exam->absent);
    if (exam->absent == NULL) {
        free(exam);
        return NULL;
    }
    if (options != NULL)
        exam->options = *options;
    if (exam->options.span_ns == 0)
        exam->options.span_ns = (uint64_t)EXAM_SPAN_MS * 1000000;
    if (exam->options.stacks_ns == 0)
        exam->options.stacks_ns = (uint64_t)EXAM_STACKS_MS * 1000000;
    exam->began_ns = vg_now_ns();
    return exam;
}

/* A thread with a real-time policy keeps its processor from everybody else, us among them: run elsewhere, if there is
   another one. `before` is where we may run. */
static bool leave_processors(const vg_exam *exam, cpu_set_t *before)
{
    if (sched_getaffinity(0, sizeof *before, before) != 0)
        return false;
    cpu_set_t rest = *before;
    for (unsigned i = 0; i < exam->thread_count; i++) {
        const vg_exam_thread *t = &exam->threads[i];
        if (t->state == 'R' && (t->policy == SCHED_FIFO || t->policy == SCHED_RR) && t->processor >= 0)
            CPU_CLR((size_t)t->processor, &rest);
    }
    return CPU_COUNT(&rest) != 0 && !CPU_EQUAL(&rest, before) && sched_setaffinity(0, sizeof rest, &rest) == 0;
}

int vg_exam_process_run(vg_exam **result, pid_t pid, const vg_exam_options *options)
{
    vg_exam *exam = exam_create(options);
    *result = exam;
    if (exam == NULL)
        return -ENOMEM;
    vg_peers *peers = vg_peers_create();
    vg_limits limits;
    if (peers == NULL || vg_sight_add(exam, pid) < 0) {
        vg_peers_free(peers);
        return peers == NULL ? -ENOMEM : -ESRCH;
    }
    check_access(exam, 0);
    vg_limits_begin(exam, &limits);
    look_at_all(exam);
    if (exam->processes[0].count == 0) {
        vg_peers_free(peers);
        return -ESRCH;
    }
    cpu_set_t everywhere;
    const bool left = leave_processors(exam, &everywhere);
    classify_all(exam, peers);
    for (unsigned round = 0; round + 1 < EXAM_ROUNDS; round++) {
        const unsigned known = exam->process_count;
        wait_ns(exam->options.span_ns / EXAM_ROUNDS);
        look_at_all(exam);
        classify_all(exam, peers);
        for (unsigned i = known; i < exam->process_count; i++)
            check_access(exam, i);
    }
    for (unsigned i = 0; i < exam->thread_count; i++) {
        exam->threads[i].calm_ns = exam->threads[i].seen_ns;
        exam->threads[i].calm_run_ns = exam->threads[i].run_ns;
        exam->threads[i].calm_switches = exam->threads[i].switches;
    }
    vg_spins_sample(exam);
    if (!exam->options.no_stacks)
        vg_stacks_take(exam);
    vg_python_find(exam);
    wait_ns(exam->options.span_ns / EXAM_ROUNDS);
    look_at_all(exam);
    classify_all(exam, peers);
    look_at_all(exam); /* a thread that was woken before its memory was read holds what it waited for */
    for (unsigned i = 0; i < exam->process_count; i++)
        if (exam->processes[i].count > 0 && exam->threads[exam->processes[i].first].looks < 2)
            exam->processes[i].grew = true; /* seen once: who knows */
    if (left)
        (void)sched_setaffinity(0, sizeof everywhere, &everywhere);
    vg_peers_free(peers);
    conclude(exam);
    vg_limits_judge(exam, &limits);
    add_notes(exam);
    exam->took_ns = vg_now_ns() - exam->began_ns;
    return exam->processes[0].gone && exam->finding_count == 0 ? -ESRCH : 0;
}

int vg_exam_core_run(vg_exam **result, const char *path, const vg_exam_options *options)
{
    vg_exam *exam = exam_create(options);
    *result = exam;
    if (exam == NULL)
        return -ENOMEM;
    const int error = vg_core_load(exam, path);
    if (error != 0)
        return error;
    vg_peers *peers = vg_peers_create();
    if (peers == NULL)
        return -ENOMEM;
    if (!exam->options.no_stacks)
        vg_stacks_take(exam);
    vg_python_find(exam);
    classify_all(exam, peers);
    vg_peers_free(peers);
    conclude(exam);
    add_notes(exam);
    exam->took_ns = vg_now_ns() - exam->began_ns;
    return 0;
}

void vg_exam_free(vg_exam *exam)
{
    if (exam == NULL)
        return;
    if (exam->frames_bytes > 0)
        (void)munmap(exam->frames, exam->frames_bytes);
    vg_core_close(exam->core);
    free(exam->threads);
    free(exam->absent);
    free(exam);
}
