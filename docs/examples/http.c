/* SPDX-License-Identifier: MIT */
/* Examples of vigil/http.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <vigil/http.h>
#include <vigil/vigil.h>

/*
 * vigil_http_answer: answer with fields of your own
 * vigil_http_method: look at the method
 */
static void answer_options(vigil_http_request *request)
{
    vigil_http_field fields[] = {{"allow", "GET, HEAD"}};
    assert(strcmp(vigil_http_method(request), "OPTIONS") == 0);
    (void)vigil_http_answer(request, 200, fields, 1, NULL, 0);
}

/*
 * vigil_http_header: look at a field
 * vigil_http_header_at: look at all fields
 * vigil_http_text_is: compare a piece of a head
 */
static bool wants_json(vigil_http_request *request)
{
    vigil_http_text name, value;
    for (size_t i = 0;
         vigil_http_header_at(request, i, &name, &value) == 0; i++)
        printf("%.*s = %.*s\n", (int)name.length, name.at,
               (int)value.length, value.at);
    return vigil_http_text_is(vigil_http_header(request, "accept"),
                              "application/json");
}

/*
 * vigil_http_target: log a request
 * vigil_http_query: see what is asked for
 * vigil_http_peer: see who asks
 */
static void log_request(vigil_http_request *request)
{
    char text[VIGIL_ADDRESS_TEXT];
    vigil_address peer;
    vigil_http_text target = vigil_http_target(request);
    vigil_http_text query = vigil_http_query(request);
    if (vigil_http_peer(request, &peer) == 0 &&
        vigil_address_text(&peer, text, sizeof text) > 0)
        printf("%s: %.*s (%zu bytes of query)\n", text,
               (int)target.length, target.at, query.length);
}

/*
 * vigil_http_on_body: count a body while it comes
 * vigil_http_length: see how long it will be
 * vigil_http_reset: end a request without an answer
 */
static void counted(vigil_http_request *request, const void *data,
                    int64_t length, void *arg)
{
    size_t *count = arg;
    (void)data;
    if (length > 0)
        *count += (size_t)length;
    else if (length == 0)
        (void)vigil_http_answer_text(request, 200, "text/plain",
                                     "counted");
    else
        (void)vigil_http_reset(request);
}

static void count_body(vigil_http_request *request, size_t *count)
{
    *count = 0;
    assert(vigil_http_length(request) == 5);
    assert(vigil_http_on_body(request, counted, count) == 0);
}

/*
 * vigil_promise_http_body: take the whole body
 * vigil_http_loop: the loop of a request
 */
struct echo {
    vigil_frame frame;
    vigil_http_request *request;
};

static void echo_steps(vigil_frame *frame)
{
    struct echo *self = (struct echo *)(void *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_http_body(self->request, 65536,
                                               frame->token,
                                               VIGIL_INTO(frame)));
    const vigil_http_bytes *body = frame->value->pointer;
    (void)vigil_http_answer(self->request, 200, NULL, 0, body->data,
                            body->length);
    self->request = NULL;
    VIGIL_ASYNC_OUT(frame);
    if (self->request != NULL) /* something has failed */
        (void)vigil_http_reset(self->request);
    VIGIL_ASYNC_END(frame);
}

static void echo_body(vigil_http_request *request)
{
    struct echo *self =
        vigil_frame_alloc(sizeof *self, vigil_http_loop(request), NULL);
    assert(self != NULL);
    self->request = request;
    assert(vigil_frame_start(&self->frame, echo_steps, NULL) == 0);
}

/*
 * vigil_http_start: an answer of unknown length
 * vigil_http_send: one piece of it
 * vigil_promise_http_drained: wait until the client has taken it
 * vigil_http_end: the answer is complete
 */
struct count {
    vigil_frame frame;
    vigil_http_request *request;
    int number;
};

