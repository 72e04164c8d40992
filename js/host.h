/* SPDX-License-Identifier: MIT */
/* What the files of the host share. */
#ifndef VG_JS_HOST_H
#define VG_JS_HOST_H

#include <stdatomic.h>
#include <vigil/js.h>

#include "engine.h"

/* What dispatch in lib/boot.js is asked to do. The numbers are those of KIND there. */
enum {
    VG_CLOSE = 0,
    VG_TIMERS,
    VG_IMMEDIATES,
    VG_COMPLETE,
    VG_CALL,
    VG_SIGNAL,
    VG_BEFORE_EXIT,
    VG_EXIT,
    VG_FILE,
    VG_TEXT,
    VG_EVENT,
    VG_UNWOUND,
    VG_CHECKPOINT
};

/* The numbers that JavaScript writes and C reads when a call is over. The places are those of lib/sched.js. */
enum {
    VG_NEXT_EXPIRY = 0,
    VG_TIMER_REFS,
    VG_IMMEDIATE_COUNT,
    VG_IMMEDIATE_REFS,
    VG_TICKING,
    VG_NAMING, /* how many callbacks may still be named before a look at the clock; see lib/sched.js */
    VG_STATE_SIZE = 8
};

/* Something that another thread has finished. deliver runs on the owner, in the poll phase; drop, in its place, on any thread
   when the host is gone. Each must free it. */
typedef struct vg_done vg_done;
struct vg_done {
    vg_done *next;
    void (*deliver)(vigil_js *js, vg_done *done);
    void (*drop)(vg_done *done);
};

/* The part of a host that other threads may hold: it outlives the host. */
typedef struct vg_port {
    _Atomic uint32_t refs;
    _Atomic uint32_t inside; /* threads between "is it open" and the end of their post; bit 31: closed */
    _Atomic(vg_done *) stack;
    vigil_loop *loop;
    vigil_js *js;
    vigil_post post;
} vg_port;

typedef struct vg_signal_watch {
    vigil_signal handle;
    int signo;
    struct vg_signal_watch *next;
} vg_signal_watch;

struct vigil_js {
    vigil_js_options options;
    vg_engine *engine;
    vigil_loop *loop;
    vigil_pool *pool;
    bool own_loop, own_pool;
    vg_val dispatch, binding;
    double state[VG_STATE_SIZE];

    /* turn.c */
    int depth; /* calls into JavaScript that are on the stack */
    vigil_hook hook;
    vigil_timer timer;
    double timer_expiry; /* what the loop's timer stands at, in ms; INFINITY: it is not started */
    bool timer_ref;
    bool loop_ref; /* immediates, or work in flight, hold the loop */
    uint64_t base_ns;

    /* port.c */
    vg_port *port;
    vg_done *ready, **ready_end;
    unsigned in_flight;

    /* the end of the program */
    bool ended;
    int exit_code;
    bool unwound; /* a call was ended from outside: nothing runs until all frames are gone */
    int run_result;

    /* limit.c */
    uint64_t entered_ns;
    unsigned stalls, tries;
    vg_val storm; /* what to call in a checkpoint that does not end */
    bool stall_armed;
    _Atomic uint32_t draining;

    vg_signal_watch *signals;
    struct vg_fs_op *fs_ops;          /* under way */
    void *embed;                      /* embed.c */
    struct vg_names *names;           /* names.c */
    uint64_t named_ns;                /* when VG_NAMING was last filled up */
    bool fs_named;                    /* bind_fs.c has named its functions */
    bool records;                     /* somebody may look: the recorder is not off */
    bool frame_shown;                 /* of the call that runs: limit.c has shown where it is */
    struct vg_watch_side *watch_side; /* bind_watch.c; NULL: this host has started no watchdog */
    struct vg_pool_side *pool_side;   /* pool_side.h; NULL until vigil:pool is loaded or a task is exposed */
    struct vg_http *http;             /* http.h; NULL until a program asks for it */
    void (*http_poll)(vigil_js *js);
    void (*http_end)(vigil_js *js);
    uint64_t memory_checked_ns, worked_ns;
    unsigned engine_pending; /* calls whose results the engine will put off (lib/wasm.js) */
};

