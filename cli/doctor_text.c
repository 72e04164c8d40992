/* SPDX-License-Identifier: MIT */
/* An examination in words: the verdicts, each with its threads and what they wait for; then what every thread does. */
#include <inttypes.h>
#include <string.h>

#include "doctor.h"
#include "say.h"

enum {
    FRAMES_SHOWN = 8,
    GROUPS_SHOWN = 24, /* of threads with the same stack */
};

static const char *thread_name(const vg_exam *exam, const vg_exam_thread *t, char room[96])
{
    const vg_exam_process *p = &exam->processes[t->process];
    if (t->process != 0)
        snprintf(room, 96, "thread %d (%s) of process %d", (int)t->tid, t->name, (int)p->pid);
    else
        snprintf(room, 96, "thread %d (%s)", (int)t->tid, t->name);
    return room;
}

/* Functions of the C library that lead to a wait: the reader looks for his own. */
static bool is_inner(const vg_frame *frame)
{
    return strncmp(frame->module, "libc.so", 7) == 0 || strncmp(frame->module, "libc-", 5) == 0 ||
           strncmp(frame->module, "libpthread", 10) == 0 || strncmp(frame->module, "ld-musl", 7) == 0 ||
           strncmp(frame->module, "libstdc++", 9) == 0;
}

const vg_frame *doctor_own_frame(const vg_exam_thread *t)
{
    for (unsigned i = 0; i < t->frame_count; i++) {
        const vg_frame *f = &t->frames[i];
        const bool ours = strncmp(f->function, "vg_", 3) == 0 || strncmp(f->function, "vigil_", 6) == 0 ||
                          strncmp(f->module, "libvigil", 8) == 0;
        if (f->file[0] != '\0' && !is_inner(f) && !ours)
            return f;
    }
    return NULL;
}

static void print_frame(const vg_frame *frame, const char *before)
{
    printf("%s", before);
    if (frame->function[0] != '\0')
        printf("%s", frame->function);
    else
        printf("0x%" PRIx64, frame->pc);
    if (frame->file[0] != '\0')
        printf("%s at %s:%d%s", style(FAINT), frame->file, frame->line, style(PLAIN));
    else if (frame->module[0] != '\0')
        printf("%s in %s+0x%" PRIx64 "%s", style(FAINT), frame->module, frame->offset, style(PLAIN));
    if (frame->inlined)
        printf("%s (inlined)%s", style(FAINT), style(PLAIN));
    printf("\n");
}

static void print_stack(const vg_exam_thread *t, const char *before, unsigned most)
{
    unsigned first = 0;
    while (first < t->frame_count && is_inner(&t->frames[first]))
        first++;
    /* The last function of the library is what the program called. */
    if (first > 0 && first < t->frame_count)
        first--;
    if (first == t->frame_count)
        first = 0;
    unsigned shown = 0;
    for (unsigned i = first; i < t->frame_count && shown < most; i++, shown++)
        print_frame(&t->frames[i], before);
    if (first + shown < t->frame_count)
        printf("%s%s... %u more%s\n", before, style(FAINT), t->frame_count - first - shown, style(PLAIN));
}

/* like: threads of which the same is said. */
static void print_wait(const vg_exam *exam, const vg_exam_thread *t, const char *before, unsigned like)
{
    char name[96];
    const vg_need *w = &t->wait;
    if (t->state == 'Z') {
        printf("%s%s ended", before, like > 0 ? "have" : "has");
        return;
    }
    if (w->kind == VG_NEED_NONE) {
        const uint64_t span = t->seen_ns - t->first_seen_ns, run = t->run_ns - t->first_run_ns;
        printf("%s%s", before, like > 0 ? "run" : "runs");
        if (t->looks > 1 && span > 0)
            printf(" (%.0f %% of a processor)", 100.0 * (double)run / (double)span);
        return;
    }
    printf("%s%s for %s", before, like > 0 ? "wait" : "waits", w->text);
    if (w->owner_gone)
        printf(", whose owner, thread %d, has ended", (int)w->owner_tid);
    else if (w->by == VG_BY_OWNER && w->owner >= 0 && w->kind != VG_NEED_JOIN)
        printf(", held by %s",
               &exam->threads[w->owner] == t ? "itself" : thread_name(exam, &exam->threads[w->owner], name));
    else if (w->by == VG_BY_PEERS && w->peer_count > 0) {
        bool others = false;
        for (unsigned i = 0; i < w->peer_count; i++)
            others = others || w->peers[i] != t->process;
        if (!others && w->kind >= VG_NEED_PIPE_READ && w->kind <= VG_NEED_SOCKET_WRITE)
            printf(", whose other end this process has itself");
        for (unsigned i = 0, said = 0; others && i < w->peer_count; i++)
            if (w->peers[i] != t->process)
                printf("%s process %d (%s)", said++ == 0 ? (w->kind == VG_NEED_CHILD ? ":" : ", by") : ",",
                       (int)exam->processes[w->peers[i]].pid, exam->processes[w->peers[i]].name);
    }
    if (w->limited)
        printf(", for a limited time");
}

