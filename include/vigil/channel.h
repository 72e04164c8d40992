/* SPDX-License-Identifier: MIT */
/*
 * vigil/channel.h - messages between threads, tasks and asynchronous functions.
 *
 *     vigil_channel *lines;
 *     vigil_channel_create(&lines, sizeof(char *), 64);
 *
 *     vigil_channel_send(lines, &line, VIGIL_FOREVER, NULL);                  -- many senders
 *     vigil_channel_close(lines);
 *     while (vigil_channel_receive(lines, VIGIL_FOREVER, NULL, &line) == 0)   -- many receivers
 *         use(line);
 *
 * A message is `element` bytes, copied in and out. Messages of one sender arrive in their order. A
 * bounded channel makes senders wait while it is full. With capacity 0 a message goes from hand to
 * hand: the send returns when somebody has received it. An unbounded one never makes a sender wait
 * and grows.
 *
 * After vigil_channel_close no more can be sent, and what was sent can still be received. Then
 * every receive answers -EPIPE.
 *
 * A plain thread sleeps while it waits; a task lets a spare worker in; an asynchronous function
 * awaits vigil_promise_send and vigil_promise_receive. Timeouts and tokens are as in vigil/sync.h:
 * a timeout of 0 only tries. Each message wakes at most one receiver.
 *
 * A message that was handed to an asynchronous function has arrived: its promise is fulfilled, also
 * if its token is aborted or its loop ends in that instant. Nothing is lost in between.
 */
#ifndef VIGIL_CHANNEL_H
#define VIGIL_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>
#include <vigil/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_channel vigil_channel;
typedef struct vigil_promise vigil_promise;

#define VIGIL_CHANNEL_UNBOUNDED SIZE_MAX

/* Make a channel for messages of `element` bytes (1 to 65536), of which it holds up to
   `capacity`: 0 for none, or VIGIL_CHANNEL_UNBOUNDED. *channel is given back with
   vigil_channel_destroy. Any thread; does not block.
   0; -EINVAL; -ENOMEM. */
VIGIL_API int vigil_channel_create(vigil_channel **channel, size_t element, size_t capacity);

/* Free the channel and what is in it. No call on it is in progress. NULL is allowed. Any thread;
   does not block. */
VIGIL_API void vigil_channel_destroy(vigil_channel *channel);

/* Send a copy of *element. Any thread; blocks for at most timeout_ns while there is no room.
   0; -ETIMEDOUT; -EPIPE the channel is closed; -ENOMEM (unbounded); -EINVAL; the token's status. */
VIGIL_API int vigil_channel_send(vigil_channel *channel, const void *element, int64_t timeout_ns,
                                 vigil_cancel_token *token);

/* Receive the oldest message into *element. Any thread; blocks for at most timeout_ns while
   there is none.
   0; -ETIMEDOUT; -EPIPE the channel is closed and empty; -EINVAL; the token's status. */
VIGIL_API int vigil_channel_receive(vigil_channel *channel, int64_t timeout_ns,
                                    vigil_cancel_token *token, void *element);

/* Send from an asynchronous function: fulfilled (VIGIL_NONE) when *element is sent, which stays
   as it is until then, as does the channel; rejected with -EPIPE if the channel is closed. Owner
   of the loop; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_send(vigil_loop *loop, vigil_channel *channel, const void *element,
                                 vigil_cancel_token *token, vigil_promise **promise);

/* Receive in an asynchronous function: fulfilled (VIGIL_NONE) when the message is in *element,
   which stays until then, as does the channel; rejected with -EPIPE if the channel is closed and
   empty. Owner of the loop; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_receive(vigil_loop *loop, vigil_channel *channel, void *element,
                                    vigil_cancel_token *token, vigil_promise **promise);

/* No more messages: who waits to send gets -EPIPE, who receives gets the rest and then -EPIPE. Any
   thread; does not block.
   0; -EALREADY; -EINVAL. */
VIGIL_API int vigil_channel_close(vigil_channel *channel);

/* How many messages are in the channel now. Any thread; does not block. Returns the number; 0 for
   NULL. */
VIGIL_API size_t vigil_channel_count(const vigil_channel *channel);

/* One of several things to do: send or receive. A case without a channel is never ready. */
typedef struct vigil_channel_case {
    vigil_channel *channel;
    const void *send; /* the message to send; NULL: receive */
    void *receive;    /* where a received message goes */
    int status;       /* of the chosen case: 0, or -EPIPE; -ENOMEM */
} vigil_channel_case;

/* Do one of the cases, whichever can be done first; a closed channel can. If several can, one of
   them is picked at random. count is 1 to 64, and at least one case has a channel. Any thread;
   blocks for at most timeout_ns.
   Returns the index of the case that was done, and its status is set; -ETIMEDOUT; -EINVAL; the
   token's status. */
VIGIL_API int vigil_channel_select(vigil_channel_case *cases, size_t count, int64_t timeout_ns,
                                   vigil_cancel_token *token);

/* Select in an asynchronous function: fulfilled with VIGIL_INT, the index of the case that was
   done, and its status is set. The cases, their messages and their channels stay until then. Owner
   of the loop; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_select(vigil_loop *loop, vigil_channel_case *cases, size_t count,
                                   vigil_cancel_token *token, vigil_promise **promise);

#ifdef __cplusplus
}
#endif
#endif
