/* SPDX-License-Identifier: MIT */
/* jobs.c - a queue from its opening to its end: engine, handlers, threads. */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "fleet.h"
#include "futex.h"
#include "heart.h"
#include "runner.h"
#include "spool.h"
#include "struct.h"
#include "utf8.h"
#include "waiter.h"
#include "why.h"

#define SECOND INT64_C(1000000000)

/* Present when libvigil-jobs-pq is linked statically. */
extern const struct vg_jobs_engine vigil_jobs_engine_pq __attribute__((weak));

uint64_t vg_jobs_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int vg_jobs_guard(vigil_jobs *jobs)
{
    if (jobs == NULL)
        return vg_jobs_why(-EINVAL, "jobs is NULL");
    if (!vg_jobs_own_is(&jobs->own))
        return vg_jobs_why(-ECHILD, "the queue was opened by the parent of this process; open it again");
    return 0;
}

static int read_options(vigil_jobs_options *to, const vigil_jobs_options *from)
{
    *to = (vigil_jobs_options)VIGIL_JOBS_OPTIONS_INIT;
    if (from != NULL) {
        if (from->size == 0 || from->size > 4096)
            return vg_jobs_why(-EINVAL, "options.size is not set; start from VIGIL_JOBS_OPTIONS_INIT");
        memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
        to->size = sizeof *to;
    }
    if (to->lease_ns < 0 || to->poll_ns < 0 || to->keep_completed_ns < 0 || to->keep_dead_ns < 0 || to->alarm_ns < 0 ||
        (to->full_wait_ns < 0 && to->full_wait_ns != VIGIL_FOREVER))
        return vg_jobs_why(-EINVAL, "a time in the options is negative");
    if (to->lease_ns != 0 && to->lease_ns < 3000000)
        return vg_jobs_why(-EINVAL, "options.lease_ns is less than 3 ms");
    to->lease_ns = to->lease_ns != 0 ? to->lease_ns : 30 * SECOND;
    to->alarm_ns = to->alarm_ns != 0 ? to->alarm_ns : 60 * SECOND;
    to->poll_ns = to->poll_ns != 0 ? to->poll_ns : 10 * SECOND;
    to->spool_bytes = to->spool_bytes != 0 ? to->spool_bytes : (size_t)64 << 20;
    to->max_payload = to->max_payload != 0 ? to->max_payload : 1 << 20;
    to->keep_completed_ns = to->keep_completed_ns != 0 ? to->keep_completed_ns : 86400 * SECOND;
    to->keep_dead_ns = to->keep_dead_ns != 0 ? to->keep_dead_ns : 30 * 86400 * SECOND;
    return 0;
}

