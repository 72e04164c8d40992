/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include "../peer/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a bench asks, and the end of an answer. */
struct question {
    const char *text, *end;
};
static const struct question http = {
    .text = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n",
    .end = "\r\n\r\nhello world\n"};
static const struct question one_line = {.text = "a line of thirty-two characters\n", .end = "two characters\n"};
char io_answers[IO_MOST * IO_ANSWER_LENGTH + 1];

static int port_pipe;

int io_port_pipe(void)
{
    return port_pipe;
}

void io_listening(int port)
{
    bench_must(write(port_pipe, &port, sizeof port) == (ssize_t)sizeof port, "a word to the client");
    close(port_pipe);
}

static pid_t start(const char *bench, int *port)
{
    int ends[2];
    bench_must(pipe(ends) == 0, "a pipe");
    const pid_t child = fork();
    bench_must(child >= 0, "a process");
    if (child == 0) {
        close(ends[0]);
        port_pipe = ends[1];
        bench_pin(1);
        io_serve(bench);
        _exit(0);
    }
    close(ends[1]);
    if (read(ends[0], port, sizeof *port) != (ssize_t)sizeof *port) {
        kill(child, SIGKILL);
        bench_trouble("the server did not start");
    }
    close(ends[0]);
    bench_pin(0);
    return child;
}

static double cpu_ns(pid_t child)
{
    struct timespec time;
    clockid_t clock;
    bench_must(clock_getcpuclockid(child, &clock) == 0 && clock_gettime(clock, &time) == 0,
               "the CPU time of a process");
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void stop(pid_t child)
{
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int connect_to(int port, int type)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int on = 1, fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    bench_must(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "a connection");
    if (type == SOCK_STREAM)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void send_all(int fd, const char *text, size_t length)
{
    bench_must(send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length, "a request");
}

/* Read one answer. Returns how long it is: a peer may have its own heads. */
static size_t answer_length(int fd, const struct question *question)
{
    const size_t end = strlen(question->end);
    char text[1024];
    size_t got = 0;
    while (got < end || memcmp(text + got - end, question->end, end) != 0) {
        const ssize_t more = recv(fd, text + got, sizeof text - got, 0);
        bench_must(more > 0, "an answer");
        got += (size_t)more;
    }
    return got;
}

struct client {
    int epoll;
    size_t request, answer; /* their lengths */
    unsigned connections, depth;
    int *fds;
    size_t *got; /* bytes of the answers to the last requests */
    char *requests;
};

static void ask(const struct client *client, unsigned at)
{
    send_all(client->fds[at], client->requests, client->request * client->depth);
}

/* `rounds` times `depth` requests on each connection. */
static void run(struct client *client, long rounds)
{
    static char text[65536];
    long asked = 0, answered = 0;
    const long all = rounds * (long)client->connections;
    for (unsigned i = 0; i < client->connections; i++, asked++)
        ask(client, i);
    while (answered < all) {
        struct epoll_event events[256];
        const int ready = epoll_wait(client->epoll, events, 256, 20000);
        bench_must(ready > 0, "answers");
        for (int i = 0; i < ready; i++) {
            const unsigned at = events[i].data.u32;
            const ssize_t count = recv(client->fds[at], text, sizeof text, 0);
            bench_must(count > 0, "a connection that stays");
            client->got[at] += (size_t)count;
            bench_must(client->got[at] <= client->answer * client->depth, "answers of one length");
            if (client->got[at] < client->answer * client->depth)
                continue;
            client->got[at] = 0;
            answered++;
            if (asked < all) {
                asked++;
                ask(client, at);
            }
        }
    }
}

static void many_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void measure_requests(const struct bench_args *args, const struct question *question)
{
    int port = 0;
    struct client client = {.epoll = epoll_create1(EPOLL_CLOEXEC),
                            .request = strlen(question->text),
                            .connections = (unsigned)args->param,
                            .depth = args->producers};
    const pid_t child = start(args->bench, &port);
    client.fds = bench_alloc(client.connections, sizeof *client.fds);
    client.got = bench_alloc(client.connections, sizeof *client.got);
    client.requests = bench_alloc(client.depth, client.request);
    for (unsigned i = 0; i < client.depth; i++)
        memcpy(client.requests + i * client.request, question->text, client.request);
    for (unsigned i = 0; i < client.connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        client.fds[i] = connect_to(port, SOCK_STREAM);
        bench_must(epoll_ctl(client.epoll, EPOLL_CTL_ADD, client.fds[i], &event) == 0, "epoll");
    }
    send_all(client.fds[0], question->text, client.request);
    client.answer = answer_length(client.fds[0], question);
    const long per_round = (long)client.connections * (long)client.depth;
    const long rounds = args->n / per_round > 0 ? args->n / per_round : 1;
    run(&client, rounds / 4 + 1);
    const double cpu = cpu_ns(child);
    const uint64_t began = bench_now();
    run(&client, rounds);
    const double seconds = (double)(bench_now() - began) / 1e9;
    const double requests = (double)rounds * (double)per_round;
    bench_print("cpu_us", (cpu_ns(child) - cpu) / 1e3 / requests);
    bench_print("per_s", requests / seconds);
    stop(child);
}

/* ---- connections that come and go -------------------------------------------------------------------------------- */

/* `param` at a time: all are opened, each makes one request, then all are reset, so that no port has to wait. */
static void measure_accept(const struct bench_args *args)
{
    enum {
        MOST = 1024
    };
    int port = 0, fds[MOST];
    const long at_once = args->param < MOST ? args->param : MOST;
    const pid_t child = start(args->bench, &port);
    const long rounds = args->n / at_once > 0 ? args->n / at_once : 1;
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    double cpu = 0;
    for (long round = -rounds / 4; round < rounds; round++) {
        if (round == 0)
            cpu = cpu_ns(child);
        for (long i = 0; i < at_once; i++) {
            fds[i] = connect_to(port, SOCK_STREAM);
            send_all(fds[i], http.text, strlen(http.text));
        }
        for (long i = 0; i < at_once; i++)
            (void)answer_length(fds[i], &http);
        for (long i = 0; i < at_once; i++) {
            setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
            close(fds[i]);
        }
    }
    bench_print("cpu_us", (cpu_ns(child) - cpu) / 1e3 / ((double)rounds * (double)at_once));
    stop(child);
}

/* ---- idle connections -------------------------------------------------------------------------------------------- */

static double anonymous_bytes(pid_t child)
{
    char path[64], line[256];
    double kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)child);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        (void)sscanf(line, "RssAnon: %lf", &kib);
    if (file)
        fclose(file);
    return kib * 1024;
}

