/* SPDX-License-Identifier: MIT */
/*
 * vigil/promise.h - promises on a loop, and blocking work on the pool that settles them.
 *
 * A promise belongs to a loop. It is pending, and then fulfilled or rejected once and for good. It
 * may be settled from any thread; handlers run on the loop's owner, as microtasks, in the order in
 * which they were added, never inside the call that added them or settled it. The timing is
 * ECMAScript's own, to the microtask. docs/promise.md says the rest.
 *
 * Who owns what
 *
 *   Promises   are counted references. Each function that gives you one (through an out parameter,
 *              which may be NULL where the header says so) gives you a reference;
 *              vigil_promise_unref gives it back. A pending promise needs nobody's reference to be
 *              settled by its handler or its operation. One that nobody can settle any more is
 *              freed.
 *   Values     belong to the promise they were given to, which calls value.destroy(value.pointer)
 *              when its last reference goes. Promises that merely pass a value on (no handler,
 *              finally, adoption) share it. So a value is destroyed exactly once, also when nobody
 *              ever looked at it, when it comes too late, or after the end of the loop. If a call
 *              fails, the value is still the caller's.
 *   Handlers   borrow the value for the time of the call; several handlers see the same one.
 *              vigil_value_move takes it out: it is the handler's then, and later readers find
 *              VIGIL_NONE (but a list that was made of it before, by vigil_promise_all and the
 *              like, does not notice: a value goes into a list or is moved, not both). A handler's
 *              result belongs to the derived promise; returning *value as it is means passing it
 *              on, and is safe.
 *   arg        stays the caller's. `done(arg)`, where it can be given, is called exactly once, when
 *              the arg is not needed any more, whether or not a handler has run. Give one `done`
 *              per argument. The one of vigil_async waits for the function on the pool and for the
 *              handlers of its promise, so both may share the argument.
 *
 * Threads: "any" and "owner" as in vigil/loop.h. No call blocks unless it says so. A promise may
 * outlive its loop: its state and value can be looked at, taken and given back; settling it answers
 * -ESHUTDOWN, adding handlers too. When the loop ends everything that is pending is rejected with
 * -ESHUTDOWN, and the handlers of that still run (not if the loop is closed rather than shut down:
 * then their promises are rejected with -ECANCELED in place of running them). In the child of a
 * fork the calls answer -ECHILD until vigil_loop_fork; what was in flight on a pool is rejected by
 * it.
 */
#ifndef VIGIL_PROMISE_H
#define VIGIL_PROMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <vigil/cancel.h>
#include <vigil/base.h>
#include <vigil/loop.h>
#include <vigil/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_promise vigil_promise;
typedef struct vigil_resolver vigil_resolver;
typedef struct vigil_thenable vigil_thenable;
typedef struct vigil_list vigil_list;

/* ---- values ---------------------------------------------------------------------------------- */

typedef enum vigil_kind {
    VIGIL_NONE = 0,
    VIGIL_INT,
    VIGIL_REAL,
    VIGIL_POINTER,
    VIGIL_LIST, /* what all, all_settled make; see vigil_list */
    /* only on its way into a promise: settle as that one does. Its reference goes along */
    VIGIL_PROMISE,
    VIGIL_THENABLE, /* likewise, for something of your own that can settle a promise */
    VIGIL_ERROR,    /* rejects. status, and perhaps a pointer to more */
    /* an error whose list holds the reasons: what any makes when all are rejected */
    VIGIL_AGGREGATE
} vigil_kind;

/* 24 bytes, passed by value. */
typedef struct vigil_value {
    vigil_kind kind;
    int32_t status; /* of an error: a negative errno. Else 0 */
    union {
        int64_t integer;
        double real;
        void *pointer;
        vigil_promise *promise;
        vigil_thenable *thenable;
        const vigil_list *list;
    };
    void (*destroy)(void *pointer); /* may be NULL. Called on any thread; must not raise */
} vigil_value;

/* The results of several promises, in their order. The items belong to the list; a rejected one
   is of kind VIGIL_ERROR. */
struct vigil_list {
    size_t count;
    const vigil_value *items;
};

