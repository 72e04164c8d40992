/* SPDX-License-Identifier: MIT */
/*
 * Every event says when it ended and how long it lasted, so the rings give back what each worker did, and what each
 * class ran. How much was queued follows backwards from what is queued now. A busy ring remembers seconds, a calm one
 * hours: of a worker a bin is known if its ring reaches back to it, of a class if all rings do. For what is older a
 * busy worker has steps of its past, half a second each.
 */
#include "history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vigil/pool.h>

enum {
    BINS = 120,
    WAIT_BUCKETS = 64 /* half powers of two, from 1 us */
};
#define STEP_NS INT64_C(500000000)

struct bin {
    double ran[VG_FILE_CLASSES];
    double moved[VG_FILE_CLASSES]; /* submitted less started */
    uint32_t waits[VG_FILE_CLASSES][WAIT_BUCKETS];
};

struct lane {
    unsigned worker;
    int known; /* the first bin that its ring reaches; BINS: none */
    int past;  /* the first bin that its steps reach; BINS: none */
    double run[BINS], block[BINS];
    double ran[BINS][VG_FILE_CLASSES];
    int8_t class_[BINS];
};

/* From the steps of any worker. */
struct past_bin {
    double queued[VG_FILE_CLASSES], wait_ms[VG_FILE_CLASSES];
};

struct pool_history {
    const vg_pool_view *pool;
    int known;
    struct bin *bins;
    struct past_bin *past;
    struct lane *lanes;
    size_t lane_count;
};

/* The bin of an age; -1: it is older than all. */
static int bin_of(int64_t age_ns)
{
    if (age_ns < 0)
        age_ns = 0;
    const int64_t back = age_ns / STEP_NS;
    return back < BINS ? BINS - 1 - (int)back : -1;
}

/* Spread what lasted from one age to another over the bins, as parts of each. */
static void spread(double *parts, int64_t begin_age, int64_t end_age)
{
    end_age = end_age < 0 ? 0 : end_age;
    for (int i = bin_of(end_age); i >= 0; i--) {
        const int64_t young = (BINS - 1 - i) * STEP_NS, old = young + STEP_NS;
        const int64_t from = begin_age < old ? begin_age : old, to = end_age > young ? end_age : young;
        if (from <= to)
            break;
        parts[i] += (double)(from - to) / (double)STEP_NS;
        if (parts[i] > 1)
            parts[i] = 1;
        if (begin_age <= old)
            break;
    }
}

static void add_wait(struct bin *bin, unsigned class_, int64_t ns)
{
    const double steps = ns > 1000 ? 2 * log2((double)ns / 1000) : 0;
    bin->waits[class_][steps < WAIT_BUCKETS - 1 ? (int)steps : WAIT_BUCKETS - 1]++;
}

/* What one in a hundred exceeds, in ms; 0: nothing began. */
static double wait_p99(const struct bin *bin, unsigned class_)
{
    uint64_t all = 0, seen = 0;
    for (unsigned i = 0; i < WAIT_BUCKETS; i++)
        all += bin->waits[class_][i];
    for (unsigned i = 0; i < WAIT_BUCKETS; i++) {
        seen += bin->waits[class_][i];
        if (all > 0 && seen * 100 >= all * 99)
            return exp2((i + 1) / 2.0) / 1000;
    }
    return 0;
}

static struct pool_history *history_of(struct pool_history *all, size_t count, uint64_t serial)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].pool->serial == serial)
            return &all[i];
    return NULL;
}

static struct lane *lane_of(struct pool_history *pool, unsigned worker)
{
    for (size_t i = 0; i < pool->lane_count; i++)
        if (pool->lanes[i].worker == worker)
            return &pool->lanes[i];
    return NULL;
}