static int choose_engine(vigil_jobs *jobs, const char *where)
{
    if (strncmp(where, "postgresql://", 13) != 0 && strncmp(where, "postgres://", 11) != 0) {
        const char *scheme = strstr(where, "://");
        if (scheme != NULL)
            return vg_jobs_why(-EPROTO, "there is no engine for '%.*s'; there are files, memory: and postgresql://",
                               (int)(scheme - where), where);
        jobs->engine = &vg_jobs_sqlite;
        return 0;
    }
    if (&vigil_jobs_engine_pq != NULL) {
        jobs->engine = &vigil_jobs_engine_pq;
        return 0;
    }
    jobs->library = dlopen(VG_JOBS_PQ_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (jobs->library != NULL)
        jobs->engine = dlsym(jobs->library, VG_JOBS_PQ_SYMBOL);
    if (jobs->engine == NULL)
        return vg_jobs_why(-ENOENT, "PostgreSQL needs %s, which cannot be loaded: %s", VG_JOBS_PQ_LIBRARY, dlerror());
    return 0;
}

static void free_jobs(vigil_jobs *jobs)
{
    vg_jobs_spool_close(jobs);
    if (jobs->fleet != NULL)
        vg_jobs_fleet_close(jobs);
    if (jobs->client != NULL)
        jobs->engine->disconnect(jobs->client);
    if (jobs->site != NULL)
        jobs->engine->site_close(jobs->site);
    if (jobs->library != NULL)
        (void)dlclose(jobs->library);
    for (unsigned i = 0; i < jobs->handler_count; i++)
        free(jobs->handlers[i].name);
    free(jobs->handlers);
    free(jobs->kinds);
    (void)pthread_mutex_destroy(&jobs->lock);
    (void)pthread_mutex_destroy(&jobs->client_lock);
    (void)pthread_mutex_destroy(&jobs->round_lock);
    vg_jobs_own_end(&jobs->own);
    free(jobs);
}

int vigil_jobs_open(vigil_jobs **jobs, const char *where, const vigil_jobs_options *options)
{
    if (jobs == NULL || where == NULL || where[0] == '\0')
        return vg_jobs_why(-EINVAL, jobs == NULL ? "jobs is NULL" : "where is empty");
    vigil_jobs *it = calloc(1, sizeof *it);
    if (it == NULL)
        return -ENOMEM;
    (void)pthread_mutex_init(&it->lock, NULL);
    (void)pthread_mutex_init(&it->client_lock, NULL);
    (void)pthread_mutex_init(&it->round_lock, NULL);
    atomic_store_explicit(&it->run_ns, 100000000,
                          memory_order_relaxed); /* until it is known, jobs are taken to be long */
    int error = vg_jobs_own_begin(&it->own);
    if (error == 0)
        error = read_options(&it->options, options);
    if (error == 0 && vg_jobs_is_fleet(where)) {
        error = it->options.spool != NULL ? vg_jobs_why(-EINVAL, "a spool goes with one server")
                                          : vg_jobs_fleet_open(it, where);
    } else {
        if (error == 0)
            error = choose_engine(it, where);
        if (error == 0)
            error = it->engine->site_open(&it->site, where, &it->options);
        if (error == 0)
            error = it->engine->connect(it->site, &it->client);
        if (error == 0)
            error = vg_jobs_check_open(it);
        if (error == 0 && it->options.spool != NULL)
            error = vg_jobs_spool_open(it);
    }
    if (error != 0)
        free_jobs(it);
    else
        *jobs = it;
    return error;
}

int vigil_jobs_handle(vigil_jobs *jobs, const char *kind, vigil_jobs_fn fn, void *arg, const vigil_jobs_kind *options)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (kind == NULL || kind[0] == '\0' || fn == NULL)
        return vg_jobs_why(-EINVAL, fn == NULL ? "fn is NULL" : "kind is empty");
    error = vg_jobs_utf8_check(kind, "kind");
    if (error != 0)
        return error;
    if (options != NULL && (options->size == 0 || options->size > 4096 || options->backoff_ns < 0 ||
                            options->backoff_max_ns < 0 || options->limit_ns < 0))
        return vg_jobs_why(-EINVAL, "options.size is not set, or a time in the options is negative");
    if (jobs->fleet != NULL)
        return vg_jobs_fleet_handle(jobs, kind, fn, arg, options);
    (void)pthread_mutex_lock(&jobs->client_lock);
    error = jobs->started ? vg_jobs_why(-EBUSY, "the queue has been started") : 0;
    for (unsigned i = 0; i < jobs->handler_count && error == 0; i++)
        if (strcmp(jobs->handlers[i].name, kind) == 0)
            error = vg_jobs_why(-EEXIST, "'%s' has a handler", kind);
    if (error == 0) {
        struct vg_jobs_handler *handlers = realloc(jobs->handlers, (jobs->handler_count + 1) * sizeof *handlers);
        if (handlers != NULL)
            jobs->handlers = handlers;
        struct vg_jobs_kind_want *kinds = realloc(jobs->kinds, (jobs->handler_count + 1) * sizeof *kinds);
        if (kinds != NULL)
            jobs->kinds = kinds;
        char *name = strdup(kind);
        if (handlers == NULL || kinds == NULL || name == NULL) {
            free(name);
            error = -ENOMEM;
        } else {
            struct vg_jobs_handler *it = &handlers[jobs->handler_count];
            *it = (struct vg_jobs_handler){.fn = fn, .arg = arg, .options = VIGIL_JOBS_KIND_INIT, .name = name};
            if (options != NULL)
                memcpy(&it->options, options, options->size < sizeof it->options ? options->size : sizeof it->options);
            if (it->options.max_errors == 0)
                it->options.max_errors = 10;
            if (it->options.backoff_ns == 0)
                it->options.backoff_ns = SECOND;
            if (it->options.backoff_max_ns == 0)
                it->options.backoff_max_ns = 3600 * SECOND;
            kinds[jobs->handler_count++] = (struct vg_jobs_kind_want){
                .name = name,
                .version = it->options.version,
                .cap = it->options.cap,
                .rate = it->options.rate,
                .fair = it->options.fair || it->options.tenant_cap != 0 || it->options.tenant_rate != 0,
                .tenant_cap = it->options.tenant_cap,
                .tenant_rate = it->options.tenant_rate};
        }
    }
    (void)pthread_mutex_unlock(&jobs->client_lock);
    return error;
}