/* Something that is no promise but can settle one. then() is called once, on the owner, as a
   microtask (ECMAScript's NewPromiseResolveThenableJob); it gets a promise with a reference of
   its own, and must settle it sooner or later, from any thread, and give the reference back. A
   raise inside it rejects that promise if it is not settled yet, and gives the reference back by
   itself. */
struct vigil_thenable {
    void (*then)(vigil_thenable *self, vigil_promise *promise);
};

/* A value of this kind with nothing in it. Any thread; does not block. Returns the value. */
static inline vigil_value vigil_value_of_kind(vigil_kind kind)
{
    const vigil_value value = {kind, 0, {0}, NULL};
    return value;
}

/* The value of a promise that has nothing to say. Any thread; does not block. Returns the value. */
static inline vigil_value vigil_value_none(void)
{
    return vigil_value_of_kind(VIGIL_NONE);
}

/* A whole number. Any thread; does not block. Returns the value. */
static inline vigil_value vigil_value_int(int64_t integer)
{
    const vigil_value value = {VIGIL_INT, 0, {integer}, NULL};
    return value;
}

/* A real number. Any thread; does not block. Returns the value. */
static inline vigil_value vigil_value_real(double real)
{
    vigil_value value = vigil_value_of_kind(VIGIL_REAL);
    value.real = real;
    return value;
}

/* A pointer; destroy(pointer), if not NULL, is called when the value is not needed any more:
   `free`, for one. Any thread; does not block. Returns the value. */
static inline vigil_value vigil_value_pointer(void *pointer, void (*destroy)(void *pointer))
{
    vigil_value value = vigil_value_of_kind(VIGIL_POINTER);
    value.pointer = pointer;
    value.destroy = destroy;
    return value;
}

/* A reason to reject with. status: a negative errno; zero and positive values count as -EIO. Any
   thread; does not block. Returns the value. */
static inline vigil_value vigil_value_error(int status)
{
    const vigil_value value = {VIGIL_ERROR, status < 0 ? status : -EIO, {0}, NULL};
    return value;
}

/* A reason with more to say. destroy(pointer), if not NULL, as with vigil_value_pointer. Any
   thread; does not block. Returns the value. */
static inline vigil_value vigil_value_error_with(int status, void *pointer,
                                                 void (*destroy)(void *pointer))
{
    vigil_value value = vigil_value_error(status);
    value.pointer = pointer;
    value.destroy = destroy;
    return value;
}

/* "Settle as this one does." The reference goes along: use vigil_promise_ref if you want to keep
   one. Any thread; does not block. Returns the value. */
static inline vigil_value vigil_value_promise(vigil_promise *promise)
{
    vigil_value value = vigil_value_of_kind(VIGIL_PROMISE);
    value.promise = promise;
    return value;
}

/* "Settle as this thenable does." destroy, if not NULL, is called after then() has returned, or
   if it is never called. Any thread; does not block. Returns the value. */
static inline vigil_value vigil_value_thenable(vigil_thenable *thenable,
                                               void (*destroy)(void *pointer))
{
    vigil_value value = vigil_value_of_kind(VIGIL_THENABLE);
    value.thenable = thenable;
    value.destroy = destroy;
    return value;
}

/* Whether the value is a reason. Any thread; does not block. Returns true for VIGIL_ERROR and
   VIGIL_AGGREGATE. */
static inline bool vigil_value_is_error(const vigil_value *value)
{
    return value->kind >= VIGIL_ERROR;
}

/* Inside a handler: take the value out of the promise; VIGIL_NONE stays behind. Owner; does not
   block. Returns the value, which is the caller's. */
static inline vigil_value vigil_value_move(vigil_value *value)
{
    vigil_value moved = *value;
    *value = vigil_value_none();
    return moved;
}

/* End a value that was moved or taken: calls destroy, or gives the reference of a VIGIL_PROMISE
   back. Any thread; does not block. */
VIGIL_API void vigil_value_destroy(vigil_value *value);

/* ---- making and settling --------------------------------------------------------------------- */

