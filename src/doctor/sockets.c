/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "sockets.h"

#include <arpa/inet.h>

#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    TCP_STATE_LISTEN = 10
};

/* One Unix socket's answer: its peer, if it has one. */
static uint64_t peer_in(const struct nlmsghdr *head, uint64_t *unread)
{
    uint64_t found = 0;
    const struct unix_diag_msg *answer = NLMSG_DATA(head);
    unsigned length = head->nlmsg_len - (unsigned)NLMSG_LENGTH(sizeof *answer);
    for (const struct rtattr *a = (const struct rtattr *)(answer + 1); RTA_OK(a, length); a = RTA_NEXT(a, length))
        if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= sizeof(uint32_t)) {
            uint32_t peer;
            memcpy(&peer, RTA_DATA(a), sizeof peer);
            found = peer;
        } else if (a->rta_type == UNIX_DIAG_RQLEN && RTA_PAYLOAD(a) >= sizeof(struct unix_diag_rqlen)) {
            struct unix_diag_rqlen queues;
            memcpy(&queues, RTA_DATA(a), sizeof queues);
            *unread = queues.udiag_rqueue;
        }
    return found;
}

/* The peer's inode, or 0; *unread: bytes in its queue. */
static uint64_t unix_peer(uint64_t inode, uint64_t *unread)
{
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return 0;
    const struct timeval limit = {1, 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    struct {
        struct nlmsghdr head;
        struct unix_diag_req ask;
    } request = {
        .head = {.nlmsg_len = sizeof request,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .ask = {.sdiag_family = AF_UNIX, .udiag_states = ~0U, .udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN}};
    uint64_t peer = 0;
    bool done = send(fd, &request, sizeof request, 0) != (ssize_t)sizeof request;
    while (!done) {
        _Alignas(struct nlmsghdr) char answers[32768];
        const ssize_t got = recv(fd, answers, sizeof answers, 0);
        if (got <= 0)
            break;
        unsigned left = (unsigned)got;
        for (const struct nlmsghdr *h = (const struct nlmsghdr *)answers; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
            if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
                done = true;
                break;
            }
            const struct unix_diag_msg *answer = NLMSG_DATA(h);
            if (answer->udiag_ino == inode)
                peer = peer_in(h, unread);
        }
    }
    (void)close(fd);
    return peer;
}

/* /proc/PID/net/tcp has both ends of a connection within the machine, each as its own line. */
static uint64_t tcp_peer(pid_t pid, const char *table, uint64_t inode, bool *listens)
{
    char path[64], line[512], mine[2][64] = {"", ""};
    (void)snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, table);
    for (unsigned pass = 0; pass < 2; pass++) {
        FILE *file = fopen(path, "re");
        if (file == NULL)
            return 0;
        uint64_t found = 0;
        while (found == 0 && fgets(line, sizeof line, file) != NULL) {
            char local[64], remote[64];
            unsigned state;
            uint64_t number;
            if (sscanf(line, "%*s %63s %63s %x %*s %*s %*s %*s %*s %" SCNu64, // NOLINT(cert-err34-c)
                       local, remote, &state, &number) != 4)
                continue;
            if (pass == 0 && number == inode) {
                *listens = state == TCP_STATE_LISTEN;
                memcpy(mine[0], local, sizeof local);
                memcpy(mine[1], remote, sizeof remote);
                found = number;
            } else if (pass == 1 && strcmp(local, mine[1]) == 0 && strcmp(remote, mine[0]) == 0 && number != 0) {
                found = number;
            }
        }
        (void)fclose(file);
        if (found == 0 || *listens)
            return 0;
        if (pass == 1)
            return found;
    }
    return 0;
}

uint64_t vg_sockets_peer(pid_t pid, uint64_t inode, bool *listens)
{
    uint64_t unread = 0;
    *listens = false;
    uint64_t peer = unix_peer(inode, &unread);
    if (peer == 0)
        peer = tcp_peer(pid, "tcp", inode, listens);
    if (peer == 0 && !*listens)
        peer = tcp_peer(pid, "tcp6", inode, listens);
    return peer;
}

/* "0100007F:1538", as /proc has it, in the usual form. */
static void spell_address(const char *hex, char *to, size_t room)
{
    uint32_t words[4] = {0};
    unsigned port = 0;
    char text[INET6_ADDRSTRLEN] = "";
    const size_t digits = strcspn(hex, ":");
    for (unsigned i = 0; i < digits / 8 && i < 4; i++)
        (void)sscanf(hex + (size_t)i * 8, "%8x", &words[i]);              // NOLINT(cert-err34-c)
    if (hex[digits] != ':' || sscanf(hex + digits + 1, "%x", &port) != 1) // NOLINT(cert-err34-c)
        return;
    if (digits == 8 && inet_ntop(AF_INET, words, text, sizeof text) != NULL)
        (void)snprintf(to, room, " to %s:%u", text, port);
    else if (digits == 32 && inet_ntop(AF_INET6, words, text, sizeof text) != NULL)
        (void)snprintf(to, room, " to [%s]:%u", text, port);
}

void vg_sockets_facts(pid_t pid, uint64_t inode, vg_socket_facts *facts)
{
    static const char *const tables[] = {"tcp", "tcp6"};
    *facts = (vg_socket_facts){.unread = 0};
    (void)unix_peer(inode, &facts->unread);
    for (unsigned i = 0; i < 2; i++) {
        char path[64], line[512];
        (void)snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, tables[i]);
        FILE *file = fopen(path, "re");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            char remote[64];
            uint64_t number, unread;
            if (sscanf(line, "%*s %*s %63s %*x %*x:%" SCNx64 " %*s %*s %*s %*s %" SCNu64, // NOLINT(cert-err34-c)
                       remote, &unread, &number) != 3 ||
                number != inode)
                continue;
            if (strstr(remote, ":0000") != NULL)
                continue; /* it listens */
            facts->unread = unread;
            spell_address(remote, facts->to, sizeof facts->to);
        }
        if (file != NULL)
            (void)fclose(file);
    }
}
