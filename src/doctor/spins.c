/* SPDX-License-Identifier: MIT */
/*
 * A thread that computes and one that spins both use their processor whole. They differ in what changes: a loop that
 * computes has a counter or a value somewhere. So a thread spins if, whenever two samples find it at the same
 * instruction, all its registers are the same, and the stack above its frame did not change either. A loop over a
 * system call is the same if each call that was seen came back with nothing: no descriptor ready, no byte, no child.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "spins.h"
#include "child.h"
#include "registers.h"
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SPIN_SAMPLES = 20,
    SPIN_LEAST = 12,  /* samples that must have been had */
    SPIN_PAIRS = 3,   /* samples of the same instruction */
    SPIN_YIELDS = 3,  /* samples that find sched_yield */
    SPIN_THREADS = 8, /* threads that are sampled */
    SPIN_TRIES = 3,   /* children that may be killed over one thread */
    SPIN_PAUSE_NS = 11000000,
    SPIN_MOST_MS = 10000, /* all samples together */
    SPIN_GRACE_NS = 1000000000,
    RESTART_FIRST = -512, /* what the kernel returns to itself: ERESTARTSYS and its kin */
    RESTART_LAST = -516,
    SPIN_PC = 16,
    SPIN_SP = 7,
    SPIN_KEPT = 256 /* bytes of the stack that are compared */
};

static bool is_busy(const vg_exam_thread *t)
{
    const uint64_t span = t->seen_ns - t->first_seen_ns;
    const uint64_t wanted = t->run_ns - t->first_run_ns + (t->queue_ns - t->first_queue_ns);
    if (t->gone || t->state != 'R' || t->looks < 2 || t->blocks != t->first_blocks)
        return false;
    /* The kernel adds up how long a thread has waited for a processor only when it runs again: one that could run in
       all looks and has not slept between them wanted it all the time. */
    return t->ready || wanted >= span / 10 * 8;
}

/* It makes no other call, and is in sched_yield at least one time in four. */
static bool only_yields(const vg_sample *samples, unsigned count)
{
    unsigned yields = 0;
    for (unsigned i = 0; i < count; i++) {
        if (samples[i].call >= 0 && samples[i].call != SYS_sched_yield)
            return false;
        yields += samples[i].call == SYS_sched_yield;
    }
    return yields >= SPIN_YIELDS && 4 * yields >= count;
}

/* Our stop interrupts a poll that has found nothing and would not have waited: the kernel will start it again. */
static void forgive_interruption(vg_sample *sample)
{
    const int64_t result = (int64_t)sample->regs[0];
    const bool polls = sample->call == SYS_poll || sample->call == SYS_ppoll || sample->call == SYS_select ||
                       sample->call == SYS_pselect6;
    if (polls && result <= RESTART_FIRST && result >= RESTART_LAST)
        sample->regs[0] = 0;
}

/* A call that has come back with nothing: the thread will ask again. */
static bool asks_in_vain(const vg_sample *sample)
{
    const int64_t result = (int64_t)sample->regs[0];
    switch (sample->call) {
    case SYS_sched_yield:
        return true;
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_wait4:
    case SYS_waitid:
        return result == 0;
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_futex:
        return result == -EAGAIN;
    default:
        return false;
    }
}

/* The call that all samples inside one are in; -1: none, or several. */
static long only_call(const vg_sample *samples, unsigned count)
{
    long only = -1;
    for (unsigned i = 0; i < count; i++) {
        if (samples[i].call < 0 || samples[i].call == only)
            continue;
        if (only >= 0)
            return -1;
        only = samples[i].call;
    }
    return only;
}

static bool changes_nothing(const vg_sample *samples, unsigned count)
{
    static const unsigned char kept[] = {3, 12, 13, 14, 15}; /* bx, r12 to r15: a function gives them back unchanged */
    uint64_t highest = 0;
    unsigned pairs = 0;
    if (count < SPIN_LEAST)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (samples[i].call >= 0 && !asks_in_vain(&samples[i]))
            return false; /* the kernel does something for it */
        if (samples[i].regs[SPIN_SP] > highest)
            highest = samples[i].regs[SPIN_SP];
        for (unsigned k = 0; k < sizeof kept; k++)
            if (samples[i].regs[kept[k]] != samples[0].regs[kept[k]])
                return false;
    }
    const unsigned char *first = NULL;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t into = highest - samples[i].regs[SPIN_SP];
        if (into + SPIN_KEPT > samples[i].stack_bytes)
            return false;
        if (first == NULL)
            first = samples[i].stack + into;
        if (memcmp(first, samples[i].stack + into, SPIN_KEPT) != 0)
            return false;
        for (unsigned k = 0; k < i; k++) {
            if (samples[k].regs[SPIN_PC] != samples[i].regs[SPIN_PC])
                continue;
            pairs++;
            if (memcmp(samples[k].regs, samples[i].regs, sizeof samples[k].regs) != 0 ||
                memcmp(samples[k].floats, samples[i].floats, sizeof samples[k].floats) != 0)
                return false;
        }
    }
    return pairs >= SPIN_PAIRS;
}

/* What the child writes, for its parent and for a child after it. */
typedef struct sample_board {
    unsigned count, round, now; /* now: the thread whose turn it is */
    unsigned stops;
    uint64_t stopped_ns;
    uint64_t limit_ns; /* by the clock */
    unsigned thread[SPIN_THREADS], had[SPIN_THREADS], killed[SPIN_THREADS];
    bool late[SPIN_THREADS]; /* it did not stop */
    vg_sample samples[SPIN_THREADS][SPIN_SAMPLES];
} sample_board;

