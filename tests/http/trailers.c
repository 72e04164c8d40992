/* SPDX-License-Identifier: MIT */
/* Fields behind a body in chunks arrive on both sides; those that do not belong there do not. */
#include "http_test.h"

static vigil_http_client *client;
static vigil_loop *loop;
static unsigned given;

/* The answer's body: the trailers that came. Its trailer: how many. */
static void read_all(vigil_http_request *request, const void *data, int64_t length, void *arg)
{
    vigil_http_text name, value;
    char text[32], all[2048];
    size_t count = 0;
    (void)data;
    (void)arg;
    if (length > 0) {
        must(vigil_http_trailer(request, "x").at == NULL); /* not complete */
        must_equal(vigil_http_trailer_at(request, 0, &name, &value), -ENOENT);
        return;
    }
    if (length < 0) {
        must_equal(vigil_http_reset(request), 0);
        return;
    }
    given++;
    must_equal(vigil_http_start(request, 200, NULL, 0, -1), 0);
    int at = snprintf(all, sizeof all, "[");
    for (; vigil_http_trailer_at(request, count, &name, &value) == 0; count++) {
        must(!vigil_http_text_is(name, "x") || vigil_http_trailer(request, "X").at == value.at);
        at += snprintf(all + at, sizeof all - (size_t)at, "%s%.*s=%.*s", count != 0 ? " " : "", (int)name.length,
                       name.at, (int)value.length, value.at);
    }
    at += snprintf(all + at, sizeof all - (size_t)at, "]");
    must_equal(vigil_http_send(request, all, (size_t)at), 0);
    (void)snprintf(text, sizeof text, "%zu", count);
    const vigil_http_field fields[] = {{"x-count", text}, {"x-empty", ""}};
    must_equal(vigil_http_end_trailers(request, fields, 2), 0);
}

static const char *const forbidden[] = {"Content-Length", "transfer-encoding", "HOST",   "Authorization", "Set-Cookie",
                                        "connection",     "upgrade",           "cookie", "Content-Type",  "trailer"};

static void on_request(vigil_http_request *request, void *user)
{
    (void)user;
    if (strcmp(vigil_http_method(request), "POST") == 0) {
        must_equal(vigil_http_on_body(request, read_all, NULL), 0);
        return;
    }
    /* what cannot be sent is refused, and the request is still ours */
    const bool length = vigil_http_text_is(vigil_http_path(request), "/length");
    const vigil_http_field good = {"x-sum", "1"};
    const vigil_http_field split = {"x", "a\r\nb: c"};
    must_equal(vigil_http_end_trailers(request, &good, 1), -EINVAL); /* not started */
    must_equal(vigil_http_start(request, 200, NULL, 0, length ? 2 : -1), 0);
    must_equal(vigil_http_send(request, "ok", 2), 0);
    for (size_t i = 0; i < count_of(forbidden); i++) {
        const vigil_http_field field = {forbidden[i], "1"};
        must_equal(vigil_http_end_trailers(request, &field, 1), -EINVAL);
    }
    must_equal(vigil_http_end_trailers(request, &split, 1), -EINVAL);
    must_equal(vigil_http_end_trailers(request, NULL, 1), -EINVAL);
    if (length) {
        must_equal(vigil_http_end_trailers(request, &good, 1), -EINVAL);
        must_equal(vigil_http_end(request), 0);
    } else {
        must_equal(vigil_http_end_trailers(request, &good, 1), 0);
    }
}

static vigil_http_server_options options_of_test(void)
{
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    options.on_request = on_request;
    options.fields = 10;
    options.head_bytes = 1000;
    return options;
}

#define POST "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"

static const struct {
    const char *trailers;
    const char *shown; /* NULL: 400 */
} table[] = {
    {"", ""},
    {"X: 1\r\n", "X=1"},
    {"x:\t a b \t\r\nY:\r\n", "x=a b Y="},
    {"a: 1\r\nContent-Length: 5\r\nb: 2\r\nTransfer-Encoding: chunked\r\n", "a=1 b=2"},
    {"HOST: evil\r\n", ""},
    {"Authorization: me\r\nCookie: a\r\nx: 1\r\n", "x=1"},
    {"no colon\r\n", NULL},
    {"nocolon\r\n", NULL},
    {"a b: c\r\n", NULL},
    {"a : c\r\n", NULL},
    {": c\r\n", NULL},
    {"a: b\r\n c\r\n", NULL},
    {"a: \x01\r\n", NULL},
    {"a: \x7f\r\n", NULL},
    {"a: b\n", NULL},
    {"a: b\rc\r\n", NULL},
    {"content-length : 5\r\n", NULL},
    {"a(: b\r\n", NULL},
};

