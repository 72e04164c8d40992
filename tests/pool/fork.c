/* SPDX-License-Identifier: MIT */
/* After fork the child's pool answers -ECHILD to everything and can be given back; the parent's goes on. */
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static int task_nothing(vigil_task *task)
{
    (void)task;
    return 0;
}

/* A pool with something everywhere: a held worker, queued tasks, a job, a group, a timer. */
struct world {
    vigil_pool *pool;
    struct hold hold;
    vigil_job job;
    vigil_group group;
    vigil_task member, free_task, delayed;
};

static void world_make(struct world *world)
{
    *world = (struct world){.pool = pool_of(2)};
    hold_workers(&world->hold, world->pool, 2);
    must_equal(vigil_pool_call(world->pool, nothing, NULL, NULL, VIGIL_LOW), 0);
    must_equal(vigil_job_call(world->pool, nothing, NULL, NULL, &world->job), 0);
    must_equal(vigil_group_init(&world->group, world->pool, 0), 0);
    vigil_task_init(&world->member, task_nothing, NULL);
    vigil_task_init(&world->free_task, task_nothing, NULL);
    vigil_task_init(&world->delayed, task_nothing, NULL);
    must_equal(vigil_group_submit(&world->group, &world->member, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_submit_after(world->pool, &world->delayed, VIGIL_NORMAL, 1000000), 0);
}

static void world_end(struct world *world)
{
    hold_release(&world->hold);
    must_equal(vigil_job_wait(world->pool, world->job, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(world->pool, world->job), 0);
    must_equal(vigil_group_wait(&world->group), 0);
    pool_close(world->pool);
}

static void every_call_says_child(void *arg)
{
    struct world *world = arg;
    vigil_pool *pool = world->pool;
    vigil_task *batch[1] = {&world->free_task};
    vigil_job job = {0};
    vigil_pool_stats stats = {.size = sizeof stats};
    vigil_worker_stats worker = {.size = sizeof worker};
    vigil_worker_change change;
    vigil_audit audit = {.size = sizeof audit};
    int status = 0;
    must_equal(vigil_pool_submit(pool, &world->free_task, VIGIL_NORMAL), -ECHILD);
    must_equal(vigil_pool_submit_batch(pool, batch, 1, VIGIL_NORMAL), -ECHILD);
    must_equal(vigil_pool_submit_to(pool, 0, &world->free_task, VIGIL_NORMAL), -ECHILD);
    must_equal(vigil_pool_submit_after(pool, &world->free_task, VIGIL_NORMAL, 0), -ECHILD);
    must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), -ECHILD);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), -ECHILD);
    must_equal(vigil_pool_close(pool, VIGIL_FOREVER), -ECHILD);
    must_equal(vigil_pool_shutdown(pool, 0), -ECHILD);
    must_equal(vigil_pool_resize(pool, 3), -ECHILD);
    must_equal(vigil_job_call(pool, nothing, NULL, NULL, &job), -ECHILD);
    must_equal(vigil_job_wait(pool, world->job, VIGIL_FOREVER, &status), -ECHILD);
    must_equal(vigil_job_poll(pool, world->job, &status), -ECHILD);
    must_equal(vigil_job_cancel(pool, world->job), -ECHILD);
    must_equal(vigil_job_unref(pool, world->job), -ECHILD);
    must_equal(vigil_group_spawn(&world->group, &world->free_task), -ECHILD);
    must_equal(vigil_group_submit(&world->group, &world->free_task, VIGIL_NORMAL), -ECHILD);
    must_equal(vigil_group_wait(&world->group), -ECHILD);
    must_equal(vigil_group_wait_for(&world->group, 0), -ECHILD);
    must_equal(vigil_pool_stats_get(pool, &stats), -ECHILD);
    must_equal(vigil_pool_worker_stats_get(pool, 0, &worker), -ECHILD);
    must_equal(vigil_pool_worker_history(pool, 0, &change, 1), -ECHILD);
    must_equal(vigil_pool_audit(pool, &audit), -ECHILD);
    _exit(0);
}

