/* SPDX-License-Identifier: MIT */
/* hiredis on a loop, with a Redis server of the test's own in a temporary folder. */
#include "../loop/loop_test.h"

#include <vigil/adapters/hiredis.h>
#include <vigil/io.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    char folder[64], socket[80];
    pid_t pid;
} server;

/* It is ready when it says so. */
static int start_server(void **state)
{
    int ends[2];
    char line[512];
    (void)state;
    (void)snprintf(server.folder, sizeof server.folder, "/tmp/vigil-redis-XXXXXX");
    must(mkdtemp(server.folder) != NULL);
    (void)snprintf(server.socket, sizeof server.socket, "%s/socket", server.folder);
    must_equal(pipe(ends), 0);
    const pid_t parent = getpid();
    server.pid = fork();
    if (server.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        (void)dup2(ends[1], 1);
        (void)close(ends[0]);
        (void)execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", server.socket, "--save", "",
                     "--dir", server.folder, (char *)NULL);
        _exit(1);
    }
    (void)close(ends[1]);
    FILE *words = fdopen(ends[0], "r");
    bool ready = false;
    while (!ready && fgets(line, sizeof line, words) != NULL)
        ready = strstr(line, "ready to accept connections") != NULL;
    must(ready);
    return 0; /* `words` stays open: the server writes to it */
}

static int stop_server(void **state)
{
    int status;
    (void)state;
    must_equal(kill(server.pid, SIGTERM), 0);
    must_equal(waitpid(server.pid, &status, 0), server.pid);
    (void)unlink(server.socket);
    must_equal(rmdir(server.folder), 0);
    return 0;
}

struct client {
    vigil_loop *loop;
    redisAsyncContext *redis;
    unsigned connects, replies, errors, ends;
    int connect_status, end_status;
    long long last;
    unsigned left;
};

static void on_connect(const redisAsyncContext *redis, int status)
{
    struct client *client = redis->data;
    client->connects++;
    client->connect_status = status;
}

static void on_end(const redisAsyncContext *redis, int status)
{
    struct client *client = redis->data;
    client->ends++;
    client->end_status = status;
    client->redis = NULL;
}

static void client_open(struct client *client, vigil_loop *loop, const char *path)
{
    memset(client, 0, sizeof *client);
    client->loop = loop;
    client->redis = redisAsyncConnectUnix(path);
    must(client->redis != NULL);
    client->redis->data = client;
    if (client->redis->err != 0)
        return;
    must_equal(vigil_redis_attach(client->redis, client->loop), 0);
    must_equal(redisAsyncSetConnectCallback(client->redis, on_connect), REDIS_OK);
    must_equal(redisAsyncSetDisconnectCallback(client->redis, on_end), REDIS_OK);
}

static void count_reply(redisAsyncContext *redis, void *reply, void *arg)
{
    struct client *client = arg;
    const redisReply *it = reply;
    if (it == NULL || it->type == REDIS_REPLY_ERROR) {
        client->errors++;
        return;
    }
    client->replies++;
    client->last = it->integer;
    if (--client->left == 0)
        redisAsyncDisconnect(redis);
}

static void ten_thousand_commands_are_answered(void **state)
{
    const unsigned count = (unsigned)scaled(10000, 2000);
    struct client client, other;
    vigil_loop *loop = loop_plain();
    (void)state;
    client_open(&client, loop, server.socket);
    client_open(&other, loop, server.socket);
    client.left = other.left = count;
    for (unsigned i = 0; i < count; i++) { /* more than a socket takes: both directions wait */
        must_equal(redisAsyncCommand(client.redis, count_reply, &client, "INCR one"), REDIS_OK);
        must_equal(redisAsyncCommand(other.redis, count_reply, &other, "INCRBY two %d", 2), REDIS_OK);
    }
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0); /* ends, because both disconnect */
    must_equal(client.replies, count);
    must_equal(client.last, count);
    must_equal(other.last, 2 * count);
    must_equal(client.connects + other.connects, 2);
    must_equal(client.ends + other.ends, 2);
    must_equal(client.end_status, REDIS_OK);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void take_length(redisAsyncContext *redis, void *reply, void *arg)
{
    struct client *client = arg;
    client->last = reply != NULL ? (long long)((redisReply *)reply)->len : -1;
    redisAsyncDisconnect(redis);
}