/* Each connection has made one request; then they rest. */
static void measure_idle(const struct bench_args *args)
{
    int port = 0;
    const long count = args->n;
    const pid_t child = start(args->bench, &port);
    double before = 0;
    for (long i = -100; i < count; i++) {
        if (i == 0) /* the first hundred have warmed it up */
            before = anonymous_bytes(child);
        const int fd = connect_to(port, SOCK_STREAM);
        send_all(fd, http.text, strlen(http.text));
        (void)answer_length(fd, &http);
    }
    bench_print("bytes", (anonymous_bytes(child) - before) / (double)count);
    stop(child);
}

/* ---- a copy ------------------------------------------------------------------------------------------------------- */

/* Into the first connection and out of the second; a quarter comes first. */
static void measure_copy(const struct bench_args *args)
{
    static char bytes[1 << 18];
    int port = 0;
    const pid_t child = start(args->bench, &port);
    const int in = connect_to(port, SOCK_STREAM), out = connect_to(port, SOCK_STREAM);
    struct epoll_event events[2] = {{.events = EPOLLOUT, .data.fd = in}, {.events = EPOLLIN, .data.fd = out}};
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    const uint64_t counted = (uint64_t)args->n << 20, all = counted + counted / 4;
    uint64_t sent = 0, came = 0, began = 0;
    double cpu = 0;
    bench_must(epoll_ctl(epoll, EPOLL_CTL_ADD, in, &events[0]) == 0 &&
                   epoll_ctl(epoll, EPOLL_CTL_ADD, out, &events[1]) == 0,
               "epoll");
    while (came < all) {
        const int ready = epoll_wait(epoll, events, 2, 20000);
        bench_must(ready > 0, "a copy that goes on");
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd == out) {
                const ssize_t got = recv(out, bytes, sizeof bytes, MSG_DONTWAIT);
                bench_must(got > 0 || (got < 0 && errno == EAGAIN), "a connection that stays");
                came += got > 0 ? (uint64_t)got : 0;
            } else if (sent < all) {
                const ssize_t gone =
                    send(in, bytes, all - sent < sizeof bytes ? all - sent : sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
                bench_must(gone > 0 || (gone < 0 && errno == EAGAIN), "a connection that stays");
                sent += gone > 0 ? (uint64_t)gone : 0;
                if (sent == all)
                    bench_must(epoll_ctl(epoll, EPOLL_CTL_DEL, in, NULL) == 0, "epoll");
            }
        }
        if (began == 0 && came >= all - counted) {
            began = bench_now();
            cpu = cpu_ns(child);
        }
    }
    const double gib = (double)counted / (double)(1 << 30);
    bench_print("cpu_s_per_gib", (cpu_ns(child) - cpu) / 1e9 / gib);
    bench_print("s_per_gib", (double)(bench_now() - began) / 1e9 / gib);
    stop(child);
}

