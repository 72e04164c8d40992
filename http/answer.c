/* SPDX-License-Identifier: MIT */
/* Answers: their heads, their bodies by length, in chunks or up to the end, and what may not have one. */
#include "answer.h"

#include "out.h"
#include "trailers.h"
#include "turn.h"

#include <string.h>
#include <time.h>

/* ---- heads -------------------------------------------------------------------------------------------------------- */

static void add_status(vg_web_out *out, int status)
{
    if (status == 200) {
        vg_web_out_text(out, "HTTP/1.1 200 OK\r\n");
        return;
    }
    vg_web_out_text(out, "HTTP/1.1 ");
    vg_web_out_number(out, (uint64_t)status);
    vg_web_out_add(out, " ", 1);
    vg_web_out_text(out, vg_web_reason(status));
    vg_web_out_add(out, "\r\n", 2);
}

static void add_date(vg_web_out *out, vigil_http_server *server)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct timespec now;
    struct tm parts;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec != server->date_second && gmtime_r(&now.tv_sec, &parts) != NULL) {
        server->date_second = now.tv_sec;
        char *at = server->date; /* Sun, 06 Nov 1994 08:49:37 GMT: not strftime, whose names follow the locale */
        const int numbers[] = {parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec};
        memcpy(at, "Sun, 06 Nov 1994 08:49:37 GMT", 30);
        memcpy(at, days + 3 * parts.tm_wday, 3);
        memcpy(at + 8, months + 3 * parts.tm_mon, 3);
        static const int places[] = {5, 17, 20, 23};
        for (int i = 0; i < 4; i++) {
            at[places[i]] = (char)('0' + numbers[i] / 10);
            at[places[i] + 1] = (char)('0' + numbers[i] % 10);
        }
        const int year = parts.tm_year + 1900;
        for (int i = 0, rest = year; i < 4; i++, rest /= 10)
            at[15 - i] = (char)('0' + rest % 10);
    }
    vg_web_out_add(out, "date: ", 6);
    vg_web_out_add(out, server->date, 29);
    vg_web_out_add(out, "\r\n", 2);
}

void vg_web_answer_begin(vg_web_out *out, vigil_http_server *server, int status)
{
    add_status(out, status);
    add_date(out, server);
}

static bool has_no_body(const vg_web_conn *conn, int status)
{
    return conn->head->is_head || status == 204 || status == 304;
}

/* length negative: not known. */
static void add_head(vg_web_out *out, vg_web_conn *conn, int status, const vigil_http_field *fields, size_t count,
                     int64_t length)
{
    const unsigned minor = conn->head->minor;
    conn->close_after |= conn->server->ending || vg_web_body_is_long(conn) || conn->peer_ended;
    if (length < 0 && minor == 0 && !has_no_body(conn, status))
        conn->close_after = true;
    vg_web_answer_begin(out, conn->server, status);
    vg_web_out_fields(out, fields, count);
    if (status != 204 && status != 304) {
        if (length >= 0) {
            vg_web_out_text(out, "content-length: ");
            vg_web_out_number(out, (uint64_t)length);
            vg_web_out_add(out, "\r\n", 2);
        } else if (minor == 1) {
            vg_web_out_text(out, "transfer-encoding: chunked\r\n");
        }
    }
    if (conn->close_after)
        vg_web_out_text(out, "connection: close\r\n");
    else if (minor == 0)
        vg_web_out_text(out, "connection: keep-alive\r\n");
    vg_web_out_add(out, "\r\n", 2);
    if (has_no_body(conn, status))
        conn->framing = VG_WEB_NO_BODY;
    else if (length >= 0)
        conn->framing = VG_WEB_BY_LENGTH;
    else
        conn->framing = minor == 1 ? VG_WEB_BY_CHUNKS : VG_WEB_BY_END;
    conn->answer_left = length >= 0 ? (uint64_t)length : 0;
}

void vg_web_answer_fault(vg_web_conn *conn, int status)
{
    vg_web_out out;
    vg_web_out_begin(&out, conn->server->out, sizeof conn->server->out);
    vg_web_answer_begin(&out, conn->server, status);
    vg_web_out_text(&out, "content-length: 0\r\nconnection: close\r\n\r\n");
    (void)vg_web_conn_write(conn, out.bytes, out.length);
}

/* ---- the public calls --------------------------------------------------------------------------------------------- */

