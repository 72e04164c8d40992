/* SPDX-License-Identifier: MIT */
/* Examples of vigil/datagram.h, one for each function. */
#include <assert.h>
#include <netinet/in.h>
#include <vigil/datagram.h>

/* vigil_datagrams_open: receive at a port */
static vigil_datagrams *receive_at(vigil_loop *loop,
                                   const vigil_address *where)
{
    vigil_datagrams_options options = VIGIL_DATAGRAMS_OPTIONS_INIT;
    options.local = where;
    vigil_datagrams *datagrams;
    int rc = vigil_datagrams_open(&datagrams, loop, &options);
    return rc == 0 ? datagrams : NULL;
}

/* vigil_datagrams_open_fd: receive from a socket that was passed */
static vigil_datagrams *receive_from(vigil_loop *loop, int fd)
{
    vigil_datagrams *datagrams;
    int rc = vigil_datagrams_open_fd(&datagrams, loop, fd, NULL);
    return rc == 0 ? datagrams : NULL;
}

/* vigil_datagrams_on_packets: send each batch back */
static void echo(vigil_datagrams *datagrams,
                 const vigil_packet *packets, int64_t count, void *arg)
{
    (void)arg;
    if (count > 0) /* each packet has its sender as peer */
        (void)vigil_datagrams_send(datagrams, packets, (size_t)count);
}

static void start_to_echo(vigil_datagrams *datagrams)
{
    int rc = vigil_datagrams_on_packets(datagrams, echo, NULL);
    assert(rc == 0);
}

/* vigil_datagrams_send: two datagrams with one call */
static void send_two(vigil_datagrams *datagrams,
                     const vigil_address *peer)
{
    char one[] = "one";
    char two[] = "two";
    const vigil_packet packets[] = {
        {.data = one, .length = 3, .peer = peer},
        {.data = two, .length = 3, .peer = peer},
    };
    int64_t accepted = vigil_datagrams_send(datagrams, packets, 2);
    assert(accepted == 2);
}

/* vigil_promise_packet: the next one, as a promise */
static vigil_promise *next_one(vigil_datagrams *datagrams, char *bytes,
                               size_t room, vigil_address *from)
{
    vigil_promise *promise;
    int rc = vigil_promise_packet(datagrams, bytes, room, from, NULL,
                                  &promise);
    return rc == 0 ? promise : NULL;
}

/* vigil_datagrams_address: which port is it? */
static void where_is_it(const vigil_datagrams *datagrams,
                        vigil_address *address)
{
    int rc = vigil_datagrams_address(datagrams, address);
    assert(rc == 0);
}

/* vigil_datagrams_fd: set a socket option */
static void through_few_routers(const vigil_datagrams *datagrams)
{
    int hops = 4;
    int rc = setsockopt(vigil_datagrams_fd(datagrams), IPPROTO_IP,
                        IP_TTL, &hops, sizeof hops);
    assert(rc == 0);
}

/* vigil_datagrams_unsent: does the network keep up? */
static bool keeps_up(const vigil_datagrams *datagrams)
{
    return vigil_datagrams_unsent(datagrams) == 0;
}

/*
 * vigil_datagrams_unref: listen, but do not hold the program up
 * vigil_datagrams_ref: hold it up again
 */
static void listen_beside(vigil_datagrams *datagrams, bool work)
{
    int rc = work ? vigil_datagrams_ref(datagrams)
                  : vigil_datagrams_unref(datagrams);
    assert(rc == 0);
}

/* vigil_datagrams_close: close the socket */
static void no_more(vigil_datagrams *datagrams)
{
    int rc = vigil_datagrams_close(datagrams);
    assert(rc == 0);
}

/* ---- all of them ---- */

int main(void)
{
    vigil_loop *loop;
    vigil_address any, where, from;
    char bytes[16];
    int rc = vigil_loop_create(&loop, NULL);
    assert(rc == 0);
    rc = vigil_address_init(&any, "127.0.0.1:0");
    assert(rc == 0);
    vigil_datagrams *server = receive_at(loop, &any);
    vigil_datagrams *client = receive_at(loop, &any);
    assert(server != NULL);
    assert(client != NULL);
    where_is_it(server, &where);
    through_few_routers(client);
    start_to_echo(server);
    send_two(client, &where);
    listen_beside(client, false);
    listen_beside(client, true);
    assert(keeps_up(client));
    vigil_promise *promise =
        next_one(client, bytes, sizeof bytes, &from);
    assert(promise != NULL);
    while (vigil_promise_state_get(promise) == VIGIL_PENDING)
        (void)vigil_loop_run(loop, VIGIL_RUN_ONCE);
    assert(bytes[0] == 'o');
    vigil_promise_unref(promise);
    no_more(client);
    no_more(server);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert(fd >= 0);
    vigil_datagrams *passed = receive_from(loop, fd);
    assert(passed != NULL);
    no_more(passed);
    rc = vigil_loop_run(loop, VIGIL_RUN);
    assert(rc == 0);
    rc = vigil_loop_destroy(loop);
    assert(rc == 0);
    return 0;
}
