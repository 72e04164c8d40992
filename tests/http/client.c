/* SPDX-License-Identifier: MIT */
/* Calls are answered over few connections; what breaks, loops or takes too long ends with its status. */
#include "http_test.h"

struct scene {
    vigil_loop *loop;
    vigil_http_server *server;
    vigil_http_client *client;
    char base[64];
    unsigned given;
    vigil_http_request *late;
    /* the last answer */
    unsigned settled;
    int error;
    int status;
    char body[4096];
    size_t length;
    uint64_t came; /* bytes at the server */
};

/* The answer is how many bytes came, and how they were framed. */
static void count_body(vigil_http_request *request, const void *data, int64_t length, void *arg)
{
    struct scene *scene = arg;
    char text[64];
    if (length > 0) {
        for (int64_t i = 0; i < length; i++)
            must_equal(((const unsigned char *)data)[i], (unsigned char)(scene->came + (uint64_t)i));
        scene->came += (uint64_t)length;
    } else if (length == 0) {
        (void)snprintf(text, sizeof text, "%s %llu %lld", vigil_http_method(request), (unsigned long long)scene->came,
                       (long long)vigil_http_length(request));
        must_equal(vigil_http_answer_text(request, 200, "text/plain", text), 0);
    } else {
        must_equal(vigil_http_reset(request), 0);
    }
}

static void route(vigil_http_request *request, void *user)
{
    struct scene *scene = user;
    const vigil_http_text path = vigil_http_path(request);
    scene->given++;
    if (vigil_http_text_is(path, "/late")) {
        scene->late = request;
    } else if (vigil_http_text_is(path, "/drop")) {
        must_equal(vigil_http_reset(request), 0);
    } else if (vigil_http_text_is(path, "/chunks")) {
        must_equal(vigil_http_start(request, 200, NULL, 0, -1), 0);
        must_equal(vigil_http_send(request, "one ", 4), 0);
        must_equal(vigil_http_send(request, "two", 3), 0);
        must_equal(vigil_http_end(request), 0);
    } else if (vigil_http_text_is(path, "/to")) {
        const vigil_http_field where = {"location", "/there?x"};
        must_equal(vigil_http_answer(request, 302, &where, 1, "moved", 5), 0);
    } else if (vigil_http_text_is(path, "/round")) {
        const vigil_http_field where = {"location", "round"};
        must_equal(vigil_http_answer(request, 301, &where, 1, NULL, 0), 0);
    } else if (vigil_http_text_is(path, "/count")) {
        must_equal(vigil_http_on_body(request, count_body, scene), 0);
    } else if (vigil_http_text_is(path, "/same")) {
        const vigil_http_field where = {"location", "/count"};
        must_equal(vigil_http_answer(request, 307, &where, 1, NULL, 0), 0);
    } else if (vigil_http_text_is(path, "/empty")) {
        must_equal(vigil_http_answer(request, 204, NULL, 0, NULL, 0), 0);
    } else {
        char text[256];
        const vigil_http_text target = vigil_http_target(request);
        const int length =
            snprintf(text, sizeof text, "%s %.*s auth=%d", vigil_http_method(request), (int)target.length, target.at,
                     vigil_http_header(request, "authorization").at != NULL);
        must_equal(vigil_http_answer(request, 200, NULL, 0, text, (size_t)length), 0);
    }
}

static void scene_open(struct scene *scene, const vigil_http_client_options *options)
{
    vigil_http_server_options server = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    vigil_address address;
    char text[VIGIL_ADDRESS_TEXT];
    memset(scene, 0, sizeof *scene);
    scene->loop = loop_plain();
    server.on_request = route;
    server.user = scene;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(vigil_http_server_open(&scene->server, scene->loop, &address, &server), 0);
    must_equal(vigil_http_server_address(scene->server, &address), 0);
    must(vigil_address_text(&address, text, sizeof text) > 0);
    (void)snprintf(scene->base, sizeof scene->base, "http://%.40s", text);
    must_equal(vigil_http_client_create(&scene->client, scene->loop, options), 0);
}

