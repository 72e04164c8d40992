/* SPDX-License-Identifier: MIT */
/* W5: The audit finds every queued task wherever it waits, says so exactly while nothing moves, and says when it cannot. */
#include "support.h"

#include "pool/injector.h"

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

struct item {
    vigil_task task;
};

static int item_run(vigil_task *task)
{
    (void)task;
    return 0;
}

static void audit_finds(vigil_pool *pool, uint64_t queued)
{
    vigil_audit audit;
    int rc = pool_audit(pool, &audit);
    if (rc != 0)
        (void)fprintf(stderr, "%s\n", audit.text);
    must_equal(rc, 0);
    must(audit.settled);
    must_equal(audit.expected, queued);
    must_equal(audit.found, queued);
    must_equal(audit.lost, 0);
    must(strlen(audit.text) > 0 && strlen(audit.text) < sizeof audit.text);
}

struct parent {
    vigil_pool *pool;
    vigil_group group;
    struct item children[30];
    struct gate gate;
};

static int spawn_and_sit(void *arg)
{
    struct parent *parent = arg;
    for (size_t i = 0; i < count_of(parent->children); i++) {
        vigil_task_init(&parent->children[i].task, item_run, NULL);
        must_equal(vigil_group_spawn(&parent->group, &parent->children[i].task), 0);
    }
    gate_pass(&parent->gate);
    return 0;
}

static void tasks_are_found_in_injectors_deques_mailboxes_and_the_timer(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    audit_finds(pool, 0);
    struct parent parent = {.pool = pool};
    must_equal(vigil_group_init(&parent.group, pool, VIGIL_GROUP_DETACHED), 0);
    must_equal(vigil_pool_call(pool, spawn_and_sit, NULL, &parent, VIGIL_NORMAL), 0);
    gate_wait_entered(&parent.gate, 1);
    audit_finds(pool, 30); /* in the worker's deque */
    for (int i = 0; i < 1000; i++)
        must_equal(vigil_pool_call(pool, nothing, NULL, NULL, (vigil_priority)(i % VIGIL_PRIORITIES)), 0);
    audit_finds(pool, 1030); /* in the injectors */
    struct item mail[7];
    for (int i = 0; i < 7; i++) {
        vigil_task_init(&mail[i].task, item_run, NULL);
        must_equal(vigil_pool_submit_to(pool, 0, &mail[i].task, VIGIL_LOW), 0);
    }
    audit_finds(pool, 1037); /* in the mailbox */
    struct item late[5];
    for (int i = 0; i < 5; i++) {
        vigil_task_init(&late[i].task, item_run, NULL);
        must_equal(vigil_pool_submit_after(pool, &late[i].task, VIGIL_LOW, (int64_t)3600 * 1000000000), 0);
    }
    audit_finds(pool, 1042); /* in the timer */
    vigil_job jobs[10];
    for (int i = 0; i < 10; i++)
        must_equal(vigil_job_call(pool, nothing, NULL, NULL, &jobs[i]), 0);
    audit_finds(pool, 1052);
    for (int i = 0; i < 10; i += 2)
        must_equal(vigil_job_cancel(pool, jobs[i]), 0);
    audit_finds(pool, 1047); /* the entries of cancelled jobs are no tasks any more */
    for (int i = 0; i < 10; i++)
        must_equal(vigil_job_unref(pool, jobs[i]), 0);
    audit_finds(pool, 1047);
    gate_open(&parent.gate);
    while (pool_stats(pool).total.queued != 5)
        yield();
    audit_finds(pool, 5);
    must_equal(vigil_group_wait(&parent.group), 0);
    must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
    audit_finds(pool, 0);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

struct hopper {
    vigil_task task;
    vigil_pool *pool;
    _Atomic bool stop;
};

static int hop(vigil_task *task)
{
    struct hopper *hopper = container_of(task, struct hopper, task);
    if (!atomic_load_explicit(&hopper->stop, memory_order_relaxed))
        must_equal(vigil_pool_submit(hopper->pool, task, VIGIL_NORMAL), 0);
    return 0;
}

static void while_tasks_move_it_never_cries_wolf(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 3};
    for (size_t w = 0; w < count_of(workers); w++) {
        vigil_pool *pool = pool_of(workers[w]);
        struct hopper hoppers[8];
        for (int i = 0; i < 8; i++) {
            hoppers[i].pool = pool;
            atomic_init(&hoppers[i].stop, false);
            vigil_task_init(&hoppers[i].task, hop, NULL);
            must_equal(vigil_pool_submit(pool, &hoppers[i].task, VIGIL_NORMAL), 0);
        }
        for (uint64_t look = scaled(1000, 20); look > 0; look--) {
            vigil_audit audit = {.size = sizeof audit};
            int rc = vigil_pool_audit(pool, &audit);
            if (rc != 0 && rc != -EAGAIN)
                (void)fprintf(stderr, "%s\n", audit.text);
            must(rc == 0 || rc == -EAGAIN); /* right, or not settled; never a false alarm */
            must_equal(audit.settled, rc == 0);
            must(strlen(audit.text) > 0);
        }
        for (int i = 0; i < 8; i++)
            atomic_store_explicit(&hoppers[i].stop, true, memory_order_relaxed);
        pool_close(pool);
    }
}