/* ---- datagrams --------------------------------------------------------------------------------------------------- */

/* Bursts of `param` datagrams, and the next when all have come back. What the network loses is not waited for. */
static void measure_datagrams(const struct bench_args *args)
{
    enum {
        MOST = 64
    };
    int port = 0;
    const unsigned burst = args->param < MOST ? (unsigned)args->param : MOST;
    char bytes[MOST][64];
    struct mmsghdr messages[MOST];
    struct iovec parts[MOST];
    const pid_t child = start(args->bench, &port);
    const int fd = connect_to(port, SOCK_DGRAM);
    struct timeval limit = {.tv_usec = 200000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    memset(bytes, 'x', sizeof bytes);
    memset(messages, 0, sizeof messages);
    for (unsigned i = 0; i < MOST; i++) {
        parts[i] = (struct iovec){bytes[i], sizeof bytes[i]};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    double cpu = 0;
    long echoed = 0;
    const long rounds = args->n / (long)burst > 0 ? args->n / (long)burst : 1;
    for (long round = -rounds / 4; round < rounds; round++) {
        if (round == 0) {
            cpu = cpu_ns(child);
            echoed = 0;
        }
        bench_must(sendmmsg(fd, messages, burst, 0) == (int)burst, "datagrams");
        for (unsigned back = 0; back < burst;) {
            const int got = recvmmsg(fd, messages, burst - back, MSG_WAITFORONE, NULL);
            if (got <= 0)
                break; /* lost */
            back += (unsigned)got;
            echoed += got;
        }
    }
    bench_must(echoed > 0, "an echo");
    bench_print("cpu_us", (cpu_ns(child) - cpu) / 1e3 / (double)echoed);
    stop(child);
}

int main(int argc, char **argv)
{
    const struct bench_args args = bench_parse(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    many_descriptors();
    for (unsigned i = 0; i < IO_MOST; i++)
        memcpy(io_answers + i * IO_ANSWER_LENGTH, IO_ANSWER, IO_ANSWER_LENGTH);
    if (strcmp(args.bench, "io-http") == 0)
        measure_requests(&args, &http);
    else if (strcmp(args.bench, "io-lines") == 0)
        measure_requests(&args, &one_line);
    else if (strcmp(args.bench, "io-accept") == 0)
        measure_accept(&args);
    else if (strcmp(args.bench, "io-idle") == 0)
        measure_idle(&args);
    else if (strcmp(args.bench, "io-copy") == 0)
        measure_copy(&args);
    else if (strcmp(args.bench, "io-udp") == 0)
        measure_datagrams(&args);
    else
        bench_trouble("this peer does not know %s", args.bench);
    return 0;
}
