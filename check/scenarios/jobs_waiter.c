/* SPDX-License-Identifier: MIT */
/*
 * The thread that settles promises of jobs. It sleeps on its own word while nothing is pending, and in the engine otherwise.
 * Property: whoever asks about a job is told of its end, whichever comes first; at the end of the queue each promise is
 * settled exactly once. The engine here is a set of jobs, and a count of ends that is slept on as the one beside an SQLite
 * file is.
 */
#include <vigil_check.h>

#include <errno.h>
#include <stdlib.h>

#include "../../jobs/backoff.h"
#include "../../jobs/fleet.h"
#include "../../jobs/futex.h"
#include "../../jobs/waiter.h"
#include "../../jobs/why.h"

enum {
    JOBS = 2
};

static vigil_jobs jobs;
static _Atomic int ended_jobs[JOBS + 1];
static _Atomic uint32_t ends;
static int resolved[JOBS + 1], rejected[JOBS + 1]; /* plain: settling and asking are ordered */

/* ---- what stands around it ---- */

/* A resolver is the number of its job. */
struct vigil_resolver {
    int job;
};
static int asked; /* the job of the next resolver */

int vigil_resolver_create(vigil_resolver **resolver, vigil_promise **promise, vigil_loop *loop)
{
    (void)loop;
    *promise = NULL;
    *resolver = malloc(sizeof **resolver);
    (*resolver)->job = asked;
    return 0;
}

int vigil_resolver_resolve(vigil_resolver *resolver, vigil_value value)
{
    resolved[resolver->job]++;
    free(value.pointer);
    return 0;
}

int vigil_resolver_reject(vigil_resolver *resolver, vigil_value reason)
{
    (void)reason;
    rejected[resolver->job]++;
    return 0;
}

void vigil_resolver_destroy(vigil_resolver *resolver)
{
    free(resolver);
}

void vigil_value_destroy(vigil_value *value)
{
    (void)value;
}

int vigil_loop_ref(vigil_loop *loop)
{
    (void)loop;
    return 0;
}

int vigil_loop_unref(vigil_loop *loop)
{
    (void)loop;
    return 0;
}

vigil_cancel_token *vigil_cancel_ref(vigil_cancel_token *token)
{
    return token;
}

void vigil_cancel_unref(vigil_cancel_token *token)
{
    (void)token;
}

int vigil_cancel_status(const vigil_cancel_token *token)
{
    (void)token;
    return 0;
}

int vigil_cancel_add(vigil_cancel_token *token, vigil_cancel_handler *handler)
{
    (void)token, (void)handler;
    return 0;
}

int vigil_cancel_remove(vigil_cancel_token *token, vigil_cancel_handler *handler)
{
    (void)token, (void)handler;
    return 0;
}

const char *vigil_why(void)
{
    return "";
}

int vg_jobs_guard(vigil_jobs *queue)
{
    (void)queue;
    return 0;
}

int vg_jobs_why(int error, const char *format, ...)
{
    (void)format;
    return error;
}

int64_t vg_jobs_backoff_ms(int64_t first_ms, int64_t most_ms, unsigned failures)
{
    (void)most_ms, (void)failures;
    return first_ms;
}

int vg_jobs_fleet_promise(vigil_jobs *queue, vigil_loop *loop, uint64_t id, vigil_cancel_token *token,
                          vigil_promise **promise)
{
    (void)queue, (void)loop, (void)id, (void)token, (void)promise;
    return -ENOTSUP;
}

static int connect_nowhere(struct vg_jobs_site *site, struct vg_jobs_conn **conn)
{
    *conn = (struct vg_jobs_conn *)(void *)site;
    return 0;
}

static void disconnect(struct vg_jobs_conn *conn)
{
    (void)conn;
}

static uint32_t ended_count(struct vg_jobs_conn *conn)
{
    (void)conn;
    return atomic_load_explicit(&ends, memory_order_acquire);
}

static void ended_wait(struct vg_jobs_conn *conn, uint32_t seen, int64_t timeout_ms)
{
    (void)conn;
    vg_jobs_futex_wait(&ends, seen, timeout_ms);
}

static void ended_add(void)
{
    (void)atomic_fetch_add_explicit(&ends, 1, memory_order_release);
    vg_jobs_futex_wake(&ends);
}

static void ended_poke(struct vg_jobs_conn *conn)
{
    (void)conn;
    ended_add();
}

