/* SPDX-License-Identifier: MIT */
/*
 * vigil/js.h - JavaScript on a loop, with its blocking work on a pool. Library: libvigil-js (needs
 * JavaScriptCore).
 *
 * A host is one JavaScript world on one loop. Ticks, microtasks, timers, immediates, errors and
 * exit follow Node 20. Several hosts may live in one process, each on a loop of its own; they share
 * nothing.
 *
 * Scripts are trusted: the engine is as up to date as the system's package, and nothing here is a
 * sandbox.
 *
 * Threads: "owner" is the thread that made the host; it must also be the one that runs its loop.
 * "Any" is any thread. No call blocks unless it says so. JavaScript runs inside the calls that say
 * so, and in the loop's turns.
 *
 * Values: a vigil_js_value is good while C code that got it from the host runs on the owner's
 * thread: keep it in a local variable or argument, where the engine's collector sees it. To keep it
 * longer, or in memory of your own, hold it.
 */
#ifndef VIGIL_JS_H
#define VIGIL_JS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>
#include <vigil/loop.h>
#include <vigil/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_js vigil_js;
typedef const struct vigil_js_cell *vigil_js_value;

/* ---- hosts ----------------------------------------------------------------------------------- */

/* What was noticed about a callback that does not end. */
typedef enum vigil_js_stall_kind {
    VIGIL_JS_STALL_LOOP = 1, /* JavaScript runs and does not return */
    /* a checkpoint does not end: promises that make promises, or ticks that make ticks */
    VIGIL_JS_STALL_MICROTASKS
} vigil_js_stall_kind;

typedef struct vigil_js_stall {
    size_t size;
    vigil_js_stall_kind kind;
    uint64_t running_ns; /* since the loop last had its turn */
    const char *where;   /* "function@file:line:column" of the innermost frame; "" if not known */
    const char *stack;   /* all frames that are known, one per line */
} vigil_js_stall;
#define VIGIL_JS_STALL_INIT VG_SIZED(vigil_js_stall)

typedef struct vigil_js_options {
    size_t size;
    vigil_loop *loop; /* NULL: the host makes one of its own */
    vigil_pool *pool; /* NULL: the host makes one of its own when the first work is handed to it */
    int argc;         /* process.argv from the third element on */
    const char *const *argv;
    const char *program; /* process.argv[0]; default "vigil" */

    /* What the program writes to standard output (1) and error (2). Default: write(2) to those
       descriptors. */
    void (*on_output)(void *user, int fd, const char *bytes, size_t length);
    /* A callback of the program has been running for stall_ns. Owner, in the midst of
       JavaScript: do not call the host. Return true to end it: an uncatchable end of what runs
       now; the next callback runs. Again after each further stall_ns. Default: a line on
       standard error, once per stall. */
    bool (*on_stall)(void *user, const vigil_js_stall *stall);
    int64_t stall_ns; /* 0: do not look */
    bool end_stalls;  /* end what stalls (when there is no on_stall to decide) */
    /* bytes of JavaScript heap after which the program ends with exit code 134; 0: no limit */
    size_t memory_max;
    void *user;
    /* keep rewritten ES modules under the user's cache folder and take them from there; the
       environment variable VIGIL_MODULE_CACHE=off forbids it */
    bool module_cache;
} vigil_js_options;
#define VIGIL_JS_OPTIONS_INIT VG_SIZED(vigil_js_options)

/* Make a host. The calling thread is its owner. options may be NULL. The loop must not be
   running. One host per loop; that is not checked. Any thread; does not block.
   0; -EINVAL; -ENOMEM; errors of vigil_loop_create. */
VIGIL_API int vigil_js_create(vigil_js **js, const vigil_js_options *options);

/* End the program gracefully. From here on vigil_js_port_call answers -ESHUTDOWN. Everything
   accepted before runs: calls through ports, work on the pool and its callbacks, promises of
   vigil_js_promise_create, immediates, requests that a server has begun to receive, and the
   microtasks of all these. Timers are dropped, servers take no further connection, and beforeExit
   is not emitted; exit is. When timeout_ns has passed the rest is dropped as vigil_js_close does
   it, without exit. Idempotent; a second call may shorten the time. Owner; blocks until the end,
   except inside JavaScript or a callback of the loop, where it returns 0 at once and the
   vigil_js_run around it ends so. Another thread calls it through a port.
   0; -EINVAL; -EPERM; -ENOMEM; errors of vigil_loop_run. */
