/* SPDX-License-Identifier: MIT */
/* IDLE.md holds the argument; the letters A to F are its letters. */
#include "idle.h"

#include "base/fault.h"
#include "base/futex.h"
#include "record/stack.h"
#include "caps.h"
#include "counter.h"
#include "deque.h"
#include "injector.h"
#include "quiescence.h"
#include "run.h"
#include "seats.h"
#include "trace.h"
#include "worker.h"

#include <stddef.h>
#include <vigil/record.h>

void vg_idle_init(vg_idle *idle)
{
    atomic_init(&idle->word, VG_CREDIT_ZERO);
    for (unsigned i = 0; i < VG_SEAT_WORDS; i++)
        atomic_init(&idle->parked[i], 0U);
}

static bool deques_visible(vigil_pool *pool, unsigned class_, unsigned first, unsigned count)
{
    for (unsigned base = first & ~(VG_SEAT_BITS - 1U); base < first + count; base += VG_SEAT_BITS) {
        /* S2 acquire: a seat whose bit we see is in the table; pairs with the release in vg_push_own_slow */
        uint64_t bits = atomic_load_explicit(&pool->spawners[class_][base / VG_SEAT_BITS], memory_order_acquire);
        while (bits != 0) {
            unsigned index = base + (unsigned)__builtin_ctzll(bits);
            bits &= bits - 1;
            if (vg_deque_size(vg_seat_at(pool, index)->deques[class_]) != 0)
                return true;
        }
    }
    return false;
}

static bool class_visible(vigil_pool *pool, unsigned class_)
{
    if (vg_cap_is_full(pool, class_))
        return false; /* leaving the class announces it again */
    if (vg_injector_visible(&pool->injectors[class_]))
        return true;
    if (pool->no_stealing)
        return false;
    return deques_visible(pool, class_, 0, atomic_load_explicit(&pool->high, memory_order_relaxed)) ||
           deques_visible(pool, class_, VG_MAX_WORKERS, atomic_load_explicit(&pool->spare_high, memory_order_relaxed));
}

bool vg_work_visible(vigil_pool *pool, unsigned classes)
{
    while (classes != 0) {
        unsigned class_ = (unsigned)__builtin_ctz(classes);
        classes &= classes - 1;
        if (class_visible(pool, class_))
            return true;
    }
    return false;
}

void vg_announce(vigil_pool *pool, unsigned class_)
{
    /* A full fence: the push is visible before the word is read; pairs with B, C and D (IDLE.md, cases 1 to 3) */
    atomic_thread_fence(memory_order_seq_cst);
    uint64_t word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
    if ((word & vg_ready_bit(class_)) == 0) {
        /* relaxed: the bit is a hint; the queues have their own order and are read again before it is cleared (C,
           C') */
        word = atomic_fetch_or_explicit(&pool->idle.word, vg_ready_bit(class_), memory_order_relaxed);
    }
    /* Leaving a full class announces it again (caps.c). */
    if (vg_idle_wants_wake(word) && !vg_cap_is_full(pool, class_))
        vg_wake_one(pool);
}

void vg_search_begin(vigil_pool *pool)
{
    /* relaxed: a searcher promises nothing until its search ends (B, C) */
    (void)atomic_fetch_add_explicit(&pool->idle.word, VG_SEARCH_ONE, memory_order_relaxed);
}

void vg_search_end(vigil_pool *pool)
{
    uint64_t before = atomic_fetch_sub_explicit(&pool->idle.word, VG_SEARCH_ONE, memory_order_relaxed);
    if (vg_idle_searching(before) != 1)
        return; /* another searcher is bound by this rule when it ends */
    /* B full fence: the word shows nobody searching before the queues are read; pairs with A */
    atomic_thread_fence(memory_order_seq_cst);
    uint64_t word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
    if (vg_idle_wants_wake(word) && vg_work_visible(pool, vg_idle_ready(word)))
        vg_wake_one(pool);
}

