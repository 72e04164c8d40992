/* SPDX-License-Identifier: MIT */
/* A server: listening, its connections, its timer, its end. */
#include "server.h"

#include "out.h"
#include "turn.h"

#include <stdlib.h>
#include <string.h>

#define SECONDS INT64_C(1000000000)

/* ---- connections -------------------------------------------------------------------------------------------------- */

bool vg_web_server_check(vigil_http_server *server, const vg_web_conn *conn)
{
    vg_web_conn *raised = server->calling;
    if (raised == NULL)
        return false;
    const bool same = raised == conn;
    server->calling = NULL;
    raised->running = false;
    if (raised->users && raised->kept == NULL) { /* on_request never returned: nobody will end it */
        raised->users = false;
        server->waiting--;
    }
    if (raised->freed) { /* the run would have done it */
        raised->freed = false;
        vg_web_conn_free(raised);
        return same;
    }
    const bool users = raised->users;
    vg_web_conn_cut(raised, -ECANCELED);
    return same && !users;
}

void vg_web_server_list(vg_web_conn *conn)
{
    vigil_http_server *server = conn->server;
    conn->listed = true;
    conn->all_next = server->all;
    if (server->all != NULL)
        server->all->all_before = conn;
    server->all = conn;
    server->references++;
    server->connections++;
    server->open++;
}

void vg_web_server_unlist(vg_web_conn *conn)
{
    if (!conn->listed)
        return;
    conn->listed = false;
    if (conn->all_before != NULL)
        conn->all_before->all_next = conn->all_next;
    else
        conn->server->all = conn->all_next;
    if (conn->all_next != NULL)
        conn->all_next->all_before = conn->all_before;
}

/* ---- time --------------------------------------------------------------------------------------------------------- */

static void server_tick(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_http_server *server = arg;
    const uint64_t now = vigil_loop_now(loop);
    uint64_t next = 0;
    (void)timer;
    server->timer_at = 0;
    server->references++;
    (void)vg_web_server_check(server, NULL);
    for (int clock = VG_WEB_IDLE_CLOCK; clock < VG_WEB_CLOCKS; clock++) {
        const uint64_t limit = (uint64_t)server->limits[clock];
        vg_web_conn *conn;
        while ((conn = server->lists[clock].first) != NULL && conn->clock_since + limit <= now)
            vg_web_conn_late(conn); /* leaves the list, or moves to another */
        if (conn != NULL && (next == 0 || conn->clock_since + limit < next))
            next = conn->clock_since + limit;
    }
    if (next != 0)
        vg_web_server_timer(server, next);
    vg_web_server_unref(server);
}

void vg_web_server_timer(vigil_http_server *server, uint64_t deadline)
{
    if (server->timer_at != 0 && server->timer_at <= deadline)
        return;
    const uint64_t now = vigil_loop_now(server->loop);
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    options.delay_ns = deadline > now ? (int64_t)(deadline - now) : 0;
    options.slack_ns = options.delay_ns / 8 < 4 * SECONDS ? options.delay_ns / 8 : 4 * SECONDS;
    options.flags = VIGIL_TIMER_UNREF;
    if (server->timer_at != 0)
        (void)vigil_timer_cancel(server->loop, server->timer);
    server->timer_at = 0;
    if (vigil_timer_start_with(server->loop, &options, server_tick, server, &server->timer) == 0)
        server->timer_at = deadline;
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

static void on_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    (void)listener;
    if (vg_web_conn_open(user, stream) != 0)
        (void)vigil_stream_reset(stream);
}

static void on_listener_error(vigil_listener *listener, int error, void *user)
{
    vigil_http_server *server = user;
    (void)listener;
    if (server->options.on_error != NULL)
        server->options.on_error(server, error, server->options.user);
}

static int64_t limit_of(int64_t given, int64_t usual)
{
    return given != 0 ? given : usual;
}

static int take_options(vigil_http_server *server, const vigil_http_server_options *given)
{
    vigil_http_server_options *ours = &server->options;
    if (given == NULL || given->size != sizeof *given)
        return vigil_why_set(-EINVAL, "options must start from VIGIL_HTTP_SERVER_OPTIONS_INIT");
    if (given->on_request == NULL)
        return vigil_why_set(-EINVAL, "options.on_request is NULL");
    if (given->fields > VG_WEB_MOST_FIELDS)
        return vg_web_why(-EINVAL, "options.fields is %u; the most is %d", given->fields, VG_WEB_MOST_FIELDS);
    if (given->head_bytes > VG_WEB_MOST_HEAD)
        return vg_web_why(-EINVAL, "options.head_bytes is %zu; the most is %d", given->head_bytes, VG_WEB_MOST_HEAD);
    *ours = *given;
    ours->fields = given->fields != 0 ? given->fields : 100;
    ours->head_bytes = given->head_bytes != 0 ? given->head_bytes : 16384;
    ours->target_bytes = given->target_bytes != 0 ? given->target_bytes : 8192;
    ours->body_bytes = given->body_bytes != 0 ? given->body_bytes : 1048576;
    server->limits[VG_WEB_NO_CLOCK] = -1;
    server->limits[VG_WEB_HEAD_CLOCK] = limit_of(given->head_ns, 10 * SECONDS);
    server->limits[VG_WEB_BODY_CLOCK] = limit_of(given->body_ns, 30 * SECONDS);
    server->limits[VG_WEB_IDLE_CLOCK] = limit_of(given->idle_ns, 60 * SECONDS);
    server->limits[VG_WEB_SEND_CLOCK] = limit_of(given->send_ns, 60 * SECONDS);
    server->limits[VG_WEB_LINGER_CLOCK] = 2 * SECONDS;
    return 0;
}

