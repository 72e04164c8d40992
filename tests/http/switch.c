/* SPDX-License-Identifier: MIT */
/* A call that asks for another protocol, or for a tunnel, gets the stream with every byte behind the head, or an answer. */
#include "http_test.h"

struct scene {
    vigil_loop *loop;
    vigil_http_server *server;
    vigil_http_client *client;
    char base[64];
    vigil_stream *far; /* the server's end */
    /* the last answer */
    unsigned settled;
    int error, status;
    bool keeps; /* the stream is taken */
    vigil_stream *near;
    char text[256]; /* what has come on it */
    size_t length;
    bool ended;
    /* a server that is moved by hand */
    const char *bytes;
    size_t cut, said;
    vigil_stream *fake;
};

static void far_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct scene *scene = arg;
    if (length > 0) {
        must_equal(vigil_stream_write(stream, data, (size_t)length), 0);
        return;
    }
    scene->far = NULL;
    must_equal(vigil_stream_close(stream), 0);
}

static void route(vigil_http_request *request, void *user)
{
    struct scene *scene = user;
    vigil_http_text rest;
    const bool connect = strcmp(vigil_http_method(request), "CONNECT") == 0;
    const vigil_http_text target = vigil_http_target(request);
    const vigil_http_field where = {"location", "/echo"};
    if (vigil_http_text_is(target, "/moved")) {
        must_equal(vigil_http_answer(request, 302, &where, 1, NULL, 0), 0);
    } else if (vigil_http_text_is(target, "/never") || vigil_http_text_is(target, "never:1")) {
        must_equal(vigil_http_answer_text(request, 403, "text/plain", "no"), 0);
    } else if (connect || vigil_http_asks_upgrade(request, "echo/2")) {
        if (connect)
            must(vigil_http_text_is(vigil_http_header(request, "host"), "[::1]:9"));
        must_equal(vigil_http_upgrade(request, connect ? NULL : "echo/2", NULL, 0, &rest, &scene->far), 0);
        must_equal(rest.length, 0);
        must_equal(vigil_stream_write(scene->far, "first ", 6), 0);
        must_equal(vigil_stream_on_data(scene->far, far_data, scene), 0);
    } else {
        must_equal(vigil_http_answer_text(request, 200, "text/plain", "usual"), 0);
    }
}

static void scene_open(struct scene *scene)
{
    vigil_http_server_options server = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    vigil_http_client_options client = VIGIL_HTTP_CLIENT_OPTIONS_INIT;
    vigil_address address;
    char text[VIGIL_ADDRESS_TEXT];
    memset(scene, 0, sizeof *scene);
    scene->loop = loop_plain();
    server.on_request = route;
    server.user = scene;
    server.tunnels = true;
    client.most_per_host = 1;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(vigil_http_server_open(&scene->server, scene->loop, &address, &server), 0);
    must_equal(vigil_http_server_address(scene->server, &address), 0);
    must(vigil_address_text(&address, text, sizeof text) > 0);
    (void)snprintf(scene->base, sizeof scene->base, "http://%.40s", text);
    must_equal(vigil_http_client_create(&scene->client, scene->loop, &client), 0);
}

static void scene_end(struct scene *scene)
{
    must_equal(vigil_http_client_destroy(scene->client), 0);
    must_equal(vigil_http_server_close(scene->server), 0);
    must_equal(vigil_loop_run(scene->loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(scene->loop), 0);
}

static void turn(struct scene *scene)
{
    must(vigil_loop_run(scene->loop, VIGIL_RUN_NOWAIT) >= 0);
}

static void came(struct scene *scene, const char *bytes, size_t length)
{
    must(scene->length + length < sizeof scene->text);
    memcpy(scene->text + scene->length, bytes, length);
    scene->length += length;
    scene->text[scene->length] = 0;
}

static void near_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct scene *scene = arg;
    if (length > 0) {
        came(scene, data, (size_t)length);
        return;
    }
    scene->ended = true;
    scene->near = NULL;
    must_equal(vigil_stream_close(stream), 0);
}

static vigil_value answered(vigil_value *value, void *arg)
{
    struct scene *scene = arg;
    vigil_http_response *response = value->pointer;
    const vigil_http_text body = vigil_http_response_body(response);
    vigil_stream *again;
    scene->settled++;
    scene->error = 0;
    scene->status = vigil_http_response_status(response);
    came(scene, body.at, body.length);
    if (scene->keeps && vigil_http_response_take(response, &scene->near) == 0)
        must_equal(vigil_stream_on_data(scene->near, near_data, scene), 0);
    if (scene->keeps)
        must_equal(vigil_http_response_take(response, &again), -ENOTCONN);
    return vigil_value_none();
}

