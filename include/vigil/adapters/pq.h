/* SPDX-License-Identifier: MIT */
/*
 * vigil/adapters/pq.h - a connection of libpq on a loop.
 *
 *     vigil_pq *pq;
 *     vigil_pq_open(&pq, loop, "host=/run/postgresql", 5 * INT64_C(1000000000), on_ready, arg);
 *     ... in on_ready, with status 0:
 *     PQsendQuery(vigil_pq_conn(pq), "select 1");
 *     vigil_pq_results(pq, VIGIL_FOREVER, on_result, arg);
 *
 * Queries are sent with libpq's own calls (PQsendQuery, PQsendQueryParams, pipelines);
 * vigil_pq_results sends what libpq has buffered and gives the results as they come. Callbacks run
 * on the loop, never inside the call that asked for them. They may send the next query and close
 * the connection; they must not leave by vigil_raise. Every call is the owner's (vigil/loop.h), and
 * none blocks, with two exceptions of libpq itself: a host name that has to be looked up (give
 * hostaddr, or see vigil/dns.h), and PQcancel. The connection keeps the loop alive while something
 * is waited for. Close it before the loop is destroyed.
 *
 * The whole adapter is in this header; link with libpq.
 */
#ifndef VIGIL_ADAPTERS_PQ_H
#define VIGIL_ADAPTERS_PQ_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <vigil/base.h>
#include <vigil/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_pq vigil_pq;

/* status: 0 connected; -ETIMEDOUT; -ECONNREFUSED the server or the network said no, and
   PQerrorMessage says why. After a failure only vigil_pq_close is left. */
typedef void (*vigil_pq_ready_fn)(vigil_pq *pq, int status, void *arg);

/* result: one result, which the callee clears. NULL: the query is over (status 0), or it did not
   end in time (-ETIMEDOUT): it still runs, so close the connection or wait again. A broken connection
   gives a result with its error, as libpq has it, and then NULL. */
typedef void (*vigil_pq_result_fn)(vigil_pq *pq, PGresult *result, int status, void *arg);

/* A notification, which the callee frees with PQfreemem. NULL: the connection is lost. */
typedef void (*vigil_pq_notify_fn)(vigil_pq *pq, PGnotify *notify, void *arg);

struct vigil_pq {
    vigil_loop *loop;
    PGconn *conn;
    vigil_watch watch; /* id 0: none */
    int fd;
    unsigned wanted;
    vigil_timer timer; /* id 0: none */
    vigil_post turn;   /* what has arrived before somebody asked */
    vigil_pq_ready_fn on_ready;
    vigil_pq_result_fn on_result;
    vigil_pq_notify_fn on_notify;
    void *ready_arg, *result_arg, *notify_arg;
    bool queued;  /* turn */
    bool keeps;   /* the loop is kept alive */
    bool flushed; /* libpq has nothing to send */
    bool busy;    /* a callback may close it */
    bool closed;
    bool lost; /* the server has gone */
};

static inline void vg_pq_run(vigil_pq *pq);

/* ---- the loop -------------------------------------------------------------------------------- */

static inline void vg_pq_keep(vigil_pq *pq)
{
    const bool keeps =
        !pq->closed && (pq->on_ready != NULL || pq->on_result != NULL || pq->on_notify != NULL);
    if (keeps == pq->keeps)
        return;
    pq->keeps = keeps;
    (void)(keeps ? vigil_loop_ref(pq->loop) : vigil_loop_unref(pq->loop));
}

static inline void vg_pq_stop_timer(vigil_pq *pq)
{
    if (pq->timer.id != 0)
        (void)vigil_timer_cancel(pq->loop, pq->timer);
    pq->timer.id = 0;
}

static inline void vg_pq_unwatch(vigil_pq *pq)
{
    if (pq->watch.id != 0)
        (void)vigil_watch_remove(pq->loop, pq->watch);
    pq->watch.id = 0;
}

/* The memory goes when neither a callback nor the turn needs it. */
static inline void vg_pq_leave(vigil_pq *pq)
{
    pq->busy = false;
    if (pq->closed && !pq->queued)
        free(pq);
}

static inline void vg_pq_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events,
                               void *arg)
{
    vigil_pq *pq = (vigil_pq *)arg;
    (void)loop;
    (void)watch;
    (void)fd;
    if ((events & VIGIL_FD_GONE) != 0)
        pq->watch.id = 0;
    vg_pq_run(pq);
}

/* libpq changes its socket between attempts, and the new one may have the old number. */
static inline int vg_pq_watch(vigil_pq *pq, unsigned wanted, bool anew)
{
    const int fd = PQsocket(pq->conn);
    if (fd < 0)
        return -EBADF;
    if (anew || fd != pq->fd)
        vg_pq_unwatch(pq);
    if (pq->watch.id != 0 && wanted == pq->wanted)
        return 0;
    pq->fd = fd;
    pq->wanted = wanted;
    if (pq->watch.id != 0)
        return vigil_watch_modify(pq->loop, pq->watch, wanted);
    return vigil_watch_add(pq->loop, fd, wanted, VIGIL_WATCH_UNREF, vg_pq_event, NULL, pq,
                           &pq->watch);
}

