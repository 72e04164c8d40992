/* SPDX-License-Identifier: MIT */
#include "report_lines.h"

#include <stdlib.h>
#include <string.h>

#include "say.h"

enum {
    LINES_MOST = 8
};

struct lines {
    unsigned count;
    struct {
        const vg_exam_thread *thread;
        const vg_frame *frame;
    } of[LINES_MOST];
};

static const vg_exam_thread *thread_of(const vg_exam *exam, long tid)
{
    for (unsigned i = 0; i < exam->thread_count; i++)
        if (exam->threads[i].inner_tid == tid && exam->threads[i].process == 0 && !exam->threads[i].gone)
            return &exam->threads[i];
    return NULL;
}

/* Every "thread 4711" of the evidence, once. */
static struct lines find_lines(const vg_exam *exam, const vg_verdict_view *v)
{
    struct lines lines = {0};
    char text[sizeof v->evidence + 1];
    clean_text(text, sizeof text, v->evidence, sizeof v->evidence, true);
    for (const char *at = text; (at = strstr(at, "thread ")) != NULL && lines.count < LINES_MOST;) {
        at += strlen("thread ");
        const vg_exam_thread *t = thread_of(exam, strtol(at, NULL, 10));
        const vg_frame *frame = t != NULL ? doctor_own_frame(t) : NULL;
        for (unsigned i = 0; i < lines.count; i++)
            if (lines.of[i].thread == t)
                frame = NULL;
        if (frame == NULL)
            continue;
        lines.of[lines.count].thread = t;
        lines.of[lines.count++].frame = frame;
    }
    return lines;
}

void report_lines(const vg_exam *exam, const vg_verdict_view *v)
{
    const struct lines lines = find_lines(exam, v);
    if (lines.count > 0)
        printf("  %slines%s\n", style(FAINT), style(PLAIN));
    for (unsigned i = 0; i < lines.count; i++)
        printf("    thread %d: in %s at %s:%d\n", (int)lines.of[i].thread->inner_tid, lines.of[i].frame->function,
               lines.of[i].frame->file, lines.of[i].frame->line);
}

json_object *report_lines_json(const vg_exam *exam, const vg_verdict_view *v)
{
    const struct lines lines = find_lines(exam, v);
    json_object *all = json_object_new_array();
    for (unsigned i = 0; i < lines.count; i++) {
        json_object *one = json_object_new_object();
        json_object_object_add(one, "thread", json_object_new_int(lines.of[i].thread->inner_tid));
        json_object_object_add(one, "function", json_object_new_string(lines.of[i].frame->function));
        json_object_object_add(one, "file", json_object_new_string(lines.of[i].frame->file));
        json_object_object_add(one, "line", json_object_new_int(lines.of[i].frame->line));
        json_object_array_add(all, one);
    }
    return all;
}
