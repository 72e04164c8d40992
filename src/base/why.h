/* SPDX-License-Identifier: MIT */
/*
 * why.h - the sentence behind vigil_why, one pointer per thread. A literal costs one store; numbers are formatted into
 * a buffer of the thread, on cold paths.
 */
#ifndef VG_BASE_WHY_H
#define VG_BASE_WHY_H

#include <vigil/base.h>

extern _Thread_local const char *vg_why_text;

/* Keep the text, which must be static, and return the error. */
static inline int vg_why(int error, const char *text)
{
    vg_why_text = text;
    return error;
}

/* The same with values in it; cut at the end of the buffer. */
VIGIL_PRINTF(2, 3) int vg_why_say(int error, const char *format, ...);

/* "promise is NULL" */
#define VG_WHY_NULL(name) vg_why(-EINVAL, name " is NULL")

/* For -ECHILD. */
int vg_why_forked(void);

#endif
