/* SPDX-License-Identifier: MIT */
/* Condition variables, semaphores, read-write locks, once, barriers, timed waits, C11 threads: what each promises, and the mistakes. */
#include <vigil_check.h>
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int items, data;

/* ---- condition variables ---- */

static void *put_item(void *arg)
{
    pthread_mutex_lock(&mutex);
    items++;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void *get_item(void *arg)
{
    pthread_mutex_lock(&mutex);
    while (items == 0)
        pthread_cond_wait(&cond, &mutex);
    items--;
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void *get_item_with_if(void *arg)
{
    pthread_mutex_lock(&mutex);
    if (items == 0)
        pthread_cond_wait(&cond, &mutex);
    vgc_assert(items > 0, "there is an item");
    items--;
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void run_three(void *(*a)(void *), void *(*b)(void *), void *(*c)(void *))
{
    pthread_t t[3] = {vgc_thread_start(a, NULL), vgc_thread_start(b, NULL),
                      c != NULL ? vgc_thread_start(c, NULL) : (pthread_t)0};
    for (int i = 0; i < (c != NULL ? 3 : 2); i++)
        vgc_thread_join(t[i]);
}

VGC_SCENARIO(condition, "a wait in a loop, with its mutex, gets the item")
{
    run_three(get_item, put_item, NULL);
}

static void *put_two(void *arg)
{
    put_item(NULL);
    put_item(NULL);
    return arg;
}

VGC_SCENARIO(condition_two, "two waiters, two items")
{
    run_three(get_item, get_item, put_two);
}

VGC_SCENARIO(condition_if, "a wait without a loop may find that another was faster", .expect = VGC_ASSERTION,
             .bound = "no luck")
{
    run_three(get_item_with_if, get_item_with_if, put_two);
}

VGC_SCENARIO(condition_spurious, "... or that nobody signalled", .expect = VGC_ASSERTION, .opt.spurious = 1)
{
    run_three(get_item_with_if, put_item, NULL);
}

static void *set_without_mutex(void *arg)
{
    static _Atomic int ready;
    (void)arg;
    atomic_store_explicit(&ready, 1, memory_order_release);
    pthread_cond_signal(&cond);
    pthread_mutex_lock(&mutex);
    items = 1;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

VGC_SCENARIO(condition_signal_early, "a signal before the change is lost", .expect = VGC_DEADLOCK)
{
    run_three(get_item, set_without_mutex, NULL);
}

static void *signal_one_of_two(void *arg)
{
    pthread_mutex_lock(&mutex);
    items = 2;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    return arg;
}

VGC_SCENARIO(condition_one_signal, "one signal for two waiters leaves one asleep", .expect = VGC_DEADLOCK)
{
    run_three(get_item, get_item, signal_one_of_two);
}

VGC_SCENARIO(condition_foreign_mutex, "a wait without the mutex is refused", .expect = VGC_MISUSE)
{
    pthread_cond_wait(&cond, &mutex);
}

static struct timespec soon(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec++;
    return t;
}

static void *wait_a_second(void *arg)
{
    struct timespec until = soon();
    pthread_mutex_lock(&mutex);
    int error = 0;
    while (items == 0 && error == 0)
        error = pthread_cond_timedwait(&cond, &mutex, &until);
    vgc_assert(items == 1 || error == ETIMEDOUT, "an item, or the time is over");
    data = error;
    pthread_mutex_unlock(&mutex);
    return arg;
}

VGC_SCENARIO(condition_time, "a wait with a limit ends when nobody signals")
{
    vgc_thread_join(vgc_thread_start(wait_a_second, NULL));
    vgc_assert(data == ETIMEDOUT, "the time is over");
}

VGC_SCENARIO(condition_time_early, "... and may end before the signal comes", .expect = VGC_ASSERTION,
             .opt.early_timeouts = 1)
{
    run_three(wait_a_second, put_item, NULL);
    vgc_assert(data != ETIMEDOUT, "never too late");
}

/* ---- mutexes ---- */

VGC_SCENARIO(mutex_recursive, "a recursive mutex can be locked again by its owner")
{
    static pthread_mutex_t again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    vgc_assert(pthread_mutex_lock(&again) == 0 && pthread_mutex_lock(&again) == 0, "twice");
    pthread_mutex_unlock(&again);
    pthread_mutex_unlock(&again);
    pthread_mutex_destroy(&again);
}

VGC_SCENARIO(mutex_twice, "another one cannot", .expect = VGC_DEADLOCK)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
}

VGC_SCENARIO(mutex_errorcheck, "one that checks says so")
{
    static pthread_mutex_t careful = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    vgc_assert(pthread_mutex_unlock(&careful) == EPERM, "not locked");
    pthread_mutex_lock(&careful);
    vgc_assert(pthread_mutex_lock(&careful) == EDEADLK, "locked by the caller");
    pthread_mutex_unlock(&careful);
}

static void *lock_for_a_second(void *arg)
{
    struct timespec until = soon();
    if (pthread_mutex_timedlock(&mutex, &until) == 0) {
        data++;
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

/* The one who waits has come before the one who takes the mutex and keeps it. */
static sem_t enough;

static void *lock_and_keep(void *arg)
{
    pthread_mutex_lock(&mutex);
    sem_wait(&enough);
    pthread_mutex_unlock(&mutex);
    return arg;
}

VGC_SCENARIO(mutex_time_later, "a lock with a limit ends when another is faster and keeps it")
{
    struct timespec until = soon();
    sem_init(&enough, 0, 0);
    pthread_t keeper = vgc_thread_start(lock_and_keep, NULL);
    if (pthread_mutex_timedlock(&mutex, &until) == 0)
        pthread_mutex_unlock(&mutex);
    sem_post(&enough);
    vgc_thread_join(keeper);
}

static void *lock_briefly(void *arg)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return arg;
}

VGC_SCENARIO(mutex_time_early, "a lock with a limit may end before the owner unlocks", .expect = VGC_ASSERTION,
             .opt.early_timeouts = 1)
{
    struct timespec until = soon();
    pthread_t other = vgc_thread_start(lock_briefly, NULL);
    vgc_assert(pthread_mutex_timedlock(&mutex, &until) == 0, "its time is over");
    pthread_mutex_unlock(&mutex);
    vgc_thread_join(other);
}

VGC_SCENARIO(mutex_time, "a lock with a limit ends when the owner keeps it")
{
    pthread_mutex_lock(&mutex);
    vgc_thread_join(vgc_thread_start(lock_for_a_second, NULL));
    vgc_assert(data == 0, "it did not get the mutex");
    pthread_mutex_unlock(&mutex);
}

/* ---- semaphores ---- */

static sem_t semaphore;

static void *guarded_by_semaphore(void *arg)
{
    sem_wait(&semaphore);
    data++;
    sem_post(&semaphore);
    return arg;
}

VGC_SCENARIO(semaphore_one, "a semaphore of one is a lock")
{
    sem_init(&semaphore, 0, 1);
    run_three(guarded_by_semaphore, guarded_by_semaphore, guarded_by_semaphore);
    vgc_assert(data == 3, "each of them");
    sem_destroy(&semaphore);
}

VGC_SCENARIO(semaphore_two, "a semaphore of two is not", .expect = VGC_DATA_RACE)
{
    sem_init(&semaphore, 0, 2);
    run_three(guarded_by_semaphore, guarded_by_semaphore, NULL);
}

VGC_SCENARIO(semaphore_none, "a semaphore of none never opens", .expect = VGC_DEADLOCK)
{
    sem_init(&semaphore, 0, 0);
    run_three(guarded_by_semaphore, guarded_by_semaphore, NULL);
}

static void *post_data(void *arg)
{
    data = 42;
    sem_post(&semaphore);
    return arg;
}

VGC_SCENARIO(semaphore_publishes, "what was done before a post is seen after the wait")
{
    sem_init(&semaphore, 0, 0);
    pthread_t t = vgc_thread_start(post_data, NULL);
    sem_wait(&semaphore);
    vgc_assert(data == 42, "data");
    int value = -1;
    sem_getvalue(&semaphore, &value);
    vgc_assert(value == 0 && sem_trywait(&semaphore) == -1 && errno == EAGAIN, "empty");
    struct timespec until = soon();
    vgc_assert(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT, "the time is over");
    vgc_thread_join(t);
}

/* ---- read-write locks ---- */

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void *read_locked(void *arg)
{
    pthread_rwlock_rdlock(&rwlock);
    vgc_assert(data % 2 == 0, "both halves of a change, or none");
    pthread_rwlock_unlock(&rwlock);
    return arg;
}

static void *write_locked(void *arg)
{
    pthread_rwlock_wrlock(&rwlock);
    data++;
    data++;
    pthread_rwlock_unlock(&rwlock);
    return arg;
}

static void *write_read_locked(void *arg)
{
    pthread_rwlock_rdlock(&rwlock);
    data += 2;
    pthread_rwlock_unlock(&rwlock);
    return arg;
}

VGC_SCENARIO(rwlock_readers_writer, "readers and a writer")
{
    run_three(read_locked, write_locked, read_locked);
}

VGC_SCENARIO(rwlock_two_writers, "two writers and a reader")
{
    run_three(write_locked, write_locked, read_locked);
    vgc_assert(data == 4, "both");
}

VGC_SCENARIO(rwlock_writes_as_reader, "a write under the readers' lock races", .expect = VGC_DATA_RACE)
{
    run_three(write_read_locked, read_locked, NULL);
}

static void *meet_as_reader(void *arg)
{
    pthread_barrier_t *barrier = arg;
    pthread_rwlock_rdlock(&rwlock);
    pthread_barrier_wait(barrier);
    pthread_rwlock_unlock(&rwlock);
    return NULL;
}

VGC_SCENARIO(rwlock_shared, "two readers are inside at once")
{
    static pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t a = vgc_thread_start(meet_as_reader, &barrier), b = vgc_thread_start(meet_as_reader, &barrier);
    vgc_thread_join(a);
    vgc_thread_join(b);
    pthread_barrier_destroy(&barrier);
}

/* ---- once and barriers ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void make_data(void)
{
    data += 7;
}

static void *use_made(void *arg)
{
    pthread_once(&once, make_data);
    vgc_assert(data == 7, "made, once");
    return arg;
}

VGC_SCENARIO(once_three, "pthread_once runs once, and everybody sees what it made")
{
    run_three(use_made, use_made, use_made);
}

static int part[3];
static pthread_barrier_t barrier;
static void *two_phases(void *arg)
{
    int me = (int)(intptr_t)arg;
    part[me] = 1;
    pthread_barrier_wait(&barrier);
    vgc_assert(part[0] + part[1] == 2, "all of the first phase");
    pthread_barrier_wait(&barrier);
    part[me] = 2;
    return NULL;
}

VGC_SCENARIO(barrier_phases, "what was done before a barrier is seen behind it")
{
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t t = vgc_thread_start(two_phases, (void *)1);
    two_phases(NULL);
    vgc_thread_join(t);
}

VGC_SCENARIO(barrier_alone, "a barrier for three holds two", .expect = VGC_DEADLOCK)
{
    pthread_barrier_init(&barrier, NULL, 3);
    pthread_t t = vgc_thread_start(two_phases, (void *)1);
    two_phases(NULL);
    vgc_thread_join(t);
}

/* ---- C11 ---- */

static mtx_t c11_mutex;
static cnd_t c11_cond;
static once_flag c11_once = ONCE_FLAG_INIT;

static int c11_put(void *arg)
{
    (void)arg;
    call_once(&c11_once, make_data);
    mtx_lock(&c11_mutex);
    items++;
    cnd_signal(&c11_cond);
    mtx_unlock(&c11_mutex);
    return 5;
}

VGC_SCENARIO(c11_threads, "threads, mutexes, conditions and once of C11")
{
    thrd_t t;
    int result = 0;
    mtx_init(&c11_mutex, mtx_plain);
    cnd_init(&c11_cond);
    vgc_assert(thrd_create(&t, c11_put, NULL) == thrd_success, "a thread");
    mtx_lock(&c11_mutex);
    while (items == 0)
        cnd_wait(&c11_cond, &c11_mutex);
    mtx_unlock(&c11_mutex);
    call_once(&c11_once, make_data);
    vgc_assert(data == 7, "once");
    thrd_join(t, &result);
    vgc_assert(result == 5, "its result");
}

static int c11_write(void *arg)
{
    (void)arg;
    data = 1;
    return 0;
}

VGC_SCENARIO(c11_race, "a race between C11 threads is found", .expect = VGC_DATA_RACE)
{
    thrd_t t;
    thrd_create(&t, c11_write, NULL);
    data = 2;
    thrd_join(t, NULL);
}