static void server_takes_them_in_any_pieces(void **state)
{
    (void)state;
    static struct web web;
    vigil_http_server_options options = options_of_test();
    web_open(&web, &options);
    for (size_t i = 0; i < count_of(table); i++) {
        char bytes[512];
        const int length = snprintf(bytes, sizeof bytes, POST "%s\r\n", table[i].trailers);
        const size_t first = strlen(POST);
        for (size_t cut = first - 4; cut <= (size_t)length; cut++) {
            web_connect(&web);
            web_says(&web, bytes, cut);
            web_turn(&web);
            web_says(&web, bytes + cut, (size_t)length - cut);
            web_until_end(&web);
            const int status = web.length > 12 ? atoi(web.text + 9) : 0;
            if (status != (table[i].shown != NULL ? 200 : 400))
                fail_msg("line %zu, cut %zu: status %d\n%s", i, cut, status, web.text);
            if (table[i].shown == NULL)
                continue;
            char shown[128];
            (void)snprintf(shown, sizeof shown, "\r\n[%s]\r\n0\r\nx-count: ", table[i].shown);
            if (strstr(web.text, shown) == NULL)
                fail_msg("line %zu, cut %zu: not '%s' in\n%s", i, cut, table[i].shown, web.text);
        }
    }
    web_end(&web);
}

/* They count with the head: its bytes and its fields. */
static void server_has_limits_for_them(void **state)
{
    (void)state;
    static struct web web;
    vigil_http_server_options options = options_of_test();
    char bytes[2048];
    web_open(&web, &options);
    const int head = (int)(strstr(POST, "\r\n\r\n") + 4 - POST);
    for (int size = 995; size < 1006; size++) { /* of the head and the trailers */
        const int length = snprintf(bytes, sizeof bytes, POST "X: %0*d\r\n\r\n", size - head - 5, 0);
        must_equal(web_ask(&web, bytes, (size_t)length), size <= 1000 ? 200 : 431);
    }
    for (int fields = 5; fields < 14; fields++) {
        int length = snprintf(bytes, sizeof bytes, "%s", POST);
        for (int i = 3; i < fields; i++)
            length += snprintf(bytes + length, sizeof bytes - (size_t)length, "Host: y\r\n");
        length += snprintf(bytes + length, sizeof bytes - (size_t)length, "\r\n");
        must_equal(web_ask(&web, bytes, (size_t)length), fields <= 10 ? 200 : 431);
    }
    web_end(&web);
}

