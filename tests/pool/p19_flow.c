/* SPDX-License-Identifier: MIT */
/* P17, P19: jobs follow others; the first of several ends a wait; a section keeps strangers out; a task makes way. */
#include "child.h"

#include <vigil/flow.h>

struct step {
    struct gate *gate; /* pass it, if any */
    struct tally *order;
    uint32_t came; /* when it ran: its number, from 1 */
    int status;
    int ran_on;
};

static int step_run(void *arg)
{
    struct step *step = arg;
    if (step->gate != NULL)
        gate_pass(step->gate);
    step->ran_on = vigil_pool_current_worker();
    if (step->order != NULL) {
        tally_add(step->order, 1);
        step->came = tally_get(step->order);
    }
    return step->status;
}

static void step_cancel(void *arg)
{
    struct step *step = arg;
    step->came = 99;
}

static void job_of(vigil_pool *pool, struct step *step, vigil_job *job)
{
    must_equal(vigil_job_call(pool, step_run, step, NULL, job), 0);
}

static void job_done(vigil_pool *pool, vigil_job job, int expected)
{
    int status = 1;
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
    must_equal(status, expected);
    must_equal(vigil_job_unref(pool, job), 0);
}

/* ---- continuations ---- */

static void p19_a_job_follows_another(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct gate gate = {0};
    struct tally order = {0};
    struct step first = {.gate = &gate, .order = &order, .status = 3};
    struct step then = {.order = &order, .status = 4};
    struct step last = {.order = &order, .status = 5};
    vigil_job a, b, c;
    job_of(pool, &first, &a);
    must_equal(vigil_job_then_call(pool, a, step_run, &then, NULL, &b), 0);
    must_equal(vigil_job_then_call(pool, b, step_run, &last, NULL, &c), 0);
    gate_wait_entered(&gate, 1);
    must_equal(vigil_job_poll(pool, b, NULL), VIGIL_JOB_QUEUED);
    must_equal(vigil_pool_wait_idle(pool, 0), -ETIMEDOUT);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.delayed, 2);
    pool_audit_clean(pool);
    gate_open(&gate);
    job_done(pool, c, 5);
    job_done(pool, b, 4);
    must(first.came == 1 && then.came == 2 && last.came == 3);
    /* after one that has ended */
    must_equal(vigil_job_then_call(pool, a, step_run, &then, NULL, &b), 0);
    job_done(pool, b, 4);
    job_done(pool, a, 3);
    must_equal(vigil_job_then_call(pool, a, step_run, &then, NULL, &b), -ESTALE);
    pool_close(pool);
}

enum {
    SEVERAL = 5
};

static void p19_a_job_follows_all_of_several(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct tally order = {0};
    struct step parts[SEVERAL];
    struct step last = {.order = &order};
    vigil_job jobs[SEVERAL], all;
    for (int i = 0; i < SEVERAL; i++) {
        parts[i] = (struct step){.order = &order};
        job_of(pool, &parts[i], &jobs[i]);
    }
    must_equal(vigil_job_all_call(pool, jobs, SEVERAL, step_run, &last, NULL, &all), 0);
    job_done(pool, all, 0);
    must_equal(last.came, SEVERAL + 1);
    for (int i = 0; i < SEVERAL; i++)
        must_equal(vigil_job_unref(pool, jobs[i]), 0);
    must_equal(vigil_job_all_call(pool, NULL, 0, step_run, &last, NULL, &all), 0);
    job_done(pool, all, 0);
    pool_close(pool);
}

static void p19_a_job_follows_the_first_of_several(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct gate gate = {0};
    struct tally order = {0};
    struct step slow = {.gate = &gate, .order = &order}, fast = {.order = &order}, next = {.order = &order};
    vigil_job jobs[2], any;
    job_of(pool, &slow, &jobs[0]);
    gate_wait_entered(&gate, 1);
    job_of(pool, &fast, &jobs[1]);
    must_equal(vigil_job_any_call(pool, jobs, 2, step_run, &next, NULL, &any), 0);
    job_done(pool, any, 0); /* while slow waits */
    gate_open(&gate);
    job_done(pool, jobs[0], 0);
    job_done(pool, jobs[1], 0);
    must(fast.came == 1 && next.came == 2 && slow.came == 3);
    must_equal(vigil_job_any_call(pool, jobs, 0, step_run, &next, NULL, &any), -EINVAL);
    pool_close(pool);
}

