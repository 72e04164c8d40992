/* SPDX-License-Identifier: MIT */
/* pq.c - site and connections of the PostgreSQL engine: libpq on a loop, pipelines, wakes. */
#include "pq.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "decimal.h"
#include "why.h"

enum {
    ANSWER_MS = 30000, /* a server that says nothing for so long is away */
};

uint64_t vg_pq_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static void take_notifications(struct vg_jobs_conn *conn)
{
    PGnotify *note;
    while ((note = PQnotifies(conn->pg)) != NULL) {
        if (strcmp(note->relname, "vigil_ended") == 0)
            conn->ended++;
        else
            conn->events |= note->extra[0] == 'c'   ? VG_JOBS_EVENT_CANCEL
                            : note->extra[0] == 't' ? VG_JOBS_EVENT_CLOCK | VG_JOBS_EVENT_WORK
                                                    : VG_JOBS_EVENT_WORK;
        PQfreemem(note);
    }
}

static void on_socket(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)loop, (void)watch, (void)fd, (void)events;
    struct vg_jobs_conn *conn = arg;
    if (PQconsumeInput(conn->pg) != 0)
        take_notifications(conn);
}

static void on_connecting(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)loop, (void)watch, (void)fd, (void)events, (void)arg;
}

/* Timers and posts may run before the loop sleeps in the same turn: the pause keeps it from sleeping then. */
static void on_timer(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)timer;
    ((struct vg_jobs_conn *)arg)->timer_fired = true;
    (void)vigil_loop_pause(loop);
}

static void on_ring(vigil_post *post)
{
    struct vg_jobs_site *site = (struct vg_jobs_site *)(void *)((char *)post - offsetof(struct vg_jobs_site, post));
    /* On the runner's loop, so the runner is there. */
    site->runner->events |= VG_JOBS_EVENT_LOCAL;
    (void)vigil_loop_pause(site->runner->loop);
}

static void on_poke(vigil_post *post)
{
    struct vg_jobs_conn *conn = (struct vg_jobs_conn *)(void *)((char *)post - offsetof(struct vg_jobs_conn, poke));
    conn->ended++;
    (void)vigil_loop_pause(conn->loop);
}

/* Run the loop until something has happened or the time is over. */
void vg_pq_run_until(struct vg_jobs_conn *conn, int64_t timeout_ms)
{
    vigil_timer timer = {0};
    conn->timer_fired = false;
    if (timeout_ms >= 0 && vigil_timer_start(conn->loop, timeout_ms * 1000000, on_timer, conn, &timer) != 0)
        return;
    (void)vigil_loop_run(conn->loop, VIGIL_RUN_ONCE);
    if (timeout_ms >= 0 && !conn->timer_fired)
        (void)vigil_timer_cancel(conn->loop, timer);
}

void vg_pq_unwatch(struct vg_jobs_conn *conn)
{
    if (!conn->watched)
        return;
    (void)vigil_watch_remove(conn->loop, conn->watch);
    (void)close(conn->socket);
    conn->watched = false;
}

/* libpq closes its socket by itself when the connection breaks, and the number may be another's then. So a copy is
   watched. */
static int watch_socket(struct vg_jobs_conn *conn)
{
    conn->socket = fcntl(PQsocket(conn->pg), F_DUPFD_CLOEXEC, 0);
    if (conn->socket < 0)
        return vg_jobs_why(-ENOTCONN, "PostgreSQL: the socket cannot be watched: %m");
    if (vigil_watch_add(conn->loop, conn->socket, VIGIL_FD_READ, 0, on_socket, NULL, conn, &conn->watch) != 0) {
        (void)close(conn->socket);
        return vg_jobs_why(-ENOTCONN, "PostgreSQL: the socket cannot be watched: %s", vigil_why());
    }
    conn->watched = true;
    return 0;
}

static void forget_server(struct vg_jobs_conn *conn)
{
    vg_pq_unwatch(conn);
    conn->listens = conn->waits = false;
    free(conn->lookers);
    conn->lookers = NULL;
    if (conn->pg != NULL)
        PQfinish(conn->pg);
    conn->pg = NULL;
    conn->sent = 0;
    memset(conn->prepared, 0, sizeof conn->prepared);
}

