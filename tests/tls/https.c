/* SPDX-License-Identifier: MIT */
/* HTTP over TLS: the server takes streams with TLS, the client makes them through its hook. */
#include "certs.h"

#include <vigil/http.h>
#include <vigil/tls.h>
#include <vigil/vigil.h>

struct https {
    vigil_loop *loop;
    vigil_tls *server_tls, *client_tls;
    vigil_http_server *server;
    vigil_address address;
    unsigned settled;
    int error;
    char body[64];
};

static void tls_started(vigil_stream *stream, int status, void *arg)
{
    struct https *it = arg;
    if (status != 0 || vigil_http_server_serve(it->server, stream) != 0)
        (void)vigil_stream_close(stream);
}

static void accept_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    struct https *it = user;
    (void)listener;
    if (vigil_tls_start(it->server_tls, stream, NULL, tls_started, it) != 0)
        (void)vigil_stream_close(stream);
}

static void on_request(vigil_http_request *request, void *user)
{
    (void)user;
    must_equal(vigil_http_answer_text(request, 200, "text/plain", "secret"), 0);
}

/* Every name is this machine; the certificate must still be for the name. */
static int connect_secure(vigil_loop *loop, const char *host, unsigned port, bool secure, void *user,
                          vigil_promise **promise)
{
    struct https *it = user;
    (void)port;
    must(secure);
    return vigil_promise_tls_connect(it->client_tls, loop, &it->address, 1, host, NULL, NULL, promise);
}

static vigil_value answered(vigil_value *value, void *arg)
{
    struct https *it = arg;
    it->settled++;
    it->error = 0;
    (void)snprintf(it->body, sizeof it->body, "%s", vigil_http_response_body(value->pointer).at);
    return vigil_value_none();
}

static vigil_value refused(vigil_value *reason, void *arg)
{
    struct https *it = arg;
    it->settled++;
    it->error = reason->status;
    return vigil_value_none();
}

static void ask(struct https *it, vigil_http_client *client, const char *url)
{
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    vigil_promise *promise;
    const unsigned before = it->settled;
    call.url = url;
    must_equal(vigil_promise_http(client, &call, NULL, &promise), 0);
    must_equal(vigil_promise_then(promise, answered, refused, it, NULL), 0);
    vigil_promise_unref(promise);
    while (it->settled == before)
        must(vigil_loop_run(it->loop, VIGIL_RUN_ONCE) >= 0);
}

static void requests_over_tls(void **state)
{
    (void)state;
    struct https it = {0};
    struct cert authority, good;
    vigil_listener *listener;
    vigil_http_client *client;
    certs_begin();
    cert_make(&authority, "authority", NULL, NULL, -3600, 3600);
    cert_make(&good, "good.test", "DNS:good.test", &authority, -3600, 3600);
    it.loop = loop_plain();
    vigil_tls_certificate files = {good.chain, good.file};
    vigil_tls_options server_tls = VIGIL_TLS_OPTIONS_INIT, client_tls = VIGIL_TLS_OPTIONS_INIT;
    server_tls.server = true;
    server_tls.certificates = &files;
    server_tls.count = 1;
    server_tls.protocols = client_tls.protocols = "http/1.1";
    client_tls.trust = authority.chain;
    must_equal(vigil_tls_create(&it.server_tls, &server_tls), 0);
    must_equal(vigil_tls_create(&it.client_tls, &client_tls), 0);
    vigil_http_server_options server = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    vigil_http_client_options client_options = VIGIL_HTTP_CLIENT_OPTIONS_INIT;
    server.on_request = on_request;
    options.on_stream = accept_stream;
    options.user = client_options.user = &it;
    client_options.connect = connect_secure;
    must_equal(vigil_http_server_open(&it.server, it.loop, NULL, &server), 0);
    must_equal(vigil_address_init(&it.address, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&listener, it.loop, &it.address, &options), 0);
    must_equal(vigil_listener_address(listener, &it.address), 0);
    must_equal(vigil_http_client_create(&client, it.loop, &client_options), 0);
    for (int i = 0; i < 3; i++) {
        ask(&it, client, "https://good.test/");
        must_equal(it.error, 0);
        must_equal(strcmp(it.body, "secret"), 0);
    }
    vigil_http_client_stats stats = VIGIL_HTTP_CLIENT_STATS_INIT;
    must_equal(vigil_http_client_stats_get(client, &stats), 0);
    must_equal(stats.connections, 1); /* kept and used again */
    ask(&it, client, "https://wrong.test/");
    must_equal(it.error, -EKEYREJECTED);
    must_equal(vigil_http_client_destroy(client), 0);
    must_equal(vigil_http_server_close(it.server), 0);
    must_equal(vigil_listener_close(listener), 0);
    vigil_tls_destroy(it.server_tls);
    vigil_tls_destroy(it.client_tls);
    must_equal(vigil_loop_run(it.loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(it.loop), 0);
    cert_free(&authority);
    cert_free(&good);
    must_equal(rmdir(certs_folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(requests_over_tls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
