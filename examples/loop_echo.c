/* SPDX-License-Identifier: MIT */
/*
 * An echo server on one loop: a listening socket, connections that close themselves when they are silent for a second,
 * Ctrl-C for a graceful end. With an argument it stays; without one it talks to itself, from a second thread, and ends.
 *
 *     loop_echo 7777          then: nc localhost 7777
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vigil/loop.h>

#define SILENCE_NS 1000000000U

struct connection {
    int fd;
    vigil_watch watch;
    vigil_timer timer;
};

/* The watch is over for good: only now is nobody using the memory. */
static void gone(void *arg)
{
    struct connection *connection = arg;
    close(connection->fd);
    free(connection);
}

static void hang_up(vigil_loop *loop, struct connection *connection)
{
    (void)vigil_timer_cancel(loop, connection->timer); /* -EBUSY if it is the timer that calls us: just as well */
    (void)vigil_watch_remove(loop, connection->watch);
}

static void silent(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)timer;
    hang_up(loop, arg);
}

static void readable(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)watch;
    (void)events;
    struct connection *connection = arg;
    char bytes[4096];
    ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    /* A real server keeps what does not fit and watches for VIGIL_FD_WRITE. */
    if (got <= 0 || send(fd, bytes, (size_t)got, MSG_NOSIGNAL) != got) {
        hang_up(loop, connection);
        return;
    }
    (void)vigil_timer_again(loop, connection->timer, SILENCE_NS); /* cheap: the heap is not touched */
}

static void incoming(vigil_loop *loop, vigil_watch watch, int listener, unsigned events, void *arg)
{
    (void)watch;
    (void)events;
    (void)arg;
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        return;
    connection->fd = accept(listener, NULL, NULL);
    if (connection->fd < 0 || vigil_timer_start(loop, SILENCE_NS, silent, connection, &connection->timer) != 0) {
        if (connection->fd >= 0)
            close(connection->fd);
        free(connection);
        return;
    }
    if (vigil_watch_add(loop, connection->fd, VIGIL_FD_READ, 0, readable, gone, connection, &connection->watch) != 0) {
        (void)vigil_timer_cancel(loop, connection->timer);
        gone(connection);
    }
}

static void interrupted(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)signal;
    (void)info;
    (void)arg;
    (void)vigil_loop_shutdown(loop, VIGIL_FOREVER); /* in a callback it returns at once; the loop ends after it */
}

/* ---- the other side ---------------------------------------------------------------------------------------------- */

struct client {
    vigil_loop *loop;
    struct sockaddr_in address;
    int echoed;
};

static void *talk(void *arg)
{
    struct client *client = arg;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&client->address, sizeof client->address) == 0) {
        for (int i = 0; i < 1000; i++) {
            char sent[] = "hello, loop";
            char back[sizeof sent];
            if (send(fd, sent, sizeof sent, 0) == (ssize_t)sizeof sent &&
                recv(fd, back, sizeof back, MSG_WAITALL) == (ssize_t)sizeof back && strcmp(sent, back) == 0)
                client->echoed++;
        }
    }
    if (fd >= 0)
        close(fd);
    (void)vigil_loop_shutdown(client->loop, VIGIL_FOREVER); /* from any thread; waits until it is done */
    return NULL;
}

int main(int argc, char **argv)
{
    vigil_loop *loop;
    struct client client = {.address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof client.address;
    if (argc > 1)
        client.address.sin_port = htons((uint16_t)atoi(argv[1]));
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&client.address, length) != 0 || listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&client.address, &length) != 0) {
        perror("cannot listen");
        return 1;
    }
    int rc = vigil_loop_create(&loop, NULL);
    if (rc == 0)
        rc = vigil_signal_add(loop, SIGINT, interrupted, NULL, NULL);
    if (rc == 0)
        rc = vigil_watch_add(loop, listener, VIGIL_FD_READ, 0, incoming, NULL, NULL, NULL);
    if (rc != 0) {
        fprintf(stderr, "no loop: %s\n", vigil_strerror(rc));
        return 1;
    }
    client.loop = loop;
    pthread_t thread;
    bool alone = argc <= 1 && pthread_create(&thread, NULL, talk, &client) == 0;
    (void)vigil_loop_run(loop, VIGIL_RUN);
    if (alone)
        pthread_join(thread, NULL);
    (void)vigil_loop_destroy(loop);
    close(listener);
    if (!alone)
        return 0;
    printf("echoed %d of 1000\n", client.echoed);
    return client.echoed == 1000 ? 0 : 1;
}