static void wait_for_what_follows(vigil_pool *pool, void *arg)
{
    struct step *steps = arg;
    vigil_job a, b;
    job_of(pool, &steps[0], &a);
    must_equal(vigil_job_then_call(pool, a, step_run, &steps[1], NULL, &b), 0);
    job_done(pool, b, 2);
    job_done(pool, a, 1);
}

static void p19_a_task_waits_for_what_follows_on_one_worker(void **state)
{
    (void)state;
    for (int spares = 0; spares < 2; spares++) {
        vigil_pool *pool = spares ? pool_of(1) : pool_without_spares(1);
        struct step steps[2] = {{.status = 1}, {.status = 2}};
        run_inside(pool, wait_for_what_follows, steps);
        pool_close(pool);
    }
}

static void p19_what_follows_can_be_cancelled_before_and_after(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct gate gate = {0};
    struct step first = {.gate = &gate}, then = {0}, after = {.status = 6};
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.cancel = step_cancel;
    vigil_job a, b, c;
    job_of(pool, &first, &a);
    gate_wait_entered(&gate, 1);
    must_equal(vigil_job_then_call(pool, a, step_run, &then, &options, &b), 0);
    must_equal(vigil_job_then_call(pool, b, step_run, &after, NULL, &c), 0);
    must_equal(vigil_job_cancel(pool, b), 0);
    must_equal(then.came, 99);
    gate_open(&gate);
    job_done(pool, c, 6); /* a cancelled job has ended */
    job_done(pool, b, -ECANCELED);
    job_done(pool, a, 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_audit_clean(pool);
    options.delay_ns = 1;
    must_equal(vigil_job_then_call(pool, a, step_run, &then, &options, &b), -EINVAL);
    pool_close(pool);
}

static void p19_the_end_of_the_pool_ends_what_follows(void **state)
{
    (void)state;
    for (int now = 0; now < 2; now++) {
        vigil_pool *pool = pool_of(1);
        struct hold hold = {0};
        struct tally order = {0};
        struct step steps[3] = {{.order = &order}, {.order = &order}, {.order = &order}};
        vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
        options.cancel = step_cancel;
        vigil_job jobs[3];
        hold_workers(&hold, pool, 1);
        must_equal(vigil_job_call(pool, step_run, &steps[0], &options, &jobs[0]), 0);
        for (int i = 1; i < 3; i++)
            must_equal(vigil_job_then_call(pool, jobs[i - 1], step_run, &steps[i], &options, &jobs[i]), 0);
        must_equal(now ? vigil_pool_close(pool, 0) : vigil_pool_shutdown(pool, 0), -ETIMEDOUT);
        vigil_job refused;
        must_equal(vigil_job_then_call(pool, jobs[0], step_run, &steps[0], NULL, &refused), -ESHUTDOWN);
        hold_release(&hold);
        must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
        for (int i = 0; i < 3; i++)
            must_equal(steps[i].came, now ? 99U : (unsigned)i + 1);
        vigil_pool_stats stats = pool_stats(pool);
        must_add_up(&stats);
        must_equal(vigil_pool_destroy(pool), 0);
    }
}

/* ---- the first of several ---- */

struct several {
    struct gate gate;
    struct step slow, fast;
    struct child child;
    vigil_job jobs[2];
    vigil_group group;
};

static void several_wait(vigil_pool *pool, struct several *it, bool inside)
{
    size_t at = 99;
    it->slow.gate = &it->gate;
    job_of(pool, &it->slow, &it->jobs[0]);
    gate_wait_entered(&it->gate, 1);
    vigil_awaited awaited[3] = {{.job = it->jobs[0]}, {.group = &it->group}, {.job = {0}}};
    child_init(&it->child);
    it->child.gate = &it->gate;
    must_equal(vigil_group_init(&it->group, pool, 0), 0);
    if (!inside)
        must_equal(vigil_group_submit(&it->group, &it->child.task, VIGIL_LOW), 0);
    job_of(pool, &it->fast, &it->jobs[1]);
    awaited[2].job = it->jobs[1];
    must_equal(vigil_wait_any(pool, &awaited[0], 1, inside ? 0 : 1000000, &at), -ETIMEDOUT);
    must_equal(vigil_wait_any(pool, inside ? &awaited[1] : &awaited[0], inside ? 1 : 3, VIGIL_FOREVER, &at), 0);
    must_equal(at, inside ? 0 : 2); /* an empty group has ended */
    if (inside) {
        awaited[1].job = it->jobs[1];
        awaited[1].group = NULL;
        must_equal(vigil_wait_any(pool, awaited, 2, VIGIL_FOREVER, &at), 0);
        must_equal(at, 1);
        must_equal(it->fast.ran_on, vigil_pool_current_worker()); /* it runs what it waits for */
    }
    gate_open(&it->gate);
    must_equal(vigil_group_wait(&it->group), 0);
    job_done(pool, it->jobs[0], 0);
    job_done(pool, it->jobs[1], 0);
}

static void p19_the_first_that_ends_is_found_from_outside(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(3);
    struct several it = {0};
    several_wait(pool, &it, false);
    pool_close(pool);
}

static void several_inside(vigil_pool *pool, void *arg)
{
    several_wait(pool, arg, true);
}

static void p19_the_first_that_ends_is_run_inside_a_task(void **state)
{
    (void)state;
    vigil_pool *pool = pool_without_spares(2); /* one is in the slow job, and nobody else could run the fast one */
    struct several it = {0};
    run_inside(pool, several_inside, &it);
    pool_close(pool);
}

static void wait_for_groups(vigil_pool *pool, void *arg)
{
    struct child *children = arg;
    vigil_group groups[2];
    vigil_awaited awaited[2] = {{.group = &groups[0]}, {.group = &groups[1]}};
    size_t at = 99;
    for (int i = 0; i < 2; i++) {
        child_init(&children[i]);
        must_equal(vigil_group_init(&groups[i], pool, 0), 0);
    }
    must_equal(vigil_group_submit(&groups[0], &children[0].task, VIGIL_IDLE), 0);
    must_equal(vigil_group_spawn(&groups[1], &children[1].task), 0);
    must_equal(vigil_wait_any(pool, awaited, 2, VIGIL_FOREVER, &at), 0);
    must(at < 2 && children[at].runs == 1);
    for (int i = 0; i < 2; i++)
        must_equal(vigil_group_wait(&groups[i]), 0);
    must(children[0].runs == 1 && children[1].runs == 1);
}

static void p19_a_wait_for_any_group_runs_a_member(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 2; workers++) {
        vigil_pool *pool = pool_of(workers);
        for (uint64_t i = 0; i < scaled(2000, 50); i++) {
            struct child children[2];
            run_inside(pool, wait_for_groups, children);
        }
        pool_close(pool);
    }
}

