/* SPDX-License-Identifier: MIT */
/* libuv: one read buffer for all, uv_try_write first, as its users do who care. */
#include "../peer/peer.h"
#include "harness.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct connection {
    uv_tcp_t tcp;   /* first */
    unsigned state; /* of the request; io-lines: bytes of a line that has not ended */
    char line[IO_LINE];
};

static bool lines;

static uv_loop_t loop;
static char shared[65536 * 20];

static void give(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
    (void)size;
    (void)handle;
    *buffer = uv_buf_init(shared, sizeof shared);
}

static void closed(uv_handle_t *handle)
{
    free(handle);
}

static void came(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct connection *it = (struct connection *)stream;
    if (got < 0) {
        uv_close((uv_handle_t *)stream, closed);
        return;
    }
    const unsigned count = io_requests(buffer->base, (size_t)got, &it->state);
    if (count == 0)
        return;
    uv_buf_t answer = uv_buf_init(io_answers, count * IO_ANSWER_LENGTH);
    bench_must(uv_try_write(stream, &answer, 1) == (int)answer.len, "a whole answer");
}

/* Whole lines go back in one write, the rest waits for its end. */
static void came_lines(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct connection *it = (struct connection *)stream;
    if (got < 0) {
        uv_close((uv_handle_t *)stream, closed);
        return;
    }
    const char *last = memrchr(buffer->base, '\n', (size_t)got);
    const size_t whole = last != NULL ? (size_t)(last - buffer->base) + 1 : 0, rest = (size_t)got - whole;
    if (whole != 0) {
        uv_buf_t answer[2] = {uv_buf_init(it->line, it->state), uv_buf_init(buffer->base, (unsigned)whole)};
        bench_must(uv_try_write(stream, answer, 2) == (int)(it->state + whole), "a whole answer");
        it->state = 0;
    }
    bench_must(it->state + rest <= sizeof it->line, "a short line");
    memcpy(it->line + it->state, buffer->base + whole, rest);
    it->state += (unsigned)rest;
}

static void connected(uv_stream_t *listener, int status)
{
    bench_must(status == 0, "a connection");
    struct connection *it = calloc(1, sizeof *it);
    bench_must(it != NULL && uv_tcp_init(&loop, &it->tcp) == 0 && uv_accept(listener, (uv_stream_t *)it) == 0,
               "accept");
    uv_tcp_nodelay(&it->tcp, 1);
    uv_read_start((uv_stream_t *)it, give, lines ? came_lines : came);
}

/* ---- io-copy: one write under way, and no read meanwhile if it waits ----------------------------------------------- */

static uv_stream_t *from, *to;
static uv_write_t writing;

static void copied(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer);

static void written(uv_write_t *write, int status)
{
    (void)write;
    bench_must(status == 0 && uv_read_start(from, give, copied) == 0, "a copy");
}

static void copied(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    if (got <= 0)
        return;
    uv_buf_t rest = uv_buf_init(buffer->base, (unsigned)got);
    const int sent = uv_try_write(to, &rest, 1);
    if (sent == (int)got)
        return;
    rest = uv_buf_init(buffer->base + (sent > 0 ? sent : 0), (unsigned)(got - (sent > 0 ? sent : 0)));
    uv_read_stop(stream);
    bench_must(uv_write(&writing, to, &rest, 1, written) == 0, "a write");
}

static void copy_connected(uv_stream_t *listener, int status)
{
    uv_tcp_t *it = calloc(1, sizeof *it);
    bench_must(status == 0 && it != NULL && uv_tcp_init(&loop, it) == 0 && uv_accept(listener, (uv_stream_t *)it) == 0,
               "accept");
    if (from == NULL) {
        from = (uv_stream_t *)it;
    } else {
        to = (uv_stream_t *)it;
        bench_must(uv_read_start(from, give, copied) == 0, "a copy");
    }
}

static void datagram(uv_udp_t *udp, ssize_t got, const uv_buf_t *buffer, const struct sockaddr *peer, unsigned flags)
{
    if (got <= 0 || peer == NULL || (flags & UV_UDP_MMSG_FREE) != 0)
        return;
    uv_buf_t answer = uv_buf_init(buffer->base, (unsigned)got);
    bench_must(uv_udp_try_send(udp, &answer, 1, peer) == (int)got, "an echo");
}

void io_serve(const char *bench)
{
    struct sockaddr_in address;
    int length = sizeof address;
    static uv_tcp_t tcp;
    static uv_udp_t udp;
    lines = strcmp(bench, "io-lines") == 0;
    uv_loop_init(&loop);
    uv_ip4_addr("127.0.0.1", 0, &address);
    if (strcmp(bench, "io-udp") == 0) {
        bench_must(uv_udp_init_ex(&loop, &udp, AF_INET | UV_UDP_RECVMMSG) == 0 &&
                       uv_udp_bind(&udp, (const struct sockaddr *)&address, 0) == 0 &&
                       uv_udp_getsockname(&udp, (struct sockaddr *)&address, &length) == 0 &&
                       uv_udp_recv_start(&udp, give, datagram) == 0,
                   "a socket");
    } else {
        bench_must(
            uv_tcp_init(&loop, &tcp) == 0 && uv_tcp_bind(&tcp, (const struct sockaddr *)&address, 0) == 0 &&
                uv_listen((uv_stream_t *)&tcp, 4096, strcmp(bench, "io-copy") == 0 ? copy_connected : connected) == 0 &&
                uv_tcp_getsockname(&tcp, (struct sockaddr *)&address, &length) == 0,
            "a listener");
    }
    io_listening(ntohs(address.sin_port));
    uv_run(&loop, UV_RUN_DEFAULT);
}
