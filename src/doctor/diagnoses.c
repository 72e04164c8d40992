/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "diagnoses.h"
#include "graph.h"
#include "limits.h"
#include "locks.h"
#include "procfs.h"
#include "waits.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum {
    CONVOY_LEAST = 3,  /* waiters */
    YIELDS_LEAST = 8,  /* switches */
    YIELDS_NS = 200000 /* between two of them; a slice is longer */
};

const char *vg_diagnosis_name(vg_diagnosis_kind kind)
{
    static const char *const names[VG_DIAGNOSES] = {
        "deadlock", "self-deadlock", "orphaned lock", "lost wakeup", "lock held over a wait", "convoy", "spin",
        "starved",  "throttled",     "stopped",       "disk",        "descriptors",           "memory", "threads"};
    return (unsigned)kind < VG_DIAGNOSES ? names[kind] : "?";
}

const char *vg_need_kind_name(vg_need_kind kind)
{
    static const char *const names[] = {
        "running",   "mutex",      "stdio lock",  "read lock",    "write lock", "condition variable",
        "semaphore", "barrier",    "join",        "lock",         "futex",      "spinlock",
        "pipe read", "pipe write", "socket read", "socket write", "child",      "file lock",
        "sleep",     "poll",       "signal",      "input",        "kernel"};
    return (unsigned)kind < sizeof names / sizeof names[0] ? names[kind] : "?";
}

vg_diagnosis *vg_diagnose_add(vg_exam *exam, vg_diagnosis_kind kind, bool certain)
{
    static vg_diagnosis spare; /* beyond the last: nobody reads 32 verdicts */
    if (exam->finding_count == sizeof exam->findings / sizeof exam->findings[0])
        return &spare;
    vg_diagnosis *finding = &exam->findings[exam->finding_count++];
    *finding = (vg_diagnosis){.kind = kind, .certain = certain};
    return finding;
}

static void fill(char *to, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void fill(char *to, size_t room, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    (void)vsnprintf(to, room, format, words);
    va_end(words);
}
#define TITLE(finding, ...)  fill((finding)->title, sizeof(finding)->title, __VA_ARGS__)
#define ADVICE(finding, ...) fill((finding)->advice, sizeof(finding)->advice, __VA_ARGS__)

/* Threads that wait, directly or not, for one that the finding names. */
static unsigned behind(const vg_exam *exam, const vg_diagnosis *finding)
{
    unsigned count = 0;
    for (unsigned i = 0; i < exam->thread_count; i++) {
        bool named = false, leads = false;
        unsigned at = i;
        for (unsigned k = 0; k < finding->count; k++)
            named = named || finding->chain[k] == i;
        for (unsigned steps = 0; !named && !leads && steps < 64; steps++) {
            const vg_need *w = &exam->threads[at].wait;
            if (w->by != VG_BY_OWNER || w->owner < 0)
                break;
            at = (unsigned)w->owner;
            for (unsigned k = 0; k < finding->count; k++)
                leads = leads || finding->chain[k] == at;
        }
        count += leads;
    }
    return count;
}

static bool spans_processes(const vg_exam *exam, const unsigned *threads, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        if (exam->threads[threads[i]].process != exam->threads[threads[0]].process)
            return true;
    return false;
}

void vg_diagnose_circle(vg_exam *exam, const unsigned *circle, unsigned count, bool certain, bool loose)
{
    vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_DEADLOCK, certain);
    f->count = count;
    memcpy(f->chain, circle, count * sizeof *circle);
    f->more = behind(exam, f);
    const bool processes = spans_processes(exam, circle, count);
    bool joins = false, locks = false;
    for (unsigned i = 0; i < count; i++) {
        joins = joins || exam->threads[circle[i]].wait.kind == VG_NEED_JOIN;
        locks = locks || exam->threads[circle[i]].wait.kind != VG_NEED_JOIN;
    }
    if (processes)
        TITLE(f, "Deadlock between processes: %u threads wait for each other in a circle.", count);
    else if (!loose)
        TITLE(f, "Deadlock: %u threads wait for each other in a circle.", count);
    else
        TITLE(
            f,
            "Deadlock: %u threads wait for locks, and nobody is left who could release one. That is certain; which of "
            "them holds which is not, because these locks do not say who holds them.",
            count);
    if (processes)
        ADVICE(
            f,
            "One side must not wait while the other waits for it: close the ends of pipes that are not used, read "
            "before you wait for a child, and never write more than the other side reads. Ending one of the processes "
            "lets the others go on.");
    else if (joins && locks)
        ADVICE(f, "A thread must not hold a lock that another one needs in order to end while it joins that one.");
    else
        ADVICE(f,
               "Acquire these locks in one order everywhere, or hold only one at a time. The process cannot go on by "
               "itself: restart it.");
}

