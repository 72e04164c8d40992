/* SPDX-License-Identifier: MIT */
/* Listening, accepting, deadlines, and the events' way to JavaScript. */
#include "http_server.h"

#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "http_conn.h"
#include "port.h"
#include "turn.h"

#define ACCEPTS_PER_TURN 64
#define ROUNDS_PER_TURN  64
#define STARVED_NS       100000000U /* how long until a server without descriptors looks again */

/* ---- events ----------------------------------------------------------------------------------------------------- */

bool vg_http_room(const vg_http *http)
{
    return http->events[1] < VG_HTTP_EVENTS - 8;
}

unsigned vg_http_add(vg_http *http, int kind, unsigned id, double a, double b)
{
    unsigned at = (unsigned)http->events[1];
    double *event = http->events + 4 + 4 * (size_t)at;
    event[0] = kind;
    event[1] = id;
    event[2] = a;
    event[3] = b;
    http->events[1] = at + 1;
    return at;
}

void vg_http_arm(vg_http *http)
{
    vigil_js *js = http->js;
    if (http->armed || http->delivering || js->ended)
        return;
    http->armed = true;
    http->done.next = NULL;
    *js->ready_end = &http->done;
    js->ready_end = &http->done.next;
    vg_js_sync(js);
}

void vg_http_later(vg_http_conn *conn)
{
    vg_http *http = conn->http;
    if (!conn->in_turn) {
        conn->in_turn = true;
        conn->next_in_turn = NULL;
        *http->turn_end = conn;
        http->turn_end = &conn->next_in_turn;
    }
    vg_http_arm(http);
}

static void server_free(vg_http_server *server)
{
    server->http->servers[server->id] = NULL;
    free(server->path);
    free(server);
}

/* Everything that JavaScript has taken is behind us; connections whose end it knows are gone. */
static void settle(vg_http *http)
{
    unsigned taken = (unsigned)http->events[0];
    for (unsigned i = 0; i < taken; i++) {
        const double *event = http->events + 4 + 4 * (size_t)i;
        if (event[0] == VG_HTTP_EVENT_CLOSED) {
            unsigned id = (unsigned)event[1];
            vg_http_server *server = http->conns[id]->server;
            vg_http_conn_free(http->conns[id]);
            http->conns[id] = NULL;
            if (id < http->free_hint)
                http->free_hint = id;
            if (--server->held == 0 && server->fd < 0)
                server_free(server);
        }
    }
    memmove(http->events + 4, http->events + 4 + 4 * (size_t)taken,
            4 * sizeof(double) * ((size_t)http->events[1] - taken));
    http->events[1] -= taken;
    http->events[0] = 0;
}

static void take_turns(vg_http *http)
{
    vg_http_conn *conn = http->turn_first;
    http->turn_first = NULL;
    http->turn_end = &http->turn_first;
    while (conn) {
        vg_http_conn *next = conn->next_in_turn;
        conn->in_turn = false;
        if (vg_http_room(http))
            vg_http_conn_turn(conn);
        else
            vg_http_later(conn);
        conn = next;
    }
}

/* A turn's events, and what follows from them at once (pipelined requests), within reason. */
static void deliver(vigil_js *js, vg_done *done)
{
    vg_http *http = js->http;
    (void)done;
    http->armed = false;
    http->delivering++;
    for (int round = 0; round < ROUNDS_PER_TURN; round++) {
        while (http->events[0] < http->events[1] && !js->ended && !js->unwound)
            vg_js_dispatch(js, VG_DISPATCH_EVENT, http->receive, NULL, NULL);
        settle(http);
        if (!http->turn_first || js->ended || js->unwound)
            break;
        take_turns(http);
    }
    http->delivering--;
    if (http->events[1] > 0 || http->turn_first)
        vg_http_arm(http);
}

static void dropped(vg_done *done)
{
    vg_http *http = (vg_http *)(void *)((char *)done - offsetof(vg_http, done));
    http->armed = false;
}

/* ---- deadlines -------------------------------------------------------------------------------------------------- */

