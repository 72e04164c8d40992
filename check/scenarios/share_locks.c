/* SPDX-License-Identifier: MIT */
/*
 * Mutex, rwlock and condition. Properties: one holder at a time, who sees what the last one wrote; nobody sleeps beside a free lock;
 * a waiter that leaves takes no lock and no signal with it; the last holder may free the mutex.
 *
 * Each wait ends in two forms: with everybody at rest, and with the end racing the wake.
 */
#include <vigil_check.h>

#include <stdlib.h>
#include <vigil/sync.h>

static vigil_mutex mutex;
static vigil_rwlock rwlock;
static vigil_condition condition;
static int counter; /* plain: two at a time would be a race */

/* ---- mutex ---- */

static void *count_up(void *arg)
{
    for (intptr_t i = (intptr_t)arg; i > 0; i--) {
        vgc_assert(vigil_mutex_lock(&mutex) == 0, "locked");
        counter++;
        vgc_assert(vigil_mutex_unlock(&mutex) == 0, "unlocked");
    }
    return NULL;
}

static void lock_in_turns(int threads, intptr_t rounds)
{
    pthread_t other[3];
    for (int i = 0; i < threads - 1; i++)
        other[i] = vgc_thread_start(count_up, (void *)rounds);
    (void)count_up((void *)rounds);
    vgc_quiesce();
    vgc_assert(counter == threads * (int)rounds, "nobody sleeps beside a free mutex");
    for (int i = 0; i < threads - 1; i++)
        vgc_thread_join(other[i]);
    vgc_assert(mutex.vg_waiters.vg_word == 0, "nothing is left in the word");
}

VGC_SCENARIO(share_mutex_two, "one holder at a time, and nobody sleeps beside a free mutex", .bound = "2 threads x 2",
             .opt.mode = VGC_PCT, .opt.runs = 20000, .opt.spurious = 1)
{
    lock_in_turns(2, 2);
}

VGC_SCENARIO(share_mutex_pair, "the same, every execution", .bound = "2 threads x 1")
{
    lock_in_turns(2, 1);
}

VGC_SCENARIO(share_mutex_three, "one holder at a time, and nobody sleeps beside a free mutex", .bound = "3 threads x 2",
             .opt.mode = VGC_PCT, .opt.runs = 20000)
{
    lock_in_turns(3, 2);
}

static void *age(void *arg)
{
    (void)arg;
    vgc_clock_advance(1000000); /* older than VG_FAIR_NS: the next unlock hands over */
    return NULL;
}

VGC_SCENARIO(share_mutex_old, "a mutex that is handed over is not lost", .bound = "3 threads x 2, and the clock",
             .opt.mode = VGC_PCT, .opt.runs = 20000)
{
    pthread_t clock = vgc_thread_start(age, NULL);
    lock_in_turns(3, 2);
    vgc_thread_join(clock);
}

static void *lock_for_a_moment(void *arg)
{
    (void)arg;
    const int answer = vigil_mutex_lock_timed(&mutex, 1000, NULL);
    if (answer == 0) {
        counter++;
        (void)vigil_mutex_unlock(&mutex);
    } else {
        vgc_assert(answer == -ETIMEDOUT, "locked or too late");
    }
    return NULL;
}

VGC_SCENARIO(share_mutex_timeout, "a waiter that gives up leaves the mutex to the others",
             .bound = "2 locks, 1 with a timeout", .opt.mode = VGC_PCT, .opt.runs = 20000, .opt.early_timeouts = 1)
{
    pthread_t timed = vgc_thread_start(lock_for_a_moment, NULL);
    pthread_t plain = vgc_thread_start(count_up, (void *)1);
    (void)count_up((void *)1);
    vgc_quiesce();
    vgc_assert(counter >= 2, "nobody sleeps beside a free mutex");
    vgc_thread_join(timed);
    vgc_thread_join(plain);
    vgc_assert(mutex.vg_waiters.vg_word == 0, "nothing is left in the word");
}

struct counted {
    vigil_mutex lock;
    int refs;
};

static void *drop_counted(void *arg)
{
    struct counted *it = arg;
    (void)vigil_mutex_lock(&it->lock);
    const int left = --it->refs;
    (void)vigil_mutex_unlock(&it->lock);
    if (left == 0)
        free(it);
    return NULL;
}