typedef enum vigil_promise_state {
    VIGIL_PENDING = 0,
    VIGIL_FULFILLED = 1,
    VIGIL_REJECTED = 2
} vigil_promise_state;

/* Make a pending promise that vigil_promise_resolve and _reject may settle. One allocation from
   the loop's slab. A pending promise does not keep the loop alive (see vigil_loop_ref); work in
   flight does. Any thread; does not block.
   0; -EINVAL; -ENOMEM; -ESHUTDOWN the loop has ended; -ECHILD. */
VIGIL_API int vigil_promise_create(vigil_promise **promise, vigil_loop *loop);

/* Make a promise with the right to settle it apart from it: vigil_promise_resolve answers
   -EPERM, only the resolver can. *resolver is given back with vigil_resolver_destroy. Any
   thread; does not block.
   0; -EINVAL; -ENOMEM; -ESHUTDOWN the loop has ended; -ECHILD. */
VIGIL_API int vigil_resolver_create(vigil_resolver **resolver, vigil_promise **promise,
                                    vigil_loop *loop);

/* vigil_promise_resolve by the resolver. Any thread; does not block.
   0; -EALREADY it was resolved before; -ESHUTDOWN the loop has ended; -EINVAL; -ECHILD. */
VIGIL_API int vigil_resolver_resolve(vigil_resolver *resolver, vigil_value value);

/* vigil_promise_reject by the resolver. Any thread; does not block.
   0; -EALREADY it was resolved before; -ESHUTDOWN the loop has ended; -EINVAL; -ECHILD. */
VIGIL_API int vigil_resolver_reject(vigil_resolver *resolver, vigil_value reason);

/* Give the resolver back. If it has settled nothing the promise is rejected with -EPIPE. NULL is
   allowed. Any thread; does not block. */
VIGIL_API void vigil_resolver_destroy(vigil_resolver *resolver);

/* Resolve: with a plain value, fulfil; with an error, reject; with a promise or thenable, settle
   as that one does ("adopt", which takes two more microtasks than a plain value, as in
   ECMAScript). With itself: reject with -EDEADLK. With a promise of another loop: reject with
   -EXDEV. The first call wins, exactly one of all threads. On the owner it takes effect at once;
   elsewhere in the next turn, through the loop's internal lane, without allocation. After a 0
   the value is the promise's. Any thread; does not block.
   0; -EALREADY it was resolved before; -EPERM it is a derived promise, or has a resolver;
   -ESHUTDOWN the loop has ended; -EINVAL; -ECHILD. */
VIGIL_API int vigil_promise_resolve(vigil_promise *promise, vigil_value value);

/* The same for errors: reason must be of kind VIGIL_ERROR or VIGIL_AGGREGATE. Any thread; does
   not block.
   0; -EALREADY; -EPERM; -ESHUTDOWN; -EINVAL also if reason is no error; -ECHILD. */
VIGIL_API int vigil_promise_reject(vigil_promise *promise, vigil_value reason);

/* A promise that is resolved with the value from the start. With a promise of this loop: that
   promise itself. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_resolved(vigil_loop *loop, vigil_value value, vigil_promise **promise);

/* Call fn(arg) here and now; its result, or what it raises, resolves the promise. Owner; does
   not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_try(vigil_loop *loop, vigil_value (*fn)(void *arg), void *arg,
                                vigil_promise **promise);

/* One more reference. NULL is allowed. Any thread; does not block. Returns its argument. */
VIGIL_API vigil_promise *vigil_promise_ref(vigil_promise *promise);

/* One reference less; with the last one the promise and its value end. NULL is allowed. Any
   thread; does not block. */
VIGIL_API void vigil_promise_unref(vigil_promise *promise);

/* ---- looking --------------------------------------------------------------------------------- */

/* The state of a promise. What another thread has just asked for shows when the loop has done
   it. Any thread; does not block. Returns the state. */
VIGIL_API vigil_promise_state vigil_promise_state_get(const vigil_promise *promise);

/* The state, and, if it is settled, in *value the value or reason: borrowed, valid as long as
   your reference and until somebody takes or moves it; its destroy is NULL. Does not count as
   handling a rejection. Any thread; does not block. Returns the state. */
