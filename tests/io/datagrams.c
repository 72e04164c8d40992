/* SPDX-License-Identifier: MIT */
/* Datagrams come whole, in batches, with their senders; what the system does not take at once is sent later. */
#include "io_test.h"

#include <netinet/in.h>

struct seen {
    unsigned batches, packets, errors;
    int64_t last_error;
    size_t bytes;
    bool cut;
    unsigned char first[64]; /* of each packet, its first byte */
    vigil_address from;
    vigil_datagrams *echo; /* answers through this */
};

static void take(vigil_datagrams *datagrams, const vigil_packet *packets, int64_t count, void *arg)
{
    struct seen *seen = arg;
    if (count < 0) {
        must(packets == NULL);
        seen->errors++;
        seen->last_error = count;
        return;
    }
    seen->batches++;
    for (int64_t i = 0; i < count; i++) {
        if (seen->packets < sizeof seen->first && packets[i].length != 0)
            seen->first[seen->packets] = *(const unsigned char *)packets[i].data;
        seen->packets++;
        seen->bytes += packets[i].length;
        seen->cut |= packets[i].cut;
        seen->from = *packets[i].peer;
    }
    if (seen->echo != NULL) {
        must(seen->echo == datagrams);
        must_equal(vigil_datagrams_send(datagrams, packets, (size_t)count), count);
    }
}

static vigil_datagrams *open_at(vigil_loop *loop, const char *local, const vigil_address *remote)
{
    vigil_datagrams *made;
    vigil_address address;
    vigil_datagrams_options options = VIGIL_DATAGRAMS_OPTIONS_INIT;
    if (local != NULL) {
        must_equal(vigil_address_init(&address, local), 0);
        options.local = &address;
    }
    options.remote = remote;
    must_equal(vigil_datagrams_open(&made, loop, &options), 0);
    return made;
}

