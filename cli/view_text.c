/* SPDX-License-Identifier: MIT */
#include "view_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vigil/loop.h>
#include <vigil/pool.h>

#include "kinds.h"
#include "say.h"

const char *worker_name(const vg_worker_view *worker, char *room, size_t size)
{
    if (worker->spare)
        snprintf(room, size, "spare %u",
                 worker->index >= VIGIL_MAX_WORKERS ? worker->index - VIGIL_MAX_WORKERS : worker->index);
    else
        snprintf(room, size, "worker %u", worker->index);
    return room;
}

void worker_words(struct look *look, const vg_worker_view *worker, char *room, size_t size)
{
    char name[NAME_ROOM], since[WORDS], where[NAME_ROOM];
    if (!worker->in_task) {
        snprintf(room, size, "%s for %s", vg_worker_state_name(worker->state), words_ns(since, worker->state_age_ns));
        return;
    }
    words_ns(since, worker->task_age_ns);
    look_name(look, worker->task_function, name);
    if (worker->label[0] != '\0') {
        size_t used = strlen(name);
        snprintf(name + used, sizeof name - used, " \"%s\"", worker->label);
    }
    if (worker->wait.kind == VG_WAIT_NONE || worker->wait.kind >= VG_WAIT_KINDS) {
        snprintf(room, size, "%s for %s%s", name, since,
                 worker->state == VIGIL_WORKER_BLOCKED   ? ", blocked"
                 : worker->state == VIGIL_WORKER_RUNNING ? ""
                                                         : ", looks for work to help");
        return;
    }
    char waits[WORDS];
    bool place = worker->wait.where != 0;
    snprintf(room, size, "%s for %s, waits: %s%s%s, for %s", name, since, vg_wait_name(worker->wait.kind),
             place ? " in " : "", place ? look_name(look, worker->wait.where, where) : "",
             words_ns(waits, worker->wait.age_ns));
}

void loop_words(struct look *look, const vg_loop_view *loop, char *room, size_t size)
{
    char name[NAME_ROOM], since[WORDS];
    if (loop->call_function != 0)
        snprintf(room, size, "%s, in %s: %s for %s", vg_loop_state_name(loop->state), vg_loop_phase_name(loop->phase),
                 look_name(look, loop->call_function, name), words_ns(since, loop->call_age_ns));
    else
        snprintf(room, size, "%s for %s", vg_loop_state_name(loop->state), words_ns(since, loop->state_age_ns));
}

/* One text of a verdict under its heading; several lines stay several lines. */
static void paragraph(const char *heading, const char *raw, size_t length)
{
    char clean[1024];
    clean_text(clean, sizeof clean, raw, length, true);
    if (clean[0] == '\0')
        return;
    if (heading[0] != '\0')
        printf("  %s%s%s\n", style(FAINT), heading, style(PLAIN));
    unsigned width = say_width();
    say_wrapped(clean, heading[0] != '\0' ? 4 : 2, width < 120 ? width : 120);
}

void print_verdict(struct look *look, const vg_verdict_view *v)
{
    char since[WORDS], over[WORDS];
    printf("%s%s%s %s%s%s", style(severity_style(v->severity)), severity_name(v->severity), style(PLAIN), style(BOLD),
           stall_name(v->kind), style(PLAIN));
    if (v->over)
        printf(", began %s ago, over since %s", words_ago(since, v->first_age_ns), words_ago(over, v->over_age_ns));
    else
        printf(", for %s, still there", words_ago(since, v->first_age_ns));
    if (v->times > 1)
        printf(", raised %" PRIu64 " times", v->times);
    printf("%s\n", v->number == 0 ? ", judged from outside" : "");
    paragraph("", v->reason, sizeof v->reason);
    paragraph("evidence", v->evidence, sizeof v->evidence);
    paragraph("advice", v->advice, sizeof v->advice);
    if (stall_page(v->kind) != NULL)
        printf("    %sMore: vigil explain %s%s\n", style(FAINT), stall_page(v->kind), style(PLAIN));
    for (size_t i = 0; i < look->now->act_count; i++)
        if (look->now->acts[i].verdict == v->number)
            paragraph("done about it", look->now->acts[i].text, sizeof look->now->acts[i].text);
}

