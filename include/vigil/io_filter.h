/* SPDX-License-Identifier: MIT */
/*
 * vigil/io_filter.h - a filter between a stream and its descriptor: TLS, compression, a protocol
 * that wraps bytes. With it the stream stays a stream: every call of vigil/io.h, every promise and
 * every limit works as before.
 *
 * The filter makes the system calls on the descriptor (vigil_stream_fd) in place of the stream. The
 * stream decides when, waits for the descriptor, and keeps what is to be sent. A filter has no
 * thread and no callback of its own; its functions run on the owner's thread and must not block,
 * and must call nothing of the stream but vigil_stream_fd and vigil_stream_peer.
 *
 * What its functions answer:
 *
 *   -EAGAIN    nothing can be done now. *wants says what the descriptor must be ready for before
 *              the next try: VIGIL_FD_READ or VIGIL_FD_WRITE
 *   negative   the connection has failed; the stream fails with this status
 */
#ifndef VIGIL_IO_FILTER_H
#define VIGIL_IO_FILTER_H

#include <vigil/base.h>
#include <vigil/io.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t (*vigil_filter_receive_fn)(void *filter, void *buffer, size_t room,
                                           unsigned *wants);

/* Start from VIGIL_FILTER_CALLS_INIT. */
typedef struct vigil_filter_calls {
    size_t size;
    /* Agree with the peer before anything else (a handshake); called again until it is done. 0;
       -EAGAIN; an error. NULL: nothing is to be agreed. */
    int (*start)(void *filter, unsigned *wants);
    /* Read at most `room` bytes. Returns how many; 0 the peer has ended its side; -EAGAIN; an
       error. Must be set. */
    vigil_filter_receive_fn receive;
    /* Whether receive would find something without an event of the descriptor: bytes that the
       filter has read and not given. NULL: never. */
    bool (*pending)(void *filter);
    /* Send the parts. Returns how many bytes of them were taken, at least one; -EAGAIN; an error.
       After -EAGAIN the next call has the same bytes first, and perhaps more, perhaps elsewhere in
       memory. Must be set. */
    int64_t (*send)(void *filter, const struct iovec *parts, size_t count, unsigned *wants);
    /* Everything was sent: tell the peer that nothing follows (vigil_stream_finish, and once before
       the stream closes its descriptor). 0; -EAGAIN; an error. NULL: the socket is shut down. */
    int (*finish)(void *filter, unsigned *wants);
    /* The stream has ended: the filter's memory goes. The descriptor is closed already. NULL:
       nothing is to be done. */
    void (*destroy)(void *filter);
} vigil_filter_calls;
#define VIGIL_FILTER_CALLS_INIT VG_SIZED(vigil_filter_calls)

/* status: 0 the filter has started, or why it has not; then the stream has failed. */
typedef void (*vigil_filter_fn)(vigil_stream *stream, int status, void *arg);

/* Put a filter on a stream, which must be at rest: nothing unsent, nothing read and not taken,
   nobody who reads. What is written before the filter has started waits for it. started, if not
   NULL, is called once, unless the stream is closed before. calls is copied. From here on the
   filter is the stream's. Keeps the loop alive until it has started. Owner; does not block.
   0; -EINVAL; -EBUSY the stream is not at rest, or has a filter; -ENOMEM; -ESHUTDOWN; -EPERM;
   -ECHILD; and the failure of the connection: the filter is still the caller's. */
VIGIL_API int vigil_stream_filter(vigil_stream *stream, const vigil_filter_calls *calls,
                                  void *filter, vigil_filter_fn started, void *arg);

/* The same as a promise, fulfilled (VIGIL_NONE) when the filter has started. If the token is
   aborted before, the stream has failed with the token's status. Owner; does not block.
   0; -EINVAL; -EBUSY; -ENOMEM; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD; and the failure of the
   connection: the filter is still the caller's. */
VIGIL_API int vigil_promise_filter(vigil_stream *stream, const vigil_filter_calls *calls,
                                   void *filter, vigil_cancel_token *token,
                                   vigil_promise **promise);

/* The filter that a stream has, if it is one of these calls: how a library finds what it has put
   on a stream. Owner; does not block. Returns the filter; NULL if there is none, or another. */
VIGIL_API void *vigil_stream_filter_of(const vigil_stream *stream, vigil_filter_receive_fn receive);

#ifdef __cplusplus
}
#endif
#endif
