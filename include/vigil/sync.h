/* SPDX-License-Identifier: MIT */
/*
 * vigil/sync.h - locks and counters that threads, tasks and asynchronous functions share.
 *
 *     static vigil_mutex lock = VIGIL_MUTEX_INIT;
 *
 *     vigil_mutex_lock(&lock);
 *     total += mine;
 *     vigil_mutex_unlock(&lock);
 *
 * One object serves all. A plain thread sleeps. A task sleeps too, and a spare worker takes its
 * place in the pool. An asynchronous function or a coroutine awaits a promise (vigil_promise_lock,
 * vigil_promise_acquire, ...) while its loop goes on.
 *
 * The objects are small, lie in the caller's memory and need no clean-up. Static ones start from
 * their _INIT macro; zeroed memory is an unlocked mutex, rwlock, condition and once. An object must
 * not be moved while somebody uses it. A mutex may be freed by the last thread that unlocks it;
 * the other objects when no call on them is in progress.
 *
 * Waits. Every wait takes a timeout and a cancel token, which may be NULL. A timeout of 0 only
 * tries. A wait that ends early answers -ETIMEDOUT, or the status of the token, and has changed
 * nothing. What can be had at once is had, also if the token is aborted.
 *
 * Order. Waiters are served in the order in which they came. A newcomer may overtake them at a
 * mutex or semaphore for at most half a millisecond, because a lock that changes hands without a
 * sleep is many times faster; then the oldest waiter gets it by hand. No wake goes to more waiters
 * than can go on.
 *
 * Owners. A mutex, a rwlock held by a writer and a once know their thread. The watchdog names
 * circles through them; with VIGIL_RECOVER_REJECT one wait of the circle, inside a task, answers
 * -EDEADLK.
 */
#ifndef VIGIL_SYNC_H
#define VIGIL_SYNC_H

#include <stdint.h>

#include <vigil/base.h>
#include <vigil/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_promise vigil_promise;

/* What the objects are made of: the library's alone. */
typedef struct vigil_waiters {
    VIGIL_ATOMIC(uint32_t) vg_word;
    VIGIL_ATOMIC(uint32_t) vg_guard;
    void *vg_first;
    void *vg_last;
} vigil_waiters;

/* clang-format off */
#define VG_WAITERS_INIT {0, 0, 0, 0}

/* ---- mutex ----------------------------------------------------------------------------------- */

/* One holder at a time. 24 bytes. */
typedef struct vigil_mutex {
    vigil_waiters vg_waiters;
} vigil_mutex;
#define VIGIL_MUTEX_INIT {VG_WAITERS_INIT}
/* clang-format on */

/* Lock. Any thread; blocks until the mutex is free. A task that holds a mutex runs no foreign work
   while it waits for something else.
   0; -EDEADLK the thread holds it already; -EINVAL. */
VIGIL_API int vigil_mutex_lock(vigil_mutex *mutex);

/* The same with a timeout and a token. Any thread; blocks for at most timeout_ns.
   0; -ETIMEDOUT; -EDEADLK; -EINVAL; the token's status. */
VIGIL_API int vigil_mutex_lock_timed(vigil_mutex *mutex, int64_t timeout_ns,
                                     vigil_cancel_token *token);

/* Unlock. Any thread that has locked it, or any at all if an asynchronous function holds it;
   does not block.
   0; -EPERM another thread holds it, or nobody; -EINVAL. */
VIGIL_API int vigil_mutex_unlock(vigil_mutex *mutex);

/* For the inline vigil_mutex_unlock: the same, out of line. Any thread; does not block.
   0; -EPERM; -EINVAL. */
VIGIL_API int vigil_mutex_unlock_slow(vigil_mutex *mutex);

/* Lock for an asynchronous function: fulfilled (VIGIL_NONE) when the mutex is locked. The
   function unlocks it with vigil_mutex_unlock. The mutex stays until the promise is settled.
   Owner of the loop; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_lock(vigil_loop *loop, vigil_mutex *mutex, vigil_cancel_token *token,
                                 vigil_promise **promise);

/* ---- rwlock ---------------------------------------------------------------------------------- */

/* Many readers or one writer. Readers behind a waiting writer wait, so nobody starves. 32 bytes. */
typedef struct vigil_rwlock {
    vigil_waiters vg_waiters;
    VIGIL_ATOMIC(uint32_t) vg_owner;
    uint32_t vg_reserved;
} vigil_rwlock;
/* clang-format off */
#define VIGIL_RWLOCK_INIT {VG_WAITERS_INIT, 0, 0}
/* clang-format on */

