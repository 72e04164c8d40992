/* SPDX-License-Identifier: MIT */
/* Vigil with callbacks (-DIO_STYLE=0), or with asynchronous functions in C (1). */
#include "../peer/peer.h"
#include "harness.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/vigil.h>

static void must(int64_t rc)
{
    bench_must(rc >= 0, "a call of ours");
}

static int port_of(const vigil_address *address)
{
    return ntohs(((const struct sockaddr_in *)(const void *)&address->storage)->sin_port);
}

#if IO_STYLE == 0
static void on_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    uintptr_t state = (uintptr_t)arg;
    if (length <= 0) {
        (void)vigil_stream_close(stream);
        return;
    }
    unsigned seen = (unsigned)state;
    const unsigned count = io_requests(data, (size_t)length, &seen);
    if (count != 0)
        must(vigil_stream_write(stream, io_answers, count * IO_ANSWER_LENGTH));
    if (seen != state)
        must(vigil_stream_on_data(stream, on_data, (void *)(uintptr_t)seen));
}

static void on_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    (void)listener;
    (void)user;
    must(vigil_stream_on_data(stream, on_data, NULL));
}

struct session {
    vigil_read read; /* first */
    vigil_stream *stream;
    char line[IO_LINE];
};

static void on_line(vigil_read *read, int64_t length)
{
    struct session *self = (struct session *)read;
    if (length <= 0) {
        (void)vigil_stream_close(self->stream);
        free(self);
        return;
    }
    must(vigil_stream_write(self->stream, self->line, (size_t)length));
    must(vigil_stream_read_until(self->stream, read, self->line, sizeof self->line, '\n'));
}

static void on_talker(vigil_listener *listener, vigil_stream *stream, void *user)
{
    struct session *self = malloc(sizeof *self);
    (void)listener;
    (void)user;
    bench_must(self != NULL, "memory");
    self->stream = stream;
    self->read.done = on_line;
    must(vigil_stream_read_until(stream, &self->read, self->line, sizeof self->line, '\n'));
}
#else
struct connection {
    vigil_frame frame; /* first */
    vigil_stream *stream;
    unsigned state;
};

static void steps(vigil_frame *frame)
{
    struct connection *self = (struct connection *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (;;) {
        VIGIL_AWAIT_READABLE(frame, self->stream);
        char buffer[16384];
        const int64_t got = vigil_stream_try_read(self->stream, buffer, sizeof buffer);
        if (got == 0 || (got < 0 && got != -EAGAIN))
            break;
        const unsigned count = got > 0 ? io_requests(buffer, (size_t)got, &self->state) : 0;
        if (count != 0)
            must(vigil_stream_write(self->stream, io_answers, count * IO_ANSWER_LENGTH));
    }
    VIGIL_ASYNC_OUT(frame);
    (void)vigil_stream_close(self->stream);
    VIGIL_ASYNC_END(frame);
}

static void on_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    (void)listener;
    struct connection *self = vigil_frame_alloc(sizeof *self, user, NULL);
    bench_must(self != NULL, "memory");
    self->stream = stream;
    must(vigil_frame_start(&self->frame, steps, NULL));
}

struct session {
    vigil_frame frame; /* first */
    vigil_stream *stream;
    char line[IO_LINE];
};

static void session_steps(vigil_frame *frame)
{
    struct session *self = (struct session *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (;;) {
        VIGIL_AWAIT_READ_UNTIL(frame, self->stream, self->line, sizeof self->line, '\n');
        if (frame->value->integer == 0)
            break;
        must(vigil_stream_write(self->stream, self->line, (size_t)frame->value->integer));
    }
    VIGIL_ASYNC_OUT(frame);
    (void)vigil_stream_close(self->stream);
    VIGIL_ASYNC_END(frame);
}

static void on_talker(vigil_listener *listener, vigil_stream *stream, void *user)
{
    (void)listener;
    struct session *self = vigil_frame_alloc(sizeof *self, user, NULL);
    bench_must(self != NULL, "memory");
    self->stream = stream;
    must(vigil_frame_start(&self->frame, session_steps, NULL));
}
#endif

/* ---- io-copy ------------------------------------------------------------------------------------------------------ */

#ifndef IO_BUFFERED
#define IO_BUFFERED 0
#endif

static void on_copied(vigil_listener *listener, vigil_stream *stream, void *user)
{
    static vigil_stream *from;
    vigil_promise *promise;
    vigil_copy_options options = VIGIL_COPY_OPTIONS_INIT;
    (void)listener;
    (void)user;
    options.buffered = IO_BUFFERED != 0;
    if (from == NULL)
        from = stream;
    else
        must(vigil_promise_copy(from, stream, &options, NULL, &promise));
}

static void echo(vigil_datagrams *datagrams, const vigil_packet *packets, int64_t count, void *arg)
{
    (void)arg;
    if (count > 0)
        must(vigil_datagrams_send(datagrams, packets, (size_t)count));
}

void io_serve(const char *bench)
{
    vigil_loop *loop;
    vigil_address address;
    must(vigil_loop_create(&loop, NULL));
    must(vigil_address_init(&address, "127.0.0.1:0"));
    if (strcmp(bench, "io-udp") == 0) {
        vigil_datagrams *datagrams;
        vigil_datagrams_options options = VIGIL_DATAGRAMS_OPTIONS_INIT;
        options.local = &address;
        must(vigil_datagrams_open(&datagrams, loop, &options));
        must(vigil_datagrams_address(datagrams, &address));
        must(vigil_datagrams_on_packets(datagrams, echo, NULL));
    } else {
        vigil_listener *listener;
        vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
        options.on_stream = strcmp(bench, "io-copy") == 0    ? on_copied
                            : strcmp(bench, "io-lines") == 0 ? on_talker
                                                             : on_stream;
        options.user = loop;
        must(vigil_listener_open(&listener, loop, &address, &options));
        must(vigil_listener_address(listener, &address));
    }
    io_listening(port_of(&address));
    must(vigil_loop_run(loop, VIGIL_RUN));
}
