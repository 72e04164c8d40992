/* SPDX-License-Identifier: MIT */
/*
 * An audit beside one thread that does one thing, explored to the end, or beside two threads that do one thing each: whatever is
 * between a queue and a counter just then, and in whatever order it becomes visible, the audit settles on the truth or says that it
 * cannot tell yet.
 */
#include "protocol.h"

#include "pool/mail.h"
#include "pool/moving.h"
#include "pool/take.h"

#include <vigil/flow.h>

typedef struct act {
    vg_fence_mode fences;
    void (*before)(void);    /* by the body */
    void *(*beside)(void *); /* by the other thread */
    void *(*second)(void *); /* by one more; NULL: there is none */
} act;

static vigil_job job;

static void audit_beside(void)
{
    const act *a = vgc_arg();
    bare_pool_init(a->second != NULL ? 2 : 1, a->fences);
    vgc_assert(vg_handles_init(&pool->jobs, vg_job_size(), 4) == 0, "a table of jobs");
    if (a->before != NULL)
        a->before();
    pthread_t other = vgc_thread_start(a->beside, NULL);
    pthread_t second = {0};
    if (a->second != NULL)
        second = vgc_thread_start(a->second, NULL);
    vigil_audit audit = {.size = sizeof audit};
    const int error = vigil_pool_audit(pool, &audit);
    vgc_assert(error == 0 || error == -EAGAIN, "the audit finds nothing lost, or says that it cannot tell yet");
    vgc_thread_join(other); /* at rest the pool's own scenarios audit */
    if (a->second != NULL)
        vgc_thread_join(second);
}

static void *submit_one(void *arg)
{
    (void)arg;
    submit(0);
    return NULL;
}

static void *mail_one(void *arg)
{
    (void)arg;
    vgc_assert(vigil_pool_submit_to(pool, 0, &counted_make(0)->task, VIGIL_NORMAL) == 0, "the worker exists");
    return NULL;
}

static void mail_it(void)
{
    (void)mail_one(NULL);
}

static void submit_it(void)
{
    submit(0);
}

/* The worker's thread takes one task and runs it, without the loop around it. */
static void *take_one(void *arg)
{
    (void)arg;
    vg_worker *worker = &bare_workers[0];
    vg_current_worker = worker;
    worker->raise_top = &vg_raise_top;
    unsigned looked_at = 0;
    vigil_task *task = vg_take(worker, &looked_at);
    if (task != NULL) /* the audit may have the lists just now */
        vg_run(worker, task);
    return NULL;
}

/* A spawn, which the owner takes back: with light fences nothing but the audit's heavy one orders that. */
static vigil_group group;

static void spawn_it(void)
{
    vg_current_worker = &bare_workers[0]; /* the body stands in for the worker till its thread is there */
    vgc_assert(vigil_group_init(&group, pool, 0) == 0 && vigil_group_spawn(&group, &counted_make(0)->task) == 0,
               "a spawn is taken");
    vg_current_worker = NULL;
}

/* A worker discards a task whose cancel callback submits another one. Until that callback has returned, the first is in no queue and in
   no counter. */
static void submit_another(vigil_task *task)
{
    (void)task;
    submit(1);
}

static void spawn_it_and_cancel(void)
{
    static vigil_task discarded;
    vigil_task_init(&discarded, counted_run, submit_another);
    vg_current_worker = &bare_workers[0]; /* as in spawn_it */
    vgc_assert(vigil_group_init(&group, pool, 0) == 0 && vigil_group_spawn(&group, &discarded) == 0 &&
                   vigil_group_cancel(&group) == 0,
               "a spawn is taken");
    vg_current_worker = NULL;
}

/* A task joins, and another worker looks for work: the second half is taken back, or stolen, and becomes a task only then. */
static int half(void *arg)
{
    (void)arg;
    return 0;
}

static int join_halves(vigil_task *task)
{
    (void)task;
    return vigil_join(pool, half, NULL, half, NULL);
}

static void submit_join(void)
{
    static vigil_task joins;
    vigil_task_init(&joins, join_halves, NULL);
    vgc_assert(vigil_pool_submit(pool, &joins, VIGIL_NORMAL) == 0, "the task is accepted");
}

/* A task spawns, which makes the deque's array, and pops the spawn itself. */
static int spawn_and_wait(vigil_task *task)
{
    (void)task;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0 && vigil_group_spawn(&group, &counted_make(1)->task) == 0,
               "a spawn is taken");
    return vigil_group_wait(&group);
}

static void submit_spawner(void)
{
    static vigil_task spawns;
    vigil_task_init(&spawns, spawn_and_wait, NULL);
    vgc_assert(vigil_pool_submit(pool, &spawns, VIGIL_NORMAL) == 0, "the task is accepted");
}

