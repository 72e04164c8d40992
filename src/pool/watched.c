/* SPDX-License-Identifier: MIT */
/*
 * watched.c - the pool as the watchdog sees it. Nothing stops for the snapshot, so its parts are not of one moment;
 * the watchdog believes only what it sees again (src/watchdog/judge_pool.c, judge_task.c).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "watched.h"

#include "audit.h"
#include "label.h"

#include "base/futex.h"
#include "blocking.h"
#include "deque.h"
#include "idle.h"
#include "seats.h"
#include "record/facts.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    VG_SMALL_STACK = 64 * 1024 /* too small for a signal handler that walks it */
};

static vg_doing worker_doing(vg_seat *seat, uint64_t state)
{
    switch ((vigil_worker_state)state) {
    case VIGIL_WORKER_STARTING:
        return VG_DOING_START;
    case VIGIL_WORKER_RUNNING:
        return atomic_load_explicit(&seat->handling, memory_order_relaxed) % 2 != 0 ? VG_DOING_HANDLING : VG_DOING_TASK;
    case VIGIL_WORKER_LOOKING:
    case VIGIL_WORKER_STEALING:
    case VIGIL_WORKER_SPINNING:
        return VG_DOING_SEARCH;
    case VIGIL_WORKER_PARKED:
        return VG_DOING_PARKED;
    case VIGIL_WORKER_BLOCKED:
        return VG_DOING_BLOCKED;
    default:
        return VG_DOING_NOTHING;
    }
}

/* The word may be gone: the kernel copies it or fails. */
static int read_owner(uintptr_t word)
{
    uint32_t thread = 0;
#ifndef VIGIL_CHECK
    const struct iovec to = {.iov_base = &thread, .iov_len = sizeof thread};
    const struct iovec from = {.iov_base = (void *)word, .iov_len = sizeof thread}; // NOLINT
    if (word == 0 || process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)sizeof thread)
        return 0;
#else
    (void)word;
#endif
    /* A lock of src/share has flags in the bits above. Held by an asynchronous function: by no thread. */
    return (thread & (1U << 27)) != 0 ? 0 : (int)(thread & ((1U << 27) - 1));
}

static void read_waits(vg_seat *seat, vg_worker_fact *fact)
{
    const uint32_t count = atomic_load_explicit(&seat->note_count, memory_order_relaxed);
    if (count == 0 || count > VG_WAIT_NOTES)
        return; /* none, or the innermost is unknown: no arrow */
    const vg_wait_note *top = &seat->notes[count - 1];
    const uint64_t number = atomic_load_explicit(&top->number, memory_order_relaxed);
    fact->wait = (vg_wait_fact){
        .what = (vg_wait_what)atomic_load_explicit(&top->what, memory_order_relaxed),
        .limited = atomic_load_explicit(&top->limited, memory_order_relaxed) != 0,
        .number = number,
        .since_ns = atomic_load_explicit(&top->since, memory_order_relaxed),
        .object = atomic_load_explicit(&top->object, memory_order_relaxed),
        .function = (const void *)atomic_load_explicit(&top->function, memory_order_relaxed),
    };
    /* Other waits of blocked.h can be rejected if they say where they sleep. */
    fact->wait.rejectable =
        fact->wait.what == VG_WAITS_JOB ||
        (fact->wait.what != VG_WAITS_GROUP && atomic_load_explicit(&top->word, memory_order_relaxed) != 0);
    fact->wait.owner = read_owner(atomic_load_explicit(&top->owner, memory_order_relaxed));
    if (atomic_load_explicit(&seat->counts->wait.kind, memory_order_relaxed) == VG_WAIT_JOB)
        fact->wait.id = atomic_load_explicit(&seat->counts->wait.on, memory_order_relaxed);
    fact->wait.on_others = count > 1;
    const unsigned holds = atomic_load_explicit(&top->holds, memory_order_relaxed);
    for (; fact->hold_count < holds && fact->hold_count < VG_FACT_HOLDS; fact->hold_count++)
        fact->holds[fact->hold_count] = atomic_load_explicit(&seat->holds[fact->hold_count], memory_order_relaxed);
    if (number == 0 || atomic_load_explicit(&top->number, memory_order_relaxed) != number ||
        atomic_load_explicit(&seat->note_count, memory_order_relaxed) != count) {
        fact->wait.what = VG_WAITS_NOT; /* it changed during the copy */
        fact->hold_count = 0;
    }
}

