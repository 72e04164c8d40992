/* SPDX-License-Identifier: MIT */
/* In libvigil-jobs and in each engine's library; the sentence is kept by the first (sentence.c). */
#include "why.h"

#include <stdarg.h>
#include <stdio.h>

#include "sentence.h"

int vg_jobs_why(int error, const char *format, ...)
{
    char text[VG_JOBS_SENTENCE];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    vigil_jobs_why_set(text);
    return error;
}
