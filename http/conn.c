/* SPDX-License-Identifier: MIT */
/* One connection of a server: from bytes to calls of the user. SERVER.md has the rules. */
#include "conn.h"

#include "answer.h"
#include "body.h"
#include "server.h"
#include "turn.h"

#include <stdlib.h>
#include <string.h>

enum {
    HOLD_MOST = 65536,     /* what waits for the answer before */
    DISCARD_MOST = 262144, /* of a body that nobody wanted */
    LINGER_MOST = 1048576,
    LINE_REST = 32 /* of a request line, besides the target */
};

static void on_data(vigil_stream *stream, const void *data, int64_t length, void *arg);

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void conn_memory(vg_web_conn *conn)
{
    vigil_http_server *server = conn->server;
    vg_web_chunks_end(&conn->chunks);
    free(conn->held);
    free(conn->kept);
    free(conn);
    vg_web_server_unref(server);
}

void vg_web_conn_free(vg_web_conn *conn)
{
    if (conn->freed)
        return;
    conn->freed = true;
    vg_web_clock_set(conn, VG_WEB_NO_CLOCK);
    vg_web_server_unlist(conn);
    if (!conn->running && !conn->queued)
        conn_memory(conn);
}

/* The connection is freed, unless the user has its request. */
void vg_web_conn_left(vg_web_conn *conn)
{
    conn->stream = NULL;
    conn->state = VG_WEB_GONE;
    conn->clogged = false;
    vg_web_clock_set(conn, VG_WEB_NO_CLOCK);
    vg_web_server_one_less(conn->server);
    if (conn->users)
        vg_web_conn_later(conn); /* the waiters are notified there */
    else
        vg_web_conn_free(conn);
}

static void conn_close(vg_web_conn *conn)
{
    vigil_stream *stream = conn->stream;
    vg_web_conn_left(conn);
    (void)vigil_stream_close(stream);
}

void vg_web_conn_cut(vg_web_conn *conn, int error)
{
    if (conn->state == VG_WEB_GONE)
        return;
    if (conn->failed == 0)
        conn->failed = error;
    vigil_stream *stream = conn->stream;
    vg_web_conn_left(conn);
    (void)vigil_stream_reset(stream);
}

void vg_web_conn_finish(vg_web_conn *conn)
{
    if (conn->state == VG_WEB_GONE || conn->state == VG_WEB_LINGER)
        return;
    const bool clean = conn->body_over && !conn->faulty && (conn->running ? conn->behind : conn->held_length) == 0;
    if (conn->peer_ended || clean || vigil_stream_finish(conn->stream) != 0) {
        conn_close(conn);
        return;
    }
    conn->state = VG_WEB_LINGER;
    conn->body_seen = 0;
    conn->clogged = false;
    vg_web_clock_set(conn, VG_WEB_LINGER_CLOCK);
    vg_web_conn_want(conn);
}

int vg_web_conn_open(vigil_http_server *server, vigil_stream *stream)
{
    vg_web_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL)
        return vigil_why_set(-ENOMEM, "no memory for a connection");
    conn->server = server;
    conn->stream = stream;
    vg_web_turn_init(conn);
    const int error = vigil_stream_on_data(stream, on_data, conn);
    if (error != 0) {
        free(conn);
        return error;
    }
    conn->reading = true;
    conn->body_over = true;
    vg_web_server_list(conn);
    vg_web_clock_set(conn, VG_WEB_IDLE_CLOCK);
    return 0;
}

/* ---- what has come ------------------------------------------------------------------------------------------------ */

void vg_web_conn_want(vg_web_conn *conn)
{
    if (conn->state == VG_WEB_GONE)
        return;
    const bool paused = conn->state == VG_WEB_EXCHANGE && conn->users && !conn->body_over && conn->on_body == NULL;
    const bool want = !conn->peer_ended &&
                      (conn->state == VG_WEB_LINGER || (!conn->clogged && !paused && conn->held_length < HOLD_MOST));
    if (want == conn->reading)
        return;
    const int error = vigil_stream_on_data(conn->stream, want ? on_data : NULL, conn);
    if (error == 0)
        conn->reading = want;
    else
        vg_web_conn_cut(conn, error);
}

