/* SPDX-License-Identifier: MIT */
/*
 * reader_pool.c - a pool and its workers, from the copies of their blocks.
 */
#include "reader_pool.h"
#include "raw.h"

#include <errno.h>
#include <stdlib.h>

#include <vigil/pool.h>

/* The numbers of one class, each from the copy that it has to come from. */
typedef struct view_sums {
    uint64_t completed, failed, cancelled, started, withdrawn, refused; /* from the first */
    uint64_t submitted, spawned;                                        /* from the second */
} view_sums;

static void add_worker(view_sums *to, const vg_class_counts *before, const vg_class_counts *after)
{
    to->completed += vg_raw_get(&before->completed);
    to->failed += vg_raw_get(&before->failed);
    to->cancelled += vg_raw_get(&before->cancelled);
    to->started += vg_raw_get(&before->started);
    to->withdrawn += vg_raw_get(&before->withdrawn);
    to->refused += vg_raw_get(&before->refused);
    to->submitted += vg_raw_get(&after->submitted);
    to->spawned += vg_raw_get(&after->spawned);
}

static void add_stripes(view_sums *to, unsigned c, const vg_file_pool *before, const vg_file_pool *after)
{
    for (unsigned i = 0; i < VG_FILE_STRIPES; i++) {
        to->cancelled += vg_raw_get(&before->stripes[i].cancelled[c]);
        to->withdrawn += vg_raw_get(&before->stripes[i].withdrawn[c]);
        to->refused += vg_raw_get(&before->stripes[i].refused[c]);
        to->submitted += vg_raw_get(&after->stripes[i].submitted[c]);
    }
}

static void show_class(vg_class_view *view, const view_sums *from)
{
    view->completed = from->completed;
    view->failed = from->failed;
    view->cancelled = from->cancelled;
    view->refused = from->refused;
    view->spawned = from->spawned;
    view->running = vg_less(from->started, from->completed + from->failed);
    view->queued = vg_less(from->submitted + from->spawned, from->withdrawn + from->started + from->cancelled);
    view->submitted = view->queued + view->running + view->completed + view->failed + view->cancelled;
}

static void add_class_view(vg_class_view *total, const vg_class_view *part)
{
    total->submitted += part->submitted;
    total->queued += part->queued;
    total->running += part->running;
    total->completed += part->completed;
    total->failed += part->failed;
    total->cancelled += part->cancelled;
    total->refused += part->refused;
    total->spawned += part->spawned;
    total->delayed += part->delayed;
    if (part->oldest_age_ns > total->oldest_age_ns)
        total->oldest_age_ns = part->oldest_age_ns;
}

/* ---- workers ----------------------------------------------------------------------------------------------------- */

static bool was_used(const vg_file_worker *worker)
{
    return vg_raw_get(&worker->changes) != 0 || vg_raw_get(&worker->tid) != 0;
}

static void show_doing(const vg_raw *raw, const vg_file_worker *before, const vg_file_worker *from,
                       const vg_file_worker *after, vg_worker_view *view)
{
    const uint64_t state = vg_raw_get(&from->state);
    view->state = state < VG_FILE_STATES ? (unsigned)state : VIGIL_WORKER_UNUSED;
    view->state_age_ns = vg_raw_age(raw, vg_raw_get(&from->state_since));
    view->changes = vg_raw_history(raw, &before->changes, from->history, &after->changes, view->history);
    if (view->changes != 0) { /* state and since from the same change */
        view->state = view->history[0].state;
        view->state_age_ns = view->history[0].age_ns;
    }
    view->depth = (unsigned)vg_raw_get(&from->depth);
    view->in_task = vg_raw_get(&from->task_function) != 0 &&
                    (view->state == VIGIL_WORKER_RUNNING || view->state == VIGIL_WORKER_BLOCKED || view->depth != 0);
    if (view->in_task) {
        view->task_function = vg_raw_get(&from->task_function);
        view->task_age_ns = vg_raw_age(raw, vg_raw_get(&from->task_since));
        view->task_id = vg_raw_get(&from->task_id);
        view->task_job = vg_raw_get(&from->task_job);
        const uint64_t labelled = vg_raw_get(&before->label_at);
        if (labelled != 0 && labelled == vg_raw_get(&after->label_at) && labelled >= vg_raw_get(&from->task_since) &&
            vg_raw_get(&from->label_function) == view->task_function)
            vg_copy_text(view->label, sizeof view->label, (const char *)from->label, sizeof from->label);
    }
    view->wait = vg_raw_wait(raw, &before->wait, &from->wait, &after->wait);
    for (unsigned s = 0; s < VG_FILE_STATES; s++)
        view->time_ns[s] = vg_raw_ns(raw, vg_raw_get(&from->time[s]));
    view->time_ns[view->state] += view->state_age_ns;
}

