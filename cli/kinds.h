/* SPDX-License-Identifier: MIT */
/* kinds.h - words for the numbers in a snapshot that the public headers define. Never NULL. */
#ifndef CLI_KINDS_H
#define CLI_KINDS_H

#include "reader/reader.h"

const char *class_name(unsigned priority);    /* "CRITICAL", as the headers call them */
const char *stall_name(unsigned kind);        /* vigil_stall */
const char *stall_page(unsigned kind);        /* its page in docs/verdicts: "hog"; NULL: none */
const char *severity_name(unsigned severity); /* "WARNING" */
const char *recovery_name(unsigned kind);     /* vigil_recovery */
const char *level_name(unsigned level);       /* vigil_record_level */

/* How many callbacks of a phase a loop has run. */
uint64_t loop_callbacks(const vg_loop_view *loop, unsigned phase);

#endif
