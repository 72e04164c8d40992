/* SPDX-License-Identifier: MIT */
/* One connection: reading, writing, deadlines, its end. */
#include "http_conn.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "http_parse.h"
#include "http_server.h"

#define LINGER_NS 2000000000U
#define GRACE_NS  2000000000U

/* ---- what the loop looks for ------------------------------------------------------------------------------------ */

/* Reading stops when the client has ended, when what it sent ahead waits here, and when nobody takes the body. */
static bool wants_to_read(const vg_http_conn *conn)
{
    if (conn->ended)
        return false;
    if (conn->lingering)
        return true;
    if (conn->shut_after)
        return false;
    if (conn->faulty)
        return conn->told;
    if (conn->state == VG_HTTP_ANSWERING && !conn->dumping)
        return conn->whole ? conn->waiting.length == 0 : !conn->paused;
    return conn->waiting.length == 0;
}

static void watch(vg_http_conn *conn)
{
    unsigned events =
        (wants_to_read(conn) ? VIGIL_FD_READ : 0) | (conn->out.length > 0 && !conn->held ? VIGIL_FD_WRITE : 0);
    if (conn->fd < 0 || events == conn->watched)
        return;
    /* Errors and hang-ups are reported in any case. -ENOMEM leaves the watch as it was; the next event tries again. */
    if (vigil_watch_modify(conn->http->js->loop, conn->watch, events) == 0)
        conn->watched = events;
}

/* ---- deadlines -------------------------------------------------------------------------------------------------- */

void vg_http_conn_deadline(vg_http_conn *conn, uint64_t after_ns, bool idle)
{
    conn->deadline_is_idle = idle;
    conn->deadline = after_ns ? vigil_loop_now(conn->http->js->loop) + after_ns : 0;
    if (conn->deadline)
        vg_http_timer_before(conn->http, conn->deadline);
}

void vg_http_conn_expired(vg_http_conn *conn)
{
    conn->deadline = 0;
    if (conn->lingering || conn->deadline_is_idle) {
        vg_http_conn_close(conn, conn->state == VG_HTTP_ANSWERING && !conn->lingering ? ECONNRESET : 0);
        return;
    }
    vg_http_fault(conn, 408, "ERR_HTTP_REQUEST_TIMEOUT", "Request timeout");
    vg_http_add(conn->http, VG_HTTP_EVENT_FAULT, conn->id, conn->fault, conn->state == VG_HTTP_ANSWERING ? 1 : 0);
    vg_http_arm(conn->http);
    watch(conn);
}

