/* SPDX-License-Identifier: MIT */
/* A host: the state that its files share. Each file has a header of its own for what it offers. */
#ifndef VG_JS_HOST_H
#define VG_JS_HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <vigil/js.h>

#include "constants.h"
#include "engine.h"

typedef struct vg_port vg_port;
typedef struct vg_done vg_done;

struct vigil_js {
    vigil_js_options options;
    vg_engine *engine;
    pthread_t owner; /* the thread that made it */
    vigil_loop *loop;
    vigil_pool *pool;
    bool own_loop, own_pool;
    vg_val dispatch, binding;
    vg_val enter;   /* of binding: calls a function, and makes the checkpoint behind it */
    vg_val entered; /* of binding: what it returned, while that checkpoint runs */
    double state[VG_STATE_COUNT];

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
    bool ending;          /* ending.c: shutdown was asked for; what was accepted still runs */
    bool closed;          /* ending.c: nothing outside leads to the host any more */
    vigil_timer patience; /* ending.c: when it fires, the rest is dropped */
    uint64_t patience_ns;
    int exit_code;
    bool unwound; /* a call was ended from outside: nothing runs until all frames are gone */
    int run_result;

    /* limit.c */
    uint64_t entered_ns;
    unsigned stalls, tries;
    vg_val storm; /* what to call in a checkpoint that does not end */
    bool stall_armed;
    uint32_t drains;
    _Atomic uint32_t draining; /* the number of the drain that runs; 0: none */

    struct vg_signal_watch *signals;  /* bind_system.h */
    struct vg_fs_op *fs_ops;          /* under way */
    void *embed;                      /* embed.c */
    struct vg_names *names;           /* names.c */
    uint64_t named_ns;                /* when VG_STATE_NAMING was last filled up */
    bool fs_named;                    /* bind_fs.c has named its functions */
    bool records;                     /* somebody may look: the recorder is not off */
    bool frame_shown;                 /* of the call that runs: limit.c has shown where it is */
    bool cut;                         /* the call that runs, or ran last, was ended because it stalled */
    struct vg_watch_side *watch_side; /* bind_watch.c; NULL: this host has started no watchdog */
    struct vg_jobs_side *jobs_side;   /* jobs_side.h; NULL until vigil:jobs is loaded */
    struct vg_pool_side *pool_side;   /* pool_side.h; NULL until vigil:pool is loaded or a task is exposed */
    struct vg_http *http;             /* http.h; NULL until a program asks for it */
    void (*http_poll)(vigil_js *js);
    void (*http_end)(vigil_js *js);
    bool (*http_busy)(vigil_js *js);
    struct vg_worker *worker;         /* worker.c; NULL: this host is no worker */
    vg_val worker_callback;           /* held; what a worker calls for messages of its parent */
    struct vg_worker *workers;        /* worker.c: those that this host has started */
    struct vg_net *net;               /* net.h; NULL until a program asks for it */
    struct vg_child *children;        /* bind_child.c; those that run */
    struct vg_class *converter_class; /* bind_decode.c */
    struct vg_class *zip_class;       /* bind_zip.c */
    struct vg_class *realm_class;     /* bind_vm.c */
    struct vg_module_cache *modules;  /* bind_modules.c */
    bool modules_asked;               /* whether there is a cache of modules is known */
    struct vg_class *digest_class;    /* bind_hash.c */
    struct vg_class *cipher_class;    /* bind_crypto.c */
    struct vg_class *answer_class;    /* http_answer.c */
    struct vg_class *tls_contexts;    /* bind_tls.c */
    struct vg_class *tls_sessions;    /* bind_tls.c */
    struct x509_store_st *tls_trust;  /* bind_tls.c: what the system trusts, once it was read */
    bool zip_named;
    uint64_t memory_checked_ns, worked_ns;
    unsigned engine_pending; /* calls whose results the engine will put off (lib/wasm.js) */
};

#endif
