/* SPDX-License-Identifier: MIT */
/* Requests are answered once, in order and in few calls; bodies wait for their readers; time and numbers have limits. */
#include "http_test.h"

#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define MS  INT64_C(1000000)

static unsigned given;
static vigil_http_request *last;

static void hello(vigil_http_request *request, void *user)
{
    (void)user;
    given++;
    must_equal(vigil_http_answer_text(request, 200, "text/plain", "hello"), 0);
}

static void keep(vigil_http_request *request, void *user)
{
    (void)user;
    given++;
    last = request;
}

static void open_with(struct web *web, vigil_http_fn fn, vigil_http_server_options *more)
{
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    if (more != NULL)
        options = *more;
    options.on_request = fn;
    web_open(web, &options);
    web_connect(web);
    given = 0;
    last = NULL;
}

static void says(struct web *web, const char *text)
{
    web_says(web, text, strlen(text));
}

static void wait_for_request(struct web *web, unsigned count)
{
    while (given < count)
        web_turn(web);
}

/* ---- heads -------------------------------------------------------------------------------------------------------- */

static void look_at_head(vigil_http_request *request, void *user)
{
    vigil_http_text name, value;
    vigil_address peer;
    struct web *web = user;
    given++;
    must_equal(strcmp(vigil_http_method(request), "PUT"), 0);
    must(vigil_http_text_is(vigil_http_target(request), "/a%20b?c=d?e"));
    must(vigil_http_text_is(vigil_http_path(request), "/a%20b"));
    must(vigil_http_text_is(vigil_http_query(request), "c=d?e"));
    must(vigil_http_text_is(vigil_http_header(request, "x-THING"), "one two"));
    must(vigil_http_header(request, "nothing").at == NULL);
    must_equal(vigil_http_header_at(request, 1, &name, &value), 0);
    must(vigil_http_text_is(name, "X-Thing"));
    must_equal(vigil_http_header_at(request, 3, &name, &value), -ENOENT);
    must_equal(vigil_http_length(request), 2);
    must_equal(vigil_http_peer(request, &peer), 0);
    must(vigil_http_loop(request) == web->loop);
    last = request;
}

static void a_head_is_read_and_outlives_its_call(void **state)
{
    (void)state;
    static struct web web;
    open_with(&web, look_at_head, NULL);
    says(&web, "PUT /a%20b?c=d?e HTTP/1.1\r\nHost: a\r\nX-Thing:  one two \r\nContent-Length: 2\r\n\r\nxy");
    wait_for_request(&web, 1);
    says(&web, "something else that overwrites the buffer of the loop");
    look_at_head(last, &web);
    must_equal(vigil_http_reset(last), 0);
    web_until_end(&web);
    must_equal(web.length, 0);
    web_end(&web);
}

/* ---- answers ------------------------------------------------------------------------------------------------------ */

static void pipelined_answers_leave_in_order_and_together(void **state)
{
    (void)state;
    static struct web web;
    static char many[100 * sizeof GET];
    open_with(&web, hello, NULL);
    for (int i = 0; i < 100; i++)
        strcat(many, GET);
    must_equal(send(web.peer, many, strlen(many), 0), strlen(many));
    wait_for_request(&web, 100);
    while (web_count(&web, "hello") < 100)
        web_turn(&web);
    must_equal(given, 100);
    must(strstr(web.text, "HTTP/1.1 200 OK\r\ndate: ") == web.text);
    must(strstr(web.text, "\r\ncontent-length: 5\r\n") != NULL);
    web_end(&web);
}

static void a_late_answer_holds_back_those_behind_it(void **state)
{
    (void)state;
    static struct web web;
    open_with(&web, keep, NULL);
    says(&web, GET GET GET);
    wait_for_request(&web, 1);
    for (int i = 0; i < 5; i++)
        web_turn(&web);
    must_equal(given, 1);
    for (unsigned i = 1; i <= 3; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "number %u", i);
        must_equal(vigil_http_answer_text(last, 200, "text/plain", text), 0);
        must(web_until(&web, text));
        if (i < 3)
            wait_for_request(&web, i + 1);
    }
    must(strstr(web.text, "number 1") < strstr(web.text, "number 2"));
    must(strstr(web.text, "number 2") < strstr(web.text, "number 3"));
    web_end(&web);
}

