/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef VIGIL_HAVE_DOCTOR
#include "doctor/child.h"
#include "doctor/registers.h"
#include "reader/process.h"
#endif

#define WINDOW_NS INT64_C(5000000000)

static void add(struct functions *functions, const char *name, double share, uint64_t count)
{
    for (size_t i = 0; i < functions->count; i++)
        if (strcmp(functions->of[i].name, name) == 0) {
            functions->of[i].share += share;
            functions->of[i].count += count;
            return;
        }
    if (functions->count == FUNCTIONS_MOST)
        return;
    struct function_row *row = &functions->of[functions->count++];
    snprintf(row->name, sizeof row->name, "%s", name);
    row->share = share;
    row->count = count;
}

static int dearest_first(const void *a, const void *b)
{
    const struct function_row *x = a, *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void sort(struct functions *functions)
{
    qsort(functions->of, functions->count, sizeof functions->of[0], dearest_first);
}

/* ---- from the rings ---------------------------------------------------------------------------------------------- */

/* By address first: a name is looked up once. */
struct tally {
    size_t count;
    struct {
        uint64_t function, count;
        int64_t ns;
    } of[4 * FUNCTIONS_MOST];
};

static void add_address(struct tally *tally, uint64_t function, int64_t ns, uint64_t count)
{
    size_t i = 0;
    if (ns <= 0 || function == 0)
        return;
    while (i < tally->count && tally->of[i].function != function)
        i++;
    if (i == sizeof tally->of / sizeof tally->of[0])
        return;
    if (i == tally->count)
        tally->of[tally->count++].function = function;
    tally->of[i].ns += ns;
    tally->of[i].count += count;
}

/* The part of a time that lies in the window. */
static int64_t in_window(int64_t begin_age, int64_t end_age, int64_t window)
{
    end_age = end_age > 0 ? end_age : 0;
    begin_age = begin_age < window ? begin_age : window;
    return begin_age > end_age ? begin_age - end_age : 0;
}

static void add_ring(struct look *look, const vg_thread_view *thread, struct tally *tally, int64_t *window)
{
    vg_event *events;
    uint64_t first;
    size_t count;
    if (vg_reader_events(look->reader, thread->serial, 0, &events, &first, &count) < 0)
        return;
    if (first > 0 && count > 0 && !thread->ended) { /* a busy ring remembers less: then all are looked at as far back */
        const int64_t reach = vg_snapshot_age(look->now, events[0].ticks);
        if (reach > 0 && reach < *window)
            *window = reach;
    }
    for (size_t i = 0; tally != NULL && i < count; i++) {
        const vg_event *event = &events[i];
        const vg_event_kind kind = vg_event_kind_of(event);
        if (kind != VG_EVENT_RUN && kind != VG_EVENT_RUNS && kind != VG_EVENT_CALL && kind != VG_EVENT_CALLS)
            continue;
        const uint64_t lasted = vg_event_duration(event);
        const int64_t end = vg_snapshot_age(look->now, event->ticks);
        const int64_t begin = vg_snapshot_age(look->now, event->ticks - (lasted < event->ticks ? lasted : 0));
        const uint64_t times = kind == VG_EVENT_RUNS ? event->a : kind == VG_EVENT_CALLS ? event->a & UINT32_MAX : 1;
        add_address(tally, vg_event_address(event), in_window(begin, end, *window), times);
    }
    free(events);
}

void functions_from_rings(struct look *look, struct functions *functions, double *seconds)
{
    const vg_snapshot *now = look->now;
    struct tally tally = {0};
    int64_t window = WINDOW_NS;
    functions->count = 0;
    if (now->age_ns < (uint64_t)window)
        window = (int64_t)now->age_ns;
    for (size_t i = 0; i < now->thread_count; i++)
        add_ring(look, &now->threads[i], NULL, &window);
    for (size_t i = 0; i < now->thread_count; i++)
        add_ring(look, &now->threads[i], &tally, &window);
    /* What runs now has no event yet. */
    for (size_t p = 0; p < now->pool_count; p++)
        for (size_t w = 0; w < now->pools[p].worker_count; w++) {
            const vg_worker_view *worker = &now->pools[p].workers[w];
            if (worker->in_task)
                add_address(&tally, worker->task_function, in_window((int64_t)worker->task_age_ns, 0, window), 1);
        }
    for (size_t l = 0; l < now->loop_count; l++)
        if (now->loops[l].call_function != 0)
            add_address(&tally, now->loops[l].call_function, in_window((int64_t)now->loops[l].call_age_ns, 0, window),
                        1);
    for (size_t i = 0; i < tally.count && window > 0; i++) {
        char name[NAME_ROOM];
        add(functions, look_name(look, tally.of[i].function, name), (double)tally.of[i].ns / (double)window,
            tally.of[i].count);
    }
    *seconds = (double)window / 1e9;
    sort(functions);
}

/* ---- from outside ------------------------------------------------------------------------------------------------ */

#ifdef VIGIL_HAVE_DOCTOR

enum {
    SAMPLES_KEPT = 4096,
    ROUNDS = 6, /* in one look */
    ROUNDS_KEPT = 256,
    AT_ONCE = 16, /* threads in one round */
    PC = 16       /* its DWARF number */
};

#define LOOK_MOST_NS UINT64_C(2000000000)

/* What a child writes in one look. */
struct sampled {
    unsigned asked, taken, rounds;
    uint64_t stopped_ns;
    struct {
        uint64_t address;
        unsigned round;
    } of[ROUNDS * AT_ONCE];
    vg_sample room;
};

struct sampler {
    vg_exam *exam;
    struct sampled *sampled; /* shared with the child */
    const struct threads *threads;
    struct {
        uint64_t address;
        unsigned round;
    } of[SAMPLES_KEPT];
    unsigned next, rounds;
};

struct sampler *sampler_create(void)
{
    struct sampler *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->exam = calloc(1, sizeof *s->exam);
    s->sampled = mmap(NULL, sizeof *s->sampled, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->exam != NULL && s->sampled != MAP_FAILED)
        return s;
    sampler_free(s);
    return NULL;
}

void sampler_free(struct sampler *s)
{
    if (s == NULL)
        return;
    if (s->sampled != MAP_FAILED && s->sampled != NULL)
        munmap(s->sampled, sizeof *s->sampled);
    free(s->exam);
    free(s);
}

/* In a child, because a thread that cannot stop would keep us here. */
static void take_look(void *arg)
{
    const struct sampler *s = arg;
    struct sampled *sampled = s->sampled;
    const pid_t pid = s->exam->processes[0].pid;
    vg_child_hurry();
    for (; sampled->rounds < ROUNDS; sampled->rounds++) {
        unsigned at_once = 0;
        for (size_t i = 0; i < s->threads->count && at_once < AT_ONCE; i++) { /* the busiest come first */
            const struct thread_row *row = &s->threads->of[i];
            if ((row->known && row->cpu <= 0) || threads_state(pid, row->tid) != 'R')
                continue;
            const vg_exam_thread thread = {.tid = row->tid, .state = 'R'};
            uint64_t stopped_ns;
            sampled->asked++;
            at_once++;
            const vg_stop_end end = vg_registers_take(s->exam, &thread, &sampled->room, &stopped_ns);
            if (stopped_ns > sampled->stopped_ns)
                sampled->stopped_ns = stopped_ns;
            if (end == VG_STOP_LATE)
                return; /* our end lets it go */
            if (end != VG_STOP_TAKEN)
                continue;
            sampled->of[sampled->taken].address = sampled->room.regs[PC];
            sampled->of[sampled->taken++].round = sampled->rounds;
        }
        /* Not a round number: what repeats must not be met at the same place always. */
        const struct timespec pause = {.tv_nsec = 3000000 + (long)(sampled->rounds * 7919 % 13) * 97003};
        nanosleep(&pause, NULL);
    }
}

bool sampler_look(struct sampler *s, struct look *look, const struct threads *threads)
{
    struct sampled *sampled = s->sampled;
    s->exam->processes[0].pid = vg_reader_local_pid(look->reader);
    s->exam->processes[0].readable = true;
    s->threads = threads;
    sampled->asked = sampled->taken = sampled->rounds = 0;
    vg_child child;
    if (!vg_child_start(&child, take_look, s) || vg_child_await(&child, LOOK_MOST_NS) == VG_CHILD_LOST)
        return false;
    for (unsigned i = 0; i < sampled->taken; i++) {
        s->of[s->next % SAMPLES_KEPT].address = sampled->of[i].address;
        s->of[s->next++ % SAMPLES_KEPT].round = s->rounds + 1 + sampled->of[i].round;
    }
    s->rounds += sampled->rounds < ROUNDS ? sampled->rounds + 1 : ROUNDS;
    return sampled->asked == 0 || sampled->taken > 0;
}

void sampler_functions(struct sampler *s, struct look *look, struct functions *functions, unsigned *samples,
                       uint64_t *stop_ns)
{
    const unsigned held = s->next < SAMPLES_KEPT ? s->next : SAMPLES_KEPT;
    const unsigned rounds = s->rounds < ROUNDS_KEPT ? s->rounds : ROUNDS_KEPT;
    functions->count = 0;
    *samples = 0;
    *stop_ns = s->sampled->stopped_ns;
    for (unsigned i = 0; i < held && rounds > 0; i++) {
        char name[NAME_ROOM];
        if (s->of[i].round + ROUNDS_KEPT <= s->rounds)
            continue;
        look_name(look, s->of[i].address, name);
        name[strcspn(name, "+")] = '\0'; /* the function, not the place in it */
        add(functions, name[0] != '\0' ? name : "?", 1.0 / rounds, 1);
        (*samples)++;
    }
    sort(functions);
}

#else

struct sampler *sampler_create(void)
{
    return NULL;
}

void sampler_free(struct sampler *s)
{
    (void)s;
}

bool sampler_look(struct sampler *s, struct look *look, const struct threads *threads)
{
    (void)s, (void)look, (void)threads;
    return false;
}

void sampler_functions(struct sampler *s, struct look *look, struct functions *functions, unsigned *samples,
                       uint64_t *stop_ns)
{
    (void)s, (void)look, (void)functions;
    *samples = 0;
    *stop_ns = 0;
}

#endif
