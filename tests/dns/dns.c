/* SPDX-License-Identifier: MIT */
/* test: clock - a thousand names in time, and an answer that is valid for two seconds */
/* Names become addresses in spite of lost datagrams; what does not exist, fails or stays silent is said. */
#include "../loop/loop_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vigil/dns.h>
#include <vigil/vigil.h>

enum {
    NAMES = 1000
};

struct scene {
    vigil_loop *loop;
    vigil_pool *pool;
    vigil_dns *dns;
    /* the server, on the same loop */
    int fd;
    vigil_watch watch;
    unsigned port, loss; /* of so many datagrams one is lost; 0: none */
    uint64_t state;
    unsigned queries, lost;
    /* what came */
    unsigned settled;
    int error;
    size_t count;
    unsigned seconds;
    char text[4][VIGIL_ADDRESS_TEXT];
};

/* ---- a small name server --------------------------------------------------------------------------------------------- */

/* The name in words. Returns the length of the question. */
static size_t read_question(const unsigned char *bytes, size_t length, char *name, unsigned *type)
{
    size_t at = 12, out = 0;
    while (at < length && bytes[at] != 0) {
        for (unsigned char i = 0; i < bytes[at]; i++)
            name[out++] = (char)bytes[at + 1 + i];
        at += (size_t)bytes[at] + 1;
        name[out++] = '.';
    }
    name[out > 0 ? out - 1 : 0] = 0;
    *type = (unsigned)bytes[at + 1] << 8 | bytes[at + 2];
    return at + 5 - 12;
}

static size_t put_record(unsigned char *to, unsigned type, unsigned seconds, const void *data, size_t length)
{
    const unsigned char head[] = {0xc0,
                                  12,
                                  0,
                                  (unsigned char)type,
                                  0,
                                  1,
                                  0,
                                  0,
                                  (unsigned char)(seconds >> 8),
                                  (unsigned char)seconds,
                                  0,
                                  (unsigned char)length};
    memcpy(to, head, sizeof head);
    memcpy(to + sizeof head, data, length);
    return sizeof head + length;
}

static size_t put_service(unsigned char *to, unsigned char priority, unsigned char weight, char host)
{
    const unsigned char data[] = {0, priority, 0, weight, 0x1f, 0x90, 1, (unsigned char)host, 4, 't', 'e', 's', 't', 0};
    return put_record(to, 33, 60, data, sizeof data);
}

static void answer(struct scene *scene, unsigned char *bytes, size_t length, const struct sockaddr_in *from)
{
    char name[256] = "";
    unsigned type, number = 0;
    const size_t question = read_question(bytes, length, name, &type);
    size_t end = 12 + question;
    unsigned answers = 0, code = 0;
    (void)sscanf(name, "n%u.", &number);
    if (strncmp(name, "silent.", 7) == 0)
        return;
    if (strncmp(name, "no.", 3) == 0) {
        code = 3;
    } else if (strncmp(name, "fail.", 5) == 0) {
        code = 2;
    } else if (type == 1 && strncmp(name, "six.", 4) != 0) {
        const unsigned char address[] = {127, 1, (unsigned char)(number >> 8), (unsigned char)number};
        end += put_record(bytes + end, 1,
                          strncmp(name, "short.", 6) == 0  ? 2
                          : strncmp(name, "zero.", 5) == 0 ? 0
                                                           : 60,
                          address, 4);
        answers = 1;
    } else if (type == 28 && strncmp(name, "four.", 5) != 0) {
        const unsigned char address[16] = {0xfd, [14] = (unsigned char)(number >> 8), [15] = (unsigned char)number};
        end += put_record(bytes + end, 28,
                          strncmp(name, "short.", 6) == 0  ? 2
                          : strncmp(name, "zero.", 5) == 0 ? 0
                                                           : 90,
                          address, 16);
        answers = 1;
    } else if (type == 33) {
        end += put_service(bytes + end, 20, 1, 'c');
        end += put_service(bytes + end, 10, 5, 'b');
        end += put_service(bytes + end, 10, 9, 'a');
        answers = 3;
    }
    bytes[2] = 0x81;
    bytes[3] = (unsigned char)(0x80 | code);
    bytes[6] = 0;
    bytes[7] = (unsigned char)answers;
    bytes[8] = bytes[9] = bytes[10] = bytes[11] = 0; /* neither authorities nor the query's options */
    for (int i = strncmp(name, "twice.", 6) == 0 ? 2 : 1; i > 0; i--)
        (void)sendto(scene->fd, bytes, end, 0, (const struct sockaddr *)(const void *)from, sizeof *from);
}