VIGIL_API int vigil_js_shutdown(vigil_js *js, int64_t timeout_ns);

/* End the program at once: no JavaScript of it runs again, dropped callbacks run for calls and
   promises that were not delivered. A pool that the host has made is closed too (vigil_pool_close);
   work on a pool of yours goes on without the host. Owner; waits for running tasks of the host's
   own pool.
   0; -ETIMEDOUT a task does not return, the end goes on; -EDEADLK inside JavaScript or a callback:
   use vigil_js_shutdown there; -EINVAL; -EPERM. */
VIGIL_API int vigil_js_close(vigil_js *js, int64_t timeout_ns);

/* Give the host back; closes it first if nobody has. Destroy the host before its loop. NULL is
   allowed. Owner, outside of the loop's callbacks and of JavaScript; waits for running tasks of the
   host's own pool.
   0; -EDEADLK inside JavaScript or a callback. */
VIGIL_API int vigil_js_destroy(vigil_js *js);

/* The loop of the host. Owner; does not block. Returns the loop. */
VIGIL_API vigil_loop *vigil_js_loop(vigil_js *js);

/* The pool of the host; made now if the host makes its own. Owner; does not block. Returns NULL
   if it could not be made. */
VIGIL_API vigil_pool *vigil_js_pool(vigil_js *js);

/* Run a program: a file, resolved as `node FILE` does it. Runs JavaScript: the program's own
   code up to its end, and the checkpoint; then run the loop. An error that the program does not
   catch is printed and sets the exit code, as in Node. Owner; blocks as long as the code runs.
   0; -EINVAL; -EDEADLK inside JavaScript; -ECANCELED the program has ended. */
VIGIL_API int vigil_js_run_file(vigil_js *js, const char *path);

/* The same with a text, under a name that messages show. Owner; blocks as long as the code runs.
   0; -EINVAL; -EDEADLK inside JavaScript; -ECANCELED the program has ended. */
VIGIL_API int vigil_js_run_text(vigil_js *js, const char *text, size_t length, const char *name);

/* Run the loop until nothing keeps it alive or the program ends itself; emits beforeExit and
   exit. Owner; blocks.
   Returns the exit code, 0 to 255; errors of vigil_loop_run. */
VIGIL_API int vigil_js_run(vigil_js *js);

/* Whether work of the program is still in flight on the pool. Owner; does not block. Returns
   true if it is. */
VIGIL_API bool vigil_js_busy(const vigil_js *js);

/* Whether the program has ended (process.exit, or an error that nobody caught), and in *code
   with which code. Owner; does not block. Returns true if it has. */
VIGIL_API bool vigil_js_ended(const vigil_js *js, int *code);

/* ---- running pieces of JavaScript ------------------------------------------------------------ */

/* What was thrown by the last call on this host that answered -EIO. The texts live until the
   next such call. */
typedef struct vigil_js_error {
    size_t size;
    const char *message; /* "TypeError: x is not a function", or the thrown value as text */
    const char *stack;   /* as the program would see it; "" if it is no Error */
    const char *file;    /* "" if not known */
    int line, column;    /* 0 if not known */
    vigil_js_value value;
} vigil_js_error;
#define VIGIL_JS_ERROR_INIT VG_SIZED(vigil_js_error)

/* Evaluate a text, and run the checkpoint behind it unless JavaScript is on the stack already;
   `name` is what messages show. *value (may be NULL) is the result. The answer is what the text
   did, also if the program ends itself in the checkpoint: vigil_js_ended tells that. Owner; blocks
   as long as the code runs. 0; -EIO it threw, see vigil_js_error_get; -EINVAL; -ENOMEM; -ECANCELED
   the program ended before, or in it, or it stalled and was ended. */
VIGIL_API int vigil_js_eval(vigil_js *js, const char *text, size_t length, const char *name,
                            vigil_js_value *value);