static void end(vigil_loop *loop, vigil_datagrams *one, vigil_datagrams *two)
{
    must_equal(vigil_datagrams_close(one), 0);
    must_equal(vigil_datagrams_close(two), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void echo_in_batches(vigil_loop *loop, const char *local, const char *client_local)
{
    vigil_address where;
    struct seen server_seen = {0};
    struct seen client_seen = {0};
    vigil_datagrams *server = open_at(loop, local, NULL);
    must_equal(vigil_datagrams_address(server, &where), 0);
    vigil_datagrams *client = open_at(loop, client_local, &where);
    server_seen.echo = server;
    must_equal(vigil_datagrams_on_packets(server, take, &server_seen), 0);
    must_equal(vigil_datagrams_on_packets(client, take, &client_seen), 0);
    char bytes[8][3];
    vigil_packet packets[8];
    for (int i = 0; i < 8; i++) {
        memset(bytes[i], 'a' + i, sizeof bytes[i]);
        packets[i] = (vigil_packet){.data = bytes[i], .length = sizeof bytes[i]};
    }
    must_equal(vigil_datagrams_send(client, packets, 8), 8);
    must_equal(server_seen.batches, 0); /* never inside a call */
    while (client_seen.packets < 8)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(server_seen.packets, 8);
    must_equal(server_seen.batches, 1); /* all with one call */
    must_equal(client_seen.bytes, 24);
    must_equal(memcmp(client_seen.first, "abcdefgh", 8), 0);
    must_equal(vigil_datagrams_unsent(client), 0);
    end(loop, client, server);
}

/* While few come there is room for few; a burst makes room again. */
static void a_burst_after_single_ones_comes_in_large_batches(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_address where;
    struct seen seen = {0};
    vigil_datagrams *server = open_at(loop, own_place("server"), NULL);
    must_equal(vigil_datagrams_address(server, &where), 0);
    vigil_datagrams *client = open_at(loop, NULL, &where);
    must_equal(vigil_datagrams_on_packets(server, take, &seen), 0);
    vigil_packet packets[8];
    for (int i = 0; i < 8; i++)
        packets[i] = (vigil_packet){.data = "x", .length = 1};
    for (unsigned i = 1; i <= 20; i++) {
        must_equal(vigil_datagrams_send(client, packets, 1), 1);
        while (seen.packets < i)
            must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    }
    must_equal(seen.batches, 20);
    for (unsigned i = 1; i <= 2; i++) {
        must_equal(vigil_datagrams_send(client, packets, 8), 8);
        while (seen.packets < 20 + 8 * i)
            must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    }
    must_equal(seen.batches, 23); /* 4 and 4, then 8 */
    end(loop, client, server);
}

static void they_come_and_go_in_batches(void **state)
{
    (void)state;
    echo_in_batches(loop_plain(), "127.0.0.1:0", NULL);
    echo_in_batches(loop_plain(), own_place("server"), own_place("client"));
}

static void one_is_a_promise(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_address where, from, mine;
    vigil_promise *promise;
    vigil_cancel_source *source;
    char bytes[16];
    vigil_datagrams *server = open_at(loop, "127.0.0.1:0", NULL);
    must_equal(vigil_datagrams_address(server, &where), 0);
    vigil_datagrams *client = open_at(loop, "127.0.0.1:0", NULL);
    must_equal(vigil_datagrams_address(client, &mine), 0);
    for (int i = 0; i < 3; i++) {
        const vigil_packet packet = {.data = bytes, .length = (size_t)i, .peer = &where};
        must_equal(vigil_promise_packet(server, bytes, sizeof bytes, &from, NULL, &promise), 0);
        must_equal(vigil_promise_packet(server, bytes, sizeof bytes, &from, NULL, &promise), -EBUSY);
        must_equal(vigil_datagrams_on_packets(server, take, NULL), -EBUSY);
        must_equal(vigil_datagrams_send(client, &packet, 1), 1);
        while (vigil_promise_state_get(promise) == VIGIL_PENDING)
            must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
        must_equal(promise_result(promise), i); /* also an empty one */
        must_equal(memcmp(&from.storage, &mine.storage, sizeof(struct sockaddr_in)), 0);
        vigil_promise_unref(promise);
    }
    must_equal(vigil_cancel_create(&source), 0);
    must_equal(vigil_promise_packet(server, bytes, sizeof bytes, NULL, vigil_cancel_token_of(source), &promise), 0);
    must_equal(vigil_promise_mark_handled(promise), 0);
    must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
    turns(loop);
    must_equal(promise_result(promise), -ECANCELED);
    vigil_promise_unref(promise);
    vigil_cancel_destroy(source);
    must_equal(vigil_promise_packet(server, bytes, sizeof bytes, NULL, NULL, &promise), 0);
    must_equal(vigil_promise_mark_handled(promise), 0);
    must_equal(vigil_datagrams_close(server), 0);
    must_equal(promise_result(promise), -ECANCELED);
    vigil_promise_unref(promise);
    end(loop, client, NULL);
}

static void nobody_there_is_told(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_address where;
    struct seen seen = {0};
    vigil_datagrams *server = open_at(loop, "127.0.0.1:0", NULL);
    must_equal(vigil_datagrams_address(server, &where), 0);
    must_equal(vigil_datagrams_close(server), 0);
    vigil_datagrams *client = open_at(loop, NULL, &where);
    must_equal(vigil_datagrams_on_packets(client, take, &seen), 0);
    const vigil_packet packet = {.data = &seen, .length = 1};
    must_equal(vigil_datagrams_send(client, &packet, 1), 1);
    while (seen.errors == 0)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(seen.last_error, -ECONNREFUSED);
    end(loop, client, NULL);
}

static void a_long_one_is_cut_and_says_so(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_address where;
    struct seen seen = {0};
    static char bytes[4000];
    vigil_datagrams *server = open_at(loop, "127.0.0.1:0", NULL);
    must_equal(vigil_datagrams_address(server, &where), 0);
    vigil_datagrams *client = open_at(loop, NULL, &where);
    must_equal(vigil_datagrams_on_packets(server, take, &seen), 0);
    const vigil_packet packet = {.data = bytes, .length = sizeof bytes};
    must_equal(vigil_datagrams_send(client, &packet, 1), 1);
    while (seen.packets == 0)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    must(seen.cut);
    must_equal(seen.bytes, 2048);
    static char huge[70000];
    const vigil_packet too_long = {.data = huge, .length = sizeof huge};
    must_equal(vigil_datagrams_send(client, &too_long, 1), -EMSGSIZE);
    end(loop, client, server);
}

static void what_the_system_refuses_for_now_waits(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_address where;
    struct seen seen = {0};
    static char bytes[1000];
    const vigil_packet packet = {.data = bytes, .length = sizeof bytes};
    /* A Unix socket whose reader does not read takes no more. */
    vigil_datagrams *server = open_at(loop, own_place("full"), NULL);
    must_equal(vigil_datagrams_address(server, &where), 0);
    vigil_datagrams *client = open_at(loop, NULL, &where);
    unsigned accepted = 0;
    while (vigil_datagrams_send(client, &packet, 1) == 1)
        accepted++;
    must_equal(vigil_datagrams_send(client, &packet, 1), -ENOBUFS);
    must(vigil_datagrams_unsent(client) > 1000000);
    must_equal(vigil_datagrams_on_packets(server, take, &seen), 0);
    while (seen.packets < accepted)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(vigil_datagrams_unsent(client), 0);
    must_equal(seen.bytes, accepted * sizeof bytes);
    while (vigil_datagrams_send(client, &packet, 1) == 1 && vigil_datagrams_unsent(client) == 0)
        must_equal(vigil_datagrams_on_packets(server, NULL, NULL), 0);
    end(loop, client, server); /* what waits is dropped */
}

static void close_inside(vigil_datagrams *datagrams, const vigil_packet *packets, int64_t count, void *arg)
{
    (void)packets;
    must_equal(count, 1);
    ++*(unsigned *)arg;
    must_equal(vigil_datagrams_close(datagrams), 0);
}

static void it_may_be_closed_inside_its_callback_or_by_the_end_of_the_loop(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_address where;
    unsigned calls = 0;
    char path[64];
    (void)snprintf(path, sizeof path, "unix:/tmp/vigil-test-datagrams-%d", (int)getpid());
    vigil_datagrams *server = open_at(loop, path, NULL);
    must_equal(access(path + 5, F_OK), 0);
    must_equal(vigil_datagrams_address(server, &where), 0);
    must_equal(vigil_datagrams_on_packets(server, close_inside, &calls), 0);
    vigil_datagrams *client = open_at(loop, NULL, &where);
    const vigil_packet packet = {.data = &calls, .length = 1};
    must_equal(vigil_datagrams_send(client, &packet, 1), 1);
    while (calls == 0)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(access(path + 5, F_OK), -1); /* its file goes with it */
    must_equal(vigil_datagrams_on_packets(client, take, NULL), 0);
    must_equal(vigil_loop_close(loop, VIGIL_FOREVER), 0);
    must_equal(vigil_datagrams_send(client, &packet, 1), -ESHUTDOWN);
    must_equal(vigil_datagrams_fd(client), -EBADF);
    must_equal(vigil_datagrams_close(client), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    must_equal(vigil_datagrams_close(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(they_come_and_go_in_batches),
        test(a_burst_after_single_ones_comes_in_large_batches),
        test(one_is_a_promise),
        test(nobody_there_is_told),
        test(a_long_one_is_cut_and_says_so),
        test(what_the_system_refuses_for_now_waits),
        test(it_may_be_closed_inside_its_callback_or_by_the_end_of_the_loop),
    };
    return run_all(tests);
}
