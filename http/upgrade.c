/* SPDX-License-Identifier: MIT */
/* A request that ends HTTP on its connection: the stream, and what was read of it too early, go to the user. */
#include "answer.h"
#include "out.h"
#include "turn.h"

#include <string.h>
#include <strings.h>

bool vigil_http_asks_upgrade(const vigil_http_request *request, const char *protocol)
{
    return request != NULL && request->head != NULL && protocol != NULL &&
           vg_web_head_offers(request->head, request->head_bytes, protocol);
}

/* 0, or why this request cannot be taken so; then it is still the user's. */
static int check(const vigil_http_request *request, const char *protocol, const vigil_http_field *fields, size_t count)
{
    if (request->framing != VG_WEB_NOT_STARTED)
        return vigil_why_set(-EALREADY, "an answer to this request was started before");
    if (request->head->is_connect && protocol != NULL)
        return vigil_why_set(-EINVAL, "protocol is not NULL, and the method is CONNECT");
    if (!request->head->is_connect && protocol == NULL)
        return vigil_why_set(-EINVAL, "protocol is NULL, and the method is not CONNECT");
    if (protocol != NULL && !vigil_http_asks_upgrade(request, protocol))
        return vg_web_why(-EINVAL, "the client does not ask for the protocol '%.60s'", protocol);
    if (!request->body_over)
        return vigil_why_set(-EBUSY, "the request has a body that is not read to its end");
    const int error = vg_web_check_fields(fields, count);
    if (error != 0)
        return error;
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(fields[i].name, "upgrade") == 0)
            return vigil_why_set(-EINVAL, "the field 'upgrade' is the library's own here");
    return 0;
}

static int send_head(vigil_http_request *request, const char *protocol, const vigil_http_field *fields, size_t count)
{
    vg_web_out out;
    vg_web_out_begin(&out, request->server->out, sizeof request->server->out);
    vg_web_answer_begin(&out, request->server, protocol != NULL ? 101 : 200);
    vg_web_out_fields(&out, fields, count);
    if (protocol != NULL) {
        vg_web_out_text(&out, "upgrade: ");
        vg_web_out_text(&out, protocol);
        vg_web_out_text(&out, "\r\nconnection: upgrade\r\n");
    }
    vg_web_out_add(&out, "\r\n", 2);
    int rc = out.failed;
    if (rc == 0) {
        rc = vigil_stream_write(request->stream, out.bytes, out.length);
        if (rc < 0)
            vg_web_conn_cut(request, rc);
        rc = rc < 0 ? -EPIPE : 0;
    }
    vg_web_out_end(&out);
    return rc;
}

/* The stream is nobody's: the connection neither reads it nor waits for it. */
static int let_go(vigil_http_request *request)
{
    int error = 0;
    if (request->reading)
        error = vigil_stream_on_data(request->stream, NULL, NULL);
    if (error != 0)
        return error;
    request->reading = false;
    if (request->clogged)
        (void)vigil_stream_on_drained(request->stream, NULL, NULL);
    request->clogged = false;
    return 0;
}

int vigil_http_upgrade(vigil_http_request *request, const char *protocol, const vigil_http_field *fields, size_t count,
                       vigil_http_text *rest, vigil_stream **stream)
{
    if (request == NULL || rest == NULL || stream == NULL)
        return vigil_why_set(-EINVAL, "request, rest or stream is NULL");
    if (!request->users)
        return vigil_why_set(-EINVAL, "the request is over");
    int error = 0;
    if (request->failed != 0 || request->state != VG_WEB_EXCHANGE) {
        error = vigil_why_set(-EPIPE, "the client has gone");
        vg_web_conn_done(request);
        return error;
    }
    error = check(request, protocol, fields, count);
    if (error != 0)
        return error;
    /* *rest lies in the connection: its memory stays until the run is over, or until this turn is. */
    if (!request->running)
        vg_web_conn_later(request);
    if (!request->running && !request->queued)
        return vigil_why_set(-ESHUTDOWN, "the loop is ending");
    error = send_head(request, protocol, fields, count);
    if (error == 0) {
        error = let_go(request);
        if (error != 0)
            vg_web_conn_cut(request, error);
    } else if (error == -ENOMEM) {
        return vigil_why_set(error, "no memory for the head of an answer");
    }
    request->framing = VG_WEB_ANSWERED;
    if (error != 0) {
        vg_web_conn_done(request);
        return vigil_why_set(-EPIPE, "the client has gone");
    }
    *stream = request->stream;
    if (request->running)
        *rest = (vigil_http_text){request->behind_at, request->behind};
    else
        *rest = (vigil_http_text){request->held + request->held_at, request->held_length};
    if (rest->length == 0)
        rest->at = NULL;
    vg_web_conn_left(request);
    vg_web_conn_done(request);
    return 0;
}