/* Groups of one task each, made and waited for outside; every one of them ends, in any order. */
static void p19_groups_are_waited_for_until_none_is_left(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    for (uint64_t round = 0; round < scaled(1000, 30); round++) {
        struct child children[SEVERAL];
        vigil_group groups[SEVERAL];
        vigil_awaited awaited[SEVERAL];
        for (int i = 0; i < SEVERAL; i++) {
            child_init(&children[i]);
            must_equal(vigil_group_init(&groups[i], pool, 0), 0);
            must_equal(vigil_group_submit(&groups[i], &children[i].task, VIGIL_NORMAL), 0);
            awaited[i] = (vigil_awaited){.group = &groups[i]};
        }
        for (size_t left = SEVERAL; left > 0; left--) {
            size_t at = SEVERAL;
            must_equal(vigil_wait_any(pool, awaited, left, VIGIL_FOREVER, &at), 0);
            must_equal(vigil_group_wait_for(awaited[at].group, 0), 0);
            awaited[at] = awaited[left - 1];
        }
    }
    pool_close(pool);
}

static int wait_for_itself(void *arg)
{
    struct several *it = arg;
    size_t at = 0;
    gate_pass(&it->gate);
    vigil_awaited own = {.job = it->jobs[0]};
    return vigil_wait_any(vigil_pool_current(), &own, 1, VIGIL_FOREVER, &at);
}

