/* SPDX-License-Identifier: MIT */
/* HTTP with coroutines: a handler that awaits its body, a client that awaits its answers. */
#include "check.hpp"

#include <string>
#include <vigil/http.h>

using vigil::task;

static vigil::promise made(int rc, vigil_promise *promise)
{
    vigil::check(rc, "a call of vigil/http.h");
    return vigil::promise::adopt(promise);
}

static task<> answer(vigil_http_request *request)
{
    const counted guard;
    try {
        vigil_promise *raw = nullptr;
        const int rc = vigil_promise_http_body(request, 20, nullptr, &raw);
        const vigil::value value = co_await made(rc, raw);
        const auto *bytes = static_cast<const vigil_http_bytes *>(value.raw().pointer);
        const std::string text = "you said " + std::string(bytes->data, bytes->length);
        (void)vigil_http_answer(request, 200, nullptr, 0, text.data(), text.size());
    } catch (const vigil::error &) {
        (void)vigil_http_answer_text(request, 413, "text/plain", "too long");
    }
}

static task<std::string> ask(vigil_http_client *client, std::string url, std::string body)
{
    const counted guard;
    vigil_promise *raw = nullptr;
    vigil_http_call call = VIGIL_HTTP_CALL_INIT;
    call.url = url.c_str();
    call.body = body.data();
    call.length = body.size();
    const int rc = vigil_promise_http(client, &call, nullptr, &raw);
    const vigil::value value = co_await made(rc, raw);
    const auto *response = static_cast<const vigil_http_response *>(value.raw().pointer);
    co_return std::to_string(vigil_http_response_status(response)) + " " + vigil_http_response_body(response).at;
}

TEST(handlers_and_calls_are_coroutines)
{
    vigil::loop loop;
    vigil_address address;
    vigil_http_server *server;
    vigil_http_client *client;
    char where[VIGIL_ADDRESS_TEXT];
    vigil_http_server_options options = VIGIL_HTTP_SERVER_OPTIONS_INIT;
    options.on_request = [](vigil_http_request *request, void *) { vigil::detach(answer(request)); };
    must(vigil_address_init(&address, "127.0.0.1:0") == 0);
    must(vigil_http_server_open(&server, loop.get(), &address, &options) == 0);
    must(vigil_http_server_address(server, &address) == 0);
    must(vigil_address_text(&address, where, sizeof where) > 0);
    must(vigil_http_client_create(&client, loop.get(), nullptr) == 0);
    const std::string url = "http://" + std::string(where) + "/";
    must(loop.run(ask(client, url, "hello")) == "200 you said hello");
    must(loop.run(ask(client, url, "more than twenty bytes")) == "413 too long");
    must(loop.run(ask(client, url, "again")) == "200 you said again");
    must(vigil_http_client_destroy(client) == 0);
    must(vigil_http_server_close(server) == 0);
}

int main()
{
    return run_tests();
}
