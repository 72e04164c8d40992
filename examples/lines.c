/* SPDX-License-Identifier: MIT */
/*
 * lines [address]: a server that sends every line back in capitals, with vigil/io.h and vigil/async.h. Try it with
 * `nc 127.0.0.1 7000`. Ctrl-C lets the open connections finish. Without arguments it talks to itself and ends.
 */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <vigil/vigil.h>

struct session {
    vigil_frame frame;
    vigil_stream *stream;
    char line[512];
};

static void session_steps(vigil_frame *frame)
{
    struct session *self = (struct session *)(void *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (;;) {
        VIGIL_AWAIT(frame, vigil_promise_read_until(self->stream, self->line, sizeof self->line, '\n', frame->token,
                                                    VIGIL_INTO(frame)));
        const size_t length = (size_t)frame->value->integer;
        if (length == 0)
            break;
        for (size_t i = 0; i < length; i++)
            self->line[i] = (char)toupper((unsigned char)self->line[i]);
        VIGIL_TRY(frame, vigil_stream_write(self->stream, self->line, length));
        VIGIL_AWAIT(frame, vigil_promise_drained(self->stream, frame->token, VIGIL_INTO(frame)));
    }
    VIGIL_ASYNC_OUT(frame);
    if (frame->error != 0)
        fprintf(stderr, "lines: a session ended: %s\n", vigil_strerror(frame->error));
    frame->error = 0;
    (void)vigil_stream_close(self->stream);
    VIGIL_ASYNC_END(frame);
}

static void on_stream(vigil_listener *listener, vigil_stream *stream, void *loop)
{
    (void)listener;
    struct session *self = vigil_frame_alloc(sizeof *self, loop, NULL);
    if (self == NULL) {
        (void)vigil_stream_reset(stream);
        return;
    }
    self->stream = stream;
    (void)vigil_frame_start(&self->frame, session_steps, NULL);
}

struct client {
    vigil_frame frame;
    vigil_address address;
    vigil_listener *listener;
    vigil_stream *stream;
    char line[64];
};

static void client_steps(vigil_frame *frame)
{
    struct client *self = (struct client *)(void *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_connect(frame->loop, &self->address, 1, NULL, NULL, VIGIL_INTO(frame)));
    self->stream = vigil_value_move(frame->value).pointer;
    VIGIL_TRY(frame, vigil_stream_write(self->stream, "hello, server\n", 14));
    VIGIL_AWAIT(frame,
                vigil_promise_read_until(self->stream, self->line, sizeof self->line, '\n', NULL, VIGIL_INTO(frame)));
    printf("%.*s", (int)frame->value->integer, self->line);
    VIGIL_ASYNC_OUT(frame);
    (void)vigil_stream_close(self->stream);
    (void)vigil_listener_close(self->listener);
    VIGIL_ASYNC_END(frame);
}

static void on_interrupt(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *listener)
{
    (void)info;
    (void)vigil_signal_remove(loop, signal);
    (void)vigil_listener_close(listener); /* sessions finish; then nothing keeps the loop */
}

int main(int argc, char **argv)
{
    vigil_loop *loop;
    vigil_address address;
    vigil_listener *listener;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    options.on_stream = on_stream;
    if (vigil_loop_create(&loop, NULL) != 0)
        return 1;
    options.user = loop;
    if (vigil_address_init(&address, argc > 1 ? argv[1] : "127.0.0.1:0") != 0 ||
        vigil_listener_open(&listener, loop, &address, &options) != 0) {
        fprintf(stderr, "lines: %s\n", vigil_why());
        return 1;
    }
    if (argc > 1) {
        (void)vigil_signal_add(loop, SIGINT, on_interrupt, listener, NULL);
    } else {
        struct client *self = vigil_frame_alloc(sizeof *self, loop, NULL);
        if (self == NULL)
            return 1;
        self->listener = listener;
        (void)vigil_listener_address(listener, &self->address);
        if (vigil_frame_start(&self->frame, client_steps, NULL) != 0)
            return 1;
    }
    (void)vigil_loop_run(loop, VIGIL_RUN);
    return vigil_loop_destroy(loop) == 0 ? 0 : 1;
}
