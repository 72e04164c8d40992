/* SPDX-License-Identifier: MIT */
/*
 * why.h - the sentence behind vigil_why, one pointer per thread. Numbers are formatted into a buffer of the thread.
 * Misuse also goes to the log.
 */
#ifndef VG_BASE_WHY_H
#define VG_BASE_WHY_H

#include "log.h"

#include <vigil/base.h>

extern _Thread_local const char *vg_why_text;

/* Keep the text, which must be static, and return the error. Out of line and cold: callers are on hot paths. */
#define vg_why(error, text) vg_why_in(__func__, error, text)
__attribute__((cold, noinline)) int vg_why_in(const char *function, int error, const char *text);

/* The same with values in it; cut at the end of the buffer. */
#define vg_why_say(error, ...) vg_why_say_in(__func__, error, __VA_ARGS__)
__attribute__((cold)) VIGIL_PRINTF(3, 4) int vg_why_say_in(const char *function, int error, const char *format, ...);

/* "promise is NULL" */
#define VG_WHY_NULL(name) vg_why(-EINVAL, name " is NULL")

/* For -ECHILD. */
__attribute__((cold)) int vg_why_forked(void);

#endif