static void a_value_of_megabytes_goes_both_ways(void **state)
{
    const size_t length = 8U << 20;
    struct client client;
    vigil_loop *loop = loop_plain();
    char *value = malloc(length);
    (void)state;
    must(value != NULL);
    memset(value, 'x', length);
    client_open(&client, loop, server.socket);
    client.left = 2;
    must_equal(redisAsyncCommand(client.redis, count_reply, &client, "SET big %b", value, length), REDIS_OK);
    must_equal(redisAsyncCommand(client.redis, take_length, &client, "GET big"), REDIS_OK);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(client.last, length);
    must_equal(client.replies, 1);
    free(value);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void free_in_reply(redisAsyncContext *redis, void *reply, void *arg)
{
    struct client *client = arg;
    if (reply == NULL) {
        client->errors++;
        return;
    }
    client->replies++;
    redisAsyncFree(redis);
}

static void a_context_may_be_freed_inside_a_callback(void **state)
{
    struct client client;
    vigil_loop *loop = loop_plain();
    (void)state;
    client_open(&client, loop, server.socket);
    for (int i = 0; i < 10; i++)
        must_equal(redisAsyncCommand(client.redis, free_in_reply, &client, "PING"), REDIS_OK);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(client.replies, 1);
    must_equal(client.errors, 9); /* the rest is told that it is over */
    must_equal(client.ends, 1);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void freeing_it_outside_a_callback_lets_the_loop_go(void **state)
{
    struct client client;
    vigil_loop *loop = loop_plain();
    (void)state;
    client_open(&client, loop, server.socket);
    must_equal(vigil_redis_attach(client.redis, loop), -EBUSY);
    must_equal(redisAsyncCommand(client.redis, count_reply, &client, "PING"), REDIS_OK);
    redisAsyncFree(client.redis);
    must_equal(client.errors, 1);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_connection_that_is_cut_tells_all_who_wait(void **state)
{
    struct client client, killer;
    vigil_loop *loop = loop_plain();
    (void)state;
    client_open(&client, loop, server.socket);
    for (int i = 0; i < 3; i++) /* BLPOP waits for a list that nobody fills */
        must_equal(redisAsyncCommand(client.redis, count_reply, &client, "BLPOP nothing 0"), REDIS_OK);
    while (client.connects == 0)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    client_open(&killer, loop, server.socket);
    killer.left = 1;
    must_equal(redisAsyncCommand(killer.redis, count_reply, &killer, "CLIENT KILL TYPE normal SKIPME yes"), REDIS_OK);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(killer.last, 1);
    must_equal(client.errors, 3);
    must_equal(client.ends, 1);
    must_equal(client.end_status, REDIS_ERR);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_message(redisAsyncContext *redis, void *reply, void *arg)
{
    struct client *client = arg;
    const redisReply *it = reply;
    if (it == NULL) {
        client->errors++;
    } else if (strcmp(it->element[0]->str, "message") == 0 && ++client->replies == 3) {
        redisAsyncDisconnect(redis);
    } else if (strcmp(it->element[0]->str, "subscribe") == 0) {
        struct client *other = (struct client *)client->redis->data + 1;
        other->left = 3;
        for (int i = 0; i < 3; i++)
            must_equal(redisAsyncCommand(other->redis, count_reply, other, "PUBLISH news hello"), REDIS_OK);
    }
}

static void subscriptions_bring_messages(void **state)
{
    struct client both[2];
    vigil_loop *loop = loop_plain();
    (void)state;
    client_open(&both[0], loop, server.socket);
    client_open(&both[1], loop, server.socket);
    must_equal(redisAsyncCommand(both[0].redis, a_message, &both[0], "SUBSCRIBE news"), REDIS_OK);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(both[0].replies, 3);
    must_equal(both[1].replies, 3);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_refused_connection_is_told(void **state)
{
    struct client client;
    vigil_loop *loop = loop_plain();
    vigil_address address;
    vigil_listener *listener;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    (void)state;
    /* a port where nobody listens: one that was just given back */
    options.on_stream = (vigil_accept_fn)abort;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&listener, loop, &address, &options), 0);
    must_equal(vigil_listener_address(listener, &address), 0);
    must_equal(vigil_listener_close(listener), 0);
    char text[VIGIL_ADDRESS_TEXT];
    (void)vigil_address_text(&address, text, sizeof text);
    memset(&client, 0, sizeof client);
    client.loop = loop;
    client.redis = redisAsyncConnect("127.0.0.1", atoi(strchr(text, ':') + 1));
    must(client.redis != NULL);
    if (client.redis->err == 0) {
        client.redis->data = &client;
        must_equal(vigil_redis_attach(client.redis, loop), 0);
        must_equal(redisAsyncSetConnectCallback(client.redis, on_connect), REDIS_OK);
        must_equal(redisAsyncCommand(client.redis, count_reply, &client, "PING"), REDIS_OK);
        must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
        must_equal(client.connects, 1);
        must_equal(client.connect_status, REDIS_ERR);
        must_equal(client.errors, 1);
    } else { /* it was refused at once */
        must_equal(vigil_redis_attach(client.redis, loop), -EINVAL);
        redisAsyncFree(client.redis);
    }
    must_equal(vigil_loop_destroy(loop), 0);
}

#if defined(HIREDIS_MAJOR) && HIREDIS_MAJOR >= 1
static void a_command_that_takes_too_long_ends_the_connection(void **state)
{
    struct client client;
    vigil_loop *loop = loop_plain();
    (void)state;
    client_open(&client, loop, server.socket);
    must_equal(redisAsyncSetTimeout(client.redis, (struct timeval){.tv_usec = 20000}), REDIS_OK);
    must_equal(redisAsyncCommand(client.redis, count_reply, &client, "BLPOP nothing 0"), REDIS_OK);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(client.errors, 1);
    must_equal(client.ends, 1);
    must_equal(vigil_loop_destroy(loop), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(ten_thousand_commands_are_answered),
        test(a_value_of_megabytes_goes_both_ways),
        test(a_context_may_be_freed_inside_a_callback),
        test(freeing_it_outside_a_callback_lets_the_loop_go),
        test(a_connection_that_is_cut_tells_all_who_wait),
        test(subscriptions_bring_messages),
        test(a_refused_connection_is_told),
#if defined(HIREDIS_MAJOR) && HIREDIS_MAJOR >= 1
        test(a_command_that_takes_too_long_ends_the_connection),
#endif
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
