/* SPDX-License-Identifier: MIT */
/* A connection that goes on with another protocol is its new owner's, with every byte behind the head. */
#include "http_test.h"

enum {
    OWNERS = 4
};

/* Who has taken a stream: it sends back what comes, in capitals. */
struct owner {
    vigil_stream *stream;
    bool ended;
};

struct desk {
    struct web web; /* first: the server's user */
    struct owner owners[OWNERS];
    unsigned taken, given;
    vigil_http_request *later;
    int refused; /* what vigil_http_upgrade has answered, if not 0 */
};

static void shout(vigil_stream *stream, const char *bytes, size_t length)
{
    char text[256];
    must(length <= sizeof text);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)(bytes[i] >= 'a' && bytes[i] <= 'z' ? bytes[i] - 32 : bytes[i]);
    must_equal(vigil_stream_write(stream, text, length), 0);
}

static void owner_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct owner *owner = arg;
    if (length > 0) {
        shout(stream, data, (size_t)length);
        return;
    }
    owner->ended = true;
    owner->stream = NULL;
    must_equal(vigil_stream_close(stream), 0);
}

static void own(struct desk *desk, vigil_stream *stream, vigil_http_text rest)
{
    must(desk->taken < OWNERS);
    struct owner *owner = &desk->owners[desk->taken++];
    *owner = (struct owner){.stream = stream};
    must_equal(rest.at == NULL, rest.length == 0);
    if (rest.length != 0)
        shout(stream, rest.at, rest.length);
    must_equal(vigil_stream_on_data(stream, owner_data, owner), 0);
}

static int take(struct desk *desk, vigil_http_request *request, const char *protocol)
{
    const vigil_http_field field = {"x-mine", "yes"};
    vigil_stream *stream;
    vigil_http_text rest;
    const int rc = vigil_http_upgrade(request, protocol, &field, 1, &rest, &stream);
    if (rc == 0)
        own(desk, stream, rest);
    else
        desk->refused = rc;
    return rc;
}

static void after_body(vigil_http_request *request, const void *data, int64_t length, void *arg)
{
    (void)data;
    if (length == 0)
        must_equal(take(arg, request, "loud"), 0);
    else
        must(length > 0);
}

static void on_request(vigil_http_request *request, void *user)
{
    struct desk *desk = user;
    const vigil_http_text path = vigil_http_path(request);
    const bool connect = strcmp(vigil_http_method(request), "CONNECT") == 0;
    desk->given++;
    if (vigil_http_text_is(path, "/later")) {
        desk->later = request;
    } else if (vigil_http_text_is(path, "/body")) {
        must_equal(take(desk, request, "loud"), -EBUSY);
        must_equal(vigil_http_on_body(request, after_body, desk), 0);
    } else if (vigil_http_text_is(path, "/started")) {
        must_equal(vigil_http_start(request, 200, NULL, 0, 0), 0);
        must_equal(take(desk, request, "loud"), -EALREADY);
        must_equal(vigil_http_end(request), 0);
    } else if (vigil_http_text_is(path, "deny:1")) {
        must_equal(vigil_http_answer(request, 200, NULL, 0, NULL, 0), -EINVAL);
        must_equal(vigil_http_start(request, 204, NULL, 0, 0), -EINVAL);
        must_equal(take(desk, request, "loud"), -EINVAL);
        must_equal(vigil_http_answer_text(request, 403, "text/plain", "no"), 0);
    } else if (vigil_http_text_is(path, "/usual") || take(desk, request, connect ? NULL : "loud") != 0) {
        must_equal(vigil_http_answer_text(request, 200, "text/plain", "usual"), 0);
    }
}

static void desk_open(struct desk *desk)
{
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    memset(desk->owners, 0, sizeof desk->owners);
    desk->taken = desk->given = 0;
    desk->refused = 0;
    options.on_request = on_request;
    options.tunnels = true;
    web_open(&desk->web, &options);
}

static void desk_end(struct desk *desk)
{
    for (unsigned i = 0; i < desk->taken; i++)
        must_equal(vigil_stream_close(desk->owners[i].stream), 0);
    web_end(&desk->web);
}

static vigil_http_server_stats stats_of(const struct desk *desk)
{
    vigil_http_server_stats stats = VIGIL_HTTP_SERVER_STATS_INIT;
    must_equal(vigil_http_server_stats_get(desk->web.server, &stats), 0);
    return stats;
}

