/* SPDX-License-Identifier: MIT */
/*
 * Locks and meeting points of POSIX: mutexes of every kind, condition variables, semaphores, read-write locks, once
 * and barriers. C11 and C++ come here too (sync_c11.c): their types are the same objects in this libc.
 *
 * Each object is a location without a value of its own (size 0); what it counts lies in the object's memory, so that
 * snapshots and the stateful search see it. A thread that wants to take an object is in its list of waiters, and can
 * be scheduled exactly while blocked() is false: so an execution has one step for a lock, however long it waited.
 *
 * Order. An unlock or post publishes what its thread has seen, and who takes the object next takes that over. Readers
 * publish to writers only. A condition variable orders nothing: its mutex does.
 *
 * Freedom. A signal wakes any one of those that wait, by choice. Waits on condition variables may return for no reason
 * (opt.spurious), timed ones early (opt.early_timeouts). A thread is on a condition variable's list before it unlocks
 * the mutex, as in glibc: a signal may hit it in between.
 *
 * The end. Destroying an object is a step that leaves a mark in the object's memory, until it is initialised again: a use that comes
 * later, in any order of the threads, is refused.
 */
#define _GNU_SOURCE
#include "internal.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#define USER_PC (((void *const *)vgc_user_sp)[6])
#define RUNNING __builtin_expect(G.current >= 0, 1)

static struct location *object_at(const void *object, size_t size, const void *pc)
{
    heap_check((uintptr_t)object, size, true, pc);
    stack_check((uintptr_t)object, pc);
    return location_at((uintptr_t)object, 0, pc);
}

/* What a destroyed object begins with. A mutex has the mark of the C library: a kind that there is not. */
static const uint64_t destroyed = 0x8D0E1D0F8D0E1D0FULL;

static bool was_destroyed(const struct location *l)
{
    uint64_t mark = 0;
    memcpy(&mark, (const void *)l->address, sizeof mark);
    return mark == destroyed;
}

static void refuse_destroyed(const struct location *l, const char *what)
{
    if (was_destroyed(l))
        fail(VGC_MISUSE, "use of a %s that was destroyed", what);
}

static clock_vec *clock_of(clock_vec **clock)
{
    if (*clock == NULL) {
        *clock = &G.message_next++->hb; /* the pool of messages has room for a clock */
        memset(*clock, 0, sizeof **clock);
    }
    return *clock;
}

static void take_over(const clock_vec *published)
{
    if (published != NULL && !BROKEN(VGC_RULE_MUTEX))
        clock_join(&ME->hb, published);
}

/* What lies in the memory of an object of ours. */
struct counts {
    int32_t first, second;
};
static struct counts *counts_of(const struct location *l)
{
    return (struct counts *)l->address;
}

/* Semaphore: first is its value. Read-write lock: first counts readers, second is the writer's number + 1. Once: first is one of these. */
enum {
    ONCE_NEW = 0,
    ONCE_RUNS = 1,
    ONCE_DONE = 2
};

/* Nobody can take the object in this way now. (What was destroyed holds nobody up: who takes it is refused.) */
static bool blocked(const struct location *l, uint8_t kind)
{
    const struct counts *c = counts_of(l);
    switch (kind) {
    case OP_LOCK:
        return l->locked;
    case OP_SEM_WAIT:
        return c->first == 0;
    case OP_READ_LOCK:
        return c->second != 0 && !was_destroyed(l);
    case OP_WRITE_LOCK:
        return (c->first != 0 || c->second != 0) && !was_destroyed(l);
    case OP_ONCE:
        return c->first == ONCE_RUNS;
    default:
        return false;
    }
}

/* The object has changed: who waits for it can be scheduled, or no longer. */
void sync_sleepers_changed(struct location *l)
{
    for (uint32_t rest = l->waiters; rest != 0; rest &= rest - 1) {
        int t = __builtin_ctz(rest);
        struct thread *thread = &G.threads[t];
        if (thread->timed && thread->timed_out)
            continue; /* its time is over: it goes on in any case */
        if (blocked(l, thread->op.kind)) {
            dpor_blocked(t, l);
            thread->status = T_LOCKING;
            G.enabled &= ~(1u << t);
        } else {
            sched_wake(t, 0);
        }
    }
}

/* Makes the step `kind` as soon as it can be made. 0: the caller changes the object and ends the step. EBUSY, ETIMEDOUT: the step has
 * ended, and nothing was taken. */
