/* SPDX-License-Identifier: MIT */
/* Process, environment, signals. */
#ifndef VG_JS_BIND_SYSTEM_H
#define VG_JS_BIND_SYSTEM_H

#include "host.h"

typedef struct vg_signal_watch {
    vigil_signal handle;
    int signo;
    struct vg_signal_watch *next;
} vg_signal_watch;

/* Adds functions to js->binding. False: no memory. */
bool vg_js_bind_system(vigil_js *js);
/* From threads that do not block the signal to the caller, whose loop watches it; `on` false: no more. */
void vg_js_forward_signal(int signo, bool on);

#endif
