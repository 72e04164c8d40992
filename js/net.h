/* SPDX-License-Identifier: MIT */
/*
 * Sockets for JavaScript: a link is a descriptor on the loop, connected, connecting or listening.
 *
 *   net_link.c   one link: reading, writing, its end
 *   net_open.c   how links are made: connecting, listening, accepting
 *   bind_net.c   what lib/net_link.js calls
 *
 * A link has a watch while something is wanted of its descriptor and none otherwise: as in Node, a socket that nobody reads and
 * that has nothing to send does not keep the program alive. (A vigil_stream has no unref, which programs expect of every socket.)
 * The watch only notes what is possible; the system calls and the callbacks into JavaScript are made in the poll phase.
 */
#ifndef VG_JS_NET_H
#define VG_JS_NET_H

#include <stdbool.h>
#include <sys/socket.h>

#include "buffer.h"
#include "host.h"
#include "port.h"

#define VG_NET_READ 65536U

typedef struct vg_net vg_net;

typedef struct vg_link {
    vg_net *net;
    unsigned id;
    int fd; /* -1: closed; JavaScript knows, the memory goes with the next delivery */
    vigil_watch watch;
    unsigned watched; /* VIGIL_FD_* that the loop looks for; 0: there is no watch */
    bool unref, reading, connecting, listening, starved;
    bool plain;     /* no socket: read and write */
    bool datagrams; /* bind_datagram.c */
    bool ended;     /* the peer sends no more, or the descriptor has failed */
    bool can_read, can_write;
    bool armed;
    int result; /* of a connect that was answered at once */
    vg_done done;
    vg_buffer out;
    bool tell_sent; /* JavaScript waits for the queue to be empty */
    char *path;     /* of a listening socket in the file system */
} vg_link;

struct vg_net {
    vigil_js *js;
    vg_val receive; /* of JavaScript: (8 * link + kind, value) */
    vg_link **links;
    unsigned room, hint;
    unsigned char buffer[VG_NET_READ];
};

/* ---- net_link.c */
/* Takes the descriptor, also when it fails. NULL: no memory. */
vg_link *vg_link_new(vg_net *net, int fd);
vg_link *vg_link_by_id(vg_net *net, double id);
/* Compare what is wanted with what the loop looks for. */
void vg_link_watch(vg_link *link);
/* The poll phase has something to do for it. */
void vg_link_arm(vg_link *link);
/* Bytes that are queued now; or a negative errno. */
double vg_link_write(vg_link *link, const void *bytes, size_t length);
void vg_link_close(vg_link *link);
int vg_link_unref(vg_link *link, bool unref);

/* ---- net_open.c */
/* Each answers a link's number, or a negative errno. */
int vg_net_connect(vg_net *net, const struct sockaddr_storage *to, socklen_t length,
                   const struct sockaddr_storage *from, socklen_t from_length);
int vg_net_listen(vg_net *net, const struct sockaddr_storage *at, socklen_t length, int backlog, bool six_only,
                  bool reuse_port);
int vg_net_adopt(vg_net *net, int fd, bool listening);
/* A numeric address or a path; false: it is neither. */
bool vg_net_address(const char *text, unsigned port, struct sockaddr_storage *address, socklen_t *length);
bool vg_net_path(const char *path, size_t size, struct sockaddr_storage *address, socklen_t *length);
/* Address, family ("IPv4", "IPv6") and port; false: it is of another family. */
bool vg_net_name(vigil_js *js, const struct sockaddr_storage *from, vg_val items[3]);
void vg_net_accept(vg_link *link);

#endif
