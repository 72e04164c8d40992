/* SPDX-License-Identifier: MIT */
/* Semaphores, read-write locks, once and barriers: what they count lies in their own memory (sync.c). */
#define _GNU_SOURCE
#include "sync.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

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
    struct location *l = sync_object_at(sem, sizeof *sem, pc);
    int error = sync_take(l, OP_SEM_WAIT, try_only, timed, deadline, pc);
    sync_refuse_destroyed(l, "semaphore");
    if (error != 0) {
        errno = error == EBUSY ? EAGAIN : error;
        return -1;
    }
    sync_counts_of(l)->first--;
    sync_take_over(l->mutex_clock);
    sync_changed(l, OP_SEM_WAIT, pc);
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
    return sem_take(sem, false, true, sync_time(time), USER_PC);
}

int vgc_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *time);
int vgc_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *time)
{
    (void)clock;
    return sem_take(sem, false, true, sync_time(time), USER_PC);
}

int vgc_sem_post(sem_t *sem);
int vgc_sem_post(sem_t *sem)
{
    const void *pc = USER_PC;
    struct location *l = sync_object_at(sem, sizeof *sem, pc);
    sync_change_step(l, OP_SEM_POST, pc);
    sync_refuse_destroyed(l, "semaphore");
    event_current()->op.opened = sync_counts_of(l)->first == 0;
    sync_counts_of(l)->first++;
    clock_join(sync_clock_of(&l->mutex_clock), &ME->hb);
    sync_changed(l, OP_SEM_POST, pc);
    return 0;
}

int vgc_sem_getvalue(sem_t *sem, int *value);
int vgc_sem_getvalue(sem_t *sem, int *value)
{
    const void *pc = USER_PC;
    struct location *l = sync_object_at(sem, sizeof *sem, pc);
    struct op op = {.kind = OP_TRYLOCK, .memory = USE_READ, .address = l->address, .pc = pc};
    sched_point(&op);
    *value = sync_counts_of(l)->first;
    event_end_at(l);
    return 0;
}

int vgc_sem_destroy(sem_t *sem);
int vgc_sem_destroy(sem_t *sem)
{
    if (!RUNNING)
        return 0;
    const struct location *l = sync_destroy_step(sem, sizeof *sem, USER_PC);
    if (l->waiters != 0 && sync_counts_of(l)->first == 0)
        fail(VGC_MISUSE, "sem_destroy while threads wait on it");
    sync_refuse_destroyed(l, "semaphore");
    memcpy(sem, &sync_destroyed, sizeof sync_destroyed);
    return 0;
}

/* ---- read-write locks ---- */

static int rw_take(pthread_rwlock_t *lock, bool write, bool try_only, bool timed, uint64_t deadline, const void *pc)
{
    const uint8_t kind = write ? OP_WRITE_LOCK : OP_READ_LOCK;
    struct location *l = sync_object_at(lock, sizeof *lock, pc);
    if (!try_only && sync_counts_of(l)->second == G.current + 1)
        return EDEADLK;
    int error = sync_take(l, kind, try_only, timed, deadline, pc);
    sync_refuse_destroyed(l, "read-write lock");
    if (error != 0)
        return error;
    sync_take_over(l->mutex_clock);
    if (write) {
        sync_counts_of(l)->second = G.current + 1;
        sync_take_over(l->read_clock);
    } else {
        sync_counts_of(l)->first++;
    }
    sync_changed(l, try_only ? OP_TRYLOCK : kind, pc);
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
    return rw_take(lock, false, false, true, sync_time(time), USER_PC);
}

int vgc_pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time);
int vgc_pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time)
{
    (void)clock;
    return rw_take(lock, false, false, true, sync_time(time), USER_PC);
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
    return rw_take(lock, true, false, true, sync_time(time), USER_PC);
}

int vgc_pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time);
int vgc_pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time)
{
    (void)clock;
    return rw_take(lock, true, false, true, sync_time(time), USER_PC);
}

int vgc_pthread_rwlock_unlock(pthread_rwlock_t *lock);
int vgc_pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
    const void *pc = USER_PC;
    struct location *l = sync_object_at(lock, sizeof *lock, pc);
    sync_change_step(l, OP_RW_UNLOCK, pc);
    struct sync_counts *c = sync_counts_of(l);
    if (c->second != 0 ? c->second != G.current + 1 : c->first <= 0)
        fail(VGC_MISUSE, "unlock of a read-write lock that this thread does not hold");
    if (c->second != 0) {
        event_current()->op.opened = true;
        c->second = 0;
        *sync_clock_of(&l->mutex_clock) = ME->hb;
    } else {
        c->first--;
        clock_join(sync_clock_of(&l->read_clock), &ME->hb);
    }
    sync_changed(l, OP_RW_UNLOCK, pc);
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
    const struct location *l = sync_destroy_step(lock, sizeof *lock, USER_PC);
    sync_refuse_destroyed(l, "read-write lock");
    if (sync_counts_of(l)->first != 0 || sync_counts_of(l)->second != 0)
        fail(VGC_MISUSE, "pthread_rwlock_destroy of a lock that is held");
    memcpy(lock, &sync_destroyed, sizeof sync_destroyed);
    return 0;
}

/* ---- once ---- */

/* True: the caller runs the function, then calls vgc_once_done. */
bool vgc_do_once_begin(void *once);
bool vgc_do_once_begin(void *once)
{
    const void *pc = USER_PC;
    struct location *l = sync_object_at(once, sizeof(int32_t), pc);
    sync_take(l, OP_ONCE, false, false, 0, pc);
    const bool mine = sync_counts_of(l)->first == ONCE_NEW;
    if (mine)
        sync_counts_of(l)->first = ONCE_RUNS;
    else
        event_current()->op.memory = USE_READ;
    sync_take_over(l->mutex_clock);
    sync_changed(l, OP_ONCE, pc);
    return mine;
}

void vgc_do_once_done(void *once);
void vgc_do_once_done(void *once)
{
    const void *pc = USER_PC;
    struct location *l = sync_object_at(once, sizeof(int32_t), pc);
    sync_change_step(l, OP_ONCE_DONE, pc);
    sync_counts_of(l)->first = ONCE_DONE;
    *sync_clock_of(&l->mutex_clock) = ME->hb;
    sync_changed(l, OP_ONCE_DONE, pc);
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
    *(struct sync_counts *)barrier = (struct sync_counts){.first = (int32_t)count};
    if (RUNNING)
        vgc_access_plain((uintptr_t)barrier, sizeof *barrier, true, __builtin_return_address(0));
    return 0;
}

int vgc_pthread_barrier_wait(pthread_barrier_t *barrier);
int vgc_pthread_barrier_wait(pthread_barrier_t *barrier)
{
    const void *pc = USER_PC;
    struct thread *me = ME;
    struct location *l = sync_object_at(barrier, sizeof *barrier, pc);
    sync_change_step(l, OP_BARRIER, pc);
    sync_refuse_destroyed(l, "barrier");
    struct sync_counts *c = sync_counts_of(l);
    if (c->first <= 0)
        fail(VGC_MISUSE, "pthread_barrier_wait at a barrier that was never initialised");
    clock_join(sync_clock_of(&l->mutex_clock), &me->hb);
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
    const struct location *l = sync_destroy_step(barrier, sizeof *barrier, USER_PC);
    sync_refuse_destroyed(l, "barrier");
    if (sync_counts_of(l)->second != 0)
        fail(VGC_MISUSE, "pthread_barrier_destroy while threads wait at it");
    memcpy(barrier, &sync_destroyed, sizeof sync_destroyed);
    return 0;
}