/* Lock for reading. A thread that reads already may wait for ever behind a writer. Any thread;
   blocks for at most timeout_ns.
   0; -ETIMEDOUT; -EDEADLK the thread is its writer; -EINVAL; the token's status. */
VIGIL_API int vigil_rwlock_read(vigil_rwlock *lock, int64_t timeout_ns, vigil_cancel_token *token);

/* Lock for writing. Any thread; blocks for at most timeout_ns.
   0; -ETIMEDOUT; -EDEADLK; -EINVAL; the token's status. */
VIGIL_API int vigil_rwlock_write(vigil_rwlock *lock, int64_t timeout_ns, vigil_cancel_token *token);

/* Unlock, as reader or as writer. Any thread that has locked it; does not block.
   0; -EPERM it is not locked, or another thread writes; -EINVAL. */
VIGIL_API int vigil_rwlock_unlock(vigil_rwlock *lock);

/* Lock for reading in an asynchronous function: fulfilled (VIGIL_NONE) when it is locked. The
   function unlocks it with vigil_rwlock_unlock, on any thread. The rwlock stays until the promise
   is settled. Owner of the loop; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_read_lock(vigil_loop *loop, vigil_rwlock *lock,
                                      vigil_cancel_token *token, vigil_promise **promise);

/* The same for writing. Owner of the loop; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_write_lock(vigil_loop *loop, vigil_rwlock *lock,
                                       vigil_cancel_token *token, vigil_promise **promise);

/* ---- condition ------------------------------------------------------------------------------- */

/* A condition that a mutex guards. 24 bytes. */
typedef struct vigil_condition {
    vigil_waiters vg_waiters;
} vigil_condition;
/* clang-format off */
#define VIGIL_CONDITION_INIT {VG_WAITERS_INIT}
/* clang-format on */

/* Unlock the mutex, wait for a signal, lock the mutex again: also after a timeout or an abort.
   There are no spurious returns, but another thread may have been first: look at the condition
   again. Any thread that holds the mutex; blocks for at most timeout_ns, and then for the mutex.
   0; -ETIMEDOUT; -EPERM the caller does not hold the mutex; -EINVAL; the token's status. */
VIGIL_API int vigil_condition_wait(vigil_condition *condition, vigil_mutex *mutex,
                                   int64_t timeout_ns, vigil_cancel_token *token);

/* Let the oldest waiter go on. If its mutex is locked it moves there without waking up. Any thread;
   does not block.
   0 nobody waited; 1 somebody did; -EINVAL. */
VIGIL_API int vigil_condition_signal(vigil_condition *condition);

/* Let all waiters go on, one after the other as the mutex becomes free. Any thread; does not block.
   Returns how many waited; -EINVAL. */
VIGIL_API int vigil_condition_broadcast(vigil_condition *condition);

/* Wait in an asynchronous function that holds the mutex (vigil_promise_lock): unlocks it, and is
   settled when it is locked again. Fulfilled (VIGIL_NONE) after a signal; rejected with the status
   of the token, and the mutex is locked as well. Only at the end of the loop (-ESHUTDOWN) it is
   not. Condition and mutex stay until the promise is settled. Owner of the loop; does not block.
   0; -EPERM also if no asynchronous function holds the mutex; -EINVAL; -ENOMEM; -ECANCELED;
   -ESHUTDOWN; -ECHILD; after an error the mutex is still locked. */
VIGIL_API int vigil_promise_condition(vigil_loop *loop, vigil_condition *condition,
                                      vigil_mutex *mutex, vigil_cancel_token *token,
                                      vigil_promise **promise);

/* ---- semaphore ------------------------------------------------------------------------------- */

/* Units of anything: connections, bytes, slots. 48 bytes. */
typedef struct vigil_semaphore {
    VIGIL_ATOMIC(uint64_t) vg_count;
    uint64_t vg_limit;
    vigil_waiters vg_waiters;
} vigil_semaphore;
/* clang-format off */
#define VIGIL_SEMAPHORE_MOST (UINT64_C(1) << 60)
#define VIGIL_SEMAPHORE_INIT(units) {(units), VIGIL_SEMAPHORE_MOST, VG_WAITERS_INIT}
/* clang-format on */