static int take(struct location *l, uint8_t kind, bool try_only, bool timed, uint64_t deadline, const void *pc)
{
    struct thread *me = ME;
    struct op op = {.kind = try_only ? OP_TRYLOCK : kind, .memory = USE_WRITE, .address = l->address, .pc = pc};
    if (!try_only) {
        l->waiters |= 1u << G.current;
        me->waiting_at = l;
    }
    /* Also where nothing holds it up yet: another thread may take the object before this step is made. */
    me->timed = timed && !try_only;
    me->timed_out = me->timed && (deadline <= G.now || risk(&G.budget_timeout));
    me->deadline = deadline;
    if (me->timed_out)
        op.kind = OP_TRYLOCK; /* it can be made before the owner's unlock, which the search must know */
    if (!try_only && blocked(l, kind) && !me->timed_out) {
        me->op = op;
        dpor_blocked(G.current, l);
        sched_block(T_LOCKING);
    } else {
        sched_point(&op);
    }
    const bool late = me->timed && me->timed_out;
    l->waiters &= ~(1u << G.current);
    me->waiting_at = NULL;
    me->timed = false;
    if (!blocked(l, kind))
        return 0;
    event_current()->op.memory = USE_READ;
    event_end_at(l);
    if (late && deadline > G.now)
        G.now = deadline;
    if (late)
        spin_progress();
    if (G.tracing) {
        struct trace_line *t = trace_add(try_only ? OP_TRYLOCK : kind, pc);
        t->address = l->address;
        __builtin_snprintf(t->text, sizeof t->text, "%s", late ? "time is over" : "fails");
    }
    return late ? ETIMEDOUT : EBUSY;
}

/* Ends a step that has changed the object. */
static void changed(struct location *l, uint8_t kind, const void *pc)
{
    event_end_at(l);
    sync_sleepers_changed(l);
    spin_progress();
    if (G.tracing)
        trace_add(kind, pc)->address = l->address;
}

/* Any other step that changes the object. */
static void change_step(struct location *l, uint8_t kind, const void *pc)
{
    struct op op = {.kind = kind, .memory = USE_WRITE, .address = l->address, .pc = pc};
    sched_point(&op);
}

static struct location *destroy_step(void *object, size_t size, const void *pc)
{
    struct location *l = object_at(object, size, pc);
    change_step(l, OP_DESTROY, pc);
    event_end_at(l);
    spin_progress();
    if (G.tracing)
        trace_add(OP_DESTROY, pc)->address = l->address;
    return l;
}

static uint64_t when(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* ---- mutexes ---- */

static bool owned(const struct location *l)
{
    return l->locked && l->owner == G.current;
}

static int kind_of(const void *mutex)
{
    return ((const pthread_mutex_t *)mutex)->__data.__kind & 3;
}

static void refuse_destroyed_mutex(const void *mutex)
{
    if (((const pthread_mutex_t *)mutex)->__data.__kind == -1)
        fail(VGC_MISUSE, "use of a mutex that was destroyed");
}

int sync_lock(void *mutex, bool try_only, bool timed, uint64_t deadline, const void *pc)
{
    struct location *l = object_at(mutex, sizeof(pthread_mutex_t), pc);
    if (owned(l) && kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE_NP) {
        if (++l->depth == 0)
            fail(VGC_MISUSE, "a recursive mutex is locked more than 255 times");
        return 0;
    }
    if (owned(l) && kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK_NP)
        return try_only ? EBUSY : EDEADLK;
    int error = take(l, OP_LOCK, try_only, timed, deadline, pc);
    refuse_destroyed_mutex(mutex);
    if (error != 0)
        return error;
    l->locked = true;
    l->owner = (int16_t)G.current;
    take_over(l->mutex_clock);
    changed(l, try_only ? OP_TRYLOCK : OP_LOCK, pc);
    return 0;
}

int sync_unlock(void *mutex, const void *pc)
{
    struct location *l = object_at(mutex, sizeof(pthread_mutex_t), pc);
    if (owned(l) && l->depth > 0) {
        l->depth--;
        return 0;
    }
    change_step(l, OP_UNLOCK, pc);
    if (!owned(l) && kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK_NP) {
        event_end_at(l);
        return EPERM;
    }
    if (!owned(l))
        fail(VGC_MISUSE, "unlock of a mutex that this thread does not hold");
    *clock_of(&l->mutex_clock) = ME->hb;
    l->locked = false;
    l->owner = -1;
    changed(l, OP_UNLOCK, pc);
    return 0;
}

int vgc_pthread_mutex_lock(pthread_mutex_t *mutex);
int vgc_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return RUNNING ? sync_lock(mutex, false, false, 0, USER_PC) : 0;
}

