/* SPDX-License-Identifier: MIT */
/* os.networkInterfaces for lib/os.js. */
#include "bind_interfaces.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <string.h>

#include "bind.h"

#define MOST 1024

/* The hardware address of the interface of that name. */
static void hardware_of(const struct ifaddrs *list, const char *name, char *text, size_t room)
{
    unsigned char bytes[6] = {0};
    for (const struct ifaddrs *one = list; one; one = one->ifa_next)
        if (one->ifa_addr && one->ifa_addr->sa_family == AF_PACKET && strcmp(one->ifa_name, name) == 0)
            memcpy(bytes, ((const struct sockaddr_ll *)(const void *)one->ifa_addr)->sll_addr, sizeof bytes);
    snprintf(text, room, "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]);
}

static const void *bytes_of(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    return &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
}

static int prefix_of(const unsigned char *mask, size_t length)
{
    int bits = 0;
    for (size_t i = 0; i < length; i++)
        bits += __builtin_popcount(mask[i]);
    return bits;
}

static vg_val describe(vg_engine *engine, const struct ifaddrs *list, const struct ifaddrs *one)
{
    int family = one->ifa_addr->sa_family;
    char address[INET6_ADDRSTRLEN] = "", mask[INET6_ADDRSTRLEN] = "", hardware[18];
    vg_val items[8];
    inet_ntop(family, bytes_of(one->ifa_addr), address, sizeof address);
    inet_ntop(family, bytes_of(one->ifa_netmask), mask, sizeof mask);
    hardware_of(list, one->ifa_name, hardware, sizeof hardware);
    items[0] = vg_string(engine, one->ifa_name);
    items[1] = vg_string(engine, address);
    items[2] = vg_string(engine, mask);
    items[3] = vg_string(engine, family == AF_INET ? "IPv4" : "IPv6");
    items[4] = vg_string(engine, hardware);
    items[5] = vg_bool(engine, (one->ifa_flags & IFF_LOOPBACK) != 0);
    items[6] = vg_number(engine, prefix_of(bytes_of(one->ifa_netmask), family == AF_INET ? 4 : 16));
    items[7] = vg_number(
        engine, family == AF_INET6 ? ((const struct sockaddr_in6 *)(const void *)one->ifa_addr)->sin6_scope_id : -1.0);
    return vg_array(engine, 8, items);
}

/* interfaces(): [name, address, mask, family, hardware address, internal, prefix, scope or -1] for each address, or a negative errno */
static vg_val interfaces(vg_call *call)
{
    struct ifaddrs *list = NULL;
    vg_val items[MOST];
    size_t count = 0;
    if (getifaddrs(&list) < 0)
        return vg_number(call->engine, -errno);
    for (const struct ifaddrs *one = list; one && count < MOST; one = one->ifa_next)
        if ((one->ifa_flags & IFF_UP) && (one->ifa_flags & IFF_RUNNING) && one->ifa_addr && one->ifa_netmask &&
            (one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6))
            items[count++] = describe(call->engine, list, one);
    freeifaddrs(list);
    return vg_array(call->engine, count, items);
}

bool vg_js_bind_interfaces(vigil_js *js)
{
    static const vg_binding_entry entry = {"interfaces", interfaces};
    return vg_js_bind(js, js->binding, &entry, 1);
}
