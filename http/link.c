/* SPDX-License-Identifier: MIT */
/* One connection of a client: made, used, kept, ended. */
#include "link.h"

#include "call.h"
#include "upload.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS INT64_C(1000000000)

/* ---- life --------------------------------------------------------------------------------------------------------- */

static void link_memory(vg_web_link *link)
{
    vg_web_chunks_end(&link->chunks);
    free(link->held);
    free(link);
}

static void idle_remove(vg_web_link *link)
{
    vigil_http_client *client = link->client;
    if (!link->idle)
        return;
    link->idle = false;
    client->idle--;
    *(link->idle_before != NULL ? &link->idle_before->idle_next : &client->idle_first) = link->idle_next;
    *(link->idle_next != NULL ? &link->idle_next->idle_before : &client->idle_last) = link->idle_before;
}

/* Out of all lists. Its stream is somebody else's, or ends. */
static void link_leave(vg_web_link *link)
{
    vigil_http_client *client = link->client;
    link->freed = true;
    idle_remove(link);
    *(link->before != NULL ? &link->before->next : &client->links) = link->next;
    if (link->next != NULL)
        link->next->before = link->before;
    client->open--;
    link->host->links--;
    if (!link->running)
        link_memory(link);
}

static void link_remove(vg_web_link *link, int error)
{
    if (error != 0)
        (void)vigil_stream_reset(link->stream);
    else
        (void)vigil_stream_close(link->stream);
    link_leave(link);
}

void vg_web_link_end(vg_web_link *link, int error)
{
    vg_web_host *host = link->host;
    vg_web_call *call = link->call;
    const bool untouched = link->reused && !link->got_any;
    if (link->freed)
        return;
    if (call != NULL)
        vg_web_upload_drop(call);
    link_remove(link, error);
    host->holds++;
    if (call != NULL) {
        call->link = NULL;
        if (!(untouched && vg_web_call_repeat(call)))
            vg_web_call_fail(call, error);
    }
    host->holds--;
    vg_web_host_next(host);
}

void vg_web_link_expire(vigil_http_client *client, bool all)
{
    const uint64_t now = vigil_loop_now(client->loop);
    const int64_t limit = client->options.idle_ns;
    while (client->idle_first != NULL && (all || client->idle > client->options.most_idle ||
                                          (limit >= 0 && client->idle_first->idle_since + (uint64_t)limit <= now))) {
        vg_web_host *host = client->idle_first->host;
        link_remove(client->idle_first, 0); /* no call waits for a host that has an idle link */
        vg_web_host_maybe_free(host);
    }
}

static void idle_timer(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_http_client *client = arg;
    (void)timer;
    client->timer.id = 0;
    vg_web_link_expire(client, false);
    if (client->idle_first == NULL)
        return;
    const uint64_t due = client->idle_first->idle_since + (uint64_t)client->options.idle_ns;
    const uint64_t now = vigil_loop_now(loop);
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    options.delay_ns = due > now ? (int64_t)(due - now) : 0;
    options.flags = VIGIL_TIMER_UNREF;
    (void)vigil_timer_start_with(loop, &options, idle_timer, client, &client->timer);
}

/* Nobody waits for it: keep it for later. Until then it is not read, so that it does not keep the loop alive. */
static void idle_add(vg_web_link *link)
{
    vigil_http_client *client = link->client;
    link->idle = link->reused = true;
    link->idle_since = vigil_loop_now(client->loop);
    link->idle_next = NULL;
    link->idle_before = client->idle_last;
    *(client->idle_last != NULL ? &client->idle_last->idle_next : &client->idle_first) = link;
    client->idle_last = link;
    client->idle++;
    if (client->timer.id == 0 && client->options.idle_ns >= 0) {
        vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
        options.delay_ns = client->options.idle_ns;
        options.flags = VIGIL_TIMER_UNREF;
        (void)vigil_timer_start_with(client->loop, &options, idle_timer, client, &client->timer);
    }
    if (client->idle > client->options.most_idle)
        vg_web_link_expire(client, false);
}