static void read_worker(vigil_pool *pool, vg_seat *seat, vg_worker_fact *fact)
{
    const vg_file_worker *counts = seat->counts;
    memset(fact, 0, sizeof *fact);
    fact->self = seat;
    fact->group_word = (uintptr_t)seat - offsetof(vg_worker, seat) + offsetof(vg_worker, group);
    fact->index = seat->index;
    fact->spare = seat->spare;
    fact->thread = atomic_load_explicit(&seat->thread_id, memory_order_relaxed);
    fact->changes = atomic_load_explicit(&counts->changes, memory_order_relaxed);
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        fact->progress += atomic_load_explicit(&counts->of[c].started, memory_order_relaxed) +
                          atomic_load_explicit(&counts->of[c].completed, memory_order_relaxed) +
                          atomic_load_explicit(&counts->of[c].failed, memory_order_relaxed);
        fact->activity += atomic_load_explicit(&counts->of[c].submitted, memory_order_relaxed) +
                          atomic_load_explicit(&counts->of[c].spawned, memory_order_relaxed) +
                          atomic_load_explicit(&counts->of[c].refused, memory_order_relaxed) +
                          atomic_load_explicit(&counts->of[c].husks, memory_order_relaxed);
        fact->queued += (uint64_t)vg_deque_size(seat->deques[c]);
    }
    fact->activity += atomic_load_explicit(&counts->steals_tried, memory_order_relaxed);
    fact->mail = atomic_load_explicit(&seat->mail_pushed, memory_order_relaxed) -
                 atomic_load_explicit(&seat->mail_taken, memory_order_relaxed);
    fact->queued += fact->mail;
    if (pool->lower_permille != 0)
        fact->age_debt_ns =
            vg_ticks_to_ns(atomic_load_explicit(&seat->age_debt, memory_order_relaxed) / pool->lower_permille,
                           vg_tick_length(pool->born));
    fact->doing = worker_doing(seat, atomic_load_explicit(&counts->state, memory_order_relaxed));
    /* A task's name stays briefly after its end (record/format.h). */
    if (fact->doing == VG_DOING_TASK || fact->doing == VG_DOING_BLOCKED || fact->doing == VG_DOING_HANDLING ||
        atomic_load_explicit(&counts->depth, memory_order_relaxed) != 0) {
        fact->function = (const void *)(uintptr_t)atomic_load_explicit(&counts->task_function, memory_order_relaxed);
        fact->job = atomic_load_explicit(&counts->task_job, memory_order_relaxed);
        vg_label_read(counts, fact);
    }
    fact->called = atomic_load_explicit(&seat->wake, memory_order_relaxed) == VG_WAKE_CALLED;
    fact->shown = (atomic_load_explicit(&pool->idle.parked[seat->index / VG_SEAT_BITS], memory_order_relaxed) >>
                       (seat->index % VG_SEAT_BITS) &
                   1) != 0;
    read_waits(seat, fact);
}

static int reserve_facts(vg_pool_facts *facts, size_t count)
{
    if (count <= facts->room)
        return 0;
    vg_worker_fact *larger = realloc(facts->worker, count * sizeof *larger);
    if (larger == NULL)
        return -ENOMEM;
    facts->worker = larger;
    facts->room = count;
    return 0;
}

static int read_workers(vigil_pool *pool, vg_pool_facts *facts)
{
    size_t count = 0;
    facts->count = 0;
    for (unsigned i = 0; (i = vg_seat_next(pool, i)) < VG_MAX_SEATS; i++)
        count++;
    int error = reserve_facts(facts, count);
    if (error != 0)
        return error;
    for (unsigned i = 0; (i = vg_seat_next(pool, i)) < VG_MAX_SEATS && facts->count < count; i++)
        read_worker(pool, vg_seat_at(pool, i), &facts->worker[facts->count++]);
    return 0;
}

/* Is a submit between its count and its last look at sleepers? Waits for room do not count. */
static bool calls_under_way(vigil_pool *pool)
{
    uint64_t inside = 0;
    for (unsigned i = 0; i < VG_STRIPES; i++) {
        const uint64_t left = atomic_load_explicit(&pool->stripes[i].left, memory_order_relaxed);
        const uint64_t entered = atomic_load_explicit(&pool->stripes[i].entered, memory_order_relaxed);
        inside += entered > left ? entered - left : 0;
    }
    return inside > atomic_load_explicit(&pool->room_waiters, memory_order_relaxed);
}

