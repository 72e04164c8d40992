/* SPDX-License-Identifier: MIT */
/*
 * vigil/base.h - the rules that every header keeps, and what all of them share.
 *
 * Results. A call that can fail returns an int: zero or a positive value on success, a negative
 * errno on failure. After a failure nothing has changed: no callback of the call runs, and memory
 * that was handed to it is still the caller's. vigil_why() says which argument was refused and why.
 *
 * Time. Every timeout, delay and interval that a call takes is an int64_t in nanoseconds, and its
 * name ends in _ns. A negative timeout (VIGIL_FOREVER) has no limit; a timeout of 0 does not wait.
 * A delay of 0 means as soon as possible; a negative delay is refused with -EINVAL. An interval of
 * 0 means once. The _INIT macro of an options struct sets its timeouts to VIGIL_FOREVER. Instants
 * and measured times are uint64_t, instants on CLOCK_MONOTONIC. Tuning options carry their unit in
 * the name (spin_us, hog_ms); 0 is the default.
 *
 * Parameters. A call that brings an object to life (_create, _open, _init) takes the place for it
 * first and the options last. Every other result is the last parameter, or, for a buffer, the last
 * but its room.
 *
 * Structs. A struct whose first field is `size` may grow in later versions. It has an _INIT macro,
 * for C and for C++, that sets the size: start from it, for options and for results.
 *
 * Verbs.
 *   create, destroy   an opaque object with one owner
 *   open, close       a way to something outside
 *   init              memory of the caller; nothing to give back
 *   alloc, free       raw memory
 *   ref, unref        counted references; of a loop or timer: whether it keeps the loop alive
 *   add, remove       a registration; start, cancel: the same for timers
 *   start, stop       a service of the process, as the watchdog
 *
 * Memory. A call that takes a struct of the caller (submit, post, spawn, add) allocates nothing. A
 * call that takes a function and an argument and needs memory is named _call, or gives a promise,
 * and may answer -ENOMEM. Registrations that are named by a handle (timers, watches, signals,
 * children, hooks) keep their record in the loop and may answer -ENOMEM too.
 *
 * Ends, of pools, loops and JavaScript hosts alike.
 *   shutdown(x, timeout_ns)   graceful: everything that was accepted runs
 *   close(x, timeout_ns)      at once: what runs finishes, what has not started is cancelled
 *   destroy(x)                gives the memory back, and closes first if nobody has
 *
 * Threads. Each comment says who may call: any thread; the owner of a loop; a worker, which is a
 * thread inside a task. It says if the call may block, what it returns, and who owns what
 * afterwards.
 *
 * Words. The library prints one line on standard error for the first task that fails, the first
 * callback that leaves by vigil_raise, the first rejection that nobody handles and the first misuse
 * of each kind, unless the hook for it is set (on_failure, on_uncaught, vigil_promise_hooks_set);
 * and for the first child whose standard streams cannot be made to block.
 * VIGIL_LOG=warn in the environment prints each of them, at most ten lines a second; VIGIL_LOG=off
 * prints nothing.
 *
 * Errors that the library gives by itself, and what each means here:
 *
 *   -EINVAL      an argument is NULL, out of range, or an option contradicts another
 *   -ENOMEM      there is no memory; nothing changed
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
 *   -EPIPE       nobody is left who could settle the promise; the channel is closed
 *   -EOVERFLOW   there would be more units than the semaphore's limit
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

/* Fields marked so are shared between threads and touched by the library alone. In C++ they are
   opaque storage of the same size and alignment: C++ code never reads or writes them. */
#ifdef __cplusplus
#define VIGIL_ATOMIC(type) type
#else
#define VIGIL_ATOMIC(type) _Atomic(type)
#endif

/* What the _INIT macros are made of: everything zero but the size. */
#ifdef __cplusplus
extern "C++" {
template <class T> inline T vg_sized()
{
    T it = T();
    it.size = sizeof it;
    return it;
}
}
#define VG_SIZED(type) vg_sized<type>()
#else
#define VG_SIZED(type)       \
    {                        \
        .size = sizeof(type) \
    }
#endif

/* A timeout without limit. Every negative timeout is one. */
#define VIGIL_FOREVER INT64_C(-1)

#ifdef __cplusplus
extern "C" {
#endif

/* The reason for the last failure on this thread, in a sentence that names the argument:
   "options.workers is 2000; the most is 1024". A call that succeeds leaves the sentence as it
   is, so look only after a failure. "" if there was none. Any thread; does not block. Returns a
   text that is valid until the next failure on the same thread. */
VIGIL_API const char *vigil_why(void);

/* Set the reason for a failure: for a library on top of Vigil whose calls follow the same rule. The
   text is copied, its first 191 bytes. Any thread; does not block. Returns error. */
VIGIL_API int vigil_why_set(int error, const char *text);

/* A sentence for one of the errors above ("the pool no longer accepts work"); other errnos get the
   system's text. Any thread; does not block. Returns a text that is static or lives until the next
   call on the same thread. */
VIGIL_API const char *vigil_strerror(int error);

/* Leave the running task or loop callback from any depth, as if it had returned `status`. A status
   that is not negative counts as -EIO. The frames in between are left without clean-up, as with
   longjmp: their locks stay locked, their memory is lost, tasks of their groups may still run.
   Any thread inside a task or callback; elsewhere the process is aborted, because there is nowhere
   to go. Does not block; does not return. */
VIGIL_API VIGIL_NORETURN void vigil_raise(int status);

#ifdef __cplusplus
}
#endif
#endif
