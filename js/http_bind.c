/* SPDX-License-Identifier: MIT */
/* What lib/http_link.js calls. Connections and servers are numbers there; one that is gone answers -1, undefined or nothing. */
#include "http_bind.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "bind.h"
#include "http_conn.h"
#include "http_server.h"

static vg_http *http_of(vg_call *call)
{
    return ((vigil_js *)call->host)->http;
}

static vg_http_conn *conn_of(vg_call *call)
{
    return vg_http_conn_by_id(http_of(call), vg_arg_number(call, 0));
}

static vg_http_server *server_of(vg_call *call)
{
    vg_http *http = http_of(call);
    double id = vg_arg_number(call, 0);
    return id >= 0 && id < http->server_room ? http->servers[(unsigned)id] : NULL;
}

/* ---- servers ---------------------------------------------------------------------------------------------------- */

/* listen(host, port, path, backlog): the server's number, or a negative errno. */
static vg_val do_listen(vg_call *call)
{
    vg_http_server *server = NULL;
    char *host = vg_arg_is(call, 0, VG_STRING) ? vg_arg_text(call, 0, NULL) : NULL;
    char *path = vg_arg_is(call, 2, VG_STRING) ? vg_arg_text(call, 2, NULL) : NULL;
    int result = vg_http_listen(http_of(call), host, (unsigned)vg_arg_number(call, 1), path,
                                (int)vg_arg_number(call, 3), &server);
    free(host);
    free(path);
    return vg_number(call->engine, result < 0 ? result : (double)server->id);
}

/* host(): a server for guests */
static vg_val do_host(vg_call *call)
{
    vg_http_server *server = NULL;
    int result = vg_http_host(http_of(call), &server);
    return vg_number(call->engine, result < 0 ? result : (double)server->id);
}

/* guest(server, descriptor): the connection's number, or a negative errno */
static vg_val do_guest(vg_call *call)
{
    vg_http_server *server = server_of(call);
    vg_http_conn *conn = NULL;
    int fd = (int)vg_arg_number(call, 1), result = -EBADF;
    if (server)
        result = vg_http_guest(server, fd, &conn);
    else
        close(fd);
    return vg_number(call->engine, result < 0 ? result : (double)conn->id);
}

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

/* take(connection): [its descriptor, what was read of the next protocol]; the connection has ended for the server */
static vg_val do_take(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    unsigned char *rest;
    size_t length;
    vg_val items[2];
    if (!conn || conn->fd < 0)
        return NULL;
    length = conn->waiting.length;
    rest = malloc(length + 1);
    if (!rest)
        return vg_throw(call, "no memory");
    if (length > 0)
        memcpy(rest, conn->waiting.data + conn->waiting.start, length);
    items[0] = vg_number(call->engine, vg_http_take(conn));
    items[1] = vg_bytes(call->engine, rest, length, free_bytes, NULL);
    return items[1] ? vg_array(call->engine, 2, items) : NULL;
}

static uint64_t ns_of(double ms)
{
    return ms > 0 && ms < 1e12 ? (uint64_t)(ms * 1e6) : 0;
}

/* configure(server, headersTimeout, requestTimeout, keepAliveTimeout, maxHeaderSize, halfOpen, upgrades, tunnels), times in ms */
static vg_val do_configure(vg_call *call)
{
    vg_http_server *server = server_of(call);
    if (!server)
        return NULL;
    server->headers_timeout = ns_of(vg_arg_number(call, 1));
    server->request_timeout = ns_of(vg_arg_number(call, 2));
    server->idle_timeout = ns_of(vg_arg_number(call, 3));
    server->max_head = (size_t)vg_arg_number(call, 4);
    server->half_open = vg_to_bool(call->engine, vg_arg(call, 5));
    server->upgrades = vg_to_bool(call->engine, vg_arg(call, 6));
    server->tunnels = vg_to_bool(call->engine, vg_arg(call, 7));
    return NULL;
}

static vg_val do_close_server(vg_call *call)
{
    vg_http_server *server = server_of(call);
    if (server)
        vg_http_server_close(server);
    return NULL;
}

/* refer(server, keepsAlive) */
static vg_val do_refer(vg_call *call)
{
    vg_http_server *server = server_of(call);
    bool unref = !vg_to_bool(call->engine, vg_arg(call, 1));
    if (!server || server->unref == unref || server->fd < 0)
        return NULL;
    server->unref = unref;
    if (!server->starved) {
        vigil_watch_remove(server->http->js->loop, server->watch);
        if (vg_http_watch_server(server) < 0)
            return vg_throw(call, "no memory to watch the server's socket");
    }
    return NULL;
}

static vg_val address_of(vg_engine *engine, const struct sockaddr_storage *from)
{
    char text[INET6_ADDRSTRLEN] = "";
    vg_val items[3];
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)from;
        inet_ntop(AF_INET, &four->sin_addr, text, sizeof text);
        items[2] = vg_number(engine, ntohs(four->sin_port));
    } else if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
        inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
        items[2] = vg_number(engine, ntohs(six->sin6_port));
    } else {
        return vg_undefined(engine);
    }
    items[0] = vg_string(engine, text);
    items[1] = vg_string(engine, from->ss_family == AF_INET ? "IPv4" : "IPv6");
    return vg_array(engine, 3, items);
}

