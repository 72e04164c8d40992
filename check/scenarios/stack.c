/* SPDX-License-Identifier: MIT */
/*
 * Asking threads for their stacks (record/stack.c). The model has no signals, so the file is part of this one: the system call that
 * sends one does nothing, and threads run the handler whenever they like, which is what a signal may do too that comes late.
 *
 * Property: an answer is whole and is of the one that gave it, also if the one before it came too late; no data race.
 */
#include <vigil_check.h>

#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

static int walk(void **frames, int room);

#define backtrace(frames, room) walk(frames, room)
#define syscall(...)            0L
#define fopen(path, mode)       stdin /* /proc is not there, and nobody blocks the signal */
#define fgets(text, room, file) NULL
#define fclose(file)            0
#include "record/stack.c"
#undef syscall

enum {
    ANSWERERS = 2,
    WALKED = 2 /* frames */
};

static _Thread_local intptr_t self_number;

static int walk(void **frames, int room)
{
    (void)room;
    for (int i = 0; i < WALKED; i++)
        frames[i] = (void *)self_number;
    return WALKED;
}

static ucontext_t interrupted; /* not inside a system call */

static void *answer(void *arg)
{
    siginfo_t info = {.si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_value.sival_ptr = &stack_ask;
    self_number = (intptr_t)arg;
    on_stack_signal(SIGURG, &info, &interrupted);
    return NULL;
}

static void ask_twice(void)
{
    pthread_t threads[ANSWERERS];
    stack_ask.signal = SIGURG;
    for (intptr_t i = 0; i < ANSWERERS; i++)
        threads[i] = vgc_thread_start(answer, (void *)(i + 1));
    for (int i = 0; i < 2; i++) {
        vg_stack stack;
        vg_stack_take(vg_thread_id(), UINT64_C(1000000), &stack); /* threads of the model have one number */
        if (stack.depth == 0)
            continue;
        vgc_assert(stack.depth == WALKED && stack.frames[0] != NULL && stack.frames[0] == stack.frames[1],
                   "an answer is whole");
    }
    for (int i = 0; i < ANSWERERS; i++)
        vgc_thread_join(threads[i]);
}

VGC_REGISTER(stack_twice, "stack_twice", ask_twice, "an answer is whole, also if the one before it came too late",
             .bound = "2 threads are asked one after the other, and may be late", .opt.early_timeouts = 2);