static void on_query(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    struct scene *scene = arg;
    (void)loop;
    (void)watch;
    (void)events;
    for (;;) {
        unsigned char bytes[1024];
        struct sockaddr_in from;
        socklen_t size = sizeof from;
        const ssize_t got = recvfrom(fd, bytes, 512, MSG_DONTWAIT, (struct sockaddr *)(void *)&from, &size);
        if (got < 17)
            return;
        scene->queries++;
        scene->state = scene->state * 6364136223846793005U + 1442695040888963407U;
        if (scene->loss != 0 && (scene->state >> 33) % scene->loss == 0)
            scene->lost++;
        else
            answer(scene, bytes, (size_t)got, &from);
    }
}

static void scene_open(struct scene *scene, vigil_dns_options *more)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    char servers[32];
    const int room = 1 << 20;
    vigil_dns_options options = VIGIL_DNS_OPTIONS_INIT;
    memset(scene, 0, sizeof *scene);
    scene->loop = loop_plain();
    scene->state = 7;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    scene->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must(scene->fd >= 0);
    (void)setsockopt(scene->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    must_equal(bind(scene->fd, (struct sockaddr *)(void *)&at, sizeof at), 0);
    must_equal(getsockname(scene->fd, (struct sockaddr *)(void *)&at, &size), 0);
    must_equal(
        vigil_watch_add(scene->loop, scene->fd, VIGIL_FD_READ, VIGIL_WATCH_UNREF, on_query, NULL, scene, &scene->watch),
        0);
    (void)snprintf(servers, sizeof servers, "127.0.0.1:%u", ntohs(at.sin_port));
    if (more != NULL)
        options = *more;
    options.servers = servers;
    must_equal(vigil_dns_create(&scene->dns, scene->loop, &options), 0);
}

static void scene_end(struct scene *scene)
{
    vigil_dns_destroy(scene->dns);
    must_equal(vigil_watch_remove(scene->loop, scene->watch), 0);
    must_equal(vigil_loop_run(scene->loop, VIGIL_RUN), 0); /* nothing keeps it */
    must_equal(close(scene->fd), 0);
    must_equal(vigil_loop_destroy(scene->loop), 0);
}

/* ---- asking ------------------------------------------------------------------------------------------------------------ */

static vigil_value came(vigil_value *value, void *arg)
{
    struct scene *scene = arg;
    const vigil_dns_addresses *found = value->pointer;
    scene->settled++;
    scene->error = 0;
    scene->count = found->count;
    scene->seconds = found->seconds;
    for (size_t i = 0; i < found->count && i < 4; i++)
        must(vigil_address_text(&found->items[i], scene->text[i], VIGIL_ADDRESS_TEXT) > 0);
    return vigil_value_none();
}

static vigil_value failed(vigil_value *reason, void *arg)
{
    struct scene *scene = arg;
    scene->settled++;
    scene->error = reason->status;
    return vigil_value_none();
}

static void begin(struct scene *scene, const char *name, vigil_cancel_token *token)
{
    vigil_promise *promise;
    must_equal(vigil_promise_dns(scene->dns, name, 80, token, &promise), 0);
    must_equal(vigil_promise_then(promise, came, failed, scene, NULL), 0);
    vigil_promise_unref(promise);
}

static void ask(struct scene *scene, const char *name)
{
    const unsigned before = scene->settled;
    begin(scene, name, NULL);
    while (scene->settled == before)
        must(vigil_loop_run(scene->loop, VIGIL_RUN_ONCE) >= 0);
}

static bool has(const struct scene *scene, const char *text)
{
    for (size_t i = 0; i < scene->count && i < 4; i++)
        if (strcmp(scene->text[i], text) == 0)
            return true;
    return false;
}

static void both_families_come_together(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, NULL);
    ask(&scene, "n5.test");
    must_equal(scene.error, 0);
    must_equal(scene.count, 2);
    must(has(&scene, "127.1.0.5:80"));
    must(has(&scene, "[fd00::5]:80"));
    must_equal(scene.queries, 2);
    ask(&scene, "four.test");
    must_equal(scene.count, 1);
    ask(&scene, "six.test");
    must_equal(scene.count, 1);
    ask(&scene, "twice.test");
    must_equal(scene.count, 2);
    const unsigned queries = scene.queries;
    ask(&scene, "127.0.0.1"); /* its own answer */
    must(has(&scene, "127.0.0.1:80"));
    ask(&scene, "::1");
    must(has(&scene, "[::1]:80"));
    ask(&scene, "localhost"); /* the hosts file */
    must(has(&scene, "127.0.0.1:80") || has(&scene, "[::1]:80"));
    must_equal(scene.queries, queries);
    scene_end(&scene);
}

