/* SPDX-License-Identifier: MIT */
/*
 * A stop interrupts the system call that the thread may be in. The kernel starts most of them again by itself;
 * epoll_wait, semop and some others return EINTR instead, and a program that is not prepared for it fails. So only a
 * thread that has not slept in any look is stopped. If it slept all the same, and its call is about to fail with EINTR,
 * the registers are set back to before the call.
 *
 * A thread that gets no processor, or waits inside the kernel (vfork), does not stop, and cannot be detached before it
 * does. The end of the tracer detaches it all the same.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "registers.h"
#include "child.h"
#include "memory.h"
#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <elf.h>
#include <time.h>

#if defined(__x86_64__)

enum {
    STOP_LIMIT_NS = 2000000000, /* a thread that gets no processor stops late; nobody waits for it longer */
    STOP_MOST_NS = 20000000,    /* a thread is stopped for */
    STOP_PAUSE_NS = 50000,
    CALL_LENGTH = 2, /* of the instruction `syscall` */
    KEPT_BP = 6,     /* DWARF numbers */
    KEPT_SP = 7,
    KEPT_PC = 16
};

void vg_registers_keep(vg_exam_thread *thread, const vg_sample *sample)
{
    memcpy(thread->regs, sample->regs, sizeof thread->regs);
    thread->has_regs = true;
    thread->bp = sample->regs[KEPT_BP];
    thread->sp = sample->regs[KEPT_SP];
    thread->ip = sample->regs[KEPT_PC];
    thread->call = sample->call;
    thread->in_call = sample->call >= 0;
}

/* What waitpid says once the thread has stopped or ended; 0: it has not in time. *running_ns: when it last was not. */
static pid_t await_stop(pid_t tid, int *status, uint64_t *running_ns)
{
    const uint64_t limit = vg_now_ns() + STOP_LIMIT_NS;
    for (;;) {
        *running_ns = vg_now_ns();
        (void)vg_child_end_within(STOP_MOST_NS); /* it is not stopped: the time begins anew */
        const pid_t got = waitpid(tid, status, __WALL | WNOHANG);
        if (got != 0 || *running_ns >= limit)
            return got;
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = STOP_PAUSE_NS}, NULL);
    }
}

/* Of a thread that is stopped. */
static bool read_registers(const vg_exam *exam, const vg_exam_thread *thread, bool by_signal, vg_sample *sample)
{
    struct user_regs_struct r;
    struct iovec room = {&r, sizeof r};
    if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &room) != 0) // NOLINT(performance-no-int-to-ptr)
        return false;
    const bool called = (long long)r.orig_rax >= 0;
    if (called && (long long)r.rax == -EINTR && !by_signal) {
        r.rip -= CALL_LENGTH;
        r.rax = r.orig_rax;
        r.orig_rax = (unsigned long long)-1;
        (void)ptrace(PTRACE_SETREGSET, thread->tid, (void *)NT_PRSTATUS, &room); // NOLINT(performance-no-int-to-ptr)
        return false;
    }
    const uint64_t regs[17] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
                               r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
    memcpy(sample->regs, regs, sizeof regs);
    sample->call = called ? (long)r.orig_rax : -1;
    memset(sample->floats, 0, sizeof sample->floats);
    struct iovec floats = {sample->floats, sizeof sample->floats};
    (void)ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRFPREG, &floats); // NOLINT(performance-no-int-to-ptr)
    sample->stack_bytes = vg_memory_read_some(exam, thread->process, r.rsp, sample->stack, sizeof sample->stack);
    return true;
}

vg_stop_end vg_registers_take(const vg_exam *exam, const vg_exam_thread *thread, vg_sample *sample,
                              uint64_t *stopped_ns)
{
    *stopped_ns = sample->running_ns = 0;
    if (!vg_child_end_within(STOP_MOST_NS)) /* nothing would let the thread go if we cannot */
        return VG_STOP_NOTHING;
    vg_stop_end end = VG_STOP_NOTHING;
    if (ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL) == 0) {
        (void)ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
        int status = 0;
        const pid_t got = await_stop(thread->tid, &status, &sample->running_ns);
        if (got == 0)
            end = VG_STOP_LATE;
        if (got == thread->tid && WIFSTOPPED(status)) {
            /* Only a stop of our own (PTRACE_EVENT_STOP) carries no signal; another one is handed on. */
            const long signal_number = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
            if (read_registers(exam, thread, signal_number != 0, sample))
                end = VG_STOP_TAKEN;
            (void)ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)signal_number); // NOLINT(performance-no-int-to-ptr)
            *stopped_ns = vg_now_ns() - sample->running_ns;
        }
    }
    (void)vg_child_end_within(0);
    sample->running_ns = 0;
    return end;
}

#else

vg_stop_end vg_registers_take(const vg_exam *exam, const vg_exam_thread *thread, vg_sample *sample,
                              uint64_t *stopped_ns)
{
    (void)exam, (void)thread, (void)sample;
    *stopped_ns = 0;
    return VG_STOP_NOTHING;
}

void vg_registers_keep(vg_exam_thread *thread, const vg_sample *sample)
{
    (void)thread, (void)sample;
}

#endif