/* The peer ends; its owner hears it. */
static void hang_up(struct desk *desk)
{
    must_equal(shutdown(desk->web.peer, SHUT_WR), 0);
    web_until_end(&desk->web);
    must(desk->owners[0].ended);
    desk->taken = 0;
}

#define ASK(path) "GET " path " HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: quiet, Loud\r\n\r\n"

/* Bytes in two pieces, cut at `cut`. */
static void says_in_two(struct web *web, const char *bytes, size_t cut)
{
    web_says(web, bytes, cut);
    web_turn(web);
    web_says(web, bytes + cut, strlen(bytes) - cut);
}

static void every_byte_behind_the_head_is_the_owners(void **state)
{
    (void)state;
    static struct desk desk;
    static const char *const asked[] = {
        ASK("/now") "more words", "GET /usual HTTP/1.1\r\nHost: a\r\n\r\n" ASK("/now") "more words",
        "POST /body HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: loud\r\nContent-Length: 3\r\n\r\nabcmore "
        "words",
        "POST /body HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: loud\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n0\r\n\r\nmore words",
        "CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\nContent-Length: 0\r\n\r\nmore words"};
    desk_open(&desk);
    for (size_t i = 0; i < count_of(asked); i++) {
        for (size_t cut = 1; cut <= strlen(asked[i]); cut++) {
            web_connect(&desk.web);
            says_in_two(&desk.web, asked[i], cut);
            must(web_until(&desk.web, "MORE WORDS"));
            must(strstr(desk.web.text, "\r\n\r\nMORE WORDS") != NULL);
            must(strstr(desk.web.text, "x-mine: yes\r\n") != NULL);
            must_equal(web_count(&desk.web, "HTTP/1.1 101 Switching Protocols\r\n"), i == 4 ? 0 : 1);
            must_equal(web_count(&desk.web, "upgrade: loud\r\nconnection: upgrade\r\n"), i == 4 ? 0 : 1);
            must_equal(web_count(&desk.web, "HTTP/1.1 200 OK\r\n"), i == 4 || i == 1 ? 1 : 0);
            must_equal(web_count(&desk.web, "content-length"), i == 1 ? 1 : 0);
            must_equal(stats_of(&desk).open, 0);
            must_equal(stats_of(&desk).waiting, 0);
            hang_up(&desk);
        }
    }
    desk_end(&desk);
}

/* Taken long after on_request: what has come until then waits. */
static void a_request_is_taken_later(void **state)
{
    (void)state;
    static struct desk desk;
    static const char asked[] = ASK("/later") "more words";
    desk_open(&desk);
    for (size_t cut = 1; cut < sizeof asked; cut++) {
        web_connect(&desk.web);
        desk.later = NULL;
        says_in_two(&desk.web, asked, cut);
        while (desk.later == NULL)
            web_turn(&desk.web);
        if (cut % 2 == 0)
            web_turn(&desk.web);
        must_equal(take(&desk, desk.later, "loud"), 0);
        must(web_until(&desk.web, "\r\n\r\nMORE WORDS"));
        must_equal(stats_of(&desk).open, 0);
        hang_up(&desk);
    }
    desk_end(&desk);
}

/* The end of the client's side, which the connection has seen already, is told to the owner as well. */
static void an_end_that_came_too_early_is_told(void **state)
{
    (void)state;
    static struct desk desk;
    desk_open(&desk);
    web_connect(&desk.web);
    desk.later = NULL;
    web_says(&desk.web, ASK("/later") "ab", strlen(ASK("/later")) + 2);
    must_equal(shutdown(desk.web.peer, SHUT_WR), 0);
    while (desk.later == NULL)
        web_turn(&desk.web);
    web_turn(&desk.web);
    web_turn(&desk.web);
    must_equal(take(&desk, desk.later, "loud"), 0);
    web_until_end(&desk.web);
    must(strstr(desk.web.text, "\r\n\r\nAB") != NULL);
    must(desk.owners[0].ended);
    desk_end(&desk);
}

