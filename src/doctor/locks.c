/* SPDX-License-Identifier: MIT */
/*
 * The layouts are those of the 64-bit ABI of glibc (nptl) and musl. A word that does not fit its layout gives a weaker
 * answer, never a wrong owner: an owner must be a living thread of the patient, or the rest of the object must fit.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "locks.h"
#include "futex_names.h"
#include "memory.h"
#include "own_locks.h"
#include "procfs.h"
#include "sights.h"
#include "base/lock_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    TLS_SELF = 16,       /* of glibc's struct pthread: the pointer to itself, */
    TLS_TID = 720,       /* the thread's number */
    MUSL_TID_BACK = 8,   /* of musl's: the number lies so far in front of the word that a join waits on, */
    MUSL_SELF_BACK = 56, /* and the pointer to itself so far */
    MUSL_JOINABLE = 2,
    MUSL_HELD = 16, /* EBUSY: a normal mutex of musl that is held says no more */
    CONDITION_BACK = 40,
    OWN_STACK = 4096,
    INNERMOST = 10 /* frames that can belong to the wait */
};

/* Without underscores and pthread_ in front. */
static const char *plain_name(const char *name)
{
    while (*name == '_')
        name++;
    return strncmp(name, "pthread_", 8) == 0 ? name + 8 : name;
}

bool vg_locks_in(const vg_exam_thread *thread, const char *name)
{
    for (unsigned i = 0; i < thread->frame_count && i < INNERMOST; i++) {
        const char *function = plain_name(thread->frames[i].function);
        const size_t length = strlen(name);
        if (strncmp(function, name, length) == 0 && (function[length] == '\0' || function[length] == '@'))
            return true;
    }
    return false;
}

static bool has_text(const vg_exam_thread *thread, const char *part)
{
    for (unsigned i = 0; i < thread->frame_count && i < INNERMOST; i++)
        if (strstr(thread->frames[i].function, part) != NULL)
            return true;
    return false;
}