int vgc_pthread_mutex_trylock(pthread_mutex_t *mutex);
int vgc_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return RUNNING ? sync_lock(mutex, true, false, 0, USER_PC) : 0;
}

int vgc_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *time);
int vgc_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *time)
{
    return sync_lock(mutex, false, true, when(time), USER_PC);
}

int vgc_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time);
int vgc_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time)
{
    (void)clock;
    return sync_lock(mutex, false, true, when(time), USER_PC);
}

int vgc_pthread_mutex_unlock(pthread_mutex_t *mutex);
int vgc_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    return RUNNING ? sync_unlock(mutex, USER_PC) : 0;
}

int __real_pthread_mutex_destroy(pthread_mutex_t *mutex);
int vgc_pthread_mutex_destroy(pthread_mutex_t *mutex);
int vgc_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    if (RUNNING) {
        if (destroy_step(mutex, sizeof *mutex, USER_PC)->locked)
            fail(VGC_MISUSE, "pthread_mutex_destroy of a mutex that is locked");
        refuse_destroyed_mutex(mutex);
    }
    return __real_pthread_mutex_destroy(mutex);
}

/* ---- condition variables ---- */

static int cond_wait(void *cond, void *mutex, bool timed, uint64_t deadline, const void *pc)
{
    struct thread *me = ME;
    if (!owned(object_at(mutex, sizeof(pthread_mutex_t), pc)))
        fail(VGC_MISUSE, "wait on a condition variable with a mutex that this thread does not hold");
    struct location *l = object_at(cond, sizeof(pthread_cond_t), pc);
    struct op enter = {.kind = OP_COND_WAIT, .queue = USE_ADD, .address = l->address, .pc = pc};
    sched_point(&enter);
    refuse_destroyed(l, "condition variable");
    bool early = timed && (deadline <= G.now || risk(&G.budget_timeout));
    bool spurious = !early && !BROKEN(VGC_RULE_SPURIOUS) && risk(&G.budget_spurious);
    l->waiters |= 1u << G.current;
    event_end_at(l);
    spin_progress();
    if (G.tracing)
        trace_add(OP_COND_WAIT, pc)->address = l->address;
    sync_unlock(mutex, pc);
    bool waits = l->waiters >> G.current & 1;
    me->waiting_at = l;
    me->timed = timed;
    me->timed_out = early;
    me->deadline = deadline;
    struct op back = {.kind = OP_RESUME, .pc = pc};
    if (waits && !early && !spurious) {
        me->op = back;
        sched_block(T_FUTEX);
    } else {
        back.address = l->address;
        back.queue = waits ? USE_WRITE : USE_READ;
        sched_point(&back);
    }
    bool woken = !(l->waiters >> G.current & 1);
    l->waiters &= ~(1u << G.current);
    me->waiting_at = NULL;
    bool late = !woken && me->timed && me->timed_out;
    me->timed = false;
    event_end_at(l);
    if (G.tracing) {
        struct trace_line *t = trace_add(OP_COND_WAIT, pc);
        t->address = l->address;
        __builtin_snprintf(t->text, sizeof t->text, "%s",
                           woken ? "signalled" : (late ? "time is over" : "returns for no reason"));
    }
    if (late && deadline > G.now)
        G.now = deadline;
    sync_lock(mutex, false, false, 0, pc);
    return late ? ETIMEDOUT : 0;
}

static int cond_wake(void *cond, bool all, const void *pc)
{
    struct location *l = object_at(cond, sizeof(pthread_cond_t), pc);
    struct op op = {.kind = OP_COND_WAKE, .queue = USE_WRITE, .address = l->address, .pc = pc};
    ME->operands = all;
    sched_point(&op);
    refuse_destroyed(l, "condition variable");
    uint32_t chosen = l->waiters;
    if (chosen == 0)
        event_current()->op.queue = USE_READ;
    if (chosen != 0 && !all) {
        for (int k = choose(__builtin_popcount(chosen)); k > 0; k--)
            chosen &= chosen - 1;
        chosen &= -chosen;
    }
    l->waiters &= ~chosen;
    for (uint32_t rest = chosen; rest != 0; rest &= rest - 1) {
        int t = __builtin_ctz(rest);
        if (G.threads[t].status == T_FUTEX) {
            G.threads[t].op.queue = USE_NONE;
            sched_wake(t, G.event_count);
        }
    }
    event_end_at(l);
    spin_progress();
    if (G.tracing) {
        struct trace_line *t = trace_add(OP_COND_WAKE, pc);
        t->address = l->address;
        __builtin_snprintf(t->text, sizeof t->text, "%s", chosen == 0 ? "nobody waits there" : "");
        if (chosen != 0)
            __builtin_snprintf(t->text, sizeof t->text, "wakes %s t%d", all ? "all, first" : "", __builtin_ctz(chosen));
    }
    return 0;
}

