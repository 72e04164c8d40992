/* SPDX-License-Identifier: MIT */
/*
 * Connections that change hands. JavaScript takes those that go on with another protocol, and brings others: those of node:https, and
 * streams that a program hands to a server. It holds one end of a pair of sockets and passes bytes between it and the stream; the other
 * end is a connection like all others. Two more copies per byte are little beside TLS, and deadlines, limits and back pressure are the
 * same as everywhere.
 */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "http_conn.h"
#include "http_server.h"

/* A server without a socket. Its descriptor never has anything to say. */
int vg_http_host(vg_http *http, vg_http_server **out)
{
    vg_http_server *server = calloc(1, sizeof *server);
    int error;
    if (!server)
        return -ENOMEM;
    server->http = http;
    server->unref = true;
    server->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    error = server->fd < 0 ? -errno : vg_http_place_server(http, server);
    if (error == 0 && (error = vg_http_watch_server(server)) < 0)
        http->servers[server->id] = NULL;
    if (error < 0) {
        if (server->fd >= 0)
            close(server->fd);
        free(server);
        return error;
    }
    *out = server;
    return 0;
}

/* Takes the descriptor, also when it fails. */
int vg_http_guest(vg_http_server *server, int fd, vg_http_conn **out)
{
    vg_http *http = server->http;
    vg_http_conn *conn = vg_http_conn_new(server, fd);
    if (!conn) {
        close(fd);
        return -ENOMEM;
    }
    if (!vg_http_place(http, conn)) {
        vigil_watch_remove(http->js->loop, conn->watch);
        vg_http_conn_free(conn);
        close(fd);
        return -ENOMEM;
    }
    server->held++;
    *out = conn;
    return 0;
}

int vg_http_take(vg_http_conn *conn)
{
    int fd = conn->fd;
    vigil_watch_remove(conn->http->js->loop, conn->watch);
    conn->fd = -1;
    conn->deadline = 0;
    conn->fault = 0;
    vg_buffer_free(&conn->out);
    vg_buffer_free(&conn->waiting);
    vg_http_later(conn);
    return fd;
}
