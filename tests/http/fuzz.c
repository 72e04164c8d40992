/* SPDX-License-Identifier: MIT */
/*
 * Requests that are right, broken or cut, in pieces of every size, from clients that read, stall, half-close or go, to handlers that
 * answer at once, late, in pieces, or not at all. Every request that was given ends once; nothing is left over.
 * HTTP_FUZZ_REQUESTS is how many requests are sent (scripts/fuzz-http).
 */
#include "dice.h"
#include "http_test.h"

static const char *const corpus[] = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /a?b=c HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nUser-Agent: x\r\n\r\n",
    "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n2;x=y\r\n01\r\n0\r\nT: u\r\n\r\n",
    "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
};

/* What is put in place of a byte. */
static const char odd[] = "\r\n\0 \t:;,0f\x7f\x80-+%\"HTTP/1.1";

enum {
    CONNECTIONS = 6,
    MOST_BYTES = 4096
};

static struct dice dice;
static vigil_loop *loop;
static vigil_http_server *server;
static uint64_t sent_requests, given, ended;

/* A request that the handler has. */
struct held {
    struct held *next;
    vigil_http_request *request;
    bool started, failed, reads, body_over;
};
static struct held *all_held;

static void end_held(struct held *it)
{
    struct held **place = &all_held;
    while (*place != it)
        place = &(*place)->next;
    *place = it->next;
    ended++;
    free(it);
}

static void on_gone(void *arg)
{
    ((struct held *)arg)->failed = true;
}

static void on_body(vigil_http_request *request, const void *data, int64_t length, void *arg)
{
    struct held *it = arg;
    must(request == it->request);
    must(!it->body_over);
    must((data != NULL) == (length > 0));
    if (length <= 0) {
        it->body_over = true;
        it->failed |= length < 0;
        it->reads = false;
        if (one_in(&dice, 2)) { /* here, and not later */
            const int rc = vigil_http_answer_text(request, 200, "text/plain", "end");
            must(rc == 0 || rc == -EPIPE || rc == -EALREADY);
            if (rc != -EALREADY)
                end_held(it);
        }
    } else if (one_in(&dice, 3)) {
        must_equal(vigil_http_on_body(request, NULL, NULL), 0);
        it->reads = false;
    } else if (one_in(&dice, 20)) {
        must_equal(vigil_http_reset(request), 0);
        end_held(it);
    }
}

static vigil_value body_came(vigil_value *value, void *arg)
{
    struct held *it = arg;
    const vigil_http_bytes *bytes = value->pointer;
    must_equal(bytes->data[bytes->length], 0);
    (void)vigil_http_answer(it->request, 200, NULL, 0, bytes->data, bytes->length);
    end_held(it);
    return vigil_value_none();
}

static vigil_value body_failed(vigil_value *reason, void *arg)
{
    struct held *it = arg;
    must(reason->status < 0);
    must_equal(vigil_http_reset(it->request), 0);
    end_held(it);
    return vigil_value_none();
}

static void on_request(vigil_http_request *request, void *user)
{
    static char big[70000];
    vigil_http_text name, value;
    (void)user;
    given++;
    for (size_t i = 0; vigil_http_header_at(request, i, &name, &value) == 0; i++)
        must(memchr(value.at, '\n', value.length) == NULL);
    const uint32_t what = roll(&dice, 10);
    if (what < 4) {
        const size_t length = what == 2 ? roll(&dice, sizeof big) : 3;
        const int rc = vigil_http_answer(request, what == 3 ? 204 : 200, NULL, 0, big, length);
        must(rc == 0 || rc == -EPIPE); /* over, in both cases */
        ended++;
        return;
    }
    if (what == 4) {
        must_equal(vigil_http_reset(request), 0);
        ended++;
        return;
    }
    struct held *it = calloc(1, sizeof *it);
    must(it != NULL);
    it->request = request;
    it->next = all_held;
    all_held = it;
    if (what == 5) {
        vigil_promise *promise;
        must_equal(vigil_promise_http_body(request, roll(&dice, 30), NULL, &promise), 0);
        must_equal(vigil_promise_then(promise, body_came, body_failed, it, NULL), 0);
        vigil_promise_unref(promise);
        it->body_over = it->reads = true; /* the promise ends it */
        return;
    }
    must_equal(vigil_http_on_gone(request, on_gone, it), 0);
    if (what < 8) {
        must_equal(vigil_http_on_body(request, on_body, it), 0);
        it->reads = true;
    }
}

