/* SPDX-License-Identifier: MIT */
/* libvigil-http: every head is parsed and checked, and every limit is on. */
#include "harness.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <vigil/http.h>
#include <vigil/vigil.h>

static vigil_loop *loop;

static void on_request(vigil_http_request *request, void *user)
{
    (void)user;
    (void)vigil_http_answer_text(request, 200, "text/plain", "Hello, World!\n");
    if (web_over(1))
        (void)vigil_loop_pause(loop);
}

static void on_incoming(vigil_loop *on, vigil_watch watch, int fd, unsigned events, void *server)
{
    const int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    const int yes = 1;
    vigil_stream *stream;
    (void)watch;
    (void)events;
    bench_must(client >= 0, "a connection");
    (void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    bench_must(vigil_stream_open(&stream, on, client, NULL) == 0, "a stream");
    bench_must(vigil_http_server_serve(server, stream) == 0, "a connection");
}

void web_serve(int listening)
{
    vigil_http_server *server;
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    options.on_request = on_request;
    bench_must(vigil_loop_create(&loop, NULL) == 0, "a loop");
    bench_must(vigil_http_server_open(&server, loop, NULL, &options) == 0, "a server");
    bench_must(vigil_watch_add(loop, listening, VIGIL_FD_READ, 0, on_incoming, NULL, server, NULL) == 0, "a watch");
    (void)vigil_loop_run(loop, VIGIL_RUN);
}