static int start(vigil_jobs *jobs)
{
    jobs->pool = jobs->options.pool;
    int error = 0;
    if (jobs->pool == NULL) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.name = "jobs";
        options.workers = jobs->options.workers <= VIGIL_MAX_WORKERS ? jobs->options.workers : VIGIL_MAX_WORKERS;
        error = vigil_pool_create(&jobs->pool, &options);
        if (error != 0)
            return vg_jobs_why(error, "no pool: %s", vigil_why());
        jobs->own_pool = true;
    }
    jobs->width = jobs->options.workers != 0 ? jobs->options.workers : vigil_pool_workers(jobs->pool);
    error = vg_jobs_heart_start(jobs);
    if (error == 0) {
        error = vg_jobs_runner_start(jobs);
        if (error != 0)
            vg_jobs_heart_stop(jobs);
    }
    if (error != 0 && jobs->own_pool)
        (void)vigil_pool_destroy(jobs->pool);
    return error != 0 ? vg_jobs_why(-EAGAIN, "no thread") : 0;
}

int vigil_jobs_start(vigil_jobs *jobs)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (jobs->fleet != NULL)
        return vg_jobs_fleet_start(jobs);
    (void)pthread_mutex_lock(&jobs->client_lock);
    if (jobs->started)
        error = atomic_load_explicit(&jobs->stopping, memory_order_relaxed) != 0 ? -ESHUTDOWN : -EALREADY;
    else
        error = start(jobs);
    jobs->started = jobs->started || error == 0;
    (void)pthread_mutex_unlock(&jobs->client_lock);
    return error;
}

int vigil_jobs_shutdown(vigil_jobs *jobs, int64_t timeout_ns)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (jobs->fleet != NULL)
        return vg_jobs_fleet_shutdown(jobs, timeout_ns);
    (void)pthread_mutex_lock(&jobs->client_lock);
    bool started = jobs->started;
    (void)pthread_mutex_unlock(&jobs->client_lock);
    return started ? vg_jobs_runner_stop(jobs, timeout_ns) : 0;
}

void vigil_jobs_close(vigil_jobs *jobs)
{
    if (jobs == NULL)
        return;
    if (!vg_jobs_own_is(&jobs->own)) /* the threads, locks and connections are the parent's */
        return;
    vg_jobs_waiter_stop(jobs);
    if (jobs->started) {
        (void)vg_jobs_runner_stop(jobs, 0);
        vg_jobs_runner_join(jobs);
        vg_jobs_heart_stop(jobs);
        if (jobs->own_pool)
            (void)vigil_pool_destroy(jobs->pool);
        /* acquire: pairs with the release in vg_jobs_run_push */
        while (atomic_load_explicit(&jobs->pushing, memory_order_acquire) != 0)
            (void)sched_yield();
    }
    free_jobs(jobs);
}

int vigil_jobs_stats_get(vigil_jobs *jobs, vigil_jobs_stats *stats)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (stats == NULL || stats->size != sizeof *stats)
        return vg_jobs_why(-EINVAL, "stats is NULL, or does not start from VIGIL_JOBS_STATS_INIT");
    if (jobs->fleet != NULL)
        return vg_jobs_fleet_stats(jobs, stats);
#define READ(field) stats->field = atomic_load_explicit(&jobs->field, memory_order_relaxed)
    READ(claimed);
    READ(completed);
    READ(failed);
    READ(dead);
    READ(cancelled);
    READ(given_back);
    READ(refused);
    READ(rescued);
    READ(exchanges);
    READ(beats);
    READ(outages);
    READ(pinned_ms);
    READ(bad_rows);
    READ(spooled);
    READ(replayed);
#undef READ
    stats->in_flight = atomic_load_explicit(&jobs->flying_count, memory_order_relaxed);
    return 0;
}
