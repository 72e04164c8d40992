/* SPDX-License-Identifier: MIT */
/* One call of a client: copied, sent, answered, perhaps sent elsewhere, settled. */
#include "call.h"

#include "link.h"
#include "upload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the answer --------------------------------------------------------------------------------------------------- */

static void response_destroy(void *pointer)
{
    vigil_http_response *response = pointer;
    if (response == NULL)
        return;
    (void)vigil_stream_close(response->stream);
    free(response->kept);
    free(response->trailers);
    free(response->body);
    free(response);
}

int vigil_http_response_status(const vigil_http_response *response)
{
    return response != NULL ? response->head->status : 0;
}

vigil_http_text vigil_http_response_header(const vigil_http_response *response, const char *name)
{
    if (response == NULL || name == NULL)
        return (vigil_http_text){NULL, 0};
    return vg_web_head_field(response->head, response->head_bytes, name);
}

int vigil_http_response_header_at(const vigil_http_response *response, size_t index, vigil_http_text *name,
                                  vigil_http_text *value)
{
    if (response == NULL || index >= response->head->count || name == NULL || value == NULL)
        return -ENOENT;
    const vg_web_pair *pair = &response->head->fields[index];
    *name = (vigil_http_text){response->head_bytes + pair->name.at, pair->name.length};
    *value = (vigil_http_text){response->head_bytes + pair->value.at, pair->value.length};
    return 0;
}

vigil_http_text vigil_http_response_trailer(const vigil_http_response *response, const char *name)
{
    return vg_web_trailers_find(response != NULL ? response->trailers : NULL, name);
}

int vigil_http_response_trailer_at(const vigil_http_response *response, size_t index, vigil_http_text *name,
                                   vigil_http_text *value)
{
    if (response == NULL || name == NULL || value == NULL)
        return -ENOENT;
    return vg_web_trailers_at(response->trailers, index, name, value);
}

vigil_http_text vigil_http_response_body(const vigil_http_response *response)
{
    if (response == NULL)
        return (vigil_http_text){NULL, 0};
    return (vigil_http_text){response->body != NULL ? response->body : "", response->length};
}

int vigil_http_response_take(vigil_http_response *response, vigil_stream **stream)
{
    if (response == NULL || stream == NULL)
        return vigil_why_set(-EINVAL, "response or stream is NULL");
    if (response->stream == NULL)
        return vigil_why_set(-ENOTCONN, "the answer has no stream, or it was taken before");
    *stream = response->stream;
    response->stream = NULL;
    return 0;
}

int vg_web_call_switches(const vg_web_call *call)
{
    const vigil_http_response *response = call->response;
    const int status = response->head->status;
    if (call->tunnel != NULL && status >= 200 && status < 300)
        return 1;
    if (status != 101)
        return 0;
    if (call->upgrade == NULL || !vg_web_head_accepts(response->head, response->head_bytes, call->upgrade))
        return -EBADMSG;
    return 1;
}

int vg_web_call_hand_over(vg_web_call *call, vigil_stream *stream, const char *bytes, size_t length)
{
    vigil_http_response *response = call->response;
    char *body = malloc(length + 1);
    if (body == NULL)
        return -ENOMEM;
    if (length != 0)
        memcpy(body, bytes, length);
    body[length] = 0;
    response->body = body;
    response->length = length;
    response->stream = stream;
    return 0;
}

int vg_web_call_head(vg_web_call *call, const char *bytes, size_t length)
{
    const vg_web_head *head = &call->client->head;
    const size_t fields = offsetof(vg_web_head, fields) + head->count * sizeof *head->fields;
    const size_t before = (fields + 15) / 16 * 16;
    vigil_http_response *response = calloc(1, sizeof *response);
    char *kept = malloc(before + length);
    if (response == NULL || kept == NULL) {
        free(response);
        free(kept);
        return -ENOMEM;
    }
    memcpy(kept, head, fields);
    memcpy(kept + before, bytes, length);
    response->kept = kept;
    response->head = (const vg_web_head *)(void *)kept;
    response->head_bytes = kept + before;
    call->response = response;
    return 0;
}