static void set_text(vg_need *wait, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void set_text(vg_need *wait, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    (void)vsnprintf(wait->text, sizeof wait->text, format, words);
    va_end(words);
}

/* Say who holds it; a thread of another process too, if the lock is shared. */
static void set_owner(vg_exam *exam, const vg_exam_thread *thread, vg_need *wait, pid_t tid)
{
    const vg_exam_process *process = &exam->processes[thread->process];
    wait->owner_tid = tid;
    wait->by = VG_BY_OWNER;
    wait->certain = true;
    wait->owner = vg_sight_thread(exam, thread->process, tid);
    if (wait->owner >= 0) {
        wait->owner_gone = exam->threads[wait->owner].gone;
        return;
    }
    for (unsigned i = 0; wait->shared && i < exam->process_count; i++) {
        wait->owner = vg_sight_thread(exam, i, tid);
        if (wait->owner >= 0)
            return;
    }
    char text[4096];
    if (process->dead) {
        wait->owner_gone = true;
        return;
    }
    /* A thread that came after the first look is unknown, but there. */
    if (process->grew && vg_proc_read(text, 64, "/proc/%d/task/%d/comm", (int)process->pid, (int)tid) > 0) {
        wait->by = VG_BY_ITSELF;
        return;
    }
    if (wait->shared && vg_proc_read(text, sizeof text, "/proc/%d/status", (int)tid) > 0) {
        const pid_t other = (pid_t)vg_proc_field(text, "Tgid", 10, 0);
        (void)vg_sight_add(exam, other); /* the next look knows it */
        wait->by = VG_BY_OUTSIDE;
        return;
    }
    wait->owner_gone = true;
}

static const char *kind_words(int32_t kind)
{
    static const char *const names[4] = {"", " (recursive)", " (error-checking)", " (adaptive)"};
    if ((kind & VG_MUTEX_ROBUST) != 0)
        return " (robust)";
    return names[kind & VG_MUTEX_TYPE];
}

static bool mutex_fits(const vg_exam *exam, unsigned process, const vg_mutex_words *m)
{
    return vg_mutex_words_fit(m) && (vg_sight_thread(exam, process, m->owner) >= 0 || (m->kind & 0xf) <= VG_MUTEX_TYPE);
}

/* A mutex of glibc: C's, C11's and C++'s are the same object. */
static bool classify_mutex(vg_exam *exam, const vg_exam_thread *thread, vg_need *wait, bool named)
{
    vg_mutex_words m;
    if (!vg_memory_read(exam, thread->process, wait->address, &m, sizeof m))
        return false;
    const uint32_t expected = (uint32_t)thread->arg[2];
    const pid_t owner = vg_mutex_words_owner(&m, expected);
    if (owner == 0)
        return false;
    if (!mutex_fits(exam, thread->process, &m) && !(named && owner > 0 && (m.kind & ~VG_MUTEX_KINDS) == 0))
        return false;
    /* Only a stack without names leaves it to the words alone that an owner who is not there has ended. */
    if (!named && vg_sight_thread(exam, thread->process, owner) < 0 && (m.kind & VG_MUTEX_SHARED) == 0 &&
        (thread->frame_count == 0 || thread->frames[0].function[0] != '\0'))
        return false;
    wait->kind = VG_NEED_MUTEX;
    wait->shared = (m.kind & VG_MUTEX_SHARED) != 0;
    const char *whose = vg_futex_lock_of(thread);
    set_text(wait, "%s 0x%" PRIx64 "%s", whose != NULL ? whose : "the mutex", wait->address, kind_words(m.kind));
    set_owner(exam, thread, wait, owner);
    return true;
}

/* A mutex with priority inheritance: the kernel itself keeps the owner in the word. */
static void classify_inherit(vg_exam *exam, const vg_exam_thread *thread, vg_need *wait, bool shared)
{
    uint32_t word = 0;
    wait->kind = VG_NEED_MUTEX;
    wait->by = VG_BY_PROCESS;
    wait->shared = shared;
    set_text(wait, "the mutex 0x%" PRIx64 " (priority inheritance)", wait->address);
    if (vg_memory_read(exam, thread->process, wait->address, &word, sizeof word) && (word & VG_FUTEX_TID) != 0)
        set_owner(exam, thread, wait, (pid_t)(word & VG_FUTEX_TID));
}

/* The lock of a FILE: a word, a count, and the owner's struct pthread. */
static bool classify_stdio(vg_exam *exam, const vg_exam_thread *thread, vg_need *wait)
{
    struct {
        uint32_t lock, count;
        uint64_t owner;
    } file;
    uint64_t self;
    int32_t tid;
    if (!vg_memory_read(exam, thread->process, wait->address, &file, sizeof file) || file.lock != 2 ||
        file.count == 0 || file.count > 1U << 20 ||
        !vg_memory_read(exam, thread->process, file.owner + TLS_SELF, &self, sizeof self) || self != file.owner ||
        !vg_memory_read(exam, thread->process, file.owner + TLS_TID, &tid, sizeof tid) ||
        vg_sight_thread(exam, thread->process, tid) < 0)
        return false;
    wait->kind = VG_NEED_STDIO;
    set_text(wait, "the lock of the stdio stream at 0x%" PRIx64, wait->address);
    set_owner(exam, thread, wait, tid);
    return true;
}

static bool classify_join(vg_exam *exam, const vg_exam_thread *thread, vg_need *wait)
{
    int32_t tid = 0;
    uint64_t self = 0;
    if (!vg_memory_read(exam, thread->process, wait->address, &tid, sizeof tid))
        return false;
    const bool musl = (uint32_t)thread->arg[2] != (uint32_t)tid && exam->processes[thread->process].musl &&
                      (uint32_t)thread->arg[2] == MUSL_JOINABLE &&
                      vg_memory_read(exam, thread->process, wait->address - MUSL_SELF_BACK, &self, sizeof self) &&
                      self == wait->address - MUSL_SELF_BACK &&
                      vg_memory_read(exam, thread->process, wait->address - MUSL_TID_BACK, &tid, sizeof tid);
    const bool glibc = !musl && (uint32_t)thread->arg[2] == (uint32_t)tid;
    const int32_t found = (glibc || musl) && vg_sight_thread(exam, thread->process, tid) >= 0 ? tid : 0;
    if (found == 0 || found == thread->inner_tid)
        return false;
    wait->kind = VG_NEED_JOIN;
    set_text(wait, "the end of thread %d", (int)found);
    set_owner(exam, thread, wait, found);
    return true;
}

static bool rwlock_fits(const vg_exam *exam, unsigned process, const vg_rwlock_words *l)
{
    return vg_rwlock_words_fit(l) && (l->writer == 0 || vg_sight_thread(exam, process, l->writer) >= 0);
}

static bool classify_rwlock(vg_exam *exam, const vg_exam_thread *thread, vg_need *wait, bool named, bool write)
{
    static const unsigned back[2] = {VG_RWLOCK_PHASE_AT, VG_RWLOCK_WRITERS_AT};
    for (unsigned i = 0; i < 2; i++) {
        vg_rwlock_words l;
        const uint64_t base = wait->address - back[i];
        if (!vg_memory_read(exam, thread->process, base, &l, sizeof l) || !rwlock_fits(exam, thread->process, &l) ||
            (l.writer == 0 && (l.readers >> 3) == 0))
            continue;
        wait->kind = write ? VG_NEED_WRITE_LOCK : VG_NEED_READ_LOCK;
        wait->address = base;
        wait->shared = l.shared != 0;
        if (l.writer != 0) {
            set_text(wait, "the read-write lock 0x%" PRIx64, base);
            set_owner(exam, thread, wait, l.writer);
        } else {
            set_text(wait, "the read-write lock 0x%" PRIx64 ", held by %u reader%s (a lock does not say who reads)",
                     base, l.readers >> 3, l.readers >> 3 == 1 ? "" : "s");
        }
        return true;
    }
    if (!named)
        return false;
    wait->kind = write ? VG_NEED_WRITE_LOCK : VG_NEED_READ_LOCK;
    set_text(wait, "a read-write lock near 0x%" PRIx64, wait->address);
    return true;
}

static void classify_barrier(const vg_exam *exam, const vg_exam_thread *thread, vg_need *wait)
{
    struct {
        uint32_t in, round, count, shared, out;
    } b;
    wait->kind = VG_NEED_BARRIER;
    set_text(wait, "the barrier 0x%" PRIx64, wait->address);
    if (!exam->processes[thread->process].musl &&
        vg_memory_read(exam, thread->process, wait->address - 4, &b, sizeof b) && b.count > 0 && b.count < 1U << 20 &&
        b.in - b.round <= b.count)
        set_text(wait, "the barrier 0x%" PRIx64 ": %u of %u threads have come", wait->address - 4, b.in - b.round,
                 b.count);
}

/* musl: the type, then the word that is waited on. Normal mutexes do not say who holds them. */
static bool classify_musl_mutex(vg_exam *exam, const vg_exam_thread *thread, vg_need *wait)
{
    uint32_t words[2];
    if (!vg_memory_read(exam, thread->process, wait->address - 4, words, sizeof words) || (words[0] & ~0x8fU) != 0)
        return false;
    const uint32_t held = words[1] & VG_FUTEX_TID;
    if (held == 0 || (words[1] & VG_FUTEX_WAITED) == 0)
        return false;
    if ((words[0] & 3) != 0 && vg_sight_thread(exam, thread->process, (pid_t)held) >= 0) {
        wait->kind = VG_NEED_MUTEX;
        set_text(wait, "the mutex 0x%" PRIx64, wait->address - 4);
        set_owner(exam, thread, wait, (pid_t)held);
        return true;
    }
    if (held != MUSL_HELD)
        return false;
    wait->kind = VG_NEED_LOCK_WORD;
    set_text(wait, "the mutex 0x%" PRIx64 " (musl does not note who holds it)", wait->address - 4);
    return true;
}

static bool any_in(const vg_exam_thread *thread, const char *const *names)
{
    for (; *names != NULL; names++)
        if (vg_locks_in(thread, *names))
            return true;
    return false;
}

static void classify_by_name(vg_exam *exam, const vg_exam_thread *thread, vg_need *wait)
{
    static const char *const readers[] = {"rwlock_rdlock", "rwlock_timedrdlock", "rwlock_clockrdlock", NULL};
    static const char *const writers[] = {"rwlock_wrlock", "rwlock_timedwrlock", "rwlock_clockwrlock", NULL};
    static const char *const conditions[] = {"cond_wait", "cond_timedwait", "cond_clockwait",
                                             "cnd_wait",  "cnd_timedwait",  NULL};
    static const char *const semaphores[] = {"sem_wait",      "new_sem_wait",        "sem_timedwait",
                                             "sem_clockwait", "new_sem_wait_slow64", NULL};
    const uint64_t at = wait->address;
    if (any_in(thread, readers) && classify_rwlock(exam, thread, wait, true, false))
        return;
    if (any_in(thread, writers) && classify_rwlock(exam, thread, wait, true, true))
        return;
    if (any_in(thread, conditions)) {
        wait->kind = VG_NEED_CONDITION;
        /* glibc waits on one of two words near the end of the object. */
        if (!exam->processes[thread->process].musl)
            wait->address -= at % 8 == 0 ? CONDITION_BACK : CONDITION_BACK + 4;
        set_text(wait, "a signal of the condition variable 0x%" PRIx64, wait->address);
    } else if (any_in(thread, semaphores)) {
        wait->kind = VG_NEED_SEMAPHORE;
        set_text(wait,
                 has_text(thread, "PyThread_acquire_lock") ? "the Python lock (semaphore 0x%" PRIx64 ")"
                                                           : "a post of the semaphore 0x%" PRIx64,
                 at);
        if (exam->processes[thread->process].handles_signals)
            wait->by = VG_BY_OUTSIDE; /* sem_post is what a handler may call */
    } else if (vg_locks_in(thread, "barrier_wait")) {
        classify_barrier(exam, thread, wait);
    } else if (vg_futex_name(thread, wait)) {
        const int holder = vg_futex_once_holder(exam, (unsigned)(thread - exam->threads));
        if (holder >= 0) {
            set_owner(exam, thread, wait, exam->threads[holder].inner_tid);
            wait->certain = false; /* its stack says so, not the word */
        }
    } else if (has_text(thread, "futex::Mutex") || has_text(thread, "futex_mutex") || has_text(thread, "RawMutex")) {
        wait->kind = VG_NEED_LOCK_WORD;
        set_text(wait, "the Rust mutex 0x%" PRIx64 " (its word does not say who holds it)", at);
    } else if (has_text(thread, "futex::RwLock") || has_text(thread, "futex_rwlock") || has_text(thread, "RawRwLock")) {
        wait->kind = VG_NEED_LOCK_WORD;
        set_text(wait, "the Rust read-write lock 0x%" PRIx64 " (its word does not say who holds it)", at);
    } else if (has_text(thread, "sync::barrier::Barrier")) {
        wait->kind = VG_NEED_BARRIER;
        set_text(wait, "the Rust Barrier 0x%" PRIx64, at);
    } else if (has_text(thread, "futex::Condvar")) {
        wait->kind = VG_NEED_CONDITION;
        set_text(wait, "a notification of the Rust Condvar 0x%" PRIx64, at);
    } else if (has_text(thread, "Thread::park") || has_text(thread, "thread::park") ||
               has_text(thread, "thread::functions::park") || has_text(thread, "Thread4park")) {
        wait->kind = VG_NEED_CONDITION;
        set_text(wait, "an unpark (0x%" PRIx64 ")", at);
    } else if (has_text(thread, "vg_") || has_text(thread, "vigil_")) {
        wait->kind = VG_NEED_FUTEX;
        for (unsigned i = 0; i < thread->frame_count; i++)
            if (strncmp(thread->frames[i].function, "vigil_", 6) == 0) {
                set_text(wait, "what %.100s waits for", thread->frames[i].function);
                return;
            }
        set_text(wait, "work or a wake, as a thread of Vigil");
    } else if ((uint32_t)thread->arg[2] == 2 && !exam->processes[thread->process].musl) {
        wait->kind = VG_NEED_LOCK_WORD;
        const char *whose = vg_futex_lock_of(thread);
        set_text(wait, "%s at 0x%" PRIx64 " that does not say who holds it", whose != NULL ? whose : "a lock", at);
    }
}

void vg_locks_classify(vg_exam *exam, vg_exam_thread *thread)
{
    static const char *const joins[] = {
        "join", "timedjoin_np", "clockjoin_np", "thrd_join", "clockjoin_ex", "timedjoin_ex", NULL};
    static const char *const mutexes[] = {"mutex_lock",    "mutex_timedlock", "mutex_clocklock", "mtx_lock",
                                          "mtx_timedlock", "mutex_lock_full", "mutex_cond_lock", NULL};
    const uint64_t command = thread->arg[1] & (uint64_t)FUTEX_CMD_MASK;
    const bool is_private = (thread->arg[1] & FUTEX_PRIVATE_FLAG) != 0;
    vg_need *wait = &thread->wait;
    *wait = (vg_need){.kind = VG_NEED_FUTEX, .by = VG_BY_PROCESS, .address = thread->arg[0], .owner = -1, .fd = -1};
    wait->limited = thread->arg[3] != 0;
    set_text(wait, "a wake of the futex 0x%" PRIx64, wait->address);
    if (command == FUTEX_LOCK_PI || command == 13 /* FUTEX_LOCK_PI2 */) {
        classify_inherit(exam, thread, wait, !is_private);
        return;
    }
    pid_t holder;
    if (vg_own_lock(exam, thread, wait, &holder)) {
        if (holder > 0) {
            set_owner(exam, thread, wait, holder);
            wait->certain = false; /* a token could end the wait, too */
        }
        return;
    }
    const bool joins_named = any_in(thread, joins), mutex_named = any_in(thread, mutexes);
    const bool is_musl = exam->processes[thread->process].musl;
    if ((joins_named || is_musl || (!is_private && thread->frame_count == 0)) && classify_join(exam, thread, wait))
        return;
    if ((uint32_t)thread->arg[2] == 2 && classify_stdio(exam, thread, wait))
        return;
    if (classify_mutex(exam, thread, wait, mutex_named))
        return;
    if (!mutex_named && !is_private && classify_join(exam, thread, wait))
        return;
    if (((uint32_t)thread->arg[2] & VG_FUTEX_WAITED) != 0 && classify_musl_mutex(exam, thread, wait))
        return;
    if (mutex_named) {
        wait->kind = VG_NEED_LOCK_WORD;
        set_text(wait, "the mutex 0x%" PRIx64, wait->address);
        /* glibc sleeps on a word of its own stack when the kernel has refused a lock with EDEADLK. */
        if (wait->address > thread->sp && wait->address - thread->sp < OWN_STACK)
            set_text(wait, "a mutex with priority inheritance, which the kernel has refused: it saw the deadlock");
        return;
    }
    classify_by_name(exam, thread, wait);
}

pid_t vg_locks_owner_now(const vg_exam *exam, const vg_exam_thread *thread)
{
    vg_mutex_words m;
    if (thread->wait.kind != VG_NEED_MUTEX ||
        !vg_memory_read(exam, thread->process, thread->wait.address, &m, sizeof m))
        return 0;
    if ((m.kind & (VG_MUTEX_ROBUST | VG_MUTEX_INHERIT)) != 0)
        return (pid_t)(m.lock & VG_FUTEX_TID);
    return m.lock == 2 ? m.owner : 0;
}