static void count_steps(vigil_frame *frame)
{
    struct count *self = (struct count *)(void *)frame;
    char line[16];
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_TRY(frame, vigil_http_start(self->request, 200, NULL, 0, -1));
    for (self->number = 0; self->number < 3; self->number++) {
        const int length =
            snprintf(line, sizeof line, "%d ", self->number);
        VIGIL_TRY(frame,
                  vigil_http_send(self->request, line, (size_t)length));
        VIGIL_AWAIT(
            frame, vigil_promise_http_drained(
                       self->request, frame->token, VIGIL_INTO(frame)));
    }
    VIGIL_ASYNC_OUT(frame);
    (void)vigil_http_end(self->request);
    VIGIL_ASYNC_END(frame);
}

static void count_up(vigil_http_request *request)
{
    struct count *self =
        vigil_frame_alloc(sizeof *self, vigil_http_loop(request), NULL);
    assert(self != NULL);
    self->request = request;
    assert(vigil_frame_start(&self->frame, count_steps, NULL) == 0);
}

/*
 * vigil_http_on_drained: send a lot without a promise
 * vigil_http_on_gone: stop when the client goes
 */
static void more(void *arg)
{
    vigil_http_request *request = arg;
    assert(vigil_http_send(request, "more", 4) >= 0);
    (void)vigil_http_end(request);
}

static void gone(void *arg)
{
    puts("nobody waits any more");
    (void)vigil_http_reset(arg);
}

static void send_slowly(vigil_http_request *request)
{
    assert(vigil_http_start(request, 200, NULL, 0, 8) == 0);
    assert(vigil_http_send(request, "some", 4) >= 0);
    assert(vigil_http_on_gone(request, gone, request) == 0);
    assert(vigil_http_on_drained(request, more, request) == 0);
}

/*
 * vigil_http_trailer: look at a field behind the body
 * vigil_http_trailer_at: look at all of them
 * vigil_http_end_trailers: send some behind the answer
 */
static void summed(vigil_http_request *request, const void *data,
                   int64_t length, void *arg)
{
    vigil_http_field sum = {"x-sum", "15"};
    vigil_http_text name, value;
    (void)data;
    (void)arg;
    if (length > 0)
        return;
    for (size_t i = 0;
         vigil_http_trailer_at(request, i, &name, &value) == 0; i++)
        printf("%.*s = %.*s\n", (int)name.length, name.at,
               (int)value.length, value.at);
    value = vigil_http_trailer(request, "x-sum");
    if (length < 0 || value.at == NULL ||
        vigil_http_start(request, 200, NULL, 0, -1) != 0 ||
        vigil_http_end_trailers(request, &sum, 1) != 0)
        (void)vigil_http_reset(request);
}

/*
 * vigil_http_asks_upgrade: see that a client wants another protocol
 * vigil_http_upgrade: take the stream for it
 */
static void echo_data(vigil_stream *stream, const void *data,
                      int64_t length, void *arg)
{
    (void)arg;
    if (length <= 0 ||
        vigil_stream_write(stream, data, (size_t)length) < 0)
        (void)vigil_stream_close(stream);
}

static bool upgraded(vigil_http_request *request)
{
    vigil_stream *stream;
    vigil_http_text rest;
    if (!vigil_http_asks_upgrade(request, "echo") ||
        vigil_http_upgrade(request, "echo", NULL, 0, &rest, &stream) !=
            0)
        return false;
    if (rest.length != 0)
        (void)vigil_stream_write(stream, rest.at, rest.length);
    assert(vigil_stream_on_data(stream, echo_data, NULL) == 0);
    return true;
}

/*
 * vigil_http_path: choose by path
 * vigil_http_answer_text: answer with a text
 */
static void on_request(vigil_http_request *request, void *user)
{
    vigil_http_text path = vigil_http_path(request);
    log_request(request);
    if (vigil_http_text_is(path, "/count"))
        count_up(request);
    else if (vigil_http_text_is(path, "/slow"))
        send_slowly(request);
    else if (vigil_http_text_is(path, "/echo"))
        echo_body(request);
    else if (vigil_http_text_is(path, "/body"))
        count_body(request, user);
    else if (vigil_http_text_is(path, "/options"))
        answer_options(request);
    else if (vigil_http_text_is(path, "/sum"))
        (void)vigil_http_on_body(request, summed, NULL);
    else if (!upgraded(request))
        (void)vigil_http_answer_text(request, 200, "text/plain",
                                     wants_json(request) ? "{}" : "hi");
}