void vg_diagnose_self(vg_exam *exam, unsigned thread)
{
    vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_SELF, exam->threads[thread].wait.certain);
    f->count = 1;
    f->chain[0] = thread;
    f->more = behind(exam, f);
    TITLE(f, "Self-deadlock: thread %d waits for %s, which it holds itself.", (int)exam->threads[thread].tid,
          exam->threads[thread].wait.text);
    ADVICE(
        f,
        exam->threads[thread].wait.kind == VG_NEED_MUTEX
            ? "A function that holds the lock calls one that acquires it again, or a signal handler does. Split off a "
              "variant that expects the lock to be held, or make the mutex recursive."
            : "What runs under it needs it again. Split off a part that does not.");
}

void vg_diagnose_orphan(vg_exam *exam, unsigned thread)
{
    const vg_exam_thread *t = &exam->threads[thread];
    for (unsigned i = 0; i < exam->finding_count; i++) { /* one finding for one lock */
        vg_diagnosis *old = &exam->findings[i];
        if (old->kind == VG_DIAGNOSIS_ORPHAN && exam->threads[old->chain[0]].wait.address == t->wait.address &&
            exam->threads[old->chain[0]].process == t->process) {
            if (old->count < VG_EXAM_CHAIN)
                old->chain[old->count++] = thread;
            else
                old->more++;
            return;
        }
    }
    vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_ORPHAN, true);
    f->count = 1;
    f->chain[0] = thread;
    f->more = behind(exam, f);
    TITLE(f, "Orphaned lock: thread %d waits for %s, held by thread %d, which has ended without releasing it.",
          (int)t->tid, t->wait.text, (int)t->wait.owner_tid);
    ADVICE(
        f,
        "Look at the ways in which that thread could end while it held the lock: return, exit, cancellation, an "
        "exception. A robust mutex tells the next owner about it. In a child of fork, locks that other threads of the "
        "parent held stay locked for ever.");
}

/* A thread that could wake one of these, but waits for it: for a lock that it holds, or for its end. -1: none. */
static int waiter_of(const vg_exam *exam, const unsigned *threads, unsigned count)
{
    int found = -1;
    for (unsigned i = 0; i < exam->thread_count; i++) {
        const vg_need *w = &exam->threads[i].wait;
        if (exam->threads[i].gone || exam->threads[i].can_move || w->by != VG_BY_OWNER)
            continue;
        for (unsigned k = 0; k < count; k++)
            if (w->owner == (int)threads[k] && (found < 0 || w->kind != VG_NEED_JOIN))
                found = (int)i;
    }
    return found;
}

static void add_blocked(const vg_exam *exam, vg_diagnosis *f, unsigned waiter)
{
    const vg_exam_thread *t = &exam->threads[waiter];
    const size_t length = strlen(f->title);
    if (length == 0 || length + 1 >= sizeof f->title)
        return;
    if (t->wait.kind == VG_NEED_JOIN)
        fill(f->title + length - 1, sizeof f->title - length + 1, ": thread %d waits for %s.", (int)t->tid,
             t->wait.text);
    else
        fill(f->title + length - 1, sizeof f->title - length + 1, ": thread %d waits for %s, which thread %d holds.",
             (int)t->tid, t->wait.text, (int)exam->threads[t->wait.owner].tid);
    if (f->count < VG_EXAM_CHAIN)
        f->chain[f->count++] = waiter;
}

