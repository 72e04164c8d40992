/* SPDX-License-Identifier: MIT */
/* A function that waits for a handshake is cancelled after each number of turns, on either side. */
#include "certs.h"

#include "../io/cancel_test.h"

#include <vigil/tls.h>

enum {
    HOUR = 3600
};

static struct cert authority, good;

static struct {
    vigil_loop *loop;
    vigil_tls *server_tls, *client_tls;
    vigil_stream *server, *client;
    vigil_listener *listener;
    vigil_address address;
} scene;

static void accept_one(vigil_listener *listener, vigil_stream *stream, void *user)
{
    (void)listener;
    (void)user;
    must(scene.server == NULL);
    scene.server = stream;
    must_equal(vigil_tls_start(scene.server_tls, stream, NULL, NULL, NULL), 0);
}

static vigil_loop *open_scene(void *arg)
{
    const vigil_tls_certificate files = {good.chain, good.file};
    vigil_tls_options options = VIGIL_TLS_OPTIONS_INIT;
    vigil_listener_options listening = VIGIL_LISTENER_OPTIONS_INIT;
    (void)arg;
    memset(&scene, 0, sizeof scene);
    scene.loop = loop_plain();
    options.trust = authority.chain;
    must_equal(vigil_tls_create(&scene.client_tls, &options), 0);
    options.server = true;
    options.trust = NULL;
    options.certificates = &files;
    options.count = 1;
    must_equal(vigil_tls_create(&scene.server_tls, &options), 0);
    listening.on_stream = accept_one;
    must_equal(vigil_address_init(&scene.address, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&scene.listener, scene.loop, &scene.address, &listening), 0);
    must_equal(vigil_listener_address(scene.listener, &scene.address), 0);
    return scene.loop;
}

static void close_scene(void *arg)
{
    (void)arg;
    must_equal(vigil_stream_reset(scene.client), 0);
    must_equal(vigil_stream_reset(scene.server), 0);
    must_equal(vigil_listener_close(scene.listener), 0);
    vigil_tls_destroy(scene.server_tls);
    vigil_tls_destroy(scene.client_tls);
    must_equal(vigil_loop_run(scene.loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(scene.loop), 0);
}

static void make_pair(void)
{
    int ends[2];
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    must_equal(vigil_stream_open(&scene.server, scene.loop, ends[0], NULL), 0);
    must_equal(vigil_stream_open(&scene.client, scene.loop, ends[1], NULL), 0);
}

static int await_client(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    make_pair();
    must_equal(vigil_tls_start(scene.server_tls, scene.server, NULL, NULL, NULL), 0);
    return vigil_promise_tls(scene.client_tls, scene.client, "good.test", token, promise);
}

static int await_server(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    make_pair();
    must_equal(vigil_tls_start(scene.client_tls, scene.client, "good.test", NULL, NULL), 0);
    return vigil_promise_tls(scene.server_tls, scene.server, NULL, token, promise);
}

static int await_silent_peer(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    make_pair();
    return vigil_promise_tls(scene.client_tls, scene.client, "good.test", token, promise);
}

static int await_connect(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_tls_connect(scene.client_tls, scene.loop, &scene.address, 1, "good.test", NULL, token,
                                     promise);
}

static void handshakes(void **state)
{
    (void)state;
    static const struct await_point points[] = {
        {"handshake of a client", await_client, false},
        {"handshake of a server", await_server, false},
        {"handshake with a silent peer", await_silent_peer, true},
        {"connect with TLS", await_connect, false},
    };
    const struct await_scene with = {open_scene, close_scene, NULL};
    cancel_everywhere(&with, points, count_of(points));
}

static int make_certificates(void **state)
{
    (void)state;
    certs_begin();
    cert_make(&authority, "authority", NULL, NULL, -HOUR, HOUR);
    cert_make(&good, "good.test", "DNS:good.test", &authority, -HOUR, HOUR);
    return 0;
}

static int remove_certificates(void **state)
{
    (void)state;
    cert_free(&authority);
    cert_free(&good);
    return rmdir(certs_folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handshakes),
    };
    return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
