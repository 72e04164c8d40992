/* SPDX-License-Identifier: MIT */
/* What lib/net_link.js calls. Links are numbers there; one that is gone answers -EBADF, undefined or nothing. */
#include "bind_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "bind.h"
#include "net.h"

static vg_net *net_of(vg_call *call)
{
    return ((vigil_js *)call->host)->net;
}

static vg_link *link_of(vg_call *call)
{
    return vg_link_by_id(net_of(call), vg_arg_number(call, 0));
}

static bool flag_of(vg_call *call, size_t i)
{
    return vg_to_bool(call->engine, vg_arg(call, i));
}

/* An address in arguments i (text) and i + 1 (port). A port that is no number: the text is a path. */
static int address_of(vg_call *call, size_t i, struct sockaddr_storage *address, socklen_t *length)
{
    size_t size;
    char *text = vg_arg_text(call, i, &size);
    double port = vg_arg_number(call, i + 1);
    int error = 0;
    if (!text)
        return -ENOMEM;
    if (!(port >= 0))
        error = vg_net_path(text, size, address, length) ? 0 : -EINVAL;
    else if (!vg_net_address(text, (unsigned)port, address, length))
        error = -EINVAL;
    free(text);
    return error;
}

/* connect(address, port, localAddress, localPort): a link's number, or a negative errno */
static vg_val do_connect(vg_call *call)
{
    struct sockaddr_storage to, from;
    socklen_t length, from_length = 0;
    bool local = vg_arg_is(call, 2, VG_STRING);
    int result = address_of(call, 0, &to, &length);
    if (result == 0 && local)
        result = address_of(call, 2, &from, &from_length);
    if (result == 0)
        result = vg_net_connect(net_of(call), &to, length, local ? &from : NULL, from_length);
    return vg_number(call->engine, result);
}

/* listen(address, port, backlog, ipv6Only, reusePort) */
static vg_val do_listen(vg_call *call)
{
    struct sockaddr_storage at;
    socklen_t length;
    int result = address_of(call, 0, &at, &length);
    if (result == 0)
        result =
            vg_net_listen(net_of(call), &at, length, (int)vg_arg_number(call, 2), flag_of(call, 3), flag_of(call, 4));
    return vg_number(call->engine, result);
}

/* adopt(fd, listens) */
static vg_val do_adopt(vg_call *call)
{
    return vg_number(call->engine, vg_net_adopt(net_of(call), (int)vg_arg_number(call, 0), flag_of(call, 1)));
}