VIGIL_API vigil_promise_state vigil_promise_result(vigil_promise *promise, vigil_value *value);

/* Take the value out: *value is yours, to be ended with vigil_value_destroy. Counts as handling
   a rejection. Any thread, but no handler of this promise, or of one that shares its value, may
   be looking at it at the same time; does not block.
   Returns a vigil_promise_state; -EAGAIN still pending; -ENODATA somebody has taken it; -EINVAL. */
VIGIL_API int vigil_promise_take(vigil_promise *promise, vigil_value *value);

/* Wait until the promise is settled. *value (may be NULL) as with vigil_promise_result. Counts
   as handling a rejection. Inside a task of a pool it counts as a blocking section, so that a
   spare takes the worker's place. Somebody has to run the loop. Any thread but the owner;
   blocks.
   Returns VIGIL_FULFILLED or VIGIL_REJECTED; -ETIMEDOUT; -EDEADLK on the owner; -EINVAL;
   -ECHILD. */
VIGIL_API int vigil_promise_wait(vigil_promise *promise, int64_t timeout_ns, vigil_value *value);

/* The loop that the promise belongs to. Any thread, as long as the loop is there; does not
   block. Returns the loop. */
VIGIL_API vigil_loop *vigil_promise_loop(const vigil_promise *promise);

/* ---- handlers -------------------------------------------------------------------------------- */

/* value: borrowed, see above. The result resolves the derived promise: an error (or a
   vigil_raise) rejects it, a promise is adopted. */
typedef vigil_value (*vigil_then_fn)(vigil_value *value, void *arg);

typedef struct vigil_handlers {
    size_t size;
    vigil_then_fn fulfilled; /* NULL: pass the value on */
    vigil_then_fn rejected;  /* NULL: pass the reason on */
    void *arg;
    void (*done)(void *arg); /* owner, or the thread that drops the last reference; may be NULL */
} vigil_handlers;
#define VIGIL_HANDLERS_INIT VG_SIZED(vigil_handlers)

/* Add handlers. *derived (may be NULL if you do not want it) is the promise for their result:
   one allocation, and none when it happens. A promise with handlers counts as handled; if nobody
   handles the derived one, that is what will be reported. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_then(vigil_promise *promise, vigil_then_fn fulfilled,
                                 vigil_then_fn rejected, void *arg, vigil_promise **derived);

/* The same with a struct, which starts from VIGIL_HANDLERS_INIT and can name `done`. If the call
   fails done is not called. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_then_with(vigil_promise *promise, const vigil_handlers *handlers,
                                      vigil_promise **derived);

/* vigil_promise_then(promise, NULL, rejected, arg, derived). Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_catch(vigil_promise *promise, vigil_then_fn rejected, void *arg,
                                  vigil_promise **derived);

/* Call fn(arg) either way. The derived promise settles as the first one did; but if fn returns a
   promise it waits for that, and if fn returns an error or raises, or that promise is rejected,
   this wins. Other results are destroyed. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_finally(vigil_promise *promise, vigil_value (*fn)(void *arg), void *arg,
                                    vigil_promise **derived);

/* vigil_promise_then for chains: uses up the reference to `promise` and gives one to the derived
   one. NULL in, or a failure: NULL out, and the reference is used up all the same. Owner; does
   not block. Returns the derived promise.

       p = vigil_promise_chain(p, parse, NULL, it);
       p = vigil_promise_chain(p, store, on_error, it);
       vigil_promise_unref(p); */
VIGIL_API vigil_promise *vigil_promise_chain(vigil_promise *promise, vigil_then_fn fulfilled,
                                             vigil_then_fn rejected, void *arg);

/* A handler in your own memory, without a derived promise and without allocation: for coroutines
   and the like. 64 bytes. run is called once, on the owner, as a microtask; value is borrowed.
   cancel (may be NULL) is called in its place when the loop is closed first, or when the promise
   is freed while it is pending: then nothing will ever come, and a raise is ignored, because
   the thread that freed the promise has nothing to do with it. The library's last touch is that
   call. Set the two functions; the vg_ fields are the library's. */
