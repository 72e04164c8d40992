/* SPDX-License-Identifier: MIT */
/* sockets.h - the socket at the other end of a socket, on the same machine. */
#ifndef VG_DOCTOR_SOCKETS_H
#define VG_DOCTOR_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The inode of the peer of the socket with that inode, as process `pid` sees the network. 0: there is none here. */
uint64_t vg_sockets_peer(pid_t pid, uint64_t inode, bool *listens);

/* What else is known of it: "" or " to 127.0.0.1:5432", and bytes that came and were not read. */
typedef struct vg_socket_facts {
    char to[64];
    uint64_t unread;
} vg_socket_facts;
void vg_sockets_facts(pid_t pid, uint64_t inode, vg_socket_facts *facts);

#endif