int vg_web_call_piece(vg_web_call *call, const char *bytes, size_t length)
{
    vigil_http_response *response = call->response;
    if (call->on_body != NULL) {
        call->on_body(response, bytes, length, call->user);
        return 0;
    }
    if (length > call->most_body - response->length)
        return -EMSGSIZE;
    if (response->room - response->length < length + 1) {
        const uint64_t whole = response->head->has_length ? response->head->length + 1 : 0;
        size_t room = (response->length + length) * 2 + 1;
        if (whole > room && whole <= call->most_body)
            room = (size_t)whole;
        char *body = realloc(response->body, room);
        if (body == NULL)
            return -ENOMEM;
        response->body = body;
        response->room = room;
    }
    memcpy(response->body + response->length, bytes, length);
    response->length += length;
    response->body[response->length] = 0;
    return 0;
}

/* ---- the request -------------------------------------------------------------------------------------------------- */

/* What belongs to one host is not sent to another. */
static bool is_secret(const char *name)
{
    return strcasecmp(name, "authorization") == 0 || strcasecmp(name, "cookie") == 0 ||
           strcasecmp(name, "proxy-authorization") == 0;
}

void vg_web_call_write(const vg_web_call *call, vg_web_out *out)
{
    vg_web_url url;
    (void)vg_web_url_read(&url, call->url); /* it was read before */
    bool has_host = call->tunnel != NULL;
    for (size_t i = 0; i < call->count; i++)
        has_host |= strcasecmp(call->fields[i].name, "host") == 0;
    vg_web_out_text(out, call->method);
    vg_web_out_add(out, " ", 1);
    if (call->tunnel != NULL) {
        vg_web_out_text(out, call->tunnel);
        vg_web_out_text(out, " HTTP/1.1\r\nhost: ");
        vg_web_out_text(out, call->tunnel);
        vg_web_out_add(out, "\r\n", 2);
    } else {
        if (url.target_length == 0 || url.target[0] != '/')
            vg_web_out_add(out, "/", 1);
        vg_web_out_add(out, url.target, url.target_length);
        vg_web_out_text(out, " HTTP/1.1\r\n");
    }
    if (!has_host) {
        vg_web_out_text(out, url.brackets ? "host: [" : "host: ");
        vg_web_out_text(out, url.host);
        vg_web_out_text(out, url.brackets ? "]" : "");
        if (url.port != (url.secure ? 443U : 80U)) {
            vg_web_out_add(out, ":", 1);
            vg_web_out_number(out, url.port);
        }
        vg_web_out_add(out, "\r\n", 2);
    }
    for (size_t i = 0; i < call->count; i++)
        if (!call->cross || !is_secret(call->fields[i].name))
            vg_web_out_fields(out, &call->fields[i], 1);
    if (call->upgrade != NULL) {
        vg_web_out_text(out, "upgrade: ");
        vg_web_out_text(out, call->upgrade);
        vg_web_out_text(out, "\r\nconnection: upgrade\r\n");
    }
    if (call->next_body != NULL && call->body_length < 0) {
        vg_web_out_text(out, "transfer-encoding: chunked\r\n");
    } else if (call->next_body != NULL) {
        vg_web_out_text(out, "content-length: ");
        vg_web_out_number(out, (uint64_t)call->body_length);
        vg_web_out_add(out, "\r\n", 2);
    } else if (call->length != 0 || strcmp(call->method, "POST") == 0 || strcmp(call->method, "PUT") == 0) {
        vg_web_out_text(out, "content-length: ");
        vg_web_out_number(out, call->length);
        vg_web_out_add(out, "\r\n", 2);
    }
    vg_web_out_add(out, "\r\n", 2);
}

/* ---- the way of a call -------------------------------------------------------------------------------------------- */