static void p19_what_cannot_be_waited_for_is_refused(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    vigil_pool *other = pool_of(1);
    size_t at = 0;
    vigil_awaited stale = {.job = {12345}};
    vigil_group group;
    must_equal(vigil_group_init(&group, other, 0), 0);
    vigil_awaited foreign = {.group = &group};
    must_equal(vigil_wait_any(pool, &stale, 0, 0, &at), -EINVAL);
    must_equal(vigil_wait_any(pool, &stale, VIGIL_WAIT_ANY_MOST + 1, 0, &at), -EINVAL);
    must_equal(vigil_wait_any(pool, &stale, 1, 0, &at), -ESTALE);
    must_equal(vigil_wait_any(pool, &foreign, 1, 0, &at), -EINVAL);
    vigil_awaited twice[2] = {foreign, foreign};
    must_equal(vigil_wait_any(other, twice, 2, 0, &at), -EINVAL);
    must_equal(vigil_wait_any(other, &foreign, 1, 0, &at), 0);
    must_equal(vigil_wait_any(pool, NULL, 1, 0, &at), -EINVAL);
    struct several it = {0};
    must_equal(vigil_job_call(pool, wait_for_itself, &it, NULL, &it.jobs[0]), 0);
    gate_open(&it.gate);
    job_done(pool, it.jobs[0], -EDEADLK);
    pool_close(other);
    pool_close(pool);
}

/* ---- isolation and yield ---- */

struct strangers {
    struct child stranger;
    struct child own;
    vigil_pool *pool;
    unsigned after; /* runs of the stranger when the wait was over */
};

static int wait_with_help(void *arg)
{
    struct strangers *it = arg;
    vigil_group group;
    must_equal(vigil_group_init(&group, it->pool, VIGIL_GROUP_HELP_ANY), 0);
    must_equal(vigil_group_submit(&group, &it->own.task, VIGIL_LOW), 0);
    must_equal(vigil_task_yield(), 0); /* not here */
    must_equal(vigil_group_wait(&group), 0);
    it->after = it->stranger.runs;
    return 7;
}

static void isolated_wait(vigil_pool *pool, void *arg)
{
    struct strangers *it = arg;
    must_equal(vigil_pool_submit(pool, &it->stranger.task, VIGIL_CRITICAL), 0);
    must_equal(vigil_isolate(wait_with_help, it), 7);
    must_equal(it->after, 0);
    must_equal(vigil_task_yield(), 1); /* the section is over */
    must_equal(it->stranger.runs, 1);
    must_equal(vigil_task_yield(), 0);
}

static void p19_an_isolated_wait_runs_no_stranger(void **state)
{
    (void)state;
    vigil_pool *pool = pool_without_spares(1);
    struct strangers it = {.pool = pool};
    child_init(&it.stranger);
    child_init(&it.own);
    run_inside(pool, isolated_wait, &it);
    must_equal(vigil_isolate(NULL, NULL), -EINVAL);
    pool_close(pool);
}

static int raise_here(void *arg)
{
    (void)arg;
    vigil_raise(-EPROTO);
}

static int raise_isolated(vigil_task *task)
{
    (void)task;
    (void)vigil_isolate(raise_here, NULL);
    return 0;
}

static void raise_in_a_child(vigil_pool *pool, void *arg)
{
    struct strangers *it = arg;
    vigil_group group;
    vigil_task_init(&it->own.task, raise_isolated, NULL);
    must_equal(vigil_group_init(&group, pool, 0), 0);
    must_equal(vigil_group_spawn(&group, &it->own.task), 0);
    must_equal(vigil_group_wait(&group), -EPROTO);
    must_equal(vigil_pool_submit(pool, &it->stranger.task, VIGIL_NORMAL), 0);
    must_equal(vigil_task_yield(), 1); /* a raise has left the section */
}

static void ignore_failure(void *user, const vigil_failure *failure)
{
    (void)user;
    (void)failure;
}