static int hold(vg_web_conn *conn, const char *bytes, size_t length)
{
    if (length == 0)
        return 0;
    if (conn->held_length == 0)
        conn->held_at = 0;
    if (conn->held_room - conn->held_at - conn->held_length < length) {
        const size_t room = conn->held_length + length < 1024 ? 1024 : conn->held_length + length;
        char *held = malloc(room);
        if (held == NULL)
            return -ENOMEM;
        if (conn->held_length != 0)
            memcpy(held, conn->held + conn->held_at, conn->held_length);
        free(conn->held);
        conn->held = held;
        conn->held_at = 0;
        conn->held_room = room;
    }
    memcpy(conn->held + conn->held_at + conn->held_length, bytes, length);
    conn->held_length += length;
    return 0;
}

/* So many bytes of what is held were used. An idle connection holds no memory. */
static void held_used(vg_web_conn *conn, size_t length)
{
    conn->held_at += length;
    conn->held_length -= length;
    if (conn->held_length == 0) {
        free(conn->held);
        conn->held = NULL;
        conn->held_at = conn->held_room = 0;
    }
}

/* ---- heads -------------------------------------------------------------------------------------------------------- */

void vg_web_conn_refuse(vg_web_conn *conn, int status)
{
    conn->server->refused++;
    conn->framing = VG_WEB_ANSWERED;
    conn->faulty = true;
    vg_web_answer_fault(conn, status);
    vg_web_conn_finish(conn);
}

int vg_web_conn_write(vg_web_conn *conn, const void *bytes, size_t length)
{
    if (conn->state == VG_WEB_GONE)
        return -EPIPE;
    const int rc = vigil_stream_write(conn->stream, bytes, length);
    if (rc == 1 && !conn->clogged && vigil_stream_on_drained(conn->stream, vg_web_turn_drained, conn) == 0) {
        conn->clogged = true;
        if (!conn->running) {
            vg_web_clock_choose(conn);
            vg_web_conn_want(conn);
        }
    }
    if (rc >= 0)
        return rc;
    if (!conn->users) /* a fault's answer: conn_finish follows */
        return rc;
    vg_web_conn_cut(conn, rc);
    return -EPIPE;
}

/* The request outlives on_request: so must its head. */
static void keep_head(vg_web_conn *conn, size_t length)
{
    const vg_web_head *head = conn->head;
    const size_t fields = offsetof(vg_web_head, fields) + head->count * sizeof *head->fields;
    const size_t before = (fields + 15) / 16 * 16;
    static const vg_web_head none = {.method = ""};
    char *kept = malloc(before + length);
    if (kept == NULL) {
        conn->head = &none;
        conn->head_bytes = "";
        vg_web_conn_cut(conn, -ENOMEM);
        return;
    }
    memcpy(kept, head, fields);
    memcpy(kept + before, conn->head_bytes, length);
    conn->kept = kept;
    conn->head = (const vg_web_head *)(void *)kept;
    conn->head_bytes = kept + before;
}

static void give_request(vg_web_conn *conn, const char *bytes, size_t length)
{
    vigil_http_server *server = conn->server;
    const vg_web_head *head = &server->head;
    conn->state = VG_WEB_EXCHANGE;
    conn->framing = VG_WEB_NOT_STARTED;
    conn->looked = 0;
    conn->head = head;
    conn->head_bytes = bytes;
    conn->in_chunks = head->chunked;
    conn->body_left = head->has_length ? head->length : 0;
    conn->body_over = !head->chunked && conn->body_left == 0;
    conn->end_due = conn->body_over;
    conn->body_seen = 0;
    conn->continue_due = head->expects_continue && !conn->body_over;
    conn->close_after = !head->keep_alive || head->is_connect; /* a tunnel's bytes may follow: not requests */
    conn->users = true;
    conn->failed = 0;
    vg_web_chunks_begin(&conn->chunks, server->options.head_bytes - length, server->options.fields - head->count);
    server->waiting++;
    if (server->options.most_requests != 0 && server->waiting > server->options.most_requests) {
        const vigil_http_field later = {"retry-after", "1"};
        server->refused++;
        (void)vigil_http_answer(conn, 503, &later, 1, NULL, 0);
        return;
    }
    server->requests++;
    server->calling = conn;
    server->options.on_request(conn, server->options.user);
    server->calling = NULL;
    if (conn->users && conn->kept == NULL)
        keep_head(conn, length);
}