/* Whether the server refuses what a statement does to a row: its values (22), a constraint (23), a trigger (P0). */
static bool is_bad_row(const PGresult *result)
{
    const char *state = result != NULL ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    return state != NULL &&
           (strncmp(state, "22", 2) == 0 || strncmp(state, "23", 2) == 0 || strncmp(state, "P0", 2) == 0);
}

bool vg_pq_passes(const PGresult *result)
{
    const char *state = result != NULL ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    /* The server stops or starts (57P), the connection breaks (08), two transactions met (40). */
    return state != NULL &&
           (strncmp(state, "57P", 3) == 0 || strncmp(state, "08", 2) == 0 || strncmp(state, "40", 2) == 0);
}

int vg_pq_error(struct vg_jobs_conn *conn, const PGresult *result)
{
    const char *text = result != NULL     ? PQresultErrorMessage(result)
                       : conn->pg != NULL ? PQerrorMessage(conn->pg)
                                          : "no memory";
    char line[200];
    size_t length = strcspn(text, "\n");
    (void)snprintf(line, sizeof line, "%.*s", (int)(length < 180 ? length : 180), text);
    bool away = conn->pg == NULL || PQstatus(conn->pg) != CONNECTION_OK;
    return vg_jobs_why(away || vg_pq_passes(result) ? -ENOTCONN : -EIO, "PostgreSQL: %s", line);
}

/* Send what is queued, and wait until libpq has a result to give. */
static int await(struct vg_jobs_conn *conn)
{
    for (;;) {
        int unsent = PQflush(conn->pg);
        if (unsent < 0 || PQstatus(conn->pg) == CONNECTION_BAD)
            return vg_pq_error(conn, NULL);
        if (unsent == 0 && PQisBusy(conn->pg) == 0)
            return 0;
        /* Not on the loop: there is nothing else to do until then, and any thread may wait so. */
        struct pollfd socket = {.fd = PQsocket(conn->pg), .events = (short)(POLLIN | (unsent != 0 ? POLLOUT : 0))};
        int ready = poll(&socket, 1, ANSWER_MS);
        if (ready == 0)
            return vg_jobs_why(-ENOTCONN, "PostgreSQL: no answer for %d s", ANSWER_MS / 1000);
        if (ready > 0 && (socket.revents & ~POLLOUT) != 0 && PQconsumeInput(conn->pg) == 0)
            return vg_pq_error(conn, NULL);
    }
}

static int start_connection(struct vg_jobs_conn *conn)
{
    conn->pg = PQconnectStart(conn->site->where);
    if (conn->pg == NULL || PQstatus(conn->pg) == CONNECTION_BAD)
        return vg_pq_error(conn, NULL);
    for (;;) {
        PostgresPollingStatusType status = PQconnectPoll(conn->pg);
        if (status == PGRES_POLLING_OK)
            return 0;
        if (status == PGRES_POLLING_FAILED)
            return vg_pq_error(conn, NULL);
        vigil_watch watch;
        int error = vigil_watch_add(conn->loop, PQsocket(conn->pg),
                                    status == PGRES_POLLING_READING ? VIGIL_FD_READ : VIGIL_FD_WRITE, 0, on_connecting,
                                    NULL, conn, &watch);
        if (error != 0)
            return vg_jobs_why(-ENOTCONN, "PostgreSQL: the socket cannot be watched: %s", vigil_why());
        vg_pq_run_until(conn, ANSWER_MS);
        (void)vigil_watch_remove(conn->loop, watch);
        if (conn->timer_fired)
            return vg_jobs_why(-ENOTCONN, "PostgreSQL: no answer for %d s", ANSWER_MS / 1000);
    }
}

