/* SPDX-License-Identifier: MIT */
/*
 * vigil/io.h - streams on a loop: addresses, connections, listeners.
 *
 * A stream is a descriptor that the loop watches once. A wait costs no system call, and a read
 * that finds data costs one. Reads go into the caller's memory, or into a buffer that all streams
 * of the loop share and that no idle stream holds. Writes are sent at the end of the callback
 * that made them, all of them with one call.
 *
 * Three ways to use it:
 *
 *   callbacks    vigil_stream_on_data, vigil_stream_read with a vigil_read in your own struct
 *   promises     vigil_promise_read and the like, with vigil/async.h or co_await
 *   by hand      vigil_stream_try_read where you know that there is something
 *
 * Threads: every call here is the owner's (vigil/loop.h). No call blocks. No callback runs inside
 * the call that asked for it.
 *
 * Ends. A stream is given back with vigil_stream_close, once, by the one who has it: also after
 * its peer has gone, and after an error. What was written is still sent, within flush_ns. After
 * the close no callback of the stream runs but on_closed, which says how it ended. A stream keeps
 * its loop alive while somebody waits for it to read (unless vigil_stream_unref was called), and
 * while it has something to send.
 *
 * The end of the loop ends its streams: what waits is answered with -ESHUTDOWN, what was not sent
 * is lost (on_closed says how much), the descriptor is closed. vigil_stream_close is still
 * needed, for the memory. In the child of a fork close frees the memory and the child's copy of
 * the descriptor.
 */
#ifndef VIGIL_IO_H
#define VIGIL_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <vigil/async.h>
#include <vigil/base.h>
#include <vigil/cancel.h>
#include <vigil/loop.h>
#include <vigil/promise.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- addresses ------------------------------------------------------------------------------- */

/* Where a socket is: IPv4, IPv6, or a Unix socket. */
typedef struct vigil_address {
    socklen_t length;
    union {
        struct sockaddr any;
        struct sockaddr_storage storage;
    };
} vigil_address;

#define VIGIL_ADDRESS_TEXT 160 /* bytes for every address in words, the final zero included */

/* Read an address: "127.0.0.1:80", "[::1]:80", "[fe80::1%eth0]:80", "*:80" (every address of this
   machine, IPv6 and IPv4), "unix:/path", "unix:@name" (abstract). Names are not looked up. Any
   thread; does not block.
   0; -EINVAL, and vigil_why() says what is wrong. */
VIGIL_API int vigil_address_init(vigil_address *address, const char *text);

/* The address in words, in the same form; cut at `room` bytes. Any thread; does not block.
   Returns the length that the whole has; -EINVAL. */
VIGIL_API int vigil_address_text(const vigil_address *address, char *text, size_t room);

/* ---- streams --------------------------------------------------------------------------------- */

typedef struct vigil_stream vigil_stream;

/* How a stream ended. */
typedef struct vigil_stream_end {
    size_t size;
    int status;      /* 0: everything was sent. Else the negative errno of the first failure */
    uint64_t unsent; /* bytes that were accepted and not given to the system */
} vigil_stream_end;
#define VIGIL_STREAM_END_INIT VG_SIZED(vigil_stream_end)

/* Owner: a stream is closed, its descriptor too. The last call that it makes; the stream is not
   valid any more. */
typedef void (*vigil_closed_fn)(void *user, const vigil_stream_end *end);

/* Start from VIGIL_STREAM_OPTIONS_INIT. */
typedef struct vigil_stream_options {
    size_t size;
    /* more unsent bytes than this: vigil_stream_write answers 1. 0: 64 KiB */
    size_t high_water;
    /* more unsent bytes than this: vigil_stream_write answers -ENOBUFS. 0: no bound */
    size_t most_unsent;
    /* nothing read and nothing sent for so long: the stream fails with -ETIMEDOUT. Looked at
       coarsely: a quarter more may pass */
    int64_t idle_ns;
    /* how long vigil_stream_close goes on sending; the _INIT macro says VIGIL_FOREVER */
    int64_t flush_ns;
    bool borrowed; /* the descriptor stays the caller's: close leaves it open */
    /* of a Unix socket: descriptors that the peer passes are kept for vigil_stream_take_fd. Without
       it they are closed by the system */
    bool takes_fds;
    /* May be NULL. Of a listener all streams have the same two: vigil_stream_on_closed gives each
       its own */
    vigil_closed_fn on_closed;
    void *user;
    /* how long the stream may live, whatever goes over it: then it fails with -ETIMEDOUT, looked
       at as coarsely as idle_ns. Also while close sends the rest */
    int64_t life_ns;
} vigil_stream_options;
#ifdef __cplusplus
#define VIGIL_STREAM_OPTIONS_INIT vg_stream_options_init()
#else
#define VIGIL_STREAM_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .size = sizeof(vigil_stream_options), .idle_ns = VIGIL_FOREVER, .flush_ns = VIGIL_FOREVER, \
        .life_ns = VIGIL_FOREVER                                                                   \
    }