static void p19_a_raise_leaves_the_isolated_section(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.on_failure = ignore_failure;
    vigil_pool *pool = pool_with(&options);
    struct strangers it = {.pool = pool};
    child_init(&it.stranger);
    child_init(&it.own);
    run_inside(pool, raise_in_a_child, &it);
    pool_close(pool);
}

static void yield_in_class(vigil_pool *pool, void *arg)
{
    struct child *children = arg;
    must_equal(vigil_pool_submit(pool, &children[0].task, VIGIL_LOW), 0);
    must_equal(vigil_task_yield(), 0); /* of a lower class */
    must_equal(vigil_pool_submit(pool, &children[1].task, VIGIL_NORMAL), 0);
    must_equal(vigil_task_yield(), 1);
    must(children[0].runs == 0 && children[1].runs == 1);
}

static void p19_a_yield_runs_one_task_of_no_lower_class(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct child children[2];
    child_init(&children[0]);
    child_init(&children[1]);
    must_equal(vigil_task_yield(), -EPERM);
    run_inside(pool, yield_in_class, children);
    pool_close(pool);
}

/* ---- a waiter of another pool ---- */

struct inheriting {
    vigil_pool *other;
    vigil_job job;
    struct tally order;
    struct step wanted, rival;
    struct hold hold;
};

static int critical_wait(void *arg)
{
    struct inheriting *it = arg;
    must_equal(vigil_job_wait(it->other, it->job, VIGIL_FOREVER, NULL), 0);
    return 0;
}

static bool is_queued(vigil_pool *pool, unsigned class_, uint64_t count)
{
    vigil_pool_stats stats = pool_stats(pool);
    return stats.by_class[class_].queued == count;
}

static void p19_a_queued_job_inherits_the_class_of_a_waiter_in_another_pool(void **state)
{
    (void)state;
    vigil_pool *mine = pool_of(1);
    struct inheriting it = {.other = pool_of(1)};
    it.wanted.order = it.rival.order = &it.order;
    vigil_job_options low = VIGIL_JOB_OPTIONS_INIT, critical = VIGIL_JOB_OPTIONS_INIT;
    low.priority = VIGIL_LOW;
    critical.priority = VIGIL_CRITICAL;
    vigil_job rival, waiter;
    hold_workers(&it.hold, it.other, 1);
    must_equal(vigil_job_call(it.other, step_run, &it.rival, NULL, &rival), 0); /* NORMAL, and first */
    must_equal(vigil_job_call(it.other, step_run, &it.wanted, &low, &it.job), 0);
    must_equal(vigil_job_call(mine, critical_wait, &it, &critical, &waiter), 0);
    vigil_audit audit = {.size = sizeof audit};
    /* It is counted before it is pushed: the audit knows when that is over. */
    while (!is_queued(it.other, VIGIL_CRITICAL, 1) || vigil_pool_audit(it.other, &audit) != 0)
        yield();
    hold_release(&it.hold);
    job_done(mine, waiter, 0);
    job_done(it.other, rival, 0);
    must(it.wanted.came == 1 && it.rival.came == 2);
    job_done(it.other, it.job, 0);
    must_equal(vigil_pool_wait_idle(it.other, VIGIL_FOREVER), 0);
    pool_audit_clean(it.other);
    pool_close(mine);
    pool_close(it.other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p19_a_job_follows_another),
        test(p19_a_job_follows_all_of_several),
        test(p19_a_job_follows_the_first_of_several),
        test(p19_a_task_waits_for_what_follows_on_one_worker),
        test(p19_what_follows_can_be_cancelled_before_and_after),
        test(p19_the_end_of_the_pool_ends_what_follows),
        test(p19_the_first_that_ends_is_found_from_outside),
        test(p19_the_first_that_ends_is_run_inside_a_task),
        test(p19_a_wait_for_any_group_runs_a_member),
        test(p19_groups_are_waited_for_until_none_is_left),
        test(p19_what_cannot_be_waited_for_is_refused),
        test(p19_an_isolated_wait_runs_no_stranger),
        test(p19_a_raise_leaves_the_isolated_section),
        test(p19_a_yield_runs_one_task_of_no_lower_class),
        test(p19_a_queued_job_inherits_the_class_of_a_waiter_in_another_pool),
    };
    return run_all(tests);
}