static void in_the_child_every_call_answers_echild(void **state)
{
    (void)state;
    struct world world;
    world_make(&world);
    must_equal(in_child(every_call_says_child, &world), 0);
    world_end(&world);
}

static void destroy_it(void *arg)
{
    struct world *world = arg;
    must_equal(vigil_pool_destroy(world->pool), 0);
    _exit(0);
}

static void in_the_child_the_pool_can_be_given_back(void **state)
{
    (void)state;
    struct world world;
    world_make(&world);
    must_equal(in_child(destroy_it, &world), 0);
    world_end(&world);
}

/* The thread sanitizer ends a process that makes threads after a fork with threads; there is nothing to see there. */
#if !TEST_TSAN
static void destroy_and_make_anew(void *arg)
{
    struct world *world = arg;
    must_equal(vigil_pool_destroy(world->pool), 0);
    must(vigil_pool_current() == NULL);
    vigil_pool *mine = pool_of(3);
    struct hold hold = {0};
    hold_workers(&hold, mine, 3);
    hold_release(&hold);
    for (int i = 0; i < 1000; i++)
        must_equal(vigil_pool_call(mine, nothing, NULL, NULL, VIGIL_NORMAL), 0);
    pool_close(mine);
    _exit(0);
}

static void the_child_can_make_a_pool_of_its_own(void **state)
{
    (void)state;
    struct world world;
    world_make(&world);
    must_equal(in_child(destroy_and_make_anew, &world), 0);
    world_end(&world);
}

/* A fork amid a storm: whatever locks others held at that moment, the child gets its answers and its own pool. Not under the
   address sanitizer: gcc 12's allocator does not release its own locks in the child, which then waits for ever if a thread
   of the storm was allocating. The other tests fork while all other threads are parked. */
#if !TEST_ASAN
struct storm {
    vigil_pool *pool;
    _Atomic bool stop;
};

static void *storm_body(void *arg)
{
    struct storm *storm = arg;
    while (!atomic_load_explicit(&storm->stop, memory_order_relaxed)) {
        vigil_job job;
        must_equal(vigil_job_call(storm->pool, nothing, NULL, NULL, &job), 0);
        must_equal(vigil_job_wait(storm->pool, job, VIGIL_FOREVER, NULL), 0);
        must_equal(vigil_job_unref(storm->pool, job), 0);
        must_equal(vigil_pool_resize(storm->pool, 2 + (unsigned)(job.id % 2)), 0);
    }
    return NULL;
}

static void amid_storm(void *arg)
{
    struct storm *storm = arg;
    must_equal(vigil_pool_call(storm->pool, nothing, NULL, NULL, VIGIL_NORMAL), -ECHILD);
    must_equal(vigil_pool_destroy(storm->pool), 0);
    vigil_pool *mine = NULL;
    must_equal(vigil_pool_create(&mine, NULL), 0);
    must_equal(vigil_pool_call(mine, nothing, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(mine, VIGIL_FOREVER), 0);
    must_equal(vigil_pool_destroy(mine), 0);
    _exit(0);
}

static void a_fork_amid_a_storm_of_calls_is_survived_by_both(void **state)
{
    (void)state;
    struct storm storm = {.pool = pool_of(2)};
    pthread_t threads[2] = {start_thread(storm_body, &storm), start_thread(storm_body, &storm)};
    for (uint64_t round = scaled(40, 4); round > 0; round--)
        must_equal(in_child(amid_storm, &storm), 0);
    atomic_store_explicit(&storm.stop, true, memory_order_relaxed);
    join_thread(threads[0]);
    join_thread(threads[1]);
    pool_close(storm.pool);
}

#endif

/* The child of a task: the thread that forked was a worker; in the child it is just a thread. */
static void fork_child(void *arg)
{
    vigil_pool *pool = arg;
    must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), -ECHILD);
    _exit(0);
}