static int open_listener(vigil_http_server *server, const vigil_address *address)
{
    vigil_stream_options stream = VIGIL_STREAM_OPTIONS_INIT;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    stream.high_water = server->options.high_water;
    stream.flush_ns = server->limits[VG_WEB_SEND_CLOCK];
    options.on_stream = on_stream;
    options.on_error = on_listener_error;
    options.user = server;
    options.backlog = server->options.backlog;
    options.most = server->options.most_connections;
    options.reuse_port = server->options.reuse_port;
    options.stream = &stream;
    return vigil_listener_open(&server->listener, server->loop, address, &options);
}

int vigil_http_server_open(vigil_http_server **server, vigil_loop *loop, const vigil_address *address,
                           const vigil_http_server_options *options)
{
    if (server == NULL || loop == NULL)
        return vigil_why_set(-EINVAL, "server or loop is NULL");
    vigil_http_server *it = calloc(1, sizeof *it);
    if (it == NULL)
        return vigil_why_set(-ENOMEM, "no memory for a server");
    it->loop = loop;
    it->references = 1;
    it->date_second = -1;
    int error = take_options(it, options);
    if (error == 0 && address != NULL)
        error = open_listener(it, address);
    if (error != 0) {
        free(it);
        return error;
    }
    *server = it;
    return 0;
}

int vigil_http_server_address(const vigil_http_server *server, vigil_address *address)
{
    if (server == NULL)
        return vigil_why_set(-EINVAL, "server is NULL");
    if (server->listener == NULL)
        return vigil_why_set(-ENOTCONN, "the server does not listen");
    return vigil_listener_address(server->listener, address);
}

int vigil_http_server_serve(vigil_http_server *server, vigil_stream *stream)
{
    if (server == NULL || stream == NULL)
        return vigil_why_set(-EINVAL, "server or stream is NULL");
    if (server->ending || server->closed)
        return vigil_why_set(-ESHUTDOWN, "the server is ending");
    return vg_web_conn_open(server, stream);
}

void vg_web_server_unref(vigil_http_server *server)
{
    if (--server->references == 0)
        free(server);
}

static void settle_end(vigil_http_server *server)
{
    vigil_promise *promise = server->ended;
    if (promise == NULL)
        return;
    server->ended = NULL;
    (void)vigil_promise_resolve(promise, vigil_value_int((int64_t)server->cut));
    vigil_promise_unref(promise);
    if (server->end_timer.id != 0)
        (void)vigil_timer_cancel(server->loop, server->end_timer);
    server->end_timer.id = 0;
}

void vg_web_server_one_less(vigil_http_server *server)
{
    server->open--;
    if (server->ending && server->open == 0)
        settle_end(server);
}

static void cut_all(vigil_http_server *server)
{
    vg_web_conn *next;
    server->references++;
    for (vg_web_conn *conn = server->all; conn != NULL; conn = next) {
        next = conn->all_next;
        server->cut += conn->state != VG_WEB_GONE;
        vg_web_conn_cut(conn, -ESHUTDOWN);
    }
    vg_web_server_unref(server);
}

static void end_is_late(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_http_server *server = arg;
    (void)loop;
    (void)timer;
    server->end_timer.id = 0;
    cut_all(server);
}

/* Between two requests: nothing has begun. */
static void close_idle(vigil_http_server *server)
{
    vg_web_conn *next;
    for (vg_web_conn *conn = server->all; conn != NULL; conn = next) {
        next = conn->all_next;
        if (conn->state == VG_WEB_READ_HEAD && conn->held_length == 0 && !conn->running)
            vg_web_conn_finish(conn);
    }
}

int vigil_promise_http_finish(vigil_http_server *server, int64_t timeout_ns, vigil_promise **promise)
{
    vigil_promise *ended = NULL;
    if (server == NULL)
        return vigil_why_set(-EINVAL, "server is NULL");
    if (server->ending || server->closed)
        return vigil_why_set(-EALREADY, "the server is ending already");
    int error = vigil_promise_create(&ended, server->loop);
    if (error == 0 && timeout_ns >= 0) {
        error = vigil_timer_start(server->loop, timeout_ns, end_is_late, server, &server->end_timer);
        if (error != 0)
            vigil_promise_unref(ended);
    }
    if (error != 0)
        return error;
    server->ending = true;
    server->ended = ended;
    if (promise != NULL)
        *promise = vigil_promise_ref(ended);
    (void)vigil_listener_close(server->listener);
    server->listener = NULL;
    server->references++;
    close_idle(server);
    if (server->open == 0)
        settle_end(server);
    vg_web_server_unref(server);
    return 0;
}

int vigil_http_server_close(vigil_http_server *server)
{
    if (server == NULL)
        return 0;
    const int error = vigil_listener_close(server->listener);
    if (error != 0)
        return error;
    server->listener = NULL;
    server->closed = server->ending = true;
    cut_all(server);
    settle_end(server);
    if (server->timer_at != 0)
        (void)vigil_timer_cancel(server->loop, server->timer);
    server->timer_at = 0;
    if (server->end_timer.id != 0)
        (void)vigil_timer_cancel(server->loop, server->end_timer);
    vg_web_server_unref(server);
    return 0;
}

int vigil_http_server_stats_get(const vigil_http_server *server, vigil_http_server_stats *stats)
{
    if (server == NULL || stats == NULL || stats->size != sizeof *stats)
        return vigil_why_set(-EINVAL, "server is NULL, or stats does not start from VIGIL_HTTP_SERVER_STATS_INIT");
    *stats = (vigil_http_server_stats){.size = sizeof *stats,
                                       .connections = server->connections,
                                       .open = server->open,
                                       .requests = server->requests,
                                       .waiting = server->waiting,
                                       .refused = server->refused};
    return 0;
}