static void take_once(vg_worker *worker)
{
    unsigned looked_at = 0;
    vg_worker_here(worker);
    vigil_task *task = vg_take(worker, &looked_at);
    if (task != NULL)
        vg_run(worker, task);
}

static void *take_first(void *arg)
{
    (void)arg;
    take_once(&bare_workers[0]);
    return NULL;
}

static void *take_second(void *arg)
{
    (void)arg;
    take_once(&bare_workers[1]);
    return NULL;
}

/* The other worker spawns: a task leaves the queues in one look, and another comes in the next. */
static void *spawn_one(void *arg)
{
    (void)arg;
    vg_current_worker = &bare_workers[1];
    vgc_assert(vigil_group_init(&group, pool, 0) == 0 && vigil_group_spawn(&group, &counted_make(1)->task) == 0,
               "a spawn is taken");
    return NULL;
}

/* Two workers retire, each with a task that it spawned. What they give away changes its queue and no counter. */
static vigil_group groups[2];

static void spawn_two(void)
{
    for (int i = 0; i < 2; i++) {
        vg_current_worker = &bare_workers[i]; /* as in spawn_it */
        vgc_assert(vigil_group_init(&groups[i], pool, 0) == 0 &&
                       vigil_group_spawn(&groups[i], &counted_make(i)->task) == 0,
                   "a spawn is taken");
    }
    vg_current_worker = NULL;
}

static void retire(unsigned index)
{
    vg_current_worker = &bare_workers[index];
    vg_give_away_own_work(&bare_workers[index]);
}

static void *retire_first(void *arg)
{
    (void)arg;
    retire(0);
    return NULL;
}

