/* SPDX-License-Identifier: MIT */
/*
 * take.c - how a worker chooses its next task. README.md, "File by file".
 */
#include "take.h"

#include "base/fault.h"
#include "caps.h"
#include "counter.h"
#include "deque.h"
#include "idle.h"
#include "injector.h"
#include "mail.h"
#include "moving.h"
#include "own.h"
#include "run.h"
#include "seats.h"
#include "trace.h"
#include "worker.h"

#include <limits.h>
#include <stddef.h>

#ifdef VIGIL_CHECK
#define VG_TURN_PERIOD   3
#define VG_STALE_LIMIT   2
#define VG_MOVE_PATIENCE 1
#else
#define VG_TURN_PERIOD   61
#define VG_STALE_LIMIT   8
#define VG_MOVE_PATIENCE 256
#endif

static uint64_t next_random(vg_worker *worker)
{
    uint64_t x = worker->random; /* xorshift64 is enough to pick a victim */
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    worker->random = x;
    return x;
}

/* Try each spawner in one word of the table, beginning at `start`. */
static vigil_task *steal_from_word(vg_worker *thief, unsigned class_, unsigned word, unsigned start, bool *lost)
{
    vigil_pool *pool = thief->pool;
    vg_file_worker *counts = thief->seat.counts;
    /* S2 acquire: a seat whose bit we see is in the table; pairs with the release in vg_push_own_slow */
    uint64_t bits = atomic_load_explicit(&pool->spawners[class_][word], memory_order_acquire);
    if (thief->seat.index / VG_SEAT_BITS == word)
        bits &= ~(UINT64_C(1) << (thief->seat.index % VG_SEAT_BITS));
    while (bits != 0) {
        uint64_t later = bits & (~UINT64_C(0) << start); /* the first victim at or after start, else the first of all */
        unsigned at = (unsigned)__builtin_ctzll(later != 0 ? later : bits);
        bits &= ~(UINT64_C(1) << at);
        vg_deque *victim = vg_seat_at(pool, word * VG_SEAT_BITS + at)->deques[class_];
        if (vg_deque_size(victim) == 0)
            continue;
        vg_worker_state(thief, VIGIL_WORKER_STEALING);
        vg_count_release(&counts->steals_tried, 1);
        vigil_task *task = NULL;
        switch (vg_deque_steal(victim, thief->fences, &task)) {
        case VG_STEAL_WON:
            vg_count_release(&counts->steals_won, 1);
            vg_trace_steal(thief, class_, word * VG_SEAT_BITS + at);
            return vg_task_from(pool, thief, victim, task);
        case VG_STEAL_LOST:
            vg_count_release(&counts->steals_lost, 1);
            *lost = true;
            break;
        case VG_STEAL_EMPTY:
            break;
        }
    }
    return NULL;
}

static vigil_task *steal_class(vg_worker *thief, unsigned class_)
{
    if (thief->pool->no_stealing)
        return NULL;
    uint64_t random = next_random(thief);
    for (int round = 0; round < 4; round++) { /* a lost race is another's progress; parking looks once more */
        bool lost = false;
        unsigned first_word = (unsigned)(random >> 32) % VG_SEAT_WORDS;
        for (unsigned i = 0; i < VG_SEAT_WORDS; i++) {
            unsigned word = (first_word + i) % VG_SEAT_WORDS;
            vigil_task *task = steal_from_word(thief, class_, word, (unsigned)random % VG_SEAT_BITS, &lost);
            if (task != NULL)
                return task;
        }
        if (!lost)
            break;
    }
    return NULL;
}

static vigil_task *take_from_injector(vigil_pool *pool, unsigned class_)
{
    vigil_task *task;
    do { /* a husk must not cost the class the pick that ageing owes it */
        bool more = false;
        task = vg_injector_take(&pool->injectors[class_], &more);
        if (more)
            vg_announce(pool, class_);
    } while (task != NULL && vg_drop_husk(pool, task));
    if (task != NULL && vg_fault(VG_FAULT_LOSE_TASK)) {
        vg_fault_lose(task);
        return NULL;
    }
    return task;
}

