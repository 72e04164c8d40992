/* SPDX-License-Identifier: MIT */
/* A client may be destroyed inside each of its callbacks. Its calls are rejected once, and nothing is used afterwards. */
#include "http_test.h"

enum where {
    IN_CONNECT,
    IN_CONNECT_OF_REDIRECT,
    IN_FIRST_PIECE,
    IN_SECOND_PIECE,
    IN_PIECE_AFTER_DRAIN,
    IN_ANSWER,
    PLACES
};

struct scene {
    struct web web;
    vigil_http_client *client;
    enum where where;
    int returns; /* of the callback that destroys: 0 with a promise, or an error */
    unsigned connects, pieces, settled;
    int error;
};

static void destroy(struct scene *scene)
{
    must(scene->client != NULL);
    must_equal(vigil_http_client_destroy(scene->client), 0);
    scene->client = NULL;
}

static void take_body(vigil_http_request *request, const void *data, int64_t length, void *arg)
{
    (void)data;
    (void)arg;
    if (length == 0)
        must_equal(vigil_http_answer_text(request, 200, "text/plain", "hello"), 0);
    else if (length < 0)
        must_equal(vigil_http_reset(request), 0);
}

static void route(vigil_http_request *request, void *user)
{
    (void)user;
    const vigil_http_field elsewhere = {"location", "http://elsewhere.test/"};
    if (vigil_http_text_is(vigil_http_path(request), "/elsewhere"))
        must_equal(vigil_http_answer(request, 302, &elsewhere, 1, NULL, 0), 0);
    else
        must_equal(vigil_http_on_body(request, take_body, NULL), 0);
}

static int connect_there(vigil_loop *loop, const char *host, unsigned port, bool secure, void *user,
                         vigil_promise **promise)
{
    struct scene *scene = user;
    (void)port;
    (void)secure;
    scene->connects++;
    if (scene->where == (strcmp(host, "elsewhere.test") == 0 ? IN_CONNECT_OF_REDIRECT : IN_CONNECT)) {
        destroy(scene);
        if (scene->returns < 0)
            return scene->returns;
    }
    return vigil_promise_connect(loop, &scene->web.address, 1, NULL, NULL, promise);
}

static int next_piece(void *user, vigil_promise **promise)
{
    static char bytes[1 << 20];
    static vigil_http_bytes piece = {sizeof bytes, bytes};
    struct scene *scene = user;
    const unsigned at = scene->pieces++;
    piece.length = scene->where == IN_PIECE_AFTER_DRAIN ? sizeof bytes : 3;
    if ((scene->where == IN_FIRST_PIECE && at == 0) || (scene->where == IN_SECOND_PIECE && at == 1) ||
        (scene->where == IN_PIECE_AFTER_DRAIN && at == 4)) {
        destroy(scene);
        if (scene->returns < 0)
            return scene->returns;
    }
    must_equal(vigil_promise_create(promise, scene->web.loop), 0);
    must_equal(vigil_promise_resolve(*promise, at < 5 ? vigil_value_pointer(&piece, NULL) : vigil_value_none()), 0);
    return 0;
}

static void answer_piece(vigil_http_response *response, const void *data, size_t length, void *user)
{
    struct scene *scene = user;
    must_equal(vigil_http_response_status(response), 200);
    must_equal(length, 5);
    must_equal(memcmp(data, "hello", 5), 0);
    if (scene->where == IN_ANSWER)
        destroy(scene);
}

static vigil_value answered(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    fail_msg("%s", "a client that is gone has answered");
    return vigil_value_none();
}

static vigil_value refused(vigil_value *reason, void *arg)
{
    struct scene *scene = arg;
    scene->settled++;
    scene->error = reason->status;
    return vigil_value_none();
}

static void begin(struct scene *scene)
{
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    vigil_promise *promise;
    call.url = scene->where == IN_CONNECT_OF_REDIRECT ? "http://here.test/elsewhere" : "http://here.test/";
    call.redirects = 1;
    call.on_body = answer_piece;
    if (scene->where >= IN_FIRST_PIECE && scene->where <= IN_PIECE_AFTER_DRAIN)
        call.next_body = next_piece;
    call.user = scene;
    must_equal(vigil_promise_http(scene->client, &call, NULL, &promise), 0);
    must_equal(vigil_promise_then(promise, answered, refused, scene, NULL), 0);
    vigil_promise_unref(promise);
}

static void the_client_goes_inside(enum where where, int returns, unsigned calls)
{
    static struct scene scene;
    vigil_http_client_options options = VIGIL_HTTP_CLIENT_OPTIONS_INIT;
    vigil_http_server_options server = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    memset(&scene, 0, sizeof scene);
    server.on_request = route;
    web_open(&scene.web, &server);
    options.connect = connect_there;
    options.user = &scene;
    options.most_per_host = 1; /* further calls wait */
    must_equal(vigil_http_client_create(&scene.client, scene.web.loop, &options), 0);
    scene.where = where;
    scene.returns = returns;
    for (unsigned i = 0; i < calls && scene.client != NULL; i++)
        begin(&scene);
    const unsigned begun = where == IN_CONNECT ? 1 : calls; /* the first call connects at once */
    while (scene.settled < begun)
        must(vigil_loop_run(scene.web.loop, VIGIL_RUN_NOWAIT) >= 0);
    must_equal(scene.error, -ECANCELED);
    must(scene.client == NULL);
    web_end(&scene.web); /* what is in flight ends before the loop does */
    must_equal(scene.settled, begun);
}

static void in_every_callback(void **state)
{
    (void)state;
    for (unsigned calls = 1; calls <= 3; calls++)
        for (int where = 0; where < PLACES; where++) {
            the_client_goes_inside((enum where)where, 0, calls);
            if (where != IN_ANSWER)
                the_client_goes_inside((enum where)where, -ENOTSUP, calls);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_every_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