static void add_run(const vg_snapshot *now, struct pool_history *pool, struct lane *lane, const vg_event *event)
{
    const unsigned class_ = vg_event_small(event);
    const uint64_t lasted = vg_event_duration(event), begin = event->ticks - (lasted < event->ticks ? lasted : 0);
    const int64_t ended_age = vg_snapshot_age(now, event->ticks), begun_age = vg_snapshot_age(now, begin);
    const int ended = bin_of(ended_age), begun = bin_of(begun_age);
    const bool several = vg_event_kind_of(event) == VG_EVENT_RUNS;
    if (class_ >= VG_FILE_CLASSES)
        return;
    if (ended >= 0) {
        pool->bins[ended].ran[class_] += several ? (double)event->a : 1;
        if (lane != NULL)
            lane->ran[ended][class_] += several ? (double)event->a : 1;
    }
    if (begun >= 0 && (several || event->a != 0)) /* else a spawn, whose submit was not recorded either */
        pool->bins[begun].moved[class_] -= several ? (double)event->a : 1;
    if (begun >= 0 && !several && event->a != 0 && event->a <= begin)
        add_wait(&pool->bins[begun], class_, vg_snapshot_age(now, event->a) - begun_age);
    if (lane == NULL)
        return;
    spread(lane->run, begun_age, ended_age);
    for (int i = begun > 0 ? begun : 0; i <= ended; i++)
        lane->class_[i] = (int8_t)class_;
}

static unsigned most_started(const vg_file_past *from, const vg_file_past *to)
{
    unsigned most = 0;
    for (unsigned c = 1; c < VG_FILE_CLASSES; c++)
        if (to->started[c] - from->started[c] > to->started[most] - from->started[most])
            most = c;
    return most;
}

/* What happened between two steps, as parts of the bins that the ring does not reach. The file may say anything. */
static void add_step(const vg_snapshot *now, struct pool_history *pool, struct lane *lane, const vg_file_past *from,
                     const vg_file_past *to)
{
    const int64_t begin = vg_snapshot_age(now, from->ticks), end = vg_snapshot_age(now, to->ticks);
    const double lasted = (double)(to->ticks - from->ticks);
    if (begin <= end || to->run < from->run || to->blocked < from->blocked)
        return;
    double run = (double)(to->run - from->run) / lasted, block = (double)(to->blocked - from->blocked) / lasted;
    run = run < 1 ? run : 1;
    block = block < 1 ? block : 1;
    double parts[BINS] = {0};
    spread(parts, begin, end);
    for (int i = 0; i < BINS && i < lane->known; i++) {
        if (parts[i] <= 0)
            continue;
        lane->run[i] += run * parts[i] + block * parts[i]; /* a wait lies inside its task */
        lane->block[i] += block * parts[i];
        lane->class_[i] = (int8_t)most_started(from, to);
        lane->past = i < lane->past ? i : lane->past;
        for (unsigned c = 0; c < VG_FILE_CLASSES; c++) {
            if (to->started[c] >= from->started[c])
                lane->ran[i][c] +=
                    (double)(to->started[c] - from->started[c]) * parts[i] * (double)STEP_NS / (double)(begin - end);
            const double wait = (double)to->wait[c] * now->tick_ns / 1e6;
            if (to->queued[c] != VG_PAST_UNKNOWN)
                pool->past[i].queued[c] = (double)to->queued[c];
            if (wait > pool->past[i].wait_ms[c])
                pool->past[i].wait_ms[c] = wait;
        }
    }
}

static void read_past(struct look *look, const vg_thread_view *thread, struct pool_history *pool, struct lane *lane)
{
    vg_file_past *steps;
    size_t count;
    if (lane->known == 0 || vg_reader_past(look->reader, thread->serial, &steps, &count) < 0)
        return;
    /* What the ring remembers of these bins is a part: the steps have all. */
    for (int i = 0; count > 1 && i < lane->known && i < BINS; i++) {
        lane->run[i] = lane->block[i] = 0;
        memset(lane->ran[i], 0, sizeof lane->ran[i]);
    }
    for (size_t i = 1; i < count; i++)
        add_step(look->now, pool, lane, &steps[i - 1], &steps[i]);
    free(steps);
}

