/* SPDX-License-Identifier: MIT */
/*
 * The greatest set of threads that all wait for members of the set alone: begin with everybody who slept during all
 * looks, and take out those that could be woken from outside, until nobody is left to take out. Members were asleep
 * at the same moment, because none of them ran between its first and its last look: so the set stood as a whole at that
 * moment, and nothing in it can ever move.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "graph.h"
#include "diagnoses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool can_wake(const vg_exam *exam, unsigned process, unsigned except, const unsigned *movers)
{
    const vg_exam_process *p = &exam->processes[process];
    if (p->count == 0)
        return !p->gone; /* never looked at: it may do anything */
    const unsigned self =
        except < exam->thread_count && exam->threads[except].process == process && exam->threads[except].can_move;
    return p->grew || movers[process] > self;
}

static bool is_free(const vg_exam *exam, unsigned index, const unsigned *movers)
{
    const vg_exam_thread *t = &exam->threads[index];
    const vg_need *w = &t->wait;
    if (t->gone)
        return false;
    if (!t->same || w->limited)
        return true;
    switch (w->by) {
    case VG_BY_OWNER:
        if (w->owner_gone)
            return false;
        return w->owner < 0 || exam->threads[w->owner].can_move;
    case VG_BY_PROCESS:
        return can_wake(exam, t->process, index, movers);
    case VG_BY_PEERS:
        for (unsigned i = 0; i < w->peer_count; i++)
            if (can_wake(exam, w->peers[i], index, movers))
                return true;
        return false;
    default:
        return true;
    }
}

void vg_graph_solve(vg_exam *exam)
{
    unsigned movers[VG_EXAM_PROCESSES] = {0};
    for (unsigned i = 0; i < exam->thread_count; i++)
        exam->threads[i].can_move = false;
    for (bool again = true; again;) {
        again = false;
        for (unsigned i = 0; i < exam->thread_count; i++) {
            vg_exam_thread *t = &exam->threads[i];
            if (t->can_move || !is_free(exam, i, movers))
                continue;
            t->can_move = true;
            movers[t->process]++;
            again = true;
        }
    }
}

/* ---- whom the patient needs ---- */

/* Whether a thread of `process` could end the wait of thread `i`. */
static bool could_end(const vg_exam *exam, unsigned process, unsigned i)
{
    const vg_exam_process *p = &exam->processes[process];
    if (p->count == 0)
        return !p->gone;
    for (unsigned t = p->first; t < p->first + p->count; t++)
        if (t != i && exam->threads[t].can_move && !exam->threads[t].gone)
            return true;
    return p->grew;
}

/* The one process that thread `i` has to wait for; -1: none, or any of several. */
static int process_needed_by(const vg_exam *exam, unsigned i)
{
    const vg_exam_thread *t = &exam->threads[i];
    const vg_need *w = &t->wait;
    if (!t->same || t->gone || w->limited)
        return -1;
    if (w->by == VG_BY_OWNER)
        return w->owner >= 0 ? (int)exam->threads[w->owner].process : -1;
    int only = -1;
    for (unsigned k = 0; w->by == VG_BY_PEERS && k < w->peer_count; k++) {
        if (!could_end(exam, w->peers[k], i))
            continue;
        if (only >= 0)
            return -1;
        only = (int)w->peers[k];
    }
    return only;
}

void vg_graph_needed(const vg_exam *exam, vg_needed *needed)
{
    *needed = (vg_needed){.is = {true}};
    for (unsigned p = 0; p < VG_EXAM_PROCESSES; p++)
        needed->waiter[p] = -1;
    for (bool again = true; again;) {
        again = false;
        for (unsigned i = 0; i < exam->thread_count; i++) {
            const int process = needed->is[exam->threads[i].process] ? process_needed_by(exam, i) : -1;
            if (process < 0 || needed->is[process])
                continue;
            needed->is[process] = again = true;
            needed->waiter[process] = (int)i;
        }
    }
}

/* ---- circles ---- */

typedef struct circle_search {
    const vg_exam *exam;
    const bool *told; /* threads that a finding names already */
    unsigned *from;   /* the thread that led to this one, plus 1 */
    unsigned *queue;
    bool loose; /* follow waits whose owner is unknown, too */
    bool joins; /* who joins may hold such a lock, too */
} circle_search;

static bool is_stuck(const vg_exam *exam, unsigned i)
{
    return !exam->threads[i].can_move && !exam->threads[i].gone;
}

static bool is_lock(vg_need_kind kind)
{
    return kind == VG_NEED_READ_LOCK || kind == VG_NEED_WRITE_LOCK || kind == VG_NEED_LOCK_WORD ||
           kind == VG_NEED_SEMAPHORE || kind == VG_NEED_MUTEX || kind == VG_NEED_STDIO;
}

/* Two waits for one word in shared memory: neither could end the other. Pages may lie elsewhere in each process. */
static bool is_same_word(const vg_need *a, const vg_need *b)
{
    const bool word = a->kind == VG_NEED_SEMAPHORE || a->kind == VG_NEED_CONDITION || a->kind == VG_NEED_BARRIER ||
                      a->kind == VG_NEED_FUTEX;
    return word && a->shared && b->shared && a->kind == b->kind && a->address % 4096 == b->address % 4096;
}

