/* SPDX-License-Identifier: MIT */
/*
 * Locks of C11, and the guards of C++ local statics. mtx_t is a pthread_mutex_t and cnd_t a pthread_cond_t in glibc;
 * std::mutex, std::condition_variable, std::shared_mutex and std::call_once call the POSIX functions.
 */
#define _GNU_SOURCE
#include "internal.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#define USER_PC (((void *const *)vgc_user_sp)[6])
#define RUNNING __builtin_expect(G.current >= 0, 1)

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t),
               "glibc's C11 types");

int vgc_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int vgc_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *time);
int vgc_pthread_cond_signal(pthread_cond_t *cond);
int vgc_pthread_cond_broadcast(pthread_cond_t *cond);
int vgc_pthread_cond_destroy(pthread_cond_t *cond);
int vgc_pthread_mutex_destroy(pthread_mutex_t *mutex);
int __wrap_pthread_once(pthread_once_t *once, void (*function)(void));

static int as_c11(int error)
{
    return error == 0           ? thrd_success
           : error == EBUSY     ? thrd_busy
           : error == ETIMEDOUT ? thrd_timedout
           : error == ENOMEM    ? thrd_nomem
                                : thrd_error;
}

int vgc_mtx_lock(mtx_t *mutex);
int vgc_mtx_lock(mtx_t *mutex)
{
    return as_c11(sync_lock(mutex, false, false, 0, USER_PC));
}

int vgc_mtx_trylock(mtx_t *mutex);
int vgc_mtx_trylock(mtx_t *mutex)
{
    return as_c11(sync_lock(mutex, true, false, 0, USER_PC));
}

int vgc_mtx_timedlock(mtx_t *mutex, const struct timespec *time);
int vgc_mtx_timedlock(mtx_t *mutex, const struct timespec *time)
{
    return as_c11(
        sync_lock(mutex, false, true, (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec, USER_PC));
}

int vgc_mtx_unlock(mtx_t *mutex);
int vgc_mtx_unlock(mtx_t *mutex)
{
    return as_c11(sync_unlock(mutex, USER_PC));
}

void vgc_mtx_destroy(mtx_t *mutex);
void vgc_mtx_destroy(mtx_t *mutex)
{
    vgc_pthread_mutex_destroy((pthread_mutex_t *)mutex);
}

void vgc_cnd_destroy(cnd_t *cond);
void vgc_cnd_destroy(cnd_t *cond)
{
    vgc_pthread_cond_destroy((pthread_cond_t *)cond);
}

int vgc_cnd_wait(cnd_t *cond, mtx_t *mutex);
int vgc_cnd_wait(cnd_t *cond, mtx_t *mutex)
{
    return as_c11(vgc_pthread_cond_wait((pthread_cond_t *)cond, (pthread_mutex_t *)mutex));
}

int vgc_cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *time);
int vgc_cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *time)
{
    return as_c11(vgc_pthread_cond_timedwait((pthread_cond_t *)cond, (pthread_mutex_t *)mutex, time));
}

int vgc_cnd_signal(cnd_t *cond);
int vgc_cnd_signal(cnd_t *cond)
{
    return as_c11(vgc_pthread_cond_signal((pthread_cond_t *)cond));
}

int vgc_cnd_broadcast(cnd_t *cond);
int vgc_cnd_broadcast(cnd_t *cond)
{
    return as_c11(vgc_pthread_cond_broadcast((pthread_cond_t *)cond));
}

void __wrap_call_once(once_flag *flag, void (*function)(void));
void __wrap_call_once(once_flag *flag, void (*function)(void))
{
    __wrap_pthread_once((pthread_once_t *)flag, function);
}

/*
 * Local statics of C++. The compiler looks at the first byte of the guard with an acquire load, which is modelled as any other;
 * the four bytes behind it are ours.
 */
bool vgc_once_begin(void *once); /* context.S */
void vgc_once_done(void *once);
void vgc_guard_store(void *guard); /* context.S */

enum {
    GUARD_STATE = 4
};

__attribute__((weak)) int __real___cxa_guard_acquire(void *guard); /* only C++ has it */
int __wrap___cxa_guard_acquire(void *guard);
int __wrap___cxa_guard_acquire(void *guard)
{
    return RUNNING ? vgc_once_begin((char *)guard + GUARD_STATE) : __real___cxa_guard_acquire(guard);
}

void vgc_do_guard_store(void *guard);
void vgc_do_guard_store(void *guard)
{
    memory_store((uintptr_t)guard, 1, __ATOMIC_RELEASE, 1, USER_PC);
}

__attribute__((weak)) void __real___cxa_guard_release(void *guard);
void __wrap___cxa_guard_release(void *guard);
void __wrap___cxa_guard_release(void *guard)
{
    if (!RUNNING) {
        __real___cxa_guard_release(guard);
        return;
    }
    vgc_guard_store(guard);
    vgc_once_done((char *)guard + GUARD_STATE);
}
