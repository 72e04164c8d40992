/* SPDX-License-Identifier: MIT */
/* What lib/worker_threads.js sees of worker.c. */
#ifndef VG_JS_BIND_WORKER_H
#define VG_JS_BIND_WORKER_H

#include "host.h"

bool vg_js_bind_worker(vigil_js *js);

#endif
