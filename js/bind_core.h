/* SPDX-License-Identifier: MIT */
/* What lib/boot.js and the scheduler need from C. */
#ifndef VG_JS_BIND_CORE_H
#define VG_JS_BIND_CORE_H

#include "host.h"

/* Adds functions to js->binding. False: no memory. */
bool vg_js_bind_core(vigil_js *js);

#endif
