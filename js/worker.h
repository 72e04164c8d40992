/* SPDX-License-Identifier: MIT */
/* Workers: hosts on threads of their own, which send each other bytes. worker.c. */
#ifndef VG_JS_WORKER_H
#define VG_JS_WORKER_H

#include "host.h"

typedef struct vg_worker vg_worker;

/* The kinds that the callback gets are the `worker` constants. */
typedef struct vg_worker_options {
    char *script; /* to be freed by the worker */
    bool is_text;
    unsigned char *data; /* what the worker finds when it begins; to be freed by the worker */
    size_t length;
    size_t memory_max;
    bool module_cache;
    vg_val callback; /* (kind, bytes or code) on the parent's side; held until the worker has ended */
} vg_worker_options;

/* Start one. Takes script and data in any case. NULL: no thread, or no memory. Owner of the parent. */
vg_worker *vg_worker_start(vigil_js *parent, const vg_worker_options *options);
/* Send bytes to the worker; copies them. False: no memory. Owner of the parent. */
bool vg_worker_post(vg_worker *worker, const void *bytes, size_t length);
/* End it, whatever it does. Owner of the parent. */
void vg_worker_terminate(vg_worker *worker);
/* Whether it keeps the parent alive. Owner of the parent. */
void vg_worker_ref(vg_worker *worker, bool on);
/* The worker with this number; NULL: there is none, or it has ended. */
vg_worker *vg_worker_find(vigil_js *parent, double number);
double vg_worker_number(const vg_worker *worker);

/* In the worker's host: send bytes to the parent; what it found when it began. */
bool vg_worker_answer(vigil_js *child, const void *bytes, size_t length);
const unsigned char *vg_worker_data(vigil_js *child, size_t *length);

/* End those that still run, and wait for them. */
void vg_js_workers_end(vigil_js *parent);

#endif
