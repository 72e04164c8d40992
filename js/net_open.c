/* SPDX-License-Identifier: MIT */
/* How links are made: connecting, listening, accepting. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "net.h"
#include "turn.h"

#define ACCEPTS_PER_TURN 64

bool vg_net_address(const char *text, unsigned port, struct sockaddr_storage *address, socklen_t *length)
{
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
    char plain[INET6_ADDRSTRLEN + 1];
    const char *zone = strchr(text, '%');
    size_t size = zone ? (size_t)(zone - text) : strlen(text);
    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        *length = sizeof *four;
        return true;
    }
    if (size >= sizeof plain)
        return false;
    memcpy(plain, text, size);
    plain[size] = 0;
    if (inet_pton(AF_INET6, plain, &six->sin6_addr) != 1)
        return false;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)port);
    six->sin6_scope_id = zone ? if_nametoindex(zone + 1) : 0;
    *length = sizeof *six;
    return true;
}

bool vg_net_name(vigil_js *js, const struct sockaddr_storage *from, vg_val items[3])
{
    char text[INET6_ADDRSTRLEN] = "";
    unsigned port;
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)from;
        inet_ntop(AF_INET, &four->sin_addr, text, INET6_ADDRSTRLEN);
        port = ntohs(four->sin_port);
    } else if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
        inet_ntop(AF_INET6, &six->sin6_addr, text, INET6_ADDRSTRLEN);
        port = ntohs(six->sin6_port);
    } else {
        return false;
    }
    items[0] = vg_string(js->engine, text);
    items[1] = vg_string(js->engine, from->ss_family == AF_INET ? "IPv4" : "IPv6");
    items[2] = vg_number(js->engine, port);
    return true;
}

bool vg_net_path(const char *path, size_t size, struct sockaddr_storage *address, socklen_t *length)
{
    struct sockaddr_un *local = (struct sockaddr_un *)address;
    memset(address, 0, sizeof *address);
    if (size == 0 || size >= sizeof local->sun_path)
        return false;
    local->sun_family = AF_UNIX;
    memcpy(local->sun_path, path, size);
    /* A name that begins with a zero is abstract, and as long as it says. */
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (*path ? 1 : 0));
    return true;
}

int vg_net_connect(vg_net *net, const struct sockaddr_storage *to, socklen_t length,
                   const struct sockaddr_storage *from, socklen_t from_length)
{
    int fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), result = 0, on = 1;
    vg_link *link;
    if (fd < 0)
        return -errno;
    if (from) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, (const struct sockaddr *)from, from_length) < 0)
            result = -errno;
    }
    if (result == 0 && connect(fd, (const struct sockaddr *)to, length) < 0 && errno != EINPROGRESS)
        result = -errno;
    link = vg_link_new(net, fd);
    if (!link)
        return -ENOMEM;
    link->connecting = true;
    link->result = result;
    if (result < 0) {
        link->can_write = true;
        vg_link_arm(link);
    } else {
        vg_link_watch(link);
    }
    return (int)link->id;
}

int vg_net_listen(vg_net *net, const struct sockaddr_storage *at, socklen_t length, int backlog, bool six_only,
                  bool reuse_port)
{
    int fd = socket(at->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, error;
    const char *path = ((const struct sockaddr_un *)at)->sun_path;
    vg_link *link;
    if (fd < 0)
        return -errno;
    if (at->ss_family != AF_UNIX)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->ss_family == AF_INET6 && six_only)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (reuse_port)
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)at, length) < 0 || listen(fd, backlog) < 0) {
        error = -errno;
        close(fd);
        return error;
    }
    link = vg_link_new(net, fd);
    if (!link)
        return -ENOMEM;
    if (at->ss_family == AF_UNIX && *path)
        link->path = strdup(path);
    link->listening = true;
    vg_link_watch(link);
    return (int)link->id;
}

int vg_net_adopt(vg_net *net, int fd, bool listening)
{
    int flags = fcntl(fd, F_GETFL), type;
    socklen_t length = sizeof type;
    vg_link *link;
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return -errno;
    link = vg_link_new(net, fd);
    if (!link)
        return -ENOMEM;
    if (fd > 2)
        fcntl(fd, F_SETFD, FD_CLOEXEC); /* it is this program's now, and not its children's */
    link->plain = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) < 0;
    link->listening = listening;
    vg_link_watch(link);
    return (int)link->id;
}

/* Without descriptors the rest waits in the kernel until JavaScript asks again. */
void vg_net_accept(vg_link *link)
{
    vg_net *net = link->net;
    vigil_js *js = net->js;
    link->can_read = false;
    for (int i = 0; i < ACCEPTS_PER_TURN && link->fd >= 0 && !js->ended; i++) {
        int fd = accept4(link->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        vg_link *made;
        if (fd < 0 && (errno == ECONNABORTED || errno == EINTR))
            continue;
        if (fd < 0 && errno == EAGAIN)
            return;
        made = fd < 0 ? NULL : vg_link_new(net, fd);
        if (!made)
            link->starved = true;
        vg_js_dispatch(js, VG_DISPATCH_EVENT, net->receive,
                       vg_number(js->engine, 8.0 * link->id + VG_NET_EVENT_ACCEPTED),
                       vg_number(js->engine, made ? (double)made->id : -1));
        if (!made)
            return;
    }
}
