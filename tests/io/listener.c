/* SPDX-License-Identifier: MIT */
/* Connections come and are made: every one is given once, limits hold, and what cannot be is said. */
#include "io_test.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static void addresses_in_words_and_back(void **state)
{
    (void)state;
    static const char *const good[][2] = {{"127.0.0.1:80", "127.0.0.1:80"},   {"0.0.0.0:0", "0.0.0.0:0"},
                                          {"[::1]:65535", "[::1]:65535"},     {"*:80", "[::]:80"},
                                          {"[fe80::1%1]:7", "[fe80::1%1]:7"}, {"unix:/tmp/a b", "unix:/tmp/a b"},
                                          {"unix:@name", "unix:@name"}};
    static const char *const bad[] = {
        "",        "127.0.0.1", "127.0.0.1:",   "127.0.0.1:65536", "127.0.0.1:8x", "::1:80",
        "[::1:80", "host:80",   "[::g]:80",     "unix:",           "unix:@",       ":80",
        "[]:80",   "1.2.3:80",  "127.0.0.1:-1", "[::1%nowhere]:1"};
    vigil_address address;
    char text[VIGIL_ADDRESS_TEXT];
    for (size_t i = 0; i < count_of(good); i++) {
        must_equal(vigil_address_init(&address, good[i][0]), 0);
        must_equal(vigil_address_text(&address, text, sizeof text), strlen(good[i][1]));
        must_equal(strcmp(text, good[i][1]), 0);
    }
    for (size_t i = 0; i < count_of(bad); i++)
        must_equal(vigil_address_init(&address, bad[i]), -EINVAL);
    char path[200] = "unix:";
    memset(path + 5, 'a', 150);
    must_equal(vigil_address_init(&address, path), -EINVAL);
    must(strstr(vigil_why(), "107") != NULL); /* it says how long a path may be */
}

/* ---- a server ---------------------------------------------------------------------------------------------------- */

enum {
    MANY = 40
};

struct server {
    vigil_loop *loop;
    vigil_listener *listener;
    vigil_address address;
    vigil_stream *streams[MANY];
    unsigned count, errors;
    int last_error;
    bool close_in_callback;
};

static void keep_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    struct server *server = user;
    must(server->count < MANY);
    server->streams[server->count++] = stream;
    if (server->close_in_callback) {
        must_equal(vigil_listener_close(listener), 0);
        server->listener = NULL;
    }
}

static void note_error(vigil_listener *listener, int error, void *user)
{
    struct server *server = user;
    must(listener == server->listener);
    server->errors++;
    server->last_error = error;
}

static vigil_listener_options server_options(struct server *server)
{
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    options.on_stream = keep_stream;
    options.on_error = note_error;
    options.user = server;
    return options;
}

static void server_open(struct server *server, const char *at, const vigil_listener_options *options)
{
    memset(server, 0, sizeof *server);
    server->loop = loop_plain();
    must_equal(vigil_address_init(&server->address, at), 0);
    must_equal(vigil_listener_open(&server->listener, server->loop, &server->address, options), 0);
    must_equal(vigil_listener_address(server->listener, &server->address), 0);
}

static int client_connect(const struct server *server)
{
    const int fd = socket(server->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0);
    must_equal(connect(fd, &server->address.any, server->address.length), 0);
    return fd;
}

static void server_wait(struct server *server, unsigned count)
{
    while (server->count < count)
        must(vigil_loop_run(server->loop, VIGIL_RUN_ONCE) >= 0);
}

