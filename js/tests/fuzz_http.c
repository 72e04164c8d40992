/* SPDX-License-Identifier: MIT */
/*
 * fuzz_http [COUNT [SEED [PORT]]]: damaged requests through the parser of the HTTP server, without sockets and engine. Each is parsed at once, in
 * random pieces, and sometimes byte by byte: what is understood must not depend on the cuts. For the sanitizers, and for
 * the memory that a connection may take. With PORT they are sent to a server there, each on a connection of its own.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_conn.h"
#include "http_parse.h"
#include "http_server.h"

#define LONGEST 8192U

static const char *const seeds[] = {
    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /a/b?c=d HTTP/1.1\r\nHost: x\r\nUser-Agent: curl/8\r\nAccept: */*\r\n\r\n",
    "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
    "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\nZ:\r\n\r\n",
    "PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\nConnection: close\r\n\r\n0123456789",
    "OPTIONS * HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "GET http://x/y HTTP/1.1\r\nHost: x\r\nUpgrade: foo\r\nConnection: upgrade\r\n\r\n",
    "\r\n\r\nHEAD / HTTP/1.1\r\nHost: x\r\nX:  a \t\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n",
};
static const char *const words[] = {
    "\r",
    "\n",
    "\r\n",
    "\r\n\r\n",
    " ",
    "\t",
    "\r\n ",
    "0",
    "0\r\n",
    "f",
    "ffffffffffffffff",
    ";",
    ";a=b",
    ":",
    ",",
    "\x7f",
    "\xff",
    "\x0b",
    "HTTP/1.1",
    "HTTP/1.0",
    "Content-Length: 3\r\n",
    "Transfer-Encoding: chunked\r\n",
    "chunked",
    "identity",
    "Host: y\r\n",
    "Connection: close\r\n",
    "Expect: x\r\n",
    "Upgrade: h2c\r\n",
    "GET ",
    "CONNECT x:1 HTTP/1.1\r\n",
    "99999999999999999999",
    "-1",
    "+1",
};

static uint64_t state_of_chance;
static unsigned chance(unsigned below)
{
    state_of_chance ^= state_of_chance << 13;
    state_of_chance ^= state_of_chance >> 7;
    state_of_chance ^= state_of_chance << 17;
    return (unsigned)((state_of_chance >> 32) % below);
}

/* ---- what the parser calls elsewhere ---------------------------------------------------------------------------- */

unsigned vg_http_add(vg_http *http, int kind, unsigned id, double a, double b)
{
    unsigned at = (unsigned)http->events[1]++;
    if (at >= VG_HTTP_EVENTS)
        abort();
    http->events[4 + 4 * at] = kind;
    http->events[5 + 4 * at] = id;
    http->events[6 + 4 * at] = a;
    http->events[7 + 4 * at] = b;
    return at;
}

/* ---- one connection --------------------------------------------------------------------------------------------- */

static vg_http http;
static vg_http_server server;
static size_t most_memory;

static void mix(uint64_t *sum, const void *data, size_t length)
{
    for (size_t i = 0; i < length; i++)
        *sum = (*sum ^ ((const unsigned char *)data)[i]) * UINT64_C(1099511628211);
}

static void mix_number(uint64_t *sum, uint64_t number)
{
    mix(sum, &number, sizeof number);
}

/* As the program would: takes what has come, and answers what is complete. */
static void take(vg_http_conn *conn, uint64_t *sum)
{
    size_t memory = conn->head.room + conn->last_head.room + conn->trailer.room + conn->body.room + conn->waiting.room;
    if (memory > most_memory)
        most_memory = memory;
    for (unsigned i = 0; i < (unsigned)http.events[1]; i++) {
        const double *event = &http.events[4 + 4 * i];
        if (event[0] == VG_HTTP_EVENT_REQUEST) {
            mix(sum, conn->last_head.data, conn->last_head.length);
            mix_number(sum, (uint64_t)event[2] & ~(uint64_t)VG_HTTP_WHOLE);
            mix_number(sum, (uint64_t)event[3]);
        }
    }
    mix(sum, conn->body.data ? conn->body.data + conn->body.start : NULL, conn->body.length);
    vg_buffer_free(&conn->body);
    conn->body_queued = false;
    http.events[0] = http.events[1] = 0;
    if (!conn->whole || conn->faulty)
        return;
    mix(sum, conn->trailer.data, conn->trailer.length);
    mix_number(sum, 77);
    conn->state = VG_HTTP_READING;
    conn->whole = false;
}

