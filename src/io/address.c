/* SPDX-License-Identifier: MIT */
/*
 * address.c - addresses in words and back.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "base/why.h"

#include <vigil/io.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static int address_of_path(vigil_address *address, const char *path)
{
    struct sockaddr_un *name = (struct sockaddr_un *)(void *)&address->storage;
    const size_t length = strlen(path);
    if (length < (path[0] == '@' ? 2U : 1U))
        return vg_why(-EINVAL, "the path of the Unix socket is empty");
    if (length >= sizeof name->sun_path)
        return vg_why_say(-EINVAL, "the path of the Unix socket has %zu bytes; the most is %zu", length,
                          sizeof name->sun_path - 1);
    name->sun_family = AF_UNIX;
    memcpy(name->sun_path, path, length);
    address->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (path[0] == '@')
        name->sun_path[0] = 0; /* abstract: no file, and the length counts */
    else
        address->length++;
    return 0;
}

static int parse_port(const char *text, uint16_t *port)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    const unsigned long number = strtoul(text, &end, 10);
    if (*end != 0 || number > 65535)
        return -EINVAL;
    *port = htons((uint16_t)number);
    return 0;
}

static int address_of_six(vigil_address *address, char *host, uint16_t port)
{
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&address->storage;
    char *zone = strchr(host, '%');
    if (zone != NULL) {
        *zone++ = 0;
        char *end;
        const unsigned long number = strtoul(zone, &end, 10);
        six->sin6_scope_id = *zone != 0 && *end == 0 ? (uint32_t)number : if_nametoindex(zone);
        if (six->sin6_scope_id == 0)
            return vg_why_say(-EINVAL, "there is no network interface \"%s\"", zone);
    }
    if (inet_pton(AF_INET6, host, &six->sin6_addr) != 1)
        return vg_why_say(-EINVAL, "\"%s\" is no IPv6 address", host);
    six->sin6_family = AF_INET6;
    six->sin6_port = port;
    address->length = sizeof *six;
    return 0;
}

int vigil_address_init(vigil_address *address, const char *text)
{
    char host[VIGIL_ADDRESS_TEXT];
    uint16_t port;
    if (address == NULL || text == NULL)
        return vg_why(-EINVAL, "address or text is NULL");
    memset(address, 0, sizeof *address);
    if (strncmp(text, "unix:", 5) == 0)
        return address_of_path(address, text + 5);
    const char *colon = strrchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof host || parse_port(colon + 1, &port) != 0)
        return vg_why_say(-EINVAL, "\"%s\" does not end in a colon and a port from 0 to 65535", text);
    size_t length = (size_t)(colon - text);
    const bool bracketed = length >= 2 && text[0] == '[' && text[length - 1] == ']';
    if (bracketed) {
        length -= 2;
        text++;
    }
    memcpy(host, text, length);
    host[length] = 0;
    if (strcmp(host, "*") == 0)
        (void)strcpy(host, "::");
    else if (!bracketed) {
        struct sockaddr_in *four = (struct sockaddr_in *)(void *)&address->storage;
        if (inet_pton(AF_INET, host, &four->sin_addr) != 1)
            return vg_why_say(-EINVAL, "\"%s\" is no IPv4 address; IPv6 goes into brackets; names are not looked up",
                              host);
        four->sin_family = AF_INET;
        four->sin_port = port;
        address->length = sizeof *four;
        return 0;
    }
    return address_of_six(address, host, port);
}

static int text_of_path(const vigil_address *address, char *text, size_t room)
{
    const struct sockaddr_un *name = (const struct sockaddr_un *)(const void *)&address->storage;
    const size_t before = offsetof(struct sockaddr_un, sun_path);
    const size_t length = address->length > before ? address->length - before : 0;
    if (length == 0)
        return snprintf(text, room, "unix:"); /* the unnamed end of a pair */
    if (name->sun_path[0] == 0)
        return snprintf(text, room, "unix:@%.*s", (int)(length - 1), name->sun_path + 1);
    return snprintf(text, room, "unix:%.*s", (int)length, name->sun_path);
}

int vigil_address_text(const vigil_address *address, char *text, size_t room)
{
    char host[INET6_ADDRSTRLEN];
    if (address == NULL || (text == NULL && room != 0))
        return vg_why(-EINVAL, "address or text is NULL");
    switch (address->any.sa_family) {
    case AF_UNIX:
        return text_of_path(address, text, room);
    case AF_INET: {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)&address->storage;
        (void)inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
        return snprintf(text, room, "%s:%u", host, ntohs(four->sin_port));
    }
    case AF_INET6: {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&address->storage;
        char zone[16] = "";
        (void)inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
        if (six->sin6_scope_id != 0)
            (void)snprintf(zone, sizeof zone, "%%%u", six->sin6_scope_id);
        return snprintf(text, room, "[%s%s]:%u", host, zone, ntohs(six->sin6_port));
    }
    default:
        return vg_why_say(-EINVAL, "addresses of family %d have no words", address->any.sa_family);
    }
}