static void *retire_second(void *arg)
{
    (void)arg;
    retire(1);
    return NULL;
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void make_job(void)
{
    vgc_assert(vigil_job_call(pool, nothing, NULL, NULL, &job) == 0, "the job is accepted");
}

static void *cancel_it(void *arg)
{
    (void)arg;
    vgc_assert(vigil_job_cancel(pool, job) == 0, "nobody else has it");
    return NULL;
}

/* A job follows another one: it is in no queue until that has ended. */
static void *follow_one(void *arg)
{
    vigil_job next;
    (void)arg;
    vgc_assert(vigil_job_then_call(pool, job, nothing, NULL, NULL, &next) == 0, "the job is accepted");
    return NULL;
}

static void make_followed(void)
{
    make_job();
    (void)follow_one(NULL);
}

/* A delayed task comes, and goes to its queue when it is due. */
static void *delay_one(void *arg)
{
    (void)arg;
    vgc_assert(vigil_pool_submit_after(pool, &counted_make(0)->task, VIGIL_NORMAL, 1000) == 0, "the task is accepted");
    return NULL;
}

static void delay_it(void)
{
    (void)delay_one(NULL);
    vgc_quiesce(); /* the timer sleeps */
}

static void *let_time_pass(void *arg)
{
    (void)arg;
    vgc_clock_advance(1000);
    return NULL;
}

/* Who stops the pool throws mail away. The worker has no thread: nobody else takes it. */
static void mail_to_nobody(void)
{
    (void)mail_one(NULL);
    bare_workers[0].seat.life = VG_SEAT_EMPTY;
}

static void *discard_all(void *arg)
{
    (void)arg;
    vgc_assert(vigil_pool_close(pool, 0) == 0, "nothing is left to wait for");
    return NULL;
}

/* A task comes while another has the injector's lists. The worker leaves it to that one and parks: so that one must look when it
   has let the lists go. */
static void *submit_and_park(void *arg)
{
    const vg_wait wait = {.over = bare_never_over, .arg = NULL, .deadline_ns = VG_NO_DEADLINE};
    submit(0);
    (void)arg;
    vg_worker *worker = &bare_workers[0];
    vg_current_worker = worker;
    worker->raise_top = &vg_raise_top;
    vg_search_begin(pool);
    while (ran(0) == 0) {
        unsigned looked_at = 0;
        vigil_task *task = vg_take(worker, &looked_at);
        if (task != NULL)
            vg_run(worker, task);
        else
            (void)vg_park(worker, looked_at, &wait);
    }
    return NULL;
}

static void sweep_beside(void)
{
    const act *a = vgc_arg();
    bare_pool_init(1, a->fences);
    vgc_assert(vg_handles_init(&pool->jobs, vg_job_size(), 4) == 0, "a table of jobs");
    make_job();
    pthread_t other = vgc_thread_start(submit_and_park, NULL);
    (void)vigil_job_cancel(pool, job);
    vgc_thread_join(other);
}

#define BESIDE_IN(id, mode, before_, beside_, size, ...)                                                         \
    static const act act_##id = {.fences = (mode), .before = (before_), .beside = (beside_)};                    \
    VGC_REGISTER(id, "audit_" #id, audit_beside, "an audit never reports a loss that is none", .arg = &act_##id, \
                 .bound = (size), .opt.allow_leaks = true, .opt.allow_sleepers = true, ##__VA_ARGS__)
#define BESIDE(id, before_, beside_, size, ...)                               \
    BESIDE_IN(id, VG_FENCE_SYMMETRIC, before_, beside_, size, ##__VA_ARGS__); \
    BESIDE_IN(id##_m, VG_FENCE_MEMBARRIER, before_, beside_, size "; membarrier", .deep = true, ##__VA_ARGS__)

BESIDE(submit, NULL, submit_one, "1 submit");
BESIDE(mail, NULL, mail_one, "1 mail");
BESIDE(take, submit_it, take_one, "1 task is taken and run");
BESIDE(pop, spawn_it, take_one, "1 spawn is taken back and run");
BESIDE(cancel_submits, spawn_it_and_cancel, take_one, "1 task is discarded, and its cancel callback submits 1");
BESIDE(take_mail, mail_it, take_one, "1 mail is taken and run");
BESIDE(cancel, make_job, cancel_it, "1 job is cancelled");
BESIDE(follow, make_job, follow_one, "1 job follows another");
BESIDE(delay, NULL, delay_one, "1 delayed task");
BESIDE(due, delay_it, let_time_pass, "1 delayed task falls due");
#define FEW_PREEMPTIONS .opt.mode = VGC_PREEMPT, .opt.preemptions = 1
BESIDE_IN(park, VG_FENCE_SYMMETRIC, NULL, submit_and_park, "1 submit, 1 worker that leaves the task to the audit",
          FEW_PREEMPTIONS);
BESIDE_IN(follow_due, VG_FENCE_SYMMETRIC, make_followed, cancel_it,
          "1 job is cancelled, and releases the one that follows", FEW_PREEMPTIONS);
#define TWO_BESIDE(id, before_, beside_, second_, size)                                                      \
    static const act act_##id = {                                                                            \
        .fences = VG_FENCE_SYMMETRIC, .before = (before_), .beside = (beside_), .second = (second_)};        \
    VGC_REGISTER(id, "audit_" #id, audit_beside, "an audit whose two looks err alike does not believe them", \
                 .arg = &act_##id, .bound = (size), .opt.allow_leaks = true, .opt.allow_sleepers = true,     \
                 .opt.mode = VGC_PREEMPT, .opt.preemptions = 2)
TWO_BESIDE(take_spawn, submit_it, take_one, spawn_one, "1 task is taken and run, 1 spawned by another worker");
TWO_BESIDE(retire, spawn_two, retire_first, retire_second, "2 workers retire, each with 1 spawn");
#define FIRST_BESIDE(id, how, before_, size)                                                                           \
    static const act act_##id = {.fences = (how), .before = (before_), .beside = take_first, .second = take_second};   \
    VGC_REGISTER(id, "audit_" #id, audit_beside, "an audit beside the first use of a deque sees all of it or nothing", \
                 .arg = &act_##id, .bound = size ", 1 worker looks for work", .opt.allow_leaks = true,                 \
                 .opt.allow_sleepers = true, .opt.mode = VGC_PCT, .opt.runs = 1000)
FIRST_BESIDE(join, VG_FENCE_SYMMETRIC, submit_join, "1 task joins");
FIRST_BESIDE(join_m, VG_FENCE_MEMBARRIER, submit_join, "membarrier, 1 task joins");
FIRST_BESIDE(wait, VG_FENCE_SYMMETRIC, submit_spawner, "1 task spawns and waits");
FIRST_BESIDE(wait_m, VG_FENCE_MEMBARRIER, submit_spawner, "membarrier, 1 task spawns and waits");
static const act act_sweep = {.fences = VG_FENCE_SYMMETRIC};
VGC_REGISTER(sweep_park, "sweep_park", sweep_beside, "who sweeps husks out tells of the task that came meanwhile",
             .arg = &act_sweep, .bound = "1 submit, 1 worker that leaves the task to the sweep, 1 job is cancelled",
             .opt.allow_leaks = true, .opt.allow_sleepers = true, FEW_PREEMPTIONS);
BESIDE_IN(discard, VG_FENCE_SYMMETRIC, mail_to_nobody, discard_all, "1 mail is thrown away", .opt.mode = VGC_PCT,
          .opt.runs = 1000);
BESIDE_IN(discard_all, VG_FENCE_SYMMETRIC, mail_to_nobody, discard_all, "1 mail is thrown away", .deep = true);