#endif

/* Make a stream of a descriptor: a connected socket, a pipe, a terminal. It becomes non-blocking,
   and is the stream's from here on, unless it is borrowed. options may be NULL. Owner; does not
   block.
   0; -EINVAL; -EBADF; -EOPNOTSUPP a regular file or a listening socket; -ENOMEM; -EMFILE; -EPERM;
   -ESHUTDOWN; -ECHILD: the descriptor is still the caller's. */
VIGIL_API int vigil_stream_open(vigil_stream **stream, vigil_loop *loop, int fd,
                                const vigil_stream_options *options);

/* Give the stream back. What was accepted is sent first, without the caller, for at most
   flush_ns. A vigil_read that waits is dropped: its function is not called. A promise that waits
   is rejected with -ECANCELED. A vigil_write that waits keeps its memory in use until its
   function is called. NULL is allowed. Owner; does not block.
   0; -EPERM another thread runs the loop. */
VIGIL_API int vigil_stream_close(vigil_stream *stream);

/* The same without sending what waits; a TCP peer sees a reset. Owner; does not block.
   0; -EPERM another thread runs the loop. */
VIGIL_API int vigil_stream_reset(vigil_stream *stream);

/* Call fn(arg, end) when the stream is closed, in place of what was said before, there or in the
   options. fn NULL: nobody. Owner; does not block.
   0; -EINVAL; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_stream_on_closed(vigil_stream *stream, vigil_closed_fn fn, void *arg);

/* ---- reading --------------------------------------------------------------------------------- */

/* data: `length` bytes, valid during the call. length 0: the peer has ended its side, data is
   NULL; negative: the stream has failed. Nothing comes after either; close the stream. */
typedef void (*vigil_data_fn)(vigil_stream *stream, const void *data, int64_t length, void *arg);

/* Call fn for everything that comes, until it is replaced or taken away with fn NULL. This is the
   fast way. It may be called inside fn. Owner; does not block.
   0; -EINVAL; -EBUSY a vigil_read waits; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_stream_on_data(vigil_stream *stream, vigil_data_fn fn, void *arg);

/* One read, in your own struct. The vg_ fields are the library's. */
typedef struct vigil_read vigil_read;
/* result: how many bytes were read; 0: the peer had ended its side; negative: an error. The
   library's last touch of the read is this call. */
typedef void (*vigil_read_fn)(vigil_read *read, int64_t result);
struct vigil_read {
    vigil_read_fn done;
    unsigned char *vg_buffer;
    size_t vg_room;
    size_t vg_filled;
    int vg_delimiter; /* -1: none */
    bool vg_exact;
};

/* Read what there is, at most `room` bytes, at least one. One read waits at a time. read->done
   must be set. Owner; does not block.
   0; -EINVAL; -EBUSY another read waits, or there is an on_data; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_stream_read(vigil_stream *stream, vigil_read *read, void *buffer, size_t room);

/* Read exactly `length` bytes. If the peer ends before: -ENODATA, or 0 if there was not one byte.
   Owner; does not block.
   0; -EINVAL; -EBUSY; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_stream_read_exactly(vigil_stream *stream, vigil_read *read, void *buffer,
                                        size_t length);

/* Read up to the delimiter and with it: a line, with '\n'. `room` bytes without one: -EMSGSIZE,
   and they are in the buffer. What the peer sent before its end without a delimiter is given like
   a last line; then 0. What came behind the delimiter waits for the next read. Owner; does not
   block.
   0; -EINVAL; -EBUSY; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_stream_read_until(vigil_stream *stream, vigil_read *read, void *buffer,
                                      size_t room, unsigned char delimiter);

/* Take a read back. What an unfinished vigil_stream_read_exactly or _until has read is kept for
   the next read. Owner; does not block.
   0 done is not called; -ESTALE it does not wait here; -ENOMEM no memory to keep what was read,
   nothing changes; -EINVAL; -EPERM; -ECHILD. */
