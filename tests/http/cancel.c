/* SPDX-License-Identifier: MIT */
/* A function that waits for an answer of HTTP, or for the rest of a request, is cancelled there. */
#include "../io/cancel_test.h"

#include <vigil/http.h>

static struct {
    vigil_loop *loop;
    vigil_http_server *server;
    vigil_http_client *client;
    vigil_http_request *request;
    vigil_promise *call, *piece;
    char url[128];
} scene;

static void route(vigil_http_request *request, void *user)
{
    (void)user;
    if (vigil_http_text_is(vigil_http_path(request), "/hello"))
        must_equal(vigil_http_answer_text(request, 200, "text/plain", "hello"), 0);
    else
        scene.request = request;
}

static vigil_loop *open_scene(void *arg)
{
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    vigil_address address;
    (void)arg;
    memset(&scene, 0, sizeof scene);
    scene.loop = loop_plain();
    options.on_request = route;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(vigil_http_server_open(&scene.server, scene.loop, &address, &options), 0);
    must_equal(vigil_http_server_address(scene.server, &address), 0);
    must_equal(vigil_http_client_create(&scene.client, scene.loop, NULL), 0);
    char text[VIGIL_ADDRESS_TEXT];
    must(vigil_address_text(&address, text, sizeof text) > 0);
    (void)snprintf(scene.url, sizeof scene.url, "http://%.60s/", text);
    return scene.loop;
}

static void close_scene(void *arg)
{
    (void)arg;
    if (scene.request != NULL)
        must_equal(vigil_http_reset(scene.request), 0);
    vigil_promise_unref(scene.call);
    vigil_promise_unref(scene.piece); /* nobody brings it any more */
    must_equal(vigil_http_client_destroy(scene.client), 0);
    must_equal(vigil_http_server_close(scene.server), 0);
    must_equal(vigil_loop_run(scene.loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(scene.loop), 0);
}

static int await_answer(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    (void)arg;
    strcat(scene.url, "hello");
    call.url = scene.url;
    return vigil_promise_http(scene.client, &call, token, promise);
}

static int await_no_answer(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    (void)arg;
    call.url = scene.url;
    return vigil_promise_http(scene.client, &call, token, promise);
}

static int never_a_piece(void *user, vigil_promise **promise)
{
    (void)user;
    must_equal(vigil_promise_create(promise, scene.loop), 0);
    must(scene.piece == NULL); /* one at a time */
    scene.piece = vigil_promise_ref(*promise);
    return 0;
}

static vigil_value ignored(vigil_value *reason, void *arg)
{
    (void)reason;
    (void)arg;
    return vigil_value_none();
}

/* A request whose body does not come, until the server has it. */
static void begin_request(void)
{
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    call.url = scene.url;
    call.next_body = never_a_piece;
    must_equal(vigil_promise_http(scene.client, &call, NULL, &scene.call), 0);
    must_equal(vigil_promise_then(scene.call, NULL, ignored, NULL, NULL), 0);
    while (scene.request == NULL)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_NOWAIT) >= 0);
}

static vigil_loop *open_with_request(void *arg)
{
    vigil_loop *loop = open_scene(arg);
    begin_request();
    return loop;
}

static int await_upload(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    (void)arg;
    call.url = scene.url;
    call.next_body = never_a_piece;
    return vigil_promise_http(scene.client, &call, token, promise);
}

static int await_body(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_http_body(scene.request, 1000, token, promise);
}

static int await_drained(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    static char many[1 << 20];
    (void)arg;
    must_equal(vigil_http_start(scene.request, 200, NULL, 0, -1), 0);
    int rc = 0;
    while (rc == 0) /* the client takes nothing before the loop runs */
        rc = vigil_http_send(scene.request, many, sizeof many);
    must_equal(rc, 1);
    return vigil_promise_http_drained(scene.request, token, promise);
}

static void calls(void **state)
{
    (void)state;
    static const struct await_point points[] = {
        {"answer", await_answer, false},
        {"answer that does not come", await_no_answer, true},
        {"answer to a body that does not come", await_upload, true},
    };
    const struct await_scene with = {open_scene, close_scene, NULL};
    cancel_everywhere(&with, points, count_of(points));
}

static void requests(void **state)
{
    (void)state;
    static const struct await_point points[] = {
        {"body", await_body, true},
        {"drained", await_drained, false},
    };
    const struct await_scene with = {open_with_request, close_scene, NULL};
    cancel_everywhere(&with, points, count_of(points));
}

static int forgotten_piece(void *user, vigil_promise **promise)
{
    (void)user;
    return vigil_promise_create(promise, scene.loop);
}

static vigil_value refused(vigil_value *reason, void *arg)
{
    *(int *)arg = reason->status;
    return vigil_value_none();
}

static void a_piece_that_nobody_can_bring_ends_the_call(void **state)
{
    (void)state;
    int status = 0;
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    (void)open_scene(NULL);
    call.url = scene.url;
    call.next_body = forgotten_piece;
    must_equal(vigil_promise_http(scene.client, &call, NULL, &scene.call), 0);
    must_equal(vigil_promise_then(scene.call, NULL, refused, &status, NULL), 0);
    while (status == 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_NOWAIT) >= 0);
    must_equal(status, -ECANCELED);
    close_scene(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls),
        cmocka_unit_test(requests),
        cmocka_unit_test(a_piece_that_nobody_can_bring_ends_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