static vg_val name_of(vg_call *call, int fd, int (*get)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    if (fd < 0 || get(fd, (struct sockaddr *)&address, &length) < 0)
        return NULL;
    return address_of(call->engine, &address);
}

static int get_local(int fd, struct sockaddr *address, socklen_t *length)
{
    return getsockname(fd, address, length);
}

static int get_remote(int fd, struct sockaddr *address, socklen_t *length)
{
    return getpeername(fd, address, length);
}

static vg_val do_server_address(vg_call *call)
{
    vg_http_server *server = server_of(call);
    return server ? name_of(call, server->fd, get_local) : NULL;
}

/* ---- connections ------------------------------------------------------------------------------------------------ */

static vg_val do_local(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    return conn ? name_of(call, conn->fd, get_local) : NULL;
}

static vg_val do_remote(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    return conn ? name_of(call, conn->fd, get_remote) : NULL;
}

static vg_val do_head(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    return conn ? vg_latin1(call->engine, conn->last_head.data, conn->last_head.length) : NULL;
}

static vg_val do_trailer(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    return conn ? vg_latin1(call->engine, conn->trailer.data + conn->trailer.start, conn->trailer.length) : NULL;
}

static void free_body(void *data, void *arg)
{
    (void)arg;
    free(data);
}

static vg_val do_body(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    unsigned char *data;
    size_t length;
    if (!conn || conn->body.length == 0)
        return NULL;
    data = conn->body.data;
    length = conn->body.length;
    /* The buffer doubles as it grows; what JavaScript keeps should be what it sees. */
    if (conn->body.room > length + length / 4) {
        unsigned char *fitted = realloc(data, length);
        data = fitted ? fitted : data;
    }
    conn->body = (vg_buffer){0};
    conn->body_queued = false;
    return vg_bytes(call->engine, data, length, free_body, NULL);
}

/* fault(conn): [code, text, bytes parsed, the packet] */
static vg_val do_fault(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    vg_val items[4];
    unsigned char *packet;
    size_t length;
    if (!conn || !conn->fault_name)
        return NULL;
    length = conn->fault_packet.length;
    packet = malloc(length + 1);
    if (!packet)
        return NULL;
    if (length > 0)
        memcpy(packet, conn->fault_packet.data, length);
    items[0] = vg_string(call->engine, conn->fault_name);
    items[1] = vg_string(call->engine, conn->fault_text);
    items[2] = vg_number(call->engine, (double)conn->fault_parsed);
    items[3] = vg_bytes(call->engine, packet, length, free_body, NULL);
    return vg_array(call->engine, 4, items);
}

/* A string of ASCII or Latin-1, or bytes. `spare` is what has to be freed. */
static bool piece_of(vg_call *call, size_t i, bool latin1, unsigned char *room, size_t size, struct iovec *piece,
                     char **spare)
{
    vg_val value = vg_arg(call, i);
    unsigned char *text = room, *to;
    size_t length;
    if (vg_type_of(call->engine, value) != VG_STRING) {
        if (!vg_to_bytes(call->engine, value, &text, &length))
            return false;
        *piece = (struct iovec){.iov_base = text, .iov_len = length};
        return true;
    }
    length = vg_to_text_into(call->engine, value, (char *)room, size);
    if (length == SIZE_MAX) {
        *spare = vg_to_text(call->engine, value, &length);
        if (!*spare)
            return false;
        text = (unsigned char *)*spare;
    }
    *piece = (struct iovec){.iov_base = text, .iov_len = length};
    if (!latin1)
        return true;
    to = text;
    for (size_t k = 0; k < length; k++) {
        unsigned char c = text[k];
        if (c >= 0xc0 && k + 1 < length)
            c = (unsigned char)(c << 6 | (text[++k] & 0x3f)); /* U+0080 to U+00FF: two bytes of UTF-8 */
        *to++ = c;
    }
    piece->iov_len = (size_t)(to - text);
    return true;
}

/* send(conn, flags, a, b): the bytes that are queued, or -1 if the connection is gone. a and b: text, bytes or undefined */
static vg_val do_send(vg_call *call)
{
    static char line_end[] = "\r\n";
    vg_http *http = http_of(call);
    vg_http_conn *conn = conn_of(call);
    unsigned flags = (unsigned)vg_arg_number(call, 1), count = 0;
    struct iovec pieces[3];
    char *spare[2] = {NULL, NULL};
    double queued = -1;
    bool ok = true;
    if (!conn || conn->fd < 0)
        return vg_number(call->engine, -1);
    for (size_t i = 2; i < call->count && i < 4; i++) {
        if (vg_arg_is(call, i, VG_UNDEFINED))
            continue;
        ok = ok && piece_of(call, i, flags & VG_HTTP_SEND_LATIN1, count ? http->scratch : http->buffer, VG_HTTP_READ,
                            &pieces[count], &spare[count]);
        count += ok;
    }
    if (flags & VG_HTTP_SEND_CRLF)
        pieces[count++] = (struct iovec){.iov_base = line_end, .iov_len = 2};
    if (ok)
        queued = vg_http_send(conn, pieces, count, flags);
    free(spare[0]);
    free(spare[1]);
    return ok ? vg_number(call->engine, queued) : vg_throw(call, "neither text nor bytes, or no memory");
}

