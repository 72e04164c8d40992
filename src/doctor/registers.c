/* SPDX-License-Identifier: MIT */
/*
 * A stop interrupts the system call that the thread may be in. The kernel starts most of them again by itself;
 * epoll_wait, semop and some others return EINTR instead, and a program that is not prepared for it fails. So only a
 * thread that has not slept in any look is stopped. If it slept all the same, and its call is about to fail with EINTR,
 * the registers are set back to before the call.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "registers.h"
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
    STOP_LIMIT_NS = 200000000, /* a thread that gets no processor stops late; nobody waits for it longer */
    STOP_PAUSE_NS = 50000,
    CALL_LENGTH = 2 /* of the instruction `syscall` */
};

static void pause_for(uint64_t ns)
{
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = (long)ns}, NULL);
}

static void copy_registers(vg_exam_thread *thread, const struct user_regs_struct *r)
{
    const uint64_t regs[17] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
                               r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip};
    memcpy(thread->regs, regs, sizeof regs);
    thread->has_regs = true;
    thread->sp = r->rsp;
    thread->ip = r->rip;
    thread->bp = r->rbp;
}

bool vg_registers_take(vg_exam *exam, vg_exam_thread *thread, vg_sample *sample)
{
    if (ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL) != 0)
        return false;
    (void)ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
    const uint64_t limit = vg_now_ns() + STOP_LIMIT_NS;
    int status = 0;
    pid_t got;
    while ((got = waitpid(thread->tid, &status, __WALL | WNOHANG)) == 0 && vg_now_ns() < limit)
        pause_for(STOP_PAUSE_NS);
    if (got == 0) /* a detach needs a stopped thread: its processor will come */
        got = waitpid(thread->tid, &status, __WALL);
    if (got != thread->tid || !WIFSTOPPED(status))
        return false;
    const uint64_t began = vg_now_ns();
    struct user_regs_struct regs;
    struct iovec room = {&regs, sizeof regs};
    bool taken = ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &room) == 0; // NOLINT
    /* Only a stop of our own (PTRACE_EVENT_STOP) carries no signal; another one is handed on. */
    long signal_number = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
    if (taken && (long long)regs.orig_rax >= 0 && (long long)regs.rax == -EINTR && signal_number == 0) {
        regs.rip -= CALL_LENGTH;
        regs.rax = regs.orig_rax;
        regs.orig_rax = (unsigned long long)-1;
        (void)ptrace(PTRACE_SETREGSET, thread->tid, (void *)NT_PRSTATUS, &room); // NOLINT
        taken = false;
    }
    const bool called = taken && (long long)regs.orig_rax >= 0;
    if (taken) {
        memset(sample->floats, 0, sizeof sample->floats);
        struct iovec floats = {sample->floats, sizeof sample->floats};
        (void)ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRFPREG, &floats); // NOLINT
        sample->stack_bytes = vg_memory_read_some(exam, thread->process, regs.rsp, sample->stack, sizeof sample->stack);
    }
    (void)ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)signal_number); // NOLINT(performance-no-int-to-ptr)
    const uint64_t took = vg_now_ns() - began;
    exam->stops++;
    if (took > exam->stopped_ns)
        exam->stopped_ns = took;
    if (taken) {
        copy_registers(thread, &regs);
        thread->in_call = called;
        thread->call = called ? (long)regs.orig_rax : -1;
        memcpy(sample->regs, thread->regs, sizeof sample->regs);
        sample->call = thread->call;
    }
    return taken;
}

#else

bool vg_registers_take(vg_exam *exam, vg_exam_thread *thread, vg_sample *sample)
{
    (void)exam, (void)thread, (void)sample;
    return false;
}

#endif
