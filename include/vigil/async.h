/* SPDX-License-Identifier: MIT */
/*
 * vigil/async.h - asynchronous functions in plain C, written from top to bottom.
 *
 *     struct greet {
 *         vigil_frame frame;     -- first; the rest is what must survive a wait: your locals
 *         int fd;
 *         char text[64];
 *     };
 *
 *     static void greet_steps(vigil_frame *frame)
 *     {
 *         struct greet *self = (struct greet *)frame;
 *         VIGIL_ASYNC_BEGIN(frame);
 *         VIGIL_AWAIT(frame, vigil_promise_sleep(frame->loop, 1000000, frame->token,
 *                                                VIGIL_INTO(frame)));
 *         VIGIL_AWAIT(frame, vigil_promise_fd(frame->loop, self->fd, VIGIL_FD_READ, frame->token,
 *                                             VIGIL_INTO(frame)));
 *         ssize_t got = read(self->fd, self->text, sizeof self->text);
 *         if (got < 0)
 *             VIGIL_THROW(frame, -errno);
 *         VIGIL_RETURN(frame, vigil_value_int(got));
 *         VIGIL_ASYNC_OUT(frame);     -- every way leads here, once
 *         close(self->fd);
 *         VIGIL_ASYNC_END(frame);
 *     }
 *
 *     int greet(vigil_loop *loop, int fd, vigil_cancel_token *token, vigil_promise **promise)
 *     {
 *         struct greet *self = vigil_frame_alloc(sizeof *self, loop, token);
 *         if (self == NULL)
 *             return -ENOMEM;
 *         self->fd = fd;
 *         return vigil_frame_start(&self->frame, greet_steps, promise);
 *     }
 *
 * greet() is then like any other function that gives a promise, and can be awaited by others of its
 * kind.
 *
 * The rules
 *
 *   Locals.    A C variable does not survive a VIGIL_AWAIT: keep it in the struct. (Compilers
 *              mostly notice: "may be used uninitialized".) Blocks, loops and switch statements are
 *              allowed around an await; variable length arrays are not.
 *   Errors.    An await that fails, VIGIL_THROW, VIGIL_TRY and vigil_raise all go to
 *              VIGIL_ASYNC_OUT, with the status in frame->error. VIGIL_TRY_AWAIT goes on instead,
 *              with the status in frame->status.
 *   The end.   The part after VIGIL_ASYNC_OUT runs exactly once, whatever happens: return, failure,
 *              abort, the end of the loop. It may await too; nothing jumps there any more. It may
 *              look at frame->error, set it to 0 to forgive, or to another negative status. A raise
 *              there ends the call with its own status. Then the promise is settled, and the frame
 *              is freed.
 *   Cancel.    Before each await before OUT the token is looked at; an abort fails the await. Pass
 *              frame->token on to what you await, so that it ends as well.
 *   Order.     The first part runs inside vigil_frame_start; an await always lets at least one
 *              microtask pass, as in ECMAScript.
 *   Thread.    Everything on the owner's thread.
 *
 * docs/async.md has the reasons.
 */
#ifndef VIGIL_ASYNC_H
#define VIGIL_ASYNC_H

#include <stdbool.h>
#include <stddef.h>

#include <vigil/cancel.h>
#include <vigil/base.h>
#include <vigil/loop.h>
#include <vigil/promise.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vigil_once;
struct vigil_channel;
typedef struct vigil_frame vigil_frame;
typedef void (*vigil_frame_fn)(vigil_frame *frame);

/* The state of one call. Put it first into your own struct; the vg_ fields are the library's. */
struct vigil_frame {
    vigil_loop *loop;
    vigil_cancel_token *token; /* may be NULL; the frame has a reference of its own */
    /* what the last await gave: borrowed, valid until the next one. Never NULL */
    vigil_value *value;
    int status;    /* of the last await: 0, or the negative status of its rejection */
    int error;     /* how the call will end: 0, or a negative status */
    unsigned line; /* of the await that it waits in, for a debugger */
    bool vg_out_reached;
    bool vg_over;
    uint16_t vg_turns; /* messages without an await */
    void *vg_at;
    void *vg_out;
    vigil_frame_fn vg_steps;
    vigil_promise *vg_promise; /* of this call */
    vigil_promise *vg_awaited;
    vigil_promise *vg_next;
    vigil_promise *vg_reason; /* the promise whose reason says more than a status */
    vigil_value vg_result;
    vigil_value vg_nothing;
    vigil_reaction vg_reaction;
};

