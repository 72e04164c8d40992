/* SPDX-License-Identifier: MIT */
/*
 * stats.c - the numbers of vigil_pool_stats_get. README.md, "File by file", explains the order of reading.
 */
#include "base/options.h"
#include "books.h"
#include "injector.h"
#include "seats.h"

#include <errno.h>
#include <stddef.h>

static void fill_class(vigil_class_stats *stats, const vg_class_sums *from)
{
    stats->completed = from->completed;
    stats->failed = from->failed;
    stats->cancelled = from->cancelled;
    stats->refused = from->refused;
    stats->submitted = from->submitted - from->withdrawn;
    stats->running = from->started - from->completed - from->failed;
    stats->queued = stats->submitted - from->started - from->cancelled;
}

static void add_class(vigil_class_stats *total, const vigil_class_stats *part)
{
    total->submitted += part->submitted;
    total->queued += part->queued;
    total->running += part->running;
    total->completed += part->completed;
    total->failed += part->failed;
    total->cancelled += part->cancelled;
    total->refused += part->refused;
    if (part->oldest_age_ns > total->oldest_age_ns)
        total->oldest_age_ns = part->oldest_age_ns;
}

static bool has_thread(uint64_t state)
{
    return state != VIGIL_WORKER_UNUSED && state != VIGIL_WORKER_STOPPED;
}

typedef struct seat_view {
    vigil_pool_stats *stats;
    uint64_t now;
    double length;
} seat_view;

static uint64_t state_ticks(const vg_file_worker *counts, unsigned state, uint64_t now)
{
    uint64_t ticks = vg_read_counter(&counts->time[state]);
    uint64_t since = atomic_load_explicit(&counts->state_since, memory_order_relaxed);
    if (atomic_load_explicit(&counts->state, memory_order_relaxed) == state && now > since)
        ticks += now - since; /* the current state counts too */
    return ticks;
}

static void add_seat(vg_seat *seat, void *arg)
{
    seat_view *view = arg;
    vigil_pool_stats *stats = view->stats;
    const vg_file_worker *counts = seat->counts;
    uint64_t state = atomic_load_explicit(&counts->state, memory_order_relaxed);
    stats->threads += has_thread(state);
    stats->blocked += state == VIGIL_WORKER_BLOCKED;
    stats->spares += seat->spare && !seat->guest && has_thread(state) && state != VIGIL_WORKER_PARKED;
    for (unsigned c = 0; c < VG_CLASSES; c++)
        stats->spawned += vg_read_counter(&counts->of[c].spawned);
    stats->steals_tried += vg_read_counter(&counts->steals_tried);
    stats->steals_won += vg_read_counter(&counts->steals_won);
    stats->steals_lost += vg_read_counter(&counts->steals_lost);
    stats->parks += vg_read_counter(&counts->parks);
    stats->wakes_sent += vg_read_counter(&counts->wakes_sent);
    stats->wakes_useful += vg_read_counter(&counts->wakes_useful);
    stats->wakes_spurious += vg_read_counter(&counts->wakes_spurious);
    stats->ageing_picks += vg_read_counter(&counts->ageing_picks);
    stats->work_ns += vg_ticks_to_ns(state_ticks(counts, VIGIL_WORKER_RUNNING, view->now), view->length);
    stats->blocked_ns += vg_ticks_to_ns(state_ticks(counts, VIGIL_WORKER_BLOCKED, view->now), view->length);
    stats->idle_ns += vg_ticks_to_ns(state_ticks(counts, VIGIL_WORKER_PARKED, view->now), view->length);
    stats->search_ns += vg_ticks_to_ns(state_ticks(counts, VIGIL_WORKER_LOOKING, view->now) +
                                           state_ticks(counts, VIGIL_WORKER_STEALING, view->now) +
                                           state_ticks(counts, VIGIL_WORKER_SPINNING, view->now),
                                       view->length);
}

int vigil_pool_stats_get(vigil_pool *pool, vigil_pool_stats *given)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (given == NULL)
        return VG_WHY_NULL("stats");
    vigil_pool_stats filled = {0};
    vigil_pool_stats *stats = &filled;
    vg_class_sums by_class[VG_CLASSES];
    vg_pool_sums(pool, by_class);
    seat_view view = {.stats = stats, .now = vg_ticks(), .length = vg_tick_length(pool->born)};
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        vigil_class_stats *one = &stats->by_class[c];
        fill_class(one, &by_class[c]);
        uint64_t oldest = vg_injector_oldest(&pool->injectors[c]);
        vg_cell_set(&pool->shared->oldest[c], oldest);
        if (oldest != 0 && one->queued != 0 && view.now > oldest)
            one->oldest_age_ns = vg_ticks_to_ns(view.now - oldest, view.length);
        add_class(&stats->total, one);
        stats->delayed += atomic_load_explicit(&pool->shared->delayed[c], memory_order_relaxed);
    }
    vg_cell_set(&pool->shared->sampled_at, view.now);
    vg_each_seat(pool, add_seat, &view);
    for (unsigned i = 0; i < VG_STRIPES; i++)
        stats->wakes_sent += vg_read_counter(&pool->shared->stripes[i].wakes_sent);
    uint64_t word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
    stats->workers = atomic_load_explicit(&pool->target, memory_order_relaxed);
    stats->parked = vg_idle_parked(word);
    stats->searching = vg_idle_searching(word);
    stats->spares_started = vg_read_counter(&pool->shared->spares_started);
    stats->spares_refused = vg_read_counter(&pool->shared->spares_refused);
    return vg_options_give(given, given->size, stats, sizeof *stats,
                           offsetof(vigil_pool_stats, workers) + sizeof stats->workers, "stats");
}

