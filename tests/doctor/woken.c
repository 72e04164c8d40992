/* SPDX-License-Identifier: MIT */
/*
 * A thread that is woken between the last look at it and the read of its memory holds what it waited for. That is no self-deadlock.
 *
 * The patient's mutex is half released: free, and the wake not yet sent, as of a thread that lost its processor there. The doctor's own
 * calls are taken over below, so that the wake comes at just that moment.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "doctor/exam.h"
#include "support.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SPAN_NS = 400000000,
    NAP_NS = SPAN_NS / 4, /* between two rounds of looks */
    LAST_NAP = 4
};

/* Shared by the test and its patient. */
static struct shared {
    pthread_mutex_t mutex;
    _Atomic int tid, waits, send, holds;
} * shared;
static unsigned naps;

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    naps += time->tv_sec == 0 && time->tv_nsec == NAP_NS;
    return syscall(SYS_clock_nanosleep, clock, flags, time, left) == 0 ? 0 : EINTR;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long to_count, const struct iovec *from,
                         unsigned long from_count, unsigned long flags)
{
    const uintptr_t mutex = (uintptr_t)&shared->mutex;
    if (naps == LAST_NAP && (uintptr_t)from->iov_base <= mutex && mutex < (uintptr_t)from->iov_base + from->iov_len) {
        atomic_store_explicit(&shared->send, 1, memory_order_release);
        (void)syscall(SYS_futex, &shared->send, FUTEX_WAKE, 1, NULL, NULL, 0);
        while (atomic_load_explicit(&shared->holds, memory_order_acquire) == 0)
            yield();
    }
    return syscall(SYS_process_vm_readv, pid, to, to_count, from, from_count, flags);
}

static void *wait_for_it(void *arg)
{
    (void)arg;
    atomic_store_explicit(&shared->tid, (int)syscall(SYS_gettid), memory_order_release);
    must_equal(pthread_mutex_lock(&shared->mutex), 0);
    atomic_store_explicit(&shared->holds, 1, memory_order_release);
    (void)pause();
    return NULL;
}

/* Asleep in a futex call: the first number of its line in /proc says so. */
static bool sleeps(pid_t pid, int tid)
{
    char path[64];
    long call = -1;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, tid);
    FILE *file = fopen(path, "re");
    const bool read = file != NULL && fscanf(file, "%ld", &call) == 1; // NOLINT(cert-err34-c)
    if (file != NULL)
        (void)fclose(file);
    return read && call == SYS_futex;
}

static void release_in_two_steps(void)
{
    pthread_t thread;
    must_equal(pthread_mutex_lock(&shared->mutex), 0);
    must_equal(pthread_create(&thread, NULL, wait_for_it, NULL), 0);
    /* Not before it sleeps: awake, it would find the mutex free and take it. */
    while (!sleeps(getpid(), atomic_load_explicit(&shared->tid, memory_order_acquire)))
        yield();
    shared->mutex.__data.__owner = 0;
    shared->mutex.__data.__nusers--;
    __atomic_store_n(&shared->mutex.__data.__lock, 0, __ATOMIC_RELEASE);
    atomic_store_explicit(&shared->waits, 1, memory_order_release);
    while (atomic_load_explicit(&shared->send, memory_order_acquire) == 0)
        (void)syscall(SYS_futex, &shared->send, FUTEX_WAIT, 0, NULL, NULL, 0);
    (void)syscall(SYS_futex, &shared->mutex.__data.__lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    for (;;)
        (void)pause();
}

static void a_thread_that_was_woken_before_its_memory_was_read_has_no_self_deadlock(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(shared != MAP_FAILED);
    must_equal(pthread_mutex_init(&shared->mutex, NULL), 0);
    const pid_t patient = fork();
    must(patient >= 0);
    if (patient == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        release_in_two_steps();
    }
    while (atomic_load_explicit(&shared->waits, memory_order_acquire) == 0)
        yield();
    vg_exam *exam = NULL;
    const vg_exam_options options = {.no_stop = true, .no_stacks = true, .span_ns = SPAN_NS};
    must_equal(vg_exam_process_run(&exam, patient, &options), 0);
    must_equal(atomic_load_explicit(&shared->holds, memory_order_relaxed), 1); /* it came at that moment */
    for (unsigned i = 0; i < exam->finding_count; i++)
        (void)fprintf(stderr, "%s\n", exam->findings[i].title);
    must_equal(exam->finding_count, 0);
    vg_exam_free(exam);
    must_equal(kill(patient, SIGKILL), 0);
    must_equal(waitpid(patient, NULL, 0), patient);
    must_equal(munmap(shared, sizeof *shared), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_was_woken_before_its_memory_was_read_has_no_self_deadlock),
    };
    return run_all(tests);
}