static void read_ring(struct look *look, const vg_thread_view *thread, struct pool_history *all, size_t count)
{
    const vg_snapshot *now = look->now;
    struct pool_history *own = thread->role == VG_ROLE_WORKER ? history_of(all, count, thread->owner) : NULL;
    struct lane *lane = own != NULL ? lane_of(own, thread->index) : NULL;
    vg_event *events;
    uint64_t first;
    size_t events_count;
    if (vg_reader_events(look->reader, thread->serial, 0, &events, &first, &events_count) < 0)
        return;
    int known = 0;
    if (first > 0 && events_count > 0)
        known = bin_of(vg_snapshot_age(now, events[0].ticks)) + 1;
    if (lane != NULL)
        lane->known = known;
    for (size_t i = 0; first > 0 && i < count; i++) /* any thread may have submitted to any pool */
        if (known > all[i].known && !thread->ended)
            all[i].known = known;
    for (size_t i = 0; i < events_count; i++) {
        const vg_event *event = &events[i];
        const vg_event_kind kind = vg_event_kind_of(event);
        const int bin = bin_of(vg_snapshot_age(now, event->ticks));
        if ((kind == VG_EVENT_RUN || kind == VG_EVENT_RUNS) && own != NULL) {
            add_run(now, own, lane, event);
        } else if (kind == VG_EVENT_WAIT && lane != NULL) {
            const uint64_t lasted = vg_event_duration(event);
            spread(lane->block, vg_snapshot_age(now, event->ticks - (lasted < event->ticks ? lasted : 0)),
                   vg_snapshot_age(now, event->ticks));
        } else if (kind == VG_EVENT_SUBMIT && bin >= 0 && vg_event_small(event) < VG_FILE_CLASSES) {
            struct pool_history *pool = history_of(all, count, event->a >> 32);
            if (pool != NULL)
                pool->bins[bin].moved[vg_event_small(event)] += (double)(event->a & UINT32_MAX);
        }
    }
    free(events);
    if (lane != NULL)
        read_past(look, thread, own, lane);
}

/* What runs now has no event yet. */
static void add_unfinished(struct pool_history *pool)
{
    for (size_t i = 0; i < pool->pool->worker_count; i++) {
        const vg_worker_view *w = &pool->pool->workers[i];
        struct lane *lane = lane_of(pool, w->index);
        if (lane == NULL || !w->in_task)
            continue;
        const bool blocked = w->state == VIGIL_WORKER_BLOCKED;
        spread(blocked ? lane->block : lane->run, (int64_t)(blocked ? w->state_age_ns : w->task_age_ns), 0);
    }
}

static json_object *five(const double *values)
{
    json_object *array = json_object_new_array();
    for (unsigned c = 0; c < VG_FILE_CLASSES; c++)
        json_object_array_add(array, values[c] > 0 ? json_object_new_double(values[c]) : NULL);
    return array;
}

static json_object *lane_json(const struct lane *lane)
{
    json_object *array = json_object_new_array();
    for (int i = 0; i < BINS; i++) {
        json_object *cell = NULL;
        if (i >= lane->known || i >= lane->past) {
            cell = json_object_new_array();
            json_object_array_add(cell, json_object_new_int(lane->class_[i]));
            /* A wait lies inside its task. */
            const double run = lane->run[i] - lane->block[i];
            json_object_array_add(cell, json_object_new_double(run > 0 ? run : 0));
            json_object_array_add(cell, json_object_new_double(lane->block[i]));
        }
        json_object_array_add(array, cell);
    }
    return array;
}