void vg_diagnose_lost(vg_exam *exam, const unsigned *threads, unsigned count, unsigned more)
{
    const vg_exam_process *process = &exam->processes[exam->threads[threads[0]].process];
    const vg_need *first = &exam->threads[threads[0]].wait;
    unsigned locks = 0, barriers = 0, polls = 0, pipes = 0, unknown = 0;
    for (unsigned i = 0; i < count; i++) {
        const vg_need_kind kind = exam->threads[threads[i]].wait.kind;
        locks += kind == VG_NEED_LOCK_WORD || kind == VG_NEED_READ_LOCK || kind == VG_NEED_WRITE_LOCK;
        barriers += kind == VG_NEED_BARRIER;
        polls += kind == VG_NEED_POLL;
        pipes += kind == VG_NEED_PIPE_READ || kind == VG_NEED_PIPE_WRITE || kind == VG_NEED_SOCKET_READ ||
                 kind == VG_NEED_SOCKET_WRITE;
        unknown += kind == VG_NEED_FUTEX;
    }
    if (locks == count) {
        vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_SELF, false);
        f->count = count;
        memcpy(f->chain, threads, count * sizeof *threads);
        f->more = more;
        TITLE(f,
              "Deadlock on one lock: thread %d waits for %s, and no other thread can move. Either it holds the lock "
              "itself, or "
              "the thread that held it has ended.",
              (int)exam->threads[threads[0]].tid, first->text);
        ADVICE(f, "Look for a function that acquires the lock again while it is held, also a signal handler, and for a "
                  "way to "
                  "end without releasing it. In a child of fork the other threads are gone, and the locks that they "
                  "held stay "
                  "locked.");
        return;
    }
    vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_LOST, unknown < count || process->count > 1 || count == 1);
    f->count = count;
    memcpy(f->chain, threads, count * sizeof *threads);
    f->more = more;
    if (barriers > 0)
        TITLE(f, "Thread %d waits for %s, and no thread is left that could come.", (int)exam->threads[threads[0]].tid,
              first->text);
    else if (pipes > 0 && first->peer_count == 1 && &exam->processes[first->peers[0]] == process)
        TITLE(f, "Thread %d waits for %s, but only this process itself has the other end open.",
              (int)exam->threads[threads[0]].tid, first->text);
    else
        TITLE(f, "Lost wakeup: thread %d waits for %s, and no thread is left that could give it.",
              (int)exam->threads[threads[0]].tid, first->text);
    const int blocked = waiter_of(exam, threads, count);
    if (blocked >= 0)
        add_blocked(exam, f, (unsigned)blocked);
    if (barriers > 0)
        ADVICE(f, "The barrier was made for more threads than there are, or one of them ended or is stuck before it.");
    else if (pipes > 0)
        ADVICE(
            f,
            "Close the ends of pipes and sockets that a process does not use: a reader sees the end only when the last "
            "writer has closed.");
    else if (polls > 0)
        ADVICE(f, "Nothing that is watched can become ready. Was a descriptor closed or never registered?");
    else if (blocked >= 0 && exam->threads[blocked].wait.kind != VG_NEED_JOIN)
        ADVICE(f, "Hold no lock during a wait if the thread that ends the wait needs it. A condition variable gives up "
                  "its own mutex alone, and a recursive one only once.");
    else
        ADVICE(
            f,
            "The wake came before the wait, or on another object, or never, or was to come from a thread that waits "
            "for the "
            "end of this one. Change the condition and signal under the mutex of the wait, and test the condition in a "
            "loop before waiting.");
}

/* ---- threads ---- */