static void show_worker(const vg_raw *raw, const vg_file_worker *before, const vg_file_worker *from,
                        const vg_file_worker *after, vg_worker_view *view)
{
    view->index = (unsigned)from->index;
    view->spare = from->index >= VIGIL_MAX_WORKERS;
    view->tid = (pid_t)vg_raw_get(&from->tid);
    view->thread = vg_raw_get(&from->thread);
    show_doing(raw, before, from, after, view);
    for (unsigned c = 0; c < VG_FILE_CLASSES; c++) {
        view_sums one = {0};
        add_worker(&one, &before->of[c], &from->of[c]);
        view->of[c] = (vg_class_view){.submitted = vg_less(one.submitted + one.spawned, one.withdrawn),
                                      .completed = one.completed,
                                      .failed = one.failed,
                                      .cancelled = one.cancelled,
                                      .refused = one.refused,
                                      .spawned = one.spawned};
        view->started[c] = one.started;
    }
    view->steals_tried = vg_raw_get(&from->steals_tried);
    view->steals_won = vg_raw_get(&from->steals_won);
    view->steals_lost = vg_raw_get(&from->steals_lost);
    view->parks = vg_raw_get(&from->parks);
    view->wakes_sent = vg_raw_get(&from->wakes_sent);
    view->wakes_useful = vg_raw_get(&from->wakes_useful);
    view->wakes_spurious = vg_raw_get(&from->wakes_spurious);
    view->ageing_picks = vg_raw_get(&from->ageing_picks);
}

static int by_index(const void *a, const void *b)
{
    const unsigned x = ((const vg_worker_view *)a)->index;
    const unsigned y = ((const vg_worker_view *)b)->index;
    return (x > y) - (x < y);
}

static void add_worker_to_pool(vg_pool_view *pool, const vg_worker_view *worker)
{
    pool->steals_tried += worker->steals_tried;
    pool->steals_won += worker->steals_won;
    pool->steals_lost += worker->steals_lost;
    pool->parks += worker->parks;
    pool->wakes_sent += worker->wakes_sent;
    pool->wakes_useful += worker->wakes_useful;
    pool->wakes_spurious += worker->wakes_spurious;
    pool->ageing_picks += worker->ageing_picks;
    pool->work_ns += worker->time_ns[VIGIL_WORKER_RUNNING];
    pool->blocked_ns += worker->time_ns[VIGIL_WORKER_BLOCKED];
    pool->idle_ns += worker->time_ns[VIGIL_WORKER_PARKED];
    pool->search_ns += worker->time_ns[VIGIL_WORKER_LOOKING] + worker->time_ns[VIGIL_WORKER_STEALING] +
                       worker->time_ns[VIGIL_WORKER_SPINNING];
}

/* Is block i one of this pool's, with everything that was copied of it? */
static bool belongs(const vg_raw *raw, size_t i, vg_file_block_kind kind, uint64_t pool)
{
    return raw->blocks[i].kind == (uint64_t)kind && raw->blocks[i].owner == pool &&
           (kind != VG_BLOCK_WORKERS || raw->before[i] != NULL);
}

