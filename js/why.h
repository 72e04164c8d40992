/* SPDX-License-Identifier: MIT */
/* Reasons for failures of vigil/js.h: vigil_why() returns them. */
#ifndef VG_JS_WHY_H
#define VG_JS_WHY_H

#include "host.h"

/* Returns error. */
static inline int vg_js_why(int error, const char *text)
{
    return vigil_why_set(error, text);
}

/* 0, or why this thread may not use the host. */
static inline int vg_js_why_not_owner(vigil_js *js)
{
    if (!js)
        return vg_js_why(-EINVAL, "js is NULL");
    if (!pthread_equal(js->owner, pthread_self()))
        return vg_js_why(-EPERM,
                         "this call belongs to the thread that made the host; use vigil_js_port_call from others");
    return 0;
}

#endif
