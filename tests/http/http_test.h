/* SPDX-License-Identifier: MIT */
/* http_test.h - a server, and a client that is moved by hand. */
#ifndef VG_TEST_HTTP_H
#define VG_TEST_HTTP_H

#include "../loop/loop_test.h"

#include <vigil/http.h>
#include <vigil/vigil.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

struct web {
    vigil_loop *loop;
    vigil_http_server *server;
    vigil_address address;
    int peer;          /* of the connection; -1: none */
    char text[262144]; /* what the peer has read */
    size_t length;
    bool ended; /* the server has closed it */
};

static inline void web_open(struct web *web, vigil_http_server_options *options)
{
    memset(web, 0, sizeof *web);
    web->loop = loop_plain();
    web->peer = -1;
    must_equal(vigil_address_init(&web->address, "127.0.0.1:0"), 0);
    if (options->user == NULL)
        options->user = web;
    must_equal(vigil_http_server_open(&web->server, web->loop, &web->address, options), 0);
    must_equal(vigil_http_server_address(web->server, &web->address), 0);
}

static inline void web_connect(struct web *web)
{
    if (web->peer >= 0)
        must_equal(close(web->peer), 0);
    web->peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(web->peer >= 0);
    must_equal(connect(web->peer, &web->address.any, web->address.length), 0);
    must_equal(fcntl(web->peer, F_SETFL, O_NONBLOCK), 0);
    web->length = 0;
    web->text[0] = 0;
    web->ended = false;
}

static inline void web_turn(struct web *web)
{
    must(vigil_loop_run(web->loop, VIGIL_RUN_NOWAIT) >= 0);
    for (;;) {
        const ssize_t got =
            web->ended ? 0 : recv(web->peer, web->text + web->length, sizeof web->text - 1 - web->length, 0);
        if (got > 0) {
            web->length += (size_t)got;
            web->text[web->length] = 0;
        } else {
            web->ended |= got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
            return;
        }
    }
}

static inline void web_says(struct web *web, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t sent = send(web->peer, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return; /* refused: the test looks at what came back */
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        }
        web_turn(web);
    }
}

/* Until the peer has read this text, or the connection has ended. */
static inline bool web_until(struct web *web, const char *text)
{
    while (!web->ended && strstr(web->text, text) == NULL)
        web_turn(web);
    return strstr(web->text, text) != NULL;
}

static inline void web_until_end(struct web *web)
{
    while (!web->ended)
        web_turn(web);
}

/* How often the text is in what came back. */
static inline unsigned web_count(const struct web *web, const char *text)
{
    unsigned count = 0;
    for (const char *at = web->text; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

/* A new connection, the request, and everything up to the end. Returns the status. */
static inline int web_ask(struct web *web, const char *bytes, size_t length)
{
    web_connect(web);
    web_says(web, bytes, length);
    web_until_end(web);
    return web->length > 12 ? atoi(web->text + 9) : 0;
}

static inline void web_end(struct web *web)
{
    if (web->peer >= 0)
        must_equal(close(web->peer), 0);
    must_equal(vigil_http_server_close(web->server), 0);
    must_equal(vigil_loop_run(web->loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(web->loop), 0);
}

#endif
