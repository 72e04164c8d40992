/* SPDX-License-Identifier: MIT */
/* Examples of vigil/sync.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <vigil/async.h>
#include <vigil/sync.h>

/*
 * vigil_mutex_lock: lock a mutex
 * vigil_mutex_unlock: unlock it
 * vigil_mutex_unlock_slow: what it calls if somebody may wait
 */
static vigil_mutex lock = VIGIL_MUTEX_INIT;
static long total;

static void add_to_total(long amount)
{
    vigil_mutex_lock(&lock);
    total += amount;
    /* Calls vigil_mutex_unlock_slow if somebody may wait. */
    vigil_mutex_unlock(&lock);
}

/* vigil_mutex_lock_timed: lock within a time, or until aborted */
static int try_to_add(long amount, vigil_cancel_token *token)
{
    int rc = vigil_mutex_lock_timed(&lock, 1000000, token);
    if (rc < 0)
        return rc; /* -ETIMEDOUT, or the status of the token */
    total += amount;
    return vigil_mutex_unlock(&lock);
}

/*
 * vigil_rwlock_read: lock for reading
 * vigil_rwlock_write: lock for writing
 * vigil_rwlock_unlock: unlock, either way
 */
static vigil_rwlock table_lock = VIGIL_RWLOCK_INIT;
static int table[8];

static int look_up(int at)
{
    vigil_rwlock_read(&table_lock, VIGIL_FOREVER, NULL);
    int value = table[at];
    vigil_rwlock_unlock(&table_lock);
    return value;
}

static void enter(int at, int value)
{
    vigil_rwlock_write(&table_lock, VIGIL_FOREVER, NULL);
    table[at] = value;
    vigil_rwlock_unlock(&table_lock);
}

/*
 * vigil_condition_wait: wait until something has changed
 * vigil_condition_signal: let one waiter look again
 * vigil_condition_broadcast: let all waiters look again
 */
static vigil_condition changed = VIGIL_CONDITION_INIT;
static int items;
static int closed;

static int take_item(void)
{
    int taken = 0;
    vigil_mutex_lock(&lock);
    while (items == 0 && !closed)
        vigil_condition_wait(&changed, &lock, VIGIL_FOREVER, NULL);
    if (items > 0)
        taken = items--;
    vigil_mutex_unlock(&lock);
    return taken;
}

static void put_item(void)
{
    vigil_mutex_lock(&lock);
    items++;
    vigil_condition_signal(&changed);
    vigil_mutex_unlock(&lock);
}

static void close_items(void)
{
    vigil_mutex_lock(&lock);
    closed = 1;
    vigil_condition_broadcast(&changed);
    vigil_mutex_unlock(&lock);
}

/*
 * vigil_semaphore_init: begin with so many units
 * vigil_semaphore_acquire: take units, or wait for them
 * vigil_semaphore_post: put units back
 * vigil_semaphore_units: how many are there
 */
static int use_memory(vigil_semaphore *budget, uint64_t bytes)
{
    int rc =
        vigil_semaphore_acquire(budget, bytes, VIGIL_FOREVER, NULL);
    if (rc < 0)
        return rc; /* -EINVAL: it could never be had */
    printf("%llu bytes left\n",
           (unsigned long long)vigil_semaphore_units(budget));
    return vigil_semaphore_post(budget, bytes);
}

static void limit_memory(void)
{
    vigil_semaphore budget;
    if (vigil_semaphore_init(&budget, 1 << 20, 1 << 20) < 0)
        return;
    assert(use_memory(&budget, 4096) == 0);
    assert(use_memory(&budget, 1 << 21) == -EINVAL);
}

/* vigil_once_run: do something the first time it is needed */
static vigil_once opened = VIGIL_ONCE_INIT;

static int open_log(void *arg)
{
    *(int *)arg = 1;
    return 0; /* a negative status: the next caller tries again */
}

static int use_log(int *log)
{
    int rc =
        vigil_once_run(&opened, open_log, log, VIGIL_FOREVER, NULL);
    return rc < 0 ? rc : *log;
}

/*
 * vigil_latch_init: begin with a count
 * vigil_latch_down: count down
 * vigil_latch_wait: wait until the count is zero
 */
static void wait_for_parts(void)
{
    vigil_latch parts;
    if (vigil_latch_init(&parts, 2) < 0)
        return;
    vigil_latch_down(&parts, 1); /* elsewhere: a part is done */
    vigil_latch_down(&parts, 1);
    int rc = vigil_latch_wait(&parts, VIGIL_FOREVER, NULL);
    assert(rc == 0);
}

/*
 * vigil_barrier_init: so many parties meet
 * vigil_barrier_wait: arrive, and wait for the others
 */
static void meet(void)
{
    vigil_barrier barrier;
    if (vigil_barrier_init(&barrier, 1) < 0)
        return;
    if (vigil_barrier_wait(&barrier, VIGIL_FOREVER, NULL) == 1)
        printf("all are here; I was last\n");
}

/*
 * vigil_promise_lock: lock a mutex in an asynchronous function
 * vigil_promise_acquire: take units in one
 */
static vigil_semaphore connections = VIGIL_SEMAPHORE_INIT(8);

