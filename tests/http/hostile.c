/* SPDX-License-Identifier: MIT */
/* What is no request, or could be read in two ways, is refused with its status and never reaches the handler. */
#include "http_test.h"

struct hostile {
    int status;
    const char *bytes;
};

#define OK      " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
#define POST    "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static const struct hostile table[] = {
    /* good ones, so that the table is not passed by a server that refuses all */
    {200, "GET /" OK},
    {200, "\r\nGET /" OK},
    {200, "GET /?a=b&c=%20" OK},
    {200, "GET http://a/b" OK},
    {200, "OPTIONS *" OK},
    {200, "GET / HTTP/1.0\r\n\r\n"},
    {200, "HEAD /" OK},
    {200, POST "Content-Length: 3\r\n\r\nabc"},
    {200, POST "Content-Length: 0\r\n\r\n"},
    {200, CHUNKED "3\r\nabc\r\n0\r\n\r\n"},
    {200, CHUNKED "3;ext=1\r\nabc\r\n0\r\nTrailer: x\r\n\r\n"},
    {200, CHUNKED "00003\r\nabc\r\n000\r\n\r\n"},
    {200, "GET / HTTP/1.1\r\nHost:\ta\t\r\nX:\r\nConnection: foo, close\r\n\r\n"},
    /* the request line */
    {400, "\r\n\r\nGET /" OK},
    {400, " GET /" OK},
    {400, "GET  /" OK},
    {400, "GET /  HTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"},
    {400, "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n"},
    {400, "GET /\r\nHost: a\r\n\r\n"},
    {400, "GET / HTTP/1\r\nHost: a\r\n\r\n"},
    {400, "GET / http/1.1\r\nHost: a\r\n\r\n"},
    {400, "GET / HTTP/1.1x\r\nHost: a\r\n\r\n"},
    {400, "GET / RTSP/1.0\r\nHost: a\r\n\r\n"},
    {400, "GET /\x7f" OK},
    {400, "GET /\x80" OK},
    {400, "GET /\x01" OK},
    {400, "G\x01T /" OK},
    {400, "\x16\x03\x01\x02\r\n\r\n"},
    {400, "hello\r\n\r\n"},
    {501, "FOO /" OK},
    {501, "get /" OK},
    {501, "CONNECT a:80" OK},
    {505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"},
    {505, "GET / HTTP/1.2\r\nHost: a\r\n\r\n"},
    {505, "GET / HTTP/0.9\r\nHost: a\r\n\r\n"},
    /* line ends and folded lines */
    {400, "GET / HTTP/1.1\nHost: a\n\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n \r\n\r\n"},
    /* fields */
    {400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nX(: b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\n\xc3\xa4: b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: a\r\nHOST: b\r\n\r\n"},
    {417, POST "Expect: something\r\nContent-Length: 3\r\n\r\nabc"},
    /* lengths and codings: where requests are smuggled */
    {400, POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"},
    {400, POST "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"},
    {400, POST "Content-Length: 3, 3\r\n\r\nabc"},
    {400, POST "Content-Length: +3\r\n\r\nabc"},
    {400, POST "Content-Length: -3\r\n\r\nabc"},
    {400, POST "Content-Length: 0x3\r\n\r\nabc"},
    {400, POST "Content-Length: 3 4\r\n\r\nabc"},
    {400, POST "Content-Length:\r\n\r\nabc"},
    {400, POST "Content-Length: 99999999999999999999\r\n\r\nabc"},
    {400, POST "Content-Length: 18446744073709551617\r\n\r\na"},
    {400, POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"},
    {501, POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"},
    {501, POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"},
    {501, POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n"},
    {400, POST "Transfer-Encoding:\x0b chunked\r\n\r\n0\r\n\r\n"},
    {400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    /* chunks */
    {400, CHUNKED "g\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "0x3\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "-1\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "+3\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED " 3\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "3 \r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "3\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "3\r\nabc\n0\r\n\r\n"},
    {400, CHUNKED "3\r\nabcd\r\n0\r\n\r\n"},
    {400, CHUNKED "3\r\nab\r\n0\r\n\r\n"},
    {400, CHUNKED "3;a\nb\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "3;a\x01\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "10000000000000003\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "ffffffffffffffff\r\nabc\r\n0\r\n\r\n"},
    {400, CHUNKED "3\r\nabc\r\n0\r\nX: a\n\r\n"},
    {400, CHUNKED "3\r\nabc\r\n0\r\n folded\r\n\r\n"},
    {413, CHUNKED "fffffff\r\nabc"}, /* completed by the test to more than the limit */
    {413, POST "Content-Length: 4097\r\n\r\n"},
    {413, POST "Content-Length: 999999999999999999\r\n\r\n"},
};

static unsigned given, complete;

static void read_all(vigil_http_request *request, const void *data, int64_t length, void *arg)
{
    (void)data;
    (void)arg;
    if (length == 0) {
        complete++;
        must_equal(vigil_http_answer(request, 200, NULL, 0, "ok", 2), 0);
    } else if (length < 0) {
        must_equal(vigil_http_answer(request, 200, NULL, 0, "ok", 2), -EPIPE);
    }
}

static void on_request(vigil_http_request *request, void *user)
{
    (void)user;
    given++;
    must_equal(vigil_http_on_body(request, read_all, NULL), 0);
}

static vigil_http_server_options options_of_test(void)
{
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    options.on_request = on_request;
    options.body_bytes = 4096;
    return options;
}

static void each_is_answered_with_its_status(void **state)
{
    (void)state;
    static struct web web;
    vigil_http_server_options options = options_of_test();
    web_open(&web, &options);
    for (size_t i = 0; i < count_of(table); i++) {
        const struct hostile *it = &table[i];
        char bytes[8192];
        size_t length = strlen(it->bytes);
        memcpy(bytes, it->bytes, length);
        if (it->status == 413 && strstr(it->bytes, "fffffff") != NULL) {
            memset(bytes + length, 'x', 5000);
            length += 5000;
        }
        const unsigned before = complete;
        const int status = web_ask(&web, bytes, length);
        if (status != it->status)
            fail_msg("line %zu: status %d in place of %d:\n%s\n---\n%s", i, status, it->status, it->bytes, web.text);
        must_equal(complete - before, it->status == 200 ? 1 : 0);
        if (it->status != 200)
            must(strstr(web.text, "connection: close\r\n") != NULL);
    }
    web_end(&web);
}

/* Wherever the bytes are cut, the answer is the same. */
static void cut_at_every_byte(void **state)
{
    (void)state;
    static struct web web;
    vigil_http_server_options options = options_of_test();
    web_open(&web, &options);
    for (size_t i = 0; i < count_of(table); i++) {
        const struct hostile *it = &table[i];
        if (strstr(it->bytes, "fffffff") != NULL)
            continue;
        web_connect(&web);
        for (const char *at = it->bytes; *at != 0 && !web.ended; at++)
            web_says(&web, at, 1);
        web_until_end(&web);
        const int status = web.length > 12 ? atoi(web.text + 9) : 0;
        if (status != it->status)
            fail_msg("line %zu: status %d in place of %d:\n%s\n---\n%s", i, status, it->status, it->bytes, web.text);
    }
    web_end(&web);
}

/* A zero byte ends no text here. */
static void zeros_are_refused(void **state)
{
    (void)state;
    static struct web web;
    static const char *const bytes[] = {"GET /@ HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a@\r\n\r\n",
                                        "GET / HTTP/1.1\r\nHo@st: a\r\n\r\n", "G@ET / HTTP/1.1\r\nHost: a\r\n\r\n"};
    vigil_http_server_options options = options_of_test();
    web_open(&web, &options);
    for (size_t i = 0; i < count_of(bytes); i++) {
        char text[64];
        const size_t length = strlen(bytes[i]);
        memcpy(text, bytes[i], length);
        *(char *)memchr(text, '@', length) = 0;
        must_equal(web_ask(&web, text, length), 400);
    }
    web_end(&web);
}

static void heads_have_limits(void **state)
{
    (void)state;
    static struct web web;
    static char bytes[200000];
    vigil_http_server_options options = options_of_test();
    options.fields = 10;
    options.head_bytes = 4096;
    options.target_bytes = 1000;
    web_open(&web, &options);
    for (int target = 990; target < 1010; target++) {
        const int length = snprintf(bytes, sizeof bytes, "GET /%0*d" OK, target - 1, 0);
        must_equal(web_ask(&web, bytes, (size_t)length), target <= 1000 ? 200 : 414);
    }
    memset(bytes, 'a', sizeof bytes); /* no end of line in sight */
    memcpy(bytes, "GET /", 5);
    must_equal(web_ask(&web, bytes, 100000), 414);
    for (int fields = 8; fields < 14; fields++) {
        int length = snprintf(bytes, sizeof bytes, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n");
        for (int i = 2; i < fields; i++)
            length += snprintf(bytes + length, sizeof bytes - (size_t)length, "X: y\r\n");
        length += snprintf(bytes + length, sizeof bytes - (size_t)length, "\r\n");
        must_equal(web_ask(&web, bytes, (size_t)length), fields <= 10 ? 200 : 431);
    }
    for (int size = 4090; size < 4102; size++) {
        const int around = (int)strlen("GET /" OK) + 5;
        const int length = snprintf(
            bytes, sizeof bytes, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: %0*d\r\n\r\n", size - around, 0);
        must_equal(length, size);
        must_equal(web_ask(&web, bytes, (size_t)length), size <= 4096 ? 200 : 431);
    }
    memset(bytes, 'a', sizeof bytes);
    memcpy(bytes, "GET / HTTP/1.1\r\nHost: ", 22);
    must_equal(web_ask(&web, bytes, 150000), 431);
    web_end(&web);
}

/* The second half of a smuggled request must not be read as one. */
static void nothing_behind_a_refused_request_is_served(void **state)
{
    (void)state;
    static struct web web;
    static const char bytes[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
                                "0\r\n\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n";
    vigil_http_server_options options = options_of_test();
    web_open(&web, &options);
    given = 0;
    must_equal(web_ask(&web, bytes, sizeof bytes - 1), 400);
    must_equal(given, 0);
    must_equal(web_count(&web, "HTTP/1.1"), 1);
    web_end(&web);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_answered_with_its_status),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(zeros_are_refused),
        cmocka_unit_test(heads_have_limits),
        cmocka_unit_test(nothing_behind_a_refused_request_is_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