static void scene_end(struct scene *scene)
{
    must_equal(vigil_http_client_destroy(scene->client), 0);
    must_equal(vigil_http_server_close(scene->server), 0);
    must_equal(vigil_loop_run(scene->loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(scene->loop), 0);
}

static vigil_value answered(vigil_value *value, void *arg)
{
    struct scene *scene = arg;
    const vigil_http_response *response = value->pointer;
    const vigil_http_text body = vigil_http_response_body(response);
    scene->settled++;
    scene->error = 0;
    scene->status = vigil_http_response_status(response);
    must(body.length < sizeof scene->body);
    memcpy(scene->body, body.at, body.length);
    scene->body[body.length] = 0;
    scene->length = body.length;
    return vigil_value_none();
}

static vigil_value refused(vigil_value *reason, void *arg)
{
    struct scene *scene = arg;
    scene->settled++;
    scene->error = reason->status;
    return vigil_value_none();
}

static void begin(struct scene *scene, const char *path, vigil_http_call *call, vigil_cancel_token *token)
{
    vigil_http_call plain = VIGIL_HTTP_CALL_INIT;
    char url[128];
    vigil_promise *promise;
    if (call == NULL)
        call = &plain;
    (void)snprintf(url, sizeof url, "%s%s", scene->base, path);
    if (call->url == NULL)
        call->url = url;
    must_equal(vigil_promise_http(scene->client, call, token, &promise), 0);
    must_equal(vigil_promise_then(promise, answered, refused, scene, NULL), 0);
    vigil_promise_unref(promise);
    if (call->url == url)
        call->url = NULL;
}

static void wait_for(struct scene *scene, unsigned settled)
{
    while (scene->settled < settled)
        must(vigil_loop_run(scene->loop, VIGIL_RUN_ONCE) >= 0);
}

static void ask(struct scene *scene, const char *path, vigil_http_call *call)
{
    begin(scene, path, call, NULL);
    wait_for(scene, scene->settled + 1);
}

static vigil_http_client_stats stats_of(struct scene *scene)
{
    vigil_http_client_stats stats = VIGIL_HTTP_CLIENT_STATS_INIT;
    must_equal(vigil_http_client_stats_get(scene->client, &stats), 0);
    return stats;
}

static void calls_follow_each_other_on_one_connection(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, NULL);
    static const char *const paths[] = {"/", "/a?b=c", "/chunks", "/empty", "", "?q"};
    static const char *const bodies[] = {"GET / auth=0", "GET /a?b=c auth=0", "one two", "",
                                         "GET / auth=0", "GET /?q auth=0"};
    for (size_t i = 0; i < count_of(paths); i++) {
        ask(&scene, paths[i], NULL);
        must_equal(scene.error, 0);
        must_equal(strcmp(scene.body, bodies[i]), 0);
    }
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    call.method = "HEAD";
    ask(&scene, "/x", &call);
    must_equal(scene.status, 200);
    must_equal(scene.length, 0);
    call.method = NULL;
    call.body = "some";
    call.length = 4;
    ask(&scene, "/post", &call);
    must_equal(strcmp(scene.body, "POST /post auth=0"), 0);
    must_equal(stats_of(&scene).connections, 1);
    must_equal(stats_of(&scene).idle, 1);
    scene_end(&scene);
}

static void many_calls_share_the_connections_of_a_host(void **state)
{
    (void)state;
    struct scene scene;
    vigil_http_client_options options = VIGIL_HTTP_CLIENT_OPTIONS_INIT;
    options.most_per_host = 3;
    scene_open(&scene, &options);
    for (int i = 0; i < 50; i++)
        begin(&scene, "/", NULL, NULL);
    wait_for(&scene, 50);
    must_equal(scene.error, 0);
    must_equal(scene.given, 50);
    must_equal(stats_of(&scene).connections, 3);
    scene_end(&scene);
}