static void what_cannot_be_found_is_said(void **state)
{
    (void)state;
    struct scene scene;
    vigil_dns_options options = VIGIL_DNS_OPTIONS_INIT;
    vigil_promise *promise;
    options.attempt_ns = 20000000;
    options.attempts = 2;
    scene_open(&scene, &options);
    ask(&scene, "no.test");
    must_equal(scene.error, -ENOENT);
    ask(&scene, "fail.test");
    must_equal(scene.error, -EIO);
    ask(&scene, "silent.test");
    must_equal(scene.error, -ETIMEDOUT);
    must_equal(vigil_promise_dns(scene.dns, "", 80, NULL, &promise), -EINVAL);
    must_equal(vigil_promise_dns(scene.dns, "a b", 80, NULL, &promise), -EINVAL);
    must_equal(vigil_promise_dns(scene.dns, "a", 65536, NULL, &promise), -EINVAL);
    vigil_dns *other;
    options.servers = "not an address";
    must_equal(vigil_dns_create(&other, scene.loop, &options), -EINVAL);
    scene_end(&scene);
}

/* One datagram of fifty is lost. */
static void a_thousand_names_with_lost_datagrams(void **state)
{
    (void)state;
    struct scene scene;
    char name[32];
    scene_open(&scene, NULL);
    scene.loss = 50;
    const uint64_t begun = now_ns();
    for (unsigned i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "n%u.test", i);
        begin(&scene, name, NULL);
    }
    vigil_dns_stats stats = VIGIL_DNS_STATS_INIT;
    must_equal(vigil_dns_stats_get(scene.dns, &stats), 0);
    must_equal(stats.in_flight, 100);
    must_equal(stats.waiting, NAMES - 100);
    while (scene.settled < NAMES) {
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
        must_equal(scene.error, 0);
    }
    const uint64_t ms = (now_ns() - begun) / 1000000;
    print_message("%u names in %llu ms, %u of %u datagrams lost\n", NAMES, (unsigned long long)ms, scene.lost,
                  scene.queries);
    must(scene.lost > 10);
    must(ms < 4000); /* the bar is 1 s on a machine of our own; c-ares by itself takes 5 s */
    scene_end(&scene);
}

static void the_timer_is_over(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    *(bool *)arg = true;
}

static void answers_are_kept_as_long_as_they_are_valid(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, NULL);
    ask(&scene, "n1.test");
    must_equal(scene.seconds, 60); /* the shorter of both */
    ask(&scene, "N1.test");
    must_equal(scene.queries, 2);
    must(scene.seconds >= 58);
    ask(&scene, "zero.test");
    ask(&scene, "zero.test");
    must_equal(scene.queries, 6);
    ask(&scene, "short.test");
    ask(&scene, "short.test");
    must_equal(scene.queries, 8);
    bool over = false;
    must_equal(vigil_timer_start(scene.loop, INT64_C(2100000000), the_timer_is_over, &over, NULL), 0);
    while (!over)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    ask(&scene, "short.test");
    must_equal(scene.queries, 10);
    vigil_dns_stats stats = VIGIL_DNS_STATS_INIT;
    must_equal(vigil_dns_stats_get(scene.dns, &stats), 0);
    must_equal(stats.lookups, 7);
    must_equal(stats.from_kept, 2);
    scene_end(&scene);
}

static void lookups_can_be_taken_back(void **state)
{
    (void)state;
    struct scene scene;
    vigil_cancel_source *source;
    vigil_dns_options options = VIGIL_DNS_OPTIONS_INIT;
    options.in_flight = 1;
    scene_open(&scene, &options);
    must_equal(vigil_cancel_create(&source), 0);
    begin(&scene, "silent.test", vigil_cancel_token_of(source)); /* in flight */
    begin(&scene, "n1.test", vigil_cancel_token_of(source));     /* waits */
    must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
    while (scene.settled < 2)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(scene.error, -ECANCELED);
    begin(&scene, "n2.test", NULL);
    vigil_dns_destroy(scene.dns); /* and the resolver goes */
    scene.dns = NULL;
    while (scene.settled < 3)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(scene.error, -ECANCELED);
    vigil_cancel_destroy(source);
    scene_end(&scene);
}

