/* SPDX-License-Identifier: MIT */
/*
 * stats.c - the numbers, and the end of work.
 *
 * Every counter only goes up, and a task is counted as submitted before it is started before it is ended. So if the ends
 * are read first (acquire), then the starts, then the submits, no snapshot shows more ends than starts or more starts than
 * submits, and queued and running, which are the differences, are never negative.
 *
 * The same order answers "is everything done?": if the ends that were read first equal the submits that were read last, then
 * at the moment between the two readings every accepted task had ended.
 */
#include "note.h"

#include "base/options.h"

#include <errno.h>
#include <string.h>

typedef struct class_sums {
    uint64_t submitted, started, completed, failed, cancelled, withdrawn, refused;
} class_sums;

static uint64_t read_counter(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_acquire); /* pairs with the release in vg_count_release */
}

/* Call `visit` for each seat there is. */
static void each_seat(vigil_pool *pool, void (*visit)(vg_seat *seat, void *arg), void *arg)
{
    for (unsigned i = 0; (i = vg_seat_next(pool, i)) < VG_MAX_SEATS; i++)
        visit(vg_seat_at(pool, i), arg);
}

typedef struct sums_of_class {
    unsigned class_;
    class_sums *into;
} sums_of_class;

static void add_ends(vg_seat *seat, void *arg)
{
    sums_of_class *to = arg;
    to->into->completed += read_counter(&seat->counts->of[to->class_].completed);
    to->into->failed += read_counter(&seat->counts->of[to->class_].failed);
    to->into->cancelled += read_counter(&seat->counts->of[to->class_].cancelled);
}

static void add_starts(vg_seat *seat, void *arg)
{
    sums_of_class *to = arg;
    to->into->started += read_counter(&seat->counts->of[to->class_].started);
    to->into->withdrawn += read_counter(&seat->counts->of[to->class_].withdrawn);
    to->into->refused += read_counter(&seat->counts->of[to->class_].refused);
}

static void add_submits(vg_seat *seat, void *arg)
{
    sums_of_class *to = arg;
    to->into->submitted +=
        read_counter(&seat->counts->of[to->class_].submitted) + read_counter(&seat->counts->of[to->class_].spawned);
}

/* The sums of all classes, in the order that the page above asks for. */
static void read_sums(vigil_pool *pool, class_sums by_class[VG_CLASSES])
{
    memset(by_class, 0, VG_CLASSES * sizeof *by_class);
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        sums_of_class to = {.class_ = c, .into = &by_class[c]};
        each_seat(pool, add_ends, &to);
        for (unsigned i = 0; i < VG_STRIPES; i++)
            by_class[c].cancelled += read_counter(&pool->shared->stripes[i].cancelled[c]);
    }
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        sums_of_class to = {.class_ = c, .into = &by_class[c]};
        each_seat(pool, add_starts, &to);
        for (unsigned i = 0; i < VG_STRIPES; i++) {
            by_class[c].withdrawn += read_counter(&pool->shared->stripes[i].withdrawn[c]);
            by_class[c].refused += read_counter(&pool->shared->stripes[i].refused[c]);
        }
    }
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        sums_of_class to = {.class_ = c, .into = &by_class[c]};
        each_seat(pool, add_submits, &to);
        for (unsigned i = 0; i < VG_STRIPES; i++)
            by_class[c].submitted += read_counter(&pool->shared->stripes[i].submitted[c]);
    }
}

void vg_pool_books(vigil_pool *pool, vg_books *books)
{
    class_sums by_class[VG_CLASSES];
    read_sums(pool, by_class);
    *books = (vg_books){0};
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        books->accepted += by_class[c].submitted - by_class[c].withdrawn;
        books->begun += by_class[c].started + by_class[c].cancelled;
        books->ended += by_class[c].completed + by_class[c].failed + by_class[c].cancelled;
    }
}

/* ---- idle ---- */

bool vg_pool_is_idle(vigil_pool *pool)
{
    vg_books books;
    vg_pool_books(pool, &books);
    return books.ended == books.accepted;
}

