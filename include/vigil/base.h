/* SPDX-License-Identifier: MIT */
/*
 * vigil/base.h - the rules of all headers, and errors.
 *
 * Every call that can fail returns an int: zero or a positive value on success, a negative errno on failure.
 * If a call fails, its callback never runs and the memory handed to it is still the caller's.
 *
 * The errors that the library gives by itself, and what each means here:
 *
 *   -EINVAL      an argument is NULL, out of range, or an option contradicts another
 *   -ENOMEM      memory could not be had; nothing changed
 *   -EAGAIN      a bounded queue is full, or the system gave no thread; try later
 *   -EBUSY       the task is already queued, or the object is in use
 *   -ESHUTDOWN   the pool or loop no longer accepts work
 *   -ECANCELED   the work was cancelled before it started
 *   -ETIMEDOUT   the time given to the call ran out; what it waited for goes on
 *   -EDEADLK     the call would wait for its own caller
 *   -EPERM       the call belongs to another thread (the owner, or a worker)
 *   -ECHILD      the object belongs to the parent process of a fork
 *   -ESTALE      the handle names something that no longer exists
 *   -ENOENT      there is nothing by that name or number
 *   -EIO         a task failed and gave no status of its own
 *   -EALREADY    it has happened before: the promise is resolved, the token aborted
 *   -EPIPE       nobody is left who could settle the promise
 *   -EXDEV       the promise belongs to another loop
 *   -ENODATA     the value has been taken by somebody else
 */
#ifndef VIGIL_BASE_H
#define VIGIL_BASE_H

#include <errno.h>
#include <stdint.h>

#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ < 8
#error "Vigil needs a 64-bit system: counters and queue words are 64-bit atomics"
#endif
#if defined(__GNUC__)
#define VIGIL_API               __attribute__((visibility("default")))
#define VIGIL_NORETURN          __attribute__((noreturn))
#define VIGIL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#error "Vigil needs a compiler that understands GNU attributes (gcc or clang)"
#endif

/* Fields marked so are shared between threads and touched by the library alone. In C++ they are opaque storage of the
   same size and alignment: C++ code never reads or writes them. */
#ifdef __cplusplus
#define VIGIL_ATOMIC(type) type
#else
#define VIGIL_ATOMIC(type) _Atomic(type)
#endif

/* A timeout without limit. Every negative timeout is one. */
#define VIGIL_FOREVER INT64_C(-1)

#ifdef __cplusplus
extern "C" {
#endif

/* Why the last call of this thread that failed did so, in a sentence that names the argument: "options.workers is 2000; the
   most is 1024". A call that succeeds leaves the sentence as it is, so look only after a failure. "" if there is none.
   Any thread; does not block; the text is valid until the next failure on the same thread. */
VIGIL_API const char *vigil_why(void);

/* A sentence for one of the errors above ("the pool no longer accepts work"); other errnos get the system's text.
   Any thread; does not block; the string is static or lives until the next call on the same thread. */
VIGIL_API const char *vigil_strerror(int error);

/*
 * Leave the running task (or loop callback) from however deep inside it, as if it had returned `status`.
 * status: a negative errno; zero and positive values count as -EIO.
 * The frames in between are left without any clean-up: what they had locked stays locked, what they had allocated is
 * lost, as with longjmp. Groups that were made in those frames are the caller's business: their tasks may still run.
 * Only inside a task or callback; anywhere else the process is aborted, because there is nowhere to go.
 */
VIGIL_API VIGIL_NORETURN void vigil_raise(int status);

#ifdef __cplusplus
}
#endif
#endif