static vigil_task *take_class(vg_worker *worker, unsigned class_)
{
    vigil_pool *pool = worker->pool;
    vigil_task *task = NULL;
    if (++worker->turn == VG_TURN_PERIOD) {
        worker->turn = 0;
        task = take_from_injector(pool, class_);
    }
    if (task == NULL && (worker->announced & (1U << class_)) != 0 && vg_deque_size(worker->seat.deques[class_]) != 0)
        task = vg_task_from(pool, worker, worker->seat.deques[class_],
                            vg_deque_pop(&worker->queues[class_].own, worker->fences));
    if (task == NULL)
        task = vg_mail_next(worker, class_);
    if (task == NULL)
        task = take_from_injector(pool, class_);
    if (task == NULL)
        task = steal_class(worker, class_);
    return task;
}

/* One class, if its cap allows. *capped: it does not. */
static vigil_task *take_class_within_cap(vg_worker *worker, unsigned class_, bool *capped)
{
    *capped = false;
    if (worker->pool->caps[class_] == 0)
        return take_class(worker, class_);
    if (!vg_cap_enter(worker, class_)) {
        *capped = true;
        return NULL;
    }
    vigil_task *task = take_class(worker, class_);
    if (task == NULL)
        vg_cap_leave(worker, class_);
    return task;
}

/* A ready class was empty too often: clear its bit. */
static void retract_ready(vg_worker *worker, unsigned class_)
{
    vigil_pool *pool = worker->pool;
    (void)atomic_fetch_and_explicit(&pool->idle.word, ~vg_ready_bit(class_), memory_order_relaxed);
    /* C' heavy fence: the bit is down before the queues are read; pairs with A and A' */
    vg_fence_heavy(worker->fences);
    if (vg_work_visible(pool, 1U << class_))
        vg_announce(pool, class_);
}

/* The class seemed empty. Before a lower one, make sure that nobody is moving its tasks. */
static vigil_task *look_again_in_class(vg_worker *worker, unsigned class_)
{
    vigil_pool *pool = worker->pool;
    for (int i = 0; i < VG_MOVE_PATIENCE; i++) {
        vg_trace_pause(worker);
        if (vg_injector_moving(&pool->injectors[class_]))
            vg_thread_yield();
        else if (!vg_work_visible(pool, 1U << class_))
            return NULL;
        bool capped = false;
        vigil_task *task = take_class_within_cap(worker, class_, &capped);
        if (task != NULL || capped)
            return task;
    }
    return NULL;
}

/* Does somebody still move tasks of one of these classes? */
static bool still_moving(vigil_pool *pool, unsigned classes)
{
    for (; classes != 0; classes &= classes - 1)
        if (vg_injector_moving(&pool->injectors[__builtin_ctz(classes)]))
            return true;
    return false;
}

static unsigned own_ready(vg_worker *worker)
{
    unsigned ready = worker->mail_ready;
    for (unsigned rest = worker->announced; rest != 0; rest &= rest - 1) {
        unsigned class_ = (unsigned)__builtin_ctz(rest);
        if (vg_deque_size(worker->seat.deques[class_]) != 0)
            ready |= 1U << class_;
    }
    return ready;
}

/*
 * Charge the time since the last take: a task above a waiting class earns that class its share, a pick spends it. So
 * the shares of time hold for tasks of any length. The clock is read only while classes compete.
 */
static __attribute__((noinline)) void settle_age(vg_worker *worker)
{
#ifdef VIGIL_CHECK
    const uint64_t took = 1; /* its clock stands still */
#else
    const uint64_t now = vg_ticks();
    const uint64_t took = now > worker->age_since ? now - worker->age_since : 0;
    worker->age_since = now;
#endif
    const int64_t share = worker->pool->lower_permille;
    if (worker->age_kind == VG_AGE_ABOVE)
        worker->age_owed += (int64_t)took * share;
    else if (worker->age_kind == VG_AGE_PICK)
        worker->age_owed -= (int64_t)took * (1000 - share);
    worker->age_kind = VG_AGE_NONE;
    /* relaxed: a statistic */
    atomic_store_explicit(&worker->seat.age_debt, worker->age_owed < 0 ? (uint64_t)-worker->age_owed : 0,
                          memory_order_relaxed);
}

