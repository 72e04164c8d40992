/* SPDX-License-Identifier: MIT */
/*
 * vigil/datagram.h - datagrams on a loop: UDP and Unix sockets, in batches.
 *
 * One system call takes up to 32 datagrams from the system, and one gives up to 64 to it. Nothing
 * is allocated for what comes: the bytes lie in a buffer that all sockets of the loop share, the
 * addresses beside them. What the system does not take at once is copied and sent later.
 *
 * Threads: every call here is the owner's. No call blocks. No callback runs inside the call that
 * asked for it.
 */
#ifndef VIGIL_DATAGRAM_H
#define VIGIL_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>
#include <vigil/cancel.h>
#include <vigil/io.h>
#include <vigil/loop.h>
#include <vigil/promise.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_datagrams vigil_datagrams;

/* One datagram, to send or received. */
typedef struct vigil_packet {
    void *data; /* is not changed when it is sent */
    size_t length;
    /* who it is from or for; NULL: the peer that the socket is connected to */
    const vigil_address *peer;
    bool cut; /* received: it was longer than options.largest */
} vigil_packet;

/* count > 0: so many packets, valid during the call. Negative: an error that the network has
   reported (-ECONNREFUSED: nobody listens there); the socket goes on, but for -EBADF: its
   descriptor was closed behind it. */
typedef void (*vigil_packets_fn)(vigil_datagrams *datagrams, const vigil_packet *packets,
                                 int64_t count, void *arg);

/* Start from VIGIL_DATAGRAMS_OPTIONS_INIT. */
typedef struct vigil_datagrams_options {
    size_t size;
    const vigil_address *local; /* where it receives; NULL: the system chooses */
    /* the only peer: others' datagrams are not received, and packets need no address. NULL: any */
    const vigil_address *remote;
    size_t largest;     /* bytes of a datagram that are received; 0: 2048; at most 65536 */
    size_t most_unsent; /* bytes that wait while the system takes no more; 0: 1 MiB */
    bool reuse_port;    /* several sockets, on several loops, share the address (SO_REUSEPORT) */
    bool broadcast;     /* SO_BROADCAST */
} vigil_datagrams_options;
#define VIGIL_DATAGRAMS_OPTIONS_INIT VG_SIZED(vigil_datagrams_options)

/* Open a socket for datagrams. local or remote must be set. A Unix socket's path must not exist; it
   is removed at the close. Owner; does not block.
   0; -EINVAL; -EADDRINUSE; -EACCES; -ENOMEM; -EMFILE; -EPERM; -ESHUTDOWN; -ECHILD; and what
   socket(2), bind(2) and connect(2) answer. */
VIGIL_API int vigil_datagrams_open(vigil_datagrams **datagrams, vigil_loop *loop,
                                   const vigil_datagrams_options *options);

/* The same on a socket that exists already: one that systemd or a parent has passed, or one with
   options of its own. options.local, remote, reuse_port and broadcast must not be set; options may
   be NULL. It becomes non-blocking and is ours from here on. The path of a Unix socket is not
   removed. Owner; does not block.
   0; -EINVAL; -EBADF; -ENOTSOCK; -EOPNOTSUPP no socket for datagrams; -ENOMEM; -EMFILE; -EPERM;
   -ESHUTDOWN; -ECHILD: fd is still the caller's. */
VIGIL_API int vigil_datagrams_open_fd(vigil_datagrams **datagrams, vigil_loop *loop, int fd,
                                      const vigil_datagrams_options *options);

/* Close it. What waits to be sent is dropped, as a network may do. A promise that waits is rejected
   with -ECANCELED; no callback follows. NULL is allowed. Owner; does not block.
   0; -EPERM another thread runs the loop. */
VIGIL_API int vigil_datagrams_close(vigil_datagrams *datagrams);

/* Call fn for everything that comes, in batches, until it is replaced or taken away with fn NULL.
   Keeps the loop alive. Owner; does not block.
   0; -EINVAL; -EBUSY a promise waits; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_datagrams_on_packets(vigil_datagrams *datagrams, vigil_packets_fn fn,
                                         void *arg);

/* Send packets, in order. What the system does not take now is copied, within most_unsent. Owner;
   does not block.
   Returns how many of them were accepted, from the first; if it is none, why: -ENOBUFS most_unsent;
   -EMSGSIZE too long for the network; -ENOMEM; -EINVAL; -ESHUTDOWN; -EPERM; -ECHILD; and what
   sendmsg(2) answers for the first. */
VIGIL_API int64_t vigil_datagrams_send(vigil_datagrams *datagrams, const vigil_packet *packets,
                                       size_t count);

/* Receive one as a promise for its length (VIGIL_INT): into at most `room` bytes of the caller's
   memory. *peer (may be NULL) is who has sent it. Both must stay until it is settled. Owner; does
   not block.
   0; -EINVAL; -EBUSY somebody receives already; -ENOMEM; -ECANCELED; -ESHUTDOWN; -EPERM;
   -ECHILD. */
VIGIL_API int vigil_promise_packet(vigil_datagrams *datagrams, void *buffer, size_t room,
                                   vigil_address *peer, vigil_cancel_token *token,
                                   vigil_promise **promise);

/* Let it keep the loop alive while somebody receives, as it does at first. Not counted. Owner; does
   not block.
   0; -EINVAL; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_datagrams_ref(vigil_datagrams *datagrams);

/* Let receiving no longer keep the loop alive; what waits to be sent still does. Not counted.
   Owner; does not block.
   0; -EINVAL; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_datagrams_unref(vigil_datagrams *datagrams);

/* Where it receives: with the port that the system has chosen. Owner; does not block.
   0; -EINVAL; -EBADF. */
VIGIL_API int vigil_datagrams_address(const vigil_datagrams *datagrams, vigil_address *address);

/* The descriptor, for socket options (multicast). It stays the socket's. Owner; does not block.
   Returns the descriptor; -EBADF it is closed; -EINVAL. */
VIGIL_API int vigil_datagrams_fd(const vigil_datagrams *datagrams);

/* How many bytes wait to be sent. Owner; does not block. Returns the number. */
VIGIL_API size_t vigil_datagrams_unsent(const vigil_datagrams *datagrams);

#ifdef __cplusplus
}
#endif
#endif
