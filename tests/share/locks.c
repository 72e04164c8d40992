/* SPDX-License-Identifier: MIT */
/* Mutex, rwlock and condition: one holder, nobody forgotten, timeouts and tokens, and a spare for a task that waits. */
#include "support.h"

#include <vigil/sync.h>

static const int64_t MILLISECOND = 1000000;

/* ---- one holder at a time ---- */

struct shared {
    vigil_mutex mutex;
    vigil_rwlock rwlock;
    uint64_t count; /* plain */
    uint64_t rounds;
    unsigned reading;
};

static void *count_up(void *arg)
{
    struct shared *shared = arg;
    for (uint64_t i = 0; i < shared->rounds; i++) {
        must_equal(vigil_mutex_lock(&shared->mutex), 0);
        shared->count++;
        must_equal(vigil_mutex_unlock(&shared->mutex), 0);
    }
    return NULL;
}

static int count_up_in_task(void *arg)
{
    (void)count_up(arg);
    return 0;
}

static void threads_and_tasks_hold_a_mutex_one_at_a_time(void **state)
{
    (void)state;
    struct shared shared = {.mutex = VIGIL_MUTEX_INIT, .rounds = scaled(20000, 300)};
    vigil_pool *pool = pool_of(2);
    pthread_t threads[4];
    for (size_t i = 0; i < count_of(threads); i++) {
        threads[i] = start_thread(count_up, &shared);
        must_equal(vigil_pool_call(pool, count_up_in_task, NULL, &shared, VIGIL_NORMAL), 0);
    }
    for (size_t i = 0; i < count_of(threads); i++)
        join_thread(threads[i]);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(shared.count, 8 * shared.rounds);
    pool_close(pool);
}

static void *read_and_write(void *arg)
{
    struct shared *shared = arg;
    for (uint64_t i = 0; i < shared->rounds; i++) {
        if (i % 4 == 0) {
            must_equal(vigil_rwlock_write(&shared->rwlock, VIGIL_FOREVER, NULL), 0);
            shared->count++;
        } else {
            must_equal(vigil_rwlock_read(&shared->rwlock, VIGIL_FOREVER, NULL), 0);
            must(shared->count < UINT64_MAX);
        }
        must_equal(vigil_rwlock_unlock(&shared->rwlock), 0);
    }
    return NULL;
}

static void a_writer_is_alone(void **state)
{
    (void)state;
    struct shared shared = {.rwlock = VIGIL_RWLOCK_INIT, .rounds = scaled(8000, 100) & ~UINT64_C(3)};
    pthread_t threads[4];
    for (size_t i = 0; i < count_of(threads); i++)
        threads[i] = start_thread(read_and_write, &shared);
    for (size_t i = 0; i < count_of(threads); i++)
        join_thread(threads[i]);
    must_equal(shared.count, shared.rounds);
}

/* ---- who waits, and how it ends ---- */

struct
try {
    vigil_mutex *mutex;
    vigil_cancel_token *token;
    int64_t timeout_ns;
    int answer;
};

static void *lock_timed(void *arg)
{
    struct try *try = arg;
    try->answer = vigil_mutex_lock_timed(try->mutex, try->timeout_ns, try->token);
    if (try->answer == 0)
        must_equal(vigil_mutex_unlock(try->mutex), 0);
    return NULL;
}

static void wait_until_waited_for(vigil_waiters *waiters)
{
    while ((atomic_load(&waiters->vg_word) & (1U << 30)) == 0) /* WAITERS of mutex.c and rwlock.c */
        yield();
}