/* Claim one set bit among the seats first..first+count-1, lowest first to keep few workers warm; -1: none. */
static int claim_seat(vigil_pool *pool, unsigned first, unsigned count)
{
    for (unsigned base = first & ~(VG_SEAT_BITS - 1U); base < first + count; base += VG_SEAT_BITS) {
        uint64_t mask = ~UINT64_C(0);
        if (base < first)
            mask &= ~UINT64_C(0) << (first - base);
        if (first + count - base < VG_SEAT_BITS)
            mask &= (UINT64_C(1) << (first + count - base)) - 1;
        _Atomic uint64_t *bits = &pool->idle.parked[base / VG_SEAT_BITS];
        uint64_t seen = atomic_load_explicit(bits, memory_order_relaxed) & mask;
        while (seen != 0) {
            uint64_t bit = seen & -seen;
            /* S3 acquire: the seat of a parked worker is in the table; pairs with the release in vg_park.
               vg_unpark orders the rest. */
            if ((atomic_fetch_and_explicit(bits, ~bit, memory_order_acquire) & bit) != 0)
                return (int)(base + (unsigned)__builtin_ctzll(bit));
            seen &= ~bit;
        }
    }
    return -1;
}

/* Does a bit show that could be claimed? A dormant spare without a credit cannot: its bit must not keep a waker
   spinning. */
static bool any_seat_claimable(vigil_pool *pool, uint64_t word)
{
    const unsigned end = vg_idle_credits(word) > 0 ? VG_MAX_SEATS : VG_MAX_WORKERS;
    for (unsigned base = 0; base < end; base += VG_SEAT_BITS) {
        uint64_t bits = atomic_load_explicit(&pool->idle.parked[base / VG_SEAT_BITS], memory_order_relaxed);
        if (end - base < VG_SEAT_BITS)
            bits &= (UINT64_C(1) << (end - base)) - 1;
        if (bits != 0)
            return true;
    }
    return false;
}

static void count_wake_sent(vigil_pool *pool, vg_worker *self)
{
    if (self != NULL) {
        vg_count_release(&self->seat.counts->wakes_sent, 1);
        vg_trace_pause(self); /* it makes a system call */
    } else
        (void)atomic_fetch_add_explicit(&vg_stripe_of_caller(pool)->counts->wakes_sent, 1, memory_order_relaxed);
}

/*
 * Wake the worker. `stays`: the caller is inside a call that keeps the pool alive. Then what only tells of the wake is
 * written after it: the woken thread is what somebody waits for.
 */
static void call_worker(vigil_pool *pool, vg_seat *seat, bool stays)
{
    vg_worker *self = vg_worker_of(pool);
    const unsigned index = seat->index; /* read now, as level: after the exchange the seat is not ours to read */
    const bool late = stays && self == NULL;
    uint64_t called = 0;
    if (!late)
        count_wake_sent(pool, self);
    if (vg_fault(VG_FAULT_DROP_CALL)) {
        if (late)
            count_wake_sent(pool, NULL);
        return;
    }
    if (pool->level >= VIGIL_RECORD_COUNTERS &&
        atomic_load_explicit(&seat->wake, memory_order_relaxed) == VG_WAKE_SLEEPING) {
        called = vg_ticks();
        atomic_store_explicit(&seat->called_at, called, memory_order_relaxed); /* of two wakers the later counts */
        if (!stays)
            vg_trace_wake(pool, index, called);
    }
    /* P1 release: the worker sees what we did before; pairs with P2 */
    if (atomic_exchange_explicit(&seat->wake, VG_WAKE_CALLED, memory_order_release) == VG_WAKE_SLEEPING)
        (void)vg_futex_wake(&seat->wake, 1);
    if (late)
        count_wake_sent(pool, NULL);
    if (stays && called != 0) {
        vg_trace_wake(pool, index, called);
        vg_trace_map_ahead(pool);
    }
}

