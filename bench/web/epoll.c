/* SPDX-License-Identifier: MIT */
/* The floor: one recv and one send per request, nothing else. */
#include "harness.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection {
    int fd;
    unsigned seen;
};

void web_serve(int listening)
{
    static char buffer[65536];
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    const int on = 1;
    struct epoll_event event = {.events = EPOLLIN};
    bench_must(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, listening, &event) == 0, "epoll");
    for (;;) {
        struct epoll_event events[256];
        const int count = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < count; i++) {
            struct connection *it = events[i].data.ptr;
            if (it == NULL) {
                it = calloc(1, sizeof *it);
                bench_must(it != NULL, "memory");
                it->fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                bench_must(it->fd >= 0, "a connection");
                (void)setsockopt(it->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                event.data.ptr = it;
                bench_must(epoll_ctl(epoll, EPOLL_CTL_ADD, it->fd, &event) == 0, "epoll");
                continue;
            }
            const ssize_t got = recv(it->fd, buffer, sizeof buffer, 0);
            if (got <= 0) {
                (void)close(it->fd);
                continue;
            }
            const size_t requests = web_requests(&it->seen, buffer, (size_t)got);
            size_t length;
            const char *answers = web_answers(requests, &length);
            if (requests != 0 && send(it->fd, answers, length, MSG_NOSIGNAL) < 0)
                continue;
            if (requests != 0 && web_over(requests))
                return;
        }
    }
}