static void wrong_answers_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static struct web web;
    static const vigil_http_field bad[] = {
        {"a b", "c"},   {"", "c"},   {"a", "b\r\nc: d"},      {"a", "b\nc"},           {NULL, "b"},
        {"a", NULL},    {"a:", "b"}, {"Connection", "close"}, {"content-LENGTH", "1"}, {"transfer-encoding", "chunked"},
        {"Date", "now"}};
    open_with(&web, keep, NULL);
    says(&web, GET);
    wait_for_request(&web, 1);
    for (size_t i = 0; i < count_of(bad); i++)
        must_equal(vigil_http_answer(last, 200, &bad[i], 1, NULL, 0), -EINVAL);
    must_equal(vigil_http_answer(last, 100, NULL, 0, NULL, 0), -EINVAL);
    must_equal(vigil_http_answer(last, 600, NULL, 0, NULL, 0), -EINVAL);
    must_equal(vigil_http_answer(last, 200, NULL, 1, NULL, 0), -EINVAL);
    must_equal(vigil_http_answer(last, 200, NULL, 0, NULL, 1), -EINVAL);
    must_equal(vigil_http_answer(NULL, 200, NULL, 0, NULL, 0), -EINVAL);
    must_equal(vigil_http_end(last), -EINVAL);
    must_equal(vigil_http_send(last, "x", 1), -EINVAL);
    must_equal(vigil_http_start(last, 200, NULL, 0, 3), 0);
    must_equal(vigil_http_start(last, 200, NULL, 0, 3), -EALREADY);
    must_equal(vigil_http_answer(last, 200, NULL, 0, NULL, 0), -EALREADY);
    must_equal(vigil_http_send(last, "abcd", 4), -EINVAL);
    must_equal(vigil_http_send(last, "ab", 2), 0);
    must_equal(vigil_http_send(last, "c", 1), 0);
    must_equal(vigil_http_end(last), 0);
    must(web_until(&web, "\r\n\r\nabc"));
    must_equal(web_count(&web, "HTTP/1.1"), 1);
    web_end(&web);
}

static void too_little_of_an_answer_resets_the_connection(void **state)
{
    (void)state;
    static struct web web;
    open_with(&web, keep, NULL);
    says(&web, GET);
    wait_for_request(&web, 1);
    must_equal(vigil_http_start(last, 200, NULL, 0, 3), 0);
    must_equal(vigil_http_end(last), -ENODATA);
    web_until_end(&web);
    web_end(&web);
}