static void queue_remove(vg_web_call *call)
{
    vg_web_host *host = call->host;
    vg_web_call *before = NULL;
    if (!call->waits)
        return;
    for (vg_web_call *it = host->first; it != call; it = it->next)
        before = it;
    *(before != NULL ? &before->next : &host->first) = call->next;
    if (host->last == call)
        host->last = before;
    call->next = NULL;
    call->waits = false;
    host->waiting--;
    host->client->waiting--;
}

void vg_web_call_fail(vg_web_call *call, int error)
{
    queue_remove(call);
    if (call->settled)
        return;
    call->settled = true;
    (void)vigil_promise_reject(call->inner, vigil_value_error(error));
}

void vg_web_call_start(vg_web_call *call)
{
    vigil_http_client *client = call->client;
    vg_web_url url;
    int error = vg_web_url_read(&url, call->url);
    vg_web_host *host = error == 0 ? vg_web_host_of(client, &url) : NULL;
    if (host == NULL) {
        vg_web_call_fail(call, error != 0 ? error : -ENOMEM);
        return;
    }
    if (url.secure && client->options.connect == NULL) {
        vg_web_call_fail(call, -EOPNOTSUPP);
        vg_web_host_maybe_free(host);
        return;
    }
    call->host = host;
    call->waits = true;
    if (host->last != NULL)
        host->last->next = call;
    else
        host->first = call;
    host->last = call;
    host->waiting++;
    client->waiting++;
    vg_web_host_next(host);
}