static void a_lock_with_a_timeout_gives_up(void **state)
{
    (void)state;
    vigil_mutex mutex = VIGIL_MUTEX_INIT;
    must_equal(vigil_mutex_lock(&mutex), 0);
    struct try now = {.mutex = &mutex, .timeout_ns = 0};
    struct try soon = {.mutex = &mutex, .timeout_ns = MILLISECOND};
    join_thread(start_thread(lock_timed, &now));
    join_thread(start_thread(lock_timed, &soon));
    must_equal(now.answer, -ETIMEDOUT);
    must_equal(soon.answer, -ETIMEDOUT);
    must_equal(vigil_mutex_unlock(&mutex), 0);
    join_thread(start_thread(lock_timed, &now));
    must_equal(now.answer, 0);
}

static void a_token_ends_a_wait_for_a_mutex(void **state)
{
    (void)state;
    vigil_mutex mutex = VIGIL_MUTEX_INIT;
    vigil_cancel_source *source = NULL;
    must_equal(vigil_cancel_create(&source), 0);
    must_equal(vigil_mutex_lock(&mutex), 0);
    struct try try = {.mutex = &mutex, .timeout_ns = VIGIL_FOREVER, .token = vigil_cancel_token_of(source)};
    const pthread_t thread = start_thread(lock_timed, &try);
    wait_until_waited_for(&mutex.vg_waiters);
    must_equal(vigil_cancel_abort(source, -EHOSTDOWN, "enough"), 0);
    join_thread(thread);
    must_equal(try.answer, -EHOSTDOWN);
    must_equal(vigil_mutex_lock_timed(&mutex, 0, NULL), -EDEADLK);
    must_equal(vigil_mutex_unlock(&mutex), 0);
    try.answer = -1;
    (void)lock_timed(&try); /* free: an aborted token does not matter */
    must_equal(try.answer, 0);
    vigil_cancel_destroy(source);
}

static void *unlock_of_another(void *arg)
{
    must_equal(vigil_mutex_unlock(arg), -EPERM);
    return NULL;
}

static void misuse_of_a_mutex_is_refused(void **state)
{
    (void)state;
    vigil_mutex mutex = VIGIL_MUTEX_INIT;
    must_equal(vigil_mutex_unlock(&mutex), -EPERM);
    must_equal(vigil_mutex_lock(&mutex), 0);
    must_equal(vigil_mutex_lock(&mutex), -EDEADLK);
    join_thread(start_thread(unlock_of_another, &mutex));
    must_equal(vigil_mutex_unlock(&mutex), 0);
    vigil_rwlock lock = VIGIL_RWLOCK_INIT;
    must_equal(vigil_rwlock_unlock(&lock), -EPERM);
    must_equal(vigil_rwlock_write(&lock, 0, NULL), 0);
    must_equal(vigil_rwlock_write(&lock, 0, NULL), -EDEADLK);
    must_equal(vigil_rwlock_read(&lock, 0, NULL), -EDEADLK);
    must_equal(vigil_rwlock_unlock(&lock), 0);
}

struct rw_try {
    vigil_rwlock *lock;
    bool write;
    int64_t timeout_ns;
    int answer;
    struct event done;
};

static void *rw_lock(void *arg)
{
    struct rw_try *try = arg;
    try->answer = try->write ? vigil_rwlock_write(try->lock, try->timeout_ns, NULL)
                             : vigil_rwlock_read(try->lock, try->timeout_ns, NULL);
    if (try->answer == 0)
        must_equal(vigil_rwlock_unlock(try->lock), 0);
    event_set(&try->done);
    return NULL;
}

static void readers_go_on_when_the_writer_before_them_gives_up(void **state)
{
    (void)state;
    vigil_rwlock lock = VIGIL_RWLOCK_INIT;
    must_equal(vigil_rwlock_read(&lock, 0, NULL), 0);
    struct rw_try writer = {.lock = &lock, .write = true, .timeout_ns = 20 * MILLISECOND};
    struct rw_try reader = {.lock = &lock, .timeout_ns = VIGIL_FOREVER};
    const pthread_t first = start_thread(rw_lock, &writer);
    wait_until_waited_for(&lock.vg_waiters);
    const pthread_t second = start_thread(rw_lock, &reader);
    join_thread(first);
    must_equal(writer.answer, -ETIMEDOUT);
    event_wait(&reader.done); /* we still read */
    must_equal(reader.answer, 0);
    join_thread(second);
    must_equal(vigil_rwlock_unlock(&lock), 0);
}