static void feed(vg_http_conn *conn, const unsigned char *data, size_t length, uint64_t *sum)
{
    vg_http_parse(conn, data, length);
    take(conn, sum);
    while (conn->waiting.length > 0 && !conn->faulty) {
        vg_buffer waiting = conn->waiting;
        conn->waiting = (vg_buffer){0};
        vg_http_parse(conn, waiting.data + waiting.start, waiting.length);
        vg_buffer_free(&waiting);
        take(conn, sum);
    }
}

/* A number for everything that was understood. `piece`: the longest cut; 0: none. */
static uint64_t understand(const unsigned char *data, size_t length, unsigned piece)
{
    vg_http_conn conn = {.http = &http, .server = &server};
    uint64_t sum = UINT64_C(14695981039346656037);
    vg_http_parse_begin(&conn);
    for (size_t at = 0; at < length && !conn.faulty;) {
        size_t count = piece ? 1 + chance(piece) : length;
        unsigned char *exact; /* so that the sanitizer sees a read beyond the piece */
        if (count > length - at)
            count = length - at;
        exact = malloc(count);
        memcpy(exact, data + at, count);
        feed(&conn, exact, count, &sum);
        free(exact);
        at += count;
    }
    mix_number(&sum, conn.faulty ? (uint64_t)conn.fault : 0);
    vg_buffer_free(&conn.head);
    vg_buffer_free(&conn.last_head);
    vg_buffer_free(&conn.trailer);
    vg_buffer_free(&conn.body);
    vg_buffer_free(&conn.waiting);
    return sum;
}

/* ---- damage ----------------------------------------------------------------------------------------------------- */

static size_t insert(unsigned char *data, size_t length, size_t at, const void *what, size_t count)
{
    if (length + count > LONGEST)
        return length;
    memmove(data + at + count, data + at, length - at);
    memcpy(data + at, what, count);
    return length + count;
}

static size_t damage(unsigned char *data, size_t length)
{
    size_t at = length ? chance((unsigned)length) : 0;
    const char *word = words[chance(sizeof words / sizeof *words)];
    switch (chance(8)) {
    case 0: /* a bit */
        if (length)
            data[at] ^= (unsigned char)(1U << chance(8));
        return length;
    case 1: /* a byte */
        if (length)
            data[at] = (unsigned char)chance(256);
        return length;
    case 2: { /* a hole */
        size_t count = length ? 1 + chance(8) : 0;
        if (count > length - at)
            count = length - at;
        memmove(data + at, data + at + count, length - at - count);
        return length - count;
    }
    case 3: { /* a piece again */
        unsigned char copy[64];
        size_t count = length ? 1 + chance(sizeof copy) : 0;
        if (count > length - at)
            count = length - at;
        memcpy(copy, data + at, count);
        return insert(data, length, length ? chance((unsigned)length) : 0, copy, count);
    }
    case 4: { /* another request */
        const char *seed = seeds[chance(sizeof seeds / sizeof *seeds)];
        return insert(data, length, at, seed, strlen(seed));
    }
    default:
        return insert(data, length, at, word, strlen(word));
    }
}

/* ---- to a server ------------------------------------------------------------------------------------------------ */

/* False: nobody is there any more. */
static bool send_it(const unsigned char *data, size_t length, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct linger none = {.l_onoff = 1};
    char answer[4096];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
        perror("fuzz_http: connect");
        return false;
    }
    /* A reset at the end, or a hundred thousand connections would wait for their last packets. */
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    (void)!send(fd, data, length, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    while (recv(fd, answer, sizeof answer, 0) > 0)
        ;
    close(fd);
    return true;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000, seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    unsigned char *data = malloc(LONGEST);
    state_of_chance = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    server.http = &http;
    server.max_head = 16384;
    for (uint64_t i = 0; i < count; i++) {
        const char *from = seeds[chance(sizeof seeds / sizeof *seeds)];
        size_t length = strlen(from);
        uint64_t whole, pieces;
        memcpy(data, from, length); // NOLINT(bugprone-not-null-terminated-result): bytes, not a string
        for (unsigned wounds = 1 + chance(4); wounds > 0; wounds--)
            length = damage(data, length);
        if (argc > 3) {
            if (!send_it(data, length, (uint16_t)strtoul(argv[3], NULL, 10)))
                return 1;
            continue;
        }
        whole = understand(data, length, 0);
        pieces = understand(data, length, i % 16 == 0 ? 1 : 1 + chance(40));
        if (whole != pieces) {
            printf("request %" PRIu64 " is understood differently in pieces:\n", i);
            (void)fwrite(data, 1, length, stdout);
            return 1;
        }
    }
    free(data);
    printf("%" PRIu64 " requests, at most %zu bytes for a connection\n", count, most_memory);
    return most_memory <= 4 * LONGEST + 4096 ? 0 : 1;
}