typedef struct vigil_reaction vigil_reaction;
struct vigil_reaction {
    vigil_post vg_post;
    vigil_promise *vg_source;
    void *vg_previous;
    void (*run)(vigil_reaction *reaction, vigil_promise_state state, vigil_value *value);
    void (*cancel)(vigil_reaction *reaction);
};

/* Add a reaction. The promise counts as handled. Owner; does not block.
   0; -EINVAL; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_reaction_add(vigil_promise *promise, vigil_reaction *reaction);

/* Take a reaction back, while the promise is pending. O(1). Owner; does not block.
   0 neither run nor cancel will be called; -EBUSY run is queued already; -ENOENT it is not
   there; -EINVAL; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_reaction_remove(vigil_promise *promise, vigil_reaction *reaction);

/* ---- several at once ------------------------------------------------------------------------- */

/* The promises are borrowed for the call and held inside while needed; all must belong to the
   loop (-EXDEV). They count as handled. One allocation for the promise and one block for all its
   parts. Owner. 0; -EINVAL; -ENOMEM; -EPERM; -EXDEV; -ESHUTDOWN; -ECHILD. */

/* Fulfilled with a VIGIL_LIST of all values; rejected with the first reason. Of none: fulfilled
   at once. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -EXDEV a promise of another loop; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_all(vigil_loop *loop, vigil_promise *const *promises, size_t count,
                                vigil_promise **promise);

/* Fulfilled with a VIGIL_LIST of values and reasons when all are settled. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -EXDEV a promise of another loop; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_all_settled(vigil_loop *loop, vigil_promise *const *promises,
                                        size_t count, vigil_promise **promise);

/* Settles as the first one does. Of none: never. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -EXDEV a promise of another loop; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_race(vigil_loop *loop, vigil_promise *const *promises, size_t count,
                                 vigil_promise **promise);

/* Fulfilled with the first value. When all are rejected: rejected with a VIGIL_AGGREGATE, whose
   status is that of the last reason to come and whose list has all in order. Of none: rejected
   at once, with the status -ENOENT. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -EXDEV a promise of another loop; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_any(vigil_loop *loop, vigil_promise *const *promises, size_t count,
                                vigil_promise **promise);

/* A promise that settles as `promise` does, unless the token is aborted (NULL: none) or
   timeout_ns have passed before: then it is rejected with the token's status or -ETIMEDOUT. With
   a timeout of 0 it is rejected unless `promise` is settled already. What goes on behind
   `promise` is not touched. If nobody can settle that one any more, and there is neither token
   nor limit, nobody can settle this one either. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED the token is aborted already; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_guard(vigil_promise *promise, vigil_cancel_token *token,
                                  int64_t timeout_ns, vigil_promise **guarded);

/* ---- rejections that nobody handles ---------------------------------------------------------- */

typedef struct vigil_rejection {
    size_t size;
    vigil_promise *promise; /* borrowed */
    vigil_value reason;     /* borrowed; kind VIGIL_NONE if it was taken */
    const void *created;    /* an address inside the function that made the promise */
    /* debug builds of the library: the stack at that time, innermost first, of promises that
       were made while hooks were set. Else NULL */
    void *const *trace;
    unsigned trace_count;
} vigil_rejection;
#define VIGIL_REJECTION_INIT VG_SIZED(vigil_rejection)

/* unhandled: the promise was rejected, and at the end of the checkpoint it has no handler; once
   for each promise. In a chain that is the last link. handled: one that was reported has got a
   handler after all. Both on the owner, at the end of a checkpoint; they may do anything a
   callback may, and a raise inside is ignored. Either may be NULL. Without hooks the rejections
   are only counted. */
typedef struct vigil_promise_hooks {
    size_t size;
    void (*unhandled)(void *user, const vigil_rejection *rejection);
    void (*handled)(void *user, const vigil_rejection *rejection);
    void *user;
} vigil_promise_hooks;
#define VIGIL_PROMISE_HOOKS_INIT VG_SIZED(vigil_promise_hooks)