void print_classes(const vg_pool_view *pool)
{
    printf("  %s%-8s %7s %7s %9s %6s %6s %6s   %7s %7s %7s   %7s %7s %7s  %7s%s\n", style(BOLD), "class", "queued",
           "running", "completed", "failed", "cancel", "refuse", "wait50", "wait99", "longest", "run50", "run99",
           "longest", "oldest", style(PLAIN));
    for (unsigned i = 0; i < VG_FILE_CLASSES; i++) {
        const vg_class_view *c = &pool->of[i];
        char n[6][WORDS], t[7][WORDS];
        printf("  %s%-8s%s %7s %7s %9s %6s %6s %6s   %7s %7s %7s   %7s %7s %7s  %7s\n", style(class_style(i)),
               class_name(i), style(PLAIN), words_count(n[0], c->queued), words_count(n[1], c->running),
               words_count(n[2], c->completed), words_count(n[3], c->failed), words_count(n[4], c->cancelled),
               words_count(n[5], c->refused), words_ns(t[0], vg_hist_quantile(&pool->wait[i], 0.5)),
               words_ns(t[1], vg_hist_quantile(&pool->wait[i], 0.99)), words_ns(t[2], pool->wait[i].longest_ns),
               words_ns(t[3], vg_hist_quantile(&pool->run[i], 0.5)),
               words_ns(t[4], vg_hist_quantile(&pool->run[i], 0.99)), words_ns(t[5], pool->run[i].longest_ns),
               words_ns(t[6], c->oldest_age_ns));
    }
}

/* Numbers as "0-3, 7", spares as "s0". */
static void append_numbers(char *room, size_t size, const bool *member, size_t count, const char *prefix)
{
    size_t at = strlen(room);
    for (size_t i = 0; i < count; i++) {
        size_t last = i;
        if (!member[i])
            continue;
        while (last + 1 < count && member[last + 1])
            last++;
        int n = last == i
                    ? snprintf(room + at, size - at, "%s%s%zu", at > 0 ? ", " : "", prefix, i)
                    : snprintf(room + at, size - at, "%s%s%zu-%s%zu", at > 0 ? ", " : "", prefix, i, prefix, last);
        if (n < 0 || (size_t)n >= size - at) {
            snprintf(room + (size > 5 ? size - 5 : 0), size > 5 ? 5 : size, " ...");
            return;
        }
        at += (size_t)n;
        i = last;
    }
}

void print_workers(struct look *look, const vg_pool_view *pool)
{
    /* Who sleeps is one line; everybody else gets a line. */
    bool parked[VIGIL_MAX_WORKERS] = {false}, parked_spare[1024] = {false};
    unsigned sleeping = 0;
    for (size_t i = 0; i < pool->worker_count; i++) {
        const vg_worker_view *w = &pool->workers[i];
        if (w->tid == 0)
            continue;
        if (w->state == VIGIL_WORKER_PARKED && !w->in_task) {
            sleeping++;
            if (!w->spare && w->index < VIGIL_MAX_WORKERS)
                parked[w->index] = true;
            else if (w->index - VIGIL_MAX_WORKERS < 1024)
                parked_spare[w->index - VIGIL_MAX_WORKERS] = true;
            continue;
        }
        char name[32], words[512];
        worker_words(look, w, words, sizeof words);
        printf("  %-10s %s(thread %d)%s %s\n", worker_name(w, name, sizeof name), style(FAINT), (int)w->tid,
               style(PLAIN), words);
    }
    if (sleeping == 0)
        return;
    char list[512] = "";
    append_numbers(list, sizeof list, parked, VIGIL_MAX_WORKERS, "");
    append_numbers(list, sizeof list, parked_spare, 1024, "s");
    printf("  %u parked: %s\n", sleeping, list);
}