static void server_sends_them_behind_chunks_only(void **state)
{
    (void)state;
    static struct web web;
    static const struct {
        const char *request;
        unsigned sent;
    } asked[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 1},
        {"GET /length HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 0},
        {"GET / HTTP/1.0\r\n\r\n", 0},
        {"HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 0},
    };
    vigil_http_server_options options = options_of_test();
    web_open(&web, &options);
    for (size_t i = 0; i < count_of(asked); i++) {
        must_equal(web_ask(&web, asked[i].request, strlen(asked[i].request)), 200);
        must_equal(web_count(&web, "2\r\nok\r\n0\r\nx-sum: 1\r\n\r\n"), asked[i].sent);
        must_equal(web_count(&web, "x-sum"), asked[i].sent);
    }
    web_end(&web);
}

/* ---- a client ----------------------------------------------------------------------------------------------------- */

struct end {
    unsigned settled;
    int error;
    char text[256]; /* body, then trailers */
    /* what is sent */
    unsigned pieces;
    vigil_http_field field;
    int refuses;
    bool destroys;
};

static vigil_value answered(vigil_value *value, void *arg)
{
    struct end *end = arg;
    const vigil_http_response *response = value->pointer;
    vigil_http_text name, text = vigil_http_response_body(response);
    int length = snprintf(end->text, sizeof end->text, "%.*s", (int)text.length, text.at);
    for (size_t i = 0; vigil_http_response_trailer_at(response, i, &name, &text) == 0; i++) {
        must(vigil_http_response_trailer(response, "nobody").at == NULL);
        must(vigil_http_response_trailer(response, "x-count").at != NULL);
        length += snprintf(end->text + length, sizeof end->text - (size_t)length, " %.*s:%.*s", (int)name.length,
                           name.at, (int)text.length, text.at);
    }
    end->settled++;
    return vigil_value_none();
}

static vigil_value refused(vigil_value *reason, void *arg)
{
    struct end *end = arg;
    end->error = reason->status;
    end->settled++;
    return vigil_value_none();
}

static int next_body(void *user, vigil_promise **promise)
{
    static vigil_http_bytes piece = {3, "abc"};
    struct end *end = user;
    must_equal(vigil_promise_create(promise, loop), 0);
    must_equal(
        vigil_promise_resolve(*promise, end->pieces++ < 2 ? vigil_value_pointer(&piece, NULL) : vigil_value_none()), 0);
    return 0;
}

static int last_fields(void *user, const vigil_http_field **fields, size_t *count)
{
    struct end *end = user;
    must_equal(end->pieces, 3);
    *fields = &end->field;
    *count = end->field.name != NULL;
    if (end->destroys) {
        must_equal(vigil_http_client_destroy(client), 0);
        client = NULL;
    }
    return end->refuses;
}

static void call_with(struct web *web, struct end *end)
{
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    char where[VIGIL_ADDRESS_TEXT], url[128];
    vigil_promise *promise;
    must(vigil_address_text(&web->address, where, sizeof where) > 0);
    (void)snprintf(url, sizeof url, "http://%.60s/", where);
    call.url = url;
    call.next_body = next_body;
    call.trailers = last_fields;
    call.user = end;
    must_equal(vigil_promise_http(client, &call, NULL, &promise), 0);
    must_equal(vigil_promise_then(promise, answered, refused, end, NULL), 0);
    vigil_promise_unref(promise);
    while (end->settled == 0)
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
}

static void both_sides(void **state)
{
    (void)state;
    static struct web web;
    vigil_http_server_options options = options_of_test();
    web_open(&web, &options);
    loop = web.loop;
    must_equal(vigil_http_client_create(&client, loop, NULL), 0);
    for (int round = 0; round < 3; round++) { /* on one connection: nothing stays of the round before */
        struct end end = {.field = {round == 1 ? NULL : "x-sum", "12"}};
        call_with(&web, &end);
        must_equal(end.error, 0);
        must(strcmp(end.text, round == 1 ? "[] x-count:0 x-empty:" : "[x-sum=12] x-count:1 x-empty:") == 0);
    }
    given = 0;
    for (size_t i = 0; i < count_of(forbidden); i++) {
        struct end end = {.field = {forbidden[i], "1"}};
        call_with(&web, &end);
        must_equal(end.error, -EINVAL);
    }
    struct end refuses = {.refuses = -ENOTSUP};
    call_with(&web, &refuses);
    must_equal(refuses.error, -ENOTSUP);
    struct end destroys = {.destroys = true, .field = {"x", "1"}};
    call_with(&web, &destroys);
    must_equal(destroys.error, -ECANCELED);
    must_equal(given, 0); /* no body was complete */
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    vigil_promise *promise;
    must_equal(vigil_http_client_create(&client, loop, NULL), 0);
    call.url = "http://127.0.0.1:1/";
    call.trailers = last_fields;
    must_equal(vigil_promise_http(client, &call, NULL, &promise), -EINVAL);
    call.next_body = next_body;
    call.body_length = 6;
    must_equal(vigil_promise_http(client, &call, NULL, &promise), -EINVAL);
    must_equal(vigil_http_client_destroy(client), 0);
    web_end(&web);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_takes_them_in_any_pieces),
        cmocka_unit_test(server_has_limits_for_them),
        cmocka_unit_test(server_sends_them_behind_chunks_only),
        cmocka_unit_test(both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
