/* SPDX-License-Identifier: MIT */
/*
 * waiter.c - promises of jobs that have yet to end.
 *
 * The waiter's thread has a connection and a list of those it waits for. After each end, of any job, it asks in one
 * statement which of its jobs are gone from the live ones, and settles their promises. Adding one pokes it out of
 * the engine's wait. The count of ends and pokes is read before the question, so what happens after the question ends
 * the next sleep at once.
 *
 * One of three takes a pending one off the list, under the lock, and then owns it: the waiter, an abort of its token,
 * the end of the queue.
 */
#include "waiter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "fleet.h"
#include "futex.h"
#include "why.h"

#include <vigil/promise.h>

enum {
    RETRY_FIRST_MS = 50, /* while the engine is away */
    RETRY_MOST_MS = 2000,
};

struct pending {
    vigil_cancel_handler handler; /* first: the handler's pointer is ours */
    struct vg_jobs_waiter *waiter;
    struct pending *next, *previous; /* under the lock, while listed */
    bool listed;
    uint64_t id;
    vigil_loop *loop;
    vigil_resolver *resolver;
    vigil_cancel_token *token; /* may be NULL */
};

struct vg_jobs_waiter {
    vigil_jobs *jobs;
    pthread_t thread;
    pthread_mutex_t lock;
    struct pending *first;
    size_t count;
    struct vg_jobs_conn *conn; /* NULL: not connected; changed under the lock */
    _Atomic uint32_t word;     /* futex: counts reasons to look, for a waiter that is not in the engine's wait */
    _Atomic int stop;
};

static void unlist(struct pending *it)
{
    struct vg_jobs_waiter *waiter = it->waiter;
    if (it->previous != NULL)
        it->previous->next = it->next;
    else
        waiter->first = it->next;
    if (it->next != NULL)
        it->next->previous = it->previous;
    it->listed = false;
    waiter->count--;
}

/* Under the lock: an abort from here on waits for it, and then finds it listed. false: it is aborted already. */
static bool enlist(struct pending *it)
{
    struct vg_jobs_waiter *waiter = it->waiter;
    if (it->token != NULL && vigil_cancel_add(it->token, &it->handler) != 0)
        return false;
    it->next = waiter->first;
    it->previous = NULL;
    if (it->next != NULL)
        it->next->previous = it;
    waiter->first = it;
    it->listed = true;
    waiter->count++;
    return true;
}

/* Settle and free; the caller has taken it off the list. */
static void settle(struct pending *it, vigil_value value)
{
    int error = vigil_value_is_error(&value) ? vigil_resolver_reject(it->resolver, value)
                                             : vigil_resolver_resolve(it->resolver, value);
    if (error != 0)
        vigil_value_destroy(&value); /* the loop has ended */
    vigil_resolver_destroy(it->resolver);
    (void)vigil_loop_unref(it->loop);
    vigil_cancel_unref(it->token);
    free(it);
}

static void on_abort(vigil_cancel_handler *handler, int status)
{
    struct pending *it = (struct pending *)(void *)handler;
    struct vg_jobs_waiter *waiter = it->waiter;
    (void)pthread_mutex_lock(&waiter->lock);
    bool mine = it->listed;
    if (mine)
        unlist(it);
    (void)pthread_mutex_unlock(&waiter->lock);
    if (mine)
        settle(it, vigil_value_error(status));
}

/* ---- what a promise is fulfilled with ---------------------------------------------------------------------------- */

static char *put(char *to, const void *from, size_t length, const void **place)
{
    if (length > 0)
        memcpy(to, from, length);
    to[length] = '\0';
    *place = to;
    return to + length + 1;
}