/* sendText(text) of ASCII, the way of nearly every answer. Connection and flags lie in events[2] and [3]: looking at an argument
   costs more than the rest of this function. */
static vg_val do_send_text(vg_call *call)
{
    vg_http *http = http_of(call);
    vg_http_conn *conn = vg_http_conn_by_id(http, http->events[2]);
    struct iovec piece = {.iov_base = http->buffer};
    char *spare = NULL;
    double queued;
    if (!conn || conn->fd < 0 || call->count != 1)
        return vg_number(call->engine, -1);
    piece.iov_len = vg_to_text_into(call->engine, call->args[0], (char *)http->buffer, VG_HTTP_READ);
    if (piece.iov_len == SIZE_MAX) {
        spare = vg_to_text(call->engine, call->args[0], &piece.iov_len);
        if (!spare)
            return vg_throw(call, "no memory for an answer");
        piece.iov_base = spare;
    }
    queued = vg_http_send(conn, &piece, 1, (unsigned)http->events[3]);
    free(spare);
    return vg_number(call->engine, queued);
}

static vg_val do_pause(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    if (conn && conn->fd >= 0)
        vg_http_conn_pause(conn, vg_to_bool(call->engine, vg_arg(call, 1)));
    return NULL;
}

static vg_val do_finish(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    if (conn && conn->fd >= 0)
        vg_http_conn_finish(conn);
    return NULL;
}

static vg_val do_destroy(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    if (conn)
        vg_http_conn_close(conn, 0);
    return NULL;
}

static vg_val do_idle(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    return vg_bool(call->engine, conn && conn->fd >= 0 && vg_http_conn_idle(conn));
}

/* Bytes that wait in C for this connection, of either direction: what a test of back-pressure looks at. */
static vg_val do_queued(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    return vg_number(call->engine, conn ? (double)(conn->out.length + conn->body.length + conn->waiting.length) : 0);
}

/* option(conn, which, value): 0 TCP_NODELAY, 1 SO_KEEPALIVE */
static vg_val do_option(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    int on = vg_to_bool(call->engine, vg_arg(call, 2));
    if (!conn || conn->fd < 0 || conn->server->path)
        return NULL;
    if (vg_arg_number(call, 1) == 0)
        setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    else
        setsockopt(conn->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return NULL;
}

/* told(conn): the program has heard of the fault, and the answer is its own. */
static vg_val do_told(vg_call *call)
{
    vg_http_conn *conn = conn_of(call);
    if (conn)
        vg_http_conn_told(conn);
    return NULL;
}

/* ---- the object that has all of this ---------------------------------------------------------------------------- */

static const vg_binding_entry entries[] = {
    {"listen", do_listen},       {"host", do_host},
    {"guest", do_guest},         {"take", do_take},
    {"configure", do_configure}, {"closeServer", do_close_server},
    {"refer", do_refer},         {"serverAddress", do_server_address},
    {"local", do_local},         {"remote", do_remote},
    {"head", do_head},           {"trailer", do_trailer},
    {"body", do_body},           {"fault", do_fault},
    {"send", do_send},           {"sendText", do_send_text},
    {"pause", do_pause},         {"finish", do_finish},
    {"destroy", do_destroy},     {"idle", do_idle},
    {"queued", do_queued},       {"option", do_option},
    {"told", do_told},
};

/* http(receive): receive() is called when there are events. */
static vg_val open_http(vg_call *call)
{
    vigil_js *js = call->host;
    vg_engine *engine = call->engine;
    vg_http *http = vg_http_get(js);
    vg_val object = vg_object(engine), methods[64], thrown;
    size_t count = 0;
    if (!http || !object || http->receive || !vg_js_bind(js, object, entries, sizeof entries / sizeof *entries))
        return vg_throw(call, "no memory for the HTTP server");
    http->receive = vg_arg(call, 0);
    vg_hold(engine, http->receive);
    for (; count < sizeof methods / sizeof *methods; count++)
        methods[count] = vg_undefined(engine);
#define METHOD(number, name, text) methods[number] = vg_string(engine, #text);
    HTTP_METHOD_MAP(METHOD)
#undef METHOD
    vg_set(engine, object, "methods", vg_array(engine, count, methods), &thrown);
    vg_set(engine, object, "events", vg_doubles(engine, http->events, 4 + (size_t)4 * VG_HTTP_EVENTS), &thrown);
    return object;
}

bool vg_js_bind_http(vigil_js *js)
{
    static const vg_binding_entry entry = {"http", open_http};
    return vg_js_bind(js, js->binding, &entry, 1);
}