/* Set the hooks of the loop's promises; NULL: none any more. hooks is copied. Owner; does not
   block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_hooks_set(vigil_loop *loop, const vigil_promise_hooks *hooks);

/* Say that a rejection of this promise is nobody's concern. Owner; does not block.
   0; -EINVAL; -EPERM; -ECHILD. */
VIGIL_API int vigil_promise_mark_handled(vigil_promise *promise);

/* ---- blocking work on the pool --------------------------------------------------------------- */

/* At most so many of the calls that name this limit are on the pool at a time. */
typedef struct vigil_limit vigil_limit;
typedef enum vigil_limit_policy {
    /* the rest waits its turn on the loop, FIFO; its promises stay pending */
    VIGIL_LIMIT_QUEUE = 0,
    VIGIL_LIMIT_REFUSE = 1 /* vigil_async answers -EAGAIN */
} vigil_limit_policy;

/* Make a limit for calls of vigil_async on this loop. most: at least 1. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_limit_create(vigil_limit **limit, vigil_loop *loop, size_t most,
                                 vigil_limit_policy policy);

/* Give the limit back: no new call names it any more; calls that are in flight or queued keep
   it. NULL is allowed. Any thread; does not block. */
VIGIL_API void vigil_limit_destroy(vigil_limit *limit);

typedef vigil_value (*vigil_async_fn)(void *arg);

/* Start from VIGIL_ASYNC_OPTIONS_INIT. */
typedef struct vigil_async_options {
    size_t size;
    vigil_priority priority;   /* the _INIT macro says VIGIL_NORMAL */
    vigil_cancel_token *token; /* borrowed for the call; NULL: none */
    /* the _INIT macro says VIGIL_FOREVER; 0: rejected unless it is settled at once */
    int64_t timeout_ns;
    vigil_limit *limit; /* of the same loop; NULL: none */
    /* may be NULL. After fn has returned or will never be called, and after the handlers that
       the promise had when it was settled: whichever is last. On the owner; on the worker or
       the thread that stops the pool if the promise was settled before */
    void (*done)(void *arg);
} vigil_async_options;

#define VIGIL_ASYNC_OPTIONS_INIT                                                   \
    {                                                                              \
        sizeof(vigil_async_options), VIGIL_NORMAL, NULL, VIGIL_FOREVER, NULL, NULL \
    }

/* Call fn(arg) on a worker of the pool; its result (or what it raises) resolves *promise on the
   loop. options may be NULL. While it is in flight the loop is kept alive. It ends early, with a
   rejection, when the token is aborted (the token's status), the time is up (-ETIMEDOUT), the
   pool ends before it started (-ECANCELED), or the loop ends (-ESHUTDOWN). Then, if it has not
   started, fn is never called; if it runs, it runs to its end, its result is destroyed, and it
   no longer keeps the loop alive. fn may poll the token to end sooner.

   Loop and pool may be destroyed in any order while calls are in flight. Calls that wait for
   their limit are not in the pool yet: it must stay until they have ended. Abort their token, or
   end the loop, before you destroy it. The result must not be of kind VIGIL_PROMISE or
   VIGIL_THENABLE, unless it is of this loop. Owner; does not block, but a pool with
   VIGIL_FULL_BLOCK holds the loop up here: give a loop's pool the default.
   0; -EINVAL; -ENOMEM; -EPERM; -EAGAIN the limit or the pool's max_queue is reached; -ECANCELED
   the token is aborted already; -ESHUTDOWN loop or pool; -ECHILD. */
VIGIL_API int vigil_async(vigil_loop *loop, vigil_pool *pool, vigil_async_fn fn, void *arg,
                          const vigil_async_options *options, vigil_promise **promise);

/* ---- things to wait for ---------------------------------------------------------------------- */

/* Each gives a pending promise. token may be NULL; if it is aborted the promise is rejected with
   its status and what was started for it is taken back; if it is aborted already the call
   answers -ECANCELED. They keep the loop alive as the thing itself does (timers, descriptors and
   children yes, signals no). If you give back the last reference while nobody handles the
   promise it goes on all the same. Owner. 0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN;
   -ECHILD; and what the underlying call answers. */