/* ---- memory ---- */

struct counted {
    vigil_mutex mutex;
    int refs;
};

static void *drop_counted(void *arg)
{
    struct counted *counted = arg;
    (void)vigil_mutex_lock(&counted->mutex);
    const bool last = --counted->refs == 0;
    (void)vigil_mutex_unlock(&counted->mutex);
    if (last)
        free(counted);
    return NULL;
}

static void the_last_to_unlock_may_free_the_mutex(void **state)
{
    (void)state;
    for (uint64_t round = scaled(300, 20); round > 0; round--) {
        struct counted *counted = calloc(1, sizeof *counted);
        must(counted != NULL);
        counted->refs = 3;
        pthread_t threads[3];
        for (size_t i = 0; i < count_of(threads); i++)
            threads[i] = start_thread(drop_counted, counted);
        for (size_t i = 0; i < count_of(threads); i++)
            join_thread(threads[i]);
    }
}

/* ---- a task that waits ---- */

struct errand {
    vigil_mutex mutex;
    struct event waits;
    struct event ran;
};

static int wait_for_mutex(void *arg)
{
    struct errand *errand = arg;
    event_set(&errand->waits);
    must_equal(vigil_mutex_lock(&errand->mutex), 0);
    must_equal(vigil_mutex_unlock(&errand->mutex), 0);
    return 0;
}

static int run_errand(void *arg)
{
    event_set(&((struct errand *)arg)->ran);
    return 0;
}

static void a_spare_works_while_a_task_waits_for_a_mutex(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct errand errand = {.mutex = VIGIL_MUTEX_INIT};
    must_equal(vigil_mutex_lock(&errand.mutex), 0);
    must_equal(vigil_pool_call(pool, wait_for_mutex, NULL, &errand, VIGIL_NORMAL), 0);
    event_wait(&errand.waits);
    must_equal(vigil_pool_call(pool, run_errand, NULL, &errand, VIGIL_NORMAL), 0);
    event_wait(&errand.ran); /* the only worker waits for us */
    must_equal(vigil_mutex_unlock(&errand.mutex), 0);
    pool_close(pool);
}

/* ---- conditions ---- */

struct box {
    vigil_mutex mutex;
    vigil_condition filled, emptied;
    uint64_t value; /* 0: empty */
    uint64_t sum, rounds;
};

static void *fill(void *arg)
{
    struct box *box = arg;
    for (uint64_t i = 1; i <= box->rounds; i++) {
        must_equal(vigil_mutex_lock(&box->mutex), 0);
        while (box->value != 0)
            must_equal(vigil_condition_wait(&box->emptied, &box->mutex, VIGIL_FOREVER, NULL), 0);
        box->value = i;
        must(vigil_condition_signal(&box->filled) >= 0);
        must_equal(vigil_mutex_unlock(&box->mutex), 0);
    }
    return NULL;
}

static void *take(void *arg)
{
    struct box *box = arg;
    for (uint64_t i = 1; i <= box->rounds; i++) {
        must_equal(vigil_mutex_lock(&box->mutex), 0);
        while (box->value == 0)
            must_equal(vigil_condition_wait(&box->filled, &box->mutex, VIGIL_FOREVER, NULL), 0);
        box->sum += box->value;
        box->value = 0;
        must_equal(vigil_mutex_unlock(&box->mutex), 0);
        must(vigil_condition_signal(&box->emptied) >= 0);
    }
    return NULL;
}