void vg_unpark(vg_seat *seat)
{
    call_worker(seat->pool, seat, false);
}

bool vg_call_waiter(vigil_pool *pool, uint32_t kind)
{
    for (unsigned i = 0; (i = vg_seat_next(pool, i)) < VG_MAX_SEATS; i++) {
        vg_seat *seat = vg_seat_at(pool, i);
        uint32_t seen = kind;
        /* relaxed: vg_unpark orders it */
        if (atomic_compare_exchange_strong_explicit(&seat->waiter, &seen, VG_WAITER_CALLED, memory_order_relaxed,
                                                    memory_order_relaxed)) {
            vg_unpark(seat);
            return true;
        }
    }
    return false;
}

/* Put a spare to work for a blocked worker; it inherits the caller's token. */
static bool activate_spare(vigil_pool *pool)
{
    uint64_t word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
    do {
        if (vg_idle_credits(word) <= 0)
            return false;
        /* K2 acquire: the waiter that gave this credit shows as willing; pairs with K1 in blocking.c */
    } while (!atomic_compare_exchange_weak_explicit(&pool->idle.word, &word, word - VG_CREDIT_ONE, memory_order_acquire,
                                                    memory_order_relaxed));
    int seat = claim_seat(pool, VG_MAX_WORKERS, atomic_load_explicit(&pool->spare_high, memory_order_relaxed));
    if (seat >= 0) {
        call_worker(pool, vg_seat_at(pool, (unsigned)seat), true);
        return true;
    }
    if (vg_spare_start(pool) == 0)
        return true;
    (void)atomic_fetch_add_explicit(&pool->idle.word, VG_CREDIT_ONE, memory_order_relaxed);
    if (!vg_call_waiter(pool, VG_WAITER_WILLING))
        (void)vg_call_waiter(pool, VG_WAITER_URGENT); /* the work may be urgent: it looks */
    return false;
}

void vg_wake_one(vigil_pool *pool)
{
    if (vg_fault(VG_FAULT_DROP_WAKE))
        return;
    for (;;) {
        uint64_t word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
        do {
            if (!vg_idle_wants_wake(word))
                return; /* somebody searches (and looks again before it stops), or nobody can be woken */
            /* One wake in flight: the token is taken here and travels with the wake. relaxed: vg_unpark hands it
               over; B or C orders its end. */
        } while (!atomic_compare_exchange_weak_explicit(&pool->idle.word, &word, word + VG_SEARCH_ONE,
                                                        memory_order_relaxed, memory_order_relaxed));
        int seat = claim_seat(pool, 0, atomic_load_explicit(&pool->high, memory_order_relaxed));
        if (seat >= 0) {
            (void)atomic_fetch_sub_explicit(&pool->idle.word, VG_PARKED_ONE, memory_order_relaxed);
            call_worker(pool, vg_seat_at(pool, (unsigned)seat), true);
            return;
        }
        if (activate_spare(pool))
            return;
        /* Nobody to claim: a worker that has not shown its bit yet will look at the queues after that (C). Give
           the token back; if it was the last, others may have relied on it. */
        uint64_t before = atomic_fetch_sub_explicit(&pool->idle.word, VG_SEARCH_ONE, memory_order_relaxed);
        if (vg_idle_searching(before) != 1)
            return;
        /* D full fence: the word shows nobody searching before bits and queues are read; pairs with A and C */
        atomic_thread_fence(memory_order_seq_cst);
        word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
        if (!any_seat_claimable(pool, word) || !vg_work_visible(pool, vg_idle_ready(word)))
            return;
    }
}