static inline void vg_pq_queue(vigil_pq *pq)
{
    if (!pq->queued && vigil_loop_tick(pq->loop, &pq->turn) == 0)
        pq->queued = true;
}

static inline void vg_pq_turn(vigil_post *post)
{
    vigil_pq *pq = (vigil_pq *)(void *)((char *)post - offsetof(vigil_pq, turn));
    pq->queued = false;
    if (pq->closed)
        vg_pq_leave(pq);
    else
        vg_pq_run(pq);
}

/* ---- connecting ------------------------------------------------------------------------------ */

static inline void vg_pq_connected(vigil_pq *pq, int status)
{
    vigil_pq_ready_fn fn = pq->on_ready;
    pq->on_ready = NULL;
    vg_pq_stop_timer(pq);
    if (status != 0) {
        pq->lost = true;
        vg_pq_unwatch(pq);
    }
    vg_pq_keep(pq);
    fn(pq, status, pq->ready_arg);
}

static inline void vg_pq_connect(vigil_pq *pq)
{
    int error = 0;
    switch (PQconnectPoll(pq->conn)) {
    case PGRES_POLLING_OK:
        error = PQsetnonblocking(pq->conn, 1) == 0 ? vg_pq_watch(pq, VIGIL_FD_READ, true) : -ENOMEM;
        pq->flushed = true;
        vg_pq_connected(pq, error);
        return;
    case PGRES_POLLING_READING:
        error = vg_pq_watch(pq, VIGIL_FD_READ, true);
        break;
    case PGRES_POLLING_WRITING:
        error = vg_pq_watch(pq, VIGIL_FD_WRITE, true);
        break;
    default:
        error = -ECONNREFUSED;
        break;
    }
    if (error != 0)
        vg_pq_connected(pq, error);
}

/* ---- queries --------------------------------------------------------------------------------- */

static inline void vg_pq_result(vigil_pq *pq, PGresult *result, int status)
{
    vigil_pq_result_fn fn = pq->on_result;
    if (result == NULL) { /* the end of one query */
        pq->on_result = NULL;
        vg_pq_stop_timer(pq);
        vg_pq_keep(pq);
    }
    fn(pq, result, status, pq->result_arg);
}

/* Send what waits; more is sent when the system takes more. */
static inline void vg_pq_flush(vigil_pq *pq)
{
    const int left = PQflush(pq->conn);
    pq->flushed = left <= 0; /* the results report a failure */
    if (!pq->lost)
        (void)vg_pq_watch(pq, VIGIL_FD_READ | (left > 0 ? (unsigned)VIGIL_FD_WRITE : 0U), false);
}

static inline void vg_pq_notifications(vigil_pq *pq)
{
    PGnotify *notify;
    while (!pq->closed && pq->on_notify != NULL && (notify = PQnotifies(pq->conn)) != NULL)
        pq->on_notify(pq, notify, pq->notify_arg);
    if (!pq->closed && pq->on_notify != NULL && pq->lost) {
        vigil_pq_notify_fn fn = pq->on_notify;
        pq->on_notify = NULL;
        vg_pq_keep(pq);
        fn(pq, NULL, pq->notify_arg);
    }
}

static inline bool vg_pq_is_copy(const PGresult *result)
{
    const ExecStatusType kind = PQresultStatus(result);
    return kind == PGRES_COPY_IN || kind == PGRES_COPY_OUT || kind == PGRES_COPY_BOTH;
}

static inline void vg_pq_query(vigil_pq *pq)
{
    if (!pq->lost && PQconsumeInput(pq->conn) == 0) {
        pq->lost = true;
        vg_pq_unwatch(pq); /* its hang-up would be reported again and again */
    }
    if (!pq->flushed && !pq->lost)
        vg_pq_flush(pq);
    while (!pq->closed && pq->on_result != NULL && (pq->lost || !PQisBusy(pq->conn))) {
        PGresult *result = PQgetResult(pq->conn);
        const bool copies = vg_pq_is_copy(result);
        vigil_pq_result_fn fn = pq->on_result;
        if (copies) { /* from here on the caller moves the rows, and asks again for the result */
            pq->on_result = NULL;
            vg_pq_stop_timer(pq);
            vg_pq_keep(pq);
            fn(pq, result, 0, pq->result_arg);
            break;
        }
        vg_pq_result(pq, result, 0);
    }
    vg_pq_notifications(pq);
}

static inline void vg_pq_run(vigil_pq *pq)
{
    pq->busy = true;
    if (pq->on_ready != NULL)
        vg_pq_connect(pq);
    else
        vg_pq_query(pq);
    vg_pq_leave(pq);
}

