/* SPDX-License-Identifier: MIT */
/* Examples of vigil/pool.h, one for each function. */
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <vigil/pool.h>

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* vigil_task_init: make a task in your own struct */
struct picture {
    vigil_task task; /* first, so that the addresses are the same */
    int width, height;
};

static int scale(vigil_task *task)
{
    struct picture *picture = (struct picture *)task;
    picture->width /= 2;
    picture->height /= 2;
    return 0;
}

static void make_a_task(struct picture *picture)
{
    vigil_task_init(&picture->task, scale, NULL);
}

/* vigil_pool_create: make a pool and start its workers */
static vigil_pool *make_a_pool(void)
{
    vigil_pool *pool;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.name = "game";
    options.workers = 4; /* 0: as many as the process may use */
    int rc = vigil_pool_create(&pool, &options);
    if (rc < 0) {
        fprintf(stderr, "no pool: %s\n", vigil_strerror(rc));
        exit(1);
    }
    return pool;
}

/* vigil_pool_shutdown: end a pool after everything accepted has run */
static void end_gracefully(vigil_pool *pool)
{
    /* Five seconds for what is queued; then cancel the rest. */
    if (vigil_pool_shutdown(pool, 5000000000) == -ETIMEDOUT)
        vigil_pool_close(pool, VIGIL_FOREVER);
}

/* vigil_pool_close: end a pool now, and cancel what has not started */
static void end_now(vigil_pool *pool)
{
    int rc = vigil_pool_close(pool, VIGIL_FOREVER);
    assert(rc == 0); /* running tasks have finished */
    rc = vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL);
    assert(rc == -ESHUTDOWN);
}

/* vigil_pool_destroy: give the pool back */
static void give_the_pool_back(vigil_pool *pool)
{
    vigil_pool_shutdown(pool, VIGIL_FOREVER);
    vigil_pool_destroy(pool);
}

/* vigil_pool_submit: submit a task that lives in your own struct */
struct letter {
    vigil_task task;
    const char *text;
};

static int print_letter(vigil_task *task)
{
    struct letter *letter = (struct letter *)task;
    printf("%s\n", letter->text);
    free(letter); /* the pool no longer touches it */
    return 0;
}

static int send_letter(vigil_pool *pool, const char *text)
{
    struct letter *letter = malloc(sizeof *letter);
    if (letter == NULL)
        return -ENOMEM;
    letter->text = text;
    vigil_task_init(&letter->task, print_letter, NULL);
    int rc = vigil_pool_submit(pool, &letter->task, VIGIL_HIGH);
    if (rc < 0)
        free(letter); /* refused: it is still ours */
    return rc;
}

/* vigil_pool_submit_batch: submit many tasks with one wake decision */
static int scale_all(vigil_pool *pool, struct picture *pictures,
                     size_t count)
{
    vigil_task *tasks[16];
    assert(count <= 16);
    for (size_t i = 0; i < count; i++) {
        vigil_task_init(&pictures[i].task, scale, NULL);
        tasks[i] = &pictures[i].task;
    }
    return vigil_pool_submit_batch(pool, tasks, count, VIGIL_LOW);
}

/* vigil_pool_submit_for: submit a task, and wait a while for room */
static int scale_if_there_is_room(vigil_pool *pool,
                                  struct picture *picture)
{
    vigil_task_init(&picture->task, scale, NULL);
    return vigil_pool_submit_for(pool, &picture->task, VIGIL_NORMAL,
                                 10 * 1000000);
}

/* vigil_pool_submit_to: submit a task that one worker must run */
static int say_where(vigil_task *task)
{
    (void)task;
    printf("on worker %d\n", vigil_pool_current_worker());
    return 0;
}

static int run_on_worker_0(vigil_pool *pool, vigil_task *task)
{
    vigil_task_init(task, say_where, NULL);
    return vigil_pool_submit_to(pool, 0, task, VIGIL_NORMAL);
}

/* vigil_pool_submit_after: submit a task that becomes ready later */
static int scale_in_a_millisecond(vigil_pool *pool,
                                  struct picture *picture)
{
    vigil_task_init(&picture->task, scale, NULL);
    return vigil_pool_submit_after(pool, &picture->task, VIGIL_NORMAL,
                                   1000000);
}