bool vg_web_call_repeat(vg_web_call *call)
{
    static const char *const safe[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
    if (call->repeated || call->settled || call->client->destroyed || call->next_body != NULL)
        return false;
    for (size_t i = 0; i < sizeof safe / sizeof *safe; i++) {
        if (strcmp(call->method, safe[i]) == 0) {
            call->repeated = true;
            vg_web_call_start(call);
            return true;
        }
    }
    return false;
}

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* True: the call goes on elsewhere, or has failed. */
static bool follow(vg_web_call *call)
{
    const int status = call->response->head->status;
    const vigil_http_text location = vigil_http_response_header(call->response, "location");
    if (call->redirects == 0 || call->tunnel != NULL || !is_redirect(status) || location.at == NULL)
        return false;
    /* RFC 9110, 15.4: 303 asks for GET; for 301 and 302 everybody does the same with POST. */
    const bool is_head = strcmp(call->method, "HEAD") == 0;
    const bool asks_get =
        (status == 303 && !is_head) || ((status == 301 || status == 302) && strcmp(call->method, "POST") == 0);
    if (call->next_body != NULL && !asks_get)
        return false;
    if (call->followed++ == call->redirects) {
        vg_web_call_fail(call, -ELOOP);
        return true;
    }
    vg_web_url before, after;
    char *url = vg_web_url_join(call->url, location.at, location.length);
    if (url == NULL || vg_web_url_read(&after, url) != 0 || vg_web_url_read(&before, call->url) != 0) {
        vg_web_call_fail(call, url == NULL ? -ENOMEM : -EBADMSG);
        free(url);
        return true;
    }
    call->cross |=
        before.port != after.port || before.secure != after.secure || strcasecmp(before.host, after.host) != 0;
    if (asks_get) {
        memcpy(call->method, "GET", 4);
        call->length = 0;
        call->next_body = NULL;
    }
    free(call->url);
    call->url = url;
    call->repeated = false;
    response_destroy(call->response);
    call->response = NULL;
    vg_web_call_start(call);
    return true;
}

void vg_web_call_complete(vg_web_call *call)
{
    if (call->settled || follow(call))
        return;
    call->settled = true;
    vigil_http_response *response = call->response;
    call->response = NULL;
    if (vigil_promise_resolve(call->inner, vigil_value_pointer(response, response_destroy)) != 0)
        response_destroy(response);
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

static void call_free(vg_web_call *call)
{
    vigil_http_client *client = call->client;
    response_destroy(call->response);
    vigil_promise_unref(call->inner);
    vigil_promise_unref(call->outer);
    free(call->fields);
    free(call->url);
    free(call->body);
    free(call->upgrade);
    free(call->tunnel);
    free(call);
    vg_web_client_unref(client);
}

/* The promise that the user has is settled: by the answer, or by its token or limit. Then the call ends here. */
static void call_over(vg_web_call *call)
{
    vg_web_host *host = call->host;
    const bool waited = call->waits;
    call->settled = true;
    vg_web_upload_drop(call);
    if (call->link != NULL) {
        call->link->call = NULL;
        vg_web_link_end(call->link, -ECANCELED);
    }
    queue_remove(call);
    if (waited && !call->client->destroyed)
        vg_web_host_maybe_free(host);
    call_free(call);
}

static void outer_settled(vigil_reaction *reaction, vigil_promise_state state, vigil_value *value)
{
    (void)state;
    (void)value;
    call_over((vg_web_call *)(void *)((char *)reaction - offsetof(vg_web_call, reaction)));
}

static void outer_gone(vigil_reaction *reaction)
{
    call_over((vg_web_call *)(void *)((char *)reaction - offsetof(vg_web_call, reaction)));
}

/* One block: the fields, then their texts. */
static vigil_http_field *copy_fields(const vigil_http_field *fields, size_t count)
{
    size_t size = count * sizeof *fields + 1;
    for (size_t i = 0; i < count; i++)
        size += strlen(fields[i].name) + strlen(fields[i].value) + 2;
    vigil_http_field *copy = malloc(size);
    if (copy == NULL)
        return NULL;
    char *at = (char *)&copy[count];
    for (size_t i = 0; i < count; i++) {
        const size_t name = strlen(fields[i].name) + 1;
        const size_t value = strlen(fields[i].value) + 1;
        copy[i].name = memcpy(at, fields[i].name, name);
        copy[i].value = memcpy(at + name, fields[i].value, value);
        at += name + value;
    }
    return copy;
}

/* "host:port", with the port. */
static bool is_target(const char *text)
{
    vg_web_url url;
    char whole[300], port[16];
    const size_t length = strlen(text);
    if (snprintf(whole, sizeof whole, "http://%s", text) >= (int)sizeof whole || vg_web_url_read(&url, whole) != 0)
        return false;
    const size_t tail = (size_t)snprintf(port, sizeof port, ":%u", url.port);
    return url.target_length == 0 && length > tail && strcmp(text + length - tail, port) == 0;
}

/* What ends HTTP on the connection. */
static int check_switch(const vigil_http_call *call)
{
    if (call->upgrade == NULL && call->tunnel == NULL)
        return 0;
    if (call->body != NULL || call->next_body != NULL || (call->upgrade != NULL && call->tunnel != NULL))
        return vigil_why_set(-EINVAL, "call.upgrade and call.tunnel go neither together nor with a body");
    if (call->upgrade != NULL && !vg_web_is_protocols(call->upgrade))
        return vg_web_why(-EINVAL, "call.upgrade '%.60s' is no list of protocols", call->upgrade);
    if (call->tunnel != NULL && !is_target(call->tunnel))
        return vg_web_why(-EINVAL, "call.tunnel '%.60s' is not host:port", call->tunnel);
    if (call->tunnel != NULL && call->method != NULL)
        return vigil_why_set(-EINVAL, "call.method is not NULL; with call.tunnel it is CONNECT");
    for (size_t i = 0; i < call->count; i++)
        if (strcasecmp(call->fields[i].name, call->tunnel != NULL ? "host" : "upgrade") == 0)
            return vg_web_why(-EINVAL, "the field '%s' is the library's own here", call->fields[i].name);
    return 0;
}

static int check_call(const vigil_http_client *client, const vigil_http_call *call)
{
    vg_web_url url;
    if (client == NULL || call == NULL || call->size != sizeof *call)
        return vigil_why_set(-EINVAL, "client is NULL, or call does not start from VIGIL_HTTP_CALL_INIT");
    if (call->url == NULL)
        return vigil_why_set(-EINVAL, "call.url is NULL");
    if (call->method != NULL && (!vg_web_is_token(call->method, strlen(call->method)) || strlen(call->method) > 23 ||
                                 strcmp(call->method, "CONNECT") == 0))
        return vg_web_why(-EINVAL, "call.method '%.30s' is no method that can be called", call->method);
    if (call->body == NULL && call->length != 0)
        return vigil_why_set(-EINVAL, "call.body is NULL, and call.length is not 0");
    if (call->body != NULL && call->next_body != NULL)
        return vigil_why_set(-EINVAL, "call.body and call.next_body are set; a call has one of them");
    if (call->trailers != NULL && (call->next_body == NULL || call->body_length >= 0))
        return vigil_why_set(-EINVAL, "call.trailers is set; only a body in chunks has trailers");
    int error = vg_web_check_fields(call->fields, call->count);
    if (error == 0)
        error = check_switch(call);
    if (error == 0)
        error = vg_web_url_read(&url, call->url);
    if (error != 0 || client->options.connect != NULL)
        return error;
    if (url.secure)
        return vigil_why_set(-EOPNOTSUPP, "https needs options.connect of the client");
    return vg_web_link_can(&url);
}

static vg_web_call *copy_call(vigil_http_client *client, const vigil_http_call *given)
{
    vg_web_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    const bool has_body = given->body != NULL || given->next_body != NULL;
    const char *method = given->method != NULL ? given->method : has_body ? "POST" : "GET";
    if (given->tunnel != NULL)
        method = "CONNECT";
    memcpy(call->method, method, strlen(method) + 1);
    call->url = strdup(given->url);
    call->fields = copy_fields(given->fields, given->count);
    call->count = given->count;
    call->body = malloc(given->length + 1);
    call->upgrade = given->upgrade != NULL ? strdup(given->upgrade) : NULL;
    call->tunnel = given->tunnel != NULL ? strdup(given->tunnel) : NULL;
    if (call->url == NULL || call->fields == NULL || call->body == NULL ||
        (given->upgrade != NULL) != (call->upgrade != NULL) || (given->tunnel != NULL) != (call->tunnel != NULL)) {
        free(call->url);
        free(call->fields);
        free(call->body);
        free(call->upgrade);
        free(call->tunnel);
        free(call);
        return NULL;
    }
    if (given->length != 0)
        memcpy(call->body, given->body, given->length);
    call->length = given->length;
    call->next_body = given->next_body;
    call->trailers = given->trailers;
    call->body_length = given->body_length;
    call->most_body = given->most_body != 0 ? given->most_body : 16777216;
    call->redirects = given->redirects;
    call->on_body = given->on_body;
    call->user = given->user;
    call->client = client;
    client->references++;
    return call;
}

int vigil_promise_http(vigil_http_client *client, const vigil_http_call *call, vigil_cancel_token *token,
                       vigil_promise **promise)
{
    int error = check_call(client, call);
    if (error == 0 && promise == NULL)
        error = vigil_why_set(-EINVAL, "promise is NULL");
    if (error == 0 && client->destroyed)
        error = vigil_why_set(-ESHUTDOWN, "the client was given back");
    if (error != 0)
        return error;
    vg_web_call *it = copy_call(client, call);
    if (it == NULL)
        return vigil_why_set(-ENOMEM, "no memory for a call");
    error = vigil_promise_create(&it->inner, client->loop);
    if (error == 0) {
        if (token == NULL && call->timeout_ns < 0)
            it->outer = vigil_promise_ref(it->inner);
        else
            error = vigil_promise_guard(it->inner, token, call->timeout_ns, &it->outer);
    }
    if (error == 0) {
        it->reaction.run = outer_settled;
        it->reaction.cancel = outer_gone;
        error = vigil_promise_reaction_add(it->outer, &it->reaction);
    }
    if (error != 0) {
        call_free(it);
        return error;
    }
    client->calls++;
    *promise = vigil_promise_ref(it->outer);
    vg_web_call_start(it);
    return 0;
}