/* False: nothing more can be done with what is here. */
static bool step_head(vg_web_conn *conn, const char *bytes, size_t length, size_t *used)
{
    const vigil_http_server_options *limits = &conn->server->options;
    /* RFC 9112, 2.2: an empty line before a request is passed over. */
    const size_t skip = length >= 2 && bytes[0] == '\r' && bytes[1] == '\n' ? 2 : 0;
    bytes += skip;
    length -= skip;
    const int64_t end = vg_web_head_end(bytes, length, &conn->looked);
    int status = 0;
    if (end < 0)
        status = 400;
    else if (end == 0 && conn->looked == 0 && length > limits->target_bytes + LINE_REST)
        status = 414;
    else if ((size_t)end > limits->head_bytes || (end == 0 && length > limits->head_bytes))
        status = 431;
    else if (end == 0)
        return false;
    vg_web_head *head = &conn->server->head;
    if (status == 0)
        status = vg_web_head_request(head, bytes, (size_t)end, limits->fields);
    if (status == 0 && head->is_connect && !limits->tunnels)
        status = 501;
    if (status == 0 && head->target.length > limits->target_bytes)
        status = 414;
    if (status == 0 && head->has_length && head->length > limits->body_bytes)
        status = 413;
    if (status != 0) {
        vg_web_conn_refuse(conn, status);
        return false;
    }
    *used = skip + (size_t)end;
    conn->behind = length - (size_t)end;
    conn->behind_at = bytes + end;
    give_request(conn, bytes, (size_t)end);
    return true;
}

/* ---- bodies ------------------------------------------------------------------------------------------------------- */

static void tell_body(vg_web_conn *conn, const char *piece, int64_t length)
{
    vigil_http_body_fn fn = conn->on_body;
    if (length <= 0) {
        conn->on_body = NULL;
        conn->end_due = false;
    }
    conn->server->calling = conn;
    fn(conn, piece, length, conn->body_arg);
    conn->server->calling = NULL;
}

/* The body will not be complete. status: what the client hears, if there is still room for an answer; 0: nothing. */
static void body_fail(vg_web_conn *conn, int error, int status)
{
    vigil_http_body_fn fn = conn->on_body;
    void *arg = conn->body_arg;
    const bool tell = conn->users && fn != NULL;
    conn->failed = error;
    conn->on_body = NULL;
    conn->end_due = false;
    conn->body_over = true;
    if (status != 0 && conn->framing == VG_WEB_NOT_STARTED)
        vg_web_conn_refuse(conn, status);
    else
        vg_web_conn_cut(conn, error);
    if (tell) { /* then it is the user's, and still there */
        conn->server->calling = conn;
        fn(conn, NULL, error, arg);
        conn->server->calling = NULL;
    }
}

/* Both sides of the exchange are over. */
static void exchange_over(vg_web_conn *conn)
{
    vg_web_chunks_end(&conn->chunks);
    if (conn->close_after || conn->server->ending) {
        vg_web_conn_finish(conn);
        return;
    }
    conn->state = VG_WEB_READ_HEAD;
    conn->looked = 0;
}

static bool step_body(vg_web_conn *conn, const char *bytes, size_t length, size_t *used)
{
    if (conn->users && conn->on_body == NULL)
        return false; /* nobody wants it now */
    if (conn->body_over) {
        if (!conn->end_due || !conn->users)
            return false; /* the answer is awaited */
        conn->behind = length;
        conn->behind_at = bytes;
        tell_body(conn, NULL, 0);
        return true;
    }
    const char *piece = bytes;
    size_t piece_length = length < conn->body_left ? length : (size_t)conn->body_left;
    if (length == 0)
        return false;
    if (conn->in_chunks) {
        const int64_t taken = vg_web_chunks_take(&conn->chunks, bytes, length, &piece, &piece_length);
        if (taken < 0) {
            body_fail(conn, (int)taken, taken == -EBADMSG ? 400 : taken == -EMSGSIZE ? 431 : 0);
            return false;
        }
        *used = (size_t)taken;
        conn->body_over = vg_web_chunks_over(&conn->chunks) != 0;
    } else {
        *used = piece_length;
        conn->body_left -= piece_length;
        conn->body_over = conn->body_left == 0;
    }
    conn->behind = length - *used;
    conn->behind_at = bytes + *used;
    conn->end_due = conn->body_over;
    conn->body_seen += piece_length;
    if (!conn->users) { /* thrown away */
        if (conn->body_over)
            exchange_over(conn);
        else if (conn->body_seen > DISCARD_MOST)
            vg_web_conn_finish(conn);
        return true;
    }
    if (conn->body_seen > conn->server->options.body_bytes) {
        body_fail(conn, -EMSGSIZE, 413);
        return false;
    }
    if (piece_length != 0)
        tell_body(conn, piece, (int64_t)piece_length);
    return true;
}