static void a_kept_connection_that_the_server_closed_is_replaced(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, NULL);
    ask(&scene, "/", NULL);
    must_equal(vigil_http_server_close(scene.server), 0);
    vigil_http_server_options server = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    vigil_address address;
    server.on_request = route;
    server.user = &scene;
    must_equal(vigil_address_init(&address, scene.base + 7), 0);
    must_equal(vigil_http_server_open(&scene.server, scene.loop, &address, &server), 0);
    ask(&scene, "/again", NULL);
    must_equal(scene.error, 0);
    must_equal(strcmp(scene.body, "GET /again auth=0"), 0);
    ask(&scene, "/drop", NULL); /* closed without an answer, on a kept connection: made once more, then it fails */
    must_equal(scene.error, -ECONNRESET);
    must_equal(scene.given, 4);
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    ask(&scene, "/", NULL);
    call.method = "POST"; /* may have been done: not repeated */
    ask(&scene, "/drop", &call);
    must_equal(scene.error, -ECONNRESET);
    must_equal(scene.given, 6);
    scene_end(&scene);
}

static void redirects_are_followed_on_demand(void **state)
{
    (void)state;
    struct scene scene;
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    const vigil_http_field secret = {"Authorization", "x"};
    scene_open(&scene, NULL);
    ask(&scene, "/to", NULL);
    must_equal(scene.status, 302);
    must_equal(strcmp(scene.body, "moved"), 0);
    call.redirects = 3;
    call.fields = &secret;
    call.count = 1;
    ask(&scene, "/to", &call);
    must_equal(scene.status, 200);
    must_equal(strcmp(scene.body, "GET /there?x auth=1"), 0);
    ask(&scene, "/round", &call);
    must_equal(scene.error, -ELOOP);
    scene_end(&scene);
}

static void calls_can_be_taken_back(void **state)
{
    (void)state;
    struct scene scene;
    vigil_cancel_source *source;
    vigil_http_client_options options = VIGIL_HTTP_CLIENT_OPTIONS_INIT;
    options.most_per_host = 1;
    scene_open(&scene, &options);
    must_equal(vigil_cancel_create(&source), 0);
    begin(&scene, "/late", NULL, vigil_cancel_token_of(source)); /* is sent */
    begin(&scene, "/late", NULL, vigil_cancel_token_of(source)); /* waits for a connection */
    begin(&scene, "/", NULL, NULL);
    while (scene.given == 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(stats_of(&scene).waiting, 2);
    must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
    wait_for(&scene, 3);
    must_equal(scene.error, 0); /* the last one goes on */
    must_equal(scene.given, 2);
    must_equal(vigil_http_reset(scene.late), 0);
    vigil_cancel_destroy(source);
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    call.timeout_ns = 20000000;
    ask(&scene, "/late", &call);
    must_equal(scene.error, -ETIMEDOUT);
    must_equal(vigil_http_reset(scene.late), 0);
    scene_end(&scene);
}

static void the_client_goes_while_calls_wait(void **state)
{
    (void)state;
    struct scene scene;
    vigil_http_client_options options = VIGIL_HTTP_CLIENT_OPTIONS_INIT;
    options.most_per_host = 1;
    scene_open(&scene, &options);
    begin(&scene, "/late", NULL, NULL);
    begin(&scene, "/late", NULL, NULL);
    while (scene.given == 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(vigil_http_client_destroy(scene.client), 0);
    scene.client = NULL;
    wait_for(&scene, 2);
    must_equal(scene.error, -ECANCELED);
    must_equal(vigil_http_reset(scene.late), 0);
    must_equal(vigil_http_client_create(&scene.client, scene.loop, &options), 0);
    begin(&scene, "/", NULL, NULL); /* and while it connects */
    must_equal(vigil_http_client_destroy(scene.client), 0);
    scene.client = NULL;
    wait_for(&scene, 3);
    scene_end(&scene);
}

static void what_cannot_be_asked_is_said_at_once(void **state)
{
    (void)state;
    struct scene scene;
    static const char *const bad[] = {"",
                                      "ftp://a/",
                                      "http://",
                                      "http:///x",
                                      "http://a:0/",
                                      "http://a:99999/",
                                      "http://a:x/",
                                      "http://[::1/",
                                      "http://u@127.0.0.1/",
                                      "http://127.0.0.1/a b",
                                      "http://127.0.0.1/\r\nX: y",
                                      "http://a\r\nb/"};
    scene_open(&scene, NULL);
    vigil_promise *promise;
    for (size_t i = 0; i < count_of(bad); i++) {
        vigil_http_call call = VIGIL_HTTP_CALL_INIT;
        call.url = bad[i];
        must_equal(vigil_promise_http(scene.client, &call, NULL, &promise), -EINVAL);
    }
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    call.url = "http://example.org/";
    must_equal(vigil_promise_http(scene.client, &call, NULL, &promise), -EOPNOTSUPP);
    call.url = "https://127.0.0.1/";
    must_equal(vigil_promise_http(scene.client, &call, NULL, &promise), -EOPNOTSUPP);
    call.url = "http://127.0.0.1/";
    call.method = "GET /x HTTP/1.1\r\n";
    must_equal(vigil_promise_http(scene.client, &call, NULL, &promise), -EINVAL);
    const vigil_http_field field = {"a", "b\r\nc: d"};
    call.method = NULL;
    call.fields = &field;
    call.count = 1;
    must_equal(vigil_promise_http(scene.client, &call, NULL, &promise), -EINVAL);
    scene_end(&scene);
}

/* ---- servers that misbehave ---------------------------------------------------------------------------------------- */

struct fake {
    const char *bytes;
    unsigned streams;
};

static void fake_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct fake *fake = arg;
    (void)data;
    if (length > 0)
        (void)vigil_stream_write(stream, fake->bytes, strlen(fake->bytes));
    (void)vigil_stream_close(stream);
}

static void fake_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    struct fake *fake = user;
    (void)listener;
    fake->streams++;
    must_equal(vigil_stream_on_data(stream, fake_data, fake), 0);
}