static vigil_value places_came(vigil_value *value, void *arg)
{
    struct scene *scene = arg;
    const vigil_dns_places *found = value->pointer;
    static const char *const hosts[] = {"a.test", "b.test", "c.test"};
    must_equal(found->count, 3);
    for (size_t i = 0; i < 3; i++) {
        must_equal(strcmp(found->items[i].host, hosts[i]), 0);
        must_equal(found->items[i].port, 8080);
    }
    scene->settled++;
    return vigil_value_none();
}

static void services_are_found(void **state)
{
    (void)state;
    struct scene scene;
    vigil_promise *promise;
    scene_open(&scene, NULL);
    must_equal(vigil_promise_dns_service(scene.dns, "_s._tcp.test", NULL, &promise), 0);
    must_equal(vigil_promise_then(promise, places_came, NULL, &scene, NULL), 0);
    vigil_promise_unref(promise);
    while (scene.settled == 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    scene_end(&scene);
}

static void accept_one(vigil_listener *listener, vigil_stream *stream, void *user)
{
    (void)listener;
    (void)user;
    (void)vigil_stream_close(stream);
}

static vigil_value connected(vigil_value *value, void *arg)
{
    struct scene *scene = arg;
    scene->settled++;
    scene->error = 0;
    must_equal(vigil_stream_close(vigil_value_move(value).pointer), 0);
    return vigil_value_none();
}

static void connect_by_name(void **state)
{
    (void)state;
    struct scene scene;
    vigil_address address;
    vigil_listener *listener;
    vigil_promise *promise;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    static const char *const names[] = {"four.test", "no.test"};
    static const int expected[] = {0, -ENOENT};
    scene_open(&scene, NULL);
    options.on_stream = accept_one;
    must_equal(vigil_address_init(&address, "127.1.0.0:0"), 0);
    must_equal(vigil_listener_open(&listener, scene.loop, &address, &options), 0);
    must_equal(vigil_listener_address(listener, &address), 0);
    const unsigned port = ntohs(((struct sockaddr_in *)(void *)&address.storage)->sin_port);
    for (size_t i = 0; i < 2; i++) {
        must_equal(vigil_promise_dns_connect(scene.dns, names[i], port, NULL, NULL, &promise), 0);
        must_equal(vigil_promise_then(promise, connected, failed, &scene, NULL), 0);
        vigil_promise_unref(promise);
        while (scene.settled <= i)
            must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
        must_equal(scene.error, expected[i]);
    }
    must_equal(vigil_listener_close(listener), 0);
    scene_end(&scene);
}

/* ---- without c-ares ---------------------------------------------------------------------------------------------------- */

static void the_system_is_asked_on_a_pool(void **state)
{
    (void)state;
    struct scene scene = {0};
    vigil_promise *promise;
    vigil_dns_options options = VIGIL_DNS_OPTIONS_INIT;
    vigil_pool_options pool = VIGIL_POOL_OPTIONS_INIT;
    pool.workers = 2;
    must_equal(vigil_pool_create(&scene.pool, &pool), 0);
    scene.loop = loop_plain();
    must_equal(vigil_dns_create(&scene.dns, scene.loop, &options), -EINVAL); /* no pool */
    options.pool = scene.pool;
    must_equal(vigil_dns_create(&scene.dns, scene.loop, &options), 0);
    ask(&scene, "localhost");
    must_equal(scene.error, 0);
    must(has(&scene, "127.0.0.1:80") || has(&scene, "[::1]:80"));
    ask(&scene, "127.0.0.1");
    must(has(&scene, "127.0.0.1:80"));
    must_equal(vigil_promise_dns_service(scene.dns, "_s._tcp.test", NULL, &promise), -EOPNOTSUPP);
    begin(&scene, "localhost", NULL);
    vigil_dns_destroy(scene.dns);
    while (scene.settled < 3)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(vigil_loop_run(scene.loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(scene.loop), 0);
    must_equal(vigil_pool_destroy(scene.pool), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_families_come_together),
        cmocka_unit_test(what_cannot_be_found_is_said),
        cmocka_unit_test(a_thousand_names_with_lost_datagrams),
        cmocka_unit_test(answers_are_kept_as_long_as_they_are_valid),
        cmocka_unit_test(lookups_can_be_taken_back),
        cmocka_unit_test(services_are_found),
        cmocka_unit_test(connect_by_name),
    };
    const struct CMUnitTest without[] = {cmocka_unit_test(the_system_is_asked_on_a_pool)};
    return vigil_dns_has_cares() ? cmocka_run_group_tests_name("c-ares", tests, NULL, NULL)
                                 : cmocka_run_group_tests_name("system", without, NULL, NULL);
}