VIGIL_API int vigil_stream_read_cancel(vigil_stream *stream, vigil_read *read);

/* Read here and now. Owner; does not block.
   Returns the number of bytes; 0 the peer has ended its side; -EAGAIN nothing is there; -EBUSY a
   read waits; and what recv(2) answers. */
VIGIL_API int64_t vigil_stream_try_read(vigil_stream *stream, void *buffer, size_t room);

/* Wait until there is something to read, without reading it: read->done(read, 1), then take it with
   vigil_stream_try_read into memory that nobody holds while nothing comes. Also at the end and
   after a failure, which vigil_stream_try_read then tells. It counts as the one read that waits.
   read->done must be set. Owner; does not block.
   0; -EINVAL; -EBUSY; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_stream_readable(vigil_stream *stream, vigil_read *read);

/* ---- writing --------------------------------------------------------------------------------- */

/* Send a copy of the bytes, after all that was written before. They leave at the end of the
   callback that runs, with everything else it writes. A failure of the connection is reported by
   the next read, the next write, and on_closed. Owner; does not block.
   0; 1 accepted, and more than high_water is unsent: wait for vigil_stream_drained; -EPIPE the
   stream was ended; -ENOBUFS more than most_unsent; -ENOMEM; -EINVAL; -ESHUTDOWN; -EPERM;
   -ECHILD; and the failure of the connection. */
VIGIL_API int vigil_stream_write(vigil_stream *stream, const void *data, size_t length);

/* The same from your own memory, without a copy and without allocation. The vg_ fields are the
   library's. */
typedef struct vigil_write vigil_write;
/* status: 0 the system has all of it; negative: the stream has failed or was closed first. The
   parts and the write are yours again. */
typedef void (*vigil_write_fn)(vigil_write *write, int status);
struct vigil_write {
    vigil_write_fn done;
    const struct iovec *vg_parts; /* those that are not sent */
    size_t vg_count;
    size_t vg_skip; /* bytes of the first part that are sent */
    size_t vg_left;
    vigil_write *vg_next;
    int vg_status;
    bool vg_copied;
    bool vg_passes; /* descriptors go with its first byte */
    bool vg_piped;  /* the bytes are in a pipe */
    bool vg_filed;  /* the bytes are in a file, and go out from there */
    bool vg_slow;   /* or, where the system cannot do that, through memory */
    int vg_file;
    int64_t vg_offset;
};

/* Send the parts in their order, any number but 0. write->done must be set. The write, the parts
   and what they point to are the stream's until done is called. Owner; does not block.
   0; 1 as vigil_stream_write; -EPIPE; -ENOBUFS; -EINVAL; -ESHUTDOWN; -EPERM; -ECHILD; and the
   failure of the connection. */
VIGIL_API int vigil_stream_submit(vigil_stream *stream, vigil_write *write,
                                  const struct iovec *parts, size_t count);

/* Send part of a file from `offset` on, after all that was written before; length 0: to its end.
   The bytes go from the page cache to the descriptor (sendfile); through a filter, such as TLS, in
   small pieces of memory. They count as unsent, but not against most_unsent. fd must be open for
   reading and stay open until done is called; its own offset is not used. Pages that are not in the
   cache are read from the disk while the loop waits. If the file ends before, the sending side of
   the stream fails with -ENODATA, because the peer would take what follows for the file.
   write->done must be set. Owner; does not block otherwise.
   0; 1 as vigil_stream_write; -EINVAL; -EBADF; -EOPNOTSUPP it is no regular file or block device;
   -ENODATA it ends before `offset`; -EPIPE; -ESHUTDOWN; -EPERM; -ECHILD; and the failure of the
   connection. */
VIGIL_API int vigil_stream_send_file(vigil_stream *stream, vigil_write *write, int fd,
                                     int64_t offset, uint64_t length);