vg_web_link *vg_web_link_idle(vg_web_host *host)
{
    vg_web_link *before;
    for (vg_web_link *link = host->client->idle_last; link != NULL; link = before) {
        char byte;
        before = link->idle_before;
        if (link->host != host)
            continue;
        if (vigil_stream_try_read(link->stream, &byte, 1) == -EAGAIN) {
            idle_remove(link);
            return link;
        }
        link_remove(link, 0); /* the peer has closed it, or has said something unasked */
    }
    return NULL;
}

/* ---- making ------------------------------------------------------------------------------------------------------- */

/* Outlives its client: a connection cannot be stopped half-way. */
typedef struct making {
    vigil_http_client *client;
    vg_web_host *host;
} making;

static void making_over(making *it)
{
    vg_web_host *host = it->host;
    vigil_http_client *client = it->client;
    host->making--;
    free(it);
    vg_web_host_next(host);
    vg_web_client_unref(client);
}

static vigil_value made(vigil_value *value, void *arg)
{
    making *it = arg;
    vigil_stream *stream = vigil_value_move(value).pointer;
    vg_web_link *link = it->client->destroyed ? NULL : calloc(1, sizeof *link);
    if (link == NULL) {
        (void)vigil_stream_close(stream);
        making_over(it);
        return vigil_value_none();
    }
    vg_web_host *host = it->host;
    link->client = it->client;
    link->host = host;
    link->stream = stream;
    link->next = link->client->links;
    if (link->next != NULL)
        link->next->before = link;
    link->client->links = link;
    link->client->open++;
    link->client->connections++;
    host->links++;
    idle_add(link);
    link->reused = false; /* if it is closed at once, that is no race with the peer's idle limit */
    making_over(it);
    return vigil_value_none();
}

static vigil_value not_made(vigil_value *reason, void *arg)
{
    making *it = arg;
    vg_web_host *host = it->host;
    const int error = reason->status < 0 ? reason->status : -EIO;
    if (!it->client->destroyed) {
        /* One attempt, one call: others have attempts of their own, or wait for those. */
        if (host->first != NULL)
            vg_web_call_fail(host->first, error);
    }
    making_over(it);
    return vigil_value_none();
}

static int plain_address(vigil_address *address, const char *name, unsigned port)
{
    char text[300];
    struct in_addr four;
    const bool six = strchr(name, ':') != NULL;
    (void)snprintf(text, sizeof text, six ? "[%s]:%u" : "%s:%u", name, port);
    /* Not asked of vigil_address_init, which writes a line about what it refuses: a name is no mistake. */
    if ((!six && inet_pton(AF_INET, name, &four) != 1) || vigil_address_init(address, text) != 0)
        return vg_web_why(-EOPNOTSUPP, "'%.80s' is no address, and options.connect is not set", name);
    return 0;
}

int vg_web_link_can(const vg_web_url *url)
{
    vigil_address address;
    return plain_address(&address, url->host, url->port);
}

static int connect_plain(const vg_web_host *host, vigil_promise **promise)
{
    vigil_address address;
    const int error = plain_address(&address, host->name, host->port);
    if (error != 0)
        return error;
    vigil_connect_options options = VIGIL_CONNECT_OPTIONS_INIT;
    options.timeout_ns = host->client->options.connect_ns;
    return vigil_promise_connect(host->client->loop, &address, 1, &options, NULL, promise);
}

static int connect_hook(const vg_web_host *host, vigil_promise **promise)
{
    const vigil_http_client_options *options = &host->client->options;
    vigil_promise *inner;
    int error = options->connect(host->client->loop, host->name, host->port, host->secure, options->user, &inner);
    if (error != 0)
        return error;
    if (options->connect_ns < 0) {
        *promise = inner;
        return 0;
    }
    error = vigil_promise_guard(inner, NULL, options->connect_ns, promise);
    vigil_promise_unref(inner);
    return error;
}

