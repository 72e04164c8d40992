/* SPDX-License-Identifier: MIT */
/* Mutexes of every kind, and condition variables (sync.c). */
#define _GNU_SOURCE
#include "sync.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

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
    struct location *l = sync_object_at(mutex, sizeof(pthread_mutex_t), pc);
    if (owned(l) && kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE_NP) {
        if (++l->depth == 0)
            fail(VGC_MISUSE, "a recursive mutex is locked more than 255 times");
        return 0;
    }
    if (owned(l) && kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK_NP)
        return try_only ? EBUSY : EDEADLK;
    int error = sync_take(l, OP_LOCK, try_only, timed, deadline, pc);
    refuse_destroyed_mutex(mutex);
    if (error != 0)
        return error;
    l->locked = true;
    l->owner = (int16_t)G.current;
    sync_take_over(l->mutex_clock);
    sync_changed(l, try_only ? OP_TRYLOCK : OP_LOCK, pc);
    return 0;
}

int sync_unlock(void *mutex, const void *pc)
{
    struct location *l = sync_object_at(mutex, sizeof(pthread_mutex_t), pc);
    if (owned(l) && l->depth > 0) {
        l->depth--;
        return 0;
    }
    sync_change_step(l, OP_UNLOCK, pc);
    if (!owned(l) && kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK_NP) {
        event_end_at(l);
        return EPERM;
    }
    if (!owned(l))
        fail(VGC_MISUSE, "unlock of a mutex that this thread does not hold");
    *sync_clock_of(&l->mutex_clock) = ME->hb;
    l->locked = false;
    l->owner = -1;
    sync_changed(l, OP_UNLOCK, pc);
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
    return sync_lock(mutex, false, true, sync_time(time), USER_PC);
}

int vgc_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time);
int vgc_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time)
{
    (void)clock;
    return sync_lock(mutex, false, true, sync_time(time), USER_PC);
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
        if (sync_destroy_step(mutex, sizeof *mutex, USER_PC)->locked)
            fail(VGC_MISUSE, "pthread_mutex_destroy of a mutex that is locked");
        refuse_destroyed_mutex(mutex);
    }
    return __real_pthread_mutex_destroy(mutex);
}

/* ---- condition variables ---- */

static int cond_wait(void *cond, void *mutex, bool timed, uint64_t deadline, const void *pc)
{
    struct thread *me = ME;
    if (!owned(sync_object_at(mutex, sizeof(pthread_mutex_t), pc)))
        fail(VGC_MISUSE, "wait on a condition variable with a mutex that this thread does not hold");
    struct location *l = sync_object_at(cond, sizeof(pthread_cond_t), pc);
    struct op enter = {.kind = OP_COND_WAIT, .queue = USE_ADD, .address = l->address, .pc = pc};
    sched_point(&enter);
    sync_refuse_destroyed(l, "condition variable");
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
    struct location *l = sync_object_at(cond, sizeof(pthread_cond_t), pc);
    struct op op = {.kind = OP_COND_WAKE, .queue = USE_WRITE, .address = l->address, .pc = pc};
    ME->operands = all;
    sched_point(&op);
    sync_refuse_destroyed(l, "condition variable");
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
    return cond_wait(cond, mutex, true, sync_time(time), USER_PC);
}

int vgc_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                               const struct timespec *time);
int vgc_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                               const struct timespec *time)
{
    (void)clock; /* there is one, and every clock reads it */
    return cond_wait(cond, mutex, true, sync_time(time), USER_PC);
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
    const struct location *l = sync_destroy_step(cond, sizeof *cond, USER_PC);
    if (l->waiters != 0)
        fail(VGC_MISUSE, "pthread_cond_destroy while threads wait on it");
    sync_refuse_destroyed(l, "condition variable");
    memcpy(cond, &sync_destroyed, sizeof sync_destroyed);
    return 0;
}