/* ---- turn.c */
/* Enter JavaScript through dispatch, then bring the loop up to date. Up to three arguments; NULL ones are left out. */
int vg_js_dispatch(vigil_js *js, int kind, vg_val a, vg_val b, vg_val c);
int vg_js_turn_init(vigil_js *js);
void vg_js_turn_end(vigil_js *js);
double vg_js_now_ms(vigil_js *js);
/* Bring the loop up to date with what JavaScript wants; done by dispatch. */
void vg_js_sync(vigil_js *js);
/* The work in flight changes; keeps the loop alive. Owner. */
void vg_js_in_flight(vigil_js *js, int change);

/* ---- port.c */
vg_port *vg_port_new(vigil_js *js);
void vg_port_hold(vg_port *port);
void vg_port_release(vg_port *port);
/* Hand over what is finished. Any thread. Takes `done` in any case. */
void vg_port_send(vg_port *port, vg_done *done);
/* No delivery after this. Owner. */
void vg_port_close(vg_port *port);
/* Everything that is there now, also what no post has brought yet. */
void vg_js_deliver_now(vigil_js *js);
void vg_js_deliver(vigil_js *js);

/* ---- limit.c */
void vg_js_limit_begin(vigil_js *js);
/* End the JavaScript that runs, uncatchably. */
void vg_js_unwind(vigil_js *js);

/* ---- names.c: what viewers show */
#define VG_NAMES_PER_MS 8
/* What was compiled under this name: a function, or a text that was run. */
void vg_js_names_learn(vigil_js *js, vg_val result, const char *url);
/* This function is about to run, inside a callback of the loop; NULL: anything. */
void vg_js_shows(vigil_js *js, vg_val function);
void vg_js_shows_frame(vigil_js *js, const char *frame);
void vg_js_names_end(vigil_js *js);

/* ---- embed.c */
void vg_js_embed_end(vigil_js *js, bool engine_gone);
/* ---- bindings: each adds functions to js->binding; false: no memory */
typedef struct vg_binding_entry {
    const char *name;
    vg_native native;
} vg_binding_entry;
bool vg_js_bind(vigil_js *js, vg_val object, const vg_binding_entry *entries, size_t count);
bool vg_js_bind_core(vigil_js *js);
bool vg_js_bind_system(vigil_js *js);
/* From threads that do not block the signal to the caller, whose loop watches it; or not any more. */
void vg_js_forward_signal(int signo, bool on);
bool vg_js_bind_text(vigil_js *js);
bool vg_js_bind_fs(vigil_js *js);
bool vg_js_bind_pool(vigil_js *js);
bool vg_js_bind_watch(vigil_js *js);
/* Stops the watchdog if this host has started it. Before the engine goes. */
void vg_js_watch_side_end(vigil_js *js);
void vg_js_pool_side_end(vigil_js *js);
bool vg_js_bind_http(vigil_js *js); /* where the parser's library is there */

/* Argument i as a number (NaN), as text (to be freed; NULL), or undefined if there is none. */
vg_val vg_arg(vg_call *call, size_t i);
double vg_arg_number(vg_call *call, size_t i);
char *vg_arg_text(vg_call *call, size_t i, size_t *length);
bool vg_arg_is(vg_call *call, size_t i, vg_type type);
vg_val vg_throw(vg_call *call, const char *message);
/* A property of an object of our own, on which no setter can throw. */
void vg_set_number(vg_engine *engine, vg_val object, const char *name, double value);

/* ---- the library's JavaScript, made by embed.c at build time */
typedef struct vg_embedded {
    const char *name;
    const unsigned char *bytes;
    size_t length;
} vg_embedded;
extern const vg_embedded vg_js_library[];
extern const size_t vg_js_library_count;
const vg_embedded *vg_js_library_find(const char *name);

#endif