/* A woken worker reads next what other cores have written: ask for all of it at once. */
static void fetch_what_is_read_next(vg_worker *worker)
{
    vigil_pool *pool = worker->pool;
    vg_injector *injector = &pool->injectors[worker->last_class];
    __builtin_prefetch(&pool->idle, 1);
    __builtin_prefetch(&injector->incoming, 1);
    __builtin_prefetch(&injector->draining, 1);
    __builtin_prefetch(&injector->top);
    __builtin_prefetch(&injector->bottom);
}

bool vg_sleep_until_called(vg_worker *worker, uint64_t deadline_ns)
{
    _Atomic uint32_t *wake = &worker->seat.wake;
    bool in_time = true;
    uint32_t seen = VG_WAKE_NONE;
    /* relaxed on success: going to sleep publishes nothing; B, C and D did */
    if (atomic_compare_exchange_strong_explicit(wake, &seen, VG_WAKE_SLEEPING, memory_order_relaxed,
                                                memory_order_relaxed)) {
        while (in_time && atomic_load_explicit(wake, memory_order_relaxed) == VG_WAKE_SLEEPING)
            in_time = vg_futex_wait(wake, VG_WAKE_SLEEPING, deadline_ns) == 0;
        fetch_what_is_read_next(worker);
    }
    /* P2 acquire: we see what the waker did before; pairs with P1 */
    return atomic_exchange_explicit(wake, VG_WAKE_NONE, memory_order_acquire) == VG_WAKE_CALLED || in_time;
}

void vg_rewake(vg_seat *seat)
{
    vigil_pool *pool = seat->pool;
    const uint64_t bit = UINT64_C(1) << (seat->index % VG_SEAT_BITS);
    /* Like vg_wake_one for this worker, no matter who searches. If its bit is down, it was claimed and its token
       is counted: only wake it again. */
    if ((atomic_fetch_and_explicit(&pool->idle.parked[seat->index / VG_SEAT_BITS], ~bit, memory_order_relaxed) & bit) !=
        0)
        (void)atomic_fetch_add_explicit(&pool->idle.word, VG_SEARCH_ONE - (seat->spare ? VG_CREDIT_ONE : VG_PARKED_ONE),
                                        memory_order_relaxed);
    count_wake_sent(pool, vg_worker_of(pool));
    /* Wake in any case: an earlier wake may have been lost after the store. relaxed: we publish nothing, and an
       exchange continues the release sequence of P1. */
    (void)atomic_exchange_explicit(&seat->wake, VG_WAKE_CALLED, memory_order_relaxed);
    (void)vg_futex_wake(&seat->wake, 1);
}

/* Is there mail of a class that is not full? After C. */
static bool has_mail_to_run(vg_worker *worker)
{
    if (atomic_load_explicit(&worker->seat.mailbox, memory_order_relaxed) > 1)
        return true;
    for (unsigned rest = worker->mail_ready; rest != 0; rest &= rest - 1)
        if (!vg_cap_is_full(worker->pool, (unsigned)__builtin_ctz(rest)))
            return true;
    return false;
}

/* The worker parks with mail of these classes (bits), or is back. relaxed: ordered by C. */
static void count_mail_waits(vigil_pool *pool, unsigned classes, uint32_t step)
{
    for (; classes != 0; classes &= classes - 1)
        (void)atomic_fetch_add_explicit(&pool->cap_mail[__builtin_ctz(classes)], step, memory_order_relaxed);
}

static void count_park(vg_worker *worker)
{
    vg_count_release(&worker->seat.counts->parks, 1);
    if (worker->woken) {
        vg_count_release(&worker->seat.counts->wakes_spurious, 1);
        worker->woken = false;
    }
}

