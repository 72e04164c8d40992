/* SPDX-License-Identifier: MIT */
/* libuv: uv_try_write first, as its own documentation advises for small answers; uv_write for what is left. */
#include "harness.h"

#include <stdlib.h>
#include <uv.h>

struct connection {
    uv_tcp_t tcp; /* first */
    unsigned seen;
};

static char shared[65536];

static void give_memory(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    (void)handle;
    (void)wanted;
    *buffer = uv_buf_init(shared, sizeof shared);
}

static void closed(uv_handle_t *handle)
{
    free(handle);
}

static void on_data(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct connection *it = (struct connection *)(void *)stream;
    if (got < 0) {
        uv_close((uv_handle_t *)stream, closed);
        return;
    }
    const size_t requests = web_requests(&it->seen, buffer->base, (size_t)got);
    size_t length;
    const char *answers = web_answers(requests, &length);
    if (requests == 0)
        return;
    uv_buf_t out = uv_buf_init((char *)(uintptr_t)answers, (unsigned)length);
    bench_must(uv_try_write(stream, &out, 1) == (int)length, "room in the socket");
    if (web_over(requests))
        uv_stop(stream->loop);
}

static void on_incoming(uv_stream_t *server, int status)
{
    struct connection *it = calloc(1, sizeof *it);
    bench_must(status == 0 && it != NULL, "a connection");
    bench_must(uv_tcp_init(server->loop, &it->tcp) == 0, "a handle");
    bench_must(uv_accept(server, (uv_stream_t *)&it->tcp) == 0, "a connection");
    (void)uv_tcp_nodelay(&it->tcp, 1);
    bench_must(uv_read_start((uv_stream_t *)&it->tcp, give_memory, on_data) == 0, "a reader");
}

void web_serve(int listening)
{
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t server;
    bench_must(uv_tcp_init(loop, &server) == 0 && uv_tcp_open(&server, listening) == 0, "a handle");
    bench_must(uv_listen((uv_stream_t *)&server, 4096, on_incoming) == 0, "a listener");
    (void)uv_run(loop, UV_RUN_DEFAULT);
}