/* Call fn(arg) once, when at most a quarter of high_water is unsent; also if the stream fails
   first. fn NULL: not any more. Owner; does not block.
   0; -EINVAL; -EBUSY somebody waits already; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_stream_on_drained(vigil_stream *stream, vigil_call_fn fn, void *arg);

/* End the sending side after what was written: the peer reads an end. Reading goes on. Owner;
   does not block.
   0; -EALREADY; -ESHUTDOWN; -EPERM; -ECHILD; and the failure of the connection. */
VIGIL_API int vigil_stream_finish(vigil_stream *stream);

/* ---- Unix sockets ---------------------------------------------------------------------------- */

/* Send descriptors to the peer, with the bytes, of which there must be one at least, after all that
   was written before. Copies are sent: fds stay the caller's. At most 64. Owner; does not block.
   0; 1 as vigil_stream_write; -EINVAL; -EBADF; -EMFILE; -EOPNOTSUPP it is no Unix socket; -EPIPE;
   -ENOBUFS; -ENOMEM; -ESHUTDOWN; -EPERM; -ECHILD; and the failure of the connection. */
VIGIL_API int vigil_stream_pass_fds(vigil_stream *stream, const void *data, size_t length,
                                    const int *fds, size_t count);

/* Take the oldest descriptor that the peer has passed (options.takes_fds). It comes with the first
   byte of what was sent with it, is close-on-exec and the caller's. More than 64 that nobody takes:
   the stream fails with -ENOBUFS. Owner; does not block.
   Returns the descriptor; -EAGAIN there is none; -EINVAL. */
VIGIL_API int vigil_stream_take_fd(vigil_stream *stream);

/* Who the peer of a Unix socket is, as the system knows it. */
typedef struct vigil_credentials {
    pid_t pid;
    uid_t uid;
    gid_t gid;
} vigil_credentials;

/* The process that has connected, or listened. Owner; does not block.
   0 and *credentials; -EOPNOTSUPP it is no Unix socket; -EBADF; -EINVAL. */
VIGIL_API int vigil_stream_credentials(const vigil_stream *stream, vigil_credentials *credentials);

/* ---- keeping the loop ------------------------------------------------------------------------ */

/* Let the stream keep its loop alive while somebody waits to read, as it does at first. Not
   counted. Owner; does not block.
   0; -EINVAL; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_stream_ref(vigil_stream *stream);

/* Let a reader no longer keep the loop alive. What waits to be sent, the start of a filter and a
   close that flushes keep it in any case. Not counted. Owner; does not block.
   0; -EINVAL; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_stream_unref(vigil_stream *stream);

/* ---- looking --------------------------------------------------------------------------------- */

typedef struct vigil_stream_stats {
    size_t size;
    uint64_t bytes_read, bytes_sent;
    uint64_t unsent;       /* accepted and not sent */
    uint64_t unread;       /* read from the system and not by the user */
    uint64_t since_ns;     /* how long ago the stream was made */
    uint64_t quiet_ns;     /* how long ago something was read or sent */
    uint64_t reads, sends; /* system calls */
    int error;             /* the failure, or 0 */
} vigil_stream_stats;
#define VIGIL_STREAM_STATS_INIT VG_SIZED(vigil_stream_stats)

/* Fill *stats, which starts from VIGIL_STREAM_STATS_INIT. Owner; does not block.
   0; -EINVAL; -EPERM; -ECHILD. */
VIGIL_API int vigil_stream_stats_get(vigil_stream *stream, vigil_stream_stats *stats);

/* Give the stream a name that viewers show beside its kind and its peer (vigil/record.h): whose
   connection it is, say. It is copied, and cut at 31 bytes; a second one replaces the first, ""
   takes it away. Does nothing when the recorder is off, or has no room for this stream. Owner;
   does not block.
   0; -EINVAL; -EPERM; -ECHILD; -ESHUTDOWN. */
VIGIL_API int vigil_stream_name(vigil_stream *stream, const char *name);

/* Something that is waited for and is no stream: a name that is looked up, a query to a server.
   Viewers show it as a query, with its name and its age. In your own struct, whose memory stays
   until vigil_shown_end. The vg_ fields are the library's. */
typedef struct vigil_shown {
    void *vg_private[6];
} vigil_shown;

/* Show it from now on. The name is copied, and cut at 31 bytes. Does nothing when the recorder is
   off. After a failure it is not shown, and vigil_shown_end does nothing. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECHILD; -ESHUTDOWN. */
