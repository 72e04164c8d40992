/* SPDX-License-Identifier: MIT */
/*
 * UDP sockets for lib/dgram.js. They are links of node:net (net.h), whose reading is that of datagrams; vigil_datagrams has neither an
 * unref nor SO_REUSEADDR, which programs expect of every such socket.
 */
#include "bind_datagram.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bind.h"
#include "net.h"

static vg_link *link_of(vg_call *call)
{
    vigil_js *js = call->host;
    vg_link *link = js->net ? vg_link_by_id(js->net, vg_arg_number(call, 0)) : NULL;
    return link && link->datagrams ? link : NULL;
}

/* An address in arguments i (text) and i + 1 (port). */
static bool address_of(vg_call *call, size_t i, struct sockaddr_storage *address, socklen_t *length)
{
    char *text = vg_arg_text(call, i, NULL);
    bool good = text && vg_net_address(text, (unsigned)vg_arg_number(call, i + 1), address, length);
    free(text);
    return good;
}

static vg_val answer(vg_call *call, int result)
{
    return vg_number(call->engine, result < 0 ? -errno : result);
}

/* open(six): a link, or a negative errno. Nothing is read before readStart. */
static vg_val do_open(vg_call *call)
{
    vigil_js *js = call->host;
    bool six = vg_to_bool(call->engine, vg_arg(call, 0));
    int fd = socket(six ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    vg_link *link;
    if (fd < 0)
        return answer(call, fd);
    link = vg_link_new(js->net, fd);
    if (!link)
        return vg_number(call->engine, -ENOMEM);
    link->datagrams = true;
    return vg_number(call->engine, link->id);
}

/* bind(link, address, port, reuse, sixOnly) */
static vg_val do_bind(vg_call *call)
{
    vg_link *link = link_of(call);
    struct sockaddr_storage at;
    socklen_t length;
    int on = 1;
    if (!link)
        return vg_number(call->engine, -EBADF);
    if (!address_of(call, 1, &at, &length))
        return vg_number(call->engine, -EINVAL);
    if (vg_to_bool(call->engine, vg_arg(call, 3)))
        setsockopt(link->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at.ss_family == AF_INET6 && vg_to_bool(call->engine, vg_arg(call, 4)))
        setsockopt(link->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    return answer(call, bind(link->fd, (const struct sockaddr *)&at, length));
}

/* connect(link, address, port); without an address the socket is free again */
static vg_val do_connect(vg_call *call)
{
    vg_link *link = link_of(call);
    struct sockaddr_storage to = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof to;
    if (!link)
        return vg_number(call->engine, -EBADF);
    if (vg_arg_is(call, 1, VG_STRING) && !address_of(call, 1, &to, &length))
        return vg_number(call->engine, -EINVAL);
    return answer(call, connect(link->fd, (const struct sockaddr *)&to, length));
}

/* send(link, bytes, address, port): how many bytes, or a negative errno. -EAGAIN: SENT tells when to try again. */
static vg_val do_send(vg_call *call)
{
    vg_link *link = link_of(call);
    struct sockaddr_storage to;
    socklen_t length = 0;
    unsigned char *bytes;
    size_t size;
    ssize_t count;
    bool connected = !vg_arg_is(call, 2, VG_STRING);
    if (!link)
        return vg_number(call->engine, -EBADF);
    if (!vg_to_bytes(call->engine, vg_arg(call, 1), &bytes, &size) ||
        (!connected && !address_of(call, 2, &to, &length)))
        return vg_number(call->engine, -EINVAL);
    do
        count = sendto(link->fd, bytes, size, MSG_NOSIGNAL, connected ? NULL : (const struct sockaddr *)&to, length);
    while (count < 0 && errno == EINTR);
    if (count < 0) {
        int error = -errno;
        if (error == -EAGAIN) {
            link->tell_sent = true;
            vg_link_watch(link);
        }
        return vg_number(call->engine, error);
    }
    return vg_number(call->engine, (double)count);
}

/* ---- options ---------------------------------------------------------------------------------------------------- */

static int family_of(const vg_link *link)
{
    int domain = AF_INET;
    socklen_t length = sizeof domain;
    getsockopt(link->fd, SOL_SOCKET, SO_DOMAIN, &domain, &length);
    return domain;
}

/* set(link, option, number): 0 or a negative errno. The options are those of lib/dgram.js. */
static vg_val do_set(vg_call *call)
{
    vg_link *link = link_of(call);
    int option = (int)vg_arg_number(call, 1), value = (int)vg_arg_number(call, 2);
    unsigned char byte = (unsigned char)value;
    bool six;
    if (!link)
        return vg_number(call->engine, -EBADF);
    six = family_of(link) == AF_INET6;
    switch (option) {
    case VG_DATAGRAM_BROADCAST:
        return answer(call, setsockopt(link->fd, SOL_SOCKET, SO_BROADCAST, &value, sizeof value));
    case VG_DATAGRAM_TTL:
        return answer(call, six ? setsockopt(link->fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &value, sizeof value)
                                : setsockopt(link->fd, IPPROTO_IP, IP_TTL, &value, sizeof value));
    case VG_DATAGRAM_MULTICAST_TTL:
        return answer(call, six ? setsockopt(link->fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &value, sizeof value)
                                : setsockopt(link->fd, IPPROTO_IP, IP_MULTICAST_TTL, &byte, sizeof byte));
    case VG_DATAGRAM_MULTICAST_LOOPBACK:
        return answer(call, six ? setsockopt(link->fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &value, sizeof value)
                                : setsockopt(link->fd, IPPROTO_IP, IP_MULTICAST_LOOP, &byte, sizeof byte));
    case VG_DATAGRAM_RECEIVE_BUFFER:
        return answer(call, setsockopt(link->fd, SOL_SOCKET, SO_RCVBUF, &value, sizeof value));
    case VG_DATAGRAM_SEND_BUFFER:
        return answer(call, setsockopt(link->fd, SOL_SOCKET, SO_SNDBUF, &value, sizeof value));
    default:
        return vg_number(call->engine, -EINVAL);
    }
}

/* size(link, send): bytes of the kernel's buffer, or a negative errno */
static vg_val do_size(vg_call *call)
{
    vg_link *link = link_of(call);
    int value = 0;
    socklen_t length = sizeof value;
    bool send = vg_to_bool(call->engine, vg_arg(call, 1));
    if (!link)
        return vg_number(call->engine, -EBADF);
    if (getsockopt(link->fd, SOL_SOCKET, send ? SO_SNDBUF : SO_RCVBUF, &value, &length) < 0)
        return answer(call, -1);
    return vg_number(call->engine, value);
}

/* member(link, group, interface, join): 0 or a negative errno */
static vg_val do_member(vg_call *call)
{
    vg_link *link = link_of(call);
    struct sockaddr_storage group, face;
    socklen_t length;
    bool join = vg_to_bool(call->engine, vg_arg(call, 3)), named = vg_arg_is(call, 2, VG_STRING);
    char *text = vg_arg_text(call, 1, NULL), *name = named ? vg_arg_text(call, 2, NULL) : NULL;
    bool good = text && vg_net_address(text, 0, &group, &length) &&
                (!named || (name && vg_net_address(name, 0, &face, &length)));
    free(text);
    free(name);
    if (!link)
        return vg_number(call->engine, -EBADF);
    if (!good || (named && face.ss_family != group.ss_family))
        return vg_number(call->engine, -EINVAL);
    if (group.ss_family == AF_INET) {
        struct ip_mreq request = {.imr_multiaddr = ((struct sockaddr_in *)&group)->sin_addr};
        if (named)
            request.imr_interface = ((struct sockaddr_in *)&face)->sin_addr;
        return answer(call, setsockopt(link->fd, IPPROTO_IP, join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &request,
                                       sizeof request));
    } else {
        struct ipv6_mreq request = {.ipv6mr_multiaddr = ((struct sockaddr_in6 *)&group)->sin6_addr};
        if (named)
            request.ipv6mr_interface = ((struct sockaddr_in6 *)&face)->sin6_scope_id;
        return answer(call, setsockopt(link->fd, IPPROTO_IPV6, join ? IPV6_ADD_MEMBERSHIP : IPV6_DROP_MEMBERSHIP,
                                       &request, sizeof request));
    }
}

/* face(link, interface): where multicasts leave */
static vg_val do_face(vg_call *call)
{
    vg_link *link = link_of(call);
    struct sockaddr_storage face;
    socklen_t length;
    char *name = vg_arg_text(call, 1, NULL);
    bool good = name && vg_net_address(name, 0, &face, &length);
    free(name);
    if (!link)
        return vg_number(call->engine, -EBADF);
    if (!good)
        return vg_number(call->engine, -EINVAL);
    if (face.ss_family == AF_INET)
        return answer(call, setsockopt(link->fd, IPPROTO_IP, IP_MULTICAST_IF, &((struct sockaddr_in *)&face)->sin_addr,
                                       sizeof(struct in_addr)));
    return answer(call, setsockopt(link->fd, IPPROTO_IPV6, IPV6_MULTICAST_IF,
                                   &((struct sockaddr_in6 *)&face)->sin6_scope_id, sizeof(uint32_t)));
}

/* lib/dgram.js has loaded lib/net_link.js before, which makes js->net. */
static vg_val open_datagram(vg_call *call)
{
    static const vg_binding_entry entries[] = {
        {"open", do_open}, {"bind", do_bind}, {"connect", do_connect}, {"send", do_send},
        {"set", do_set},   {"size", do_size}, {"member", do_member},   {"face", do_face},
    };
    vg_val object = vg_object(call->engine);
    if (!vg_js_bind(call->host, object, entries, sizeof entries / sizeof *entries))
        return vg_throw(call, "no memory");
    return object;
}

bool vg_js_bind_datagram(vigil_js *js)
{
    static const vg_binding_entry entry = {"datagram", open_datagram};
    return vg_js_bind(js, js->binding, &entry, 1);
}
