/* SPDX-License-Identifier: MIT */
/* libevent: bufferevents. */
#include "harness.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

static struct event_base *base;

static void on_data(struct bufferevent *stream, void *arg)
{
    static char buffer[65536];
    unsigned *seen = arg;
    const size_t got = bufferevent_read(stream, buffer, sizeof buffer);
    const size_t requests = web_requests(seen, buffer, got);
    size_t length;
    const char *answers = web_answers(requests, &length);
    if (requests == 0)
        return;
    (void)bufferevent_write(stream, answers, length);
    if (web_over(requests))
        (void)event_base_loopbreak(base);
}

static void on_event(struct bufferevent *stream, short what, void *arg)
{
    (void)what;
    free(arg);
    bufferevent_free(stream);
}

static void on_incoming(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from, int length,
                        void *arg)
{
    const int on = 1;
    unsigned *seen = calloc(1, sizeof *seen);
    struct bufferevent *stream = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    (void)listener;
    (void)from;
    (void)length;
    (void)arg;
    bench_must(seen != NULL && stream != NULL, "a connection");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    bufferevent_setcb(stream, on_data, NULL, on_event, seen);
    bench_must(bufferevent_enable(stream, EV_READ | EV_WRITE) == 0, "a reader");
}

void web_serve(int listening)
{
    base = event_base_new();
    bench_must(base != NULL, "a loop");
    bench_must(evutil_make_socket_nonblocking(listening) == 0, "a socket");
    bench_must(evconnlistener_new(base, on_incoming, NULL, LEV_OPT_CLOSE_ON_FREE, 0, listening) != NULL, "a listener");
    (void)event_base_dispatch(base);
}