VIGIL_API int vigil_shown_begin(vigil_shown *shown, vigil_loop *loop, const char *name);

/* It is over. Does nothing the second time, for a struct of zeros, and after the end of the loop.
   NULL is allowed. Owner; does not block. */
VIGIL_API void vigil_shown_end(vigil_shown *shown);

/* The descriptor, for socket options. It stays the stream's. Owner; does not block.
   Returns the descriptor; -EBADF it is closed; -EINVAL. */
VIGIL_API int vigil_stream_fd(const vigil_stream *stream);

/* The address of the peer. Owner; does not block.
   0; -ENOTCONN; -ENOTSOCK; -EINVAL; -EBADF. */
VIGIL_API int vigil_stream_peer(const vigil_stream *stream, vigil_address *address);

/* ---- copying --------------------------------------------------------------------------------- */

/* Start from VIGIL_COPY_OPTIONS_INIT. */
typedef struct vigil_copy_options {
    size_t size;
    uint64_t most; /* bytes to copy; 0: until `from` ends */
    bool finish;   /* when `from` has ended, end the sending side of `to` */
    /* Through 256 KiB of memory. Without it the bytes stay in the system where both ends allow it
       (splice: sockets and pipes without a filter), which costs less CPU time; between fast peers
       memory takes less time in all. */
    bool buffered;
    /* The bytes that were taken from `from`; `to` has accepted all of them, and unless it fails
       they are sent, also after a cancellation. May be NULL; else valid until the promise is
       settled. */
    uint64_t *copied;
} vigil_copy_options;
#define VIGIL_COPY_OPTIONS_INIT VG_SIZED(vigil_copy_options)

/* Copy from one stream to another of the same loop, until `from` ends. It reads no faster than `to`
   sends, and is the one reader of `from`; a copy at rest holds neither pipe nor buffer.
   *promise is fulfilled with the number of bytes (VIGIL_INT) when all of them are sent. It is
   rejected with the failure of either stream, with -ECANCELED when one of them is closed, or with
   the token's status. Two copies, one in each direction, make a proxy: examples/proxy.c. options
   and token may be NULL. Owner; does not block.
   0; -EINVAL; -EXDEV streams of two loops; -EBUSY somebody reads from `from`, or another copy
   writes to `to`; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD; and the failure of a stream. */
VIGIL_API int vigil_promise_copy(vigil_stream *from, vigil_stream *to,
                                 const vigil_copy_options *options, vigil_cancel_token *token,
                                 vigil_promise **promise);

/* ---- listening ------------------------------------------------------------------------------- */

typedef struct vigil_listener vigil_listener;

/* A connection came; the stream is yours. */
typedef void (*vigil_accept_fn)(vigil_listener *listener, vigil_stream *stream, void *user);

/* Start from VIGIL_LISTENER_OPTIONS_INIT. */
typedef struct vigil_listener_options {
    size_t size;
    vigil_accept_fn on_stream; /* must be set */
    /* Owner: accept(2) failed. EMFILE, ENFILE, ENOBUFS and ENOMEM pause the listener, and it goes
       on when one of its streams is closed or a tenth of a second has passed. May be NULL */
    void (*on_error)(vigil_listener *listener, int error, void *user);
    void *user;
    int backlog;     /* of listen(2); 0: the system's most */
    unsigned most;   /* open streams of this listener; more wait in the backlog. 0: no bound */
    bool reuse_port; /* several listeners, on several loops, share the address (SO_REUSEPORT) */
    const vigil_stream_options *stream; /* of the accepted streams; NULL: none. Copied */
} vigil_listener_options;
#define VIGIL_LISTENER_OPTIONS_INIT VG_SIZED(vigil_listener_options)

/* Listen at an address. A Unix socket's path must not exist; it is removed at the close. Keeps
   the loop alive. Owner; does not block.
   0; -EINVAL; -EADDRINUSE; -EACCES; -ENOMEM; -EMFILE; -EPERM; -ESHUTDOWN; -ECHILD; and what
   socket(2), bind(2) and listen(2) answer. */
VIGIL_API int vigil_listener_open(vigil_listener **listener, vigil_loop *loop,
                                  const vigil_address *address,
                                  const vigil_listener_options *options);

