/* SPDX-License-Identifier: MIT */
/*
 * A thread that computes and one that spins both use their processor whole. They differ in what changes: a loop that
 * computes has a counter or a value somewhere. So a thread spins if, whenever two samples find it at the same
 * instruction, all its registers are the same, and the stack above its frame did not change either.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "spins.h"
#include "registers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

enum {
    SPIN_SAMPLES = 20,
    SPIN_LEAST = 12,  /* samples that must have been had */
    SPIN_PAIRS = 3,   /* samples of the same instruction */
    SPIN_THREADS = 8, /* threads that are sampled */
    BUSY_PART = 50,   /* a thread that gets less of the time than one in so many would not come to its stop */
    SPIN_PAUSE_NS = 11000000,
    SPIN_PRIORITY = -20,
    SPIN_PC = 16,
    SPIN_SP = 7,
    SPIN_KEPT = 256 /* bytes of the stack that are compared */
};

static bool is_busy(const vg_exam_thread *t)
{
    const uint64_t span = t->seen_ns - t->first_seen_ns;
    const uint64_t wanted = t->run_ns - t->first_run_ns + (t->queue_ns - t->first_queue_ns);
    return !t->gone && t->state == 'R' && t->looks > 1 && t->blocks == t->first_blocks &&
           t->run_ns - t->first_run_ns > span / BUSY_PART && wanted >= span / 10 * 8;
}

static bool changes_nothing(const vg_sample *samples, unsigned count)
{
    static const unsigned char kept[] = {3, 12, 13, 14, 15}; /* bx, r12 to r15: a function gives them back unchanged */
    uint64_t highest = 0;
    unsigned pairs = 0;
    if (count < SPIN_LEAST)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (samples[i].call >= 0 && samples[i].call != SYS_sched_yield)
            return false; /* it asks the kernel for something */
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

void vg_spins_sample(vg_exam *exam)
{
    unsigned busy[SPIN_THREADS], count = 0;
    if (exam->options.no_stop || exam->core != NULL || !exam->processes[0].readable)
        return;
    const vg_exam_process *patient = &exam->processes[0];
    for (unsigned i = patient->first; i < patient->first + patient->count && count < SPIN_THREADS; i++)
        if (is_busy(&exam->threads[i]))
            busy[count++] = i;
    vg_sample *samples = count > 0 ? calloc((size_t)count * SPIN_SAMPLES, sizeof *samples) : NULL;
    unsigned had[SPIN_THREADS] = {0};
    if (samples == NULL)
        return;
    /* As long as a thread is stopped, nobody else should get our processor. Only root may ask for that. */
    const int before = getpriority(PRIO_PROCESS, 0);
    (void)setpriority(PRIO_PROCESS, 0, SPIN_PRIORITY);
    for (unsigned round = 0; round < SPIN_SAMPLES; round++) {
        for (unsigned i = 0; i < count; i++)
            if (vg_registers_take(exam, &exam->threads[busy[i]], &samples[i * SPIN_SAMPLES + had[i]]))
                had[i]++;
        /* Not a round number: a loop of the same length must not look still. */
        const struct timespec pause = {.tv_nsec = SPIN_PAUSE_NS + (long)(round * 7919 % 13) * 97003};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    (void)setpriority(PRIO_PROCESS, 0, before);
    for (unsigned i = 0; i < count; i++)
        exam->threads[busy[i]].spins = changes_nothing(&samples[i * SPIN_SAMPLES], had[i]);
    free(samples);
}
