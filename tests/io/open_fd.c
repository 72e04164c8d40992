/* SPDX-License-Identifier: MIT */
/* Sockets that somebody else has made: of systemd, of a parent, with options of their own. */
#include "io_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

static int bound_socket(int type, vigil_address *address)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    must(fd >= 0);
    must_equal(bind(fd, (struct sockaddr *)&where, sizeof where), 0);
    address->length = sizeof address->storage;
    must_equal(getsockname(fd, &address->any, &address->length), 0);
    return fd;
}

static void take_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    (void)listener;
    *(vigil_stream **)user = stream;
}

static void a_listener_goes_on_with_a_socket_that_listens_or_does_not(void **state)
{
    (void)state;
    for (int listens = 0; listens < 2; listens++) {
        vigil_loop *loop = loop_plain();
        vigil_listener *listener;
        vigil_stream *stream = NULL;
        vigil_address address, says;
        vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
        options.on_stream = take_stream;
        options.user = &stream;
        const int fd = bound_socket(SOCK_STREAM, &address);
        if (listens)
            must_equal(listen(fd, 5), 0);
        must_equal(vigil_listener_open_fd(&listener, loop, fd, &options), 0);
        must_equal(vigil_listener_address(listener, &says), 0);
        must_equal(memcmp(&says.storage, &address.storage, address.length), 0);
        const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        must_equal(connect(client, &address.any, address.length), 0);
        while (stream == NULL)
            must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
        must_equal(vigil_stream_close(stream), 0);
        must_equal(vigil_listener_close(listener), 0);
        must_equal(fcntl(fd, F_GETFD), -1); /* it was the listener's */
        must_equal(close(client), 0);
        must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

static void the_file_of_a_given_unix_socket_stays(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_listener *listener;
    vigil_stream *stream = NULL;
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    options.on_stream = take_stream;
    options.user = &stream;
    (void)snprintf(where.sun_path, sizeof where.sun_path, "/tmp/vigil-open-fd-%d", (int)getpid());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0);
    must_equal(bind(fd, (struct sockaddr *)&where, sizeof where), 0);
    must_equal(vigil_listener_open_fd(&listener, loop, fd, &options), 0);
    must_equal(vigil_listener_close(listener), 0);
    must_equal(unlink(where.sun_path), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

struct packets {
    unsigned count;
    char text[16];
};

static void take_packets(vigil_datagrams *datagrams, const vigil_packet *packets, int64_t count, void *arg)
{
    struct packets *it = arg;
    (void)datagrams;
    if (count <= 0)
        return;
    it->count += (unsigned)count;
    memcpy(it->text, packets[0].data, packets[0].length < sizeof it->text ? packets[0].length : sizeof it->text);
}

static void datagrams_come_through_a_socket_that_was_passed(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_datagrams *datagrams;
    vigil_address address;
    struct packets it = {0};
    const int fd = bound_socket(SOCK_DGRAM, &address);
    must_equal(vigil_datagrams_open_fd(&datagrams, loop, fd, NULL), 0);
    must_equal(vigil_datagrams_on_packets(datagrams, take_packets, &it), 0);
    const int client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must_equal(sendto(client, "hello", 5, 0, &address.any, address.length), 5);
    while (it.count == 0)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(memcmp(it.text, "hello", 5), 0);
    must_equal(vigil_datagrams_close(datagrams), 0);
    must_equal(fcntl(fd, F_GETFD), -1);
    must_equal(close(client), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void what_does_not_fit_stays_the_callers(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_listener *listener;
    vigil_datagrams *datagrams;
    vigil_stream *stream = NULL;
    vigil_address address;
    int ends[2];
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    vigil_datagrams_options datagram_options = VIGIL_DATAGRAMS_OPTIONS_INIT;
    options.on_stream = take_stream;
    options.user = &stream;
    const int tcp = bound_socket(SOCK_STREAM, &address), udp = bound_socket(SOCK_DGRAM, &address);
    must_equal(pipe2(ends, O_CLOEXEC), 0);
    must_equal(vigil_listener_open_fd(&listener, loop, udp, &options), -EOPNOTSUPP);
    must_equal(vigil_listener_open_fd(&listener, loop, ends[0], &options), -ENOTSOCK);
    must_equal(vigil_listener_open_fd(&listener, loop, -1, &options), -EBADF);
    must_equal(vigil_listener_open_fd(&listener, loop, tcp, NULL), -EINVAL);
    must_equal(vigil_datagrams_open_fd(&datagrams, loop, tcp, NULL), -EOPNOTSUPP);
    must_equal(vigil_datagrams_open_fd(&datagrams, loop, ends[0], NULL), -ENOTSOCK);
    must_equal(vigil_datagrams_open_fd(&datagrams, loop, -1, NULL), -EBADF);
    datagram_options.local = &address;
    must_equal(vigil_datagrams_open_fd(&datagrams, loop, udp, &datagram_options), -EINVAL);
    must_equal(close(tcp), 0);
    must_equal(close(udp), 0);
    must_equal(close(ends[0]), 0);
    must_equal(close(ends[1]), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_listener_goes_on_with_a_socket_that_listens_or_does_not),
        test(the_file_of_a_given_unix_socket_stays),
        test(datagrams_come_through_a_socket_that_was_passed),
        test(what_does_not_fit_stays_the_callers),
    };
    return run_all(tests);
}