static void answers_that_are_none(void **state)
{
    (void)state;
    static char trailers[40000]; /* more than a head may have */
    (void)snprintf(trailers, sizeof trailers, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nx: %039000d",
                   0);
    static const struct {
        int error;
        const char *bytes, *body;
    } table[] = {
        {0, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab"},
        {0, "HTTP/1.1 200 OK\r\n\r\nto the end", "to the end"},
        {0, "HTTP/1.0 200 OK\r\n\r\nold", "old"},
        {0,
         "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
         "x"},
        {0, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nT: x\r\n\r\n", "abc"},
        {0, "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", ""},
        {0, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab and more", "ab"},
        {-ECONNRESET, "", NULL},
        {-ECONNRESET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", NULL},
        {-ECONNRESET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", NULL},
        {-ECONNRESET, "HTTP/1.1 200 OK\r\nContent-Le", NULL},
        {-EBADMSG, "hello, I am no web server\r\n\r\n", NULL},
        {-EBADMSG, "HTTP/2.0 200 OK\r\n\r\n", NULL},
        {-EBADMSG, "HTTP/1.1 200 OK\nContent-Length: 2\n\nab", NULL},
        {-EBADMSG, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab", NULL},
        {-EBADMSG, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", NULL},
        {-EBADMSG, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", NULL},
        {0, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nContent-Length: 9\r\n\r\n", "a"},
        {-EBADMSG, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nno colon\r\n\r\n", NULL},
        {-EMSGSIZE, trailers, NULL},
        {-EBADMSG, "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", NULL},
        {-EBADMSG, "HTTP/1.1 101 Switching\r\n\r\n", NULL},
        {-EMSGSIZE, "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n0123456789012345678901234567890123456789", NULL},
    };
    struct scene scene;
    struct fake fake = {0};
    vigil_listener *listener;
    vigil_address address;
    char text[VIGIL_ADDRESS_TEXT], url[128];
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    scene_open(&scene, NULL);
    options.on_stream = fake_stream;
    options.user = &fake;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&listener, scene.loop, &address, &options), 0);
    must_equal(vigil_listener_address(listener, &address), 0);
    must(vigil_address_text(&address, text, sizeof text) > 0);
    (void)snprintf(url, sizeof url, "http://%.60s/", text);
    for (size_t i = 0; i < count_of(table); i++) {
        vigil_http_call call = VIGIL_HTTP_CALL_INIT;
        call.url = url;
        call.most_body = 30;
        fake.bytes = table[i].bytes;
        ask(&scene, "", &call);
        if (scene.error != table[i].error || (table[i].body != NULL && strcmp(scene.body, table[i].body) != 0))
            fail_msg("answer %zu: error %d in place of %d, body '%s'", i, scene.error, table[i].error, scene.body);
    }
    must_equal(stats_of(&scene).open, 0);
    must_equal(vigil_listener_close(listener), 0);
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    call.url = url;
    ask(&scene, "", &call); /* nobody listens */
    must_equal(scene.error, -ECONNREFUSED);
    scene_end(&scene);
}

static void gather(vigil_http_response *response, const void *data, size_t length, void *user)
{
    struct scene *scene = user;
    must_equal(vigil_http_response_status(response), 200);
    memcpy(scene->body + scene->length, data, length);
    scene->length += length;
}

static vigil_value gathered(vigil_value *value, void *arg)
{
    struct scene *scene = arg;
    scene->settled++;
    must_equal(vigil_http_response_body(value->pointer).length, 0);
    return vigil_value_none();
}

static void a_body_may_come_in_pieces(void **state)
{
    (void)state;
    struct scene scene;
    vigil_promise *promise;
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    char url[128];
    scene_open(&scene, NULL);
    (void)snprintf(url, sizeof url, "%s/chunks", scene.base);
    call.url = url;
    call.on_body = gather;
    call.user = &scene;
    must_equal(vigil_promise_http(scene.client, &call, NULL, &promise), 0);
    must_equal(vigil_promise_then(promise, gathered, NULL, &scene, NULL), 0);
    vigil_promise_unref(promise);
    wait_for(&scene, 1);
    must_equal(memcmp(scene.body, "one two", 7), 0);
    scene_end(&scene);
}

/* ---- bodies that are sent in pieces ------------------------------------------------------------------------------- */

struct upload {
    struct scene *scene;
    size_t piece;
    unsigned left, asked;
    uint64_t position;
    int end; /* 0: a good end; 1: none, the last piece never comes; negative: it fails so */
    vigil_promise *pending;
};

static int next_piece(void *user, vigil_promise **promise)
{
    struct upload *upload = user;
    upload->asked++;
    must_equal(vigil_promise_create(promise, upload->scene->loop), 0);
    if (upload->left == 0) {
        if (upload->end < 0)
            must_equal(vigil_promise_reject(*promise, vigil_value_error(upload->end)), 0);
        else if (upload->end == 0)
            must_equal(vigil_promise_resolve(*promise, vigil_value_none()), 0);
        else
            upload->pending = vigil_promise_ref(*promise);
        return 0;
    }
    upload->left--;
    vigil_http_bytes *bytes = malloc(sizeof *bytes + upload->piece);
    must(bytes != NULL);
    unsigned char *data = (unsigned char *)(bytes + 1);
    for (size_t i = 0; i < upload->piece; i++)
        data[i] = (unsigned char)(upload->position + i);
    upload->position += upload->piece;
    *bytes = (vigil_http_bytes){upload->piece, (const char *)data};
    must_equal(vigil_promise_resolve(*promise, vigil_value_pointer(bytes, free)), 0);
    return 0;
}

static vigil_http_call upload_call(struct upload *upload, struct scene *scene, size_t piece, unsigned count)
{
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    *upload = (struct upload){.scene = scene, .piece = piece, .left = count};
    call.next_body = next_piece;
    call.user = upload;
    scene->came = 0;
    return call;
}

static void a_body_may_be_sent_in_pieces(void **state)
{
    (void)state;
    struct scene scene;
    struct upload upload;
    static const struct {
        size_t piece;
        unsigned count;
    } sizes[] = {{1, 0}, {1, 1}, {1000, 7}, {65536, 8}, {0, 3}, {300000, 3}};
    scene_open(&scene, NULL);
    for (size_t i = 0; i < count_of(sizes); i++)
        for (int known = 0; known < 2; known++) {
            char expected[64];
            const long long all = (long long)(sizes[i].piece * sizes[i].count);
            vigil_http_call call = upload_call(&upload, &scene, sizes[i].piece, sizes[i].count);
            call.body_length = known ? all : -1;
            begin(&scene, "/count", &call, NULL);
            must_equal(upload.asked, 0); /* never inside the call */
            wait_for(&scene, scene.settled + 1);
            must_equal(scene.error, 0);
            (void)snprintf(expected, sizeof expected, "POST %lld %lld", all, known ? all : -1LL);
            must_equal(strcmp(scene.body, expected), 0);
        }
    must_equal(stats_of(&scene).connections, 1); /* it is used again after each */
    scene_end(&scene);
}

static void pieces_that_do_not_fit_their_length_end_the_call(void **state)
{
    (void)state;
    struct scene scene;
    struct upload upload;
    scene_open(&scene, NULL);
    vigil_http_call call = upload_call(&upload, &scene, 100, 3);
    call.body_length = 301;
    ask(&scene, "/count", &call);
    must_equal(scene.error, -ENODATA);
    call = upload_call(&upload, &scene, 100, 3);
    call.body_length = 299;
    ask(&scene, "/count", &call);
    must_equal(scene.error, -EMSGSIZE);
    call = upload_call(&upload, &scene, 100, 3);
    upload.end = -EIO;
    ask(&scene, "/count", &call);
    must_equal(scene.error, -EIO);
    call = upload_call(&upload, &scene, 100, 3);
    call.body = "x";
    call.length = 1;
    call.url = "http://127.0.0.1:1/";
    vigil_promise *promise;
    must_equal(vigil_promise_http(scene.client, &call, NULL, &promise), -EINVAL);
    scene_end(&scene);
}

/* The server may answer first, the call may be taken back, the client may go: the piece that was asked for still comes. */
static void a_piece_that_comes_too_late_is_dropped(void **state)
{
    (void)state;
    struct scene scene;
    struct upload upload;
    vigil_cancel_source *source;
    for (int how = 0; how < 3; how++) {
        scene_open(&scene, NULL);
        vigil_http_call call = upload_call(&upload, &scene, 10, 1);
        upload.end = 1;
        must_equal(vigil_cancel_create(&source), 0);
        begin(&scene, how == 0 ? "/early" : "/count", &call, vigil_cancel_token_of(source));
        while (upload.pending == NULL)
            must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
        if (how == 1)
            must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
        if (how == 2) {
            must_equal(vigil_http_client_destroy(scene.client), 0);
            scene.client = NULL;
        }
        wait_for(&scene, 1);
        must_equal(scene.error, how == 0 ? 0 : -ECANCELED);
        must_equal(vigil_promise_resolve(upload.pending, vigil_value_none()), 0);
        vigil_promise_unref(upload.pending);
        vigil_cancel_destroy(source);
        scene_end(&scene);
    }
}

static void redirects_do_not_ask_for_pieces_again(void **state)
{
    (void)state;
    struct scene scene;
    struct upload upload;
    scene_open(&scene, NULL);
    vigil_http_call call = upload_call(&upload, &scene, 10, 2);
    call.redirects = 3;
    ask(&scene, "/same", &call); /* 307: the answer is given as it is */
    must_equal(scene.status, 307);
    call = upload_call(&upload, &scene, 10, 2);
    call.redirects = 3;
    ask(&scene, "/to", &call); /* 302: without the body */
    must_equal(scene.status, 200);
    must_equal(strcmp(scene.body, "GET /there?x auth=0"), 0);
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_follow_each_other_on_one_connection),
        cmocka_unit_test(many_calls_share_the_connections_of_a_host),
        cmocka_unit_test(a_kept_connection_that_the_server_closed_is_replaced),
        cmocka_unit_test(redirects_are_followed_on_demand),
        cmocka_unit_test(calls_can_be_taken_back),
        cmocka_unit_test(the_client_goes_while_calls_wait),
        cmocka_unit_test(what_cannot_be_asked_is_said_at_once),
        cmocka_unit_test(answers_that_are_none),
        cmocka_unit_test(a_body_may_come_in_pieces),
        cmocka_unit_test(a_body_may_be_sent_in_pieces),
        cmocka_unit_test(pieces_that_do_not_fit_their_length_end_the_call),
        cmocka_unit_test(a_piece_that_comes_too_late_is_dropped),
        cmocka_unit_test(redirects_do_not_ask_for_pieces_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