static void on_timer(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    vg_http *http = arg;
    uint64_t now = vigil_loop_now(loop), next = 0, count;
    (void)watch;
    (void)events;
    if (read(fd, &count, sizeof count) < 0 && errno == EAGAIN)
        return;
    http->timer_at = 0;
    for (unsigned i = 0; i < http->conn_room; i++) {
        vg_http_conn *conn = http->conns[i];
        if (conn && conn->deadline && conn->deadline <= now && vg_http_room(http))
            vg_http_conn_expired(conn);
        if (conn && conn->deadline && (!next || conn->deadline < next))
            next = conn->deadline;
    }
    vg_http_fed(http);
    if (next)
        vg_http_timer_before(http, next > now ? next : now + 1000000U);
}

/* One timer for all, at or before the first deadline. Deadlines only move away while requests come, so it is rarely touched. It is a
   descriptor and no timer of the loop: with one of those each sleep between two requests would set up a timeout in the kernel. */
void vg_http_timer_before(vg_http *http, uint64_t deadline)
{
    struct itimerspec at = {
        .it_value = {.tv_sec = (time_t)(deadline / 1000000000U), .tv_nsec = (long)(deadline % 1000000000U)}};
    if (http->timer_at && http->timer_at <= deadline)
        return;
    if (http->timer_fd < 0) {
        int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        if (fd < 0)
            return; /* no descriptor: the next deadline asks again */
        if (vigil_watch_add(http->js->loop, fd, VIGIL_FD_READ, VIGIL_WATCH_UNREF, on_timer, NULL, http, &http->timer) <
            0) {
            close(fd);
            return;
        }
        http->timer_fd = fd;
    }
    if (timerfd_settime(http->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) == 0)
        http->timer_at = deadline;
}

/* ---- accepting -------------------------------------------------------------------------------------------------- */

bool vg_http_place(vg_http *http, vg_http_conn *conn)
{
    unsigned at = http->free_hint;
    while (at < http->conn_room && http->conns[at])
        at++;
    if (at == http->conn_room) {
        unsigned room = http->conn_room ? http->conn_room * 2 : 64;
        vg_http_conn **grown = realloc(http->conns, room * sizeof *grown);
        if (!grown)
            return false;
        memset(grown + http->conn_room, 0, (room - http->conn_room) * sizeof *grown);
        http->conns = grown;
        http->conn_room = room;
    }
    http->conns[at] = conn;
    http->free_hint = at + 1;
    conn->id = at;
    return true;
}

/* No descriptor or no memory for the next connection: it waits in the kernel until one of ours ends, or for a moment. */
static void starve(vg_http_server *server)
{
    if (server->starved)
        return;
    server->starved = true;
    server->http->starved++;
    vigil_watch_remove(server->http->js->loop, server->watch);
    vg_http_timer_before(server->http, vigil_loop_now(server->http->js->loop) + STARVED_NS);
}

void vg_http_fed(vg_http *http)
{
    for (unsigned i = 0; http->starved > 0 && i < http->server_room; i++) {
        vg_http_server *server = http->servers[i];
        if (!server || !server->starved)
            continue;
        server->starved = false;
        http->starved--;
        if (server->fd >= 0 && vg_http_watch_server(server) < 0) {
            server->starved = true;
            http->starved++;
            vg_http_timer_before(http, vigil_loop_now(http->js->loop) + STARVED_NS);
            return;
        }
    }
}

static void on_incoming(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    vg_http_server *server = arg;
    vg_http *http = server->http;
    (void)loop;
    (void)watch;
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN && vg_http_room(http); i++) {
        int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        vg_http_conn *conn;
        if (client < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                starve(server);
            else if (errno == ECONNABORTED || errno == EINTR)
                continue;
            return;
        }
        conn = vg_http_conn_new(server, client);
        if (conn && !vg_http_place(http, conn)) {
            vigil_watch_remove(http->js->loop, conn->watch);
            vg_http_conn_free(conn);
            conn = NULL;
        }
        if (!conn) {
            close(client);
            return;
        }
        server->held++;
        vg_http_add(http, VG_HTTP_EVENT_OPEN, conn->id, server->id, 0);
        vg_http_arm(http);
    }
}

