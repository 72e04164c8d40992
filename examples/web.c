/* SPDX-License-Identifier: MIT */
/* web [address]: an HTTP server with limits and graceful end (Ctrl-C). Without arguments it asks itself and ends. */
#include <signal.h>
#include <stdio.h>
#include <vigil/http.h>
#include <vigil/vigil.h>

static void on_request(vigil_http_request *request, void *user)
{
    (void)user;
    if (vigil_http_text_is(vigil_http_path(request), "/"))
        (void)vigil_http_answer_text(request, 200, "text/plain", "hello, world\n");
    else
        (void)vigil_http_answer_text(request, 404, "text/plain", "there is only /\n");
}

static void on_interrupt(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *server)
{
    (void)info;
    (void)vigil_signal_remove(loop, signal);
    (void)vigil_promise_http_finish(server, INT64_C(5000000000), NULL); /* what has begun has 5 s */
}

static vigil_value on_answer(vigil_value *value, void *server)
{
    const vigil_http_response *response = value->pointer;
    printf("%d: %s", vigil_http_response_status(response), vigil_http_response_body(response).at);
    (void)vigil_promise_http_finish(server, VIGIL_FOREVER, NULL);
    return vigil_value_none();
}

int main(int argc, char **argv)
{
    vigil_loop *loop;
    vigil_address address;
    vigil_http_server *server;
    vigil_http_client *client = NULL;
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    options.on_request = on_request;
    if (vigil_loop_create(&loop, NULL) != 0 || vigil_address_init(&address, argc > 1 ? argv[1] : "127.0.0.1:0") != 0 ||
        vigil_http_server_open(&server, loop, &address, &options) != 0) {
        fprintf(stderr, "web: %s\n", vigil_why());
        return 1;
    }
    if (argc > 1) {
        (void)vigil_signal_add(loop, SIGINT, on_interrupt, server, NULL);
    } else if (vigil_http_client_create(&client, loop, NULL) == 0) {
        char url[VIGIL_ADDRESS_TEXT + 8] = "http://";
        vigil_promise *answer;
        vigil_http_call call = VIGIL_HTTP_CALL_INIT;
        (void)vigil_http_server_address(server, &address);
        (void)vigil_address_text(&address, url + 7, sizeof url - 7);
        call.url = url;
        if (vigil_promise_http(client, &call, NULL, &answer) == 0)
            vigil_promise_unref(vigil_promise_chain(answer, on_answer, NULL, server));
    }
    (void)vigil_loop_run(loop, VIGIL_RUN);
    (void)(vigil_http_client_destroy(client) + vigil_http_server_close(server));
    return vigil_loop_destroy(loop) == 0 ? 0 : 1;
}