/* Begin with so many units; there can never be more than `limit` (0: VIGIL_SEMAPHORE_MOST). Any
   thread, before others use it; does not block.
   0; -EINVAL. */
VIGIL_API int vigil_semaphore_init(vigil_semaphore *semaphore, uint64_t units, uint64_t limit);

/* Take units, all of them or none. A large request is not starved by small ones. Any thread; blocks
   for at most timeout_ns.
   0; -ETIMEDOUT; -EINVAL also for more units than the limit; the token's status. */
VIGIL_API int vigil_semaphore_acquire(vigil_semaphore *semaphore, uint64_t units,
                                      int64_t timeout_ns, vigil_cancel_token *token);

/* Put units back, or in. Any thread; does not block.
   0; -EOVERFLOW there would be more than the limit, and nothing changed; -EINVAL. */
VIGIL_API int vigil_semaphore_post(vigil_semaphore *semaphore, uint64_t units);

/* Take units for an asynchronous function: fulfilled (VIGIL_NONE) when they are taken. The
   semaphore stays until the promise is settled. Owner of the loop; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_acquire(vigil_loop *loop, vigil_semaphore *semaphore, uint64_t units,
                                    vigil_cancel_token *token, vigil_promise **promise);

/* How many units there are now. Any thread; does not block. Returns the number; 0 for NULL. */
VIGIL_API uint64_t vigil_semaphore_units(const vigil_semaphore *semaphore);

/* ---- rate ------------------------------------------------------------------------------------ */

/* So many units per time, with a reserve for bursts: a token bucket. 24 bytes. */
typedef struct vigil_rate {
    VIGIL_ATOMIC(uint64_t) vg_full; /* the instant at which the reserve is full, in 1/64 ns */
    uint64_t vg_unit;               /* the time of one unit, in 1/64 ns */
    uint64_t vg_burst;
} vigil_rate;
/* clang-format off */
#define VIGIL_RATE_INIT(units, per_ns, burst) \
    {0, ((uint64_t)(per_ns) * 64 + (units) / 2) / (units), (burst)}
/* clang-format on */

/* `units` per per_ns, and up to `burst` units at once after a pause; it begins with these. Any
   thread, before others use it; does not block.
   0; -EINVAL also for no units, no time, no burst, or more than 64 units per ns. */
VIGIL_API int vigil_rate_init(vigil_rate *rate, uint64_t units, int64_t per_ns, uint64_t burst);

/* Take units, at most `burst`, when they have come. Callers are served in order, each at its own
   instant: no herd. A wait that would be longer than timeout_ns is refused at once, and what an
   aborted wait has reserved is for those who come later. Any thread; blocks for at most timeout_ns.
   0; -ETIMEDOUT; -EINVAL also for more units than the burst; the token's status. */
VIGIL_API int vigil_rate_take(vigil_rate *rate, uint64_t units, int64_t timeout_ns,
                              vigil_cancel_token *token);

/* Take units in an asynchronous function: fulfilled (VIGIL_NONE) when they have come. The rate
   stays until the promise is settled. Owner of the loop; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_rate(vigil_loop *loop, vigil_rate *rate, uint64_t units,
                                 vigil_cancel_token *token, vigil_promise **promise);

/* ---- once ------------------------------------------------------------------------------------ */

/* Something that happens once. 24 bytes. */
typedef struct vigil_once {
    vigil_waiters vg_waiters;
} vigil_once;
/* clang-format off */
#define VIGIL_ONCE_INIT {VG_WAITERS_INIT}
/* clang-format on */

/* Call fn(arg) unless a call of it has succeeded before; if one runs, wait for its end. A call that
   returns a negative status or leaves by vigil_raise has not happened: this returns its status, and
   the next caller tries. Any thread; blocks for at most timeout_ns while another thread is in fn.
   0; -ETIMEDOUT; -EDEADLK fn itself asked; -EINVAL; the token's status; what fn answered. */
VIGIL_API int vigil_once_run(vigil_once *once, int (*fn)(void *arg), void *arg, int64_t timeout_ns,
                             vigil_cancel_token *token);

/* ---- latch ----------------------------------------------------------------------------------- */

/* A gate that opens when a count comes to zero, and stays open. 32 bytes. */
typedef struct vigil_latch {
    VIGIL_ATOMIC(uint64_t) vg_count;
    vigil_waiters vg_waiters;
} vigil_latch;
/* clang-format off */
#define VIGIL_LATCH_INIT(count) {(count), VG_WAITERS_INIT}
/* clang-format on */

