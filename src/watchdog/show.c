/* SPDX-License-Identifier: MIT */
/*
 * show.c - the stacks of the threads that a finding is about, as text.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "show.h"

#include "function.h"
#include "record/stack.h"

#include <string.h>

enum {
    SHOW_SKIPPED = 2, /* the handler and the system's way into it */
    SHOW_FRAMES = 14
};

void vg_show_stacks(vg_finding *finding)
{
    vigil_verdict *verdict = &finding->verdict;
    vg_words to = vg_words_into(verdict->stacks, sizeof verdict->stacks);
    for (unsigned i = 0; i < finding->thread_count; i++) {
        char name[32] = "";
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/comm", finding->threads[i]);
        FILE *file = fopen(path, "re");
        if (file != NULL) {
            if (fgets(name, sizeof name, file) != NULL)
                name[strcspn(name, "\n")] = 0;
            (void)fclose(file);
        }
        vg_say(&to, "thread %d (%s)", finding->threads[i], name);
        if (finding->no_stacks) {
            vg_say(&to, ": its stack is too small for a look\n");
            continue;
        }
        vg_stack stack;
        vg_stack_take(finding->threads[i], &stack);
        if (stack.depth == 0) {
            vg_say(&to, ": %s\n", stack.why);
            continue;
        }
        vg_say(&to, "\n");
        const int first = stack.depth > SHOW_SKIPPED ? SHOW_SKIPPED : 0;
        for (int f = first; f < stack.depth && f < first + SHOW_FRAMES; f++) {
            char symbol[160];
            /* all but the innermost are return addresses: one behind the call */
            vg_function_name((char *)stack.frames[f] - (f > first), symbol, sizeof symbol);
            vg_say(&to, "  %s\n", symbol);
        }
    }
}
