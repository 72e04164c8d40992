/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "stacks.h"
#include "child.h"
#include "fence_in.h"
#include "memory.h"
#include "modules.h"
#include "unwinding.h"
#include "base/present.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What the child writes about one thread: how many frames are complete, or of a process: what it found. */
typedef struct stack_result {
    unsigned count;
    uint64_t bp;
    vg_frame frames[VG_EXAM_FRAMES];
} stack_result;

typedef struct stack_board {
    vg_module_facts facts[VG_EXAM_PROCESSES];
    stack_result of[];
} stack_board;

typedef struct stack_reading {
    vg_exam *exam;
    stack_board *board;
} stack_reading;

/* In the child. */
static void read_stacks(void *arg)
{
    vg_exam *exam = ((stack_reading *)arg)->exam;
    stack_board *board = ((stack_reading *)arg)->board;
    vg_unwinding *sessions[VG_EXAM_PROCESSES] = {NULL};
    for (unsigned i = 0; i < exam->process_count; i++)
        exam->processes[i].pagemap = VG_MEMORY_DIRECT;
    vg_unwinding_begin();
    for (unsigned i = 0; i < exam->process_count; i++)
        if (exam->processes[i].readable)
            sessions[i] = vg_unwinding_open(exam, i);
    for (unsigned i = 0; i < exam->process_count; i++) /* a page that never arrives would cost all later stacks */
        if (sessions[i] != NULL && exam->core == NULL) {
            const int pagemap = vg_present_open(exam->processes[i].pid);
            exam->processes[i].pagemap = pagemap > 0 ? pagemap : VG_MEMORY_DIRECT;
        }
    vg_fence_in();
    for (unsigned i = 0; i < exam->process_count; i++)
        if (sessions[i] != NULL)
            vg_unwinding_facts(sessions[i], &board->facts[i]);
    for (unsigned i = 0; i < exam->thread_count; i++) {
        vg_exam_thread *thread = &exam->threads[i];
        if (thread->sp == 0 || sessions[thread->process] == NULL)
            continue;
        stack_result *result = &board->of[i];
        vg_unwinding_walk(sessions[thread->process], thread, result->frames, &result->count);
        result->bp = thread->bp;
    }
}

/* The child may have been led astray: its words are cut where they must end. */
static void take_results(vg_exam *exam, stack_board *board)
{
    for (unsigned i = 0; i < exam->thread_count; i++) {
        stack_result *result = &board->of[i];
        vg_exam_thread *thread = &exam->threads[i];
        thread->frame_count = result->count <= VG_EXAM_FRAMES ? result->count : 0;
        thread->frames = result->frames;
        thread->bp = result->bp;
        for (unsigned f = 0; f < thread->frame_count; f++) {
            vg_frame *frame = &thread->frames[f];
            frame->function[sizeof frame->function - 1] = '\0';
            frame->file[sizeof frame->file - 1] = '\0';
            frame->module[sizeof frame->module - 1] = '\0';
        }
    }
    for (unsigned i = 0; i < exam->process_count; i++) {
        vg_exam_process *process = &exam->processes[i];
        const vg_module_facts *facts = &board->facts[i];
        if (facts->is_go)
            process->language = "Go";
        else if (facts->is_rust && process->language == NULL)
            process->language = "Rust";
        else if (facts->is_python)
            process->language = "Python";
        process->stripped = facts->is_stripped;
        process->vigil = process->vigil || facts->has_vigil;
        process->musl = process->musl || facts->is_musl;
        process->runtime = facts->python_runtime;
        process->runtime_bytes = facts->python_runtime_bytes;
    }
}

void vg_stacks_take(vg_exam *exam)
{
    exam->frames_bytes = sizeof(stack_board) + exam->thread_count * sizeof(stack_result);
    stack_board *board = mmap(NULL, exam->frames_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) {
        exam->frames_bytes = 0;
        exam->stacks_cut = true;
        return;
    }
    exam->frames = (vg_frame *)(void *)board;
    stack_reading reading = {.exam = exam, .board = board};
    vg_child child;
    const vg_child_end end = vg_child_start(&child, read_stacks, &reading)
                                 ? vg_child_await(&child, exam->options.stacks_ns)
                                 : VG_CHILD_FAILED;
    exam->stacks_cut = end != VG_CHILD_DONE;
    if (end != VG_CHILD_LOST)
        take_results(exam, board);
}
