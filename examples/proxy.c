/* SPDX-License-Identifier: MIT */
/*
 * proxy [listen-address target-address]: passes every connection on to the target, both ways, with half-closes and back
 * pressure; the bytes stay in the system. Ctrl-C lets the open connections finish. Without arguments it stands between a
 * client and an echo of its own, and ends.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <vigil/vigil.h>

#define BYTES 3000000

struct proxy {
    vigil_loop *loop;
    vigil_address target;
};

struct session {
    vigil_frame frame;
    vigil_address *target;
    vigil_stream *client, *server;
    vigil_promise *back; /* the copy from the server to the client */
};

static void session_steps(vigil_frame *frame)
{
    struct session *self = (struct session *)(void *)frame;
    vigil_copy_options whole = VIGIL_COPY_OPTIONS_INIT;
    whole.finish = true;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_connect(frame->loop, self->target, 1, NULL, frame->token, VIGIL_INTO(frame)));
    self->server = vigil_value_move(frame->value).pointer;
    VIGIL_TRY(frame, vigil_promise_copy(self->server, self->client, &whole, frame->token, &self->back));
    VIGIL_AWAIT(frame, vigil_promise_copy(self->client, self->server, &whole, frame->token, VIGIL_INTO(frame)));
    VIGIL_AWAIT_PROMISE(frame, self->back);
    VIGIL_ASYNC_OUT(frame);
    if (frame->error != 0)
        fprintf(stderr, "proxy: a connection ended: %s\n", vigil_strerror(frame->error));
    frame->error = 0;
    (void)vigil_stream_close(self->client); /* a copy that still runs ends with its streams */
    (void)vigil_stream_close(self->server);
    if (self->back != NULL)
        vigil_promise_unref(self->back);
    VIGIL_ASYNC_END(frame);
}

static void on_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    struct proxy *proxy = user;
    struct session *self = vigil_frame_alloc(sizeof *self, proxy->loop, NULL);
    (void)listener;
    if (self == NULL) {
        (void)vigil_stream_reset(stream);
        return;
    }
    self->target = &proxy->target;
    self->client = stream;
    (void)vigil_frame_start(&self->frame, session_steps, NULL);
}

static vigil_listener *listen_at(vigil_loop *loop, const char *text, vigil_accept_fn fn, void *user,
                                 vigil_address *address)
{
    vigil_listener *listener;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    options.on_stream = fn;
    options.user = user;
    if (vigil_address_init(address, text) != 0 || vigil_listener_open(&listener, loop, address, &options) != 0) {
        fprintf(stderr, "proxy: %s\n", vigil_why());
        return NULL;
    }
    (void)vigil_listener_address(listener, address);
    return listener;
}

static void on_interrupt(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *listener)
{
    (void)info;
    (void)vigil_signal_remove(loop, signal);
    (void)vigil_listener_close(listener); /* sessions finish; then nothing keeps the loop */
}

/* ---- a client and an echo, to try it with ------------------------------------------------------------------------ */

static vigil_value echo_over(vigil_value *value, void *stream)
{
    (void)value;
    (void)vigil_stream_close(stream);
    return vigil_value_none();
}

/* A copy from a stream to itself. */
static void on_echo(vigil_listener *listener, vigil_stream *stream, void *user)
{
    vigil_promise *copy;
    vigil_copy_options whole = VIGIL_COPY_OPTIONS_INIT;
    (void)user;
    whole.finish = true;
    if (vigil_promise_copy(stream, stream, &whole, NULL, &copy) != 0) {
        (void)vigil_stream_reset(stream);
        return;
    }
    (void)vigil_promise_then(copy, echo_over, echo_over, stream, NULL);
    vigil_promise_unref(copy);
    (void)vigil_listener_close(listener); /* one is enough here */
}

struct client {
    vigil_frame frame;
    vigil_address address;
    vigil_listener *listener;
    vigil_stream *stream;
    size_t came;
    char bytes[65536];
};

static void client_steps(vigil_frame *frame)
{
    struct client *self = (struct client *)(void *)frame;
    static char data[BYTES];
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_connect(frame->loop, &self->address, 1, NULL, NULL, VIGIL_INTO(frame)));
    self->stream = vigil_value_move(frame->value).pointer;
    VIGIL_TRY(frame, vigil_stream_write(self->stream, data, sizeof data));
    VIGIL_TRY(frame, vigil_stream_finish(self->stream));
    do {
        VIGIL_AWAIT(frame, vigil_promise_read(self->stream, self->bytes, sizeof self->bytes, NULL, VIGIL_INTO(frame)));
        self->came += (size_t)frame->value->integer;
    } while (frame->value->integer != 0);
    printf("%zu bytes came back\n", self->came);
    VIGIL_ASYNC_OUT(frame);
    (void)vigil_stream_close(self->stream);
    (void)vigil_listener_close(self->listener);
    VIGIL_ASYNC_END(frame);
}

int main(int argc, char **argv)
{
    struct proxy proxy;
    vigil_address place;
    if (vigil_loop_create(&proxy.loop, NULL) != 0)
        return 1;
    if (argc == 3 && vigil_address_init(&proxy.target, argv[2]) != 0) {
        fprintf(stderr, "proxy: %s\n", vigil_why());
        return 2;
    }
    if (argc != 3 && listen_at(proxy.loop, "127.0.0.1:0", on_echo, NULL, &proxy.target) == NULL)
        return 1;
    vigil_listener *listener = listen_at(proxy.loop, argc == 3 ? argv[1] : "127.0.0.1:0", on_stream, &proxy, &place);
    if (listener == NULL)
        return 1;
    if (argc == 3) {
        (void)vigil_signal_add(proxy.loop, SIGINT, on_interrupt, listener, NULL);
    } else {
        struct client *self = vigil_frame_alloc(sizeof *self, proxy.loop, NULL);
        if (self == NULL)
            return 1;
        self->listener = listener;
        self->address = place;
        if (vigil_frame_start(&self->frame, client_steps, NULL) != 0)
            return 1;
    }
    (void)vigil_loop_run(proxy.loop, VIGIL_RUN);
    return vigil_loop_destroy(proxy.loop) == 0 ? 0 : 1;
}
