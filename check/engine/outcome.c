/* SPDX-License-Identifier: MIT */
/* The set of outcomes that a litmus test has shown. Lines of an execution count
 * once it has ended well. */
#include "internal.h"
#include "state.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void __real_free(void *block);
void *__real_realloc(void *block, size_t size);

enum {
    LINE = 120,
    MAX_LINES = 64
};

ENGINE_STATE static struct {
    char pending[MAX_LINES][LINE];
    int pending_count;
    struct vgc_outcome_line *all;
    size_t count, room;
} O;

void outcome_begin(void)
{
    O.pending_count = 0;
}

bool outcome_pending(void)
{
    return O.pending_count != 0;
}

uint64_t outcome_hash(uint64_t seed)
{
    for (int i = 0; i < O.pending_count; i++)
        for (const char *p = O.pending[i]; *p != 0; p++)
            seed = (seed ^ (unsigned char)*p) * 0x100000001B3ULL;
    return seed;
}

void vgc_outcome(const char *format, ...)
{
    if (O.pending_count == MAX_LINES)
        fail(VGC_MISUSE, "more than %d outcome lines in one execution", MAX_LINES);
    va_list list;
    va_start(list, format);
    vsnprintf(O.pending[O.pending_count++], LINE, format, list);
    va_end(list);
    if (G.tracing)
        __builtin_snprintf(trace_add(OP_NOTE, NULL)->text, 150, "outcome: %s", O.pending[O.pending_count - 1]);
}

static void add(const char *text)
{
    for (size_t i = 0; i < O.count; i++)
        if (strcmp(O.all[i].text, text) == 0) {
            O.all[i].executions++;
            return;
        }
    if (O.count == O.room) {
        O.room = O.room ? O.room * 2 : 32;
        O.all = __real_realloc(O.all, O.room * sizeof *O.all);
    }
    size_t size = strlen(text) + 1;
    char *copy = __real_malloc(size);
    memcpy(copy, text, size);
    O.all[O.count++] = (struct vgc_outcome_line){copy, 1};
}

void outcome_commit(void)
{
    for (int i = 0; i < O.pending_count; i++)
        add(O.pending[i]);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct vgc_outcome_line *)a)->text, ((const struct vgc_outcome_line *)b)->text);
}

void outcome_forget(void)
{
    for (size_t i = 0; i < O.count; i++)
        __real_free((void *)(uintptr_t)O.all[i].text);
    O.count = 0;
}

void outcome_finish(struct vgc_result *result)
{
    if (O.count > 1)
        qsort(O.all, O.count, sizeof *O.all, by_text);
    result->outcomes = O.all;
    result->outcome_count = O.count;
    O.all = NULL;
    O.count = O.room = 0;
}