int vgc_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int vgc_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    return cond_wait(cond, mutex, false, 0, USER_PC);
}

int vgc_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *time);
int vgc_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *time)
{
    return cond_wait(cond, mutex, true, when(time), USER_PC);
}

int vgc_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                               const struct timespec *time);
int vgc_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                               const struct timespec *time)
{
    (void)clock; /* there is one, and every clock reads it */
    return cond_wait(cond, mutex, true, when(time), USER_PC);
}

int vgc_pthread_cond_signal(pthread_cond_t *cond);
int vgc_pthread_cond_signal(pthread_cond_t *cond)
{
    return cond_wake(cond, false, USER_PC);
}

int vgc_pthread_cond_broadcast(pthread_cond_t *cond);
int vgc_pthread_cond_broadcast(pthread_cond_t *cond)
{
    return cond_wake(cond, true, USER_PC);
}

/* The real one waits until the last waiter has left; here nobody needs the memory any more. */
int vgc_pthread_cond_destroy(pthread_cond_t *cond);
int vgc_pthread_cond_destroy(pthread_cond_t *cond)
{
    if (!RUNNING)
        return 0;
    const struct location *l = destroy_step(cond, sizeof *cond, USER_PC);
    if (l->waiters != 0)
        fail(VGC_MISUSE, "pthread_cond_destroy while threads wait on it");
    refuse_destroyed(l, "condition variable");
    memcpy(cond, &destroyed, sizeof destroyed);
    return 0;
}

/* ---- semaphores ---- */

int __wrap_sem_init(sem_t *sem, int shared, unsigned value);
int __wrap_sem_init(sem_t *sem, int shared, unsigned value)
{
    (void)shared;
    memset(sem, 0, sizeof *sem);
    memcpy(sem, &value, sizeof value);
    if (RUNNING)
        vgc_access_plain((uintptr_t)sem, sizeof *sem, true, __builtin_return_address(0));
    return 0;
}

static int sem_take(sem_t *sem, bool try_only, bool timed, uint64_t deadline, const void *pc)
{
    struct location *l = object_at(sem, sizeof *sem, pc);
    int error = take(l, OP_SEM_WAIT, try_only, timed, deadline, pc);
    refuse_destroyed(l, "semaphore");
    if (error != 0) {
        errno = error == EBUSY ? EAGAIN : error;
        return -1;
    }
    counts_of(l)->first--;
    take_over(l->mutex_clock);
    changed(l, OP_SEM_WAIT, pc);
    return 0;
}

int vgc_sem_wait(sem_t *sem);
int vgc_sem_wait(sem_t *sem)
{
    return sem_take(sem, false, false, 0, USER_PC);
}

int vgc_sem_trywait(sem_t *sem);
int vgc_sem_trywait(sem_t *sem)
{
    return sem_take(sem, true, false, 0, USER_PC);
}

int vgc_sem_timedwait(sem_t *sem, const struct timespec *time);
int vgc_sem_timedwait(sem_t *sem, const struct timespec *time)
{
    return sem_take(sem, false, true, when(time), USER_PC);
}

int vgc_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *time);
int vgc_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *time)
{
    (void)clock;
    return sem_take(sem, false, true, when(time), USER_PC);
}

int vgc_sem_post(sem_t *sem);
int vgc_sem_post(sem_t *sem)
{
    const void *pc = USER_PC;
    struct location *l = object_at(sem, sizeof *sem, pc);
    change_step(l, OP_SEM_POST, pc);
    refuse_destroyed(l, "semaphore");
    event_current()->op.opened = counts_of(l)->first == 0;
    counts_of(l)->first++;
    clock_join(clock_of(&l->mutex_clock), &ME->hb);
    changed(l, OP_SEM_POST, pc);
    return 0;
}

int vgc_sem_getvalue(sem_t *sem, int *value);
int vgc_sem_getvalue(sem_t *sem, int *value)
{
    const void *pc = USER_PC;
    struct location *l = object_at(sem, sizeof *sem, pc);
    struct op op = {.kind = OP_TRYLOCK, .memory = USE_READ, .address = l->address, .pc = pc};
    sched_point(&op);
    *value = counts_of(l)->first;
    event_end_at(l);
    return 0;
}