/* Zeroed memory for a frame of `size` bytes, freed by itself at the end of the call. token may
   be NULL. Owner, or any thread while nobody runs the loop; does not block. Returns NULL if
   there is no memory, or size is less than a vigil_frame. */
VIGIL_API void *vigil_frame_alloc(size_t size, vigil_loop *loop, vigil_cancel_token *token);

/* Free a frame that will not be started. NULL is allowed. Owner, or any thread while nobody runs
   the loop; does not block. */
VIGIL_API void vigil_frame_free(vigil_frame *frame);

/* Begin: runs until the first await. *promise (may be NULL, if you do not want it) settles when
   the call ends: with the value of VIGIL_RETURN (VIGIL_NONE without one), or rejected with the
   error. The frame is used up in any case: if this fails it is freed, and nothing of `steps` has
   run. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_frame_start(vigil_frame *frame, vigil_frame_fn steps, vigil_promise **promise);

/* ---- inside the steps ------------------------------------------------------------------------ */

/* Where the awaited function puts its promise. */
#define VIGIL_INTO(frame) (&(frame)->vg_next)

/* Wait for a call of the form `int f(..., vigil_promise **promise)`. If the call fails or its
   promise is rejected: to OUT. Else frame->value is the value. One await per line. */
#define VIGIL_AWAIT(frame, call)                                               \
    do {                                                                       \
        VG_AWAIT(frame, call, __LINE__);                                       \
        if ((frame)->status < 0 && vigil_frame_failed(frame, (frame)->status)) \
            goto vigil_out;                                                    \
    } while (0)

/* The same, and go on in any case; frame->status tells. */
#define VIGIL_TRY_AWAIT(frame, call)     \
    do {                                 \
        VG_AWAIT(frame, call, __LINE__); \
    } while (0)

/* Wait for a promise that you have; it stays yours. */
#define VIGIL_AWAIT_PROMISE(frame, promise) VIGIL_AWAIT(frame, vigil_frame_borrow(frame, promise))

/* Send or receive a message (vigil/channel.h): at once if it can be done at once, without a
   promise; else as VIGIL_AWAIT of vigil_promise_send or vigil_promise_receive. So up to 64 messages
   in a row may pass before other functions of the loop have their turn. A closed channel: to OUT,
   with -EPIPE. */
#define VIGIL_AWAIT_SEND(frame, channel, element) \
    VG_AWAIT_MESSAGE(frame, vigil_frame_send(frame, channel, element), __LINE__)
#define VIGIL_AWAIT_RECEIVE(frame, channel, element) \
    VG_AWAIT_MESSAGE(frame, vigil_frame_receive(frame, channel, element), __LINE__)

/* End with this value, which the promise owns from here on. */
#define VIGIL_RETURN(frame, result)              \
    do {                                         \
        if (vigil_frame_returned(frame, result)) \
            goto vigil_out;                      \
    } while (0)

/* End with an error: a negative errno, anything else counts as -EIO. */
#define VIGIL_THROW(frame, error_)             \
    do {                                       \
        if (vigil_frame_failed(frame, error_)) \
            goto vigil_out;                    \
    } while (0)

/* The same if `rc` is negative. */
#define VIGIL_TRY(frame, rc)                               \
    do {                                                   \
        int vg_rc = (rc);                                  \
        if (vg_rc < 0 && vigil_frame_failed(frame, vg_rc)) \
            goto vigil_out;                                \
    } while (0)

/* The three parts of the function; all are needed. */
#define VIGIL_ASYNC_BEGIN(frame)                                                               \
    do {                                                                                       \
        (frame)->vg_out = __extension__ && vigil_out;                                          \
        _Pragma("GCC diagnostic push") _Pragma(                                                \
            "GCC diagnostic ignored \"-Wpedantic\"") if ((frame)->vg_at != NULL) goto *(frame) \
            ->vg_at;                                                                           \
        _Pragma("GCC diagnostic pop")                                                          \
    } while (0)

#define VIGIL_ASYNC_OUT(frame) \
    vigil_out:                 \
    (frame)->vg_out_reached = true

#define VIGIL_ASYNC_END(frame)   \
    do {                         \
        (frame)->vg_over = true; \
        return;                  \
    } while (0)

/* ---- trying again ---------------------------------------------------------------------------- */

/* Begins an attempt and gives its promise, as the functions of promise.h do. A negative status
   counts as an attempt that failed. */
typedef int (*vigil_promise_start_fn)(vigil_loop *loop, void *arg, vigil_cancel_token *token,
                                      vigil_promise **promise);

