/* SPDX-License-Identifier: MIT */
/* The floor: plain C. One recv and one send for a request, each descriptor registered once; io-udp by recvmmsg and sendmmsg. */
#include "../peer/peer.h"
#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection {
    int fd;
    unsigned state; /* of the request; io-lines: bytes of a line that has not ended */
    char line[];
};

static bool lines;

static int open_at(int type)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    const int on = 1, fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bench_must(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0, "a socket");
    if (type == SOCK_STREAM) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        bench_must(listen(fd, SOMAXCONN) == 0, "listen");
    }
    bench_must(getsockname(fd, (struct sockaddr *)&address, &length) == 0, "getsockname");
    io_listening(ntohs(address.sin_port));
    return fd;
}

/* Whole lines go back, the rest waits for its end. */
static void answer_lines(struct connection *it, char *buffer, size_t got)
{
    const size_t all = it->state + got;
    const char *last = memrchr(buffer + it->state, '\n', got);
    const size_t whole = last != NULL ? (size_t)(last - buffer) + 1 : 0;
    memcpy(buffer, it->line, it->state);
    bench_must(all - whole <= IO_LINE, "a short line");
    if (whole != 0)
        bench_must(send(it->fd, buffer, whole, MSG_NOSIGNAL) == (ssize_t)whole, "a whole answer");
    memcpy(it->line, buffer + whole, all - whole);
    it->state = (unsigned)(all - whole);
}

static void answer(struct connection *it)
{
    static char buffer[IO_LINE + 65536];
    const size_t before = lines ? it->state : 0;
    const ssize_t got = recv(it->fd, buffer + before, sizeof buffer - before, 0);
    if (got <= 0) {
        close(it->fd);
        free(it);
        return;
    }
    if (lines) {
        answer_lines(it, buffer, (size_t)got);
        return;
    }
    const unsigned count = io_requests(buffer, (size_t)got, &it->state);
    if (count != 0)
        bench_must(send(it->fd, io_answers, count * IO_ANSWER_LENGTH, MSG_NOSIGNAL) ==
                       (ssize_t)(count * IO_ANSWER_LENGTH),
                   "a whole answer");
}

static void accept_all(int epoll, int listener)
{
    for (;;) {
        const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        struct connection *it = malloc(sizeof *it + (lines ? IO_LINE : 0));
        bench_must(it != NULL, "memory");
        it->fd = fd;
        it->state = 0;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = it};
        bench_must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
    }
}

static void echo(int fd)
{
    enum {
        BATCH = 32
    };
    static char bytes[BATCH][2048];
    static struct sockaddr_storage peers[BATCH];
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    for (unsigned i = 0; i < BATCH; i++) {
        parts[i] = (struct iovec){bytes[i], sizeof bytes[i]};
        messages[i].msg_hdr = (struct msghdr){
            .msg_name = &peers[i], .msg_namelen = sizeof peers[i], .msg_iov = &parts[i], .msg_iovlen = 1};
    }
    const int got = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < got; i++)
        parts[i].iov_len = messages[i].msg_len;
    if (got > 0)
        bench_must(sendmmsg(fd, messages, (unsigned)got, MSG_DONTWAIT) == got, "an echo");
}

/* ---- io-copy: by splice, or through memory ------------------------------------------------------------------------ */

static int accept_one(int listener)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0)
        bench_must(poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, -1) == 1, "poll");
    return fd;
}

static void copy(int listener)
{
    const int from = accept_one(listener), to = accept_one(listener);
    struct pollfd in = {.fd = from, .events = POLLIN}, out = {.fd = to, .events = POLLOUT};
#ifdef IO_BUFFERED
    static char buffer[1 << 18];
#else
    int ends[2];
    bench_must(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0, "a pipe");
    (void)fcntl(ends[0], F_SETPIPE_SZ, 1 << 20);
#endif
    for (;;) {
        bench_must(poll(&in, 1, -1) == 1, "poll");
#ifdef IO_BUFFERED
        const ssize_t got = recv(from, buffer, sizeof buffer, 0);
#else
        const ssize_t got = splice(from, NULL, ends[1], NULL, 1 << 20, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
#endif
        if (got == 0)
            return;
        for (ssize_t given = 0; given < got;) {
#ifdef IO_BUFFERED
            const ssize_t sent = send(to, buffer + given, (size_t)(got - given), MSG_NOSIGNAL);
#else
            const ssize_t sent =
                splice(ends[0], NULL, to, NULL, (size_t)(got - given), SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
#endif
            if (sent > 0)
                given += sent;
            else
                bench_must(errno == EAGAIN && poll(&out, 1, -1) == 1, "a target");
        }
    }
}

void io_serve(const char *bench)
{
    const bool datagrams = strcmp(bench, "io-udp") == 0;
    lines = strcmp(bench, "io-lines") == 0;
    struct epoll_event events[256];
    const int epoll = epoll_create1(EPOLL_CLOEXEC), first = open_at(datagrams ? SOCK_DGRAM : SOCK_STREAM);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (strcmp(bench, "io-copy") == 0) {
        copy(first);
        return;
    }
    bench_must(epoll_ctl(epoll, EPOLL_CTL_ADD, first, &event) == 0, "epoll_ctl");
    for (;;) {
        const int ready = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr != NULL)
                answer(events[i].data.ptr);
            else if (datagrams)
                echo(first);
            else
                accept_all(epoll, first);
        }
    }
}