/* ---- listening -------------------------------------------------------------------------------------------------- */

int vg_http_watch_server(vg_http_server *server)
{
    return vigil_watch_add(server->http->js->loop, server->fd, VIGIL_FD_READ, server->unref ? VIGIL_WATCH_UNREF : 0,
                           on_incoming, NULL, server, &server->watch);
}

static int bound(int family, const struct sockaddr *address, socklen_t length, int backlog)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, error;
    if (fd < 0)
        return -errno;
    if (family != AF_UNIX)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address, length) == 0 && listen(fd, backlog) == 0)
        return fd;
    error = -errno;
    close(fd);
    return error;
}

static int bound_by_name(const char *host, unsigned port, int backlog)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found = NULL;
    char service[16];
    int result;
    snprintf(service, sizeof service, "%u", port);
    /* A name that is no address may be looked up in the network, and the loop stands still until then; programs listen on
       addresses and on localhost, which is in a file. */
    result = getaddrinfo(host, service, &hints, &found);
    if (result != 0)
        return result == EAI_MEMORY ? -ENOMEM : -ENOENT;
    result = bound(found->ai_family, found->ai_addr, found->ai_addrlen, backlog);
    freeaddrinfo(found);
    return result;
}

static int open_listener(const char *host, unsigned port, const char *path, int backlog)
{
    if (path) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        if (strlen(path) >= sizeof address.sun_path)
            return -ENAMETOOLONG;
        memcpy(address.sun_path, path, strlen(path));
        return bound(AF_UNIX, (struct sockaddr *)&address, sizeof address, backlog);
    }
    if (!host) {
        /* All addresses, also those of IPv4; on a machine without IPv6 only these. */
        struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        int fd = bound(AF_INET6, (struct sockaddr *)&six, sizeof six, backlog);
        if (fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL)
            return fd;
        return bound(AF_INET, (struct sockaddr *)&four, sizeof four, backlog);
    }
    return bound_by_name(host, port, backlog);
}