/* The pick of a lower class that ageing owes. */
static vigil_task *ageing_pick(vg_worker *worker, unsigned lower)
{
    bool waits = false;
    for (unsigned i = 0; i < VG_CLASSES; i++) {
        unsigned class_ = (worker->ageing_next + i) % VG_CLASSES;
        if ((lower & (1U << class_)) == 0)
            continue;
        bool capped = false;
        vigil_task *task = take_class_within_cap(worker, class_, &capped);
        if (task != NULL) {
            worker->age_kind = VG_AGE_PICK;
            worker->ageing_next = (class_ + 1) % VG_CLASSES;
            vg_count_release(&worker->seat.counts->ageing_picks, 1);
            return task;
        }
        waits = waits || (!capped && vg_injector_moving(&worker->pool->injectors[class_]));
    }
    if (!waits) /* nothing waits, or a cap holds it; else the pick is still owed */
        worker->age_owed = 0;
    return NULL;
}

static inline __attribute__((always_inline)) vigil_task *take_among(vg_worker *worker, unsigned classes,
                                                                    unsigned *looked_at)
{
    vigil_pool *pool = worker->pool;
    *looked_at = 0;
    if (atomic_load_explicit(&worker->seat.mailbox, memory_order_relaxed) > 1)
        vg_mail_collect(worker);
    /* relaxed: a bit whose push is not visible yet costs a vain look; see vg_announce */
    unsigned ready = vg_idle_ready(atomic_load_explicit(&pool->idle.word, memory_order_relaxed)) | own_ready(worker);
    if (ready != 0 && vg_fault(VG_FAULT_STARVE_CLASS))
        ready &= ~(1U << vg_fault_argument(VG_FAULT_STARVE_CLASS));
    ready &= classes;
    if (ready == 0) {
        if (__builtin_expect(worker->age_kind != VG_AGE_NONE, 0))
            settle_age(worker); /* the time to come is no task's */
        return NULL;
    }
    vg_handling(worker, 1);
    unsigned lower = ready & (ready - 1);
    if (__builtin_expect((lower | worker->age_kind) != 0, 0))
        settle_age(worker);
    if (lower != 0 && worker->age_owed > 0) {
        vigil_task *task = ageing_pick(worker, lower);
        if (task != NULL)
            return task;
    }
    unsigned empty = 0;
    for (unsigned rest = ready; rest != 0; rest &= rest - 1) {
        unsigned class_ = (unsigned)__builtin_ctz(rest);
        bool capped = false;
        vigil_task *task = take_class_within_cap(worker, class_, &capped);
        if (task == NULL && !capped && (rest & (rest - 1)) != 0)
            task = look_again_in_class(worker, class_);
        if (task == NULL) {
            if (!capped)
                empty |= 1U << class_;
            continue;
        }
        worker->misses[class_] = 0;
        if ((rest & (rest - 1)) != 0)
            worker->age_kind = VG_AGE_ABOVE;
        if (__builtin_expect(empty != 0, 0) && still_moving(pool, empty)) {
            worker->age_kind = VG_AGE_PICK; /* patience is at its end: the lower class is served early, and owes it */
            worker->age_since = vg_ticks(); /* but not the patience */
        }
        for (; empty != 0; empty &= empty - 1) {
            unsigned passed = (unsigned)__builtin_ctz(empty);
            if (++worker->misses[passed] >= VG_STALE_LIMIT) {
                worker->misses[passed] = 0;
                retract_ready(worker, passed);
            }
        }
        return task;
    }
    vg_handling(worker, 0);
    *looked_at = empty;
    return NULL;
}

vigil_task *vg_take(vg_worker *worker, unsigned *looked_at)
{
    return take_among(worker, UINT_MAX, looked_at);
}

__attribute__((noinline)) vigil_task *vg_take_above(vg_worker *worker, unsigned lowest)
{
    unsigned looked_at = 0;
    return take_among(worker, (2U << lowest) - 1, &looked_at);
}
