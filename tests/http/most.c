/* SPDX-License-Identifier: MIT */
/* most_connections counts a stream that was handed over until it is closed: it bounds what the listener has open. */
#include "http_test.h"

static vigil_stream *taken;
static unsigned requests;

static void on_request(vigil_http_request *request, void *user)
{
    vigil_http_text rest;
    (void)user;
    requests++;
    if (vigil_http_text_is(vigil_http_path(request), "/take"))
        must_equal(vigil_http_upgrade(request, "own", NULL, 0, &rest, &taken), 0);
    else
        must_equal(vigil_http_answer_text(request, 200, "text/plain", "next"), 0);
}

static void a_stream_that_was_handed_over_keeps_its_place(void **state)
{
    (void)state;
    static struct web web;
    static const char take[] = "GET /take HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: own\r\n\r\n";
    static const char next[] = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    options.on_request = on_request;
    options.most_connections = 1;
    web_open(&web, &options);
    web_connect(&web);
    web_says(&web, take, sizeof take - 1);
    must(web_until(&web, "101"));
    must(taken != NULL);
    const int first = web.peer;
    web.peer = -1; /* it stays open */
    web_connect(&web);
    web_says(&web, next, sizeof next - 1);
    for (int i = 0; i < 100; i++)
        web_turn(&web);
    must_equal(requests, 1); /* the second waits in the backlog */
    must_equal(web.length, 0);
    must_equal(vigil_stream_close(taken), 0);
    must(web_until(&web, "next"));
    must_equal(requests, 2);
    must_equal(close(first), 0);
    web_end(&web);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_that_was_handed_over_keeps_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
