/* SPDX-License-Identifier: MIT */
/* libevent: bufferevents, as its own HTTP server has them. */
#include "../peer/peer.h"
#include "harness.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static struct event_base *base;

static void came(struct bufferevent *it, void *arg)
{
    struct evbuffer *input = bufferevent_get_input(it);
    unsigned *state = arg, count = 0;
    char buffer[16384];
    for (int got; (got = evbuffer_remove(input, buffer, sizeof buffer)) > 0;)
        count += io_requests(buffer, (size_t)got, state);
    if (count != 0)
        bufferevent_write(it, io_answers, count * IO_ANSWER_LENGTH);
}

static void came_lines(struct bufferevent *it, void *arg)
{
    struct evbuffer *input = bufferevent_get_input(it);
    size_t length;
    (void)arg;
    for (char *line; (line = evbuffer_readln(input, &length, EVBUFFER_EOL_LF)) != NULL; free(line)) {
        line[length] = '\n'; /* where its zero was */
        bufferevent_write(it, line, length + 1);
    }
}

static void over(struct bufferevent *it, short what, void *arg)
{
    (void)what;
    free(arg);
    bufferevent_free(it);
}

/* ---- io-copy: buffers change hands, and reading rests while a MiB waits -------------------------------------------- */

static struct bufferevent *from, *to;

static void copied(struct bufferevent *it, void *arg)
{
    (void)arg;
    bufferevent_write_buffer(to, bufferevent_get_input(it));
    if (evbuffer_get_length(bufferevent_get_output(to)) >= 1 << 20)
        bufferevent_disable(it, EV_READ);
}

static void emptied(struct bufferevent *it, void *arg)
{
    (void)it;
    (void)arg;
    bufferevent_enable(from, EV_READ);
}

static void copy_connected(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer, int length,
                           void *arg)
{
    struct bufferevent *it = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    (void)listener;
    (void)peer;
    (void)length;
    (void)arg;
    bench_must(it != NULL, "memory");
    if (from == NULL) {
        from = it;
        return;
    }
    to = it;
    bufferevent_set_max_single_read(from, 1 << 18);
    bufferevent_set_max_single_write(to, 1 << 18);
    bufferevent_setcb(from, copied, NULL, NULL, NULL);
    bufferevent_setcb(to, NULL, emptied, NULL, NULL);
    bufferevent_enable(to, EV_WRITE);
    bufferevent_enable(from, EV_READ);
}

static void connected(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer, int length, void *arg)
{
    const int on = 1;
    (void)listener;
    (void)peer;
    (void)length;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct bufferevent *it = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    unsigned *state = calloc(1, sizeof *state);
    bench_must(it != NULL && state != NULL, "memory");
    bufferevent_setcb(it, arg != NULL ? came_lines : came, NULL, over, state);
    bufferevent_enable(it, EV_READ | EV_WRITE);
}

/* libevent has no calls for datagrams: its users call the system. */
static void datagram(evutil_socket_t fd, short what, void *arg)
{
    char bytes[2048];
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    (void)what;
    (void)arg;
    for (ssize_t got; (got = recvfrom(fd, bytes, sizeof bytes, 0, (struct sockaddr *)&peer, &length)) >= 0;
         length = sizeof peer)
        bench_must(sendto(fd, bytes, (size_t)got, 0, (struct sockaddr *)&peer, length) == got, "an echo");
}

static void serve_datagrams(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bench_must(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                   getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
                   event_add(event_new(base, fd, EV_READ | EV_PERSIST, datagram, NULL), NULL) == 0,
               "a socket");
    io_listening(ntohs(address.sin_port));
    event_base_dispatch(base);
}

void io_serve(const char *bench)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    base = event_base_new();
    if (strcmp(bench, "io-udp") == 0) {
        serve_datagrams();
        return;
    }
    struct evconnlistener *listener = evconnlistener_new_bind(
        base, strcmp(bench, "io-copy") == 0 ? copy_connected : connected,
        strcmp(bench, "io-lines") == 0 ? base : NULL, /* not NULL: lines */
        LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 4096, (struct sockaddr *)&address, sizeof address);
    bench_must(listener != NULL, "a listener");
    bench_must(getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &length) == 0, "getsockname");
    io_listening(ntohs(address.sin_port));
    event_base_dispatch(base);
}