static int show_workers(const vg_raw *raw, vg_pool_view *pool, view_sums by_class[VG_FILE_CLASSES])
{
    size_t most = 0;
    for (size_t i = 0; i < raw->count; i++)
        if (belongs(raw, i, VG_BLOCK_WORKERS, pool->serial))
            most += (size_t)raw->blocks[i].entries;
    pool->workers = calloc(most + 1, sizeof *pool->workers);
    if (pool->workers == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < raw->count; i++) {
        if (!belongs(raw, i, VG_BLOCK_WORKERS, pool->serial))
            continue;
        const vg_file_worker *before = raw->before[i];
        const vg_file_worker *workers = raw->blocks[i].memory;
        const vg_file_worker *after = raw->after[i];
        for (uint64_t w = 0; w < raw->blocks[i].entries; w++) {
            for (unsigned c = 0; c < VG_FILE_CLASSES; c++)
                add_worker(&by_class[c], &before[w].of[c], &workers[w].of[c]);
            if (!was_used(&workers[w]))
                continue;
            vg_worker_view *view = &pool->workers[pool->worker_count++];
            show_worker(raw, &before[w], &workers[w], &after[w], view);
            add_worker_to_pool(pool, view);
        }
    }
    qsort(pool->workers, pool->worker_count, sizeof *pool->workers, by_index);
    return 0;
}

/* ---- the pool ---------------------------------------------------------------------------------------------------- */

static void show_hists(const vg_raw *raw, vg_pool_view *pool)
{
    for (size_t i = 0; i < raw->count; i++) {
        if (!belongs(raw, i, VG_BLOCK_HISTS, pool->serial))
            continue;
        const vg_file_pool_hists *sets = raw->blocks[i].memory;
        for (uint64_t s = 0; s < raw->blocks[i].entries; s++) {
            for (unsigned c = 0; c < VG_FILE_CLASSES; c++) {
                vg_raw_hist(raw, &sets[s].wait[c], &pool->wait[c]);
                vg_raw_hist(raw, &sets[s].run[c], &pool->run[c]);
            }
            vg_raw_hist(raw, &sets[s].wake, &pool->wake);
        }
    }
}

static void show_audit(const vg_raw *raw, const vg_file_pool *from, vg_pool_view *view)
{
    const uint64_t when = vg_raw_get(&from->audited_at);
    view->audited = when != 0;
    view->audit_age_ns = vg_raw_age(raw, when);
    view->audit_settled = vg_raw_get(&from->audit_settled) != 0;
    view->audit_expected = vg_raw_get(&from->audit_expected);
    view->audit_found = vg_raw_get(&from->audit_found);
    view->audit_lost = (int64_t)vg_raw_get(&from->audit_lost);
}

int vg_raw_pool(const vg_raw *raw, size_t at, vg_pool_view *view)
{
    const vg_file_pool *from = raw->blocks[at].memory;
    const vg_file_pool *before = raw->before[at];
    view->serial = raw->blocks[at].serial;
    vg_copy_text(view->name, sizeof view->name, from->name, sizeof from->name);
    view->age_ns = vg_raw_age(raw, from->born_ticks);
    const uint64_t phase = vg_raw_get(&from->phase);
    view->phase = phase <= 3 ? (unsigned)phase : 0;
    view->workers_wanted = (unsigned)vg_raw_get(&from->workers);
    view->max_spares = (unsigned)vg_raw_get(&from->max_spares);
    view->max_queue = from->max_queue;
    view->spares_started = vg_raw_get(&from->spares_started);
    view->spares_refused = vg_raw_get(&from->spares_refused);
    const uint64_t sampled = vg_raw_get(&from->sampled_at);
    view->sampled_age_ns = sampled == 0 ? UINT64_MAX : vg_raw_age(raw, sampled);
    show_audit(raw, from, view);
    view_sums by_class[VG_FILE_CLASSES] = {{0}};
    int error = show_workers(raw, view, by_class);
    if (error != 0)
        return error;
    for (unsigned c = 0; c < VG_FILE_CLASSES; c++) {
        vg_class_view *one = &view->of[c];
        view->caps[c] = from->caps[c];
        add_stripes(&by_class[c], c, before, from);
        show_class(one, &by_class[c]);
        const uint64_t delayed = vg_raw_get(&from->delayed[c]);
        one->delayed = delayed < one->queued ? delayed : one->queued;
        if (one->queued != 0)
            one->oldest_age_ns = vg_raw_age(raw, vg_raw_get(&from->oldest[c]));
        add_class_view(&view->total, one);
    }
    for (unsigned i = 0; i < VG_FILE_STRIPES; i++)
        view->wakes_sent += vg_raw_get(&from->stripes[i].wakes_sent);
    show_hists(raw, view);
    return 0;
}