int vg_web_link_make(vg_web_host *host)
{
    vigil_promise *promise;
    making *it = malloc(sizeof *it);
    if (it == NULL)
        return -ENOMEM;
    int error = host->client->options.connect != NULL ? connect_hook(host, &promise) : connect_plain(host, &promise);
    if (error != 0) {
        free(it);
        return error;
    }
    *it = (making){.client = host->client, .host = host};
    host->making++;
    host->client->references++;
    error = vigil_promise_then(promise, made, not_made, it, NULL);
    vigil_promise_unref(promise);
    if (error != 0) {
        host->making--;
        host->client->references--;
        free(it);
    }
    return error;
}

/* ---- using -------------------------------------------------------------------------------------------------------- */

/* The answer is complete. */
static void link_complete(vg_web_link *link, bool clean)
{
    vg_web_call *call = link->call;
    vg_web_host *host = link->host;
    const bool sent = call->upload == NULL; /* else the server has answered before the end of the body */
    vg_web_upload_drop(call);
    call->response->trailers = link->chunks.trailers;
    link->chunks.trailers = NULL;
    link->call = NULL;
    call->link = NULL;
    if (link->keep && clean && sent && vigil_stream_on_data(link->stream, NULL, NULL) == 0) {
        link->in_body = link->got_any = false;
        link->looked = 0;
        idle_add(link);
        host->holds++;
        vg_web_call_complete(call);
        host->holds--;
        vg_web_host_next(host);
        return;
    }
    link_remove(link, 0);
    host->holds++;
    vg_web_call_complete(call);
    host->holds--;
    vg_web_host_next(host);
}

/* From here on the stream is not HTTP, and the answer's. */
static void link_switch(vg_web_link *link, const char *bytes, size_t length)
{
    vg_web_call *call = link->call;
    vg_web_host *host = link->host;
    int error = vigil_stream_on_data(link->stream, NULL, NULL);
    if (error == 0)
        error = vg_web_call_hand_over(call, link->stream, bytes, length);
    if (error != 0) {
        vg_web_link_end(link, error);
        return;
    }
    link->call = NULL;
    call->link = NULL;
    link_leave(link);
    host->holds++;
    vg_web_call_complete(call);
    host->holds--;
    vg_web_host_next(host);
}

/* How the body is framed; RFC 9112, 6.3. */
static void begin_body(vg_web_link *link, const vg_web_head *head, size_t length)
{
    const bool none = strcmp(link->call->method, "HEAD") == 0 || head->status == 204 || head->status == 304;
    link->in_body = true;
    link->in_chunks = !none && head->chunked;
    link->to_end = !none && !head->chunked && !head->has_length;
    link->left = !none && head->has_length ? head->length : 0;
    link->keep = head->keep_alive && !link->to_end;
    vg_web_chunks_begin(&link->chunks, link->client->options.head_bytes - length, VG_WEB_MOST_FIELDS - head->count);
}