/* Call a function with `self` (NULL: undefined) and arguments, and run the checkpoint behind it
   unless JavaScript is on the stack already. *value (may be NULL) is the result. The answer is
   what the function did, also if the program ends itself in the checkpoint: vigil_js_ended tells
   that. Owner; blocks as long as the code runs. 0; -EIO it threw, see vigil_js_error_get; -EINVAL
   no function; -ENOMEM; -ECANCELED the program ended before, or in it, or it stalled and was
   ended. */
VIGIL_API int vigil_js_call(vigil_js *js, vigil_js_value function, vigil_js_value self,
                            size_t count, const vigil_js_value *args, vigil_js_value *value);

/* Fill *error, which starts from VIGIL_JS_ERROR_INIT. Owner; does not block.
   0; -ENOENT nothing was thrown yet; -EINVAL. */
VIGIL_API int vigil_js_error_get(vigil_js *js, vigil_js_error *error);

/* ---- values (all: owner) --------------------------------------------------------------------- */

typedef enum vigil_js_type {
    VIGIL_JS_UNDEFINED,
    VIGIL_JS_NULL,
    VIGIL_JS_BOOL,
    VIGIL_JS_NUMBER,
    VIGIL_JS_STRING,
    VIGIL_JS_SYMBOL,
    VIGIL_JS_BIGINT,
    VIGIL_JS_OBJECT
} vigil_js_type;

/* The value undefined. Owner; does not block. Returns the value. */
VIGIL_API vigil_js_value vigil_js_undefined(vigil_js *js);

/* The value null. Owner; does not block. Returns the value. */
VIGIL_API vigil_js_value vigil_js_null(vigil_js *js);

/* A boolean. Owner; does not block. Returns the value. */
VIGIL_API vigil_js_value vigil_js_bool(vigil_js *js, bool value);

/* A number. Owner; does not block. Returns the value. */
VIGIL_API vigil_js_value vigil_js_number(vigil_js *js, double value);

/* A BigInt. Owner; does not block. Returns NULL if there is no memory. */
VIGIL_API vigil_js_value vigil_js_bigint(vigil_js *js, int64_t value);

/* A Date at so many milliseconds since 1970 (UTC); NaN, and more than 8.64e15 to either side, is
   JavaScript's Invalid Date. Owner; does not block. Returns NULL if there is no memory. */
VIGIL_API vigil_js_value vigil_js_date(vigil_js *js, double milliseconds);

/* A string of UTF-8; bytes that are none become U+FFFD. Owner; does not block. Returns NULL if
   there is no memory. */
VIGIL_API vigil_js_value vigil_js_text(vigil_js *js, const char *text, size_t length);

/* An empty object. Owner; does not block. Returns NULL if there is no memory. */
VIGIL_API vigil_js_value vigil_js_object(vigil_js *js);

/* An array of these items. Owner; does not block. Returns NULL if there is no memory. */
VIGIL_API vigil_js_value vigil_js_array(vigil_js *js, size_t count, const vigil_js_value *items);

/* A Uint8Array over your memory, without a copy. freed(data, arg) is called when JavaScript no
   longer needs it, on any thread; it must not call the host. Owner; does not block. Returns NULL
   if there is no memory, and freed is not called. */
VIGIL_API vigil_js_value vigil_js_bytes(vigil_js *js, void *data, size_t length,
                                        void (*freed)(void *data, void *arg), void *arg);

/* The type of a value. Owner; does not block. Returns the type. */
VIGIL_API vigil_js_type vigil_js_type_of(vigil_js *js, vigil_js_value value);

/* Whether the value can be called. Owner; does not block. Returns true if it can. */
VIGIL_API bool vigil_js_is_function(vigil_js *js, vigil_js_value value);

/* The value as a boolean, as JavaScript has it. Owner; does not block. Returns the boolean. */
VIGIL_API bool vigil_js_to_bool(vigil_js *js, vigil_js_value value);

/* The value as a number, as JavaScript has it. Owner; may run JavaScript (valueOf), otherwise
   does not block. Returns NaN if it is none. */
VIGIL_API double vigil_js_to_number(vigil_js *js, vigil_js_value value); /* NaN if it is none */

/* The value of a BigInt. Owner; does not block. Returns false if it is none, or does not fit; then
   vigil_js_to_text has all of its digits. */
VIGIL_API bool vigil_js_to_bigint(vigil_js *js, vigil_js_value value, int64_t *number);