int vg_pq_execute(struct vg_jobs_conn *conn, const char *sql)
{
    if (PQsendQuery(conn->pg, sql) == 0)
        return vg_pq_error(conn, NULL);
    int error = 0;
    for (;;) {
        int waited = await(conn);
        if (waited != 0)
            return waited;
        PGresult *result = PQgetResult(conn->pg);
        if (result == NULL)
            return error;
        if (error == 0 && PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
            error = vg_pq_error(conn, result);
        PQclear(result);
    }
}

/* Plans must not depend on how many jobs there were when they were made. */
static const char settings[] =
    "SET client_min_messages = warning; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; "
    "SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

int vg_pq_connected(struct vg_jobs_conn *conn)
{
    conn->bad_row = false;
    if (conn->pg != NULL && PQstatus(conn->pg) == CONNECTION_OK && !conn->broken)
        return 0;
    forget_server(conn);
    conn->broken = false;
    int error = start_connection(conn);
    if (error == 0 && PQsetnonblocking(conn->pg, 1) != 0)
        error = vg_pq_error(conn, NULL);
    if (error == 0)
        error = watch_socket(conn);
    if (error == 0)
        error = vg_pq_execute(conn, settings);
    if (error == 0 && PQenterPipelineMode(conn->pg) == 0)
        error = vg_pq_error(conn, NULL);
    if (error != 0)
        forget_server(conn);
    return error == -EIO ? -ENOTCONN : error;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static int place(struct vg_pq_call *call, const char *value, int length, int format)
{
    int at = call->count++;
    call->values[at] = value;
    call->lengths[at] = length;
    call->formats[at] = format;
    return at;
}

void vg_pq_number(struct vg_pq_call *call, int64_t number)
{
    int at = place(call, NULL, 0, 0);
    (void)vg_jobs_decimal(number, call->numbers[at]);
    call->values[at] = call->numbers[at];
}

void vg_pq_number_or_null(struct vg_pq_call *call, int64_t number)
{
    if (number != 0)
        vg_pq_number(call, number);
    else
        (void)place(call, NULL, 0, 0);
}

void vg_pq_text_of(struct vg_pq_call *call, const char *text)
{
    (void)place(call, text, 0, 0);
}

void vg_pq_bytes(struct vg_pq_call *call, const void *bytes, size_t length)
{
    (void)place(call, bytes, (int)length, 1);
}

int vg_pq_send(struct vg_jobs_conn *conn, enum vg_pq_sql which, const struct vg_pq_call *call)
{
    static const struct vg_pq_call none;
    char name[25] = "v";
    (void)vg_jobs_decimal(which, name + 1);
    if (call == NULL)
        call = &none;
    if (!conn->prepared[which] && conn->sent >= 60) { /* too late to note that it is prepared */
        if (PQsendQueryParams(conn->pg, vg_pq_text[which], call->count, NULL, call->values, call->lengths,
                              call->formats, 1) == 0)
            return vg_pq_error(conn, NULL);
        conn->sent++;
        return 0;
    }
    if (!conn->prepared[which]) {
        if (PQsendPrepare(conn->pg, name, vg_pq_text[which], 0, NULL) == 0)
            return vg_pq_error(conn, NULL);
        conn->prepared[which] = true;
        conn->preparing |= UINT64_C(1) << conn->sent;
        conn->sent++;
    }
    if (PQsendQueryPrepared(conn->pg, name, call->count, call->values, call->lengths, call->formats, 1) == 0)
        return vg_pq_error(conn, NULL);
    conn->sent++;
    return 0;
}

/* The next result in the pipeline, whatever it is. */
static PGresult *read_result(struct vg_jobs_conn *conn)
{
    if (await(conn) != 0)
        return NULL;
    PGresult *result = PQgetResult(conn->pg);
    if (result == NULL) /* between two statements there is a NULL */
        result = await(conn) == 0 ? PQgetResult(conn->pg) : NULL;
    return result;
}

int vg_pq_sync(struct vg_jobs_conn *conn)
{
    conn->failure = 0;
    conn->bad_row = false;
    return PQpipelineSync(conn->pg) != 0 ? 0 : vg_pq_error(conn, NULL);
}

PGresult *vg_pq_next(struct vg_jobs_conn *conn)
{
    for (;;) {
        PGresult *result = conn->failure != -ENOTCONN || conn->sent > 0 ? read_result(conn) : NULL;
        bool prepare = (conn->preparing & 1) != 0;
        conn->preparing >>= 1;
        if (conn->sent > 0)
            conn->sent--;
        if (result == NULL) {
            if (conn->failure == 0)
                conn->failure = vg_pq_error(conn, NULL);
            conn->broken = true;
            return NULL;
        }
        ExecStatusType status = PQresultStatus(result);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            if (conn->failure == 0 && status != PGRES_PIPELINE_ABORTED) {
                conn->failure = vg_pq_error(conn, result);
                conn->bad_row = is_bad_row(result);
            }
            PQclear(result);
            if (prepare)
                continue;
            return NULL;
        }
        if (!prepare)
            return result;
        PQclear(result);
    }
}

int vg_pq_finish(struct vg_jobs_conn *conn, int error)
{
    while (conn->sent > 0 && !conn->broken)
        PQclear(vg_pq_next(conn));
    if (!conn->broken) { /* the sync itself: the transaction is committed when it comes */
        PGresult *result = read_result(conn);
        if (result == NULL || PQresultStatus(result) != PGRES_PIPELINE_SYNC) {
            if (conn->failure == 0)
                conn->failure = vg_pq_error(conn, result);
            conn->broken = true;
        }
        PQclear(result);
    }
    if (conn->failure != 0) /* what was to be prepared may not have been */
        memset(conn->prepared, 0, sizeof conn->prepared), conn->broken = true;
    conn->sent = 0;
    conn->preparing = 0;
    take_notifications(conn);
    return error != 0 ? error : conn->failure;
}

int vg_pq_run(struct vg_jobs_conn *conn, enum vg_pq_sql which, const struct vg_pq_call *call, PGresult **result)
{
    int error = vg_pq_connected(conn);
    if (error == 0)
        error = vg_pq_send(conn, which, call);
    if (error == 0)
        error = vg_pq_sync(conn);
    if (error != 0)
        return error;
    PGresult *got = vg_pq_next(conn);
    error = vg_pq_finish(conn, 0);
    if (error == 0 && result != NULL)
        *result = got;
    else
        PQclear(got);
    return error;
}

int64_t vg_pq_get_number(const PGresult *result, int row, int column)
{
    uint64_t value = 0;
    int length = PQgetlength(result, row, column); /* 0 if it is NULL */
    if (length == 4)
        return vg_pq_get_int(result, row, column);
    if (length == 8)
        memcpy(&value, PQgetvalue(result, row, column), 8);
    return (int64_t)be64toh(value);
}

int vg_pq_get_int(const PGresult *result, int row, int column)
{
    uint32_t value = 0;
    if (PQgetlength(result, row, column) == 4)
        memcpy(&value, PQgetvalue(result, row, column), 4);
    return (int)be32toh(value);
}

const char *vg_pq_get_text(const PGresult *result, int row, int column)
{
    return PQgetisnull(result, row, column) ? "" : PQgetvalue(result, row, column);
}

int vg_pq_changed(const PGresult *result)
{
    return result == NULL ? 0 : PQntuples(result);
}

/* ---- site and connections ---------------------------------------------------------------------------------------- */

static void disconnect(struct vg_jobs_conn *conn)
{
    if (conn->ear != NULL)
        disconnect(conn->ear);
    if (conn->mate != NULL)
        disconnect(conn->mate);
    (void)pthread_mutex_lock(&conn->site->lock);
    if (conn->site->runner == conn)
        conn->site->runner = NULL;
    (void)pthread_mutex_unlock(&conn->site->lock);
    if (conn->waits)
        (void)vg_pq_run(conn, VG_PQ_WAITER_REMOVE, NULL, NULL);
    forget_server(conn);
    if (conn->loop != NULL)
        (void)vigil_loop_destroy(conn->loop);
    free(conn->low);
    for (unsigned i = 0; i < conn->turn_count; i++)
        free(conn->turns[i]);
    free(conn->turns);
    free(conn);
}

struct vg_jobs_conn *vg_pq_make(struct vg_jobs_site *site)
{
    struct vg_jobs_conn *it = calloc(1, sizeof *it);
    if (it == NULL)
        return NULL;
    it->site = site;
    vigil_post_init(&it->poke, on_poke, NULL);
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.name = "jobs-pq";
    if (vigil_loop_create(&it->loop, &options) == 0)
        return it;
    disconnect(it);
    return NULL;
}

static int connect_to(struct vg_jobs_site *site, struct vg_jobs_conn **conn)
{
    struct vg_jobs_conn *it = vg_pq_make(site);
    if (it == NULL)
        return -ENOMEM;
    int error = vg_pq_connected(it);
    if (error != 0)
        disconnect(it);
    else
        *conn = it;
    return error;
}

static void site_close(struct vg_jobs_site *site)
{
    (void)pthread_mutex_destroy(&site->lock);
    free(site->where);
    free(site);
}

/* Whether the tables are there and as new as this library: 1, 0, or an error. */
static int has_tables(struct vg_jobs_conn *conn)
{
    PGresult *result = NULL;
    int error = vg_pq_run(conn, VG_PQ_HAS_TABLES, NULL, &result);
    bool there = error == 0 && vg_pq_get_int(result, 0, 0) != 0;
    PQclear(result);
    if (!there)
        return error;
    result = NULL;
    error = vg_pq_run(conn, VG_PQ_LEVEL, NULL, &result);
    int64_t schema = error == 0 ? vg_pq_get_number(result, 0, 0) : 0,
            level = error == 0 ? vg_pq_get_number(result, 0, 1) : 0;
    PQclear(result);
    if (schema > VG_JOBS_SCHEMA)
        return vg_jobs_why(-EPROTO, "the database has tables of version %lld; this library knows %d", (long long)schema,
                           VG_JOBS_SCHEMA);
    return error != 0 ? error : level >= VG_JOBS_LEVEL;
}

/* Tables that are there are not touched: making them takes locks, and rights that a worker's role need not have. */
static int make_tables(struct vg_jobs_conn *conn)
{
    int there = has_tables(conn);
    if (there != 0)
        return there < 0 ? there : 0;
    if (PQexitPipelineMode(conn->pg) == 0)
        return vg_pq_error(conn, NULL);
    int error = vg_pq_execute(conn, vg_pq_schema);
    (void)PQenterPipelineMode(conn->pg);
    return error;
}

static int site_open(struct vg_jobs_site **site, const char *where, const vigil_jobs_options *options)
{
    struct vg_jobs_site *it = calloc(1, sizeof *it);
    if (it == NULL)
        return -ENOMEM;
    (void)pthread_mutex_init(&it->lock, NULL);
    vigil_post_init(&it->post, on_ring, NULL);
    it->poll_ms = options->poll_ns / 1000000;
    it->where = strdup(where);
    struct vg_jobs_conn *conn = NULL;
    int error = it->where == NULL ? -ENOMEM : connect_to(it, &conn);
    if (error == 0)
        error = make_tables(conn);
    if (conn != NULL)
        disconnect(conn);
    if (error != 0)
        site_close(it);
    else
        *site = it;
    return error;
}

static void start_running(struct vg_jobs_site *site)
{
    (void)site;
}

static void ring(struct vg_jobs_site *site)
{
    (void)pthread_mutex_lock(&site->lock);
    if (site->runner != NULL)
        (void)vigil_loop_post(site->runner->loop, &site->post); /* -EBUSY: it has been rung */
    else
        site->rung = true;
    (void)pthread_mutex_unlock(&site->lock);
}

static void ring_all(struct vg_jobs_site *site, unsigned events)
{
    (void)site, (void)events; /* every transaction that enqueues has its NOTIFY inside */
}

static int clock_advance(struct vg_jobs_site *site, int64_t by_ns)
{
    (void)site, (void)by_ns;
    return vg_jobs_why(-ENOTSUP, "the clock is the server's");
}

const struct vg_jobs_engine vigil_jobs_engine_pq = {
    .name = "postgresql",
    .any_thread = true,
    .site_open = site_open,
    .site_close = site_close,
    .connect = connect_to,
    .disconnect = disconnect,
    .start_running = start_running,
    .enqueue = vg_pq_enqueue,
    .enqueue_within = vg_pq_enqueue_within,
    .enqueue_once = vg_pq_enqueue_once,
    .spool_number = vg_pq_spool_number,
    .waiting = vg_pq_waiting,
    .exchange = vg_pq_exchange,
    .quarantined = vg_pq_quarantined,
    .extend = vg_pq_extend,
    .rescue = vg_pq_rescue,
    .prune = vg_pq_prune,
    .pinned = vg_pq_pinned,
    .look = vg_pq_look,
    .cancel = vg_pq_cancel,
    .retry = vg_pq_retry,
    .edit = vg_pq_edit,
    .drop = vg_pq_drop,
    .pause = vg_pq_pause,
    .batch = vg_pq_batch,
    .batch_end = vg_pq_batch_end,
    .audit = vg_pq_audit,
    .count = vg_pq_count,
    .check = vg_pq_check,
    .now = vg_pq_clock,
    .schedule_set = vg_pq_schedule_set,
    .schedule_remove = vg_pq_schedule_remove,
    .schedule_look = vg_pq_schedule_look,
    .schedule_fire = vg_pq_schedule_fire,
    .wait = vg_pq_wait,
    .ring = ring,
    .ring_all = ring_all,
    .ended_count = vg_pq_ended_count,
    .ended_wait = vg_pq_ended_wait,
    .ended_poke = vg_pq_ended_poke,
    .gone = vg_pq_gone,
    .clock_advance = clock_advance,
};
