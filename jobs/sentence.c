/* SPDX-License-Identifier: MIT */
#include "sentence.h"

#include <stdio.h>

#include <vigil/jobs.h>

static _Thread_local char sentence[VG_JOBS_SENTENCE];

void vigil_jobs_why_set(const char *text)
{
    (void)snprintf(sentence, sizeof sentence, "%s", text);
}

const char *vigil_jobs_why(void)
{
    return sentence;
}