static void fetch_steps(vigil_frame *frame)
{
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame,
                vigil_promise_acquire(frame->loop, &connections, 1,
                                      frame->token, VIGIL_INTO(frame)));
    /* ... fetch, with at most seven others at a time ... */
    vigil_semaphore_post(&connections, 1);
    VIGIL_AWAIT(frame,
                vigil_promise_lock(frame->loop, &lock, frame->token,
                                   VIGIL_INTO(frame)));
    total++;
    vigil_mutex_unlock(&lock);
    VIGIL_ASYNC_OUT(frame);
    VIGIL_ASYNC_END(frame);
}

/*
 * vigil_rate_init: so many per second
 * vigil_rate_take: wait for the next
 * vigil_promise_rate: the same in an asynchronous function
 * vigil_promise_pool_idle: wait until a pool has nothing to do
 * vigil_promise_pool_stop: end a pool without blocking its loop
 */
static vigil_rate requests;
static vigil_pool *helpers;

static void slow_down(void)
{
    /* 1000 per second, and 10 at once after a pause */
    vigil_rate_init(&requests, 1000, 1000000000, 10);
    if (vigil_rate_take(&requests, 1, VIGIL_FOREVER, NULL) == 0)
        printf("my turn\n");
}

static void stop_steps(vigil_frame *frame)
{
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame,
                vigil_promise_rate(frame->loop, &requests, 1,
                                   frame->token, VIGIL_INTO(frame)));
    VIGIL_AWAIT(frame, vigil_promise_pool_idle(frame->loop, helpers,
                                               frame->token,
                                               VIGIL_INTO(frame)));
    VIGIL_AWAIT(frame, vigil_promise_pool_stop(frame->loop, helpers,
                                               frame->token,
                                               VIGIL_INTO(frame)));
    VIGIL_ASYNC_OUT(frame);
    VIGIL_ASYNC_END(frame);
}

/*
 * vigil_promise_read_lock: read in an asynchronous function
 * vigil_promise_write_lock: write in one
 * vigil_promise_condition: wait for a change in one
 * vigil_promise_latch: wait for several things in one
 * vigil_promise_barrier: meet others in one
 * vigil_promise_once: an asynchronous call that happens once
 */
static vigil_rwlock settings = VIGIL_RWLOCK_INIT;
static vigil_latch parts_left = VIGIL_LATCH_INIT(0);
static vigil_barrier round_trip = VIGIL_BARRIER_INIT(1);
static vigil_once connected = VIGIL_ONCE_INIT;

static int connect_once(vigil_loop *loop, void *arg,
                        vigil_cancel_token *token,
                        vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_sleep(loop, 1000, token, promise);
}

static void share_steps(vigil_frame *frame)
{
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_once(
                           frame->loop, &connected, connect_once, NULL,
                           frame->token, VIGIL_INTO(frame)));
    VIGIL_AWAIT(frame, vigil_promise_read_lock(frame->loop, &settings,
                                               frame->token,
                                               VIGIL_INTO(frame)));
    vigil_rwlock_unlock(&settings);
    VIGIL_AWAIT(frame, vigil_promise_write_lock(frame->loop, &settings,
                                                frame->token,
                                                VIGIL_INTO(frame)));
    vigil_rwlock_unlock(&settings);
    VIGIL_AWAIT(frame,
                vigil_promise_latch(frame->loop, &parts_left,
                                    frame->token, VIGIL_INTO(frame)));
    VIGIL_AWAIT(frame,
                vigil_promise_barrier(frame->loop, &round_trip,
                                      frame->token, VIGIL_INTO(frame)));
    VIGIL_AWAIT(frame,
                vigil_promise_lock(frame->loop, &lock, frame->token,
                                   VIGIL_INTO(frame)));
    while (total == 0) /* somebody signals `changed` when it is not */
        VIGIL_AWAIT(frame, vigil_promise_condition(
                               frame->loop, &changed, &lock,
                               frame->token, VIGIL_INTO(frame)));
    total++;
    vigil_mutex_unlock(&lock);
    VIGIL_ASYNC_OUT(frame);
    VIGIL_ASYNC_END(frame);
}

static void start_fetch(void *loop)
{
    vigil_frame *frame = vigil_frame_alloc(sizeof *frame, loop, NULL);
    if (frame != NULL)
        vigil_frame_start(frame, fetch_steps, NULL);
    frame = vigil_frame_alloc(sizeof *frame, loop, NULL);
    if (frame != NULL)
        vigil_frame_start(frame, share_steps, NULL);
    frame = vigil_frame_alloc(sizeof *frame, loop, NULL);
    if (frame != NULL)
        vigil_frame_start(frame, stop_steps, NULL);
}

static void fetch_on_a_loop(void)
{
    vigil_loop *loop;
    if (vigil_loop_create(&loop, NULL) < 0 ||
        vigil_pool_create(&helpers, NULL) < 0)
        return;
    vigil_loop_call(loop, start_fetch, NULL, loop);
    vigil_loop_run(loop, VIGIL_RUN);
    vigil_loop_destroy(loop);
    vigil_pool_destroy(helpers);
}

/* ---- all of them ---- */

int main(void)
{
    int log = 0;
    add_to_total(3);
    assert(try_to_add(4, NULL) == 0 && total == 7);
    enter(1, 5);
    assert(look_up(1) == 5);
    put_item();
    assert(take_item() == 1);
    close_items();
    assert(take_item() == 0);
    limit_memory();
    assert(use_log(&log) == 1);
    wait_for_parts();
    meet();
    slow_down();
    fetch_on_a_loop();
    assert(total == 9);
    return 0;
}