static void print_finding(const vg_exam *exam, const vg_diagnosis *f, unsigned number)
{
    printf("%s%u. %s%s%s (%s)%s\n", style(BOLD), number, style(RED), vg_diagnosis_name(f->kind), style(PLAIN),
           f->certain ? "certain" : "probable", style(PLAIN));
    say_wrapped(f->title, 3, say_width());
    for (unsigned i = 0; i < f->count; i++) {
        char name[96];
        const vg_exam_thread *t = &exam->threads[f->chain[i]];
        const bool circle = f->kind == VG_DIAGNOSIS_DEADLOCK;
        printf("%s   %s%s%s%s\n", i == 0 || !circle ? "\n" : "", circle ? (i == 0 ? "+-> " : "|   ") : "", style(CYAN),
               thread_name(exam, t, name), style(PLAIN));
        print_wait(exam, t, circle ? "   |     " : "     ", 0);
        printf("\n");
        print_stack(t, circle ? "   |       " : "         ", i < 8 ? FRAMES_SHOWN : 2);
        if (circle)
            printf("   %s\n", i + 1 == f->count ? "+---- which waits for the first" : "|     v");
    }
    if (f->more > 0)
        printf("\n   %u more thread%s behind %s.\n", f->more, f->more == 1 ? " waits" : "s wait",
               f->count == 1 ? "it" : "them");
    if (f->advice[0] != '\0') {
        printf("\n   %sWhat to do%s\n", style(BOLD), style(PLAIN));
        say_wrapped(f->advice, 3, say_width());
    }
    printf("\n");
}

static bool same_stack(const vg_exam_thread *a, const vg_exam_thread *b)
{
    if (a->process != b->process || a->frame_count != b->frame_count || a->wait.kind != b->wait.kind)
        return false;
    for (unsigned i = 0; i < a->frame_count; i++)
        if (a->frames[i].pc != b->frames[i].pc)
            return false;
    return true;
}

/* Every thread; those with the same stack together. */
static void print_threads(const vg_exam *exam, bool all)
{
    printf("%sThreads%s\n", style(BOLD), style(PLAIN));
    unsigned groups = 0, left = 0;
    for (unsigned i = 0; i < exam->thread_count; i++) {
        const vg_exam_thread *t = &exam->threads[i];
        char name[96];
        unsigned like = 0;
        bool told = false;
        for (unsigned k = 0; !all && k < exam->thread_count && exam->thread_count < 4096; k++) {
            if (k == i || t->frame_count == 0 || !same_stack(t, &exam->threads[k]))
                continue;
            told = told || k < i;
            like += k > i;
        }
        if (told || t->gone)
            continue;
        if (!all && ++groups > GROUPS_SHOWN) {
            left += 1 + like;
            continue;
        }
        printf("  %s%s%s", style(CYAN), thread_name(exam, t, name), style(PLAIN));
        if (like > 0)
            printf(" and %u like it", like);
        print_wait(exam, t, " ", like);
        printf("\n");
        print_stack(t, "      ", all ? VG_EXAM_FRAMES : 4);
    }
    if (left > 0)
        printf("  ... and %u more; --all shows every thread\n", left);
}

void doctor_verdicts(const vg_exam *exam, unsigned number)
{
    for (unsigned i = 0; i < exam->finding_count; i++)
        print_finding(exam, &exam->findings[i], number + i);
}

void doctor_text(const vg_exam *exam, bool all)
{
    const vg_exam_process *p = &exam->processes[0];
    printf("%s%s%s, %s %d, %u thread%s%s%s%s\n", style(BOLD), p->name, style(PLAIN),
           p->dead ? "core file of process" : "process", (int)p->pid, p->count, p->count == 1 ? "" : "s",
           p->language != NULL ? ", " : "", p->language != NULL ? p->language : "",
           p->stripped ? ", without symbols" : "");
    if (p->command[0] != '\0')
        printf("  %s%s%s\n", style(FAINT), p->command, style(PLAIN));
    printf("\n");
    if (p->refusal[0] != '\0') {
        say_wrapped(p->refusal, 0, say_width());
        printf("What can be seen without that follows.\n\n");
    }
    if (exam->finding_count == 0 && p->refusal[0] == '\0')
        printf("%sNothing is wrong that can be seen from outside.%s\n\n", style(GREEN), style(PLAIN));
    doctor_verdicts(exam, 1);
    for (unsigned i = 0; i < exam->note_count; i++)
        say_wrapped(exam->notes[i], 0, say_width());
    if (exam->note_count > 0)
        printf("\n");
    print_threads(exam, all);
    printf("\n%sLooked for %.1f s; ", style(FAINT), (double)exam->took_ns / 1e9);
    if (exam->stops > 0)
        printf("running threads were stopped %u times, for at most %.2f ms each", exam->stops,
               (double)exam->stopped_ns / 1e6);
    else
        printf("no thread was stopped");
    printf(".%s\n", style(PLAIN));
}
