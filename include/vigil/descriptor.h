/* SPDX-License-Identifier: MIT */
/*
 * vigil/descriptor.h - wait for any descriptor: a socket of another library, a timerfd, a device.
 *
 * The descriptor is registered once, by its edges, and what it was ready for is kept. A wait costs
 * no system call. Who finds nothing (EAGAIN) says so with vigil_descriptor_clear and waits:
 *
 *     for (;;) {
 *         ssize_t got = read(fd, buffer, sizeof buffer);
 *         if (got >= 0 || errno != EAGAIN)
 *             break;
 *         vigil_descriptor_clear(descriptor, VIGIL_FD_READ, seen);
 *         ... wait for VIGIL_FD_READ in one of the three ways; the result is the new `seen` ...
 *     }
 *
 * `seen` is a set of VIGIL_FD_* and, above them, a number that changes with each event. Clear takes
 * away what was seen and nothing newer, so an event between the EAGAIN and the clear is not lost.
 *
 * Three ways to wait: vigil_ready in your own struct, a promise, and from other threads
 * vigil_descriptor_wait. A descriptor that is closed tells all who wait. For connections see
 * vigil/io.h, which does all this by itself.
 */
#ifndef VIGIL_DESCRIPTOR_H
#define VIGIL_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>
#include <vigil/cancel.h>
#include <vigil/loop.h>
#include <vigil/promise.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_descriptor vigil_descriptor;

/* Start from VIGIL_DESCRIPTOR_OPTIONS_INIT. */
typedef struct vigil_descriptor_options {
    size_t size;
    /* VIGIL_FD_READ, _WRITE and _PRI that will be waited for; 0: reading and writing */
    unsigned events;
    bool borrowed; /* fd stays the caller's: close leaves it open */
} vigil_descriptor_options;
#define VIGIL_DESCRIPTOR_OPTIONS_INIT VG_SIZED(vigil_descriptor_options)

/* Register fd, with one reference. It becomes non-blocking and is the descriptor's from here on,
   unless it is borrowed. options may be NULL. It keeps the loop alive while somebody on the loop
   waits for it. Owner; does not block.
   0; -EINVAL; -EBADF; -EOPNOTSUPP it cannot be waited for (a regular file); -ENOMEM; -EMFILE;
   -EPERM; -ESHUTDOWN; -ECHILD: fd is still the caller's. */
VIGIL_API int vigil_descriptor_open(vigil_descriptor **descriptor, vigil_loop *loop, int fd,
                                    const vigil_descriptor_options *options);

/* Close it, and give the reference back. Each waiter gets -ECANCELED. Before the first waiter is
   notified, the owner closes fd: at once inside its callbacks, else when it runs next.
   NULL is allowed. Any thread; does not block.
   0; -EALREADY it was closed before: only the reference is given back. */
VIGIL_API int vigil_descriptor_close(vigil_descriptor *descriptor);

/* One more reference, for another thread that will wait. Any thread; does not block. Returns its
   argument. */
VIGIL_API vigil_descriptor *vigil_descriptor_ref(vigil_descriptor *descriptor);

/* Give a reference back without closing. The last one closes. NULL is allowed. Any thread; does not
   block. */
VIGIL_API void vigil_descriptor_unref(vigil_descriptor *descriptor);

/* The number. It stays the descriptor's. Any thread; does not block.
   Returns fd; -EBADF it is closed; -EINVAL. */
VIGIL_API int vigil_descriptor_fd(const vigil_descriptor *descriptor);

/* Give it a name that viewers show (vigil/record.h), as vigil_stream_name does. Owner; does not
   block.
   0; -EINVAL; -EBADF it is closed; -EPERM; -ECHILD; -ESHUTDOWN. */
VIGIL_API int vigil_descriptor_name(vigil_descriptor *descriptor, const char *name);

/* What it was ready for. Any thread; does not block. Returns it as `seen`. */
VIGIL_API int64_t vigil_descriptor_seen(const vigil_descriptor *descriptor);

/* Nothing is there: it is not ready for `events` any more, unless it has become so after `seen`.
   Reading takes VIGIL_FD_RDHUP along, all take VIGIL_FD_ERROR and VIGIL_FD_HANGUP. Any thread;
   does not block; cannot fail. */
VIGIL_API void vigil_descriptor_clear(vigil_descriptor *descriptor, unsigned events, int64_t seen);

/* ---- waiting --------------------------------------------------------------------------------- */

/* One wait, in your own struct. The vg_ fields are the library's. */
typedef struct vigil_ready vigil_ready;
/* result: what it is ready for, as `seen`; -ECANCELED it was closed; -EBADF fd was closed behind
   it; -ESHUTDOWN. The library's last touch of `ready` is this call. */
typedef void (*vigil_ready_fn)(vigil_ready *ready, int64_t result);
struct vigil_ready {
    vigil_ready_fn done;
    unsigned vg_events;
    vigil_ready *vg_next;
    vigil_ready **vg_link;
};

/* Call ready->done once, when one of the events, an error or a hang-up is there; never inside this
   call. Any number may wait. Owner; does not block.
   0; -EINVAL; -EBADF it is closed; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_descriptor_await(vigil_descriptor *descriptor, vigil_ready *ready,
                                     unsigned events);

/* Take a wait back. Owner; does not block.
   0 done is not called; -ESTALE it does not wait; -EINVAL; -EPERM; -ECHILD. */
VIGIL_API int vigil_descriptor_await_cancel(vigil_descriptor *descriptor, vigil_ready *ready);

/* The same as a promise for `seen` (VIGIL_INT), rejected as vigil_ready_fn says, or with the
   token's status. token may be NULL. Owner; does not block.
   0; -EINVAL; -EBADF; -ENOMEM; -ECANCELED; -ESHUTDOWN; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_ready(vigil_descriptor *descriptor, unsigned events,
                                  vigil_cancel_token *token, vigil_promise **promise);

/* Wait on another thread than the owner's; the owner must run the loop. The caller needs a
   reference. This wait does not keep the loop alive (vigil_loop_ref does). Any thread; blocks.
   0 and *seen (may be NULL); -ETIMEDOUT; -ECANCELED closed; -EBADF closed behind it; -ESHUTDOWN the
   loop has ended; -EDEADLK the caller runs the loop; -EINVAL; -ECHILD. */
VIGIL_API int vigil_descriptor_wait(vigil_descriptor *descriptor, unsigned events,
                                    int64_t timeout_ns, int64_t *seen);

#ifdef __cplusplus
}
#endif
#endif