static int find_seat(vigil_pool *pool, unsigned worker, vg_seat **seat)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    *seat = worker < VG_MAX_SEATS ? vg_seat_at(pool, worker) : NULL;
    return *seat == NULL ? vg_why_say(-ENOENT, "worker is %u; the pool has no such worker", worker) : 0;
}

int vigil_pool_worker_stats_get(vigil_pool *pool, unsigned worker, vigil_worker_stats *given)
{
    vg_seat *seat = NULL;
    int error = find_seat(pool, worker, &seat);
    if (error != 0)
        return error;
    if (given == NULL)
        return VG_WHY_NULL("stats");
    vigil_worker_stats filled = {0};
    vigil_worker_stats *stats = &filled;
    const vg_file_worker *counts = seat->counts;
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        stats->completed += vg_read_counter(&counts->of[c].completed);
        stats->failed += vg_read_counter(&counts->of[c].failed);
        stats->cancelled += vg_read_counter(&counts->of[c].cancelled);
        stats->started[c] = vg_read_counter(&counts->of[c].started);
        stats->spawned += vg_read_counter(&counts->of[c].spawned);
    }
    stats->steals_tried = vg_read_counter(&counts->steals_tried);
    stats->steals_won = vg_read_counter(&counts->steals_won);
    stats->steals_lost = vg_read_counter(&counts->steals_lost);
    stats->parks = vg_read_counter(&counts->parks);
    stats->wakes_sent = vg_read_counter(&counts->wakes_sent);
    stats->wakes_useful = vg_read_counter(&counts->wakes_useful);
    stats->wakes_spurious = vg_read_counter(&counts->wakes_spurious);
    stats->ageing_picks = vg_read_counter(&counts->ageing_picks);
    stats->spare = seat->spare;
    const uint64_t now = vg_ticks();
    const double length = vg_tick_length(pool->born);
    stats->state = (vigil_worker_state)atomic_load_explicit(&counts->state, memory_order_relaxed);
    uint64_t since = atomic_load_explicit(&counts->state_since, memory_order_relaxed);
    stats->state_since_ns = now > since ? vg_ticks_to_ns(now - since, length) : 0;
    for (unsigned s = 0; s < VIGIL_WORKER_STATES; s++)
        stats->time_ns[s] = vg_ticks_to_ns(state_ticks(counts, s, now), length);
    return vg_options_give(given, given->size, stats, sizeof *stats,
                           offsetof(vigil_worker_stats, state) + sizeof stats->state, "stats");
}

int vigil_pool_worker_history(vigil_pool *pool, unsigned worker, vigil_worker_change *changes, size_t room)
{
    vg_seat *seat = NULL;
    int error = find_seat(pool, worker, &seat);
    if (error != 0)
        return error;
    if (changes == NULL && room != 0)
        return VG_WHY_NULL("changes");
    const vg_file_worker *counts = seat->counts;
    const uint64_t total = vg_read_counter(&counts->changes); /* pairs with the release in vg_history_put */
    const uint64_t now = vg_ticks();
    const double length = vg_tick_length(pool->born);
    size_t kept = total < VG_FILE_HISTORY ? (size_t)total : VG_FILE_HISTORY - 1;
    if (kept > room)
        kept = room;
    for (size_t i = 0; i < kept; i++) {
        const unsigned at = (unsigned)((total - 1 - i) % VG_FILE_HISTORY);
        uint64_t since = atomic_load_explicit(&counts->history[at].since, memory_order_relaxed);
        changes[i].state = (vigil_worker_state)atomic_load_explicit(&counts->history[at].state, memory_order_relaxed);
        changes[i].age_ns = now > since ? vg_ticks_to_ns(now - since, length) : 0;
    }
    /* acquire: the count now covers what was overwritten during the copy; pairs with the fence in vg_history_put */
    atomic_thread_fence(memory_order_acquire);
    /* Leave out entries that were or may be overwritten. */
    const uint64_t overwritten = atomic_load_explicit(&counts->changes, memory_order_relaxed) - total;
    const size_t safe = overwritten < VG_FILE_HISTORY ? VG_FILE_HISTORY - 1 - (size_t)overwritten : 0;
    return (int)(kept < safe ? kept : safe);
}