/* The time of a Date in milliseconds since 1970 (UTC); NaN of an Invalid Date. Owner; does not
   block. Returns false if it is none. */
VIGIL_API bool vigil_js_to_date(vigil_js *js, vigil_js_value value, double *milliseconds);

/* The value as UTF-8 with a zero behind it, to be freed with free(); *length may be NULL. Owner;
   may run JavaScript (toString), otherwise does not block. Returns NULL if there is no memory,
   or it cannot be text. */
VIGIL_API char *vigil_js_to_text(vigil_js *js, vigil_js_value value, size_t *length);

/* The memory of an ArrayBuffer or typed array, good while the value lives and is not
   transferred. Owner; does not block. Returns false if it is none. */
VIGIL_API bool vigil_js_to_bytes(vigil_js *js, vigil_js_value value, unsigned char **data,
                                 size_t *length);

/* The global object. Owner; does not block. Returns the value. */
VIGIL_API vigil_js_value vigil_js_global(vigil_js *js);

/* A property. Owner; may run JavaScript (a getter), otherwise does not block. Returns NULL if a
   getter threw (see vigil_js_error_get), or it is no object. */
VIGIL_API vigil_js_value vigil_js_get(vigil_js *js, vigil_js_value object, const char *name);

/* An element. Owner; may run JavaScript (a getter), otherwise does not block. Returns NULL if a
   getter threw (see vigil_js_error_get), or it is no object. */
VIGIL_API vigil_js_value vigil_js_get_index(vigil_js *js, vigil_js_value object, unsigned index);

/* Set a property. Owner; may run JavaScript (a setter), otherwise does not block.
   0; -EIO a setter threw; -EINVAL no object. */
VIGIL_API int vigil_js_set(vigil_js *js, vigil_js_value object, const char *name,
                           vigil_js_value value);

/* Set an element. Owner; may run JavaScript (a setter), otherwise does not block.
   0; -EIO a setter threw; -EINVAL no object. */
VIGIL_API int vigil_js_set_index(vigil_js *js, vigil_js_value object, unsigned index,
                                 vigil_js_value value);

/* Whether the object or one of its prototypes has a property. Owner; may run JavaScript (a
   Proxy's), otherwise does not block. Returns true if so; false also if it is no object. */
VIGIL_API bool vigil_js_has(vigil_js *js, vigil_js_value object, const char *name);

/* Remove a property; one that is not there is no error. Owner; may run JavaScript (a Proxy's),
   otherwise does not block.
   0; -EPERM it cannot be deleted; -EIO something threw; -EINVAL no object. */
VIGIL_API int vigil_js_remove(vigil_js *js, vigil_js_value object, const char *name);

/* The names that `for (name in object)` has, as an array of strings: enumerable, its own and those
   of its prototypes. Owner; may run JavaScript (a Proxy's), otherwise does not block. Returns NULL
   if it is no object, or there is no memory. */
VIGIL_API vigil_js_value vigil_js_keys(vigil_js *js, vigil_js_value object);

/* Whether `value instanceof constructor`. Owner; may run JavaScript (Symbol.hasInstance), otherwise
   does not block. Returns true if so; false also if something threw (see vigil_js_error_get). */
VIGIL_API bool vigil_js_is_instance(vigil_js *js, vigil_js_value value, vigil_js_value constructor);

/* The value of a JSON text in UTF-8. Owner; does not block. Returns NULL if it is no JSON, or there
   is no memory. */
VIGIL_API vigil_js_value vigil_js_json_parse(vigil_js *js, const char *text, size_t length);

/* The value as JSON in UTF-8 with a zero behind it, to be freed with free(); *length may be NULL.
   Owner; may run JavaScript (toJSON, getters), otherwise does not block. Returns NULL if it has no
   JSON (undefined, a function), something threw (see vigil_js_error_get), or there is no memory. */
VIGIL_API char *vigil_js_json_text(vigil_js *js, vigil_js_value value, size_t *length);

/* Keep a value beyond the call that got it, until the matching vigil_js_unref. Owner; does not
   block. */
VIGIL_API void vigil_js_ref(vigil_js *js, vigil_js_value value);

/* Undo one vigil_js_ref. Owner; does not block. */
VIGIL_API void vigil_js_unref(vigil_js *js, vigil_js_value value);

