/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "doctor.h"

static json_object *text(const char *words)
{
    return json_object_new_string(words);
}

static json_object *hex(uint64_t value)
{
    char words[32];
    snprintf(words, sizeof words, "0x%" PRIx64, value);
    return text(words);
}

static json_object *frame_json(const vg_frame *frame)
{
    json_object *o = json_object_new_object();
    json_object_object_add(o, "pc", hex(frame->pc));
    if (frame->function[0] != '\0')
        json_object_object_add(o, "function", text(frame->function));
    if (frame->file[0] != '\0') {
        json_object_object_add(o, "file", text(frame->file));
        json_object_object_add(o, "line", json_object_new_int(frame->line));
    }
    if (frame->module[0] != '\0')
        json_object_object_add(o, "module", text(frame->module));
    if (frame->inlined)
        json_object_object_add(o, "inlined", json_object_new_boolean(true));
    return o;
}

static json_object *wait_json(const vg_exam *exam, const vg_need *w)
{
    json_object *o = json_object_new_object();
    json_object_object_add(o, "kind", text(vg_need_kind_name(w->kind)));
    json_object_object_add(o, "for", text(w->text));
    if (w->address != 0)
        json_object_object_add(o, "address", hex(w->address));
    if (w->owner_tid != 0)
        json_object_object_add(o, "owner",
                               json_object_new_int(w->owner >= 0 ? exam->threads[w->owner].tid : w->owner_tid));
    if (w->owner_gone)
        json_object_object_add(o, "owner_gone", json_object_new_boolean(true));
    json_object_object_add(o, "limited", json_object_new_boolean(w->limited));
    json_object *peers = json_object_new_array();
    for (unsigned i = 0; i < w->peer_count; i++)
        json_object_array_add(peers, json_object_new_int(exam->processes[w->peers[i]].pid));
    json_object_object_add(o, "processes", peers);
    return o;
}

static json_object *thread_json(const vg_exam *exam, const vg_exam_thread *t)
{
    json_object *o = json_object_new_object();
    const char state[2] = {t->state, '\0'};
    const uint64_t span = t->seen_ns - t->first_seen_ns;
    json_object_object_add(o, "tid", json_object_new_int(t->tid));
    json_object_object_add(o, "pid", json_object_new_int(exam->processes[t->process].pid));
    json_object_object_add(o, "name", text(t->name));
    json_object_object_add(o, "state", text(state));
    json_object_object_add(o, "moved", json_object_new_boolean(!t->same));
    json_object_object_add(o, "stuck", json_object_new_boolean(!t->can_move));
    if (t->looks > 1 && span > 0)
        json_object_object_add(o, "cpu", json_object_new_double((double)(t->run_ns - t->first_run_ns) / (double)span));
    if (t->wait.kind != VG_NEED_NONE)
        json_object_object_add(o, "wait", wait_json(exam, &t->wait));
    json_object *frames = json_object_new_array();
    for (unsigned i = 0; i < t->frame_count; i++)
        json_object_array_add(frames, frame_json(&t->frames[i]));
    json_object_object_add(o, "stack", frames);
    return o;
}

json_object *doctor_verdicts_json(const vg_exam *exam)
{
    json_object *findings = json_object_new_array();
    for (unsigned i = 0; i < exam->finding_count; i++) {
        const vg_diagnosis *f = &exam->findings[i];
        json_object *one = json_object_new_object();
        json_object_object_add(one, "kind", text(vg_diagnosis_name(f->kind)));
        json_object_object_add(one, "certain", json_object_new_boolean(f->certain));
        json_object_object_add(one, "title", text(f->title));
        json_object_object_add(one, "advice", text(f->advice));
        json_object *threads = json_object_new_array();
        for (unsigned k = 0; k < f->count; k++)
            json_object_array_add(threads, json_object_new_int(exam->threads[f->chain[k]].tid));
        json_object_object_add(one, "threads", threads);
        json_object_object_add(one, "behind", json_object_new_int((int)f->more));
        json_object_array_add(findings, one);
    }
    return findings;
}

json_object *doctor_json(const vg_exam *exam)
{
    const vg_exam_process *p = &exam->processes[0];
    json_object *o = json_object_new_object();
    json_object_object_add(o, "pid", json_object_new_int(p->pid));
    json_object_object_add(o, "name", text(p->name));
    json_object_object_add(o, "command", text(p->command));
    if (p->language != NULL)
        json_object_object_add(o, "language", text(p->language));
    json_object_object_add(o, "core", json_object_new_boolean(p->dead));
    if (p->refusal[0] != '\0')
        json_object_object_add(o, "refusal", text(p->refusal));
    json_object_object_add(o, "findings", doctor_verdicts_json(exam));
    json_object *notes = json_object_new_array();
    for (unsigned i = 0; i < exam->note_count; i++)
        json_object_array_add(notes, text(exam->notes[i]));
    json_object_object_add(o, "notes", notes);
    json_object *threads = json_object_new_array();
    for (unsigned i = 0; i < exam->thread_count; i++)
        if (!exam->threads[i].gone)
            json_object_array_add(threads, thread_json(exam, &exam->threads[i]));
    json_object_object_add(o, "threads", threads);
    json_object_object_add(o, "took_ns", json_object_new_int64((int64_t)exam->took_ns));
    json_object_object_add(o, "stops", json_object_new_int((int)exam->stops));
    json_object_object_add(o, "longest_stop_ns", json_object_new_int64((int64_t)exam->stopped_ns));
    return o;
}

/* In a label of Graphviz: no quotes, no backslashes. */
static void print_label(const char *words)
{
    for (; *words != '\0'; words++)
        putchar(*words == '"' || *words == '\\' ? '\'' : *words);
}

static void print_node(const vg_exam *exam, unsigned i)
{
    const vg_exam_thread *t = &exam->threads[i];
    printf("  t%u [label=\"%d ", i, (int)t->tid);
    print_label(t->name);
    for (unsigned k = 0; k < t->frame_count; k++)
        if (t->frames[k].file[0] != '\0') {
            printf("\\n");
            print_label(t->frames[k].function);
            printf("\\n");
            print_label(t->frames[k].file);
            printf(":%d", t->frames[k].line);
            break;
        }
    printf("\"%s];\n", !t->can_move ? ", color=red" : t->wait.kind == VG_NEED_NONE ? ", color=darkgreen" : "");
    (void)exam;
}

void doctor_dot(const vg_exam *exam)
{
    printf("digraph waits {\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n");
    for (unsigned i = 0; i < exam->thread_count; i++)
        if (!exam->threads[i].gone)
            print_node(exam, i);
    for (unsigned i = 0; i < exam->thread_count; i++) {
        const vg_need *w = &exam->threads[i].wait;
        if (exam->threads[i].gone || w->kind == VG_NEED_NONE)
            continue;
        if (w->by == VG_BY_OWNER && w->owner >= 0) {
            printf("  t%u -> t%d [label=\"", i, w->owner);
            print_label(w->text);
            printf("\"%s];\n", !exam->threads[i].can_move ? ", color=red" : "");
        }
        for (unsigned p = 0; w->by == VG_BY_PEERS && p < w->peer_count; p++) {
            const vg_exam_process *peer = &exam->processes[w->peers[p]];
            if (peer->count == 0 || w->peers[p] == exam->threads[i].process)
                continue;
            printf("  t%u -> t%u [style=dashed, label=\"", i, peer->first);
            print_label(w->text);
            printf("\"];\n");
        }
    }
    printf("}\n");
}
