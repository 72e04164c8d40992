/* SPDX-License-Identifier: MIT */
/* Examples of vigil/tls.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vigil/tls.h>
#include <vigil/vigil.h>

/* vigil_tls_create: make a context for clients */
static vigil_tls *make_context(void)
{
    vigil_tls *tls;
    vigil_tls_options options = VIGIL_TLS_OPTIONS_INIT;
    options.protocols = "h2,http/1.1";
    if (vigil_tls_create(&tls, &options) != 0) {
        fprintf(stderr, "no TLS: %s\n", vigil_why());
        return NULL;
    }
    return tls;
}

/* vigil_tls_reload: read renewed certificates */
static void renew(vigil_tls *tls)
{
    if (vigil_tls_reload(tls) != 0)
        fprintf(stderr, "the old ones stay: %s\n", vigil_why());
}

static int failures;

/*
 * vigil_tls_start: put TLS on a stream
 * vigil_tls_why: say why it has failed
 * vigil_tls_info_get: see what was agreed
 */
static void started(vigil_stream *stream, int status, void *arg)
{
    vigil_tls_info info = VIGIL_TLS_INFO_INIT;
    (void)arg;
    if (status != 0) {
        printf("%s\n", vigil_tls_why(stream));
        failures++;
    } else if (vigil_tls_info_get(stream, &info) == 0) {
        printf("%s with %s\n", info.version, info.peer);
    }
    (void)vigil_stream_close(stream);
}

static void start(vigil_tls *tls, vigil_stream *stream)
{
    int rc = vigil_tls_start(tls, stream, "example.org", started, NULL);
    assert(rc == 0);
}

/* vigil_promise_tls: wait for it in a promise */
static vigil_value refused(vigil_value *reason, void *stream)
{
    assert(reason->status < 0);
    failures++;
    (void)vigil_stream_close(stream);
    return vigil_value_none();
}

static void start_and_wait(vigil_tls *tls, vigil_stream *stream)
{
    vigil_promise *promise;
    int rc =
        vigil_promise_tls(tls, stream, "example.org", NULL, &promise);
    assert(rc == 0);
    vigil_promise_unref(
        vigil_promise_chain(promise, NULL, refused, stream));
}

/* vigil_promise_tls_connect: connect with TLS */
static vigil_value not_there(vigil_value *reason, void *arg)
{
    (void)arg;
    assert(reason->status == -ECONNREFUSED);
    failures++;
    return vigil_value_none();
}

static void connect_with_tls(vigil_tls *tls, vigil_loop *loop)
{
    vigil_address address;
    vigil_promise *promise;
    vigil_connect_options options = VIGIL_CONNECT_OPTIONS_INIT;
    options.timeout_ns = INT64_C(5000000000);
    int rc = vigil_address_init(&address, "127.0.0.1:1");
    assert(rc == 0);
    rc = vigil_promise_tls_connect(tls, loop, &address, 1, "localhost",
                                   &options, NULL, &promise);
    assert(rc == 0);
    vigil_promise_unref(
        vigil_promise_chain(promise, NULL, not_there, NULL));
}

/* vigil_tls_destroy: give the context back */
static void give_back(vigil_tls *tls)
{
    vigil_tls_destroy(tls);
}

/* A stream whose peer does not speak TLS. */
static vigil_stream *stream_to_nobody(vigil_loop *loop)
{
    int ends[2];
    vigil_stream *stream;
    int rc = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    assert(rc == 0);
    rc = (int)write(ends[1], "I do not speak TLS", 18);
    assert(rc == 18);
    rc = close(ends[1]);
    assert(rc == 0);
    rc = vigil_stream_open(&stream, loop, ends[0], NULL);
    assert(rc == 0);
    return stream;
}

int main(void)
{
    vigil_loop *loop;
    vigil_tls *tls = make_context();
    if (tls == NULL)
        return 1;
    int rc = vigil_loop_create(&loop, NULL);
    assert(rc == 0);
    renew(tls);
    start(tls, stream_to_nobody(loop));
    start_and_wait(tls, stream_to_nobody(loop));
    connect_with_tls(tls, loop);
    give_back(tls);
    (void)vigil_loop_run(loop, VIGIL_RUN);
    assert(failures == 3);
    return vigil_loop_destroy(loop);
}
