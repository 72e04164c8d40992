/* SPDX-License-Identifier: MIT */
/* Connect, then TLS: two steps as one promise. */
#include <vigil/async.h>
#include <vigil/tls.h>

#include "context.h"

#include <stdlib.h>
#include <string.h>

typedef struct tls_connect {
    vigil_frame frame;
    vigil_tls *tls;
    vigil_stream *stream;
    vigil_cancel_source *source; /* the token, and the limit of both steps */
    char *host;
    vigil_address *addresses;
    size_t count;
    vigil_connect_options options;
    vigil_stream_options stream_options;
    vigil_address source_address;
} tls_connect;

static void close_untaken(void *arg)
{
    (void)vigil_stream_close(arg);
}

static void connect_steps(vigil_frame *frame)
{
    tls_connect *self = (tls_connect *)(void *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_connect(frame->loop, self->addresses, self->count, &self->options, frame->token,
                                             VIGIL_INTO(frame)));
    self->stream = vigil_value_move(frame->value).pointer;
    VIGIL_AWAIT(frame, vigil_promise_tls(self->tls, self->stream, self->host, frame->token, VIGIL_INTO(frame)));
    VIGIL_RETURN(frame, vigil_value_pointer(self->stream, close_untaken));
    VIGIL_ASYNC_OUT(frame);
    if (frame->error != 0) {
        if (self->stream != NULL && vigil_tls_why(self->stream)[0] != 0)
            (void)vigil_why_set(frame->error, vigil_tls_why(self->stream));
        (void)vigil_stream_close(self->stream);
    }
    vigil_cancel_destroy(self->source);
    vg_tls_unref(self->tls);
    free(self->addresses);
    free(self->host);
    VIGIL_ASYNC_END(frame);
}

int vigil_promise_tls_connect(vigil_tls *tls, vigil_loop *loop, const vigil_address *addresses, size_t count,
                              const char *host, const vigil_connect_options *options, vigil_cancel_token *token,
                              vigil_promise **promise)
{
    vigil_cancel_source *source;
    if (tls == NULL || addresses == NULL || count == 0 || promise == NULL)
        return vigil_why_set(-EINVAL, "tls, addresses or promise is NULL, or count is 0");
    if (options != NULL && options->size != sizeof *options)
        return vigil_why_set(-EINVAL, "options must start from VIGIL_CONNECT_OPTIONS_INIT");
    const int error =
        vigil_cancel_create_deadline(&source, loop, options != NULL ? options->timeout_ns : VIGIL_FOREVER, token);
    if (error != 0)
        return error;
    tls_connect *self = vigil_frame_alloc(sizeof *self, loop, vigil_cancel_token_of(source));
    vigil_address *copy = malloc(count * sizeof *copy);
    char *name = host != NULL ? strdup(host) : NULL;
    if (self == NULL || copy == NULL || (host != NULL && name == NULL)) {
        vigil_frame_free(self != NULL ? &self->frame : NULL);
        vigil_cancel_destroy(source);
        free(copy);
        free(name);
        return vigil_why_set(-ENOMEM, "no memory for a connection");
    }
    memcpy(copy, addresses, count * sizeof *copy);
    const vigil_connect_options plain = VIGIL_CONNECT_OPTIONS_INIT;
    self->options = options != NULL ? *options : plain;
    self->options.timeout_ns = VIGIL_FOREVER; /* the token's */
    if (self->options.stream != NULL) {
        self->stream_options = *self->options.stream;
        self->options.stream = &self->stream_options;
    }
    if (self->options.source != NULL) {
        self->source_address = *self->options.source;
        self->options.source = &self->source_address;
    }
    self->tls = tls;
    self->source = source;
    self->addresses = copy;
    self->count = count;
    self->host = name;
    tls->references++;
    const int started = vigil_frame_start(&self->frame, connect_steps, promise);
    if (started != 0) {
        vg_tls_unref(tls);
        vigil_cancel_destroy(source);
        free(copy);
        free(name);
    }
    return started;
}