/* The next thread that `i` waits for, after `last`; -1: no more. */
static int next_of(const circle_search *s, unsigned i, int last)
{
    const vg_exam *exam = s->exam;
    const vg_need *w = &exam->threads[i].wait;
    if (w->by == VG_BY_OWNER)
        return last < 0 && w->owner >= 0 && is_stuck(exam, (unsigned)w->owner) ? w->owner : -1;
    const bool peers = w->by == VG_BY_PEERS, process = w->by == VG_BY_PROCESS && s->loose && is_lock(w->kind);
    if (!peers && !process)
        return -1;
    for (unsigned t = (unsigned)(last + 1); t < exam->thread_count; t++) {
        const vg_exam_thread *other = &exam->threads[t];
        if (t == i || !is_stuck(exam, t))
            continue;
        if (process && other->process == exam->threads[i].process && other->wait.address != w->address &&
            (is_lock(other->wait.kind) ||
             (s->joins && other->wait.kind == VG_NEED_JOIN && w->kind != VG_NEED_SEMAPHORE)))
            return (int)t;
        for (unsigned p = 0; peers && p < w->peer_count && !is_same_word(w, &other->wait); p++)
            if (w->peers[p] == other->process)
                return (int)t;
    }
    return -1;
}

/* The shortest circle through `start`, into `circle`; its length, or 0. */
static unsigned circle_through(circle_search *s, unsigned start, unsigned *circle)
{
    const unsigned many = s->exam->thread_count;
    memset(s->from, 0, many * sizeof *s->from);
    unsigned head = 0, tail = 0;
    s->queue[tail++] = start;
    while (head < tail) {
        const unsigned at = s->queue[head++];
        for (int next = next_of(s, at, -1); next >= 0; next = next_of(s, at, next)) {
            if ((unsigned)next == start) {
                unsigned length = 0, t = at;
                unsigned back[VG_EXAM_CHAIN];
                while (t != start && length < VG_EXAM_CHAIN - 1) {
                    back[length++] = t;
                    t = s->from[t] - 1;
                }
                if (t != start)
                    return 0;
                circle[0] = start;
                for (unsigned i = 0; i < length; i++)
                    circle[i + 1] = back[length - 1 - i];
                return length + 1;
            }
            if (s->from[next] == 0) {
                s->from[next] = at + 1;
                s->queue[tail++] = (unsigned)next;
            }
        }
    }
    return 0;
}

static void judge_circles(vg_exam *exam, bool *told, bool loose, bool joins, bool *process_told)
{
    circle_search s = {.exam = exam, .told = told, .loose = loose, .joins = joins};
    s.from = calloc(exam->thread_count + 1, sizeof *s.from);
    s.queue = calloc(exam->thread_count + 1, sizeof *s.queue);
    unsigned tries = 0;
    for (unsigned i = 0; s.from != NULL && s.queue != NULL && i < exam->thread_count && tries < 512; i++) {
        unsigned circle[VG_EXAM_CHAIN];
        if (told[i] || !is_stuck(exam, i) || (loose && process_told[exam->threads[i].process]))
            continue;
        tries++;
        const unsigned length = circle_through(&s, i, circle);
        if (length < 2)
            continue;
        bool fresh = true;
        for (unsigned k = 0; k < length; k++)
            fresh = fresh && !told[circle[k]];
        if (!fresh)
            continue;
        for (unsigned k = 0; k < length; k++) {
            told[circle[k]] = true;
            process_told[exam->threads[circle[k]].process] = true;
        }
        bool known = !loose;
        for (unsigned k = 0; k < length; k++)
            known = known && exam->threads[circle[k]].wait.certain;
        vg_diagnose_circle(exam, circle, length, known, loose);
    }
    free(s.from);
    free(s.queue);
}

/* Whether the wait leads to a thread that a finding names. */
static bool leads_to_told(const vg_exam *exam, const bool *told, unsigned i)
{
    for (unsigned steps = 0; steps < exam->thread_count; steps++) {
        const vg_need *w = &exam->threads[i].wait;
        if (told[i])
            return true;
        if (w->by != VG_BY_OWNER || w->owner < 0)
            return false;
        i = (unsigned)w->owner;
    }
    return false;
}

static void judge_wakeups(vg_exam *exam, const bool *told, const bool *process_told)
{
    for (unsigned p = 0; p < exam->process_count; p++) {
        unsigned stuck[VG_EXAM_CHAIN], count = 0, more = 0;
        if (process_told[p])
            continue;
        const vg_exam_process *process = &exam->processes[p];
        for (unsigned i = process->first; i < process->first + process->count; i++) {
            if (!is_stuck(exam, i) || exam->threads[i].wait.by == VG_BY_OWNER || leads_to_told(exam, told, i))
                continue;
            if (count < VG_EXAM_CHAIN)
                stuck[count++] = i;
            else
                more++;
        }
        if (count > 0)
            vg_diagnose_lost(exam, stuck, count, more);
    }
}

void vg_graph_judge(vg_exam *exam)
{
    bool *told = calloc(exam->thread_count + 1, sizeof *told);
    bool process_told[VG_EXAM_PROCESSES] = {false};
    if (told == NULL)
        return;
    for (unsigned i = 0; i < exam->thread_count; i++) {
        const vg_need *w = &exam->threads[i].wait;
        if (!is_stuck(exam, i) || w->by != VG_BY_OWNER)
            continue;
        if (w->owner == (int)i)
            vg_diagnose_self(exam, i);
        else if (w->owner_gone)
            vg_diagnose_orphan(exam, i);
        else
            continue;
        told[i] = true;
        process_told[exam->threads[i].process] = true;
    }
    judge_circles(exam, told, false, false, process_told);
    judge_circles(exam, told, true, false, process_told);
    judge_circles(exam, told, true, true, process_told);
    judge_wakeups(exam, told, process_told);
    free(told);
}
