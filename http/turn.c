/* SPDX-License-Identifier: MIT */
/* What a connection does by itself; see turn.h. */
#include "turn.h"

#include "server.h"

/* ---- later -------------------------------------------------------------------------------------------------------- */

void vg_web_conn_later(vg_web_conn *conn)
{
    if (!conn->queued && vigil_loop_tick(conn->server->loop, &conn->post) == 0)
        conn->queued = true;
}

void vg_web_settle_drained(vg_web_conn *conn, int error)
{
    vigil_promise *promise = conn->drained_promise;
    conn->drained_promise = NULL;
    (void)(error == 0 ? vigil_promise_resolve(promise, vigil_value_none())
                      : vigil_promise_reject(promise, vigil_value_error(error)));
    vigil_promise_unref(promise);
}

/* True: the user was called; that was the last step. */
static bool tell_drained(vg_web_conn *conn)
{
    vigil_call_fn fn = conn->on_drained;
    if (conn->clogged)
        return false;
    if (conn->drained_promise != NULL)
        vg_web_settle_drained(conn, conn->state == VG_WEB_GONE ? -EPIPE : 0);
    if (fn == NULL)
        return false;
    conn->on_drained = NULL;
    vg_web_conn_later(conn);
    fn(conn->drained_arg);
    return true;
}

/* The client has gone while the user has the request. */
static void tell_gone(vg_web_conn *conn)
{
    if (conn->on_body != NULL && !conn->body_over) {
        vigil_http_body_fn fn = conn->on_body;
        conn->on_body = NULL;
        conn->body_over = true;
        vg_web_conn_later(conn);
        fn(conn, NULL, conn->failed != 0 ? conn->failed : -ECONNRESET, conn->body_arg);
    } else if (conn->on_gone != NULL) {
        vigil_call_fn fn = conn->on_gone;
        conn->on_gone = NULL;
        fn(conn->gone_arg);
    }
}

static void turn_run(vigil_post *post)
{
    vg_web_conn *conn = (vg_web_conn *)(void *)((char *)post - offsetof(vg_web_conn, post));
    conn->queued = false;
    if (conn->freed) {
        conn->freed = false;
        vg_web_conn_free(conn);
        return;
    }
    if (vg_web_server_check(conn->server, conn) || tell_drained(conn))
        return;
    if (conn->state == VG_WEB_GONE)
        tell_gone(conn);
    else if (conn->state != VG_WEB_LINGER)
        vg_web_conn_run(conn, NULL, 0);
}

/* The loop ends: only the memory is left to be cared for. */
static void turn_cancel(vigil_post *post)
{
    vg_web_conn *conn = (vg_web_conn *)(void *)((char *)post - offsetof(vg_web_conn, post));
    conn->queued = false;
    if (conn->freed) {
        conn->freed = false;
        vg_web_conn_free(conn);
    }
}

void vg_web_turn_init(vg_web_conn *conn)
{
    vigil_post_init(&conn->post, turn_run, turn_cancel);
}

void vg_web_turn_drained(void *arg)
{
    vg_web_conn *conn = arg;
    if (vg_web_server_check(conn->server, conn) || conn->state == VG_WEB_GONE)
        return;
    conn->clogged = false;
    if (tell_drained(conn) || conn->state == VG_WEB_LINGER)
        return;
    vg_web_conn_run(conn, NULL, 0);
}

/* ---- clocks ------------------------------------------------------------------------------------------------------- */

static void clock_unlink(vg_web_conn *conn, vg_web_list *list)
{
    if (conn->clock_before != NULL)
        conn->clock_before->clock_next = conn->clock_next;
    else
        list->first = conn->clock_next;
    if (conn->clock_next != NULL)
        conn->clock_next->clock_before = conn->clock_before;
    else
        list->last = conn->clock_before;
}

void vg_web_clock_set(vg_web_conn *conn, vg_web_clock clock)
{
    vigil_http_server *server = conn->server;
    if (server->limits[clock] < 0)
        clock = VG_WEB_NO_CLOCK;
    vg_web_list *list = &server->lists[clock];
    if (conn->clock == clock) {
        if (clock == VG_WEB_NO_CLOCK)
            return;
        if (list->last == conn) {
            conn->clock_since = vigil_loop_now(server->loop);
            return;
        }
    }
    if (conn->clock != VG_WEB_NO_CLOCK)
        clock_unlink(conn, &server->lists[conn->clock]);
    conn->clock = (uint8_t)clock;
    if (clock == VG_WEB_NO_CLOCK)
        return;
    conn->clock_since = vigil_loop_now(server->loop);
    conn->clock_next = NULL;
    conn->clock_before = list->last;
    if (list->last != NULL)
        list->last->clock_next = conn;
    else
        list->first = conn;
    list->last = conn;
    vg_web_server_timer(server, conn->clock_since + (uint64_t)server->limits[clock]);
}

void vg_web_clock_choose(vg_web_conn *conn)
{
    vg_web_clock clock = VG_WEB_NO_CLOCK;
    if (conn->state == VG_WEB_GONE || conn->state == VG_WEB_LINGER)
        return; /* the first has none, the second is set */
    if (conn->clogged)
        clock = VG_WEB_SEND_CLOCK;
    else if (conn->state == VG_WEB_READ_HEAD)
        clock = conn->held_length != 0 ? VG_WEB_HEAD_CLOCK : VG_WEB_IDLE_CLOCK;
    else if (!conn->body_over && (!conn->users || conn->on_body != NULL))
        clock = VG_WEB_BODY_CLOCK;
    /* These two run from their beginning; the others from the last thing that happened. */
    if (clock == conn->clock && (clock == VG_WEB_HEAD_CLOCK || clock == VG_WEB_SEND_CLOCK))
        return;
    vg_web_clock_set(conn, clock);
}