static void grace(vg_http_conn *conn)
{
    if (conn->ended && !conn->server->half_open)
        vg_http_conn_deadline(conn, GRACE_NS, true);
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

vg_http_conn *vg_http_conn_new(vg_http_server *server, int fd)
{
    vg_http *http = server->http;
    vg_http_conn *conn = calloc(1, sizeof *conn);
    int one = 1;
    if (!conn)
        return NULL;
    conn->http = http;
    conn->server = server;
    conn->fd = fd;
    conn->watched = VIGIL_FD_READ;
    vg_http_parse_begin(conn);
    if (!server->path)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (vigil_watch_add(http->js->loop, fd, VIGIL_FD_READ, 0, vg_http_conn_event, NULL, conn, &conn->watch) < 0) {
        free(conn);
        return NULL;
    }
    vg_http_conn_deadline(conn, server->headers_timeout, false);
    return conn;
}

void vg_http_conn_close(vg_http_conn *conn, int error)
{
    if (conn->fd < 0)
        return;
    vigil_watch_remove(conn->http->js->loop, conn->watch);
    close(conn->fd);
    conn->fd = -1;
    conn->deadline = 0;
    conn->fault = error;
    vg_buffer_free(&conn->out);
    vg_buffer_free(&conn->waiting);
    vg_http_later(conn);
    vg_http_fed(conn->http);
}

void vg_http_conn_free(vg_http_conn *conn)
{
    vg_buffer_free(&conn->head);
    vg_buffer_free(&conn->last_head);
    vg_buffer_free(&conn->trailer);
    vg_buffer_free(&conn->fault_packet);
    vg_buffer_free(&conn->body);
    vg_buffer_free(&conn->waiting);
    vg_buffer_free(&conn->out);
    free(conn);
}

/* Closing a socket that has unread bytes makes the kernel throw away what the client has not read yet, the answer among it.
   So where bytes may still come, only our side is shut, and they are read and thrown away for a moment. */
void vg_http_conn_finish(vg_http_conn *conn)
{
    conn->shut_after = true;
    if (conn->fd < 0 || conn->lingering)
        return;
    if (conn->out.length > 0) {
        watch(conn);
        return;
    }
    if (conn->ended || (conn->whole && conn->waiting.length == 0 && !conn->faulty)) {
        vg_http_conn_close(conn, 0);
        return;
    }
    if (shutdown(conn->fd, SHUT_WR) < 0) {
        vg_http_conn_close(conn, errno);
        return;
    }
    conn->lingering = true;
    vg_buffer_free(&conn->waiting);
    vg_http_conn_deadline(conn, LINGER_NS, true);
    watch(conn);
}

bool vg_http_conn_idle(const vg_http_conn *conn)
{
    return conn->state == VG_HTTP_READING && conn->request_began == 0 && conn->waiting.length == 0 &&
           conn->out.length == 0;
}

/* The answer is complete, and so is the request, unless its rest is of no interest. The next one may begin when nothing of the answer
   is queued any more: a client that asks and asks and never reads would fill the memory. */
static void proceed(vg_http_conn *conn)
{
    if (!conn->answered || conn->out.length > 0 || conn->fd < 0)
        return;
    if (conn->shut_after) {
        vg_http_conn_finish(conn);
        return;
    }
    if (!conn->whole) {
        if (conn->ended)
            vg_http_conn_close(conn, 0);
        return;
    }
    conn->state = VG_HTTP_READING;
    conn->answered = conn->dumping = conn->paused = false;
    conn->request_began = 0;
    if (conn->server->closing) {
        vg_http_conn_finish(conn);
        return;
    }
    conn->whole = false;
    if (conn->waiting.length > 0)
        vg_http_later(conn);
    else if (conn->ended)
        vg_http_conn_close(conn, 0);
    else
        vg_http_conn_deadline(conn, conn->server->idle_timeout, true);
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static void feed(vg_http_conn *conn, const unsigned char *data, size_t length)
{
    bool dumping = conn->dumping;
    if (conn->request_began == 0) {
        conn->request_began = vigil_loop_now(conn->http->js->loop);
        if (conn->deadline_is_idle || !conn->deadline)
            vg_http_conn_deadline(conn, conn->server->headers_timeout, false);
    }
    vg_http_parse(conn, data, length);
    if (conn->deadline)
        vg_http_timer_before(conn->http, conn->deadline);
    if (dumping && conn->faulty)
        vg_http_conn_close(conn, 0);
    else
        proceed(conn);
    vg_http_arm(conn->http);
}

static void client_ended(vg_http_conn *conn)
{
    conn->ended = true;
    if (conn->lingering || vg_http_conn_idle(conn) || (conn->dumping && conn->out.length == 0)) {
        vg_http_conn_close(conn, 0);
    } else if (conn->told) {
        vg_http_conn_finish(conn); /* behind what the program has sent */
    } else if (conn->faulty || conn->dumping) {
        watch(conn); /* the answer is on its way */
    } else if (conn->state == VG_HTTP_ANSWERING) {
        /* In the midst of a body nobody is left who could be answered. After it the client has gone, or just has nothing more to
           say: the two look the same until something is sent. The connection gets some time, and again with everything that is sent. */
        if (!conn->whole)
            vg_http_conn_close(conn, ECONNRESET);
        else
            grace(conn);
    } else if (conn->waiting.length == 0) {
        vg_http_fault(conn, 400, "HPE_INVALID_EOF_STATE", "Invalid EOF state");
        vg_http_add(conn->http, VG_HTTP_EVENT_FAULT, conn->id, conn->fault, 0);
        vg_http_arm(conn->http);
    }
    watch(conn);
}

static void readable(vg_http_conn *conn)
{
    vg_http *http = conn->http;
    ssize_t count;
    if (!vg_http_room(http))
        return; /* the loop reports it again */
    count = recv(conn->fd, http->buffer, sizeof http->buffer, 0);
    if (count == 0) {
        client_ended(conn);
    } else if (count < 0) {
        if (errno != EAGAIN && errno != EINTR)
            vg_http_conn_close(conn, errno);
    } else if (conn->lingering || conn->faulty) {
        return;
    } else if (conn->state == VG_HTTP_ANSWERING && conn->whole) {
        /* The next request, or several: they wait. */
        if (!vg_buffer_add(&conn->waiting, http->buffer, (size_t)count))
            vg_http_conn_close(conn, ENOMEM);
        watch(conn);
    } else {
        feed(conn, http->buffer, (size_t)count);
        watch(conn);
    }
}

/* A program that was told of a fault answers it, or does nothing: then the connection ends when the client does. One that has ended
   already is given a moment. */
void vg_http_conn_told(vg_http_conn *conn)
{
    if (conn->fd < 0 || !conn->faulty || conn->shut_after)
        return;
    conn->told = true;
    if (conn->ended)
        vg_http_conn_deadline(conn, GRACE_NS, true);
    watch(conn);
}

void vg_http_conn_turn(vg_http_conn *conn)
{
    if (conn->fd < 0) {
        vg_http_add(conn->http, VG_HTTP_EVENT_CLOSED, conn->id, conn->fault, 0);
        return;
    }
    if (conn->tell_drain && conn->out.length == 0) {
        conn->tell_drain = false;
        vg_http_add(conn->http, VG_HTTP_EVENT_DRAIN, conn->id, 0, 0);
    }
    if (conn->state == VG_HTTP_READING && conn->waiting.length > 0 && !conn->faulty && !conn->shut_after) {
        vg_buffer waiting = conn->waiting;
        conn->waiting = (vg_buffer){0};
        feed(conn, waiting.data + waiting.start, waiting.length);
        vg_buffer_free(&waiting);
        if (conn->fd >= 0 && conn->ended && !conn->faulty && conn->state == VG_HTTP_READING) {
            vg_http_fault(conn, 400, "HPE_INVALID_EOF_STATE", "Invalid EOF state");
            vg_http_add(conn->http, VG_HTTP_EVENT_FAULT, conn->id, conn->fault, 0);
        }
        watch(conn);
    }
}

void vg_http_conn_pause(vg_http_conn *conn, bool pause)
{
    conn->paused = pause;
    watch(conn);
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* False: the connection is gone. */
static bool flush(vg_http_conn *conn)
{
    ssize_t count = send(conn->fd, conn->out.data + conn->out.start, conn->out.length, MSG_NOSIGNAL);
    if (count >= 0) {
        vg_buffer_drop(&conn->out, (size_t)count);
        grace(conn);
    } else if (errno != EAGAIN && errno != EINTR) {
        vg_http_conn_close(conn, errno);
        return false;
    }
    if (conn->out.length == 0 && conn->tell_drain)
        vg_http_later(conn);
    return true;
}

static void writable(vg_http_conn *conn)
{
    if (conn->out.length > 0 && !conn->held && !flush(conn))
        return;
    proceed(conn);
    watch(conn);
}

void vg_http_conn_event(vigil_loop *loop, vigil_watch which, int fd, unsigned events, void *arg)
{
    vg_http_conn *conn = arg;
    (void)loop;
    (void)which;
    (void)fd;
    if (events & (VIGIL_FD_ERROR | VIGIL_FD_GONE)) {
        vg_http_conn_close(conn, ECONNRESET);
        return;
    }
    if (events & VIGIL_FD_WRITE)
        writable(conn);
    if (conn->fd < 0)
        return;
    if (events & VIGIL_FD_READ)
        readable(conn);
    else if (events & VIGIL_FD_HANGUP)
        vg_http_conn_close(conn, ECONNRESET); /* both sides are down, and nothing is left to read */
}

/* Straight to the kernel if nothing is queued; the rest, or all of it, is queued. False: the connection is gone. */
static bool put(vg_http_conn *conn, struct iovec *pieces, unsigned count, bool direct)
{
    size_t sent = 0;
    if (direct) {
        struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
        ssize_t done = count == 1 ? send(conn->fd, pieces->iov_base, pieces->iov_len, MSG_NOSIGNAL)
                                  : sendmsg(conn->fd, &message, MSG_NOSIGNAL);
        if (done < 0 && errno != EAGAIN && errno != EINTR) {
            vg_http_conn_close(conn, errno);
            return false;
        }
        sent = done > 0 ? (size_t)done : 0;
        grace(conn);
    }
    for (unsigned i = 0; i < count; i++) {
        size_t skip = sent < pieces[i].iov_len ? sent : pieces[i].iov_len;
        sent -= skip;
        if (skip < pieces[i].iov_len &&
            !vg_buffer_add(&conn->out, (char *)pieces[i].iov_base + skip, pieces[i].iov_len - skip)) {
            vg_http_conn_close(conn, ENOMEM);
            return false;
        }
    }
    return true;
}

double vg_http_send(vg_http_conn *conn, struct iovec *pieces, unsigned count, unsigned flags)
{
    bool hold = flags & VG_HTTP_SEND_HOLD, waits = conn->out.length > 0 && !conn->held;
    if (conn->fd < 0 || conn->lingering)
        return -1;
    if (count > 0 && !put(conn, pieces, count, !hold && conn->out.length == 0))
        return -1;
    conn->held = hold && !waits;
    if (!hold && !waits && conn->out.length > 0 && !flush(conn))
        return -1;
    if (flags & VG_HTTP_SEND_SHUT)
        conn->shut_after = true;
    if (conn->out.length > 0 && (!conn->held || conn->out.length >= VG_LIMIT_HTTP_HIGH))
        conn->tell_drain = true;
    if (flags & VG_HTTP_SEND_LAST) {
        conn->answered = true;
        if (!conn->whole) {
            conn->dumping = true;
            conn->paused = false;
            vg_buffer_free(&conn->body);
        }
        proceed(conn);
    }
    watch(conn);
    return conn->fd < 0 ? 0 : (double)conn->out.length;
}