static vigil_value refused(vigil_value *reason, void *arg)
{
    struct scene *scene = arg;
    scene->settled++;
    scene->error = reason->status;
    return vigil_value_none();
}

static void ask(struct scene *scene, const char *path, vigil_http_call *call, vigil_cancel_token *token)
{
    vigil_promise *promise;
    char url[128];
    (void)snprintf(url, sizeof url, "%s%s", scene->base, path);
    call->url = url;
    scene->settled = 0;
    scene->error = scene->status = 0;
    scene->length = 0;
    scene->text[0] = 0;
    scene->ended = false;
    must_equal(vigil_promise_http(scene->client, call, token, &promise), 0);
    must_equal(vigil_promise_then(promise, answered, refused, scene, NULL), 0);
    vigil_promise_unref(promise);
}

static void asked(struct scene *scene, const char *path, vigil_http_call *call)
{
    ask(scene, path, call, NULL);
    while (scene->settled == 0)
        turn(scene);
}

static vigil_http_client_stats stats_of(const struct scene *scene)
{
    vigil_http_client_stats stats = VIGIL_HTTP_CLIENT_STATS_INIT;
    must_equal(vigil_http_client_stats_get(scene->client, &stats), 0);
    return stats;
}

static void until_text(struct scene *scene, const char *text)
{
    while (strstr(scene->text, text) == NULL)
        turn(scene);
}

/* Both ends close. */
static void hang_up(struct scene *scene)
{
    must_equal(vigil_stream_close(scene->near), 0);
    scene->near = NULL;
    while (scene->far != NULL)
        turn(scene);
}

static void both_sides_go_on(void **state)
{
    (void)state;
    struct scene scene;
    vigil_http_call plain = VIGIL_HTTP_CALL_INIT;
    vigil_http_call upgrade = VIGIL_HTTP_CALL_INIT;
    vigil_http_call tunnel = VIGIL_HTTP_CALL_INIT;
    upgrade.upgrade = "other, echo/2";
    upgrade.redirects = 1;
    tunnel.tunnel = "[::1]:9";
    scene_open(&scene);
    scene.keeps = true;
    static const char *const paths[] = {"/echo", "/moved", "/"};
    for (int i = 0; i < 3; i++) {
        asked(&scene, paths[i], i == 2 ? &tunnel : &upgrade);
        must_equal(scene.status, i == 2 ? 200 : 101);
        must(scene.near != NULL);
        must_equal(stats_of(&scene).open, 0);
        until_text(&scene, "first ");
        must_equal(vigil_stream_write(scene.near, "hello", 5), 0);
        until_text(&scene, "first hello");
        /* a place of the one connection per host is free */
        vigil_stream *near = scene.near;
        scene.near = NULL;
        asked(&scene, "/", &plain);
        must_equal(scene.status, 200);
        must(strcmp(scene.text, "usual") == 0);
        must(scene.near == NULL);
        scene.near = near;
        hang_up(&scene);
    }
    scene_end(&scene);
}

static void what_the_server_does_not_take_is_answered(void **state)
{
    (void)state;
    struct scene scene;
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    vigil_http_call tunnel = VIGIL_HTTP_CALL_INIT;
    call.upgrade = "other";
    tunnel.tunnel = "never:1";
    scene_open(&scene);
    scene.keeps = true;
    asked(&scene, "/", &call);
    must_equal(scene.status, 200);
    must(strcmp(scene.text, "usual") == 0 && scene.near == NULL);
    must_equal(stats_of(&scene).idle, 1); /* it is kept as usual */
    call.upgrade = "echo/2";
    asked(&scene, "/never", &call);
    must_equal(scene.status, 403);
    must(scene.near == NULL);
    asked(&scene, "/", &tunnel);
    must_equal(scene.status, 403);
    must(strcmp(scene.text, "no") == 0 && scene.near == NULL);
    must_equal(stats_of(&scene).open, 0);
    scene_end(&scene);
}

