/* SPDX-License-Identifier: MIT */
/* A c-ares channel on a loop, with a small name server on the same loop. */
#include "../loop/loop_test.h"

#include <vigil/adapters/ares.h>

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

struct scene {
    vigil_loop *loop;
    vigil_ares *ares;
    int fd;
    vigil_watch watch;
    unsigned skip; /* so many queries get no answer */
    unsigned queries;
    unsigned found, failed;
    int last;
    unsigned chain; /* queries that a callback still makes */
};

/* 192.0.2.1 for every A, nothing for the rest. */
static void answer(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    struct scene *scene = arg;
    unsigned char bytes[1024];
    struct sockaddr_in from;
    socklen_t room = sizeof from;
    ssize_t got;
    (void)loop;
    (void)watch;
    (void)events;
    while ((got = recvfrom(fd, bytes, 512, MSG_DONTWAIT, (struct sockaddr *)(void *)&from, &room)) > 12) {
        static const unsigned char record[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1};
        size_t end = 12;
        scene->queries++;
        if (scene->skip > 0) {
            scene->skip--;
            continue;
        }
        while (bytes[end] != 0)
            end += (size_t)bytes[end] + 1;
        end += 5;
        const bool has_answer = bytes[end - 3] == 1;
        if (has_answer) {
            memcpy(bytes + end, record, sizeof record);
            end += sizeof record;
        }
        bytes[2] = 0x81;
        bytes[3] = 0x80;
        bytes[6] = 0;
        bytes[7] = has_answer;
        memset(bytes + 8, 0, 4);
        (void)sendto(fd, bytes, end, 0, (struct sockaddr *)(void *)&from, room);
    }
}

static void scene_open(struct scene *scene, int timeout_ms)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    struct ares_options options = {.timeout = timeout_ms, .tries = 3};
    char server[32];
    memset(scene, 0, sizeof *scene);
    scene->loop = loop_plain();
    scene->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must(scene->fd >= 0);
    must_equal(bind(scene->fd, (struct sockaddr *)(void *)&address, sizeof address), 0);
    must_equal(getsockname(scene->fd, (struct sockaddr *)(void *)&address, &length), 0);
    (void)snprintf(server, sizeof server, "127.0.0.1:%d", ntohs(address.sin_port));
    must_equal(
        vigil_watch_add(scene->loop, scene->fd, VIGIL_FD_READ, VIGIL_WATCH_UNREF, answer, NULL, scene, &scene->watch),
        0);
    must_equal(vigil_ares_open(&scene->ares, scene->loop, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES), 0);
    must_equal(ares_set_servers_ports_csv(vigil_ares_channel(scene->ares), server), ARES_SUCCESS);
}

static void scene_end(struct scene *scene)
{
    vigil_ares_close(scene->ares);
    must_equal(vigil_watch_remove(scene->loop, scene->watch), 0);
    must_equal(close(scene->fd), 0);
    must_equal(vigil_loop_run(scene->loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(scene->loop), 0);
}

static void on_found(void *arg, int status, int timeouts, struct ares_addrinfo *found);

static void ask(struct scene *scene, const char *name)
{
    const struct ares_addrinfo_hints hints = {.ai_family = AF_INET, .ai_flags = ARES_AI_NOSORT};
    ares_getaddrinfo(vigil_ares_channel(scene->ares), name, NULL, &hints, on_found, scene);
}

static void on_found(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
    struct scene *scene = arg;
    (void)timeouts;
    scene->last = status;
    if (status == ARES_SUCCESS) {
        const struct sockaddr_in *address = (const void *)found->nodes->ai_addr;
        must_equal(ntohl(address->sin_addr.s_addr), 0xc0000201);
        scene->found++;
        ares_freeaddrinfo(found);
    } else {
        scene->failed++;
    }
    if (scene->chain > 0 && status != ARES_EDESTRUCTION) {
        scene->chain--;
        ask(scene, "next.test");
    }
}

static void names_are_found(void **state)
{
    struct scene scene;
    char name[32];
    (void)state;
    scene_open(&scene, 5000);
    for (int i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof name, "n%d.test", i);
        ask(&scene, name);
    }
    scene.chain = 50;
    must_equal(vigil_loop_run(scene.loop, VIGIL_RUN), 0); /* a query keeps the loop, nothing else does */
    must_equal(scene.found, 100);
    must_equal(scene.failed, 0);
    vigil_ares_close(scene.ares);
    must_equal(close(scene.fd), 0);
    must_equal(vigil_loop_destroy(scene.loop), 0);
}

static void a_lost_query_is_asked_again_in_time(void **state)
{
    struct scene scene;
    (void)state;
    scene_open(&scene, 20);
    scene.skip = 1;
    ask(&scene, "lost.test");
    while (scene.found + scene.failed == 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(scene.found, 1);
    must_be_between(scene.queries, 2, 3);
    scene_end(&scene);
}

static void a_server_that_stays_silent_is_given_up(void **state)
{
    struct scene scene;
    (void)state;
    scene_open(&scene, 5);
    scene.skip = UINT32_MAX;
    ask(&scene, "silent.test");
    while (scene.found + scene.failed == 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(scene.last, ARES_ETIMEOUT);
    scene_end(&scene);
}

static void closing_it_ends_its_queries(void **state)
{
    struct scene scene;
    (void)state;
    scene_open(&scene, 60000);
    scene.skip = UINT32_MAX;
    ask(&scene, "a.test");
    ask(&scene, "b.test");
    while (scene.queries < 2)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    vigil_ares_close(scene.ares);
    scene.ares = NULL;
    must_equal(scene.failed, 2);
    must_equal(scene.last, ARES_EDESTRUCTION);
    scene_end(&scene);
}

static void close_inside(void *arg, int status, int timeouts, unsigned char *bytes, int length)
{
    struct scene *scene = arg;
    (void)timeouts;
    (void)bytes;
    (void)length;
    scene->last = status;
    scene->found += status == ARES_SUCCESS;
    scene->failed += status != ARES_SUCCESS;
    vigil_ares_close(scene->ares);
}

static void it_is_closed_inside_a_callback(void **state)
{
    struct scene scene;
    (void)state;
    scene_open(&scene, 60000);
    for (int i = 0; i < 5; i++)
        ares_query(vigil_ares_channel(scene.ares), "a.test", ns_c_in, ns_t_a, close_inside, &scene);
    scene.skip = 4; /* one answer closes it, and the rest ends with it */
    while (scene.found + scene.failed == 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(scene.found, 1);
    must_equal(scene.failed, 4);
    must_equal(scene.last, ARES_EDESTRUCTION);
    scene.ares = NULL;
    scene_end(&scene);
}

static void wrong_arguments_are_refused(void **state)
{
    vigil_loop *loop = loop_plain();
    vigil_ares *ares;
    (void)state;
    must_equal(vigil_ares_open(NULL, loop, NULL, 0), -EINVAL);
    must_equal(vigil_ares_open(&ares, loop, NULL, ARES_OPT_TRIES), -EINVAL);
    vigil_ares_close(NULL);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(names_are_found),
        test(a_lost_query_is_asked_again_in_time),
        test(a_server_that_stays_silent_is_given_up),
        test(closing_it_ends_its_queries),
        test(it_is_closed_inside_a_callback),
        test(wrong_arguments_are_refused),
    };
    must_equal(ares_library_init(ARES_LIB_INIT_ALL), ARES_SUCCESS);
    const int failed = run_all(tests);
    ares_library_cleanup();
    return failed;
}