/* Fulfilled (VIGIL_NONE) when delay_ns have passed. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_sleep(vigil_loop *loop, int64_t delay_ns, vigil_cancel_token *token,
                                  vigil_promise **promise);

/* Fulfilled with the events (VIGIL_INT, VIGIL_FD_*) when the descriptor has some of those;
   rejected with -EBADF if it is closed before. Owner; does not block.
   0; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD; and what vigil_watch_add answers. */
VIGIL_API int vigil_promise_fd(vigil_loop *loop, int fd, unsigned events, vigil_cancel_token *token,
                               vigil_promise **promise);

/* Fulfilled when the child has ended, with its status as wait(2) has it (VIGIL_INT; WIFEXITED
   and friends), after it was reaped. Owner; does not block.
   0; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD; and what vigil_child_add answers. */
VIGIL_API int vigil_promise_child(vigil_loop *loop, pid_t pid, vigil_cancel_token *token,
                                  vigil_promise **promise);

/* Fulfilled with the signal's number (VIGIL_INT) when the process gets it the next time. Between
   two such waits nobody watches the signal, and it does what it did before: block it yourself,
   or keep a vigil_signal_add, if none may come at a bad time. Owner; does not block.
   0; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD; and what vigil_signal_add answers. */
VIGIL_API int vigil_promise_signal(vigil_loop *loop, int signo, vigil_cancel_token *token,
                                   vigil_promise **promise);

/* Fulfilled (VIGIL_NONE) when every task of the group has finished, rejected with the first
   failure's status. The group must be VIGIL_GROUP_DETACHED, is waited for by nobody else, and
   must stay until the promise is settled by it (an abort leaves the wait behind: then until the
   group is done). Takes a worker, which helps or is replaced by a spare. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_group(vigil_loop *loop, vigil_group *group, vigil_cancel_token *token,
                                  vigil_promise **promise);

/* Fulfilled (VIGIL_NONE) when there was an instant at which every accepted task of the pool had
   finished, as vigil_pool_wait_idle. The pool stays until the promise is settled. Owner; does not
   block, takes no thread.
   0; -EDEADLK inside a task of this pool; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN;
   -ECHILD. */
VIGIL_API int vigil_promise_pool_idle(vigil_loop *loop, vigil_pool *pool, vigil_cancel_token *token,
                                      vigil_promise **promise);

/* Begin the graceful end of the pool, as vigil_pool_shutdown: from here on it accepts nothing.
   Fulfilled (VIGIL_NONE) when every accepted task has finished; vigil_pool_destroy then waits for
   no task. An abort ends the wait alone, the end of the pool goes on; vigil_pool_close(pool, 0)
   makes it short. The pool stays until the promise is settled. Owner; does not block, takes no
   thread.
   0; -EDEADLK inside a task of this pool; -EINVAL; -ENOMEM; -EPERM; -ECANCELED; -ESHUTDOWN;
   -ECHILD. */
VIGIL_API int vigil_promise_pool_stop(vigil_loop *loop, vigil_pool *pool, vigil_cancel_token *token,
                                      vigil_promise **promise);

/* ---- looking at it --------------------------------------------------------------------------- */

typedef struct vigil_promise_stats {
    size_t size;
    uint64_t created;      /* promises ever made */
    uint64_t alive;        /* that exist now */
    uint64_t unhandled;    /* rejections that were found unhandled at the end of a checkpoint */
    uint64_t handled_late; /* of these: handled afterwards */
    uint64_t in_flight;    /* vigil_async calls that are queued or run, and awaitables that wait */
    uint64_t chunks;       /* blocks of memory now; what a burst leaves goes before a sleep */
} vigil_promise_stats;
#define VIGIL_PROMISE_STATS_INIT VG_SIZED(vigil_promise_stats)

/* Fill *stats, which starts from VIGIL_PROMISE_STATS_INIT. Exact on the owner, or while nobody
   runs the loop; else near. Any thread; does not block.
   0; -EINVAL; -ECHILD. */
VIGIL_API int vigil_promise_stats_get(vigil_loop *loop, vigil_promise_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