/* A stream that nobody takes ends with its answer; one that was taken outlives the client. */
static void streams_belong_to_who_takes_them(void **state)
{
    (void)state;
    struct scene scene;
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    call.upgrade = "echo/2";
    scene_open(&scene);
    asked(&scene, "/echo", &call);
    must_equal(scene.status, 101);
    while (scene.far != NULL) /* the server's end hears it */
        turn(&scene);
    scene.keeps = true;
    asked(&scene, "/echo", &call);
    must_equal(vigil_http_client_destroy(scene.client), 0);
    scene.client = NULL;
    must_equal(vigil_stream_write(scene.near, "hello", 5), 0);
    until_text(&scene, "hello");
    hang_up(&scene);
    scene_end(&scene);
}

static void calls_that_cannot_be(void **state)
{
    (void)state;
    struct scene scene;
    static const char *const bad_lists[] = {"", ",", "a,", "a b", "a/", "/a", "a\r\nb: c", "a/b/c", "\x80"};
    static const char *const bad_targets[] = {"",      "host",    "host:",    ":80",     "host:0",      "host:65536",
                                              "a:1/x", "u@h:1",   "a:1?x",    "a:1#x",   "a:1\r\nb: c", "[::1]",
                                              "::1:9", "host:09", "host :80", "host:80 "};
    const vigil_http_field upgrade = {"Upgrade", "a"};
    const vigil_http_field host = {"Host", "a"};
    vigil_promise *promise;
    scene_open(&scene);
    for (size_t i = 0; i < count_of(bad_lists) + count_of(bad_targets) + 7; i++) {
        vigil_http_call call = VIGIL_HTTP_CALL_INIT;
        call.url = scene.base;
        if (i < count_of(bad_lists)) {
            call.upgrade = bad_lists[i];
        } else if (i - count_of(bad_lists) < count_of(bad_targets)) {
            call.tunnel = bad_targets[i - count_of(bad_lists)];
        } else {
            const size_t kind = i - count_of(bad_lists) - count_of(bad_targets);
            call.upgrade = kind % 2 == 0 ? "a" : NULL;
            call.tunnel = kind % 2 == 1 || kind == 6 ? "a:1" : NULL;
            call.body = kind < 2 ? "x" : NULL;
            call.length = kind < 2 ? 1 : 0;
            call.method = kind == 3 ? "GET" : NULL;
            call.fields = kind == 4 ? &upgrade : kind == 5 ? &host : NULL;
            call.count = call.fields != NULL;
            call.method = kind == 2 ? "CONNECT" : call.method;
        }
        const int rc = vigil_promise_http(scene.client, &call, NULL, &promise);
        if (rc != -EINVAL)
            fail_msg("call %zu: %d, upgrade '%s', tunnel '%s'", i, rc, call.upgrade, call.tunnel);
    }
    must_equal(vigil_http_response_take(NULL, NULL), -EINVAL);
    scene_end(&scene);
}

/* ---- a server that is moved by hand ------------------------------------------------------------------------------- */

static void fake_rest(struct scene *scene)
{
    const size_t length = strlen(scene->bytes);
    if (scene->said < length)
        must_equal(vigil_stream_write(scene->fake, scene->bytes + scene->said, length - scene->said), 0);
    scene->said = length;
}

static void fake_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct scene *scene = arg;
    (void)data;
    if (length > 0 && scene->said == 0) {
        if (scene->cut != 0)
            must_equal(vigil_stream_write(stream, scene->bytes, scene->cut), 0);
        scene->said = scene->cut;
    } else if (length <= 0) {
        scene->fake = NULL;
        must_equal(vigil_stream_close(stream), 0);
    }
}

static void fake_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    struct scene *scene = user;
    (void)listener;
    scene->fake = stream;
    scene->said = 0;
    must_equal(vigil_stream_on_data(stream, fake_data, scene), 0);
}

static vigil_listener *fake_open(struct scene *scene)
{
    vigil_listener *listener;
    vigil_address address;
    char text[VIGIL_ADDRESS_TEXT];
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    scene_open(scene);
    options.on_stream = fake_stream;
    options.user = scene;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&listener, scene->loop, &address, &options), 0);
    must_equal(vigil_listener_address(listener, &address), 0);
    must(vigil_address_text(&address, text, sizeof text) > 0);
    (void)snprintf(scene->base, sizeof scene->base, "http://%.40s", text);
    return listener;
}

#define SWITCH "HTTP/1.1 101 Now\r\nConnection: keep-alive, Upgrade\r\nUPGRADE: Echo/2\r\nContent-Length: 4\r\n\r\n"

