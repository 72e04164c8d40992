/* SPDX-License-Identifier: MIT */
/* Vigil's streams. */
#include "harness.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <vigil/vigil.h>

static vigil_loop *loop;

static void on_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    unsigned *seen = arg;
    if (length <= 0) {
        (void)vigil_stream_close(stream);
        free(seen);
        return;
    }
    const size_t requests = web_requests(seen, data, (size_t)length);
    size_t bytes;
    const char *answers = web_answers(requests, &bytes);
    if (requests == 0)
        return;
    (void)vigil_stream_write(stream, answers, bytes);
    if (web_over(requests))
        (void)vigil_loop_pause(loop);
}

/* The listening socket is the harness's, so accepting is done by hand. */
static void on_incoming(vigil_loop *on, vigil_watch watch, int fd, unsigned events, void *arg)
{
    const int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    const int yes = 1;
    vigil_stream *stream;
    unsigned *seen = calloc(1, sizeof *seen);
    (void)watch;
    (void)events;
    (void)arg;
    bench_must(client >= 0 && seen != NULL, "a connection");
    (void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    bench_must(vigil_stream_open(&stream, on, client, NULL) == 0, "a stream");
    bench_must(vigil_stream_on_data(stream, on_data, seen) == 0, "a reader");
}

void web_serve(int listening)
{
    bench_must(vigil_loop_create(&loop, NULL) == 0, "a loop");
    bench_must(vigil_watch_add(loop, listening, VIGIL_FD_READ, 0, on_incoming, NULL, NULL, NULL) == 0, "a watch");
    (void)vigil_loop_run(loop, VIGIL_RUN);
}