/* The same on a socket that is bound already: one that systemd or a parent has passed, or one with
   options of its own. It may listen already; options.reuse_port is not looked at. It becomes
   non-blocking and is the listener's from here on. The path of a Unix socket is not removed.
   Owner; does not block.
   0; -EINVAL; -EBADF; -ENOTSOCK; -EOPNOTSUPP no socket for connections; -ENOMEM; -EMFILE; -EPERM;
   -ESHUTDOWN; -ECHILD; and what listen(2) answers: fd is still the caller's. */
VIGIL_API int vigil_listener_open_fd(vigil_listener **listener, vigil_loop *loop, int fd,
                                     const vigil_listener_options *options);

/* Stop listening and give the listener back. Its streams go on. NULL is allowed. Owner; does not
   block.
   0; -EPERM another thread runs the loop. */
VIGIL_API int vigil_listener_close(vigil_listener *listener);

/* Where it listens: with the port that the system has chosen. Owner; does not block.
   0; -EINVAL. */
VIGIL_API int vigil_listener_address(const vigil_listener *listener, vigil_address *address);

/* How many of its streams are open. Owner; does not block. Returns the number. */
VIGIL_API unsigned vigil_listener_streams(const vigil_listener *listener);

/* Let the listener keep its loop alive, as it does at first. Not counted. Owner; does not block.
   0; -EINVAL; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_listener_ref(vigil_listener *listener);

/* Let the listener no longer keep its loop alive. Its streams decide for themselves. Not counted.
   Owner; does not block.
   0; -EINVAL; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_listener_unref(vigil_listener *listener);

/* ---- connecting ------------------------------------------------------------------------------ */

/* Start from VIGIL_CONNECT_OPTIONS_INIT. */
typedef struct vigil_connect_options {
    size_t size;
    /* the next address is tried after so long without an answer (RFC 8305); 0: 250 ms */
    int64_t attempt_ns;
    int64_t timeout_ns;                 /* for all together; the _INIT macro says VIGIL_FOREVER */
    const vigil_address *source;        /* to bind to; NULL: the system chooses */
    const vigil_stream_options *stream; /* of the stream; NULL: none */
} vigil_connect_options;
#ifdef __cplusplus
#define VIGIL_CONNECT_OPTIONS_INIT vg_connect_options_init()
#else
#define VIGIL_CONNECT_OPTIONS_INIT                                         \
    {                                                                      \
        .size = sizeof(vigil_connect_options), .timeout_ns = VIGIL_FOREVER \
    }
#endif

/* Connect to the first of the addresses that answers, in turns of the families as RFC 8305 has
   it. *promise is fulfilled with the stream (VIGIL_POINTER; vigil_value_move takes it; one that
   nobody takes is closed), or rejected with the first address's error, -ETIMEDOUT, or the token's
   status. token and options may be NULL. Keeps the loop alive. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_connect(vigil_loop *loop, const vigil_address *addresses, size_t count,
                                    const vigil_connect_options *options, vigil_cancel_token *token,
                                    vigil_promise **promise);

/* ---- streams as promises --------------------------------------------------------------------- */

/* vigil_stream_read as a promise for the number of bytes (VIGIL_INT; 0 at the end). The buffer
   must stay until it is settled. If the token is aborted nothing is lost. Owner; does not block.
   0; -EINVAL; -EBUSY; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_read(vigil_stream *stream, void *buffer, size_t room,
                                 vigil_cancel_token *token, vigil_promise **promise);

/* vigil_stream_read_exactly as a promise. Owner; does not block.
   0; -EINVAL; -EBUSY; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_read_exactly(vigil_stream *stream, void *buffer, size_t length,
                                         vigil_cancel_token *token, vigil_promise **promise);

/* vigil_stream_read_until as a promise. Owner; does not block.
   0; -EINVAL; -EBUSY; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_read_until(vigil_stream *stream, void *buffer, size_t room,
                                       unsigned char delimiter, vigil_cancel_token *token,
                                       vigil_promise **promise);

/* vigil_stream_readable as a promise, fulfilled with VIGIL_NONE. Owner; does not block.
   0; -EINVAL; -EBUSY; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_readable(vigil_stream *stream, vigil_cancel_token *token,
                                     vigil_promise **promise);

/* In the steps of an asynchronous function (vigil/async.h): the same four, without a promise; a
   frame with a token needs a small piece of memory while it waits. The value is the number of bytes
   (VIGIL_INT); of VIGIL_AWAIT_READABLE it is VIGIL_NONE. A failure goes to OUT; so does a close of
   the stream by somebody else, with -ECANCELED. One await per line. */