static int gone(struct vg_jobs_conn *conn, const uint64_t *ids, size_t count, bool *are_gone)
{
    (void)conn;
    for (size_t i = 0; i < count; i++)
        are_gone[i] = atomic_load_explicit(&ended_jobs[ids[i]], memory_order_relaxed) != 0;
    return 0;
}

static int look(struct vg_jobs_conn *conn, const vigil_jobs_filter *filter, vigil_jobs_see_fn see, void *arg)
{
    (void)conn;
    vigil_jobs_info info = {.size = sizeof info,
                            .id = filter->id,
                            .state = VIGIL_JOBS_COMPLETED,
                            .kind = "",
                            .text = "",
                            .error = "",
                            .worker = "",
                            .key = "",
                            .tenant = "",
                            .verdict = ""};
    see(&info, arg);
    return 1;
}

static const struct vg_jobs_engine engine = {.connect = connect_nowhere,
                                             .disconnect = disconnect,
                                             .ended_count = ended_count,
                                             .ended_wait = ended_wait,
                                             .ended_poke = ended_poke,
                                             .gone = gone,
                                             .look = look};

static void begin(void)
{
    jobs.engine = &engine;
    jobs.site = (struct vg_jobs_site *)(void *)&jobs;
    (void)pthread_mutex_init(&jobs.client_lock, NULL);
}

static void ask(int job)
{
    vigil_promise *promise;
    asked = job;
    vgc_assert(vigil_promise_jobs(&jobs, (vigil_loop *)(void *)&jobs, (uint64_t)job, NULL, &promise) == 0,
               "it is asked for");
}

static void end_job(int job)
{
    atomic_store_explicit(&ended_jobs[job], 1, memory_order_relaxed);
    ended_add();
}

static void *end_first(void *arg)
{
    (void)arg;
    end_job(1);
    return NULL;
}

/* ---- at rest ---- */

VGC_SCENARIO(waiter_end, "the end of a job is told, whether it comes before the question or behind it",
             .bound = "1 job, 1 promise")
{
    begin();
    pthread_t other = vgc_thread_start(end_first, NULL);
    ask(1);
    vgc_quiesce();
    vgc_assert(resolved[1] == 1, "the promise is settled");
    vgc_thread_join(other);
    vg_jobs_waiter_stop(&jobs);
    vgc_assert(rejected[1] == 0, "once");
}

VGC_SCENARIO(waiter_second, "a second promise is looked at while the waiter sleeps in the engine",
             .bound = "2 promises, 1 of a job that has ended")
{
    begin();
    atomic_store_explicit(&ended_jobs[2], 1, memory_order_relaxed);
    ask(1);
    ask(2);
    vgc_quiesce();
    vgc_assert(resolved[2] == 1 && resolved[1] == 0, "the one that can be is settled");
    vg_jobs_waiter_stop(&jobs);
    vgc_assert(rejected[1] == 1 && rejected[2] == 0, "and the other one at the end");
}

VGC_SCENARIO(waiter_again, "a promise after all others were settled wakes the waiter",
             .bound = "2 promises, one after the other")
{
    begin();
    atomic_store_explicit(&ended_jobs[1], 1, memory_order_relaxed);
    atomic_store_explicit(&ended_jobs[2], 1, memory_order_relaxed);
    ask(1);
    vgc_quiesce();
    vgc_assert(resolved[1] == 1, "the first is settled");
    ask(2);
    vgc_quiesce();
    vgc_assert(resolved[2] == 1, "the second is settled");
    vg_jobs_waiter_stop(&jobs);
}

/* ---- racing with the end ---- */

VGC_SCENARIO(waiter_stop, "at the end of the queue a promise is settled once, and the thread ends",
             .bound = "1 job, 1 promise, the end")
{
    begin();
    pthread_t other = vgc_thread_start(end_first, NULL);
    ask(1);
    vg_jobs_waiter_stop(&jobs);
    vgc_thread_join(other);
    vgc_assert(resolved[1] + rejected[1] == 1, "settled once");
}

VGC_SCENARIO(waiter_stop_second, "the same with two promises", .bound = "2 promises, the end", .opt.spurious = 1)
{
    begin();
    atomic_store_explicit(&ended_jobs[2], 1, memory_order_relaxed);
    ask(1);
    ask(2);
    vg_jobs_waiter_stop(&jobs);
    vgc_assert(resolved[1] + rejected[1] == 1 && resolved[2] + rejected[2] == 1, "each is settled once");
}