int vgc_sem_destroy(sem_t *sem);
int vgc_sem_destroy(sem_t *sem)
{
    if (!RUNNING)
        return 0;
    const struct location *l = destroy_step(sem, sizeof *sem, USER_PC);
    if (l->waiters != 0 && counts_of(l)->first == 0)
        fail(VGC_MISUSE, "sem_destroy while threads wait on it");
    refuse_destroyed(l, "semaphore");
    memcpy(sem, &destroyed, sizeof destroyed);
    return 0;
}

/* ---- read-write locks ---- */

static int rw_take(pthread_rwlock_t *lock, bool write, bool try_only, bool timed, uint64_t deadline, const void *pc)
{
    const uint8_t kind = write ? OP_WRITE_LOCK : OP_READ_LOCK;
    struct location *l = object_at(lock, sizeof *lock, pc);
    if (!try_only && counts_of(l)->second == G.current + 1)
        return EDEADLK;
    int error = take(l, kind, try_only, timed, deadline, pc);
    refuse_destroyed(l, "read-write lock");
    if (error != 0)
        return error;
    take_over(l->mutex_clock);
    if (write) {
        counts_of(l)->second = G.current + 1;
        take_over(l->read_clock);
    } else {
        counts_of(l)->first++;
    }
    changed(l, try_only ? OP_TRYLOCK : kind, pc);
    return 0;
}

int vgc_pthread_rwlock_rdlock(pthread_rwlock_t *lock);
int vgc_pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    return rw_take(lock, false, false, false, 0, USER_PC);
}

int vgc_pthread_rwlock_tryrdlock(pthread_rwlock_t *lock);
int vgc_pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
    return rw_take(lock, false, true, false, 0, USER_PC);
}

int vgc_pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *time);
int vgc_pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *time)
{
    return rw_take(lock, false, false, true, when(time), USER_PC);
}

int vgc_pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time);
int vgc_pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time)
{
    (void)clock;
    return rw_take(lock, false, false, true, when(time), USER_PC);
}

int vgc_pthread_rwlock_wrlock(pthread_rwlock_t *lock);
int vgc_pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    return rw_take(lock, true, false, false, 0, USER_PC);
}

int vgc_pthread_rwlock_trywrlock(pthread_rwlock_t *lock);
int vgc_pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
    return rw_take(lock, true, true, false, 0, USER_PC);
}

int vgc_pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *time);
int vgc_pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *time)
{
    return rw_take(lock, true, false, true, when(time), USER_PC);
}

int vgc_pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time);
int vgc_pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time)
{
    (void)clock;
    return rw_take(lock, true, false, true, when(time), USER_PC);
}

int vgc_pthread_rwlock_unlock(pthread_rwlock_t *lock);
int vgc_pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
    const void *pc = USER_PC;
    struct location *l = object_at(lock, sizeof *lock, pc);
    change_step(l, OP_RW_UNLOCK, pc);
    struct counts *c = counts_of(l);
    if (c->second != 0 ? c->second != G.current + 1 : c->first <= 0)
        fail(VGC_MISUSE, "unlock of a read-write lock that this thread does not hold");
    if (c->second != 0) {
        event_current()->op.opened = true;
        c->second = 0;
        *clock_of(&l->mutex_clock) = ME->hb;
    } else {
        c->first--;
        clock_join(clock_of(&l->read_clock), &ME->hb);
    }
    changed(l, OP_RW_UNLOCK, pc);
    return 0;
}

int __wrap_pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes);
int __wrap_pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes)
{
    (void)attributes; /* who is preferred is not promised by any of them */
    memset(lock, 0, sizeof *lock);
    if (RUNNING)
        vgc_access_plain((uintptr_t)lock, sizeof *lock, true, __builtin_return_address(0));
    return 0;
}

int vgc_pthread_rwlock_destroy(pthread_rwlock_t *lock);
int vgc_pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
    if (!RUNNING)
        return 0;
    const struct location *l = destroy_step(lock, sizeof *lock, USER_PC);
    refuse_destroyed(l, "read-write lock");
    if (counts_of(l)->first != 0 || counts_of(l)->second != 0)
        fail(VGC_MISUSE, "pthread_rwlock_destroy of a lock that is held");
    memcpy(lock, &destroyed, sizeof destroyed);
    return 0;
}