/*
 * vigil_http_server_open: serve at an address
 * vigil_http_server_address: see which port the system has chosen
 */
static vigil_http_server *serve(vigil_loop *loop, size_t *count,
                                vigil_address *address)
{
    vigil_http_server *server;
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    options.on_request = on_request;
    options.user = count;
    options.body_bytes = 65536;
    int rc = vigil_address_init(address, "127.0.0.1:0");
    assert(rc == 0);
    rc = vigil_http_server_open(&server, loop, address, &options);
    assert(rc == 0);
    rc = vigil_http_server_address(server, address);
    assert(rc == 0);
    return server;
}

/* vigil_http_server_serve: serve a stream that you have */
static void serve_stream(vigil_http_server *server,
                         vigil_stream *stream)
{
    if (vigil_http_server_serve(server, stream) != 0)
        (void)vigil_stream_close(stream);
}

/* vigil_http_server_stats_get: see how much it has to do */
static void show_server(vigil_http_server *server)
{
    vigil_http_server_stats stats = VIGIL_HTTP_SERVER_STATS_INIT;
    assert(vigil_http_server_stats_get(server, &stats) == 0);
    printf("%llu requests\n", (unsigned long long)stats.requests);
}

/*
 * vigil_promise_http_finish: let the requests finish
 * vigil_http_server_close: give the server back
 */
static void end_server(vigil_loop *loop, vigil_http_server *server)
{
    assert(vigil_promise_http_finish(server, VIGIL_FOREVER, NULL) == 0);
    (void)vigil_loop_run(loop, VIGIL_RUN);
    assert(vigil_http_server_close(server) == 0);
}

/* vigil_http_client_create: make a client */
static vigil_http_client *make_client(vigil_loop *loop)
{
    vigil_http_client *client;
    vigil_http_client_options options = VIGIL_HTTP_CLIENT_OPTIONS_INIT;
    options.most_per_host = 2;
    int rc = vigil_http_client_create(&client, loop, &options);
    assert(rc == 0);
    return client;
}

/*
 * vigil_http_response_status: see how it went
 * vigil_http_response_header: look at a field
 * vigil_http_response_header_at: look at all fields
 * vigil_http_response_body: take the body
 */
static unsigned answered;

static vigil_value show_answer(vigil_value *value, void *arg)
{
    const vigil_http_response *response = value->pointer;
    vigil_http_text name, text;
    assert(vigil_http_response_status(response) == 200);
    for (size_t i = 0;
         vigil_http_response_header_at(response, i, &name, &text) == 0;
         i++)
        printf("%.*s\n", (int)name.length, name.at);
    text = vigil_http_response_header(response, "date");
    assert(text.at != NULL);
    text = vigil_http_response_body(response);
    assert(strcmp(text.at, arg) == 0);
    answered++;
    return vigil_value_none();
}

/* vigil_promise_http: make a call */
static void ask(vigil_http_client *client, const char *url,
                const char *body, const char *expected)
{
    vigil_promise *answer;
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    call.url = url;
    call.body = body;
    call.length = body != NULL ? strlen(body) : 0;
    call.timeout_ns = INT64_C(60000000000);
    int rc = vigil_promise_http(client, &call, NULL, &answer);
    assert(rc == 0);
    vigil_promise_unref(vigil_promise_chain(answer, show_answer, NULL,
                                            (void *)(size_t)expected));
}

/*
 * vigil_http_response_trailer: look at a field behind the body
 * vigil_http_response_trailer_at: look at all of them
 */
static vigil_loop *sum_loop;

static int sum_body(void *user, vigil_promise **promise)
{
    static vigil_http_bytes piece = {3, "456"};
    int *pieces = user;
    int rc = vigil_promise_create(promise, sum_loop);
    return rc != 0
               ? rc
               : vigil_promise_resolve(
                     *promise, (*pieces)++ == 0
                                   ? vigil_value_pointer(&piece, NULL)
                                   : vigil_value_none());
}

