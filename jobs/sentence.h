/* SPDX-License-Identifier: MIT */
/* sentence.h - keeps the sentence of vigil_jobs_why. Exported for the libraries of engines; not for users. */
#ifndef VG_JOBS_SENTENCE_H
#define VG_JOBS_SENTENCE_H

#include <vigil/base.h>

#define VG_JOBS_SENTENCE 256

VIGIL_API void vigil_jobs_why_set(const char *text);

#endif