VGC_SCENARIO(share_mutex_freed, "the last to unlock may free the mutex", .bound = "3 threads", .opt.mode = VGC_PCT,
             .opt.runs = 20000)
{
    struct counted *it = calloc(1, sizeof *it);
    it->refs = 3;
    pthread_t a = vgc_thread_start(drop_counted, it);
    pthread_t b = vgc_thread_start(drop_counted, it);
    (void)drop_counted(it);
    vgc_thread_join(a);
    vgc_thread_join(b);
}

/* ---- tokens ---- */

static vigil_cancel_source *source;

static void *lock_with_token(void *arg)
{
    (void)arg;
    const int answer = vigil_mutex_lock_timed(&mutex, VIGIL_FOREVER, vigil_cancel_token_of(source));
    if (answer == 0) {
        counter++;
        (void)vigil_mutex_unlock(&mutex);
    } else {
        vgc_assert(answer == -ECANCELED, "locked or cancelled");
    }
    return NULL;
}

VGC_SCENARIO(share_mutex_cancel_rest, "an abort ends a wait for a mutex", .bound = "1 waiter", .opt.mode = VGC_PCT,
             .opt.runs = 10000)
{
    vgc_assert(vigil_cancel_create(&source) == 0, "made");
    (void)vigil_mutex_lock(&mutex);
    pthread_t waiter = vgc_thread_start(lock_with_token, NULL);
    vgc_quiesce();
    (void)vigil_cancel_abort(source, -ECANCELED, NULL);
    vgc_quiesce();
    vgc_assert(mutex.vg_waiters.vg_first == NULL, "nobody waits any more");
    vgc_thread_join(waiter);
    (void)vigil_mutex_unlock(&mutex);
    vigil_cancel_destroy(source);
}

VGC_SCENARIO(share_mutex_cancel_race, "an abort races the unlock", .bound = "1 waiter", .opt.mode = VGC_PCT,
             .opt.runs = 10000)
{
    vgc_assert(vigil_cancel_create(&source) == 0, "made");
    (void)vigil_mutex_lock(&mutex);
    pthread_t waiter = vgc_thread_start(lock_with_token, NULL);
    pthread_t other = vgc_thread_start(count_up, (void *)1);
    (void)vigil_cancel_abort(source, -ECANCELED, NULL);
    (void)vigil_mutex_unlock(&mutex);
    vgc_thread_join(waiter);
    vgc_thread_join(other);
    vgc_assert(counter >= 1 && mutex.vg_waiters.vg_word == 0, "the other had the mutex");
    vigil_cancel_destroy(source);
}

/* ---- rwlock ---- */

static void *write_once(void *arg)
{
    (void)arg;
    vgc_assert(vigil_rwlock_write(&rwlock, VIGIL_FOREVER, NULL) == 0, "locked");
    counter++;
    vgc_assert(vigil_rwlock_unlock(&rwlock) == 0, "unlocked");
    return NULL;
}

static void *read_once(void *arg)
{
    vgc_assert(vigil_rwlock_read(&rwlock, VIGIL_FOREVER, NULL) == 0, "locked");
    *(int *)arg = counter;
    vgc_assert(vigil_rwlock_unlock(&rwlock) == 0, "unlocked");
    return NULL;
}

VGC_SCENARIO(share_rwlock, "a writer is alone, and nobody sleeps beside a free lock",
             .bound = "2 writers, 1 reader x 2", .opt.mode = VGC_PCT, .opt.runs = 20000)
{
    int seen[3];
    pthread_t a = vgc_thread_start(write_once, NULL);
    pthread_t b = vgc_thread_start(read_once, &seen[0]);
    (void)read_once(&seen[1]);
    (void)write_once(NULL);
    vgc_quiesce();
    vgc_assert(counter == 2 && rwlock.vg_waiters.vg_word == 0, "everybody had it");
    vgc_thread_join(a);
    vgc_thread_join(b);
}

static void *write_for_a_moment(void *arg)
{
    (void)arg;
    if (vigil_rwlock_write(&rwlock, 1000, NULL) == 0)
        (void)vigil_rwlock_unlock(&rwlock);
    return NULL;
}