/* The one thread that a finding names is of another process: who waits for it? */
static void add_waiter(const vg_exam *exam, vg_diagnosis *f, int waiter)
{
    if (waiter < 0)
        return;
    const vg_exam_thread *t = &exam->threads[waiter];
    const size_t length = strlen(f->title);
    f->chain[1] = f->chain[0];
    f->chain[0] = (unsigned)waiter;
    f->count = 2;
    fill(f->title + length - 1, sizeof f->title - length + 1, ", and thread %d waits for it: for %s.", (int)t->tid,
         t->wait.text);
}

static void find_convoys(vg_exam *exam, const vg_needed *needed)
{
    for (unsigned o = 0; o < exam->thread_count; o++) {
        const vg_exam_thread *owner = &exam->threads[o];
        unsigned waiters[VG_EXAM_CHAIN], count = 0, all = 0;
        const vg_need *lock = NULL;
        if (!owner->can_move || owner->gone || !needed->is[owner->process])
            continue;
        for (unsigned i = 0; i < exam->thread_count; i++) {
            const vg_exam_thread *t = &exam->threads[i];
            if (!t->same || t->wait.by != VG_BY_OWNER || t->wait.owner != (int)o || t->wait.kind == VG_NEED_JOIN ||
                t->wait.limited || !t->owner_steady)
                continue;
            lock = &t->wait;
            all++;
            if (count < VG_EXAM_CHAIN - 1)
                waiters[++count] = i;
        }
        const bool waits = owner->same && owner->wait.kind != VG_NEED_NONE;
        if (lock == NULL || (!waits && all < CONVOY_LEAST))
            continue;
        waiters[0] = o;
        vg_diagnosis *f = vg_diagnose_add(exam, all >= CONVOY_LEAST ? VG_DIAGNOSIS_CONVOY : VG_DIAGNOSIS_HELD, true);
        f->count = count + 1;
        f->more = all - count;
        memcpy(f->chain, waiters, (count + 1) * sizeof *waiters);
        if (waits)
            TITLE(f, "%u thread%s for %s. Thread %d holds it while it waits for %s.", all,
                  all == 1 ? " waits" : "s wait", lock->text, (int)owner->tid, owner->wait.text);
        else
            TITLE(f, "%u threads wait for %s. Thread %d has held it during all looks, and runs.", all, lock->text,
                  (int)owner->tid);
        ADVICE(f, waits ? "Release the lock before waiting for something slow, or wait with a time limit."
                        : "Do less under this lock: compute first, then acquire it; or split it.");
    }
}

/* A file lock whose owner, another process, sleeps. */
static void find_file_locks(vg_exam *exam, const vg_needed *needed)
{
    for (unsigned i = 0; i < exam->thread_count; i++) {
        const vg_exam_thread *t = &exam->threads[i];
        if (!needed->is[t->process] || !t->same || !t->can_move || t->wait.kind != VG_NEED_FILE_LOCK ||
            t->wait.by != VG_BY_PEERS)
            continue;
        const vg_exam_process *holder = &exam->processes[t->wait.peers[0]];
        unsigned still = 0;
        for (unsigned k = holder->first; k < holder->first + holder->count; k++)
            still += exam->threads[k].same;
        if (holder->count == 0 || still < holder->count || t->wait.peer_count != 1)
            continue;
        vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_HELD, true);
        f->count = 2;
        f->chain[0] = i;
        f->chain[1] = holder->first;
        TITLE(f, "Thread %d waits for %s. Process %d (%s) holds it, and sleeps.", (int)t->tid, t->wait.text,
              (int)holder->pid, holder->name);
        ADVICE(f,
               "Find out why process %d keeps the lock; it is released when that process unlocks it, closes the file "
               "or ends.",
               (int)holder->pid);
    }
}