static int sum_trailers(void *user, const vigil_http_field **fields,
                        size_t *count)
{
    static const vigil_http_field sum = {"x-sum", "15"};
    (void)user;
    *fields = &sum;
    *count = 1;
    return 0;
}

static vigil_value show_sum(vigil_value *value, void *arg)
{
    const vigil_http_response *response = value->pointer;
    vigil_http_text name, text;
    (void)arg;
    text = vigil_http_response_trailer(response, "x-sum");
    assert(vigil_http_text_is(text, "15"));
    for (size_t i = 0;
         vigil_http_response_trailer_at(response, i, &name, &text) == 0;
         i++)
        printf("%.*s\n", (int)name.length, name.at);
    answered++;
    return vigil_value_none();
}

static void ask_sum(vigil_http_client *client, const char *url)
{
    static int pieces;
    vigil_promise *answer;
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    call.url = url;
    call.next_body = sum_body;
    call.trailers = sum_trailers;
    call.user = &pieces;
    int rc = vigil_promise_http(client, &call, NULL, &answer);
    assert(rc == 0);
    vigil_promise_unref(
        vigil_promise_chain(answer, show_sum, NULL, NULL));
}

/* vigil_http_response_take: go on with another protocol */
static void echoed(vigil_stream *stream, const void *data,
                   int64_t length, void *arg)
{
    (void)data;
    (void)arg;
    assert(length == 2);
    answered++;
    (void)vigil_stream_close(stream);
}

static vigil_value switched(vigil_value *value, void *arg)
{
    vigil_stream *stream;
    assert(vigil_http_response_status(value->pointer) == 101);
    int rc = vigil_http_response_take(value->pointer, &stream);
    assert(rc == 0);
    assert(vigil_stream_write(stream, "hi", 2) == 0);
    assert(vigil_stream_on_data(stream, echoed, arg) == 0);
    return vigil_value_none();
}

static void ask_echo(vigil_http_client *client, const char *url)
{
    vigil_promise *answer;
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    call.url = url;
    call.upgrade = "echo";
    int rc = vigil_promise_http(client, &call, NULL, &answer);
    assert(rc == 0);
    vigil_promise_unref(
        vigil_promise_chain(answer, switched, NULL, NULL));
}

/* vigil_http_client_stats_get: see how many connections were made */
static void show_client(vigil_http_client *client)
{
    vigil_http_client_stats stats = VIGIL_HTTP_CLIENT_STATS_INIT;
    assert(vigil_http_client_stats_get(client, &stats) == 0);
    printf("%llu connections\n", (unsigned long long)stats.connections);
}

/* vigil_http_client_destroy: close all connections */
static void end_client(vigil_http_client *client)
{
    assert(vigil_http_client_destroy(client) == 0);
}

int main(void)
{
    static const char *const paths[] = {"/count", "/slow", "/echo",
                                        "/body", "/"};
    static const char *const answers[] = {"0 1 2 ", "somemore", "hello",
                                          "counted", "hi"};
    vigil_loop *loop;
    vigil_address address;
    char where[VIGIL_ADDRESS_TEXT], urls[6][256];
    size_t count;
    int rc = vigil_loop_create(&loop, NULL);
    assert(rc == 0);
    vigil_http_server *server = serve(loop, &count, &address);
    vigil_http_client *client = make_client(loop);
    rc = vigil_address_text(&address, where, sizeof where);
    assert(rc > 0);
    for (int i = 0; i < 5; i++) {
        (void)snprintf(urls[i], sizeof urls[i], "http://%s%s", where,
                       paths[i]);
        ask(client, urls[i], i == 2 || i == 3 ? "hello" : NULL,
            answers[i]);
    }
    ask_echo(client, urls[4]);
    sum_loop = loop;
    (void)snprintf(urls[5], sizeof urls[5], "http://%s/sum", where);
    ask_sum(client, urls[5]);
    (void)serve_stream;
    while (answered < 7)
        (void)vigil_loop_run(loop, VIGIL_RUN_ONCE);
    show_client(client);
    end_client(client);
    show_server(server);
    end_server(loop, server);
    assert(count == 5);
    return vigil_loop_destroy(loop);
}