static json_object *pool_json(const struct pool_history *pool)
{
    json_object *o = json_object_new_object(), *workers = json_object_new_object();
    json_object *queued = json_object_new_array(), *rates = json_object_new_array(), *waits = json_object_new_array();
    double waiting[BINS][VG_FILE_CLASSES];
    int past = BINS; /* the first bin that the steps of a worker reach */
    for (size_t i = 0; i < pool->lane_count; i++)
        past = pool->lanes[i].past < past ? pool->lanes[i].past : past;
    double at[VG_FILE_CLASSES];
    for (unsigned c = 0; c < VG_FILE_CLASSES; c++)
        at[c] = (double)pool->pool->of[c].queued;
    for (int i = BINS - 1; i >= 0; i--)
        for (unsigned c = 0; c < VG_FILE_CLASSES; c++) {
            waiting[i][c] = at[c] > 0 ? at[c] : 0;
            at[c] -= pool->bins[i].moved[c];
        }
    for (int i = 0; i < BINS; i++) {
        double rate[VG_FILE_CLASSES], wait[VG_FILE_CLASSES];
        const bool by_rings = i >= pool->known, known = by_rings || i >= past;
        for (unsigned c = 0; c < VG_FILE_CLASSES; c++) {
            double ran = by_rings ? pool->bins[i].ran[c] : 0;
            for (size_t k = 0; !by_rings && k < pool->lane_count; k++)
                ran += pool->lanes[k].ran[i][c];
            rate[c] = ran * 1e9 / (double)STEP_NS;
            wait[c] = by_rings ? wait_p99(&pool->bins[i], c) : pool->past[i].wait_ms[c];
        }
        json_object_array_add(queued, known ? five(by_rings ? waiting[i] : pool->past[i].queued) : NULL);
        json_object_array_add(rates, known ? five(rate) : NULL);
        json_object_array_add(waits, known ? five(wait) : NULL);
    }
    for (size_t i = 0; i < pool->lane_count; i++) {
        char id[16];
        snprintf(id, sizeof id, "%u", pool->lanes[i].worker);
        json_object_object_add(workers, id, lane_json(&pool->lanes[i]));
    }
    json_object_object_add(o, "id", json_object_new_uint64(pool->pool->serial));
    json_object_object_add(o, "queued", queued);
    json_object_object_add(o, "rate", rates);
    json_object_object_add(o, "wait_ms", waits);
    json_object_object_add(o, "workers", workers);
    return o;
}

static bool prepare(struct pool_history *pool, const vg_pool_view *view, const vg_snapshot *now)
{
    pool->pool = view;
    pool->known = bin_of((int64_t)(view->age_ns < now->age_ns ? view->age_ns : now->age_ns));
    pool->known = pool->known < 0 ? 0 : pool->known;
    pool->bins = calloc(BINS, sizeof *pool->bins);
    pool->past = calloc(BINS, sizeof *pool->past);
    pool->lanes = calloc(view->worker_count + 1, sizeof *pool->lanes);
    if (pool->bins == NULL || pool->past == NULL || pool->lanes == NULL)
        return false;
    for (size_t i = 0; i < view->worker_count; i++) {
        struct lane *lane = &pool->lanes[pool->lane_count];
        if (view->workers[i].tid == 0)
            continue;
        lane->worker = view->workers[i].index;
        lane->known = lane->past = BINS;
        memset(lane->class_, -1, sizeof lane->class_);
        pool->lane_count++;
    }
    return true;
}

json_object *history_json(struct look *look)
{
    const vg_snapshot *now = look->now;
    struct pool_history *all = calloc(now->pool_count + 1, sizeof *all);
    json_object *o = NULL;
    bool enough = all != NULL;
    for (size_t i = 0; enough && i < now->pool_count; i++)
        enough = prepare(&all[i], &now->pools[i], now);
    for (size_t i = 0; enough && i < now->thread_count; i++)
        read_ring(look, &now->threads[i], all, now->pool_count);
    if (enough) {
        o = json_object_new_object();
        json_object *pools = json_object_new_array();
        json_object_object_add(o, "t", json_object_new_double((double)now->age_ns / 1e9));
        json_object_object_add(o, "step", json_object_new_double((double)STEP_NS / 1e9));
        for (size_t i = 0; i < now->pool_count; i++) {
            add_unfinished(&all[i]);
            json_object_array_add(pools, pool_json(&all[i]));
        }
        json_object_object_add(o, "pools", pools);
    }
    for (size_t i = 0; all != NULL && i < now->pool_count; i++) {
        free(all[i].bins);
        free(all[i].past);
        free(all[i].lanes);
    }
    free(all);
    return o;
}