void vg_quiescence_signal(vigil_pool *pool)
{
    if (atomic_load_explicit(&pool->idle_waiters, memory_order_relaxed) == 0)
        return;
    /* I2 acquire: what the holders of these tickets had submitted is in the sums below; pairs with I1 */
    const uint32_t tickets = atomic_load_explicit(&pool->idle_tickets, memory_order_acquire);
    if (!vg_pool_is_idle(pool))
        return;
    /* The pool was idle after these tickets were drawn: that is news for their holders, and for nobody who came later. */
    uint32_t seen = atomic_load_explicit(&pool->idle_seen, memory_order_relaxed);
    do {
        if ((int32_t)(tickets - seen) <= 0)
            return; /* another has told them */
        /* I3 release: the waiter that sees its number sees the ends that we have seen; pairs with I4 */
    } while (!atomic_compare_exchange_weak_explicit(&pool->idle_seen, &seen, tickets, memory_order_release,
                                                    memory_order_relaxed));
    (void)vg_futex_wake(&pool->idle_seen, VG_WAKE_ALL);
}

int vg_wait_until_idle(vigil_pool *pool, uint64_t deadline_ns)
{
    int error = 0;
    const bool blocked = vg_block_elsewhere();
    const vg_waiting waiting = vg_trace_wait(pool, NULL, VG_WAIT_IDLE, pool->block.serial, NULL);
    (void)atomic_fetch_add_explicit(&pool->idle_waiters, 1, memory_order_relaxed);
    /* I1 release: what we have submitted is known to whoever sees our ticket; pairs with I2 */
    const uint32_t ticket = atomic_fetch_add_explicit(&pool->idle_tickets, 1, memory_order_release) + 1;
    bool in_time = true;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&pool->idle_seen, memory_order_acquire); /* I4, pairs with I3 */
        /* G full fence: counted as waiting before the ends are read; pairs with F and with C. It also is an acquire to I3; I4 says so
           to the thread sanitizer, which does not understand fences, on behalf of those who read what their tasks wrote */
        atomic_thread_fence(memory_order_seq_cst);
        if ((int32_t)(seen - ticket) >= 0 || vg_pool_is_idle(pool)) /* it was seen idle since we came, or is */
            break;
        if (!in_time) {
            error = -ETIMEDOUT;
            break;
        }
        in_time = vg_futex_wait(&pool->idle_seen, seen, deadline_ns) == 0;
    }
    (void)atomic_fetch_sub_explicit(&pool->idle_waiters, 1, memory_order_relaxed);
    vg_trace_waited(pool, &waiting);
    vg_unblock_elsewhere(blocked);
    return error;
}

int vigil_pool_wait_idle(vigil_pool *pool, int64_t timeout_ns)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (vg_part_of(pool))
        return -EDEADLK;
    return vg_wait_until_idle(pool, vg_deadline_after(timeout_ns));
}

/* ---- snapshots ---- */

static void fill_class(vigil_class_stats *stats, const class_sums *from)
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
    uint64_t ticks = read_counter(&counts->time[state]);
    uint64_t since = atomic_load_explicit(&counts->state_since, memory_order_relaxed);
    if (atomic_load_explicit(&counts->state, memory_order_relaxed) == state && now > since)
        ticks += now - since; /* the state that it is in still counts */
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
    stats->spares += seat->spare && has_thread(state) && state != VIGIL_WORKER_PARKED;
    for (unsigned c = 0; c < VG_CLASSES; c++)
        stats->spawned += read_counter(&counts->of[c].spawned);
    stats->steals_tried += read_counter(&counts->steals_tried);
    stats->steals_won += read_counter(&counts->steals_won);
    stats->steals_lost += read_counter(&counts->steals_lost);
    stats->parks += read_counter(&counts->parks);
    stats->wakes_sent += read_counter(&counts->wakes_sent);
    stats->wakes_useful += read_counter(&counts->wakes_useful);
    stats->wakes_spurious += read_counter(&counts->wakes_spurious);
    stats->ageing_picks += read_counter(&counts->ageing_picks);
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
        return -EINVAL;
    vigil_pool_stats filled = {0};
    vigil_pool_stats *stats = &filled;
    class_sums by_class[VG_CLASSES];
    read_sums(pool, by_class);
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
    each_seat(pool, add_seat, &view);
    for (unsigned i = 0; i < VG_STRIPES; i++)
        stats->wakes_sent += read_counter(&pool->shared->stripes[i].wakes_sent);
    uint64_t word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
    stats->workers = atomic_load_explicit(&pool->target, memory_order_relaxed);
    stats->parked = vg_idle_parked(word);
    stats->searching = vg_idle_searching(word);
    stats->spares_started = read_counter(&pool->shared->spares_started);
    stats->spares_refused = read_counter(&pool->shared->spares_refused);
    return vg_options_give(given, given->size, stats, sizeof *stats,
                           offsetof(vigil_pool_stats, workers) + sizeof stats->workers);
}