static void find_spins(vg_exam *exam)
{
    for (unsigned i = 0; i < exam->thread_count; i++) {
        const vg_exam_thread *t = &exam->threads[i];
        if (!t->spins)
            continue;
        vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_SPIN, true);
        f->count = 1;
        f->chain[0] = i;
        const char *function = "";
        for (unsigned k = 0; k < t->frame_count && function[0] == '\0'; k++)
            function = t->frames[k].function;
        if (t->spin_call >= 0 && t->spin_call != SYS_sched_yield) {
            TITLE(f,
                  "Thread %d spins%s%.100s: it makes the same system call again and again, and each time nothing is "
                  "there.",
                  (int)t->tid, function[0] != '\0' ? " in " : "", function);
            ADVICE(f, "Let the call wait: with a timeout that is not 0, or on a descriptor that blocks; or wait with "
                      "poll or epoll before the next try.");
            continue;
        }
        TITLE(f, "Thread %d spins%s%.100s: it runs in one loop, and nothing in it changed between the looks.",
              (int)t->tid, function[0] != '\0' ? " in " : "", function);
        ADVICE(
            f,
            "Find who should change what the loop looks at; wait for it with a lock, a condition variable or a futex "
            "instead.");
    }
}

/* It gives its processor up again and again, after less than any slice. */
static bool yields(const vg_exam_thread *t)
{
    if (t->yields)
        return true;
    const uint64_t times = t->calm_switches - t->first_switches;
    return times > YIELDS_LEAST && (t->calm_run_ns - t->first_run_ns) / times < YIELDS_NS;
}

static void find_starved(vg_exam *exam, const vg_needed *needed)
{
    const vg_starving rule = vg_limits_starving();
    static const char *const policies[] = {"", "SCHED_FIFO", "SCHED_RR",      "SCHED_BATCH",
                                           "", "SCHED_IDLE", "SCHED_DEADLINE"};
    for (unsigned i = 0; i < exam->thread_count; i++) {
        const vg_exam_thread *t = &exam->threads[i];
        /* The kernel adds up how long a thread has waited only when it runs again: only run time tells. While we stop
           the thread that keeps it from running, it runs: that does not count. */
        const uint64_t span = t->calm_ns - t->first_seen_ns, run = t->calm_run_ns - t->first_run_ns;
        if (!needed->is[t->process] || t->gone || !t->ready || t->looks < 3 || span < rule.least_ns ||
            t->blocks != t->first_blocks || yields(t) || run > span / rule.part)
            continue;
        vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_STARVED, true);
        f->count = 1;
        f->chain[0] = i;
        const unsigned policy = (unsigned)t->policy < 7 ? (unsigned)t->policy : 0;
        TITLE(f, "Thread %d is starved: it could run, and in %.1f s it got a processor for %.1f ms%s%s.", (int)t->tid,
              (double)span / 1e9, (double)run / 1e6, policies[policy][0] != '\0' ? "; its policy is " : "",
              policies[policy]);
        add_waiter(exam, f, needed->waiter[t->process]);
        ADVICE(
            f,
            "Look at what else runs on its processors (top -H), at its priority and policy (chrt, nice), its affinity "
            "and its cgroup.");
    }
}

/* Python: one thread holds the interpreter's lock and sleeps, so no other runs. Those that wait for it sleep on a word
   of the runtime, for milliseconds at a time. */
static void find_interpreter(vg_exam *exam, const vg_needed *needed)
{
    for (unsigned p = 0; p < exam->process_count; p++) {
        const vg_exam_process *process = &exam->processes[p];
        const vg_exam_thread *holder = process->gil_thread >= 0 ? &exam->threads[process->gil_thread] : NULL;
        unsigned waiters[VG_EXAM_CHAIN], count = 0, more = 0;
        if (holder == NULL || !holder->same || holder->gone || !needed->is[p])
            continue;
        for (unsigned i = process->first; i < process->first + process->count; i++) {
            const vg_exam_thread *t = &exam->threads[i];
            if (t == holder || t->gone || !t->in_call || t->call != SYS_futex ||
                t->arg[0] - process->runtime >= process->runtime_bytes)
                continue;
            if (count + 1 < VG_EXAM_CHAIN)
                waiters[++count] = i;
            else
                more++;
        }
        if (count == 0)
            continue;
        waiters[0] = (unsigned)process->gil_thread;
        vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_HELD, true);
        f->count = count + 1;
        f->more = more;
        memcpy(f->chain, waiters, (count + 1) * sizeof *waiters);
        TITLE(f, "%u thread%s for Python's global interpreter lock. Thread %d holds it while it waits for %s.",
              count + more, count + more == 1 ? " waits" : "s wait", (int)holder->tid, holder->wait.text);
        ADVICE(f, "A function of a C extension waits without giving the lock up (Py_BEGIN_ALLOW_THREADS; with ctypes: "
                  "CDLL instead of PyDLL). No Python code runs until it returns.");
    }
}