static void chunks_for_new_clients_and_an_end_for_old_ones(void **state)
{
    (void)state;
    static struct web web;
    open_with(&web, keep, NULL);
    says(&web, GET);
    wait_for_request(&web, 1);
    must_equal(vigil_http_start(last, 200, NULL, 0, -1), 0);
    must_equal(vigil_http_send(last, "0123456789abcdef!", 17), 0);
    must_equal(vigil_http_send(last, "", 0), 0);
    must_equal(vigil_http_send(last, "x", 1), 0);
    must_equal(vigil_http_end(last), 0);
    must(web_until(&web, "\r\n\r\n11\r\n0123456789abcdef!\r\n1\r\nx\r\n0\r\n\r\n"));
    must(strstr(web.text, "transfer-encoding: chunked") != NULL);
    must(strstr(web.text, "content-length") == NULL);
    web_connect(&web);
    says(&web, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    wait_for_request(&web, 2);
    must_equal(vigil_http_start(last, 200, NULL, 0, -1), 0);
    must_equal(vigil_http_send(last, "to the end", 10), 0);
    must_equal(vigil_http_end(last), 0);
    web_until_end(&web);
    must(strstr(web.text, "connection: close\r\n\r\nto the end") != NULL);
    must(strstr(web.text, "transfer-encoding") == NULL);
    web_end(&web);
}

static void answers_without_a_body(void **state)
{
    (void)state;
    static struct web web;
    open_with(&web, keep, NULL);
    says(&web, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" GET GET "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" GET);
    wait_for_request(&web, 1);
    must_equal(vigil_http_answer(last, 200, NULL, 0, "abc", 3), 0);
    wait_for_request(&web, 2);
    must_equal(vigil_http_answer(last, 204, NULL, 0, "abc", 3), 0);
    wait_for_request(&web, 3);
    must_equal(vigil_http_answer(last, 304, NULL, 0, "abc", 3), 0);
    wait_for_request(&web, 4);
    must_equal(vigil_http_start(last, 200, NULL, 0, -1), 0);
    must_equal(vigil_http_send(last, "abc", 3), 0);
    must_equal(vigil_http_end(last), 0);
    wait_for_request(&web, 5);
    must_equal(vigil_http_answer(last, 200, NULL, 0, "end", 3), 0);
    must(web_until(&web, "end"));
    must_equal(web_count(&web, "abc"), 0);
    must_equal(web_count(&web, "content-length: 3\r\n"), 2); /* HEAD, and the last one */
    must_equal(web_count(&web, "chunked"), 1);
    web_end(&web);
}

static void who_asks_for_the_end_gets_it(void **state)
{
    (void)state;
    static struct web web;
    open_with(&web, hello, NULL);
    static const struct {
        const char *head;
        bool stays;
    } table[] = {{"GET / HTTP/1.1\r\nHost: a\r\n", true},
                 {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n", false},
                 {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x,close ,y\r\n", false},
                 {"GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n", true},
                 {"GET / HTTP/1.0\r\n", false},
                 {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n", true}};
    for (size_t i = 0; i < count_of(table); i++) {
        web_connect(&web);
        says(&web, table[i].head);
        says(&web, "\r\n");
        must(web_until(&web, "hello"));
        must_equal(web_count(&web, "connection: close"), table[i].stays ? 0 : 1);
        if (!table[i].stays)
            web_until_end(&web);
        else
            must(!web.ended);
    }
    web_end(&web);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------- */

static char body[300000];
static size_t body_length;
static int64_t body_end;
static bool pausing;

static void take_body(vigil_http_request *request, const void *data, int64_t length, void *arg)
{
    (void)arg;
    if (length > 0) {
        must(body_length + (size_t)length <= sizeof body);
        memcpy(body + body_length, data, (size_t)length);
        body_length += (size_t)length;
        if (pausing)
            must_equal(vigil_http_on_body(request, NULL, NULL), 0);
        return;
    }
    body_end = length;
    if (length == 0)
        must_equal(vigil_http_answer_text(request, 200, "text/plain", "taken"), 0);
    else
        must_equal(vigil_http_reset(request), 0);
}

static void want_body(vigil_http_request *request, void *user)
{
    (void)user;
    given++;
    last = request;
    body_length = 0;
    body_end = 1;
    must_equal(vigil_http_on_body(request, take_body, NULL), 0);
}

static void bodies_come_whole_by_length_and_in_chunks(void **state)
{
    (void)state;
    static struct web web;
    static char sent[200000];
    open_with(&web, want_body, NULL);
    int length = snprintf(sent, sizeof sent, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 150000\r\n\r\n");
    for (int i = 0; i < 150000; i++)
        sent[length + i] = (char)('a' + i % 26);
    web_says(&web, sent, (size_t)length + 150000);
    must(web_until(&web, "taken"));
    must_equal(body_length, 150000);
    must_equal(memcmp(body, sent + length, 150000), 0);
    says(&web, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    says(&web, "7;x=\"y\"\r\n, world\r\n0\r\nTrailer: thrown away\r\n\r\n" GET);
    while (web_count(&web, "taken") < 3) /* the last one has no body: its end comes at once */
        web_turn(&web);
    must_equal(given, 3);
    web_end(&web);
}

static void a_reader_that_pauses_holds_the_client_back(void **state)
{
    (void)state;
    static struct web web;
    static char sent[4000000];
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    options.body_bytes = 8000000;
    open_with(&web, want_body, &options);
    pausing = true;
    says(&web, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n");
    wait_for_request(&web, 1);
    size_t taken = 0;
    unsigned quiet = 0;
    while (quiet < 50) { /* until the kernel takes no more */
        const ssize_t got = send(web.peer, sent, sizeof sent, MSG_NOSIGNAL);
        quiet = got > 0 ? 0 : quiet + 1;
        taken += got > 0 ? (size_t)got : 0;
        web_turn(&web);
        must(taken < 8000000);
    }
    must(body_length <= 131072); /* one piece, and what one read had brought besides */
    pausing = false;
    must_equal(vigil_http_reset(last), 0);
    web_until_end(&web);
    web_end(&web);
}

static void paused_bodies_go_on_where_they_stopped(void **state)
{
    (void)state;
    static struct web web;
    open_with(&web, want_body, NULL);
    pausing = true;
    says(&web,
         "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n" GET);
    for (unsigned i = 1; i <= 3; i++) {
        while (body_length < i)
            web_turn(&web);
        for (int k = 0; k < 3; k++)
            web_turn(&web);
        must_equal(body_length, i);
        must_equal(body_end, 1);
        must_equal(vigil_http_on_body(last, take_body, NULL), 0);
    }
    must(web_until(&web, "taken"));
    must_equal(memcmp(body, "abc", 3), 0);
    pausing = false;
    while (web_count(&web, "taken") < 2)
        web_turn(&web);
    web_end(&web);
}

static void refuse_body(vigil_http_request *request, void *user)
{
    (void)user;
    given++;
    must_equal(vigil_http_answer_text(request, 403, "text/plain", "no"), 0);
}

static void bodies_that_nobody_wants(void **state)
{
    (void)state;
    static struct web web;
    static char sent[600000];
    open_with(&web, refuse_body, NULL);
    /* a short one is thrown away, and the connection goes on */
    says(&web, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    must(web_until(&web, "no"));
    says(&web, "hello" GET);
    while (web_count(&web, "403") < 2)
        web_turn(&web);
    must_equal(web_count(&web, "connection: close"), 0);
    /* a long one ends it, but the answer arrives */
    says(&web, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 600000\r\n\r\n");
    web_says(&web, sent, sizeof sent);
    must(web_until(&web, "connection: close"));
    /* one that waits for 100 Continue is never sent */
    web_connect(&web);
    says(&web, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    must(web_until(&web, "connection: close"));
    must_equal(web_count(&web, "100 Continue"), 0);
    web_end(&web);
}

static void a_client_that_expects_100_gets_it_with_the_reader(void **state)
{
    (void)state;
    static struct web web;
    open_with(&web, keep, NULL);
    says(&web, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\n");
    wait_for_request(&web, 1);
    for (int i = 0; i < 3; i++)
        web_turn(&web);
    must_equal(web.length, 0);
    body_length = 0;
    must_equal(vigil_http_on_body(last, take_body, NULL), 0);
    must(web_until(&web, "HTTP/1.1 100 Continue\r\n\r\n"));
    says(&web, "hello");
    must(web_until(&web, "taken"));
    must_equal(memcmp(body, "hello", 5), 0);
    web_end(&web);
}

static vigil_value note_bytes(vigil_value *value, void *arg)
{
    struct web *web = arg;
    const vigil_http_bytes *bytes = value->pointer;
    (void)web;
    must_equal(vigil_http_answer(last, 200, NULL, 0, bytes->data, bytes->length), 0);
    return vigil_value_none();
}

static vigil_value note_reason(vigil_value *reason, void *arg)
{
    (void)arg;
    body_end = reason->status;
    must_equal(vigil_http_answer_text(last, 413, "text/plain", "too long"), 0);
    return vigil_value_none();
}

static void promise_body(vigil_http_request *request, void *user)
{
    vigil_promise *promise;
    given++;
    last = request;
    must_equal(vigil_promise_http_body(request, 10, NULL, &promise), 0);
    must_equal(vigil_promise_then(promise, note_bytes, note_reason, user, NULL), 0);
    vigil_promise_unref(promise);
}

static void a_body_as_a_promise(void **state)
{
    (void)state;
    static struct web web;
    open_with(&web, promise_body, NULL);
    says(&web, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n");
    must(web_until(&web, "helloworld"));
    says(&web, GET);
    while (web_count(&web, "content-length: 0") < 1)
        web_turn(&web);
    says(&web, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world" GET);
    must(web_until(&web, "too long"));
    must_equal(body_end, -EMSGSIZE);
    while (web_count(&web, "content-length: 0") < 2)
        web_turn(&web);
    web_end(&web);
}

/* ---- clients that go ---------------------------------------------------------------------------------------------- */

static unsigned gone;
static void note_gone(void *arg)
{
    (void)arg;
    gone++;
}

static void a_client_that_goes_is_told_and_the_request_stays(void **state)
{
    (void)state;
    static struct web web;
    static char big[100000];
    open_with(&web, keep, NULL);
    says(&web, GET);
    wait_for_request(&web, 1);
    gone = 0;
    must_equal(vigil_http_on_gone(last, note_gone, NULL), 0);
    const struct linger at_once = {.l_onoff = 1};
    must_equal(setsockopt(web.peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    must_equal(close(web.peer), 0);
    web.peer = -1;
    while (gone == 0)
        must(vigil_loop_run(web.loop, VIGIL_RUN_ONCE) >= 0);
    must(vigil_http_text_is(vigil_http_path(last), "/"));
    must_equal(vigil_http_on_gone(last, note_gone, NULL), -EALREADY);
    must_equal(vigil_http_start(last, 200, NULL, 0, -1), -EPIPE);
    must_equal(vigil_http_send(last, big, sizeof big), -EPIPE);
    must_equal(vigil_http_answer_text(last, 200, "text/plain", "x"), -EPIPE); /* over */
    must_equal(gone, 1);
    /* half-closed: the answer still arrives */
    web_connect(&web);
    says(&web, GET);
    must_equal(shutdown(web.peer, SHUT_WR), 0);
    wait_for_request(&web, 2);
    must_equal(vigil_http_answer_text(last, 200, "text/plain", "after all"), 0);
    web_until_end(&web);
    must(strstr(web.text, "after all") != NULL);
    /* in the midst of a body */
    web_connect(&web);
    says(&web, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel");
    wait_for_request(&web, 3);
    body_end = 1;
    must_equal(vigil_http_on_body(last, take_body, NULL), 0);
    must_equal(shutdown(web.peer, SHUT_WR), 0);
    while (body_end == 1)
        web_turn(&web);
    must_equal(body_end, -ECONNRESET);
    web_end(&web);
}

static unsigned drained;
static void note_drained(void *arg)
{
    (void)arg;
    drained++;
}

static void an_answer_that_nobody_reads_stops_its_writer(void **state)
{
    (void)state;
    static struct web web;
    static char piece[65536];
    open_with(&web, keep, NULL);
    says(&web, GET);
    wait_for_request(&web, 1);
    must_equal(vigil_http_start(last, 200, NULL, 0, -1), 0);
    drained = 0;
    must_equal(vigil_http_on_drained(last, note_drained, NULL), 0);
    while (drained == 0) /* nothing is unsent: at once, but not inside the call */
        must(vigil_loop_run(web.loop, VIGIL_RUN_NOWAIT) >= 0);
    uint64_t sent = 0;
    unsigned full = 0;
    while (full < 50) { /* the peer does not read */
        const int rc = vigil_http_send(last, piece, sizeof piece);
        must(rc == 0 || rc == 1);
        sent += sizeof piece;
        must(vigil_loop_run(web.loop, VIGIL_RUN_NOWAIT) >= 0);
        full = rc == 1 ? full + 1 : 0;
        must(sent < 200000000);
    }
    drained = 0;
    must_equal(vigil_http_on_drained(last, note_drained, NULL), 0);
    must_equal(vigil_http_on_drained(last, note_drained, NULL), -EBUSY);
    uint64_t got = 0;
    while (drained == 0) {
        must(vigil_loop_run(web.loop, VIGIL_RUN_NOWAIT) >= 0);
        const ssize_t n = recv(web.peer, web.text, sizeof web.text, 0);
        got += n > 0 ? (uint64_t)n : 0;
    }
    must(got > 0);
    must_equal(vigil_http_end(last), 0);
    web_end(&web);
}

/* ---- limits of time and number ------------------------------------------------------------------------------------- */

static void time_is_limited(void **state)
{
    (void)state;
    static struct web web;
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    options.idle_ns = 30 * MS;
    open_with(&web, want_body, &options);
    web_until_end(&web); /* idle: closed without a word */
    must_equal(web.length, 0);
    web_end(&web);
    options.head_ns = options.body_ns = 30 * MS;
    options.idle_ns = 500 * MS; /* a busy machine may come late with what it says */
    open_with(&web, want_body, &options);
    says(&web, "GET / HT");
    web_until_end(&web);
    must(strstr(web.text, "HTTP/1.1 408 Request Timeout") != NULL);
    web_connect(&web);
    says(&web, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel");
    body_end = 1;
    web_until_end(&web);
    must(strstr(web.text, "HTTP/1.1 408") != NULL);
    must_equal(body_end, -ETIMEDOUT);
    web_connect(&web);
    says(&web, GET); /* answered, then idle */
    web_until_end(&web);
    must(strstr(web.text, "taken") != NULL);
    vigil_http_server_stats stats = VIGIL_HTTP_SERVER_STATS_INIT;
    must_equal(vigil_http_server_stats_get(web.server, &stats), 0);
    must_equal(stats.connections, 3);
    must_equal(stats.requests, 2);
    must_equal(stats.refused, 2);
    must_equal(stats.waiting, 0);
    web_end(&web);
}

static void a_client_that_never_reads_is_cut(void **state)
{
    (void)state;
    static struct web web;
    static char piece[65536];
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    options.send_ns = 30 * MS;
    open_with(&web, keep, &options);
    says(&web, GET);
    wait_for_request(&web, 1);
    gone = 0;
    must_equal(vigil_http_on_gone(last, note_gone, NULL), 0);
    must_equal(vigil_http_start(last, 200, NULL, 0, -1), 0);
    while (gone == 0) {
        (void)vigil_http_send(last, piece, sizeof piece);
        must(vigil_loop_run(web.loop, VIGIL_RUN_NOWAIT) >= 0);
        while (gone == 0 && vigil_http_send(last, piece, 0) == 1)
            must(vigil_loop_run(web.loop, VIGIL_RUN_ONCE) >= 0);
    }
    must_equal(vigil_http_reset(last), 0);
    web_end(&web);
}

static void too_many_requests_at_once_get_503(void **state)
{
    (void)state;
    static struct web web;
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    options.most_requests = 1;
    open_with(&web, keep, &options);
    says(&web, GET);
    wait_for_request(&web, 1);
    vigil_http_request *first = last;
    const int peer = web.peer;
    web.peer = -1;
    web_connect(&web);
    says(&web, GET);
    must(web_until(&web, "\r\n\r\n"));
    must(strstr(web.text, "HTTP/1.1 503 Service Unavailable\r\n") != NULL);
    must(strstr(web.text, "retry-after: 1\r\n") != NULL);
    must_equal(vigil_http_answer_text(first, 200, "text/plain", "x"), 0);
    says(&web, GET); /* the same connection */
    wait_for_request(&web, 2);
    must_equal(vigil_http_answer_text(last, 200, "text/plain", "in the end"), 0);
    must(web_until(&web, "in the end"));
    must_equal(close(peer), 0);
    web_end(&web);
}

/* ---- ends --------------------------------------------------------------------------------------------------------- */

static vigil_value note_end(vigil_value *value, void *arg)
{
    *(int64_t *)arg = value->integer;
    return vigil_value_none();
}

static void a_graceful_end_lets_requests_finish(void **state)
{
    (void)state;
    static struct web web;
    vigil_promise *promise;
    int64_t cut = -1;
    open_with(&web, keep, NULL);
    const int idle = web.peer;
    web.peer = -1;
    web_turn(&web);
    web_connect(&web);
    says(&web, GET);
    wait_for_request(&web, 1);
    must_equal(vigil_promise_http_finish(web.server, VIGIL_FOREVER, &promise), 0);
    must_equal(vigil_promise_http_finish(web.server, VIGIL_FOREVER, NULL), -EALREADY);
    must_equal(vigil_promise_then(promise, note_end, NULL, &cut, NULL), 0);
    vigil_promise_unref(promise);
    for (int i = 0; i < 5; i++)
        web_turn(&web);
    must_equal(cut, -1);
    must_equal(vigil_http_answer_text(last, 200, "text/plain", "the last"), 0);
    web_until_end(&web);
    must(strstr(web.text, "connection: close\r\n\r\nthe last") != NULL);
    while (cut < 0)
        web_turn(&web);
    must_equal(cut, 0);
    char byte;
    must_equal(fcntl(idle, F_SETFL, 0), 0);
    must_equal(recv(idle, &byte, 1, 0), 0); /* the idle one was closed */
    must_equal(close(idle), 0);
    web_end(&web);
}

static void a_graceful_end_has_a_limit(void **state)
{
    (void)state;
    static struct web web;
    vigil_promise *promise;
    int64_t cut = -1;
    open_with(&web, keep, NULL);
    says(&web, GET);
    wait_for_request(&web, 1);
    must_equal(vigil_promise_http_finish(web.server, 10 * MS, &promise), 0);
    must_equal(vigil_promise_then(promise, note_end, NULL, &cut, NULL), 0);
    vigil_promise_unref(promise);
    while (cut < 0)
        web_turn(&web);
    must_equal(cut, 1);
    web_until_end(&web);
    must_equal(vigil_http_answer_text(last, 200, "text/plain", "x"), -EPIPE);
    web_end(&web);
}

static void the_server_goes_while_its_requests_stay(void **state)
{
    (void)state;
    static struct web web;
    open_with(&web, keep, NULL);
    says(&web, GET);
    wait_for_request(&web, 1);
    must_equal(vigil_http_server_close(web.server), 0);
    web.server = NULL;
    must_equal(strcmp(vigil_http_method(last), "GET"), 0);
    must_equal(vigil_http_reset(last), 0);
    web_end(&web);
}

static void close_inside(vigil_http_request *request, void *user)
{
    struct web *web = user;
    given++;
    must_equal(vigil_http_server_close(web->server), 0);
    web->server = NULL;
    must_equal(vigil_http_answer_text(request, 200, "text/plain", "x"), -EPIPE);
}

static void the_server_may_be_closed_inside_a_request(void **state)
{
    (void)state;
    static struct web web;
    open_with(&web, close_inside, NULL);
    says(&web, GET GET GET);
    wait_for_request(&web, 1);
    web_until_end(&web);
    must_equal(given, 1);
    web_end(&web);
}

static void raise_once(vigil_http_request *request, void *user)
{
    (void)user;
    if (given++ == 0)
        vigil_raise(-EIO);
    must_equal(vigil_http_answer_text(request, 200, "text/plain", "fine"), 0);
}

static void ignore_raise(vigil_loop *loop, int status, void *arg)
{
    (void)loop;
    (void)status;
    (void)arg;
}

static void a_handler_that_raises_costs_its_connection_alone(void **state)
{
    (void)state;
    static struct web web;
    (void)ignore_raise;
    open_with(&web, raise_once, NULL);
    says(&web, GET GET);
    wait_for_request(&web, 1);
    const int first = web.peer;
    web.peer = -1;
    web_connect(&web);
    says(&web, GET);
    must(web_until(&web, "fine"));
    char byte;
    must_equal(fcntl(first, F_SETFL, 0), 0);
    must(recv(first, &byte, 1, 0) <= 0);
    must_equal(close(first), 0);
    web_end(&web);
}

static void the_loop_ends_under_its_server(void **state)
{
    (void)state;
    static struct web web;
    open_with(&web, keep, NULL);
    says(&web, GET);
    wait_for_request(&web, 1);
    must_equal(vigil_loop_close(web.loop, VIGIL_FOREVER), 0);
    must_equal(vigil_http_reset(last), 0);
    must_equal(vigil_http_server_close(web.server), 0);
    must_equal(vigil_loop_destroy(web.loop), 0);
    must_equal(close(web.peer), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_is_read_and_outlives_its_call),
        cmocka_unit_test(pipelined_answers_leave_in_order_and_together),
        cmocka_unit_test(a_late_answer_holds_back_those_behind_it),
        cmocka_unit_test(wrong_answers_are_refused_and_change_nothing),
        cmocka_unit_test(too_little_of_an_answer_resets_the_connection),
        cmocka_unit_test(chunks_for_new_clients_and_an_end_for_old_ones),
        cmocka_unit_test(answers_without_a_body),
        cmocka_unit_test(who_asks_for_the_end_gets_it),
        cmocka_unit_test(bodies_come_whole_by_length_and_in_chunks),
        cmocka_unit_test(a_reader_that_pauses_holds_the_client_back),
        cmocka_unit_test(paused_bodies_go_on_where_they_stopped),
        cmocka_unit_test(bodies_that_nobody_wants),
        cmocka_unit_test(a_client_that_expects_100_gets_it_with_the_reader),
        cmocka_unit_test(a_body_as_a_promise),
        cmocka_unit_test(a_client_that_goes_is_told_and_the_request_stays),
        cmocka_unit_test(an_answer_that_nobody_reads_stops_its_writer),
        cmocka_unit_test(time_is_limited),
        cmocka_unit_test(a_client_that_never_reads_is_cut),
        cmocka_unit_test(too_many_requests_at_once_get_503),
        cmocka_unit_test(a_graceful_end_lets_requests_finish),
        cmocka_unit_test(a_graceful_end_has_a_limit),
        cmocka_unit_test(the_server_goes_while_its_requests_stay),
        cmocka_unit_test(the_server_may_be_closed_inside_a_request),
        cmocka_unit_test(a_handler_that_raises_costs_its_connection_alone),
        cmocka_unit_test(the_loop_ends_under_its_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