/* Start from VIGIL_RETRY_OPTIONS_INIT. */
typedef struct vigil_retry_options {
    size_t size;
    unsigned attempts; /* at most; the _INIT macro says 5 */
    unsigned jitter;   /* each delay is shortened by a random part of up to so many percent: 50 */
    int64_t delay_ns;  /* before the second attempt, then doubled each time; 0.1 s */
    int64_t max_delay_ns;      /* 10 s */
    vigil_cancel_token *token; /* handed to the attempts, and ends the delays; NULL: none */
    bool (*again)(int status, void *arg); /* whether to try again after this error; NULL: always */
} vigil_retry_options;

#define VIGIL_RETRY_OPTIONS_INIT                                                                 \
    {                                                                                            \
        sizeof(vigil_retry_options), 5, 50, INT64_C(100000000), INT64_C(10000000000), NULL, NULL \
    }

/* Call start(loop, arg, token, ...) until its promise is fulfilled, with growing delays between the
   attempts. *promise is settled as the last attempt is. options may be NULL. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_retry(vigil_loop *loop, vigil_promise_start_fn start, void *arg,
                                  const vigil_retry_options *options, vigil_promise **promise);

/* ---- once ------------------------------------------------------------------------------------ */

/* vigil_once_run (vigil/sync.h) for asynchronous functions: start(loop, arg, token, ...) begins
   the call unless one has succeeded before. If one runs, in a thread, a task or another loop,
   its end is awaited. Fulfilled (VIGIL_NONE) when a call has succeeded; rejected as the caller's
   own attempt is, and the next caller tries. The once stays until the promise is settled. Owner;
   does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_once(vigil_loop *loop, struct vigil_once *once,
                                 vigil_promise_start_fn start, void *arg, vigil_cancel_token *token,
                                 vigil_promise **promise);

/* ---- what the macros use --------------------------------------------------------------------- */

#define VG_AWAIT(frame, call, line_) VG_AWAIT_AT(frame, call, line_)
#define VG_AWAIT_AT(frame, call, line_)                                             \
    (frame)->line = line_;                                                          \
    (frame)->vg_at = __extension__ && vigil_at_##line_;                             \
    if (vigil_frame_wait(frame, vigil_frame_may(frame) ? (call) : (frame)->status)) \
        return;                                                                     \
    vigil_at_##line_:

#define VG_AWAIT_MESSAGE(frame, call, line_) VG_AWAIT_MESSAGE_AT(frame, call, line_)
#define VG_AWAIT_MESSAGE_AT(frame, call, line_)                                            \
    do {                                                                                   \
        (frame)->status = (call);                                                          \
        if ((frame)->status > 0) {                                                         \
            (frame)->line = line_;                                                         \
            (frame)->vg_at = __extension__ && vigil_at_##line_;                            \
            if (vigil_frame_wait(frame, 0))                                                \
                return;                                                                    \
        }                                                                                  \
        vigil_at_##line_ : if ((frame)->status < 0 &&                                      \
                               vigil_frame_failed(frame, (frame)->status)) goto vigil_out; \
    } while (0)

/* For the macros: whether the awaited call is to be made. Owner; does not block. Returns false
   if not, and frame->status says why. */
VIGIL_API bool vigil_frame_may(vigil_frame *frame);

/* For the macros: the call has answered rc, wait for its promise. Owner; does not block. Returns
   false if there is nothing to wait for, and frame->status says why. */
VIGIL_API bool vigil_frame_wait(vigil_frame *frame, int rc);

/* For the macros: note that the call ends with this error. Owner; does not block. Returns true
   if the steps go to OUT; false behind it. */
VIGIL_API bool vigil_frame_failed(vigil_frame *frame, int status);

/* For the macros: note that the call ends with this value. Owner; does not block. Returns true
   if the steps go to OUT; false behind it. */
VIGIL_API bool vigil_frame_returned(vigil_frame *frame, vigil_value result);

/* For the macros: send a message at once, or begin to. Owner; does not block.
   0; 1 it is to be awaited; -EPIPE; -ENOMEM; -EINVAL; the status of the frame's token. */
VIGIL_API int vigil_frame_send(vigil_frame *frame, struct vigil_channel *channel,
                               const void *element);

/* For the macros: receive a message at once, or begin to. Owner; does not block.
   0; 1 it is to be awaited; -EPIPE; -EINVAL; the status of the frame's token. */
VIGIL_API int vigil_frame_receive(vigil_frame *frame, struct vigil_channel *channel, void *element);

/* For the macros: await a promise that stays the caller's. Owner; does not block.
   0; -EINVAL. */
VIGIL_API int vigil_frame_borrow(vigil_frame *frame, vigil_promise *promise);

#ifdef __cplusplus
}
#endif
#endif
