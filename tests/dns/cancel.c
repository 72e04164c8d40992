/* SPDX-License-Identifier: MIT */
/* A function that waits for a name is cancelled there. The server never answers. */
#include "../io/cancel_test.h"

#include <vigil/dns.h>

static struct {
    vigil_loop *loop;
    vigil_dns *dns;
    vigil_datagrams *server;
} scene;

static vigil_loop *open_scene(void *arg)
{
    vigil_dns_options options = VIGIL_DNS_OPTIONS_INIT;
    vigil_datagrams_options packets = VIGIL_DATAGRAMS_OPTIONS_INIT;
    vigil_address address;
    char text[VIGIL_ADDRESS_TEXT];
    (void)arg;
    scene.loop = loop_plain();
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    packets.local = &address;
    must_equal(vigil_datagrams_open(&scene.server, scene.loop, &packets), 0);
    must_equal(vigil_datagrams_address(scene.server, &address), 0);
    must(vigil_address_text(&address, text, sizeof text) > 0);
    options.servers = text;
    must_equal(vigil_dns_create(&scene.dns, scene.loop, &options), 0);
    return scene.loop;
}

static void close_scene(void *arg)
{
    (void)arg;
    vigil_dns_destroy(scene.dns);
    must_equal(vigil_datagrams_close(scene.server), 0);
    must_equal(vigil_loop_run(scene.loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(scene.loop), 0);
}

static int await_name(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_dns(scene.dns, "name.test", 80, token, promise);
}

static int await_service(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_dns_service(scene.dns, "_web._tcp.test", token, promise);
}

static int await_connect(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_dns_connect(scene.dns, "name.test", 80, NULL, token, promise);
}

static int await_address(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_dns(scene.dns, "127.0.0.1", 80, token, promise); /* nobody is asked */
}

static void names(void **state)
{
    (void)state;
    static const struct await_point points[] = {
        {"name", await_name, true},
        {"service", await_service, true},
        {"connect by name", await_connect, true},
        {"address", await_address, false},
    };
    const struct await_scene with = {open_scene, close_scene, NULL};
    cancel_everywhere(&with, points, count_of(points));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
    };
    if (!vigil_dns_has_cares()) /* the system cannot be told which server to ask */
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