/* vigil_pool_call: call a function on a worker */
static int greet(void *name)
{
    printf("hello, %s\n", (const char *)name);
    return 0;
}

static int greet_on_a_worker(vigil_pool *pool)
{
    return vigil_pool_call(pool, greet, NULL, "world", VIGIL_NORMAL);
}

/* vigil_pool_wait_idle: wait until every accepted task has finished */
static void wait_for_all(vigil_pool *pool)
{
    int rc = vigil_pool_wait_idle(pool, 60000000000);
    if (rc == -ETIMEDOUT)
        printf("still busy after a minute\n");
}

/* vigil_pool_resize: change the number of workers */
static void resize(vigil_pool *pool)
{
    int rc = vigil_pool_resize(pool, 2);
    if (rc < 0)
        printf("not resized: %s\n", vigil_strerror(rc));
}

/* vigil_pool_workers: get the number of workers */
static void count_workers(vigil_pool *pool)
{
    printf("%u workers\n", vigil_pool_workers(pool));
}

/* vigil_pool_current: get the pool of the calling worker */
static int add_more(void *arg)
{
    /* Inside a task there is no need to pass the pool along. */
    return vigil_pool_call(vigil_pool_current(), greet, NULL, arg,
                           VIGIL_LOW);
}

/* vigil_pool_current_worker: get the number of the calling worker */
static unsigned long turns[VIGIL_MAX_WORKERS];

static int count_turn(void *arg)
{
    (void)arg;
    int worker = vigil_pool_current_worker(); /* -1: not a worker */
    if (worker >= 0 && worker < VIGIL_MAX_WORKERS)
        turns[worker]++; /* one counter per worker needs no lock */
    return 0;
}

/* vigil_cpu_count: get the number of CPUs that the process may use */
static void size_by_cpus(vigil_pool_options *options)
{
    options->workers = 2 * vigil_cpu_count();
}

/*
 * vigil_blocking_begin: say that the task is about to block
 * vigil_blocking_end: say that the task no longer blocks
 */
static int read_slowly(void *arg)
{
    int *pipe_end = arg;
    char byte;
    vigil_blocking_begin(); /* a spare worker may stand in */
    ssize_t got = read(*pipe_end, &byte, 1);
    vigil_blocking_end();
    return got == 1 ? 0 : -EIO;
}

/* vigil_task_label: give the running task a name that viewers show */
static int plays_one_bot(void *name)
{
    vigil_task_label(name); /* "bot 17": viewers show it */
    return 0;
}

/* vigil_job_call: call a function on a worker, with a handle */
static int length_of(void *text)
{
    int length = 0;
    for (const char *at = text; *at != '\0'; at++)
        length++;
    return length;
}

static void measure(vigil_pool *pool)
{
    vigil_job job;
    int length = 0;
    if (vigil_job_call(pool, length_of, "vigil", NULL, &job) < 0)
        return;
    vigil_job_wait(pool, job, VIGIL_FOREVER, &length);
    vigil_job_unref(pool, job);
    assert(length == 5);
}

/* vigil_job_wait: wait for the end of a job */
static void wait_a_second(vigil_pool *pool, vigil_job job)
{
    int status;
    int rc = vigil_job_wait(pool, job, 1000000000, &status);
    if (rc == -ETIMEDOUT)
        printf("not yet\n"); /* the job goes on */
    else if (rc == 0)
        printf("status %d\n", status);
}

/* vigil_job_poll: ask where a job is */
static bool has_ended(vigil_pool *pool, vigil_job job)
{
    int status;
    int state = vigil_job_poll(pool, job, &status);
    return state == VIGIL_JOB_DONE || state == VIGIL_JOB_CANCELLED;
}

/* vigil_job_cancel: cancel a job that has not started */
static void cancel_if_possible(vigil_pool *pool, vigil_job job)
{
    int rc = vigil_job_cancel(pool, job);
    if (rc == -EBUSY)
        printf("too late: it runs or has ended\n");
}

/* vigil_job_unref: give the handle of a job back */
static int call_and_forget(vigil_pool *pool)
{
    vigil_job job;
    int rc = vigil_job_call(pool, greet, "nobody", NULL, &job);
    if (rc < 0)
        return rc;
    return vigil_job_unref(pool, job); /* the job itself goes on */
}

