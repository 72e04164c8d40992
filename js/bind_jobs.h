/* SPDX-License-Identifier: MIT */
/* Jobs that outlive the process, for lib/jobs.js. */
#ifndef VG_JS_BIND_JOBS_H
#define VG_JS_BIND_JOBS_H

#include "host.h"

bool vg_js_bind_jobs(vigil_js *js);
/* The program has ended, perhaps in the midst of jobs: give them back. The process may end without more. */
void vg_js_jobs_stop(vigil_js *js);
/* After the port was closed: gives back what runs, and closes the queues. */
void vg_js_jobs_end(vigil_js *js);
/* While the engine is still there. */
void vg_js_jobs_forget(vigil_js *js);
void vg_js_jobs_free(vigil_js *js);

#endif