static void server_end(struct server *server)
{
    must_equal(vigil_listener_close(server->listener), 0);
    for (unsigned i = 0; i < server->count; i++)
        must_equal(vigil_stream_close(server->streams[i]), 0);
    must_equal(vigil_loop_run(server->loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(server->loop), 0);
}

static void every_connection_is_given_once(void **state)
{
    (void)state;
    const char *const places[] = {"127.0.0.1:0", "*:0", own_place("listener")};
    for (size_t place = 0; place < count_of(places); place++) {
        struct server server;
        int clients[MANY];
        const vigil_listener_options options = server_options(&server);
        server_open(&server, places[place], &options);
        if (server.address.any.sa_family == AF_INET6) /* "*" is not an address to connect to everywhere */
            must_equal(vigil_address_init(&server.address, "127.0.0.1:0"), 0);
        vigil_address real;
        must_equal(vigil_listener_address(server.listener, &real), 0);
        if (real.any.sa_family == AF_INET6)
            ((struct sockaddr_in *)(void *)&server.address.storage)->sin_port =
                ((struct sockaddr_in6 *)(void *)&real.storage)->sin6_port;
        for (int i = 0; i < MANY; i++) {
            clients[i] = client_connect(&server);
            server_wait(&server, (unsigned)i + 1);
        }
        must_equal(vigil_listener_streams(server.listener), MANY);
        for (int i = 0; i < MANY; i++)
            must_equal(close(clients[i]), 0);
        server_end(&server);
    }
}

struct visitor {
    unsigned left;
    int status;
};

static void visitor_left(void *user, const vigil_stream_end *end)
{
    struct visitor *visitor = user;
    visitor->left++;
    visitor->status = end->status;
}

static void each_stream_of_a_listener_says_who_was_closed(void **state)
{
    (void)state;
    struct server server;
    struct visitor all = {0}, visitors[4] = {{0}};
    int clients[5];
    vigil_stream_options streams = VIGIL_STREAM_OPTIONS_INIT;
    streams.on_closed = visitor_left;
    streams.user = &all;
    vigil_listener_options options = server_options(&server);
    options.stream = &streams;
    server_open(&server, "127.0.0.1:0", &options);
    for (unsigned i = 0; i < 5; i++) {
        clients[i] = client_connect(&server);
        server_wait(&server, i + 1);
        if (i < 4)
            must_equal(vigil_stream_on_closed(server.streams[i], visitor_left, &visitors[i]), 0);
    }
    must_equal(vigil_stream_on_closed(server.streams[3], NULL, NULL), 0);
    must_equal(vigil_stream_close(server.streams[1]), 0);
    turns(server.loop);
    must_equal(visitors[0].left, 0);
    must_equal(visitors[1].left, 1);
    must_equal(vigil_stream_write(server.streams[2], "x", 1), 0);
    must_equal(vigil_stream_reset(server.streams[2]), 0);
    turns(server.loop);
    must_equal(visitors[2].left, 1);
    must_equal(visitors[2].status, -ECANCELED);
    must_equal(all.left, 0);
    server.streams[1] = server.streams[3];
    server.streams[2] = server.streams[4];
    server.count = 3;
    for (int i = 0; i < 5; i++)
        must_equal(close(clients[i]), 0);
    server_end(&server);
    must_equal(visitors[0].left, 1);
    must_equal(visitors[0].status, 0);
    must_equal(visitors[3].left, 0); /* it was taken away */
    must_equal(all.left, 1);         /* the last one kept what the options say */
}

static void no_more_than_the_limit_at_a_time(void **state)
{
    (void)state;
    struct server server;
    int clients[4];
    vigil_listener_options options = server_options(&server);
    options.most = 2;
    server_open(&server, "127.0.0.1:0", &options);
    for (int i = 0; i < 4; i++)
        clients[i] = client_connect(&server);
    server_wait(&server, 2);
    turns(server.loop);
    must_equal(server.count, 2);
    must_equal(vigil_stream_close(server.streams[0]), 0);
    server_wait(&server, 3);
    turns(server.loop);
    must_equal(server.count, 3);
    must_equal(vigil_stream_close(server.streams[1]), 0);
    must_equal(vigil_stream_close(server.streams[2]), 0);
    server_wait(&server, 4);
    server.streams[0] = server.streams[3];
    server.count = 1;
    for (int i = 0; i < 4; i++)
        must_equal(close(clients[i]), 0);
    server_end(&server);
}

static void without_descriptors_it_pauses_and_goes_on(void **state)
{
    (void)state;
    struct server server;
    struct rlimit before;
    const vigil_listener_options options = server_options(&server);
    server_open(&server, "127.0.0.1:0", &options);
    const int first = client_connect(&server);
    server_wait(&server, 1);
    const int second = client_connect(&server);
    must_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const int next = dup(second); /* the lowest number that is free */
    must_equal(close(next), 0);
    const struct rlimit none = {.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
    must_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    while (server.errors == 0)
        must(vigil_loop_run(server.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(server.last_error, -EMFILE);
    const uint64_t calls = loop_stats(server.loop).callbacks[VIGIL_PHASE_IO];
    turns(server.loop);
    must_equal(loop_stats(server.loop).callbacks[VIGIL_PHASE_IO], calls); /* it does not spin */
    must_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    server_wait(&server, 2);
    must_equal(close(first), 0);
    must_equal(close(second), 0);
    server_end(&server);
}

static void it_may_be_closed_inside_its_callback(void **state)
{
    (void)state;
    struct server server;
    const vigil_listener_options options = server_options(&server);
    server_open(&server, "127.0.0.1:0", &options);
    server.close_in_callback = true;
    const int first = client_connect(&server);
    const int second = client_connect(&server);
    server_wait(&server, 1);
    turns(server.loop);
    must_equal(server.count, 1);
    must_equal(close(first), 0);
    must_equal(close(second), 0);
    server_end(&server);
}

static void the_file_of_a_unix_socket_goes_with_it(void **state)
{
    (void)state;
    struct server server;
    struct stat file;
    char folder[] = "/tmp/vigil-test-XXXXXX";
    char at[64];
    must(mkdtemp(folder) != NULL);
    (void)snprintf(at, sizeof at, "unix:%s/socket", folder);
    const vigil_listener_options options = server_options(&server);
    server_open(&server, at, &options);
    must_equal(stat(at + 5, &file), 0);
    vigil_listener *other;
    must_equal(vigil_listener_open(&other, server.loop, &server.address, &options), -EADDRINUSE);
    must(strstr(vigil_why(), at) != NULL);
    const int client = client_connect(&server);
    server_wait(&server, 1);
    must_equal(close(client), 0);
    server_end(&server);
    must_equal(stat(at + 5, &file), -1);
    must_equal(rmdir(folder), 0);
}

static void several_listeners_share_a_port(void **state)
{
    (void)state;
    struct server server;
    vigil_listener *other;
    vigil_listener_options options = server_options(&server);
    options.reuse_port = true;
    server_open(&server, "127.0.0.1:0", &options);
    must_equal(vigil_listener_open(&other, server.loop, &server.address, &options), 0);
    must_equal(vigil_listener_close(other), 0);
    server_end(&server);
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

struct client {
    vigil_stream *stream;
    int status;
    bool settled;
};

static vigil_value connected(vigil_value *value, void *arg)
{
    struct client *client = arg;
    vigil_value taken = vigil_value_move(value);
    client->stream = taken.pointer;
    client->settled = true;
    return vigil_value_none();
}

static vigil_value not_connected(vigil_value *value, void *arg)
{
    struct client *client = arg;
    client->status = value->status;
    client->settled = true;
    return vigil_value_none();
}

static void client_start(struct client *client, vigil_loop *loop, const vigil_address *addresses, size_t count,
                         const vigil_connect_options *options, vigil_cancel_token *token)
{
    vigil_promise *promise;
    vigil_handlers handlers = VIGIL_HANDLERS_INIT;
    memset(client, 0, sizeof *client);
    handlers.fulfilled = connected;
    handlers.rejected = not_connected;
    handlers.arg = client;
    must_equal(vigil_promise_connect(loop, addresses, count, options, token, &promise), 0);
    must_equal(vigil_promise_then_with(promise, &handlers, NULL), 0);
    vigil_promise_unref(promise);
}

static void client_wait(struct client *client, vigil_loop *loop)
{
    while (!client->settled)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
}

/* An address at which nobody listens: it was just given back. */
static void refusing_address(vigil_address *address, vigil_loop *loop)
{
    struct server server;
    vigil_listener *listener;
    const vigil_listener_options options = server_options(&server);
    must_equal(vigil_address_init(address, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&listener, loop, address, &options), 0);
    must_equal(vigil_listener_address(listener, address), 0);
    must_equal(vigil_listener_close(listener), 0);
}

static void the_first_address_that_answers_wins(void **state)
{
    (void)state;
    struct server server;
    struct client client;
    vigil_address addresses[3];
    const vigil_listener_options options = server_options(&server);
    server_open(&server, "127.0.0.1:0", &options);
    refusing_address(&addresses[0], server.loop);
    refusing_address(&addresses[1], server.loop);
    addresses[2] = server.address;
    client_start(&client, server.loop, addresses, 3, NULL, NULL);
    client_wait(&client, server.loop);
    must_equal(client.status, 0);
    vigil_address peer;
    must_equal(vigil_stream_peer(client.stream, &peer), 0);
    must_equal(memcmp(&peer.storage, &server.address.storage, server.address.length), 0);
    server_wait(&server, 1);
    must_equal(vigil_stream_close(client.stream), 0);
    server_end(&server);
}

static void refused_by_all_is_the_first_ones_error(void **state)
{
    (void)state;
    struct client client;
    vigil_address addresses[2];
    vigil_loop *loop = loop_plain();
    refusing_address(&addresses[0], loop);
    must_equal(vigil_address_init(&addresses[1], "unix:/nowhere/at/all"), 0);
    client_start(&client, loop, addresses, 2, NULL, NULL);
    client_wait(&client, loop);
    must_equal(client.status, -ECONNREFUSED);
    must(client.stream == NULL);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* A listener whose backlog is full: connections to it stay under way. */
static int full_listener(vigil_address *address, int *fillers, int count)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0);
    must_equal(vigil_address_init(address, "127.0.0.1:0"), 0);
    must_equal(bind(fd, &address->any, address->length), 0);
    must_equal(listen(fd, 0), 0);
    must_equal(getsockname(fd, &address->any, &address->length), 0);
    for (int i = 0; i < count; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        must(fillers[i] >= 0);
        (void)connect(fillers[i], &address->any, address->length);
    }
    return fd;
}

enum {
    FILLERS = 4
};

static void a_silent_address_does_not_hold_up_the_next(void **state)
{
    (void)state;
    struct server server;
    struct client client;
    int fillers[FILLERS];
    vigil_address addresses[2];
    const vigil_listener_options options = server_options(&server);
    server_open(&server, "127.0.0.1:0", &options);
    const int silent = full_listener(&addresses[0], fillers, FILLERS);
    addresses[1] = server.address;
    vigil_connect_options fast = VIGIL_CONNECT_OPTIONS_INIT;
    fast.attempt_ns = 5000000;
    client_start(&client, server.loop, addresses, 2, &fast, NULL);
    client_wait(&client, server.loop);
    must_equal(client.status, 0);
    server_wait(&server, 1);
    must_equal(vigil_stream_close(client.stream), 0);
    server_end(&server);
    for (int i = 0; i < FILLERS; i++)
        must_equal(close(fillers[i]), 0);
    must_equal(close(silent), 0);
}

static void a_connect_ends_with_its_time_its_token_and_its_loop(void **state)
{
    (void)state;
    struct client client;
    int fillers[FILLERS];
    vigil_address address;
    vigil_cancel_source *source;
    vigil_loop *loop = loop_plain();
    const int silent = full_listener(&address, fillers, FILLERS);
    vigil_connect_options options = VIGIL_CONNECT_OPTIONS_INIT;
    options.timeout_ns = 10000000;
    client_start(&client, loop, &address, 1, &options, NULL);
    client_wait(&client, loop);
    must_equal(client.status, -ETIMEDOUT);
    must_equal(vigil_cancel_create(&source), 0);
    client_start(&client, loop, &address, 1, NULL, vigil_cancel_token_of(source));
    turns(loop);
    must_equal(vigil_cancel_abort(source, -EINTR, "changed my mind"), 0);
    client_wait(&client, loop);
    must_equal(client.status, -EINTR);
    vigil_cancel_destroy(source);
    client_start(&client, loop, &address, 1, NULL, NULL);
    turns(loop);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    must_equal(client.status, -ESHUTDOWN);
    must_equal(vigil_loop_destroy(loop), 0);
    for (int i = 0; i < FILLERS; i++)
        must_equal(close(fillers[i]), 0);
    must_equal(close(silent), 0);
}

static void a_stream_that_nobody_takes_is_closed(void **state)
{
    (void)state;
    struct server server;
    vigil_promise *promise;
    char byte;
    const vigil_listener_options options = server_options(&server);
    server_open(&server, "127.0.0.1:0", &options);
    must_equal(vigil_promise_connect(server.loop, &server.address, 1, NULL, NULL, &promise), 0);
    server_wait(&server, 1);
    while (vigil_promise_state_get(promise) == VIGIL_PENDING)
        must(vigil_loop_run(server.loop, VIGIL_RUN_ONCE) >= 0);
    vigil_promise_unref(promise);
    struct noted_read read = {.read.done = note_read};
    must_equal(vigil_stream_read(server.streams[0], &read.read, &byte, 1), 0);
    while (read.calls == 0)
        must(vigil_loop_run(server.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(read.result, 0); /* the other side has closed */
    server_end(&server);
}

/* ---- streams as promises ----------------------------------------------------------------------------------------- */

struct echo {
    vigil_frame frame;
    vigil_stream *stream;
    char line[64];
};

static void echo_steps(vigil_frame *frame)
{
    struct echo *self = (struct echo *)(void *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (;;) {
        VIGIL_AWAIT(frame, vigil_promise_read_until(self->stream, self->line, sizeof self->line, '\n', frame->token,
                                                    VIGIL_INTO(frame)));
        if (frame->value->integer == 0)
            break;
        VIGIL_TRY(frame, vigil_stream_write(self->stream, self->line, (size_t)frame->value->integer));
        VIGIL_AWAIT(frame, vigil_promise_drained(self->stream, frame->token, VIGIL_INTO(frame)));
    }
    VIGIL_ASYNC_OUT(frame);
    (void)vigil_stream_close(self->stream);
    VIGIL_ASYNC_END(frame);
}

static void start_echo(vigil_listener *listener, vigil_stream *stream, void *user)
{
    struct echo *self = vigil_frame_alloc(sizeof *self, user, NULL);
    (void)listener;
    must(self != NULL);
    self->stream = stream;
    must_equal(vigil_frame_start(&self->frame, echo_steps, NULL), 0);
}

struct dialogue {
    vigil_frame frame;
    vigil_address address;
    vigil_listener *listener;
    vigil_stream *stream;
    char bytes[16];
    unsigned rounds;
    bool done;
};

/* One system call for each line that was sent, and one for each that came. */
static void must_be_cheap(vigil_stream *stream, unsigned lines)
{
    vigil_stream_stats stats = VIGIL_STREAM_STATS_INIT;
    must_equal(vigil_stream_stats_get(stream, &stats), 0);
    must_equal(stats.reads, lines);
    must_equal(stats.sends, lines);
}

static void dialogue_steps(vigil_frame *frame)
{
    struct dialogue *self = (struct dialogue *)(void *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_connect(frame->loop, &self->address, 1, NULL, frame->token, VIGIL_INTO(frame)));
    self->stream = vigil_value_move(frame->value).pointer;
    for (self->rounds = 0; self->rounds < 100; self->rounds++) {
        VIGIL_TRY(frame, vigil_stream_write(self->stream, "question\n", 9));
        VIGIL_AWAIT(frame, vigil_promise_read_exactly(self->stream, self->bytes, 9, frame->token, VIGIL_INTO(frame)));
        must_equal(frame->value->integer, 9);
        must_equal(memcmp(self->bytes, "question\n", 9), 0);
    }
    must_be_cheap(self->stream, self->rounds);
    VIGIL_TRY(frame, vigil_stream_finish(self->stream));
    VIGIL_AWAIT(frame, vigil_promise_read(self->stream, self->bytes, 1, frame->token, VIGIL_INTO(frame)));
    must_equal(frame->value->integer, 0);
    self->done = true;
    VIGIL_ASYNC_OUT(frame);
    must_equal(frame->error, 0);
    must_equal(vigil_stream_close(self->stream), 0);
    must_equal(vigil_listener_close(self->listener), 0);
    VIGIL_ASYNC_END(frame);
}

static void a_dialogue_from_top_to_bottom(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    options.on_stream = start_echo;
    options.user = loop;
    vigil_address address;
    struct dialogue *self = vigil_frame_alloc(sizeof *self, loop, NULL);
    must(self != NULL);
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&self->listener, loop, &address, &options), 0);
    must_equal(vigil_listener_address(self->listener, &self->address), 0);
    vigil_promise *promise;
    must_equal(vigil_frame_start(&self->frame, dialogue_steps, &promise), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_promise_state_get(promise), VIGIL_FULFILLED);
    vigil_promise_unref(promise);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_promise_ends_with_its_stream_and_its_token(void **state)
{
    (void)state;
    struct pair pair;
    vigil_promise *promise;
    vigil_value value;
    vigil_cancel_source *source;
    char bytes[8];
    pair_open(&pair);
    must_equal(vigil_cancel_create(&source), 0);
    must_equal(vigil_promise_read_exactly(pair.stream, bytes, 6, vigil_cancel_token_of(source), &promise), 0);
    peer_says(&pair, "abc");
    turns(pair.loop);
    must_equal(vigil_cancel_abort(source, -EINTR, NULL), 0);
    turns(pair.loop);
    must_equal(vigil_promise_take(promise, &value), VIGIL_REJECTED);
    must_equal(value.status, -EINTR);
    vigil_promise_unref(promise);
    must_equal(vigil_promise_read(pair.stream, bytes, 1, vigil_cancel_token_of(source), &promise), -ECANCELED);
    vigil_cancel_destroy(source);
    must_equal(vigil_promise_read(pair.stream, bytes, sizeof bytes, NULL, &promise), 0);
    turns(pair.loop);
    must_equal(vigil_promise_take(promise, &value), VIGIL_FULFILLED); /* what was read before is not lost */
    must_equal(value.integer, 3);
    vigil_promise_unref(promise);
    must_equal(vigil_promise_read(pair.stream, bytes, sizeof bytes, NULL, &promise), 0);
    must_equal(vigil_stream_close(pair.stream), 0);
    turns(pair.loop);
    must_equal(vigil_promise_take(promise, &value), VIGIL_REJECTED);
    must_equal(value.status, -ECANCELED);
    vigil_promise_unref(promise);
    pair_end(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(addresses_in_words_and_back),
        test(every_connection_is_given_once),
        test(each_stream_of_a_listener_says_who_was_closed),
        test(no_more_than_the_limit_at_a_time),
        test(without_descriptors_it_pauses_and_goes_on),
        test(it_may_be_closed_inside_its_callback),
        test(the_file_of_a_unix_socket_goes_with_it),
        test(several_listeners_share_a_port),
        test(the_first_address_that_answers_wins),
        test(refused_by_all_is_the_first_ones_error),
        test(a_silent_address_does_not_hold_up_the_next),
        test(a_connect_ends_with_its_time_its_token_and_its_loop),
        test(a_stream_that_nobody_takes_is_closed),
        test(a_dialogue_from_top_to_bottom),
        test(a_promise_ends_with_its_stream_and_its_token),
    };
    return run_all(tests);
}
