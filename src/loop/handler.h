/* SPDX-License-Identifier: MIT */
/*
 * handler.h - the process's signal handlers: who wants which signal, and what was there before. SIGNALS.md.
 */
#ifndef VG_LOOP_HANDLER_H
#define VG_LOOP_HANDLER_H

#include "sinks.h"

/* Any thread: signo goes to the sink from now on; its handler is ours. 0; -EINVAL: no such signal; -ENOMEM. */
int vg_handler_want(vg_sink *sink, int signo);

/* Any thread. The last sink of the process restores what was there before, unless somebody has replaced our handler. */
void vg_handler_unwant(vg_sink *sink, int signo);

/* Any thread: the sink wants nothing more. On return no handler is inside it. */
void vg_handler_leave(vg_sink *sink);

#endif