/* A copy in one piece. */
static void copy_info(const vigil_jobs_info *info, void *arg)
{
    const char *texts[] = {info->kind, info->text, info->error, info->worker, info->key, info->tenant, info->verdict};
    size_t length = sizeof *info + info->payload_size + info->result_size + 2;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        length += strlen(texts[i]) + 1;
    vigil_jobs_info *copy = malloc(length);
    *(vigil_jobs_info **)arg = copy;
    if (copy == NULL)
        return;
    *copy = *info;
    const void *places[7];
    char *to = (char *)(copy + 1);
    to = put(to, info->payload, info->payload_size, &copy->payload);
    to = put(to, info->result, info->result_size, &copy->result);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        to = put(to, texts[i], strlen(texts[i]), &places[i]);
    copy->kind = places[0];
    copy->text = places[1];
    copy->error = places[2];
    copy->worker = places[3];
    copy->key = places[4];
    copy->tenant = places[5];
    copy->verdict = places[6];
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

/* Take those with this id off the list, one after the other. */
static struct pending *take_one(struct vg_jobs_waiter *waiter, uint64_t id)
{
    (void)pthread_mutex_lock(&waiter->lock);
    struct pending *it = waiter->first;
    while (it != NULL && it->id != id)
        it = it->next;
    if (it != NULL)
        unlist(it);
    (void)pthread_mutex_unlock(&waiter->lock);
    if (it != NULL && it->token != NULL)
        (void)vigil_cancel_remove(it->token, &it->handler); /* on_abort may still run, and finds it unlisted */
    return it;
}

static int settle_id(struct vg_jobs_waiter *waiter, uint64_t id)
{
    struct pending *it;
    while ((it = take_one(waiter, id)) != NULL) {
        vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
        vigil_jobs_info *info = NULL;
        filter.id = id;
        int seen = waiter->jobs->engine->look(waiter->conn, &filter, copy_info, &info);
        if (info != NULL) {
            info->id |= waiter->jobs->tag;
            info->batch |= info->batch != 0 ? waiter->jobs->tag : 0;
        }
        if (seen > 0 && info != NULL && info->state < VIGIL_JOBS_COMPLETED) { /* it was retried since */
            free(info);
            seen = -EAGAIN;
        }
        if (seen == -EAGAIN || seen == -ENOTCONN) { /* back on the list */
            (void)pthread_mutex_lock(&waiter->lock);
            bool aborted = !enlist(it);
            (void)pthread_mutex_unlock(&waiter->lock);
            if (aborted)
                settle(it, vigil_value_error(vigil_cancel_status(it->token)));
            return seen;
        }
        settle(it, seen > 0 && info != NULL ? vigil_value_pointer(info, free)
                                            : vigil_value_error(seen == 0  ? -ENOENT
                                                                : seen < 0 ? seen
                                                                           : -ENOMEM));
    }
    return 0;
}

/* Settle what has ended. */
static int look(struct vg_jobs_waiter *waiter)
{
    (void)pthread_mutex_lock(&waiter->lock);
    size_t count = 0;
    uint64_t *ids = malloc((waiter->count + 1) * sizeof *ids);
    for (struct pending *it = waiter->first; it != NULL && ids != NULL; it = it->next)
        ids[count++] = it->id;
    (void)pthread_mutex_unlock(&waiter->lock);
    bool *gone = calloc(count + 1, sizeof *gone);
    int error = ids == NULL || gone == NULL ? -ENOMEM : 0;
    if (error == 0 && count > 0)
        error = waiter->jobs->engine->gone(waiter->conn, ids, count, gone);
    for (size_t i = 0; i < count && error == 0; i++)
        if (gone[i]) {
            error = settle_id(waiter, ids[i]);
            error = error == -EAGAIN ? 0 : error;
        }
    free(ids);
    free(gone);
    return error;
}

static int reach_engine(struct vg_jobs_waiter *waiter)
{
    if (waiter->conn != NULL)
        return 0;
    struct vg_jobs_conn *conn;
    int error = waiter->jobs->engine->connect(waiter->jobs->site, &conn);
    if (error == 0) {
        (void)pthread_mutex_lock(&waiter->lock);
        waiter->conn = conn;
        (void)pthread_mutex_unlock(&waiter->lock);
    }
    return error;
}

static void *wait_for_ends(void *arg)
{
    struct vg_jobs_waiter *waiter = arg;
    const struct vg_jobs_engine *engine = waiter->jobs->engine;
    unsigned failures = 0;
    (void)pthread_setname_np(pthread_self(), "jobs-waiter");
    for (;;) {
        /* acquire: pairs with the release in poke(); read before stop and before the look at the list */
        uint32_t word = atomic_load_explicit(&waiter->word, memory_order_acquire);
        /* relaxed: the load of the word has acquired it */
        if (atomic_load_explicit(&waiter->stop, memory_order_relaxed) != 0)
            break;
        (void)pthread_mutex_lock(&waiter->lock);
        bool any = waiter->count > 0;
        (void)pthread_mutex_unlock(&waiter->lock);
        if (!any) {
            vg_jobs_futex_wait(&waiter->word, word, -1);
            continue;
        }
        int error = reach_engine(waiter);
        uint32_t ended = error == 0 ? engine->ended_count(waiter->conn) : 0;
        if (error == 0)
            error = look(waiter);
        failures = error != 0 ? failures + 1 : 0;
        if (error != 0) { /* the engine is away */
            vg_jobs_futex_wait(&waiter->word, word, vg_jobs_backoff_ms(RETRY_FIRST_MS, RETRY_MOST_MS, failures));
            continue;
        }
        /* Under the lock, as the poke of the end: that came before, and stop is seen, or its poke ends the sleep.
           relaxed: the lock orders it */
        (void)pthread_mutex_lock(&waiter->lock);
        any = waiter->count > 0 && atomic_load_explicit(&waiter->stop, memory_order_relaxed) == 0;
        (void)pthread_mutex_unlock(&waiter->lock);
        if (any)
            engine->ended_wait(waiter->conn, ended, -1);
    }
    (void)pthread_mutex_lock(&waiter->lock);
    struct vg_jobs_conn *conn = waiter->conn;
    waiter->conn = NULL; /* nobody pokes it any more */
    (void)pthread_mutex_unlock(&waiter->lock);
    if (conn != NULL)
        engine->disconnect(conn);
    return NULL;
}

/* Under the lock, so that the connection stays. */
static void poke(struct vg_jobs_waiter *waiter)
{
    /* release: pairs with the acquire in wait_for_ends */
    (void)atomic_fetch_add_explicit(&waiter->word, 1, memory_order_release);
    vg_jobs_futex_wake(&waiter->word);
    if (waiter->conn != NULL)
        waiter->jobs->engine->ended_poke(waiter->conn);
}

/* The waiter of the queue; NULL if it cannot be started. */
static struct vg_jobs_waiter *get(vigil_jobs *jobs)
{
    (void)pthread_mutex_lock(&jobs->client_lock);
    struct vg_jobs_waiter *it = jobs->waiter;
    if (it == NULL && (it = calloc(1, sizeof *it)) != NULL) {
        it->jobs = jobs;
        (void)pthread_mutex_init(&it->lock, NULL);
        if (pthread_create(&it->thread, NULL, wait_for_ends, it) == 0) {
            jobs->waiter = it;
        } else {
            (void)pthread_mutex_destroy(&it->lock);
            free(it);
            it = NULL;
        }
    }
    (void)pthread_mutex_unlock(&jobs->client_lock);
    return it;
}

void vg_jobs_waiter_stop(vigil_jobs *jobs)
{
    struct vg_jobs_waiter *it = jobs->waiter;
    if (it == NULL)
        return;
    /* relaxed: the poke publishes it */
    atomic_store_explicit(&it->stop, 1, memory_order_relaxed);
    (void)pthread_mutex_lock(&it->lock);
    poke(it);
    (void)pthread_mutex_unlock(&it->lock);
    (void)pthread_join(it->thread, NULL);
    while (it->first != NULL) {
        struct pending *left = take_one(it, it->first->id);
        if (left != NULL)
            settle(left, vigil_value_error(-ESHUTDOWN));
    }
    (void)pthread_mutex_destroy(&it->lock);
    free(it);
    jobs->waiter = NULL;
}

int vigil_promise_jobs(vigil_jobs *jobs, vigil_loop *loop, uint64_t id, vigil_cancel_token *token,
                       vigil_promise **promise)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (loop == NULL || id == 0 || promise == NULL)
        return vg_jobs_why(-EINVAL, loop == NULL ? "loop is NULL" : id == 0 ? "id is 0" : "promise is NULL");
    if (vigil_cancel_status(token) != 0)
        return vg_jobs_why(vigil_cancel_status(token), "the token is aborted");
    if (jobs->fleet != NULL)
        return vg_jobs_fleet_promise(jobs, loop, id, token, promise);
    struct vg_jobs_waiter *waiter = get(jobs);
    struct pending *it = waiter != NULL ? calloc(1, sizeof *it) : NULL;
    if (it == NULL)
        return waiter == NULL ? vg_jobs_why(-EAGAIN, "no thread") : -ENOMEM;
    *it = (struct pending){.handler = {.fn = on_abort}, .waiter = waiter, .id = id, .loop = loop};
    error = vigil_resolver_create(&it->resolver, promise, loop);
    if (error != 0) {
        free(it);
        return vg_jobs_why(error, "no promise: %s", vigil_why());
    }
    (void)vigil_loop_ref(loop);
    it->token = vigil_cancel_ref(token);
    (void)pthread_mutex_lock(&waiter->lock);
    bool aborted = !enlist(it);
    if (!aborted)
        poke(waiter);
    (void)pthread_mutex_unlock(&waiter->lock);
    if (aborted)
        settle(it, vigil_value_error(vigil_cancel_status(token)));
    return 0;
}