static int find_seat(vigil_pool *pool, unsigned worker, vg_seat **seat)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    *seat = worker < VG_MAX_SEATS ? vg_seat_at(pool, worker) : NULL;
    return *seat == NULL ? -ENOENT : 0;
}

int vigil_pool_worker_stats_get(vigil_pool *pool, unsigned worker, vigil_worker_stats *given)
{
    vg_seat *seat = NULL;
    int error = find_seat(pool, worker, &seat);
    if (error != 0)
        return error;
    if (given == NULL)
        return -EINVAL;
    vigil_worker_stats filled = {0};
    vigil_worker_stats *stats = &filled;
    const vg_file_worker *counts = seat->counts;
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        stats->completed += read_counter(&counts->of[c].completed);
        stats->failed += read_counter(&counts->of[c].failed);
        stats->cancelled += read_counter(&counts->of[c].cancelled);
        stats->started[c] = read_counter(&counts->of[c].started);
        stats->spawned += read_counter(&counts->of[c].spawned);
    }
    stats->steals_tried = read_counter(&counts->steals_tried);
    stats->steals_won = read_counter(&counts->steals_won);
    stats->steals_lost = read_counter(&counts->steals_lost);
    stats->parks = read_counter(&counts->parks);
    stats->wakes_sent = read_counter(&counts->wakes_sent);
    stats->wakes_useful = read_counter(&counts->wakes_useful);
    stats->wakes_spurious = read_counter(&counts->wakes_spurious);
    stats->ageing_picks = read_counter(&counts->ageing_picks);
    stats->spare = seat->spare;
    const uint64_t now = vg_ticks();
    const double length = vg_tick_length(pool->born);
    stats->state = (vigil_worker_state)atomic_load_explicit(&counts->state, memory_order_relaxed);
    uint64_t since = atomic_load_explicit(&counts->state_since, memory_order_relaxed);
    stats->state_since_ns = now > since ? vg_ticks_to_ns(now - since, length) : 0;
    for (unsigned s = 0; s < VIGIL_WORKER_STATES; s++)
        stats->time_ns[s] = vg_ticks_to_ns(state_ticks(counts, s, now), length);
    return vg_options_give(given, given->size, stats, sizeof *stats,
                           offsetof(vigil_worker_stats, state) + sizeof stats->state);
}

int vigil_pool_worker_history(vigil_pool *pool, unsigned worker, vigil_worker_change *changes, size_t room)
{
    vg_seat *seat = NULL;
    int error = find_seat(pool, worker, &seat);
    if (error != 0)
        return error;
    if (changes == NULL && room != 0)
        return -EINVAL;
    const vg_file_worker *counts = seat->counts;
    const uint64_t total = read_counter(&counts->changes); /* pairs with the release in vg_history_put */
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
    /* acquire: of what the worker has written over what we copied the count tells us now; pairs with the fence in vg_history_put */
    atomic_thread_fence(memory_order_acquire);
    /* What was overwritten is not told, nor what may be being overwritten. */
    const uint64_t overwritten = atomic_load_explicit(&counts->changes, memory_order_relaxed) - total;
    const size_t safe = overwritten < VG_FILE_HISTORY ? VG_FILE_HISTORY - 1 - (size_t)overwritten : 0;
    return (int)(kept < safe ? kept : safe);
}