static void a_condition_hands_values_from_threads_to_threads(void **state)
{
    (void)state;
    struct box box = {.mutex = VIGIL_MUTEX_INIT, .rounds = scaled(3000, 100)};
    pthread_t threads[4];
    for (size_t i = 0; i < count_of(threads); i++)
        threads[i] = start_thread(i % 2 == 0 ? fill : take, &box);
    for (size_t i = 0; i < count_of(threads); i++)
        join_thread(threads[i]);
    must_equal(box.sum, box.rounds * (box.rounds + 1));
}

struct crowd {
    vigil_mutex mutex;
    vigil_condition go;
    unsigned waiting;
    bool open;
    int timed_out;
    int64_t timeout_ns;
};

static void *stand_in_crowd(void *arg)
{
    struct crowd *crowd = arg;
    must_equal(vigil_mutex_lock(&crowd->mutex), 0);
    crowd->waiting++;
    while (!crowd->open) {
        const int answer = vigil_condition_wait(&crowd->go, &crowd->mutex, crowd->timeout_ns, NULL);
        if (answer == -ETIMEDOUT) {
            crowd->timed_out++;
            break;
        }
        must_equal(answer, 0);
    }
    crowd->waiting--;
    must_equal(vigil_mutex_unlock(&crowd->mutex), 0);
    return NULL;
}

static void a_broadcast_lets_everybody_go(void **state)
{
    (void)state;
    for (uint64_t round = scaled(100, 5); round > 0; round--) {
        struct crowd crowd = {.mutex = VIGIL_MUTEX_INIT, .timeout_ns = VIGIL_FOREVER};
        pthread_t threads[6];
        for (size_t i = 0; i < count_of(threads); i++)
            threads[i] = start_thread(stand_in_crowd, &crowd);
        for (unsigned waiting = 0; waiting < count_of(threads); yield()) {
            must_equal(vigil_mutex_lock(&crowd.mutex), 0);
            waiting = crowd.waiting;
            must_equal(vigil_mutex_unlock(&crowd.mutex), 0);
        }
        must_equal(vigil_mutex_lock(&crowd.mutex), 0);
        crowd.open = true;
        must_equal(vigil_condition_broadcast(&crowd.go), (int)count_of(threads));
        must_equal(vigil_mutex_unlock(&crowd.mutex), 0);
        for (size_t i = 0; i < count_of(threads); i++)
            join_thread(threads[i]);
        must_equal(vigil_condition_signal(&crowd.go), 0);
    }
}

static void a_wait_for_a_condition_that_times_out_has_the_mutex(void **state)
{
    (void)state;
    struct crowd crowd = {.mutex = VIGIL_MUTEX_INIT, .timeout_ns = MILLISECOND / 10};
    for (uint64_t round = scaled(100, 5); round > 0; round--) {
        pthread_t threads[3];
        crowd.timed_out = 0;
        for (size_t i = 0; i < count_of(threads); i++)
            threads[i] = start_thread(stand_in_crowd, &crowd);
        must(vigil_condition_signal(&crowd.go) >= 0); /* may hit one, which waits again */
        for (size_t i = 0; i < count_of(threads); i++)
            join_thread(threads[i]);
        must_equal(crowd.timed_out, (int)count_of(threads));
        must_equal(crowd.waiting, 0);
    }
    must_equal(vigil_condition_wait(&crowd.go, &crowd.mutex, 0, NULL), -EPERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(threads_and_tasks_hold_a_mutex_one_at_a_time),
        test(a_writer_is_alone),
        test(a_lock_with_a_timeout_gives_up),
        test(a_token_ends_a_wait_for_a_mutex),
        test(misuse_of_a_mutex_is_refused),
        test(readers_go_on_when_the_writer_before_them_gives_up),
        test(the_last_to_unlock_may_free_the_mutex),
        test(a_spare_works_while_a_task_waits_for_a_mutex),
        test(a_condition_hands_values_from_threads_to_threads),
        test(a_broadcast_lets_everybody_go),
        test(a_wait_for_a_condition_that_times_out_has_the_mutex),
    };
    return run_all(tests);
}