VGC_SCENARIO(share_rwlock_timeout, "readers behind a writer that gave up go on", .bound = "1 writer, 1 reader",
             .opt.mode = VGC_PCT, .opt.runs = 20000, .opt.early_timeouts = 1)
{
    int seen = 0;
    vgc_assert(vigil_rwlock_read(&rwlock, 0, NULL) == 0, "locked");
    pthread_t writer = vgc_thread_start(write_for_a_moment, NULL);
    pthread_t reader = vgc_thread_start(read_once, &seen);
    vgc_thread_join(writer);
    vgc_thread_join(reader); /* we still read */
    (void)vigil_rwlock_unlock(&rwlock);
    vgc_assert(rwlock.vg_waiters.vg_word == 0, "nothing is left in the word");
}

/* ---- condition ---- */

static int ready;

static void *wait_until_ready(void *arg)
{
    (void)arg;
    (void)vigil_mutex_lock(&mutex);
    while (ready == 0)
        vgc_assert(vigil_condition_wait(&condition, &mutex, VIGIL_FOREVER, NULL) == 0, "woken");
    ready--;
    counter++;
    (void)vigil_mutex_unlock(&mutex);
    return NULL;
}

static void condition_with(bool broadcast, bool at_rest, bool inside)
{
    pthread_t a = vgc_thread_start(wait_until_ready, NULL);
    pthread_t b = vgc_thread_start(wait_until_ready, NULL);
    if (at_rest)
        vgc_quiesce();
    for (int i = 0; i < (broadcast ? 1 : 2); i++) {
        (void)vigil_mutex_lock(&mutex);
        ready += broadcast ? 2 : 1;
        if (inside)
            (void)(broadcast ? vigil_condition_broadcast(&condition) : vigil_condition_signal(&condition));
        (void)vigil_mutex_unlock(&mutex);
        if (!inside)
            (void)(broadcast ? vigil_condition_broadcast(&condition) : vigil_condition_signal(&condition));
    }
    vgc_quiesce();
    vgc_assert(counter == 2, "each signal reaches a waiter");
    vgc_thread_join(a);
    vgc_thread_join(b);
    vgc_assert(mutex.vg_waiters.vg_word == 0 && condition.vg_waiters.vg_word == 0, "nothing is left in the words");
}

VGC_SCENARIO(share_condition_rest, "each signal reaches a waiter", .bound = "2 waiters, 2 signals", .opt.mode = VGC_PCT,
             .opt.runs = 10000)
{
    condition_with(false, true, true);
}

VGC_SCENARIO(share_condition_race, "each signal reaches a waiter", .bound = "2 waiters, 2 signals", .opt.mode = VGC_PCT,
             .opt.runs = 20000)
{
    condition_with(false, false, vgc_choose(2) == 0);
}

VGC_SCENARIO(share_condition_all, "a broadcast reaches all", .bound = "2 waiters", .opt.mode = VGC_PCT,
             .opt.runs = 20000)
{
    condition_with(true, false, vgc_choose(2) == 0);
}

static void *wait_for_a_moment(void *arg)
{
    (void)arg;
    (void)vigil_mutex_lock(&mutex);
    const int answer = vigil_condition_wait(&condition, &mutex, 1000, NULL);
    counter++; /* plain: the mutex is ours */
    vgc_assert(answer == -ETIMEDOUT || answer == 0, "woken or too late");
    *(int *)arg = answer;
    (void)vigil_mutex_unlock(&mutex);
    return NULL;
}

VGC_SCENARIO(share_condition_timeout, "a waiter that gave up takes no signal with it, and has the mutex",
             .bound = "2 waiters, 1 with a timeout", .opt.mode = VGC_PCT, .opt.runs = 20000, .opt.early_timeouts = 1)
{
    int answer = 0;
    pthread_t a = vgc_thread_start(wait_for_a_moment, &answer);
    (void)vigil_mutex_lock(&mutex);
    counter++;
    const int reached = vigil_condition_signal(&condition);
    (void)vigil_mutex_unlock(&mutex);
    vgc_thread_join(a);
    vgc_assert(reached == (answer == 0), "the signal says whether it reached somebody");
    vgc_assert(counter == 2 && mutex.vg_waiters.vg_word == 0 && condition.vg_waiters.vg_word == 0,
               "nothing is left in the words");
}
