/* SPDX-License-Identifier: MIT */
/*
 * show.c - the stacks of the threads that a finding is about, as text.
 *
 * A thread that sleeps is left alone (unwind.h). One that runs gets the signal (record/stack.h).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "show.h"

#include "base/clock.h"
#include "function.h"
#include "record/stack.h"
#include "unwind.h"

#include <string.h>

enum {
    SHOW_SKIPPED = 2, /* the handler and the system's way into it */
    SHOW_FRAMES = 14
};
#define STACK_WITHIN_NS UINT64_C(1000000000)
#define STACK_LOOK_NS   UINT64_C(25000000) /* some ticks of the slowest kernel */

static void say_thread_name(vg_words *to, int thread)
{
    char name[32] = "";
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fgets(name, sizeof name, file) != NULL)
            name[strcspn(name, "\n")] = 0;
        (void)fclose(file);
    }
    vg_say(to, "thread %d (%s)", thread, name);
}

/* False: stack->why. *first: the first frame that is the thread's own. */
static bool take_stack(int thread, bool small, vg_stack *stack, int *first)
{
    const uint64_t deadline = vg_now_ns() + STACK_WITHIN_NS;
    uint64_t patience = STACK_LOOK_NS;
    *first = 0;
    /* A thread that runs and sleeps by turns: whichever look finds it first. On a full machine the tick that calls the
       thread also takes its core away, and a request that is withdrawn before its next turn is lost: so ever longer. */
    do {
        const vg_unwind_result got = vg_unwind_sleeper(thread, stack);
        if (got != VG_UNWIND_RUNS)
            return got == VG_UNWIND_DONE;
        stack->why = "its stack is too small for a signal handler";
        if (small)
            return false;
        vg_stack_take(thread, patience, stack);
        patience *= 2;
    } while (stack->depth == 0 && vg_now_ns() < deadline);
    *first = stack->depth > SHOW_SKIPPED ? SHOW_SKIPPED : 0;
    return stack->depth != 0;
}

static void say_frame(vg_words *to, const vg_stack *stack, int at, int first, char *symbol, size_t room)
{
    /* all but the innermost are return addresses: one behind the call */
    vg_function_name((char *)stack->frames[at] - (at > first), symbol, room);
    if (to != NULL)
        vg_say(to, "  %s\n", symbol);
}

/* The frames outside of the task or callback are the library's own, the same every time: leave them out. */
static int last_frame(const vg_stack *stack, int first, const void *function)
{
    char wanted[160];
    char symbol_name[192];
    int last = stack->depth;
    if (function == NULL)
        return last;
    vg_function_name(function, wanted, sizeof wanted);
    const size_t length = strcspn(wanted, "+");
    for (int f = first; f < stack->depth; f++) {
        say_frame(NULL, stack, f, first, symbol_name, sizeof symbol_name);
        if (strncmp(symbol_name, wanted, length) == 0 && (symbol_name[length] == 0 || symbol_name[length] == '+'))
            last = f + 1; /* the outermost one, if it recurses */
    }
    return last;
}

void vg_show_stacks(vg_finding *finding)
{
    vigil_verdict *verdict = &finding->verdict;
    vg_words to = vg_words_into(verdict->stacks, sizeof verdict->stacks);
    for (unsigned i = 0; i < finding->thread_count; i++) {
        vg_stack stack;
        int first = 0;
        say_thread_name(&to, finding->threads[i]);
        if (!take_stack(finding->threads[i], finding->no_stacks, &stack, &first)) {
            vg_say(&to, ": %s\n", stack.why);
            continue;
        }
        vg_say(&to, "\n");
        const int last = last_frame(&stack, first, finding->functions[i]);
        for (int f = first; f < last && f < first + SHOW_FRAMES; f++) {
            char symbol_name[192];
            say_frame(&to, &stack, f, first, symbol_name, sizeof symbol_name);
        }
    }
}
