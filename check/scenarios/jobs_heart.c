/* SPDX-License-Identifier: MIT */
/*
 * The heart of a queue of jobs: the thread that sleeps while nothing is in flight, and otherwise until the next beat or
 * limit. Property: a run that is put in flight, a limit that begins and a question are seen without the clock, and the end
 * of the heart is never slept over. The clock stands still, so a beat comes only when it is asked for.
 */
#include <vigil_check.h>

#include <errno.h>
#include <stdlib.h>

#include "../../jobs/heart.h"
#include "../../jobs/token.h"
#include "../../jobs/verdict.h"

static vigil_jobs jobs;
static struct vg_jobs_run run;
static int beats; /* plain: the heart's, and of those who are ordered behind it */

/* ---- what stands around it ---- */

uint64_t vg_jobs_now_ms(void)
{
    return 1000;
}

char *vg_jobs_verdict(int thread, uint64_t began_ms, uint64_t now_ms)
{
    (void)thread, (void)began_ms, (void)now_ms;
    return NULL;
}

/* A source is its token. The body frees what was made. */
struct vigil_cancel_token {
    int made; /* plain: whoever finds the source sees it */
    _Atomic int status;
};

int vigil_cancel_create(vigil_cancel_source **source)
{
    vigil_cancel_token *token = calloc(1, sizeof *token);
    token->made = 1;
    *source = (vigil_cancel_source *)(void *)token;
    return 0;
}

void vigil_cancel_destroy(vigil_cancel_source *source)
{
    free(source);
}

vigil_cancel_token *vigil_cancel_token_of(vigil_cancel_source *source)
{
    return (vigil_cancel_token *)(void *)source;
}

vigil_cancel_token *vigil_cancel_ref(vigil_cancel_token *token)
{
    return token;
}

void vigil_cancel_unref(vigil_cancel_token *token)
{
    (void)token;
}

int vigil_cancel_abort(vigil_cancel_source *source, int status, const char *text)
{
    vigil_cancel_token *token = vigil_cancel_token_of(source);
    (void)text;
    vgc_assert(token->made == 1, "the source is there whole");
    atomic_store_explicit(&token->status, status, memory_order_relaxed);
    return 0;
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

static int extend(struct vg_jobs_conn *conn, struct vg_jobs_lease *leases, size_t count, int64_t lease_ms)
{
    (void)conn, (void)leases, (void)lease_ms;
    beats += (int)count;
    return 0;
}

static const struct vg_jobs_engine engine = {.connect = connect_nowhere, .disconnect = disconnect, .extend = extend};

static void begin(void)
{
    jobs.engine = &engine;
    jobs.site = (struct vg_jobs_site *)(void *)&jobs;
    jobs.options.lease_ns = 30000000000;
    (void)pthread_mutex_init(&jobs.lock, NULL);
    vgc_assert(vg_jobs_heart_start(&jobs) == 0, "the heart starts");
}

/* As a worker does when a run with a limit starts; this one is over already. */
static void start_limited(void)
{
    (void)pthread_mutex_lock(&jobs.lock);
    run.started_ms = 1;
    (void)pthread_mutex_unlock(&jobs.lock);
    vg_jobs_heart_ring(&jobs);
}

static void *stop_run(void *arg)
{
    (void)arg;
    vg_jobs_run_abort(&run, -ESHUTDOWN, "");
    return NULL;
}

static void *fly_and_ask(void *arg)
{
    (void)arg;
    vg_jobs_heart_watch(&jobs, &run);
    vg_jobs_heart_ask(&jobs);
    return NULL;
}

/* ---- at rest ---- */

VGC_SCENARIO(heart_ask, "a question is answered with a beat at once", .bound = "1 run, 1 question")
{
    begin();
    (void)fly_and_ask(NULL);
    vgc_quiesce();
    vgc_assert(beats == 1, "it has beaten");
    vg_jobs_heart_stop(&jobs);
}

VGC_SCENARIO(heart_first_run, "the first run in flight wakes the heart", .bound = "1 run whose limit is over")
{
    begin();
    run.limit_ms = 1;
    run.started_ms = 1;
    vg_jobs_heart_watch(&jobs, &run);
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&run.aborted, memory_order_relaxed) == -ETIMEDOUT, "the heart has seen it");
    vg_jobs_heart_stop(&jobs);
}

VGC_SCENARIO(heart_limit, "a limit that begins is seen at once", .bound = "1 run, 1 limit")
{
    begin();
    run.limit_ms = 1;
    vg_jobs_heart_watch(&jobs, &run);
    start_limited();
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&run.aborted, memory_order_relaxed) == -ETIMEDOUT, "the heart has seen it");
    vg_jobs_heart_stop(&jobs);
}

VGC_SCENARIO(heart_two_ask, "two questions are answered, by one beat or two", .bound = "2 threads, 2 questions")
{
    begin();
    pthread_t other = vgc_thread_start(fly_and_ask, NULL);
    vg_jobs_heart_ask(&jobs);
    vgc_quiesce();
    vgc_assert(beats >= 1, "it has beaten");
    vgc_thread_join(other);
    vg_jobs_heart_stop(&jobs);
}

/* ---- the token ---- */

static vigil_cancel_token *tokens[2];

static void *ask_for_token(void *arg)
{
    tokens[(intptr_t)arg] = vigil_jobs_token(&run.seen);
    return NULL;
}

VGC_SCENARIO(token_limit, "a run that is to stop has an aborted token, whenever that was made",
             .bound = "the heart, 1 handler")
{
    begin();
    run.limit_ms = 1;
    run.started_ms = 1;
    vg_jobs_heart_watch(&jobs, &run);
    (void)ask_for_token((void *)0);
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&tokens[0]->status, memory_order_relaxed) == -ETIMEDOUT, "it is aborted");
    vg_jobs_heart_stop(&jobs);
    free(tokens[0]);
}

VGC_SCENARIO(token_stop_two, "the same with two threads that ask for it", .bound = "1 stops, 2 ask")
{
    pthread_t other = vgc_thread_start(ask_for_token, (void *)1), stops = vgc_thread_start(stop_run, NULL);
    (void)ask_for_token((void *)0);
    vgc_assert(tokens[0]->made == 1, "the source is there whole");
    vgc_thread_join(other);
    vgc_thread_join(stops);
    vgc_assert(tokens[0] == tokens[1], "there is one");
    vgc_assert(atomic_load_explicit(&tokens[0]->status, memory_order_relaxed) == -ESHUTDOWN, "it is aborted");
    free(tokens[0]);
}

/* ---- racing with the end ---- */

VGC_SCENARIO(heart_end_ask, "the end is not slept over, whatever comes with it", .bound = "1 run, 1 question, the end")
{
    begin();
    pthread_t other = vgc_thread_start(fly_and_ask, NULL);
    vg_jobs_heart_stop(&jobs);
    vgc_thread_join(other);
}

VGC_SCENARIO(heart_end_idle, "an idle heart ends", .bound = "the end", .opt.spurious = 1)
{
    begin();
    vg_jobs_heart_stop(&jobs);
}