/* ---- C for JavaScript (owner) ---------------------------------------------------------------- */

typedef struct vigil_js_frame {
    vigil_js *js;
    void *data; /* of vigil_js_function */
    vigil_js_value self;
    size_t count;
    const vigil_js_value *args;
    vigil_js_value thrown; /* set it to throw: vigil_js_make_error, or any value */
} vigil_js_frame;

/* Returns the result; NULL is undefined. Must not leave by vigil_raise. */
typedef vigil_js_value (*vigil_js_fn)(vigil_js_frame *frame);

/* A function that calls fn; frame->data is `data`. Owner; does not block. Returns NULL if there
   is no memory. */
VIGIL_API vigil_js_value vigil_js_function(vigil_js *js, const char *name, vigil_js_fn fn,
                                           void *data);

/* An Error with this message, for frame->thrown. Owner; does not block. Returns NULL if there is
   no memory. */
VIGIL_API vigil_js_value vigil_js_make_error(vigil_js *js, const char *message);

/* A class whose instances carry a pointer of yours. */
typedef struct vigil_js_class vigil_js_class;
typedef struct vigil_js_method {
    const char *name; /* NULL ends the list */
    vigil_js_fn fn;
} vigil_js_method;

/* Make a class, which is the global's property `name`, and the host's own. construct(frame)
   returns the pointer for `new Name(...)`, or NULL after setting frame->thrown; NULL: not
   constructible from JavaScript. finalize(pointer) runs when an instance is collected, and must
   not call the host. Owner; does not block.
   0; -EINVAL; -ENOMEM. */
VIGIL_API int vigil_js_class_create(vigil_js_class **class_, vigil_js *js, const char *name,
                                    const vigil_js_method *methods,
                                    void *(*construct)(vigil_js_frame *frame),
                                    void (*finalize)(void *pointer));

/* An instance around `pointer`. Owner; does not block. Returns NULL if there is no memory. */
VIGIL_API vigil_js_value vigil_js_instance(vigil_js *js, vigil_js_class *class_, void *pointer);

/* The pointer of an instance (frame->self in a method). Owner; does not block. Returns NULL if
   the value is none of this class. */
VIGIL_API void *vigil_js_instance_data(vigil_js *js, vigil_js_class *class_, vigil_js_value value);

/* ---- C on the pool (vigil:pool) -------------------------------------------------------------- */

/* What goes to a task and comes back from it: never a JavaScript value, because tasks run on
   threads of the pool. */
typedef enum vigil_js_datum_kind {
    VIGIL_JS_DATUM_NONE = 0, /* undefined or null */
    VIGIL_JS_DATUM_BOOL,     /* number is 0 or 1 */
    VIGIL_JS_DATUM_NUMBER,
    VIGIL_JS_DATUM_TEXT, /* UTF-8 in data, with a zero behind its length */
    /* of an ArrayBuffer or typed array: a copy, made when the task was asked for */
    VIGIL_JS_DATUM_BYTES
} vigil_js_datum_kind;

typedef struct vigil_js_datum {
    vigil_js_datum_kind kind;
    double number;
    const void *data;
    size_t length;
} vigil_js_datum;

typedef struct vigil_js_work {
    size_t size;
    void *data; /* of vigil_js_task_expose */
    size_t count;
    const vigil_js_datum *args;
    /* NONE, BOOL or NUMBER: set it; TEXT and BYTES: vigil_js_work_result_set */
    vigil_js_datum result;
    char message[128]; /* of the error, if the task fails; empty: that of the status */
} vigil_js_work;
#define VIGIL_JS_WORK_INIT VG_SIZED(vigil_js_work)

/* The task: on a thread of the pool. 0: the promise is fulfilled with work->result; a negative
   errno: it is rejected, with an Error that has `code` and `errno`. Must not leave by
   vigil_raise, and must not call the host except for the two functions below. */
typedef int (*vigil_js_task_fn)(vigil_js_work *work);

#define VIGIL_JS_TASK_BLOCKS \
    1U /* it waits rather than computes: a spare worker may take its place (vigil_blocking_begin) */

/* Make fn the task `name`: require('vigil:pool').run(name, [arguments], options) and
   .tasks.name(...arguments). Viewers show it as "task NAME" (of the first 32 tasks of a
   process). Owner; does not block.
   0; -EINVAL; -EEXIST; -ENOMEM. */
