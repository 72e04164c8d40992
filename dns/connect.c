/* SPDX-License-Identifier: MIT */
/* Look up, then connect: two steps as one promise. */
#include "resolver.h"

#include <stdlib.h>
#include <string.h>
#include <vigil/async.h>

typedef struct dns_connect {
    vigil_frame frame;
    vigil_dns *dns;
    vigil_cancel_source *source; /* the token, and the limit of both steps */
    char name[256];
    unsigned port;
    vigil_connect_options options;
    vigil_stream_options stream_options;
    vigil_address source_address;
} dns_connect;

static void connect_steps(vigil_frame *frame)
{
    dns_connect *self = (dns_connect *)(void *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_dns(self->dns, self->name, self->port, frame->token, VIGIL_INTO(frame)));
    const vigil_dns_addresses *found = frame->value->pointer;
    VIGIL_AWAIT(frame, vigil_promise_connect(frame->loop, found->items, found->count < 64 ? found->count : 64,
                                             &self->options, frame->token, VIGIL_INTO(frame)));
    VIGIL_RETURN(frame, vigil_value_move(frame->value));
    VIGIL_ASYNC_OUT(frame);
    vigil_cancel_destroy(self->source);
    vg_dns_unref(self->dns);
    VIGIL_ASYNC_END(frame);
}

int vigil_promise_dns_connect(vigil_dns *dns, const char *name, unsigned port, const vigil_connect_options *options,
                              vigil_cancel_token *token, vigil_promise **promise)
{
    const vigil_connect_options plain = VIGIL_CONNECT_OPTIONS_INIT;
    vigil_cancel_source *source;
    if (dns == NULL || name == NULL || promise == NULL || strlen(name) > 254 || port > 65535)
        return vigil_why_set(-EINVAL, "dns, name or promise is NULL, the name is too long, or port is above 65535");
    if (options != NULL && options->size != sizeof *options)
        return vigil_why_set(-EINVAL, "options must start from VIGIL_CONNECT_OPTIONS_INIT");
    int error =
        vigil_cancel_create_deadline(&source, dns->loop, options != NULL ? options->timeout_ns : VIGIL_FOREVER, token);
    if (error != 0)
        return error;
    dns_connect *self = vigil_frame_alloc(sizeof *self, dns->loop, vigil_cancel_token_of(source));
    if (self == NULL) {
        vigil_cancel_destroy(source);
        return vigil_why_set(-ENOMEM, "no memory for a connection");
    }
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
    self->dns = dns;
    self->source = source;
    self->port = port;
    memcpy(self->name, name, strlen(name) + 1);
    dns->references++;
    error = vigil_frame_start(&self->frame, connect_steps, promise);
    if (error != 0) {
        vg_dns_unref(dns);
        vigil_cancel_destroy(source);
    }
    return error;
}