static void cut_at_every_byte(void **state)
{
    (void)state;
    struct scene scene;
    static const char *const answers[] = {SWITCH "more words", "HTTP/1.1 100 Continue\r\n\r\n" SWITCH "more words",
                                          "HTTP/1.1 204 Yes\r\nTransfer-Encoding: chunked\r\n\r\nmore words"};
    vigil_listener *listener = fake_open(&scene);
    scene.keeps = true;
    for (size_t i = 0; i < count_of(answers); i++) {
        for (scene.cut = 1; scene.cut <= strlen(answers[i]); scene.cut++) {
            vigil_http_call call = VIGIL_HTTP_CALL_INIT;
            if (i == 2)
                call.tunnel = "b:443";
            else
                call.upgrade = "echo/2";
            scene.bytes = answers[i];
            ask(&scene, "/", &call, NULL);
            while (scene.fake == NULL || scene.said == 0)
                turn(&scene);
            turn(&scene);
            fake_rest(&scene);
            until_text(&scene, "more words");
            must(strcmp(scene.text, "more words") == 0);
            must_equal(scene.status, i == 2 ? 204 : 101);
            must_equal(vigil_stream_close(scene.near), 0);
            while (scene.fake != NULL)
                turn(&scene);
        }
    }
    must_equal(vigil_listener_close(listener), 0);
    scene_end(&scene);
}

static void answers_that_switch_unasked(void **state)
{
    (void)state;
    struct scene scene;
    static const char *const answers[] = {
        SWITCH, /* to a call that does not ask */
        "HTTP/1.1 101 Now\r\n\r\n",
        "HTTP/1.1 101 Now\r\nUpgrade: echo/2\r\n\r\n",
        "HTTP/1.1 101 Now\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 101 Now\r\nConnection: upgrade\r\nUpgrade:\r\n\r\n",
        "HTTP/1.1 101 Now\r\nConnection: upgrade\r\nUpgrade: ,\r\n\r\n",
        "HTTP/1.1 101 Now\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
        "HTTP/1.1 101 Now\r\nConnection: upgrade\r\nUpgrade: echo/2, tls\r\n\r\n",
        "HTTP/1.1 101 Now\r\nConnection: upgrade\r\nUpgrade: echo/2\r\nUpgrade: tls\r\n\r\n",
        "HTTP/1.0 101 Now\r\nConnection: upgrade\r\nUpgrade: echo/2\r\n\r\n",
        SWITCH, /* to CONNECT */
    };
    vigil_listener *listener = fake_open(&scene);
    scene.keeps = true;
    for (size_t i = 0; i < count_of(answers); i++) {
        vigil_http_call call = VIGIL_HTTP_CALL_INIT;
        call.upgrade = i == 0 || i == count_of(answers) - 1 ? NULL : "echo/2";
        call.tunnel = i == count_of(answers) - 1 ? "b:443" : NULL;
        scene.bytes = answers[i];
        scene.cut = strlen(answers[i]);
        asked(&scene, "/", &call);
        if (scene.error != -EBADMSG || scene.near != NULL)
            fail_msg("answer %zu: error %d, status %d", i, scene.error, scene.status);
        while (scene.fake != NULL)
            turn(&scene);
    }
    must_equal(stats_of(&scene).open, 0);
    must_equal(vigil_listener_close(listener), 0);
    scene_end(&scene);
}

/* A call that is cancelled before its answer, at its answer or behind it leaves no stream behind. */
static void cancelled_at_every_turn(void **state)
{
    (void)state;
    struct scene scene;
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    call.upgrade = "echo/2";
    scene_open(&scene);
    for (int after = 0; after < 12; after++) {
        vigil_cancel_source *source;
        must_equal(vigil_cancel_create(&source), 0);
        ask(&scene, "/echo", &call, vigil_cancel_token_of(source));
        for (int i = 0; i < after; i++)
            turn(&scene);
        must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
        while (scene.settled == 0 || scene.far != NULL)
            turn(&scene);
        must(scene.status == 101 || scene.error == -ECANCELED);
        vigil_cancel_destroy(source);
    }
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_go_on),
        cmocka_unit_test(what_the_server_does_not_take_is_answered),
        cmocka_unit_test(streams_belong_to_who_takes_them),
        cmocka_unit_test(calls_that_cannot_be),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(answers_that_switch_unasked),
        cmocka_unit_test(cancelled_at_every_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