static inline void vg_pq_late(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_pq *pq = (vigil_pq *)arg;
    (void)loop;
    (void)timer;
    pq->timer.id = 0;
    pq->busy = true;
    if (pq->on_ready != NULL)
        vg_pq_connected(pq, -ETIMEDOUT);
    else if (pq->on_result != NULL)
        vg_pq_result(pq, NULL, -ETIMEDOUT);
    vg_pq_leave(pq);
}

/* ---- the interface --------------------------------------------------------------------------- */

/* Give it back: the connection is closed, and no callback follows. May be called inside a callback.
   NULL is allowed. Owner; does not block. */
static inline void vigil_pq_close(vigil_pq *pq)
{
    if (pq == NULL || pq->closed)
        return;
    pq->closed = true;
    vg_pq_unwatch(pq);
    vg_pq_stop_timer(pq);
    vg_pq_keep(pq);
    PQfinish(pq->conn);
    pq->conn = NULL;
    if (!pq->busy)
        vg_pq_leave(pq);
}

/* Connect, as PQconnectStart does. on_ready is called once, unless the connection is closed before.
   Owner; does not block.
   0; -EINVAL; -ENOMEM; -ECONNREFUSED libpq refuses at once, and vigil_why says why; -ESHUTDOWN;
   -EPERM; -ECHILD. */
static inline int vigil_pq_open(vigil_pq **pq, vigil_loop *loop, const char *conninfo,
                                int64_t timeout_ns, vigil_pq_ready_fn on_ready, void *arg)
{
    int error = 0;
    if (pq == NULL || conninfo == NULL || on_ready == NULL)
        return vigil_why_set(-EINVAL, "pq, conninfo or on_ready is NULL");
    vigil_pq *it = (vigil_pq *)calloc(1, sizeof *it);
    if (it == NULL)
        return vigil_why_set(-ENOMEM, "no memory for a PostgreSQL connection");
    it->loop = loop;
    it->on_ready = on_ready;
    it->ready_arg = arg;
    it->fd = -1;
    vigil_post_init(&it->turn, vg_pq_turn, vg_pq_turn);
    it->conn = PQconnectStart(conninfo);
    if (it->conn == NULL)
        error = vigil_why_set(-ENOMEM, "no memory for a PostgreSQL connection");
    else if (PQstatus(it->conn) == CONNECTION_BAD)
        error = vigil_why_set(-ECONNREFUSED, PQerrorMessage(it->conn));
    if (error == 0) /* libpq's rule: wait first until it can be written to */
        error = vg_pq_watch(it, VIGIL_FD_WRITE, true);
    if (error == 0 && timeout_ns >= 0)
        error = vigil_timer_start(loop, timeout_ns, vg_pq_late, it, &it->timer);
    if (error != 0) {
        vigil_pq_close(it);
        return error;
    }
    vg_pq_keep(it);
    *pq = it;
    return 0;
}

/* The connection, for libpq's calls that do not block. It stays the adapter's. Owner; does not
   block. Returns it. */
static inline PGconn *vigil_pq_conn(vigil_pq *pq)
{
    return pq->conn;
}

/* Send what libpq has buffered, and call fn for each result of the query at the head, and once with
   NULL at its end. After a COPY result fn is not called again: move the rows with libpq, then ask
   again. Owner; does not block.
   0; -EINVAL; -EBUSY somebody waits for results already, or it is not connected yet; -ENOMEM;
   -ESHUTDOWN; -EPERM; -ECHILD. */
static inline int vigil_pq_results(vigil_pq *pq, int64_t timeout_ns, vigil_pq_result_fn fn,
                                   void *arg)
{
    if (pq == NULL || fn == NULL)
        return vigil_why_set(-EINVAL, "pq or fn is NULL");
    if (pq->on_ready != NULL || pq->on_result != NULL)
        return vigil_why_set(-EBUSY, pq->on_ready != NULL ? "the connection is not ready yet"
                                                          : "somebody waits for results already");
    if (timeout_ns >= 0) {
        const int error = vigil_timer_start(pq->loop, timeout_ns, vg_pq_late, pq, &pq->timer);
        if (error != 0)
            return error;
    }
    pq->on_result = fn;
    pq->result_arg = arg;
    vg_pq_keep(pq);
    vg_pq_flush(pq);
    vg_pq_queue(pq); /* the result may be there already, as in a pipeline */
    return 0;
}

/* Call fn for each notification (LISTEN), until it is taken away with fn NULL. Owner; does not
   block.
   0; -EINVAL. */
static inline int vigil_pq_on_notify(vigil_pq *pq, vigil_pq_notify_fn fn, void *arg)
{
    if (pq == NULL)
        return vigil_why_set(-EINVAL, "pq is NULL");
    pq->on_notify = fn;
    pq->notify_arg = arg;
    vg_pq_keep(pq);
    if (fn != NULL && pq->on_ready == NULL)
        vg_pq_queue(pq); /* some may have come with a result */
    return 0;
}

#ifdef __cplusplus
}
#endif
#endif