/* 0; -EINVAL; 1: nothing can be sent to this client any more. */
static int guard(const vigil_http_request *request)
{
    if (request == NULL)
        return vigil_why_set(-EINVAL, "request is NULL");
    if (!request->users)
        return vigil_why_set(-EINVAL, "the request is over");
    return request->failed != 0 || request->state != VG_WEB_EXCHANGE ? 1 : 0;
}

static int gone(const vigil_http_request *request)
{
    return vg_web_why(-EPIPE, "the request cannot be answered any more: %s",
                      request->failed != 0 ? strerror(-request->failed) : "its connection has ended");
}

/* What an answer must be before anything of it is sent. */
static int check(const vigil_http_request *request, int status, const vigil_http_field *fields, size_t count)
{
    if (status < 200 || status > 599)
        return vg_web_why(-EINVAL, "status is %d; it must be 200 to 599", status);
    if (request->head->is_connect && status < 300)
        return vg_web_why(-EINVAL, "status is %d, which opens a tunnel: that is vigil_http_upgrade", status);
    if (request->framing != VG_WEB_NOT_STARTED)
        return vigil_why_set(-EALREADY, "an answer to this request was started before");
    return vg_web_check_fields(fields, count);
}

int vigil_http_answer(vigil_http_request *request, int status, const vigil_http_field *fields, size_t count,
                      const void *body, size_t length)
{
    vg_web_out out;
    int error = guard(request);
    if (error < 0)
        return error;
    if (error > 0) {
        error = gone(request);
        vg_web_conn_done(request);
        return error;
    }
    error = check(request, status, fields, count);
    if (error != 0)
        return error;
    if (body == NULL && length != 0)
        return vigil_why_set(-EINVAL, "body is NULL, and length is not 0");
    vg_web_out_begin(&out, request->server->out, sizeof request->server->out);
    add_head(&out, request, status, fields, count, (int64_t)length);
    const bool sends_body = request->framing == VG_WEB_BY_LENGTH;
    const bool together = sends_body && length <= out.room - out.length;
    if (together)
        vg_web_out_add(&out, body, length);
    error = out.failed;
    if (error != 0) {
        vg_web_out_end(&out);
        request->framing = VG_WEB_NOT_STARTED;
        return vigil_why_set(error, "no memory for the head of an answer");
    }
    error = vg_web_conn_write(request, out.bytes, out.length);
    if (error >= 0 && sends_body && !together)
        error = vg_web_conn_write(request, body, length);
    vg_web_out_end(&out);
    request->framing = VG_WEB_ANSWERED;
    vg_web_conn_done(request);
    return error < 0 ? error : 0;
}

int vigil_http_answer_text(vigil_http_request *request, int status, const char *type, const char *text)
{
    const vigil_http_field field = {"content-type", type};
    if (text == NULL)
        return vigil_why_set(-EINVAL, "text is NULL");
    return vigil_http_answer(request, status, &field, 1, text, strlen(text));
}

int vigil_http_start(vigil_http_request *request, int status, const vigil_http_field *fields, size_t count,
                     int64_t length)
{
    vg_web_out out;
    int error = guard(request);
    if (error < 0)
        return error;
    if (error > 0)
        return gone(request);
    error = check(request, status, fields, count);
    if (error != 0)
        return error;
    vg_web_out_begin(&out, request->server->out, sizeof request->server->out);
    add_head(&out, request, status, fields, count, length);
    error = out.failed;
    if (error != 0)
        request->framing = VG_WEB_NOT_STARTED;
    else
        error = vg_web_conn_write(request, out.bytes, out.length);
    vg_web_out_end(&out);
    return error < 0 ? error : 0;
}

static int send_chunk(vigil_http_request *request, const void *data, size_t length)
{
    static const char hex[] = "0123456789abcdef";
    char line[18];
    size_t at = sizeof line;
    line[--at] = '\n';
    line[--at] = '\r';
    for (size_t rest = length; rest != 0; rest >>= 4)
        line[--at] = hex[rest & 15];
    int rc = vg_web_conn_write(request, line + at, sizeof line - at);
    if (rc >= 0)
        rc = vg_web_conn_write(request, data, length);
    return rc >= 0 ? vg_web_conn_write(request, "\r\n", 2) : rc;
}