struct storm {
    vigil_pool *pool;
    _Atomic bool stop;
};

static void *storm_body(void *arg)
{
    struct storm *storm = arg;
    for (unsigned i = 0; !atomic_load_explicit(&storm->stop, memory_order_relaxed); i++) {
        vigil_job job;
        must_equal(vigil_job_call(storm->pool, nothing, NULL, NULL, &job), 0);
        if (i % 2 == 0)
            (void)vigil_job_cancel(storm->pool, job);
        must_equal(vigil_job_unref(storm->pool, job), 0);
        must_equal(vigil_pool_call(storm->pool, nothing, NULL, NULL, VIGIL_LOW), 0);
        if (i % 64 == 0)
            must_equal(vigil_pool_wait_idle(storm->pool, VIGIL_FOREVER), 0);
    }
    return NULL;
}

static void amid_a_storm_of_submits_and_cancels_it_never_cries_wolf(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct storm storm = {.pool = pool};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start_thread(storm_body, &storm);
    for (uint64_t look = scaled(3000, 20); look > 0; look--) {
        vigil_audit audit = {.size = sizeof audit};
        int rc = vigil_pool_audit(pool, &audit);
        if (rc != 0 && rc != -EAGAIN)
            (void)fprintf(stderr, "%s\n", audit.text);
        must(rc == 0 || rc == -EAGAIN);
    }
    atomic_store_explicit(&storm.stop, true, memory_order_relaxed);
    for (int i = 0; i < 3; i++)
        join_thread(threads[i]);
    pool_close(pool);
}

/* A cancel callback is user code and may take its time. Meanwhile its task is in no queue, and not lost either. */
struct cancelling {
    vigil_pool *pool;
    vigil_task task;
    vigil_job job;
    struct gate gate;
};

static void cancel_slowly(void *arg)
{
    gate_pass(&((struct cancelling *)arg)->gate);
}

static void cancel_task_slowly(vigil_task *task)
{
    gate_pass(&container_of(task, struct cancelling, task)->gate);
}

static void *cancel_job(void *arg)
{
    struct cancelling *cancelling = arg;
    must_equal(vigil_job_cancel(cancelling->pool, cancelling->job), 0);
    return NULL;
}

static void *stop_now(void *arg)
{
    must_equal(vigil_pool_close(((struct cancelling *)arg)->pool, VIGIL_FOREVER), 0);
    return NULL;
}

static void audit_is_not_alarmed(vigil_pool *pool)
{
    for (int look = 0; look < 20; look++) {
        vigil_audit audit = {.size = sizeof audit};
        int rc = vigil_pool_audit(pool, &audit);
        if (rc != 0 && rc != -EAGAIN)
            (void)fprintf(stderr, "%s\n", audit.text);
        must(rc == 0 || rc == -EAGAIN);
    }
}

static void a_job_inside_its_cancel_callback_is_not_called_lost(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct hold hold = {0};
    struct cancelling cancelling = {.pool = pool};
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.cancel = cancel_slowly;
    hold_workers(&hold, pool, 1);
    must_equal(vigil_job_call(pool, nothing, &cancelling, &options, &cancelling.job), 0);
    pthread_t thread = start_thread(cancel_job, &cancelling);
    gate_wait_entered(&cancelling.gate, 1);
    audit_is_not_alarmed(pool);
    gate_open(&cancelling.gate);
    join_thread(thread);
    audit_finds(pool, 0);
    must_equal(vigil_job_unref(pool, cancelling.job), 0);
    hold_release(&hold);
    pool_close(pool);
}