static void who_does_not_ask_is_answered_as_usual(void **state)
{
    (void)state;
    static struct desk desk;
    static const char *const asked[] = {
        "GET /usual HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: loud\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: loud\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade:\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: ,,\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: louder, lou d, xloud\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade2\r\nUpgrade: loud\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade, keep-alive\r\nUpgrade: loud\r\n",
        "GET /started HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: loud\r\n",
    };
    desk_open(&desk);
    for (size_t i = 0; i < count_of(asked); i++) {
        char bytes[512];
        (void)snprintf(bytes, sizeof bytes, "%s\r\nGET /usual HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                       asked[i]);
        must_equal(web_ask(&desk.web, bytes, strlen(bytes)), 200);
        must_equal(web_count(&desk.web, "HTTP/1.1 200 OK"), 2);
        must_equal(desk.taken, 0);
        must_equal(desk.refused, i == 0 ? 0 : i == 8 ? -EALREADY : -EINVAL);
    }
    desk_end(&desk);
}

static void tunnels_that_are_refused_end(void **state)
{
    (void)state;
    static struct desk desk;
    static const char deny[] = "CONNECT deny:1 HTTP/1.1\r\nHost: deny:1\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    static const char *const bad[] = {
        "CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\nContent-Length: 3\r\n\r\nabc",
        "CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "CONNECT b:443 HTTP/1.1\r\n\r\n",
    };
    desk_open(&desk);
    must_equal(web_ask(&desk.web, deny, sizeof deny - 1), 403);
    must_equal(web_count(&desk.web, "HTTP/1.1"), 1);
    must_equal(desk.given, 1);
    for (size_t i = 0; i < count_of(bad); i++)
        must_equal(web_ask(&desk.web, bad[i], strlen(bad[i])), 400);
    must_equal(desk.given, 1);
    must_equal(desk.taken, 0);
    desk_end(&desk);
}

static void the_server_ends_without_it(void **state)
{
    (void)state;
    static struct desk desk;
    vigil_promise *ended;
    desk_open(&desk);
    web_connect(&desk.web);
    web_says(&desk.web, ASK("/now"), strlen(ASK("/now")));
    must(web_until(&desk.web, "\r\n\r\n"));
    must_equal(vigil_promise_http_finish(desk.web.server, VIGIL_FOREVER, &ended), 0);
    must_equal(stats_of(&desk).open, 0);
    while (vigil_promise_state_get(ended) != VIGIL_FULFILLED) /* nothing is left to wait for */
        web_turn(&desk.web);
    vigil_promise_unref(ended);
    must_equal(vigil_http_server_close(desk.web.server), 0);
    desk.web.server = NULL;
    web_says(&desk.web, "still here", 10);
    must(web_until(&desk.web, "STILL HERE"));
    desk_end(&desk);
}

static void who_has_gone_gets_nothing(void **state)
{
    (void)state;
    static struct desk desk;
    const vigil_http_field ours = {"upgrade", "loud"};
    const vigil_http_field split = {"x", "a\r\nb: c"};
    vigil_stream *stream;
    vigil_http_text rest;
    desk_open(&desk);
    web_connect(&desk.web);
    desk.later = NULL;
    web_says(&desk.web, ASK("/later"), strlen(ASK("/later")));
    while (desk.later == NULL)
        web_turn(&desk.web);
    must(vigil_http_asks_upgrade(desk.later, "LOUD"));
    must(!vigil_http_asks_upgrade(desk.later, "lou"));
    must(!vigil_http_asks_upgrade(desk.later, NULL));
    must_equal(vigil_http_upgrade(NULL, "loud", NULL, 0, &rest, &stream), -EINVAL);
    must_equal(vigil_http_upgrade(desk.later, "loud", NULL, 0, NULL, &stream), -EINVAL);
    must_equal(vigil_http_upgrade(desk.later, NULL, NULL, 0, &rest, &stream), -EINVAL);
    must_equal(vigil_http_upgrade(desk.later, "loud", &ours, 1, &rest, &stream), -EINVAL);
    must_equal(vigil_http_upgrade(desk.later, "loud", &split, 1, &rest, &stream), -EINVAL);
    const struct linger reset = {.l_onoff = 1};
    must_equal(setsockopt(desk.web.peer, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    must_equal(close(desk.web.peer), 0);
    desk.web.peer = -1;
    while (stats_of(&desk).open != 0)
        must(vigil_loop_run(desk.web.loop, VIGIL_RUN_NOWAIT) >= 0);
    must_equal(take(&desk, desk.later, "loud"), -EPIPE);
    must_equal(stats_of(&desk).waiting, 0);
    desk_end(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_behind_the_head_is_the_owners),
        cmocka_unit_test(a_request_is_taken_later),
        cmocka_unit_test(an_end_that_came_too_early_is_told),
        cmocka_unit_test(who_does_not_ask_is_answered_as_usual),
        cmocka_unit_test(tunnels_that_are_refused_end),
        cmocka_unit_test(the_server_ends_without_it),
        cmocka_unit_test(who_has_gone_gets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