#define VIGIL_AWAIT_READ(frame, stream, buffer, room)                                        \
    VG_AWAIT_READ(frame, vigil_frame_read(frame, stream, VIGIL_FRAME_READ, buffer, room, 0), \
                  __LINE__)
#define VIGIL_AWAIT_READ_EXACTLY(frame, stream, buffer, length)                                 \
    VG_AWAIT_READ(frame,                                                                        \
                  vigil_frame_read(frame, stream, VIGIL_FRAME_READ_EXACTLY, buffer, length, 0), \
                  __LINE__)
#define VIGIL_AWAIT_READ_UNTIL(frame, stream, buffer, room, delimiter)                           \
    VG_AWAIT_READ(                                                                               \
        frame, vigil_frame_read(frame, stream, VIGIL_FRAME_READ_UNTIL, buffer, room, delimiter), \
        __LINE__)
#define VIGIL_AWAIT_READABLE(frame, stream)                                                 \
    VG_AWAIT_READ(frame, vigil_frame_read(frame, stream, VIGIL_FRAME_READABLE, NULL, 0, 0), \
                  __LINE__)

#define VG_AWAIT_READ(frame, call, line_) VG_AWAIT_READ_AT(frame, call, line_)
#define VG_AWAIT_READ_AT(frame, call, line_)                                               \
    do {                                                                                   \
        (frame)->line = line_;                                                             \
        (frame)->vg_at = __extension__ && vigil_at_##line_;                                \
        (frame)->status = (call);                                                          \
        if ((frame)->status == 2 || ((frame)->status == 1 && vigil_frame_wait(frame, 0)))  \
            return;                                                                        \
        vigil_at_##line_ : if ((frame)->status < 0 &&                                      \
                               vigil_frame_failed(frame, (frame)->status)) goto vigil_out; \
    } while (0)

/* What an asynchronous function waits for. */
typedef enum vigil_frame_reads {
    VIGIL_FRAME_READ,
    VIGIL_FRAME_READ_EXACTLY,
    VIGIL_FRAME_READ_UNTIL,
    VIGIL_FRAME_READABLE
} vigil_frame_reads;

/* For the macros: begin to read. Owner; does not block.
   2 the frame is called when it is done; -EINVAL; -EBUSY; -EXDEV a stream of another loop;
   -ENOMEM; -ESHUTDOWN; -EPERM; -ECHILD; the status of the frame's token. */
VIGIL_API int vigil_frame_read(vigil_frame *frame, vigil_stream *stream, vigil_frame_reads how,
                               void *buffer, size_t room, unsigned char delimiter);

/* vigil_stream_send_file as a promise for the number of bytes (VIGIL_INT). fd must stay open until
   it is settled. If the token is aborted before the first byte has left, nothing is sent. If it
   is aborted before the last has, the sending side of the stream fails with the token's status: the
   peer cannot know where the file ends. Owner; does not block otherwise.
   0; -EINVAL; -EBADF; -EOPNOTSUPP; -ENODATA; -ENOMEM; -EPIPE; -EPERM; -ECANCELED; -ESHUTDOWN;
   -ECHILD; and the failure of the connection. */
VIGIL_API int vigil_promise_send_file(vigil_stream *stream, int fd, int64_t offset, uint64_t length,
                                      vigil_cancel_token *token, vigil_promise **promise);

/* Fulfilled (VIGIL_NONE) when at most a quarter of high_water is unsent, rejected with the
   failure of the connection. Owner; does not block.
   0; -EINVAL; -EBUSY; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_drained(vigil_stream *stream, vigil_cancel_token *token,
                                    vigil_promise **promise);

#ifdef __cplusplus
}

inline vigil_stream_options vg_stream_options_init()
{
    vigil_stream_options it = vg_sized<vigil_stream_options>();
    it.idle_ns = VIGIL_FOREVER;
    it.flush_ns = VIGIL_FOREVER;
    it.life_ns = VIGIL_FOREVER;
    return it;
}

inline vigil_connect_options vg_connect_options_init()
{
    vigil_connect_options it = vg_sized<vigil_connect_options>();
    it.timeout_ns = VIGIL_FOREVER;
    return it;
}
#endif
#endif