int vigil_http_send(vigil_http_request *request, const void *data, size_t length)
{
    const int error = guard(request);
    if (error < 0)
        return error;
    if (error > 0)
        return gone(request);
    if (data == NULL && length != 0)
        return vigil_why_set(-EINVAL, "data is NULL, and length is not 0");
    if (length == 0)
        return request->clogged ? 1 : 0;
    switch (request->framing) {
    case VG_WEB_BY_LENGTH:
        if (length > request->answer_left)
            return vg_web_why(-EINVAL, "%zu bytes; only %llu are left of the length that was said", length,
                              (unsigned long long)request->answer_left);
        request->answer_left -= length;
        return vg_web_conn_write(request, data, length);
    case VG_WEB_BY_CHUNKS:
        return send_chunk(request, data, length);
    case VG_WEB_BY_END:
        return vg_web_conn_write(request, data, length);
    case VG_WEB_NO_BODY:
        return 0; /* HEAD: what is said of the body stands in the head */
    default:
        return vigil_why_set(-EINVAL, "no answer was started");
    }
}

static int send_last(vigil_http_request *request, const vigil_http_field *trailers, size_t count)
{
    vg_web_out out;
    vg_web_out_begin(&out, request->server->out, sizeof request->server->out);
    vg_web_out_add(&out, "0\r\n", 3);
    vg_web_out_fields(&out, trailers, count);
    vg_web_out_add(&out, "\r\n", 2);
    const int error = out.failed != 0 ? out.failed : vg_web_conn_write(request, out.bytes, out.length);
    vg_web_out_end(&out);
    return error;
}

int vigil_http_end_trailers(vigil_http_request *request, const vigil_http_field *trailers, size_t count)
{
    int error = guard(request);
    if (error < 0)
        return error;
    if (error > 0) {
        error = gone(request);
    } else if (request->framing == VG_WEB_NOT_STARTED) {
        return vigil_why_set(-EINVAL, "no answer was started");
    } else if (vg_web_check_trailers(trailers, count) != 0) {
        return -EINVAL;
    } else if (request->framing == VG_WEB_BY_LENGTH && count != 0) {
        return vigil_why_set(-EINVAL, "the answer has a length; only a body in chunks has trailers");
    } else if (request->framing == VG_WEB_BY_LENGTH && request->answer_left != 0) {
        error = vg_web_why(-ENODATA, "%llu bytes are missing of the length that was said",
                           (unsigned long long)request->answer_left);
        vg_web_conn_cut(request, error);
    } else if (request->framing == VG_WEB_BY_CHUNKS) {
        error = send_last(request, trailers, count);
        if (error == -ENOMEM)
            return vigil_why_set(error, "no memory for the trailers");
    }
    request->framing = VG_WEB_ANSWERED;
    vg_web_conn_done(request);
    return error < 0 ? error : 0;
}

int vigil_http_end(vigil_http_request *request)
{
    return vigil_http_end_trailers(request, NULL, 0);
}

int vigil_http_reset(vigil_http_request *request)
{
    const int error = guard(request);
    if (error < 0)
        return error;
    if (request->state == VG_WEB_EXCHANGE) /* else the server has answered by itself, and that must arrive */
        vg_web_conn_cut(request, -ECANCELED);
    vg_web_conn_done(request);
    return 0;
}

int vigil_http_on_drained(vigil_http_request *request, vigil_call_fn fn, void *arg)
{
    const int error = guard(request);
    if (error < 0)
        return error;
    if (fn != NULL && (request->on_drained != NULL || request->drained_promise != NULL))
        return vigil_why_set(-EBUSY, "somebody waits already");
    request->on_drained = fn;
    request->drained_arg = arg;
    if (fn != NULL && !request->clogged)
        vg_web_conn_later(request);
    return 0;
}

int vigil_promise_http_drained(vigil_http_request *request, vigil_cancel_token *token, vigil_promise **promise)
{
    vigil_promise *inner;
    int error = guard(request);
    if (error < 0)
        return error;
    if (promise == NULL)
        return vigil_why_set(-EINVAL, "promise is NULL");
    if (request->on_drained != NULL || request->drained_promise != NULL)
        return vigil_why_set(-EBUSY, "somebody waits already");
    error = vigil_promise_create(&inner, request->server->loop);
    if (error != 0)
        return error;
    if (token == NULL)
        *promise = vigil_promise_ref(inner);
    else
        error = vigil_promise_guard(inner, token, VIGIL_FOREVER, promise);
    if (error != 0) {
        vigil_promise_unref(inner);
        return error;
    }
    request->drained_promise = inner;
    if (!request->clogged)
        vg_web_conn_later(request);
    return 0;
}
