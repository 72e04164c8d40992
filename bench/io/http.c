/* SPDX-License-Identifier: MIT */
/* libvigil-http: every head is parsed and checked, and every limit is on. */
#include "../peer/peer.h"
#include "harness.h"

#include <netinet/in.h>
#include <vigil/http.h>
#include <vigil/vigil.h>

static void on_request(vigil_http_request *request, void *user)
{
    (void)user;
    (void)vigil_http_answer_text(request, 200, "text/plain", "hello world\n");
}

void io_serve(const char *bench)
{
    vigil_loop *loop;
    vigil_address address;
    vigil_http_server *server;
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    (void)bench;
    options.on_request = on_request;
    bench_must(vigil_loop_create(&loop, NULL) == 0 && vigil_address_init(&address, "127.0.0.1:0") == 0 &&
                   vigil_http_server_open(&server, loop, &address, &options) == 0 &&
                   vigil_http_server_address(server, &address) == 0,
               "a server");
    io_listening(ntohs(((const struct sockaddr_in *)(const void *)&address.storage)->sin_port));
    (void)vigil_loop_run(loop, VIGIL_RUN);
}