/* vigil_group_init: make an empty group */
static int scale_both(vigil_pool *pool, struct picture *a,
                      struct picture *b)
{
    vigil_group group;
    vigil_group_init(&group, pool, 0);
    vigil_task_init(&a->task, scale, NULL);
    vigil_task_init(&b->task, scale, NULL);
    vigil_group_spawn(&group, &a->task);
    vigil_group_spawn(&group, &b->task);
    return vigil_group_wait(&group);
}

/* vigil_group_spawn: fork a task */
struct fib {
    vigil_task task;
    vigil_pool *pool;
    int n, result;
};

static int fib(vigil_task *task)
{
    struct fib *self = (struct fib *)task;
    if (self->n < 2) {
        self->result = self->n;
        return 0;
    }
    struct fib a = {.pool = self->pool, .n = self->n - 1};
    struct fib b = {.pool = self->pool, .n = self->n - 2};
    vigil_group group;
    vigil_group_init(&group, self->pool, 0);
    vigil_task_init(&a.task, fib, NULL);
    vigil_group_spawn(&group, &a.task); /* perhaps on another worker */
    fib(&b.task);                       /* here */
    int rc = vigil_group_wait(&group);
    self->result = a.result + b.result;
    return rc;
}

/* vigil_group_submit: add a task to a group through the FIFO queue */
static int scale_in_order(vigil_pool *pool, struct picture *pictures,
                          size_t count)
{
    vigil_group group;
    vigil_group_init(&group, pool, 0);
    for (size_t i = 0; i < count; i++) {
        vigil_task_init(&pictures[i].task, scale, NULL);
        vigil_group_submit(&group, &pictures[i].task, VIGIL_HIGH);
    }
    return vigil_group_wait(&group);
}

/* vigil_group_wait: join all tasks of a group */
static void join_group(vigil_group *group)
{
    int rc = vigil_group_wait(group);
    if (rc < 0)
        printf("a task failed: %s\n", vigil_strerror(rc));
}

/* vigil_group_wait_for: join a group, with a limit */
static bool join_within_a_second(vigil_group *group)
{
    /* After -ETIMEDOUT the group is as before: wait again later. */
    return vigil_group_wait_for(group, 1000000000) != -ETIMEDOUT;
}

/* vigil_group_cancel: leave the rest of a group out */
static void give_up(vigil_group *group)
{
    vigil_group_cancel(group); /* what runs goes on */
    if (vigil_group_wait(group) == -ECANCELED)
        printf("given up\n");
}

/* vigil_group_cancelled: was a group cancelled? */
static bool is_given_up(vigil_group *group)
{
    return vigil_group_cancelled(group) > 0;
}

/* vigil_task_cancelled: end a long task early */
static int look_through(vigil_task *task)
{
    for (int i = 0; i < 1000; i++)
        if (vigil_task_cancelled() > 0)
            return -ECANCELED;
    (void)task;
    return 0;
}

/*
 * vigil_join: call two functions, perhaps at the same time
 * vigil_join_push: what it calls if the second must be announced
 * vigil_join_elsewhere: what it calls if another worker took the second
 * vigil_join_count: what it calls after a number of joins
 * vigil_join_outside: what it calls outside of the pool's tasks
 */
struct range {
    vigil_pool *pool;
    long from, to, sum;
};

static int add_up(void *arg)
{
    struct range *range = arg;
    if (range->to - range->from < 1000) {
        for (long i = range->from; i < range->to; i++)
            range->sum += i;
        return 0;
    }
    long middle = (range->from + range->to) / 2;
    struct range left = {range->pool, range->from, middle, 0};
    struct range right = {range->pool, middle, range->to, 0};
    /* Calls vigil_join_push, vigil_join_elsewhere, vigil_join_count and
       vigil_join_outside where its inline part does not do. */
    int rc = vigil_join(range->pool, add_up, &left, add_up, &right);
    range->sum = left.sum + right.sum;
    return rc;
}

/* vigil_pool_stats_get: get the counters of a pool */
static void print_counters(vigil_pool *pool)
{
    vigil_pool_stats stats = VIGIL_POOL_STATS_INIT;
    if (vigil_pool_stats_get(pool, &stats) < 0)
        return;
    printf("%llu submitted, %llu queued, %u parked\n",
           (unsigned long long)stats.total.submitted,
           (unsigned long long)stats.total.queued, stats.parked);
}

