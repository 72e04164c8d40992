/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static const char request[] = "GET /hello HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";
#define BODY "Hello, World!\n"
const char web_answer[] = "HTTP/1.1 200 OK\r\ndate: Mon, 16 Nov 2026 12:00:00 GMT\r\ncontent-type: text/plain\r\n"
                          "content-length: 14\r\n\r\n" BODY;
const size_t web_answer_length = sizeof web_answer - 1;

enum {
    MOST_ANSWERS = 32
};

const char *web_answers(size_t count, size_t *length)
{
    static char many[MOST_ANSWERS * sizeof web_answer];
    if (many[0] == 0)
        for (size_t i = 0; i < MOST_ANSWERS; i++)
            memcpy(many + i * web_answer_length, web_answer, web_answer_length);
    *length = (count < MOST_ANSWERS ? count : MOST_ANSWERS) * web_answer_length;
    return many;
}

size_t web_requests(unsigned *seen, const char *bytes, size_t length)
{
    static const char end[] = "\r\n\r\n";
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        if (*seen == 0) { /* most bytes are passed over */
            const char *next = memchr(bytes + i, '\r', length - i);
            if (next == NULL)
                break;
            i = (size_t)(next - bytes);
        }
        *seen = bytes[i] == end[*seen] ? *seen + 1 : bytes[i] == '\r';
        if (*seen == 4) {
            *seen = 0;
            count++;
        }
    }
    return count;
}

/* ---- the clock ---------------------------------------------------------------------------------------------------- */

static size_t total, answered_before;
static uint64_t wall_before, cpu_before, wall_after, cpu_after;

static uint64_t cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

bool web_over(size_t answered)
{
    if (answered_before == 0) {
        wall_before = bench_now();
        cpu_before = cpu_now();
    }
    answered_before += answered;
    if (answered_before < total)
        return false;
    wall_after = bench_now();
    cpu_after = cpu_now();
    return true;
}

/* ---- the client --------------------------------------------------------------------------------------------------- */

struct connection {
    int fd;
    size_t got;  /* bytes of the answers that are under way */
    size_t body; /* of the answer, as the first one says; the length of all is the same */
};

/* The length of one answer: peers may differ, each with itself may not. */
static size_t answer_length;

static void ask(struct connection *it, size_t depth)
{
    static char many[MOST_ANSWERS * sizeof request];
    const size_t one = sizeof request - 1;
    if (many[0] == 0)
        for (size_t i = 0; i < MOST_ANSWERS; i++)
            memcpy(many + i * one, request, one);
    if (send(it->fd, many, depth * one, MSG_NOSIGNAL) != (ssize_t)(depth * one))
        _exit(0); /* the server has had enough */
    it->got = 0;
}

static void read_answers(struct connection *it, size_t depth)
{
    static char buffer[65536];
    const ssize_t got = recv(it->fd, buffer, sizeof buffer, 0);
    if (got <= 0)
        _exit(0);
    if (answer_length == 0) {
        const char *body = memmem(buffer, (size_t)got, BODY, sizeof BODY - 1);
        if (body == NULL)
            _exit(1);
        answer_length = (size_t)(body - buffer) + sizeof BODY - 1;
    }
    it->got += (size_t)got;
    if (it->got >= depth * answer_length)
        ask(it, depth);
}

static void client(const struct sockaddr_in *address, size_t connections, size_t depth)
{
    const int epoll = epoll_create1(0);
    struct connection *all = calloc(connections, sizeof *all);
    const int on = 1;
    if (epoll < 0 || all == NULL)
        _exit(1);
    for (size_t i = 0; i < connections; i++) {
        all[i].fd = socket(AF_INET, SOCK_STREAM, 0);
        if (all[i].fd < 0 || connect(all[i].fd, (const struct sockaddr *)(const void *)address, sizeof *address) != 0)
            _exit(1);
        (void)setsockopt(all[i].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].fd, &event) != 0)
            _exit(1);
    }
    for (size_t i = 0; i < connections; i++)
        ask(&all[i], depth);
    for (;;) {
        struct epoll_event events[256];
        const int count = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < count; i++)
            read_answers(events[i].data.ptr, depth);
    }
}

int main(int argc, char **argv)
{
    const struct bench_args args = bench_parse(argc, argv);
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bench_must(strcmp(args.bench, "io-http") == 0, "a bench of this family");
    bench_must(args.producers >= 1 && args.producers <= MOST_ANSWERS, "a depth");
    total = (size_t)args.n;
    const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bench_must(listening >= 0 && bind(listening, (struct sockaddr *)(void *)&address, sizeof address) == 0 &&
                   listen(listening, 4096) == 0 &&
                   getsockname(listening, (struct sockaddr *)(void *)&address, &length) == 0,
               "a listening socket");
    const pid_t child = fork();
    bench_must(child >= 0, "a client");
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(listening);
        bench_pin(0);
        client(&address, (size_t)args.param, args.producers);
    }
    bench_pin(1);
    web_serve(listening);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    bench_print("requests_per_cpu_s", (double)total * 1e9 / (double)(cpu_after - cpu_before));
    bench_print("requests_per_s", (double)total * 1e9 / (double)(wall_after - wall_before));
    return 0;
}
