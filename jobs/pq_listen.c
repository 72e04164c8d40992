/* SPDX-License-Identifier: MIT */
/*
 * pq_listen.c - sleeping until the server tells: of work for the runner, of ends for those who wait.
 *
 * An end costs a notification only if somebody waits. So one who waits adds a row to vigil_jobs_waiters and then looks
 * at its job, and a transaction that ends jobs looks for such rows before it commits. The two may miss each other: the
 * transaction looks, the row comes, its owner looks and finds the job alive, the transaction commits and tells nobody.
 *
 * The locks of the server show who may have missed the row. A statement locks the tables it reads before it takes its
 * snapshot, and the lock stays until the end of the transaction. So one without a lock on the table when the row is
 * there will see the row. The others are the lookers. Until they have ended, one who waits looks again in pauses that
 * begin with a millisecond and double: it is late by about the time for which the transaction was open. Nobody waits
 * for a lock, and the transactions that end jobs pay nothing.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "pq.h"

enum {
    EARLESS_MS = 20,
    LOOKERS_FIRST_MS = 1,
};

static int listen_to(struct vg_jobs_conn *conn, const char *sql)
{
    if (PQexitPipelineMode(conn->pg) == 0)
        return vg_pq_error(conn, NULL);
    int error = vg_pq_execute(conn, sql);
    (void)PQenterPipelineMode(conn->pg);
    return error;
}

/* The runner listens on a connection of its own. So a worker may use the other one while the runner sleeps. */
unsigned vg_pq_wait(struct vg_jobs_conn *mouth, int64_t timeout_ms)
{
    struct vg_jobs_site *site = mouth->site;
    if (mouth->ear == NULL)
        mouth->ear = vg_pq_make(site);
    struct vg_jobs_conn *conn = mouth->ear;
    if (conn == NULL) { /* no memory */
        (void)poll(NULL, 0, EARLESS_MS);
        return VG_JOBS_EVENT_WORK | VG_JOBS_EVENT_LOCAL;
    }
    (void)pthread_mutex_lock(&site->lock);
    site->runner = conn;
    if (site->rung)
        conn->events |= VG_JOBS_EVENT_LOCAL;
    site->rung = false;
    (void)pthread_mutex_unlock(&site->lock);
    if (vg_pq_connected(conn) == 0 && !conn->listens && listen_to(conn, "LISTEN vigil_jobs") == 0) {
        conn->listens = true;
        conn->events |= VG_JOBS_EVENT_WORK; /* notifications from before are lost: look */
    }
    /* The slow poll: a notification that got lost in a failover. */
    if (timeout_ms < 0 || timeout_ms > site->poll_ms)
        timeout_ms = site->poll_ms;
    uint64_t until = vg_pq_now_ms() + (uint64_t)timeout_ms;
    if (timeout_ms == 0)
        (void)vigil_loop_run(conn->loop, VIGIL_RUN_NOWAIT);
    while (conn->events == 0 && timeout_ms > 0) {
        uint64_t now = vg_pq_now_ms();
        if (now >= until) {
            conn->events |= VG_JOBS_EVENT_WORK;
            break;
        }
        if (conn->watched)
            (void)vigil_watch_modify(conn->loop, conn->watch, VIGIL_FD_READ);
        vg_pq_run_until(conn, (int64_t)(until - now));
        if (conn->pg == NULL || PQstatus(conn->pg) != CONNECTION_OK) {
            vg_pq_unwatch(conn); /* a broken socket is always readable */
            conn->broken = true;
            conn->events |= VG_JOBS_EVENT_WORK;
        }
    }
    unsigned events = conn->events;
    conn->events = 0;
    if ((events & VG_JOBS_EVENT_CLOCK) != 0)
        atomic_store_explicit(&mouth->rescue_all, true, memory_order_relaxed);
    return events;
}

/* Find those of the lookers that are still there; lookers NULL: all of them. */
static void find_lookers(struct vg_jobs_conn *conn)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    vg_pq_text_of(&call, conn->lookers);
    if (vg_pq_run(conn, VG_PQ_LOOKERS, &call, &result) == 0) { /* otherwise the old ones: asked again after the pause */
        free(conn->lookers);
        conn->lookers = NULL;
        if (vg_pq_changed(result) == 1 && !PQgetisnull(result, 0, 0))
            conn->lookers = strdup(PQgetvalue(result, 0, 0));
    }
    PQclear(result);
}

uint32_t vg_pq_ended_count(struct vg_jobs_conn *conn)
{
    if (vg_pq_connected(conn) != 0)
        return conn->ended;
    if (!conn->waits && listen_to(conn, "LISTEN vigil_ended") == 0 &&
        vg_pq_run(conn, VG_PQ_WAITER_ADD, NULL, NULL) == 0) {
        conn->waits = true;
        conn->lookers_ms = LOOKERS_FIRST_MS;
        find_lookers(conn);
    } else if (conn->lookers != NULL) {
        find_lookers(conn);
    }
    return conn->ended;
}

void vg_pq_ended_wait(struct vg_jobs_conn *conn, uint32_t seen, int64_t timeout_ms)
{
    /* The slow poll, as in vg_pq_wait. */
    int64_t most = conn->site->poll_ms;
    if (conn->lookers != NULL && conn->lookers_ms < most) {
        most = conn->lookers_ms;
        conn->lookers_ms *= 2;
    }
    uint64_t until = vg_pq_now_ms() + (uint64_t)(timeout_ms < 0 || timeout_ms > most ? most : timeout_ms), now;
    while (conn->ended == seen && conn->watched && PQstatus(conn->pg) == CONNECTION_OK &&
           (now = vg_pq_now_ms()) < until) {
        (void)vigil_watch_modify(conn->loop, conn->watch, VIGIL_FD_READ);
        vg_pq_run_until(conn, (int64_t)(until - now));
    }
}

void vg_pq_ended_poke(struct vg_jobs_conn *conn)
{
    (void)vigil_loop_post(conn->loop, &conn->poke); /* -EBUSY: it has been poked */
}