/* One step. 1: go on; 0: more is needed; 2: the answer is complete; 3: so is HTTP; negative: an error. */
static int step(vg_web_link *link, const char *bytes, size_t length, size_t *used)
{
    vg_web_head *head = &link->client->head;
    const char *piece = bytes;
    size_t piece_length = length;
    if (!link->in_body) {
        const int64_t end = vg_web_head_end(bytes, length, &link->looked);
        if (end < 0)
            return -EBADMSG;
        if ((end == 0 ? length : (size_t)end) > link->client->options.head_bytes)
            return -EMSGSIZE;
        if (end == 0)
            return 0;
        *used = (size_t)end;
        link->looked = 0;
        int error = vg_web_head_answer(head, bytes, (size_t)end);
        if (error != 0)
            return error;
        if (head->status < 200 && head->status != 101)
            return 1;
        begin_body(link, head, (size_t)end);
        error = vg_web_call_head(link->call, bytes, (size_t)end);
        if (error == 0)
            error = vg_web_call_switches(link->call);
        if (error != 0)
            return error < 0 ? error : 3;
        return !link->in_chunks && !link->to_end && link->left == 0 ? 2 : 1;
    }
    if (length == 0)
        return 0;
    if (link->in_chunks) {
        const int64_t taken = vg_web_chunks_take(&link->chunks, bytes, length, &piece, &piece_length);
        if (taken < 0)
            return (int)taken;
        *used = (size_t)taken;
    } else {
        if (!link->to_end && piece_length > link->left)
            piece_length = (size_t)link->left;
        *used = piece_length;
        link->left -= link->to_end ? 0 : piece_length;
    }
    const int error = piece_length != 0 ? vg_web_call_piece(link->call, piece, piece_length) : 0;
    if (error != 0)
        return error;
    if (link->freed)
        return 0;
    return (link->in_chunks ? vg_web_chunks_over(&link->chunks) != 0 : !link->to_end && link->left == 0) ? 2 : 1;
}

static int link_hold(vg_web_link *link, const char *bytes, size_t length)
{
    if (link->held_room - link->held_length < length) {
        char *held = realloc(link->held, link->held_length + length);
        if (held == NULL)
            return -ENOMEM;
        link->held = held;
        link->held_room = link->held_length + length;
    }
    memcpy(link->held + link->held_length, bytes, length);
    link->held_length += length;
    return 0;
}

static void link_run(vg_web_link *link, const char *bytes, size_t length)
{
    const bool from_held = link->held_length != 0;
    size_t at = 0;
    int rc = 1;
    if (from_held) {
        rc = link_hold(link, bytes, length) == 0 ? 1 : -ENOMEM;
        bytes = link->held;
        length = link->held_length;
    }
    link->running = true;
    while (rc == 1) {
        size_t used = 0;
        rc = step(link, bytes + at, length - at, &used);
        at += used;
        if (link->freed)
            break;
    }
    link->running = false;
    if (link->freed) {
        link_memory(link);
        return;
    }
    if (rc == 3) {
        link_switch(link, bytes + at, length - at);
        return;
    }
    if (rc == 0 && !from_held && at < length) {
        if (link_hold(link, bytes + at, length - at) != 0)
            rc = -ENOMEM;
    } else if (from_held) { /* only a head that is not complete stays */
        memmove(link->held, link->held + at, length - at);
        link->held_length = length - at;
    }
    if (rc == 0)
        return;
    const bool clean = at == length;
    free(link->held);
    link->held = NULL;
    link->held_length = link->held_room = 0;
    if (rc == 2)
        link_complete(link, clean);
    else
        vg_web_link_end(link, rc);
}

static void link_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    vg_web_link *link = arg;
    (void)stream;
    if (length > 0) {
        link->got_any = true;
        link_run(link, data, (size_t)length);
    } else if (length == 0 && link->in_body && link->to_end) {
        link_complete(link, false);
    } else {
        vg_web_link_end(link, length < 0 ? (int)length : -ECONNRESET);
    }
}

void vg_web_link_use(vg_web_link *link, vg_web_call *call)
{
    vg_web_out out;
    char room[2048];
    link->call = call;
    call->link = link;
    vg_web_out_begin(&out, room, sizeof room);
    vg_web_call_write(call, &out);
    int rc = out.failed;
    if (rc == 0)
        rc = vigil_stream_write(link->stream, out.bytes, out.length);
    if (rc >= 0 && call->length != 0)
        rc = vigil_stream_write(link->stream, call->body, call->length);
    vg_web_out_end(&out);
    if (rc >= 0)
        rc = vigil_stream_on_data(link->stream, link_data, link);
    if (rc >= 0 && call->next_body != NULL)
        rc = vg_web_upload_begin(call);
    if (rc < 0)
        vg_web_link_end(link, rc);
}
