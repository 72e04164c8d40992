/* SPDX-License-Identifier: MIT */
/* What is used after its end: locks that were destroyed, stacks of functions that have returned and of threads that have ended. */
#include <vigil_check.h>

#include <semaphore.h>
#include <stdatomic.h>
#include <threads.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static mtx_t c11_mutex;
static _Atomic(int *) shown;
static _Atomic int ready;

static void *use_mutex(void *arg)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return arg;
}

VGC_SCENARIO(destroyed_mutex, "a lock that may come after pthread_mutex_destroy is refused", .expect = VGC_MISUSE)
{
    pthread_t t = vgc_thread_start(use_mutex, NULL);
    pthread_mutex_destroy(&mutex);
    vgc_thread_join(t);
}

VGC_SCENARIO(destroyed_mutex_after, "a mutex that is destroyed when its users have ended, and made again, is fine")
{
    pthread_t t = vgc_thread_start(use_mutex, NULL);
    vgc_thread_join(t);
    pthread_mutex_destroy(&mutex);
    pthread_mutex_init(&mutex, NULL);
    use_mutex(NULL);
}

static int use_c11(void *arg)
{
    (void)arg;
    mtx_lock(&c11_mutex);
    mtx_unlock(&c11_mutex);
    return 0;
}

VGC_SCENARIO(destroyed_mtx, "the same of C11", .expect = VGC_MISUSE)
{
    thrd_t t;
    mtx_init(&c11_mutex, mtx_plain);
    thrd_create(&t, use_c11, NULL);
    mtx_destroy(&c11_mutex);
    thrd_join(t, NULL);
}

static void *use_cond(void *arg)
{
    pthread_cond_signal(&cond);
    return arg;
}

VGC_SCENARIO(destroyed_cond, "a signal that may come after pthread_cond_destroy is refused", .expect = VGC_MISUSE)
{
    pthread_t t = vgc_thread_start(use_cond, NULL);
    pthread_cond_destroy(&cond);
    vgc_thread_join(t);
}

static void *use_rwlock(void *arg)
{
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    return arg;
}

VGC_SCENARIO(destroyed_rwlock, "a lock that may come after pthread_rwlock_destroy is refused", .expect = VGC_MISUSE)
{
    pthread_t t = vgc_thread_start(use_rwlock, NULL);
    pthread_rwlock_destroy(&rwlock);
    vgc_thread_join(t);
}

static void *use_sem(void *arg)
{
    sem_post(&sem);
    return arg;
}

VGC_SCENARIO(destroyed_sem, "a semaphore destroyed by who was woken, while the post may be to come",
             .expect = VGC_MISUSE)
{
    sem_init(&sem, 0, 1);
    pthread_t t = vgc_thread_start(use_sem, NULL);
    sem_wait(&sem);
    sem_destroy(&sem);
    vgc_thread_join(t);
}

VGC_SCENARIO(destroyed_sem_after, "a semaphore destroyed behind its only post is fine")
{
    sem_init(&sem, 0, 0);
    pthread_t t = vgc_thread_start(use_sem, NULL);
    sem_wait(&sem);
    sem_destroy(&sem);
    vgc_thread_join(t);
}

static void *use_barrier(void *arg)
{
    if (atomic_load_explicit(&ready, memory_order_relaxed))
        pthread_barrier_wait(&barrier);
    return arg;
}

VGC_SCENARIO(destroyed_barrier, "a wait at a barrier that was destroyed is refused", .expect = VGC_MISUSE)
{
    pthread_barrier_init(&barrier, NULL, 1);
    pthread_t t = vgc_thread_start(use_barrier, NULL);
    pthread_barrier_wait(&barrier);
    pthread_barrier_destroy(&barrier);
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    vgc_thread_join(t);
}

VGC_SCENARIO(barrier_never_made, "a wait at a barrier that was never initialised is refused", .expect = VGC_MISUSE)
{
    pthread_barrier_wait(&barrier);
}

/* ---- stacks ---- */

static void *show_own(void *arg)
{
    int own = 0;
    atomic_store_explicit(&shown, &own, memory_order_release);
    return arg;
}

VGC_SCENARIO(stack_of_ended, "a write to the stack of a thread that may have ended is found",
             .expect = VGC_USE_AFTER_FREE)
{
    pthread_t t = vgc_thread_start(show_own, NULL);
    int *there = atomic_load_explicit(&shown, memory_order_acquire);
    if (there != NULL)
        *there = 1;
    vgc_thread_join(t);
}

static __attribute__((noinline)) void show_frame(void)
{
    int own[64] = {0};
    atomic_store_explicit(&shown, &own[1], memory_order_release);
    atomic_load_explicit(&ready, memory_order_relaxed);
}

static __attribute__((noinline)) void come_back(void)
{
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
}

static void *show_and_return(void *arg)
{
    show_frame();
    come_back();
    return arg;
}

VGC_SCENARIO(stack_of_returned, "a write to the frame of a function that may have returned is found",
             .expect = VGC_USE_AFTER_FREE)
{
    pthread_t t = vgc_thread_start(show_and_return, NULL);
    int *there = atomic_load_explicit(&shown, memory_order_acquire);
    if (there != NULL)
        atomic_store_explicit((_Atomic int *)there, 1, memory_order_relaxed);
    vgc_thread_join(t);
}

static void *fill(void *arg)
{
    *(int *)arg = 5;
    return NULL;
}

VGC_SCENARIO(stack_of_waiter, "a thread may write to the stack of one that waits for it")
{
    int place = 0;
    pthread_t t = vgc_thread_start(fill, &place);
    vgc_thread_join(t);
    vgc_assert(place == 5, "it came");
}