static void done_with_user(vg_web_conn *conn)
{
    conn->users = false;
    conn->server->waiting--;
    if (conn->collecting)
        vg_web_collect_stop(conn);
    if (conn->drained_promise != NULL)
        vg_web_settle_drained(conn, -ECANCELED);
    conn->on_body = NULL;
    conn->on_gone = conn->on_drained = NULL;
    conn->end_due = false;
    if (conn->kept != NULL) {
        free(conn->kept);
        conn->kept = NULL;
    }
    conn->head = NULL;
    if (conn->state == VG_WEB_GONE) {
        vg_web_conn_free(conn);
        return;
    }
    if (conn->state == VG_WEB_LINGER)
        return;
    if (conn->body_over)
        exchange_over(conn);
    else if (conn->close_after)
        vg_web_conn_finish(conn);
    else
        conn->body_seen = 0; /* what is left of it is thrown away */
}

void vg_web_conn_done(vg_web_conn *conn)
{
    if (conn->running) {
        done_with_user(conn);
        return;
    }
    conn->behind = conn->held_length;
    conn->running = true;
    done_with_user(conn);
    conn->running = false;
    if (conn->freed) {
        if (!conn->queued)
            conn_memory(conn);
    } else if (conn->state != VG_WEB_GONE) {
        vg_web_conn_later(conn);
        vg_web_clock_choose(conn);
    }
}

bool vg_web_body_is_long(const vg_web_conn *conn)
{
    return !conn->body_over && (conn->continue_due || (!conn->in_chunks && conn->body_left > DISCARD_MOST));
}

/* ---- the run ------------------------------------------------------------------------------------------------------ */

void vg_web_conn_run(vg_web_conn *conn, const char *bytes, size_t length)
{
    const bool from_held = conn->held_length != 0;
    if (from_held) {
        if (hold(conn, bytes, length) != 0) {
            vg_web_conn_cut(conn, -ENOMEM);
            return;
        }
        bytes = conn->held + conn->held_at;
        length = conn->held_length;
    }
    size_t at = 0;
    bool more = true;
    conn->running = true;
    while (more && !conn->clogged) {
        size_t used = 0;
        if (conn->state == VG_WEB_READ_HEAD)
            more = at < length && step_head(conn, bytes + at, length - at, &used);
        else if (conn->state == VG_WEB_EXCHANGE)
            more = step_body(conn, bytes + at, length - at, &used);
        else
            more = false;
        at += used;
    }
    conn->running = false;
    if (conn->freed) {
        if (!conn->queued)
            conn_memory(conn);
        return;
    }
    if (conn->state == VG_WEB_LINGER || conn->state == VG_WEB_GONE)
        at = length;
    if (from_held) {
        held_used(conn, at);
    } else if (hold(conn, bytes + at, length - at) != 0) {
        vg_web_conn_cut(conn, -ENOMEM);
        return;
    }
    if (conn->peer_ended && conn->state == VG_WEB_READ_HEAD && !conn->clogged) {
        conn_close(conn); /* nothing complete is left, and nothing more comes */
        return;
    }
    vg_web_clock_choose(conn);
    vg_web_conn_want(conn);
}

static void on_end(vg_web_conn *conn)
{
    conn->peer_ended = true;
    conn->reading = false;
    if (conn->state == VG_WEB_LINGER || conn->state == VG_WEB_READ_HEAD) {
        if (!conn->clogged)
            conn_close(conn);
    } else if (!conn->body_over && conn->state == VG_WEB_EXCHANGE) {
        body_fail(conn, -ECONNRESET, 0);
    }
}

static void on_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    vg_web_conn *conn = arg;
    (void)stream;
    if (vg_web_server_check(conn->server, conn) || conn->state == VG_WEB_GONE)
        return;
    if (length < 0) {
        conn->reading = false;
        vg_web_conn_cut(conn, (int)length);
    } else if (length == 0) {
        on_end(conn);
    } else if (conn->state == VG_WEB_LINGER) {
        conn->body_seen += (uint64_t)length;
        if (conn->body_seen > LINGER_MOST)
            conn_close(conn);
    } else {
        vg_web_conn_run(conn, data, (size_t)length);
    }
}

void vg_web_conn_late(vg_web_conn *conn)
{
    switch (conn->clock) {
    case VG_WEB_HEAD_CLOCK:
        vg_web_conn_refuse(conn, 408);
        break;
    case VG_WEB_BODY_CLOCK:
        body_fail(conn, -ETIMEDOUT, 408);
        break;
    case VG_WEB_SEND_CLOCK:
        vg_web_conn_cut(conn, -ETIMEDOUT);
        break;
    default:
        conn_close(conn);
        break;
    }
}