int vg_http_place_server(vg_http *http, vg_http_server *server)
{
    unsigned at = 0;
    while (at < http->server_room && http->servers[at])
        at++;
    if (at == http->server_room) {
        unsigned room = http->server_room ? http->server_room * 2 : 4;
        vg_http_server **grown = realloc(http->servers, room * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        memset(grown + http->server_room, 0, (room - http->server_room) * sizeof *grown);
        http->servers = grown;
        http->server_room = room;
    }
    http->servers[at] = server;
    server->id = at;
    return 0;
}

int vg_http_listen(vg_http *http, const char *host, unsigned port, const char *path, int backlog, vg_http_server **out)
{
    vg_http_server *server = calloc(1, sizeof *server);
    int error;
    if (!server)
        return -ENOMEM;
    server->http = http;
    server->path = path ? strdup(path) : NULL;
    server->fd = open_listener(host, port, path, backlog);
    error = server->fd < 0 ? server->fd : vg_http_place_server(http, server);
    if (error == 0 && (error = vg_http_watch_server(server)) < 0)
        http->servers[server->id] = NULL;
    if (error < 0) {
        if (server->fd >= 0)
            close(server->fd);
        free(server->path);
        free(server);
        return error;
    }
    /* Now, while there are descriptors. */
    vg_http_timer_before(http, vigil_loop_now(http->js->loop) + 60000000000U);
    *out = server;
    return 0;
}

void vg_http_server_close(vg_http_server *server)
{
    vg_http *http = server->http;
    if (server->fd < 0)
        return;
    server->closing = true;
    if (server->starved)
        http->starved--;
    else
        vigil_watch_remove(http->js->loop, server->watch);
    server->starved = false;
    close(server->fd);
    server->fd = -1;
    if (server->path)
        unlink(server->path);
    if (server->held == 0)
        server_free(server);
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

vg_http_conn *vg_http_conn_by_id(vg_http *http, double id)
{
    if (!(id >= 0 && id < http->conn_room))
        return NULL;
    return http->conns[(unsigned)id];
}

/* In a checkpoint that does not end the loop has no turn: look at the descriptors here. */
static void poll_now(vigil_js *js)
{
    vg_http *http = js->http;
    struct pollfd *list = calloc((size_t)http->conn_room + http->server_room + 1, sizeof *list);
    unsigned count = 0;
    if (!list)
        return;
    for (unsigned i = 0; i < http->server_room; i++)
        if (http->servers[i] && http->servers[i]->fd >= 0 && !http->servers[i]->starved)
            list[count++] = (struct pollfd){.fd = http->servers[i]->fd, .events = POLLIN};
    for (unsigned i = 0; i < http->conn_room; i++) {
        vg_http_conn *conn = http->conns[i];
        if (conn && conn->fd >= 0 && conn->watched)
            list[count++] = (struct pollfd){.fd = conn->fd,
                                            .events = (short)((conn->watched & VIGIL_FD_READ ? POLLIN : 0) |
                                                              (conn->watched & VIGIL_FD_WRITE ? POLLOUT : 0))};
    }
    if (poll(list, count, 0) > 0) {
        for (unsigned k = 0; k < count; k++) {
            unsigned events =
                (list[k].revents & POLLIN ? VIGIL_FD_READ : 0) | (list[k].revents & POLLOUT ? VIGIL_FD_WRITE : 0);
            if (!events)
                continue;
            for (unsigned i = 0; i < http->server_room; i++)
                if (http->servers[i] && http->servers[i]->fd == list[k].fd)
                    on_incoming(js->loop, http->servers[i]->watch, list[k].fd, events, http->servers[i]);
            for (unsigned i = 0; i < http->conn_room; i++)
                if (http->conns[i] && http->conns[i]->fd == list[k].fd && http->conns[i]->watched)
                    vg_http_conn_event(js->loop, http->conns[i]->watch, list[k].fd, events, http->conns[i]);
        }
    }
    free(list);
    /* What interrupted the storm may be inside of a delivery; this one takes the rest of its events first. */
    if (http->events[0] < http->events[1] || http->turn_first)
        deliver(js, &http->done);
}

/* A server listens, or a connection is open. */
static bool busy(vigil_js *js)
{
    vg_http *http = js->http;
    for (unsigned i = 0; i < http->conn_room; i++)
        if (http->conns[i])
            return true;
    for (unsigned i = 0; i < http->server_room; i++)
        if (http->servers[i] && http->servers[i]->fd >= 0)
            return true;
    return false;
}

static void end(vigil_js *js)
{
    vg_http *http = js->http;
    for (unsigned i = 0; i < http->conn_room; i++) {
        if (http->conns[i]) {
            vg_http_conn_close(http->conns[i], 0);
            vg_http_conn_free(http->conns[i]);
        }
    }
    for (unsigned i = 0; i < http->server_room; i++) {
        if (http->servers[i]) {
            http->servers[i]->held = 1; /* keeps it alive until the next line */
            vg_http_server_close(http->servers[i]);
            server_free(http->servers[i]);
        }
    }
    if (http->timer_fd >= 0) {
        vigil_watch_remove(js->loop, http->timer);
        close(http->timer_fd);
    }
    if (http->receive)
        vg_release(js->engine, http->receive);
    free(http->conns);
    free(http->servers);
    http->conns = NULL;
    http->servers = NULL;
    http->conn_room = http->server_room = 0;
    http->timer_fd = -1;
    http->receive = NULL;
}

vg_http *vg_http_get(vigil_js *js)
{
    vg_http *http = js->http;
    if (http)
        return http;
    http = calloc(1, sizeof *http);
    if (!http)
        return NULL;
    http->js = js;
    http->done.deliver = deliver;
    http->done.drop = dropped;
    http->turn_end = &http->turn_first;
    http->timer_fd = -1;
    js->http = http;
    js->http_poll = poll_now;
    js->http_end = end;
    js->http_busy = busy;
    return http;
}