/* Begin with this count. Any thread, before others use it; does not block.
   0; -EINVAL. */
VIGIL_API int vigil_latch_init(vigil_latch *latch, uint64_t count);

/* Count down. When the count comes to zero, all who wait go on. Any thread; does not block.
   0; -EINVAL also if the count is less than `by`, and nothing changed. */
VIGIL_API int vigil_latch_down(vigil_latch *latch, uint64_t by);

/* Wait until the count is zero. The last waiter that returns from here may free the latch. Any
   thread; blocks for at most timeout_ns.
   0; -ETIMEDOUT; -EINVAL; the token's status. */
VIGIL_API int vigil_latch_wait(vigil_latch *latch, int64_t timeout_ns, vigil_cancel_token *token);

/* Wait in an asynchronous function: fulfilled (VIGIL_NONE) when the count is zero. The latch stays
   until the promise is settled. Owner of the loop; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_latch(vigil_loop *loop, vigil_latch *latch, vigil_cancel_token *token,
                                  vigil_promise **promise);

/* ---- barrier --------------------------------------------------------------------------------- */

/* A point that so many must reach before any goes on; then it begins again. 32 bytes. */
typedef struct vigil_barrier {
    vigil_waiters vg_waiters;
    uint32_t vg_parties;
    uint32_t vg_arrived;
} vigil_barrier;
/* clang-format off */
#define VIGIL_BARRIER_INIT(parties) {VG_WAITERS_INIT, (parties), 0}
/* clang-format on */

/* Begin with so many parties. Any thread, before others use it; does not block.
   0; -EINVAL also for none. */
VIGIL_API int vigil_barrier_init(vigil_barrier *barrier, unsigned parties);

/* Arrive, and wait for the others. Who leaves early has not arrived. Any thread; blocks for at most
   timeout_ns.
   0; 1 for the one that came last; -ETIMEDOUT; -EINVAL; the token's status. */
VIGIL_API int vigil_barrier_wait(vigil_barrier *barrier, int64_t timeout_ns,
                                 vigil_cancel_token *token);

/* Arrive in an asynchronous function: fulfilled when the others have arrived, with VIGIL_INT 1 for
   the one that came last and 0 for the others. The barrier stays until the promise is settled.
   Owner of the loop; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_barrier(vigil_loop *loop, vigil_barrier *barrier,
                                    vigil_cancel_token *token, vigil_promise **promise);

/* ---- a mutex that nobody else wants ---------------------------------------------------------- */

/* The calling thread as locks know it: the library's alone. */
struct vigil_self {
    uint32_t vg_number; /* 0: not known yet */
    uint32_t vg_locks;  /* that it holds */
};
extern VIGIL_API __thread struct vigil_self vigil_self __attribute__((tls_model("initial-exec")));

#if defined(__OPTIMIZE__) && !defined(VIGIL_CHECK) && !defined(VG_OUT_OF_LINE)
/* The compiler may see the fast paths of lock and unlock. The functions of the library do the
   same, and the rest. */
extern inline __attribute__((gnu_inline)) int vigil_mutex_lock(vigil_mutex *mutex)
{
    const uint32_t self = vigil_self.vg_number;
    uint32_t seen = 0;
    /* M1 acquire: what the last holder did; pairs with M2 */
    if (__builtin_expect(mutex != 0 && self != 0 &&
                             __atomic_compare_exchange_n((uint32_t *)&mutex->vg_waiters.vg_word,
                                                         &seen, self, 0, __ATOMIC_ACQUIRE,
                                                         __ATOMIC_RELAXED),
                         1)) {
        vigil_self.vg_locks++;
        return 0;
    }
    return vigil_mutex_lock_timed(mutex, VIGIL_FOREVER, 0);
}

extern inline __attribute__((gnu_inline)) int vigil_mutex_unlock(vigil_mutex *mutex)
{
    const uint32_t self = vigil_self.vg_number;
    uint32_t seen = self;
    /* M2 release: what we did as holder; pairs with M1 */
    if (__builtin_expect(mutex != 0 && self != 0 &&
                             __atomic_compare_exchange_n((uint32_t *)&mutex->vg_waiters.vg_word,
                                                         &seen, 0, 0, __ATOMIC_RELEASE,
                                                         __ATOMIC_RELAXED),
                         1)) {
        vigil_self.vg_locks--;
        return 0;
    }
    return vigil_mutex_unlock_slow(mutex);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