static void a_task_inside_its_cancel_callback_is_not_called_lost(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) { /* in an injector, a mailbox, the timer, a deque */
        vigil_pool *pool = pool_of(1);
        struct parent parent = {.pool = pool};
        struct cancelling cancelling = {.pool = pool};
        must_equal(vigil_group_init(&parent.group, pool, VIGIL_GROUP_DETACHED), 0);
        must_equal(vigil_pool_call(pool, spawn_and_sit, NULL, &parent, VIGIL_NORMAL), 0);
        gate_wait_entered(&parent.gate, 1);
        vigil_task_init(&cancelling.task, item_run, cancel_task_slowly);
        if (way == 0)
            must_equal(vigil_pool_submit(pool, &cancelling.task, VIGIL_HIGH), 0);
        else if (way == 1)
            must_equal(vigil_pool_submit_to(pool, 0, &cancelling.task, VIGIL_HIGH), 0);
        else if (way == 2)
            must_equal(vigil_pool_submit_after(pool, &cancelling.task, VIGIL_HIGH, (int64_t)3600 * 1000000000), 0);
        else /* a group's member, behind those that have no callback */
            must_equal(vigil_group_submit(&parent.group, &cancelling.task, VIGIL_HIGH), 0);
        pthread_t thread = start_thread(stop_now, &cancelling);
        while (vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_IDLE) == 0)
            yield(); /* until the stop has closed the pool */
        gate_open(&parent.gate);
        gate_wait_entered(&cancelling.gate, 1);
        audit_is_not_alarmed(pool);
        gate_open(&cancelling.gate);
        join_thread(thread);
        audit_finds(pool, 0);
        must_equal(vigil_group_wait(&parent.group), -ECANCELED);
        pool_unwatch(pool);
        must_equal(vigil_pool_destroy(pool), 0);
    }
}

static void a_struct_without_its_size_is_refused(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    vigil_audit audit = {.size = 0};
    must_equal(vigil_pool_audit(pool, &audit), -EINVAL);
    pool_close(pool);
}

/* ---- on the way from one queue to another ---------------------------------------------------------------------- */

/* A cancel callback on a worker submits a task, and somebody audits before it has returned. */
static vigil_task cleans_up;
static int audit_in_cancel;

static void submit_and_audit(vigil_task *task)
{
    vigil_audit audit = {.size = sizeof audit};
    (void)task;
    vigil_task_init(&cleans_up, item_run, NULL);
    must_equal(vigil_pool_submit(vigil_pool_current(), &cleans_up, VIGIL_NORMAL), 0);
    audit_in_cancel = vigil_pool_audit(vigil_pool_current(), &audit);
}

static int cancel_a_group(vigil_task *task)
{
    vigil_task child;
    vigil_group group;
    (void)task;
    vigil_task_init(&child, item_run, submit_and_audit);
    must_equal(vigil_group_init(&group, vigil_pool_current(), 0), 0);
    must_equal(vigil_group_spawn(&group, &child), 0);
    must_equal(vigil_group_cancel(&group), 0);
    must_equal(vigil_group_wait(&group), -ECANCELED);
    return 0;
}

static void a_task_whose_cancel_callback_submits_is_not_called_lost(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    vigil_task task;
    vigil_task_init(&task, cancel_a_group, NULL);
    must_equal(vigil_pool_submit(pool, &task, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(audit_in_cancel, -EAGAIN);
    audit_finds(pool, 0);
    pool_close(pool);
}

/* Linked with --wrap. Where the queues of a worker that goes are in its hands, on their way to the others, somebody audits. */
static _Thread_local bool this_one_goes;
static int audit_on_the_way;
int __real_vg_injector_push(vg_injector *injector, vigil_task *newest, vigil_task *oldest, bool even_if_closed);
int __wrap_vg_injector_push(vg_injector *injector, vigil_task *newest, vigil_task *oldest, bool even_if_closed);

int __wrap_vg_injector_push(vg_injector *injector, vigil_task *newest, vigil_task *oldest, bool even_if_closed)
{
    if (this_one_goes) {
        vigil_audit audit = {.size = sizeof audit};
        audit_on_the_way = vigil_pool_audit(vigil_pool_current(), &audit);
        this_one_goes = false;
    }
    return __real_vg_injector_push(injector, newest, oldest, even_if_closed);
}

struct going {
    vigil_task first, second;
    struct gate gate;
};

static int first_run(vigil_task *task)
{
    struct going *going = container_of(task, struct going, first);
    gate_pass(&going->gate);
    this_one_goes = true;
    return 0;
}

static void what_a_worker_that_goes_hands_over_is_not_called_lost(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct going going = {0};
    vigil_task_init(&going.first, first_run, NULL);
    vigil_task_init(&going.second, item_run, NULL);
    must_equal(vigil_pool_submit_to(pool, 1, &going.first, VIGIL_NORMAL), 0);
    gate_wait_entered(&going.gate, 1);
    must_equal(vigil_pool_submit_to(pool, 1, &going.second, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_resize(pool, 1), 0);
    gate_open(&going.gate);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(audit_on_the_way, -EAGAIN);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(tasks_are_found_in_injectors_deques_mailboxes_and_the_timer),
        test(while_tasks_move_it_never_cries_wolf),
        test(amid_a_storm_of_submits_and_cancels_it_never_cries_wolf),
        test(a_job_inside_its_cancel_callback_is_not_called_lost),
        test(a_task_inside_its_cancel_callback_is_not_called_lost),
        test(a_task_whose_cancel_callback_submits_is_not_called_lost),
        test(what_a_worker_that_goes_hands_over_is_not_called_lost),
        test(a_struct_without_its_size_is_refused),
    };
    return run_all(tests);
}
