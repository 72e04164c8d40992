/* SPDX-License-Identifier: MIT */
/* What a request says: its head, and its body as calls or as a promise. */
#include "body.h"

#include "turn.h"

#include <stdlib.h>
#include <string.h>

/* ---- the head ----------------------------------------------------------------------------------------------------- */

const char *vigil_http_method(const vigil_http_request *request)
{
    return request != NULL && request->head != NULL ? request->head->method : "";
}

vigil_http_text vigil_http_target(const vigil_http_request *request)
{
    if (request == NULL || request->head == NULL)
        return (vigil_http_text){NULL, 0};
    return (vigil_http_text){request->head_bytes + request->head->target.at, request->head->target.length};
}

vigil_http_text vigil_http_path(const vigil_http_request *request)
{
    vigil_http_text text = vigil_http_target(request);
    const char *mark = text.at != NULL ? memchr(text.at, '?', text.length) : NULL;
    if (mark != NULL)
        text.length = (size_t)(mark - text.at);
    return text;
}

vigil_http_text vigil_http_query(const vigil_http_request *request)
{
    const vigil_http_text text = vigil_http_target(request);
    const char *mark = text.at != NULL ? memchr(text.at, '?', text.length) : NULL;
    if (mark == NULL)
        return (vigil_http_text){NULL, 0};
    return (vigil_http_text){mark + 1, text.length - (size_t)(mark + 1 - text.at)};
}

vigil_http_text vigil_http_header(const vigil_http_request *request, const char *name)
{
    if (request == NULL || request->head == NULL || name == NULL)
        return (vigil_http_text){NULL, 0};
    return vg_web_head_field(request->head, request->head_bytes, name);
}

int vigil_http_header_at(const vigil_http_request *request, size_t index, vigil_http_text *name, vigil_http_text *value)
{
    if (request == NULL || request->head == NULL || index >= request->head->count || name == NULL || value == NULL)
        return -ENOENT;
    const vg_web_pair *pair = &request->head->fields[index];
    *name = (vigil_http_text){request->head_bytes + pair->name.at, pair->name.length};
    *value = (vigil_http_text){request->head_bytes + pair->value.at, pair->value.length};
    return 0;
}

/* Those of a body that is complete. */
static const vg_web_trailers *trailers_of(const vigil_http_request *request)
{
    const bool complete = request != NULL && request->head != NULL && request->in_chunks && request->body_over;
    return complete && vg_web_chunks_over(&request->chunks) != 0 ? request->chunks.trailers : NULL;
}

vigil_http_text vigil_http_trailer(const vigil_http_request *request, const char *name)
{
    return vg_web_trailers_find(trailers_of(request), name);
}

int vigil_http_trailer_at(const vigil_http_request *request, size_t index, vigil_http_text *name,
                          vigil_http_text *value)
{
    if (name == NULL || value == NULL)
        return -ENOENT;
    return vg_web_trailers_at(trailers_of(request), index, name, value);
}

int64_t vigil_http_length(const vigil_http_request *request)
{
    if (request == NULL || request->head == NULL)
        return 0;
    if (request->head->chunked)
        return -1;
    return request->head->has_length ? (int64_t)request->head->length : 0;
}

int vigil_http_peer(const vigil_http_request *request, vigil_address *address)
{
    if (request == NULL || address == NULL)
        return vigil_why_set(-EINVAL, "request or address is NULL");
    if (request->stream == NULL)
        return vigil_why_set(-EBADF, "the client has gone");
    return vigil_stream_peer(request->stream, address);
}

vigil_loop *vigil_http_loop(const vigil_http_request *request)
{
    return request != NULL ? request->server->loop : NULL;
}

/* ---- the body ----------------------------------------------------------------------------------------------------- */

static int guard_body(const vigil_http_request *request)
{
    if (request == NULL || !request->users)
        return vigil_why_set(-EINVAL, "request is NULL or over");
    if ((request->body_over && !request->end_due) || request->state != VG_WEB_EXCHANGE)
        return vigil_why_set(-EALREADY, "the body has ended before, or has failed");
    return 0;
}