/* vigil_pool_worker_stats_get: get the counters of one worker */
static void print_worker(vigil_pool *pool, unsigned worker)
{
    vigil_worker_stats stats = VIGIL_WORKER_STATS_INIT;
    if (vigil_pool_worker_stats_get(pool, worker, &stats) < 0)
        return;
    printf("worker %u: %llu done, %llu steals\n", worker,
           (unsigned long long)stats.completed,
           (unsigned long long)stats.steals_won);
}

/* vigil_pool_worker_history: get the last states of a worker */
static void print_history(vigil_pool *pool, unsigned worker)
{
    vigil_worker_change changes[8];
    int count = vigil_pool_worker_history(pool, worker, changes, 8);
    for (int i = 0; i < count; i++)
        printf("state %d, %llu ns ago\n", (int)changes[i].state,
               (unsigned long long)changes[i].age_ns);
}

/* vigil_pool_audit: look for a task that was lost */
static void audit(vigil_pool *pool)
{
    vigil_audit found = VIGIL_AUDIT_INIT;
    if (vigil_pool_audit(pool, &found) == -EIO)
        fprintf(stderr, "%s\n", found.text);
}

/* ---- all of them ---- */

int main(void)
{
    vigil_pool *pool = make_a_pool();
    struct picture pictures[4];
    static struct picture roomy;
    struct picture *later = &pictures[3];
    vigil_task task;
    vigil_group group;
    vigil_job job;
    for (int i = 0; i < 4; i++)
        pictures[i].width = pictures[i].height = 16;
    make_a_task(&pictures[0]);
    assert(send_letter(pool, "a letter") == 0);
    assert(scale_if_there_is_room(pool, &roomy) == 0);
    assert(scale_all(pool, pictures, 3) == 0);
    assert(run_on_worker_0(pool, &task) == 0);
    assert(scale_in_a_millisecond(pool, later) == 0);
    assert(greet_on_a_worker(pool) == 0);
    wait_for_all(pool);
    assert(pictures[2].width == 8 && later->width == 8);
    count_workers(pool);
    vigil_pool_call(pool, add_more, NULL, "again", VIGIL_NORMAL);
    vigil_pool_call(pool, count_turn, NULL, NULL, VIGIL_NORMAL);
    int ends[2];
    assert(pipe(ends) == 0);
    vigil_pool_call(pool, read_slowly, NULL, &ends[0], VIGIL_NORMAL);
    vigil_pool_call(pool, plays_one_bot, NULL, "bot 17", VIGIL_NORMAL);
    assert(write(ends[1], "x", 1) == 1);
    measure(pool);
    assert(vigil_job_call(pool, nothing, NULL, NULL, &job) == 0);
    wait_a_second(pool, job);
    assert(has_ended(pool, job));
    cancel_if_possible(pool, job);
    vigil_job_unref(pool, job);
    assert(call_and_forget(pool) == 0);
    assert(scale_both(pool, &pictures[0], &pictures[1]) == 0);
    struct fib ten = {.pool = pool, .n = 10};
    vigil_group_init(&group, pool, 0);
    vigil_task_init(&ten.task, fib, NULL);
    vigil_group_spawn(&group, &ten.task);
    join_group(&group);
    assert(ten.result == 55);
    assert(join_within_a_second(&group));
    vigil_task looking;
    vigil_task_init(&looking, look_through, NULL);
    vigil_group_submit(&group, &looking, VIGIL_LOW);
    give_up(&group);
    assert(!is_given_up(&group));
    assert(scale_in_order(pool, pictures, 2) == 0);
    struct range all = {pool, 0, 10000, 0};
    assert(add_up(&all) == 0 && all.sum == 49995000);
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    size_by_cpus(&options);
    assert(options.workers >= 2);
    wait_for_all(pool);
    resize(pool);
    print_counters(pool);
    print_worker(pool, 0);
    print_history(pool, 0);
    audit(pool);
    end_gracefully(pool);
    vigil_pool_destroy(pool);
    pool = make_a_pool();
    end_now(pool);
    vigil_pool_destroy(pool);
    give_the_pool_back(make_a_pool());
    close(ends[0]);
    close(ends[1]);
    return 0;
}