static int pool_facts(void *object, vg_pool_facts *facts)
{
    vigil_pool *pool = object;
    vigil_pool_stats stats = {.size = sizeof stats};
    (void)vigil_pool_stats_get(pool, &stats);
    (void)snprintf(facts->name, sizeof facts->name, "%s", pool->name);
    const uint64_t word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
    facts->workers = stats.workers;
    facts->searching = vg_idle_searching(word);
    facts->credits = vg_idle_credits(word);
    facts->visible = 0;
    facts->full = 0;
    facts->calls = calls_under_way(pool);
    facts->spins = pool->idle_policy == VIGIL_IDLE_KEEP_ONE_AWAKE;
    facts->small_stacks = pool->stack_size != 0 && pool->stack_size < VG_SMALL_STACK;
    facts->stopping = atomic_load_explicit(&pool->phase, memory_order_relaxed) != VG_OPEN;
    facts->max_spares = pool->max_spares;
    facts->all_queued = stats.total.queued;
    facts->all_submitted = stats.total.submitted;
    facts->all_ended = stats.total.completed + stats.total.failed + stats.total.cancelled;
    facts->all_started = 0;
    facts->delayed = 0;
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        const vigil_class_stats *one = &stats.by_class[c];
        const uint64_t delayed = atomic_load_explicit(&pool->shared->delayed[c], memory_order_relaxed);
        facts->queued[c] = one->queued > delayed ? one->queued - delayed : 0;
        facts->started[c] = one->running + one->completed + one->failed;
        facts->all_started += facts->started[c];
        facts->oldest_ns[c] = one->oldest_age_ns;
        facts->delayed += delayed;
        if (vg_work_visible(pool, 1U << c))
            facts->visible |= 1U << c;
        if (pool->caps[c] != 0 && atomic_load_explicit(&pool->cap_used[c], memory_order_relaxed) >= pool->caps[c])
            facts->full |= 1U << c;
    }
    facts->ageing_picks = stats.ageing_picks;
    facts->steals_tried = stats.steals_tried;
    facts->steals_won = stats.steals_won;
    facts->work_ns = stats.work_ns;
    return read_workers(pool, facts);
}

static void pool_audit(void *object, vg_audit_fact *fact)
{
    vigil_audit audit = {.size = sizeof audit};
    (void)vg_pool_audit_at_once(object, &audit);
    fact->settled = audit.settled;
    fact->lost = audit.lost;
    fact->expected = audit.expected;
    fact->found = audit.found;
}

static void sum_hist(uint64_t *to, const vg_file_hist *from)
{
    for (unsigned b = 0; b < VG_HIST_BUCKETS; b++)
        to[b] += atomic_load_explicit(&from->buckets[b], memory_order_relaxed);
}

static bool pool_latencies(void *object, vg_latencies *sums)
{
    vigil_pool *pool = object;
    const vg_file_pool_hists *sets = pool->hists.memory;
    memset(sums, 0, sizeof *sums);
    if (sets == NULL)
        return false;
    for (unsigned i = 0; i < pool->hist_sets; i++)
        for (unsigned c = 0; c < VG_CLASSES; c++) {
            sum_hist(sums->wait, &sets[i].wait[c]);
            sum_hist(sums->run, &sets[i].run[c]);
        }
    sums->tick_ns = vg_tick_length(pool->born);
    return true;
}

static int pool_rewake(void *object, unsigned worker)
{
    vg_seat *seat = worker < VG_MAX_SEATS ? vg_seat_at(object, worker) : NULL;
    if (seat == NULL)
        return -ENOENT;
    vg_rewake(seat);
    return 0;
}

static void pool_stir(void *object)
{
    for (unsigned i = 0; (i = vg_seat_next(object, i)) < VG_MAX_SEATS; i++) {
        vg_seat *seat = vg_seat_at(object, i);
        if (atomic_load_explicit(&seat->counts->state, memory_order_relaxed) == VIGIL_WORKER_PARKED)
            vg_unpark(seat);
    }
}

static int pool_lend(void *object)
{
    return vg_credit_lend(object);
}

static void pool_take_back(void *object)
{
    vg_credit_take_back(object);
}

static int pool_reject(void *object, unsigned worker, uint64_t wait)
{
    vg_seat *seat = worker < VG_MAX_SEATS ? vg_seat_at(object, worker) : NULL;
    if (seat == NULL)
        return -ENOENT;
    atomic_store_explicit(&seat->rejected, wait, memory_order_relaxed); /* the wakes below order it */
    const uint32_t count = atomic_load_explicit(&seat->note_count, memory_order_relaxed);
    for (uint32_t n = 0; n < count && n < VG_WAIT_NOTES; n++) {
        if (atomic_load_explicit(&seat->notes[n].number, memory_order_relaxed) != wait)
            continue;
        /* Wait and word may be gone: the kernel takes only the address, and a stray wake is spurious. */
        _Atomic uint32_t *word =
            (_Atomic uint32_t *)atomic_load_explicit(&seat->notes[n].word, memory_order_relaxed); // NOLINT
        if (word != NULL)
            (void)vg_futex_wake(word, VG_WAKE_ALL);
    }
    vg_unpark(seat); /* sticky: at worst redundant */
    return 0;
}

const vg_subject_calls vg_pool_subject_calls = {
    .pool = true,
    .pool_facts = pool_facts,
    .audit = pool_audit,
    .latencies = pool_latencies,
    .stir = pool_stir,
    .rewake = pool_rewake,
    .lend = pool_lend,
    .take_back = pool_take_back,
    .reject = pool_reject,
};