/* ---- once ---- */

/* True: the caller runs the function, then calls vgc_once_done. */
bool vgc_do_once_begin(void *once);
bool vgc_do_once_begin(void *once)
{
    const void *pc = USER_PC;
    struct location *l = object_at(once, sizeof(int32_t), pc);
    take(l, OP_ONCE, false, false, 0, pc);
    const bool mine = counts_of(l)->first == ONCE_NEW;
    if (mine)
        counts_of(l)->first = ONCE_RUNS;
    else
        event_current()->op.memory = USE_READ;
    take_over(l->mutex_clock);
    changed(l, OP_ONCE, pc);
    return mine;
}

void vgc_do_once_done(void *once);
void vgc_do_once_done(void *once)
{
    const void *pc = USER_PC;
    struct location *l = object_at(once, sizeof(int32_t), pc);
    change_step(l, OP_ONCE_DONE, pc);
    counts_of(l)->first = ONCE_DONE;
    *clock_of(&l->mutex_clock) = ME->hb;
    changed(l, OP_ONCE_DONE, pc);
}

bool vgc_once_begin(void *once); /* context.S */
void vgc_once_done(void *once);

/* On the caller's own stack, because the function is the program's. */
int __real_pthread_once(pthread_once_t *once, void (*function)(void));
int __wrap_pthread_once(pthread_once_t *once, void (*function)(void));
int __wrap_pthread_once(pthread_once_t *once, void (*function)(void))
{
    if (!RUNNING)
        return __real_pthread_once(once, function);
    if (vgc_once_begin(once)) {
        function();
        vgc_once_done(once);
    }
    return 0;
}

/* ---- barriers ---- */

/* In a barrier's memory: how many it waits for, and how many are there. */
int __wrap_pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count);
int __wrap_pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count)
{
    (void)attributes;
    if (count == 0 || count > MAX_THREADS)
        return EINVAL;
    memset(barrier, 0, sizeof *barrier);
    *(struct counts *)barrier = (struct counts){.first = (int32_t)count};
    if (RUNNING)
        vgc_access_plain((uintptr_t)barrier, sizeof *barrier, true, __builtin_return_address(0));
    return 0;
}

int vgc_pthread_barrier_wait(pthread_barrier_t *barrier);
int vgc_pthread_barrier_wait(pthread_barrier_t *barrier)
{
    const void *pc = USER_PC;
    struct thread *me = ME;
    struct location *l = object_at(barrier, sizeof *barrier, pc);
    change_step(l, OP_BARRIER, pc);
    refuse_destroyed(l, "barrier");
    struct counts *c = counts_of(l);
    if (c->first <= 0)
        fail(VGC_MISUSE, "pthread_barrier_wait at a barrier that was never initialised");
    clock_join(clock_of(&l->mutex_clock), &me->hb);
    if (++c->second < c->first) {
        l->waiters |= 1u << G.current;
        me->waiting_at = l;
        event_end_at(l);
        spin_progress();
        if (G.tracing)
            trace_add(OP_BARRIER, pc)->address = l->address;
        me->op = (struct op){.kind = OP_RESUME, .pc = pc};
        sched_block(T_FUTEX);
        me->waiting_at = NULL;
        event_end();
        return 0;
    }
    /* The last one: all go on, and have seen what each did before. */
    const uint32_t all = l->waiters;
    c->second = 0;
    l->waiters = 0;
    for (uint32_t rest = all; rest != 0; rest &= rest - 1) {
        int t = __builtin_ctz(rest);
        clock_join(&G.threads[t].hb, l->mutex_clock);
        sched_wake(t, G.event_count);
    }
    clock_join(&me->hb, l->mutex_clock);
    memset(l->mutex_clock, 0, sizeof *l->mutex_clock);
    event_end_at(l);
    spin_progress();
    if (G.tracing)
        trace_add(OP_BARRIER, pc)->address = l->address;
    return PTHREAD_BARRIER_SERIAL_THREAD;
}

int vgc_pthread_barrier_destroy(pthread_barrier_t *barrier);
int vgc_pthread_barrier_destroy(pthread_barrier_t *barrier)
{
    if (!RUNNING)
        return 0;
    const struct location *l = destroy_step(barrier, sizeof *barrier, USER_PC);
    refuse_destroyed(l, "barrier");
    if (counts_of(l)->second != 0)
        fail(VGC_MISUSE, "pthread_barrier_destroy while threads wait at it");
    memcpy(barrier, &destroyed, sizeof destroyed);
    return 0;
}
