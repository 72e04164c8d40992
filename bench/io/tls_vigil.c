/* SPDX-License-Identifier: MIT */
/* libvigil-tls, with callbacks. */
#include "../peer/peer.h"
#include "tls_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/tls.h>
#include <vigil/vigil.h>

struct visitor {
    vigil_stream *stream;
    size_t left; /* of a long answer */
};

static vigil_tls *tls;
static char piece[1 << 18];

static void must(int64_t rc)
{
    bench_must(rc >= 0, "a call of ours");
}

/* As much as the stream wants to hold, then again when it has sent that. */
static void send_more(void *arg)
{
    struct visitor *self = arg;
    int full = 0;
    while (self->left != 0 && full == 0) {
        const size_t length = self->left < sizeof piece ? self->left : sizeof piece;
        full = vigil_stream_write(self->stream, piece, length);
        if (full < 0)
            return; /* the client has gone */
        self->left -= length;
    }
    if (full == 1)
        must(vigil_stream_on_drained(self->stream, send_more, self));
}

static void on_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct visitor *self = arg;
    if (length <= 0) {
        (void)vigil_stream_close(stream);
        free(self);
        return;
    }
    if (length > 9 && memcmp(data, "GET /bulk", 9) == 0) {
        (void)vigil_stream_write(stream, TLS_HEAD, sizeof TLS_HEAD - 1);
        self->left = TLS_BULK;
        send_more(self);
    } else {
        (void)vigil_stream_write(stream, TLS_HELLO, sizeof TLS_HELLO - 1);
    }
}

static void on_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    struct visitor *self = calloc(1, sizeof *self);
    (void)listener;
    (void)user;
    bench_must(self != NULL, "memory");
    self->stream = stream;
    must(vigil_tls_start(tls, stream, NULL, NULL, NULL));
    must(vigil_stream_on_data(stream, on_data, self));
}

void tls_serve(const char *folder, int port)
{
    char chain[128], key[128], where[32];
    vigil_loop *loop;
    vigil_address address;
    vigil_listener *listener;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    vigil_tls_options settings = VIGIL_TLS_OPTIONS_INIT;
    const vigil_tls_certificate certificate = {chain, key};
    (void)snprintf(chain, sizeof chain, "%s/cert.pem", folder);
    (void)snprintf(key, sizeof key, "%s/key.pem", folder);
    (void)snprintf(where, sizeof where, "127.0.0.1:%d", port);
    settings.server = true;
    settings.certificates = &certificate;
    settings.count = 1;
    memset(piece, 'x', sizeof piece);
    must(vigil_tls_create(&tls, &settings));
    must(vigil_loop_create(&loop, NULL));
    must(vigil_address_init(&address, where));
    options.on_stream = on_stream;
    must(vigil_listener_open(&listener, loop, &address, &options));
    must(vigil_loop_run(loop, VIGIL_RUN));
}