static void title_traced(vg_diagnosis *f, const vg_exam_process *process)
{
    char raw[64] = "", name[64] = "?";
    if (vg_proc_read(raw, sizeof raw, "/proc/%u/comm", process->tracer) > 0)
        vg_text_copy(name, sizeof name, raw, strcspn(raw, "\n"), false);
    TITLE(f, "Process %d is stopped by a tracer, process %u (%s).", (int)process->pid, process->tracer, name);
}

static void find_states(vg_exam *exam, const vg_needed *needed)
{
    for (unsigned p = 0; p < exam->process_count; p++) {
        const vg_exam_process *process = &exam->processes[p];
        if (!needed->is[p])
            continue;
        unsigned stopped = 0, first = 0, disk = 0, first_disk = 0;
        char state = 0;
        for (unsigned i = process->first; i < process->first + process->count; i++) {
            const vg_exam_thread *t = &exam->threads[i];
            if (!t->gone && (t->state == 'T' || t->state == 't') && t->stop_seen) {
                first = stopped++ == 0 ? i : first;
                state = t->state;
            }
            if (!t->gone && t->state == 'D' && t->same && t->wait.kind != VG_NEED_CHILD)
                first_disk = disk++ == 0 ? i : first_disk;
        }
        if (stopped > 0) {
            vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_STOPPED, true);
            f->count = 1;
            f->chain[0] = first;
            f->more = stopped - 1;
            if (state == 't' || process->tracer != 0)
                title_traced(f, process);
            else
                TITLE(f, "Process %d is stopped by a signal (SIGSTOP, SIGTSTP, SIGTTIN or SIGTTOU).",
                      (int)process->pid);
            add_waiter(exam, f, needed->waiter[p]);
            if (state == 't' || process->tracer != 0)
                ADVICE(f, "Let the debugger continue it, or end the debugger.");
            else
                ADVICE(f,
                       "kill -CONT %d lets it go on. A background job that reads from or writes to its terminal is "
                       "stopped "
                       "again.",
                       (int)process->pid);
        }
        if (disk > 0) {
            vg_diagnosis *f = vg_diagnose_add(exam, VG_DIAGNOSIS_DISK, true);
            f->count = 1;
            f->chain[0] = first_disk;
            f->more = disk - 1;
            const char *where = exam->threads[first_disk].where, *answerer = vg_waits_answerer(where);
            TITLE(f, "Thread %d waits inside the kernel and cannot be interrupted (state D, in %s)%s%s%s.",
                  (int)exam->threads[first_disk].tid, where[0] != '\0' ? where : "an unknown function",
                  answerer != NULL ? ": " : "", answerer != NULL ? answerer : "",
                  answerer != NULL ? " does not answer" : "");
            add_waiter(exam, f, needed->waiter[p]);
            ADVICE(f, answerer != NULL
                          ? "The program is not to blame: look at the file system (mount, findmnt) and at what "
                            "serves it. A signal that kills ends the wait; unmounting by force ends it for all."
                          : "The program is not to blame: look at the disk, the network file system or the driver "
                            "(dmesg).");
        }
    }
}

void vg_diagnose_threads(vg_exam *exam)
{
    vg_needed needed;
    vg_graph_needed(exam, &needed);
    find_states(exam, &needed);
    find_convoys(exam, &needed);
    find_interpreter(exam, &needed);
    find_file_locks(exam, &needed);
    find_spins(exam);
    find_starved(exam, &needed);
}
