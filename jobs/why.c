/* SPDX-License-Identifier: MIT */
#include "why.h"

#include <stdarg.h>
#include <stdio.h>

#include <vigil/jobs.h>

static _Thread_local char sentence[256];

int vg_jobs_why(int error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    return error;
}

const char *vigil_jobs_why(void)
{
    return sentence;
}