/* Run tasks, a group and waits on a pool of the child's own. */
static void use_a_new_pool(void)
{
    must(vigil_pool_current() == NULL);
    must_equal(vigil_pool_current_worker(), -1);
    must_equal(vigil_blocking_begin(), -EPERM);
    vigil_pool *mine = pool_of(2);
    for (int i = 0; i < 100; i++)
        must_equal(vigil_pool_call(mine, nothing, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(mine, VIGIL_FOREVER), 0);
    vigil_group group;
    vigil_task member;
    must_equal(vigil_group_init(&group, mine, 0), 0);
    vigil_task_init(&member, task_nothing, NULL);
    must_equal(vigil_group_spawn(&group, &member), 0);
    must_equal(vigil_group_wait(&group), 0);
    must_equal(vigil_join(mine, nothing, NULL, nothing, NULL), 0);
    pool_close(mine);
}

static void child_with_a_new_pool(void *arg)
{
    must_equal(vigil_pool_destroy(arg), 0);
    use_a_new_pool();
    _exit(0);
}

static void child_with_two_pools(void *arg)
{
    use_a_new_pool();
    must_equal(vigil_pool_destroy(arg), 0);
    _exit(0);
}

static int fork_destroy_create_inside(void *arg)
{
    must_equal(in_child(child_with_a_new_pool, arg), 0);
    must_equal(in_child(child_with_two_pools, arg), 0);
    must(vigil_pool_current() == arg);
    must_equal(vigil_blocking_begin(), 0);
    must_equal(vigil_blocking_end(), 0);
    return 0;
}

static void the_child_of_a_task_can_make_a_pool_of_its_own(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    must_equal(vigil_pool_call(pool, fork_destroy_create_inside, NULL, pool, VIGIL_NORMAL), 0);
    pool_close(pool);
}

/* A child that returns from the task ends; nothing that was queued runs a second time. */
static struct tally ran_after;

static int counts(void *arg)
{
    tally_add(arg, 1);
    return 0;
}

static int forks_and_returns(void *arg)
{
    const int wanted = *(int *)arg; /* what the child returns */
    for (int i = 0; i < 10; i++)
        must_equal(vigil_pool_call(vigil_pool_current(), counts, NULL, &ran_after, VIGIL_NORMAL), 0);
    int ends[2];
    char text[512] = "";
    must_equal(pipe(ends), 0);
    const pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        return wanted;
    }
    int status = 0;
    must_equal(waitpid(child, &status, 0), child);
    must(WIFEXITED(status));
    must_equal(WEXITSTATUS(status), wanted < 0 ? 1 : 0);
    must(read(ends[0], text, sizeof text - 1) > 0);
    must(strstr(text, "has returned from the task") != NULL);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return 0;
}

static void a_child_that_returns_from_its_task_ends(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    for (int failure = 0; failure < 2; failure++) {
        int wanted = failure != 0 ? -EIO : 0;
        atomic_store_explicit(&ran_after.count, 0, memory_order_relaxed);
        must_equal(vigil_pool_call(pool, forks_and_returns, NULL, &wanted, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(tally_get(&ran_after), 10);
    }
    must_equal(pool_stats(pool).total.completed, 22); /* the child has written nothing into the counters */
    pool_close(pool);
}

static int fork_inside(void *arg)
{
    must_equal(in_child(fork_child, arg), 0);
    return 0;
}

static void a_task_may_fork(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    must_equal(vigil_pool_call(pool, fork_inside, NULL, pool, VIGIL_NORMAL), 0);
    pool_close(pool);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(in_the_child_every_call_answers_echild),
        test(in_the_child_the_pool_can_be_given_back),
#if !TEST_TSAN
        test(the_child_can_make_a_pool_of_its_own),
#if !TEST_ASAN
        test(a_fork_amid_a_storm_of_calls_is_survived_by_both),
#endif
        test(a_task_may_fork),
        test(a_child_that_returns_from_its_task_ends),
        test(the_child_of_a_task_can_make_a_pool_of_its_own),
#endif
    };
    return run_all(tests);
}