/* One more step of a request that waits. */
static void step_held(struct held *it)
{
    if (it->reads && it->body_over)
        return; /* the promise's */
    switch (roll(&dice, 6)) {
    case 0:
        if (!it->started) {
            (void)vigil_http_answer_text(it->request, 200, "text/plain", "late");
            end_held(it);
        }
        break;
    case 1:
        if (!it->started && vigil_http_start(it->request, 200, NULL, 0, -1) == 0)
            it->started = true;
        break;
    case 2:
        if (it->started)
            (void)vigil_http_send(it->request, "some bytes", roll(&dice, 11));
        break;
    case 3:
        if (it->started) {
            (void)vigil_http_end(it->request);
            end_held(it);
        }
        break;
    case 4:
        if (!it->reads && !it->body_over && vigil_http_on_body(it->request, on_body, it) == 0)
            it->reads = true;
        break;
    default:
        if (it->failed || one_in(&dice, 30)) {
            must_equal(vigil_http_reset(it->request), 0);
            end_held(it);
        }
        break;
    }
}

/* ---- clients ------------------------------------------------------------------------------------------------------ */

struct client {
    int fd; /* -1: none */
    char bytes[MOST_BYTES];
    size_t length, at;
};

static void fill(struct client *client)
{
    const uint32_t requests = 1 + roll(&dice, 8);
    client->length = client->at = 0;
    for (uint32_t i = 0; i < requests; i++) {
        const char *text = corpus[roll(&dice, count_of(corpus) - (one_in(&dice, 4) ? 0 : 1))];
        const size_t length = strlen(text);
        if (client->length + length > MOST_BYTES)
            break;
        memcpy(client->bytes + client->length, text, length);
        client->length += length;
        sent_requests++;
    }
    if (one_in(&dice, 3)) { /* broken here and there */
        for (uint32_t i = 1 + roll(&dice, 3); i > 0; i--)
            client->bytes[roll(&dice, (uint32_t)client->length)] = odd[roll(&dice, sizeof odd - 1)];
    }
    if (one_in(&dice, 10))
        client->length = 1 + roll(&dice, (uint32_t)client->length);
}

static void client_open(struct client *client)
{
    int ends[2];
    vigil_stream *stream;
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    must_equal(vigil_stream_open(&stream, loop, ends[0], NULL), 0);
    must_equal(vigil_http_server_serve(server, stream), 0);
    client->fd = ends[1];
    fill(client);
}

static void client_step(struct client *client)
{
    char buffer[4096];
    if (client->fd < 0) {
        client_open(client);
        return;
    }
    if (client->at < client->length) {
        const size_t left = client->length - client->at;
        const size_t piece = one_in(&dice, 2) ? left : 1 + roll(&dice, (uint32_t)left);
        const ssize_t sent = send(client->fd, client->bytes + client->at, piece, MSG_NOSIGNAL);
        if (sent > 0)
            client->at += (size_t)sent;
        else if (errno != EAGAIN)
            client->at = client->length;
    } else if (one_in(&dice, 4)) {
        fill(client);
    }
    ssize_t got = 1;
    if (!one_in(&dice, 4))
        while ((got = recv(client->fd, buffer, sizeof buffer, 0)) > 0)
            ;
    if (one_in(&dice, 40))
        (void)shutdown(client->fd, SHUT_WR);
    if (got == 0 || (got < 0 && errno != EAGAIN) || one_in(&dice, 60)) {
        must_equal(close(client->fd), 0);
        client->fd = -1;
    }
}

static void turn(void)
{
    struct held *next;
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    for (struct held *it = all_held; it != NULL; it = next) {
        next = it->next;
        step_held(it);
    }
}

static void every_request_ends_once(void **state)
{
    (void)state;
    static struct client clients[CONNECTIONS];
    const char *wanted = getenv("HTTP_FUZZ_REQUESTS");
    const uint64_t goal = wanted != NULL ? strtoull(wanted, NULL, 10) : scaled(60000, 3000);
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    vigil_http_server_stats stats = VIGIL_HTTP_SERVER_STATS_INIT;
    dice = dice_of_run();
    loop = loop_plain();
    options.on_request = on_request;
    options.body_bytes = 64;
    must_equal(vigil_http_server_open(&server, loop, NULL, &options), 0);
    for (int i = 0; i < CONNECTIONS; i++)
        clients[i].fd = -1;
    while (sent_requests < goal) {
        client_step(&clients[roll(&dice, CONNECTIONS)]);
        turn();
    }
    for (int i = 0; i < CONNECTIONS; i++)
        if (clients[i].fd >= 0)
            must_equal(close(clients[i].fd), 0);
    do {
        turn();
        must_equal(vigil_http_server_stats_get(server, &stats), 0);
    } while (stats.open != 0 || stats.waiting != 0);
    must_equal(stats.requests, given);
    must_equal(ended, given);
    must(all_held == NULL);
    must(given > goal / 10);
    print_message("%llu sent, %llu given, %llu refused\n", (unsigned long long)sent_requests, (unsigned long long)given,
                  (unsigned long long)stats.refused);
    must_equal(vigil_http_server_close(server), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_request_ends_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
