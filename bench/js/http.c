/* SPDX-License-Identifier: MIT */
/* js-http: a client with `param` connections, each with one request under way at a time, and a server in a process of its own. What counts is
   the CPU time of that process, all of its threads, per request; half as many requests come first, so that compilers are done. */
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 256

static const char request[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";

extern char **environ;

/* Starts the server; its port is the first line that it prints. */
static pid_t start(int *port)
{
    static char before[] = JS_WORDS;
    char *words[24] = {JS_EXECUTABLE};
    char *next = before, line[64];
    int count = 1, ends[2];
    FILE *said;
    pid_t child;
    for (char *word; (word = strsep(&next, " ")) != NULL && count < 20;)
        if (*word)
            words[count++] = word;
    words[count] = JS_FOLDER "/http.cjs";
    bench_must(pipe(ends) == 0, "a pipe");
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execve(words[0], words, environ);
        _exit(127);
    }
    bench_must(child > 0, "a process");
    close(ends[1]);
    said = fdopen(ends[0], "r");
    if (!said || !fgets(line, sizeof line, said) || sscanf(line, "port %d", port) != 1) {
        kill(child, SIGKILL);
        bench_trouble("it did not run http.cjs");
    }
    fclose(said);
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

static void ask(int fd)
{
    bench_must(send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == (ssize_t)sizeof request - 1, "a request");
}

/* The length of an answer: all have the same. */
static size_t first_answer(int fd)
{
    char text[4096];
    size_t length = 0;
    ask(fd);
    while (length < sizeof text - 1) {
        ssize_t count = recv(fd, text + length, sizeof text - 1 - length, 0);
        bench_must(count > 0, "an answer");
        length += (size_t)count;
        text[length] = 0;
        if (strstr(text, "\r\n\r\nhello world"))
            break;
    }
    bench_must(strncmp(text, "HTTP/1.1 200 OK\r\n", 17) == 0, "an answer of 200");
    return length;
}

static void run(int epoll, int *fds, size_t *got, int connections, size_t length, long n)
{
    char text[4096];
    long asked = 0, answered = 0;
    for (int i = 0; i < connections && asked < n; i++, asked++)
        ask(fds[i]);
    while (answered < n) {
        struct epoll_event events[CONNECTIONS];
        int ready = epoll_wait(epoll, events, CONNECTIONS, 10000);
        bench_must(ready > 0, "answers");
        for (int i = 0; i < ready; i++) {
            unsigned at = events[i].data.u32;
            ssize_t count = recv(fds[at], text, sizeof text, 0);
            bench_must(count > 0, "a connection that stays");
            bench_must(got[at] > 0 || memcmp(text, "HTTP/1.1 200", 12) == 0, "an answer of 200");
            got[at] += (size_t)count;
            bench_must(got[at] <= length, "answers of one length");
            if (got[at] < length)
                continue;
            got[at] = 0;
            answered++;
            if (asked < n) {
                asked++;
                ask(fds[at]);
            }
        }
    }
}

void bench_http(const struct bench_args *args)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fds[CONNECTIONS], connections = (int)args->param, port = 0, epoll = epoll_create1(EPOLL_CLOEXEC), on = 1;
    size_t got[CONNECTIONS] = {0}, length = 0;
    pid_t child;
    uint64_t began;
    double cpu, seconds;
    bench_must(connections > 0 && connections <= CONNECTIONS && epoll >= 0, "connections");
    child = start(&port);
    address.sin_port = htons((uint16_t)port);
    for (int i = 0; i < connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bench_must(fds[i] >= 0 && connect(fds[i], (struct sockaddr *)&address, sizeof address) == 0, "a connection");
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        length = first_answer(fds[i]);
        epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event);
    }
    run(epoll, fds, got, connections, length, args->n / 2);
    cpu = cpu_ns(child);
    began = bench_now();
    run(epoll, fds, got, connections, length, args->n);
    seconds = (double)(bench_now() - began) / 1e9;
    bench_print("cpu_us", (cpu_ns(child) - cpu) / 1e3 / (double)args->n);
    bench_print("per_s", (double)args->n / seconds);
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}