bool vg_park(vg_worker *worker, unsigned looked_at, const vg_wait *wait)
{
    vigil_pool *pool = worker->pool;
    vg_seat *seat = &worker->seat;
    const uint64_t step = seat->spare ? VG_CREDIT_ONE : VG_PARKED_ONE;
    const uint64_t bit = UINT64_C(1) << (seat->index % VG_SEAT_BITS);
    _Atomic uint64_t *bits = &pool->idle.parked[seat->index / VG_SEAT_BITS];

    const bool keep_one = pool->idle_policy == VIGIL_IDLE_KEEP_ONE_AWAKE && !seat->spare;

    vg_slab_flush(&worker->calls);
    vg_handles_hand_over(&worker->pool->jobs, &worker->free_jobs);
    vg_worker_state(worker, VIGIL_WORKER_PARKED);
    const uint64_t parked_at = vg_peek(&seat->counts->state_since);
    /* The park is counted before it shows. With one worker kept awake, only the step below decides whether we park. */
    if (!keep_one)
        count_park(worker);
    /* The count goes up before the bit shows, so a claim never counts below zero. Classes that were empty are no
       longer ready; C finds later pushes. relaxed: ordered by C. */
    uint64_t clear = (uint64_t)looked_at << VG_READY_SHIFT;
    uint64_t word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
    do {
        if (keep_one && vg_idle_searching(word) == 1) { /* decided in one step with the parking of the others */
            vg_worker_state(worker, VIGIL_WORKER_SPINNING);
            return true;
        }
    } while (!atomic_compare_exchange_weak_explicit(&pool->idle.word, &word, (word & ~clear) - VG_SEARCH_ONE + step,
                                                    memory_order_relaxed, memory_order_relaxed));
    if (keep_one)
        count_park(worker);
    /* S3 release: our seat is in the table; pairs with the acquire in claim_seat. C orders the rest. */
    (void)atomic_fetch_or_explicit(bits, bit, memory_order_release);
    atomic_store_explicit(&seat->mail_waits, worker->mail_ready, memory_order_relaxed);
    count_mail_waits(pool, worker->mail_ready, 1);
    /* C heavy fence: word and bits show this worker parked before it reads the queues; pairs with A (injectors),
       A' (spawns), E in mail.c and G in quiescence.c */
    vg_fence_heavy(worker->fences);
    for (unsigned rest = looked_at; rest != 0; rest &= rest - 1) {
        unsigned class_ = (unsigned)__builtin_ctz(rest);
        if (vg_work_visible(pool, 1U << class_))
            vg_announce(pool, class_); /* raises the bit and wakes one, perhaps us */
    }
    word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
    if (vg_idle_wants_wake(word) && vg_work_visible(pool, vg_idle_ready(word) & ~looked_at))
        vg_wake_one(pool);
    vg_quiescence_signal(pool);

    bool in_time = true;
    /* wait->over was asked right before: whatever ends a wait wakes the worker afterwards, parked or not, and
       wakes are sticky. */
    if (!has_mail_to_run(worker)) {
        VG_PROBE(park, pool->block.serial, seat->index);
        const bool noted = worker->depth == 0 && worker->level >= VIGIL_RECORD_COUNTERS;
        if (noted)
            vg_wait_begin(&seat->counts->wait, VG_WAIT_WORK, 0, 0, parked_at);
        vg_trace_map_ahead(pool);
        in_time = vg_sleep_until_called(worker, wait->deadline_ns);
        if (noted)
            vg_wait_end(&seat->counts->wait);
    }
    atomic_store_explicit(&seat->mail_waits, 0, memory_order_relaxed);
    count_mail_waits(pool, worker->mail_ready, UINT32_MAX);
    vg_stack_open_signal();

    /* A thread that claimed our bit uncounted us and gave us its token. If nobody did, we count as searching again: our
       last look is stale. */
    if ((atomic_fetch_and_explicit(bits, ~bit, memory_order_relaxed) & bit) != 0)
        (void)atomic_fetch_add_explicit(&pool->idle.word, VG_SEARCH_ONE - step, memory_order_relaxed);
    worker->woken = true;
    vg_worker_state(worker, VIGIL_WORKER_LOOKING);
    vg_trace_parked(worker, parked_at);
    return in_time;
}