/* pair(): [a link, the descriptor of the other end], or a negative errno */
static vg_val do_pair(vg_call *call)
{
    int ends[2];
    vg_link *link;
    vg_val items[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
        return vg_number(call->engine, -errno);
    link = vg_link_new(net_of(call), ends[0]);
    if (!link) {
        close(ends[1]);
        return vg_number(call->engine, -ENOMEM);
    }
    items[0] = vg_number(call->engine, link->id);
    items[1] = vg_number(call->engine, ends[1]);
    return vg_array(call->engine, 2, items);
}

static vg_val do_read(vg_call *call)
{
    vg_link *link = link_of(call);
    if (!link)
        return vg_number(call->engine, -EBADF);
    link->reading = flag_of(call, 1);
    if (!link->armed)
        vg_link_watch(link);
    return vg_number(call->engine, 0);
}

/* write(link, bytes): how many are queued, or a negative errno */
static vg_val do_write(vg_call *call)
{
    vg_link *link = link_of(call);
    unsigned char *bytes;
    size_t length;
    if (!link)
        return vg_number(call->engine, -EBADF);
    if (!vg_to_bytes(call->engine, vg_arg(call, 1), &bytes, &length))
        return vg_number(call->engine, -EINVAL);
    return vg_number(call->engine, vg_link_write(link, bytes, length));
}

static vg_val do_shutdown(vg_call *call)
{
    vg_link *link = link_of(call);
    int result = -EBADF;
    if (link)
        result = shutdown(link->fd, SHUT_WR) < 0 ? -errno : 0;
    return vg_number(call->engine, result);
}

/* close(link, reset) */
static vg_val do_close(vg_call *call)
{
    vg_link *link = link_of(call);
    struct linger none = {.l_onoff = 1};
    if (!link)
        return NULL;
    if (flag_of(call, 1))
        setsockopt(link->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    vg_link_close(link);
    return NULL;
}

static vg_val do_unref(vg_call *call)
{
    vg_link *link = link_of(call);
    if (link)
        vg_link_unref(link, flag_of(call, 1));
    return NULL;
}

/* A server that had no descriptors may try again. */
static vg_val do_again(vg_call *call)
{
    vg_link *link = link_of(call);
    if (!link)
        return NULL;
    link->starved = false;
    vg_link_watch(link);
    return NULL;
}

static vg_val name_of(vg_call *call, bool remote)
{
    vg_link *link = link_of(call);
    struct sockaddr_storage from = {0};
    socklen_t length = sizeof from;
    vg_val items[3];
    if (!link || (remote ? getpeername(link->fd, (struct sockaddr *)&from, &length)
                         : getsockname(link->fd, (struct sockaddr *)&from, &length)) < 0)
        return NULL;
    return vg_net_name(call->host, &from, items) ? vg_array(call->engine, 3, items) : NULL;
}

static vg_val do_local(vg_call *call)
{
    return name_of(call, false);
}

static vg_val do_remote(vg_call *call)
{
    return name_of(call, true);
}

static vg_val do_fd(vg_call *call)
{
    vg_link *link = link_of(call);
    return vg_number(call->engine, link ? link->fd : -1);
}

/* noDelay(link, on) */
static vg_val do_no_delay(vg_call *call)
{
    vg_link *link = link_of(call);
    int on = flag_of(call, 1);
    if (link)
        setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return NULL;
}

/* keepAlive(link, on, seconds) */
static vg_val do_keep_alive(vg_call *call)
{
    vg_link *link = link_of(call);
    int on = flag_of(call, 1), seconds = (int)vg_arg_number(call, 2);
    if (!link)
        return NULL;
    setsockopt(link->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (on && seconds > 0)
        setsockopt(link->fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    return NULL;
}

/* family(text): 4, 6 or 0 */
static vg_val do_family(vg_call *call)
{
    struct sockaddr_storage address;
    socklen_t length;
    char *text = vg_arg_text(call, 0, NULL);
    int family = text && vg_net_address(text, 0, &address, &length) ? (address.ss_family == AF_INET ? 4 : 6) : 0;
    free(text);
    return vg_number(call->engine, family);
}

static const vg_binding_entry entries[] = {
    {"connect", do_connect},  {"listen", do_listen},        {"adopt", do_adopt},   {"read", do_read},
    {"write", do_write},      {"shutdown", do_shutdown},    {"close", do_close},   {"unref", do_unref},
    {"again", do_again},      {"local", do_local},          {"remote", do_remote}, {"fd", do_fd},
    {"noDelay", do_no_delay}, {"keepAlive", do_keep_alive}, {"family", do_family}, {"pair", do_pair},
};

/* net(receive): receive(8 * link + kind, value) is called for each event. */
static vg_val open_net(vg_call *call)
{
    vigil_js *js = call->host;
    vg_val object = vg_object(call->engine);
    if (!js->net && (js->net = calloc(1, sizeof *js->net)))
        js->net->js = js;
    if (!js->net || js->net->receive || !vg_js_bind(js, object, entries, sizeof entries / sizeof *entries))
        return vg_throw(call, "no memory for sockets");
    js->net->receive = vg_arg(call, 0);
    vg_hold(call->engine, js->net->receive);
    return object;
}

bool vg_js_bind_net(vigil_js *js)
{
    static const vg_binding_entry entry = {"net", open_net};
    return vg_js_bind(js, js->binding, &entry, 1);
}

bool vg_js_net_busy(vigil_js *js)
{
    for (unsigned i = 0; js->net && i < js->net->room; i++) {
        const vg_link *link = js->net->links[i];
        if (link && link->watched && !link->unref)
            return true;
    }
    return false;
}

void vg_js_net_end(vigil_js *js)
{
    vg_net *net = js->net;
    if (!net)
        return;
    for (unsigned i = 0; i < net->room; i++)
        if (net->links[i])
            vg_link_close(net->links[i]);
    if (net->receive)
        vg_release(js->engine, net->receive);
    net->receive = NULL;
}

void vg_js_net_free(vigil_js *js)
{
    if (js->net)
        free(js->net->links);
    free(js->net);
}