static void want_body(vigil_http_request *request, vigil_http_body_fn fn, void *arg)
{
    request->on_body = fn;
    request->body_arg = arg;
    if (fn != NULL && request->continue_due) {
        request->continue_due = false;
        if (request->framing == VG_WEB_NOT_STARTED)
            (void)vg_web_conn_write(request, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    }
    if (request->running)
        return; /* the run goes on with it */
    vg_web_conn_later(request);
    vg_web_clock_choose(request);
}

int vigil_http_on_body(vigil_http_request *request, vigil_http_body_fn fn, void *arg)
{
    const int error = guard_body(request);
    if (error != 0)
        return error;
    if (request->collecting)
        return vigil_why_set(-EINVAL, "vigil_promise_http_body reads this body");
    want_body(request, fn, arg);
    return 0;
}

int vigil_http_on_gone(vigil_http_request *request, vigil_call_fn fn, void *arg)
{
    if (request == NULL || !request->users)
        return vigil_why_set(-EINVAL, "request is NULL or over");
    if (fn != NULL && request->state != VG_WEB_EXCHANGE)
        return vigil_why_set(-EALREADY, "the client has gone already");
    request->on_gone = fn;
    request->gone_arg = arg;
    return 0;
}

/* What the user gets, and its bytes behind it. */
typedef struct collected {
    vigil_http_bytes bytes; /* first */
    char room[];
} collected;

typedef struct collector {
    vigil_promise *promise;
    collected *block;
    size_t room, most;
} collector;

static void collect_over(vg_web_conn *conn, int error)
{
    collector *it = conn->body_arg;
    conn->collecting = false;
    conn->on_body = NULL;
    if (error == 0) {
        it->block->room[it->block->bytes.length] = 0;
        it->block->bytes.data = it->block->room;
        if (vigil_promise_resolve(it->promise, vigil_value_pointer(it->block, free)) != 0)
            free(it->block);
    } else {
        free(it->block);
        (void)vigil_promise_reject(it->promise, vigil_value_error(error));
    }
    vigil_promise_unref(it->promise);
    free(it);
}

void vg_web_collect_stop(vg_web_conn *conn)
{
    collect_over(conn, -ECANCELED);
}

static void collect(vigil_http_request *request, const void *data, int64_t length, void *arg)
{
    collector *it = arg;
    if (length <= 0) {
        collect_over(request, (int)length);
        return;
    }
    const size_t need = it->block->bytes.length + (size_t)length;
    if (need > it->most) {
        collect_over(request, -EMSGSIZE);
        return;
    }
    if (need > it->room) {
        const size_t room = need * 2 < it->most ? need * 2 : it->most;
        collected *block = realloc(it->block, sizeof *block + room + 1);
        if (block == NULL) {
            collect_over(request, -ENOMEM);
            return;
        }
        it->block = block;
        it->room = room;
    }
    memcpy(it->block->room + it->block->bytes.length, data, (size_t)length);
    it->block->bytes.length = need;
}

static int make_collector(collector **made, vigil_http_request *request, size_t most)
{
    const int64_t length = vigil_http_length(request);
    collector *it = calloc(1, sizeof *it);
    if (it == NULL)
        return -ENOMEM;
    it->most = most;
    it->room = length > 0 && (uint64_t)length <= most ? (size_t)length : 0;
    it->block = malloc(sizeof *it->block + it->room + 1);
    if (it->block == NULL) {
        free(it);
        return -ENOMEM;
    }
    it->block->bytes.length = 0;
    *made = it;
    return 0;
}

int vigil_promise_http_body(vigil_http_request *request, size_t most, vigil_cancel_token *token,
                            vigil_promise **promise)
{
    collector *it;
    int error = guard_body(request);
    if (error == 0 && promise == NULL)
        error = vigil_why_set(-EINVAL, "promise is NULL");
    if (error == 0 && request->on_body != NULL)
        error = vigil_why_set(-EBUSY, "somebody reads this body");
    if (error == 0)
        error = make_collector(&it, request, most);
    if (error != 0)
        return error;
    error = vigil_promise_create(&it->promise, request->server->loop);
    if (error == 0) {
        if (token == NULL)
            *promise = vigil_promise_ref(it->promise);
        else
            error = vigil_promise_guard(it->promise, token, VIGIL_FOREVER, promise);
        if (error != 0)
            vigil_promise_unref(it->promise);
    }
    if (error != 0) {
        free(it->block);
        free(it);
        return error;
    }
    request->collecting = true;
    want_body(request, collect, it);
    return 0;
}