VIGIL_API int vigil_js_task_expose(vigil_js *js, const char *name, vigil_js_task_fn fn, void *data,
                                   unsigned flags);

/* Set a copy of the bytes as the result. Inside the task, on its thread; does not block.
   0; -EINVAL the kind is not TEXT or BYTES; -ENOMEM. */
VIGIL_API int vigil_js_work_result_set(vigil_js_work *work, vigil_js_datum_kind kind,
                                       const void *data, size_t length);

/* Whether nobody waits for the result any more: the program aborted it, or its time is over.
   Inside the task, on its thread; does not block. Returns true if so. */
VIGIL_API bool vigil_js_work_cancelled(const vigil_js_work *work);

/* ---- from any thread ------------------------------------------------------------------------- */

/* A way to a host that other threads may hold; it outlives the host. */
typedef struct vigil_js_port vigil_js_port;

/* Open a port to the host; *port is given back with vigil_js_port_close. Owner; does not block.
   0; -EINVAL; -ENOMEM. */
VIGIL_API int vigil_js_port_open(vigil_js_port **port, vigil_js *js);

/* Close a port. Calls that are in flight still run. NULL is allowed. Any thread; does not block. */
VIGIL_API void vigil_js_port_close(vigil_js_port *port);

/* Call fn(js, arg) on the owner, in the poll phase of a turn. dropped(arg), if not NULL, instead
   when the host ends first, on any thread. FIFO per thread. Does not keep the loop alive by
   itself. Any thread; does not block.
   0; -ESHUTDOWN after vigil_js_shutdown; -EINVAL; -ENOMEM. */
VIGIL_API int vigil_js_port_call(vigil_js_port *port, void (*fn)(vigil_js *js, void *arg),
                                 void (*dropped)(void *arg), void *arg);

/* A promise that is settled once, from any thread; until then it keeps the loop alive. */
typedef struct vigil_js_promise vigil_js_promise;

/* Make a promise; *value is the promise as JavaScript sees it. Owner; does not block.
   0; -EINVAL; -ENOMEM. */
VIGIL_API int vigil_js_promise_create(vigil_js_promise **promise, vigil_js *js,
                                      vigil_js_value *value);

/* Settle it: on the owner, make(js, arg) gives the value or reason (NULL: undefined).
   dropped(arg), if not NULL, runs instead when the host ends first. The handle is gone after
   this call. Any thread; does not block.
   0; -EINVAL; -ENOMEM the handle is still good. */
VIGIL_API int vigil_js_promise_settle(vigil_js_promise *promise, bool fulfil,
                                      vigil_js_value (*make)(vigil_js *js, void *arg),
                                      void (*dropped)(void *arg), void *arg);

/* What vigil_js_await_call calls, with the value or the reason. */
typedef void (*vigil_js_settled_fn)(vigil_js *js, bool fulfilled, vigil_js_value value, void *arg);

/* Wait for a promise, or any thenable, in C: fn(js, true, value, arg) when it is fulfilled,
   fn(js, false, reason, arg) when it is rejected, once, as a microtask of the owner; a value that
   is no promise counts as fulfilled. Does not keep the loop alive by itself. dropped(arg), if not
   NULL, instead when the promise is collected or the host ends first; it may not call the host.
   Owner; does not block.
   0; -EIO something threw (see vigil_js_error_get); -EPERM another thread; -EINVAL; -ENOMEM. */
VIGIL_API int vigil_js_await_call(vigil_js *js, vigil_js_value value, vigil_js_settled_fn fn,
                                  void (*dropped)(void *arg), void *arg);

/* ---- modules --------------------------------------------------------------------------------- */

/* Give scripts a module: `import db from 'app:db'`, `import { open } from 'app:db'` and
   require('app:db') get `exports`, whose properties are the names. The name begins with a scheme
   of the program's own. A module that was imported already stays as it is. Owner; does not block.
   0; -EINVAL the name has no scheme, or one that has a meaning; -EPERM another thread; -ENOMEM. */
VIGIL_API int vigil_js_module(vigil_js *js, const char *name, vigil_js_value exports);

#ifdef __cplusplus
}
#endif
#endif