typedef struct sampling {
    vg_exam *exam;
    sample_board *board;
} sampling;

static void take_sample(const vg_exam *exam, sample_board *board, unsigned i)
{
    uint64_t stopped_ns;
    const vg_exam_thread *thread = &exam->threads[board->thread[i]];
    const vg_stop_end end = vg_registers_take(exam, thread, &board->samples[i][board->had[i]], &stopped_ns);
    board->stops += stopped_ns > 0;
    if (stopped_ns > board->stopped_ns)
        board->stopped_ns = stopped_ns;
    if (end == VG_STOP_TAKEN)
        forgive_interruption(&board->samples[i][board->had[i]++]);
    board->late[i] = end == VG_STOP_LATE;
}

/* In the child. */
static void take_samples(void *arg)
{
    const sampling *s = arg;
    sample_board *board = s->board;
    for (unsigned i = 0; i < s->exam->process_count; i++)
        s->exam->processes[i].pagemap = VG_MEMORY_DIRECT; /* a timer ends us while a thread is stopped */
    vg_child_hurry(); /* as long as a thread is stopped, nobody else should get our processor */
    for (; board->round < SPIN_SAMPLES && vg_now_ns() < board->limit_ns; board->round++) {
        for (; board->now < board->count; board->now++) {
            if (board->late[board->now] || board->killed[board->now] >= SPIN_TRIES)
                continue;
            take_sample(s->exam, board, board->now);
            if (board->late[board->now])
                return; /* the end of this process lets the thread go */
        }
        board->now = 0;
        /* Not a round number: a loop of the same length must not look still. */
        const struct timespec pause = {.tv_nsec = SPIN_PAUSE_NS + (long)(board->round * 7919 % 13) * 97003};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
}

/* A child that was killed in the middle of a stop could not say how long that was: until now, at most. */
static void count_cut_stop(sample_board *board)
{
    const uint64_t running_ns = board->samples[board->now][board->had[board->now]].running_ns;
    const uint64_t lasted_ns = running_ns > 0 ? vg_now_ns() - running_ns : 0;
    board->stops += lasted_ns > 0;
    if (lasted_ns > board->stopped_ns)
        board->stopped_ns = lasted_ns;
}

/* One child after the other, until all samples are taken or the time is up. false: the board may still change. */
static bool run_samplings(vg_exam *exam, sample_board *board)
{
    sampling s = {.exam = exam, .board = board};
    board->limit_ns = vg_now_ns() + (uint64_t)SPIN_MOST_MS * 1000000;
    for (uint64_t now; board->round < SPIN_SAMPLES && (now = vg_now_ns()) < board->limit_ns;) {
        vg_child child;
        if (!vg_child_start(&child, take_samples, &s))
            return true;
        /* The last sample may begin just before the limit. */
        const vg_child_end end = vg_child_await(&child, board->limit_ns + SPIN_GRACE_NS - now);
        if (end == VG_CHILD_LOST)
            return false;
        if (end == VG_CHILD_FAILED && board->now < board->count) {
            count_cut_stop(board);
            if (++board->killed[board->now] < SPIN_TRIES)
                continue;
        }
        board->now++;
    }
    return true;
}

/* What could not be seen, in words. */
static void note_missing(vg_exam *exam, const sample_board *board)
{
    for (unsigned i = 0; i < board->count; i++) {
        const int tid = (int)exam->threads[board->thread[i]].tid;
        if (board->late[i])
            vg_exam_note(exam, "Thread %d did not stop within two seconds: whether it spins is not known.", tid);
        else if (board->killed[i] >= SPIN_TRIES || board->had[i] < SPIN_LEAST)
            vg_exam_note(exam, "Thread %d could not be looked at often enough: whether it spins is not known.", tid);
    }
}

void vg_spins_sample(vg_exam *exam)
{
    const vg_exam_process *patient = &exam->processes[0];
    if (exam->options.no_stop || exam->core != NULL || !patient->readable)
        return;
    unsigned busy[SPIN_THREADS], count = 0;
    for (unsigned i = patient->first; i < patient->first + patient->count && count < SPIN_THREADS; i++)
        if (is_busy(&exam->threads[i]))
            busy[count++] = i;
    vg_spins_sample_these(exam, busy, count);
}

void vg_spins_sample_these(vg_exam *exam, const unsigned *threads, unsigned count)
{
    if (count == 0 || count > SPIN_THREADS)
        return;
    sample_board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) {
        vg_exam_note(exam, "There is no memory to look at threads that run.");
        return;
    }
    board->count = count;
    memcpy(board->thread, threads, count * sizeof *threads);
    if (run_samplings(exam, board)) {
        exam->stops += board->stops;
        if (board->stopped_ns > exam->stopped_ns)
            exam->stopped_ns = board->stopped_ns;
        for (unsigned i = 0; i < count; i++) {
            vg_exam_thread *thread = &exam->threads[threads[i]];
            if (board->had[i] > 0)
                vg_registers_keep(thread, &board->samples[i][board->had[i] - 1]);
            thread->spins = changes_nothing(board->samples[i], board->had[i]);
            thread->yields = only_yields(board->samples[i], board->had[i]);
            thread->spin_call = only_call(board->samples[i], board->had[i]);
        }
        note_missing(exam, board);
    } else {
        vg_exam_note(exam, "Threads that run could not be looked at: reading their stacks did not end.");
    }
    (void)munmap(board, sizeof *board);
}
