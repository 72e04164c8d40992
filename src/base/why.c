/* SPDX-License-Identifier: MIT */
#include "why.h"

#include <stdarg.h>
#include <stdio.h>

#define VG_WHY_BYTES 192

_Thread_local const char *vg_why_text = "";
static _Thread_local char why_buffer[VG_WHY_BYTES];

int vg_why_in(const char *function, int error, const char *text)
{
    vg_why_text = text;
#ifndef VIGIL_CHECK
    if (error == -EINVAL || error == -EPERM || error == -EDEADLK)
        vg_log_misuse(error, text, function);
#else
    (void)function;
#endif
    return error;
}

int vg_why_say_in(const char *function, int error, const char *format, ...)
{
    va_list args;
    va_start(args, format); // NOLINT(clang-analyzer-valist.Uninitialized)
    (void)vsnprintf(why_buffer, sizeof why_buffer, format, args);
    va_end(args);
    return vg_why_in(function, error, why_buffer);
}

int vg_why_forked(void)
{
    return vg_why(-ECHILD, "the object belongs to the parent process of a fork; make a new one in this process");
}

int vigil_why_set(int error, const char *text)
{
    (void)snprintf(why_buffer, sizeof why_buffer, "%s", text ? text : "");
    vg_why_text = why_buffer;
    return error;
}

const char *vigil_why(void)
{
    return vg_why_text;
}
