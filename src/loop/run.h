/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_RUN_H
#define VG_LOOP_RUN_H

#include "struct.h"

/* Run `body`; vigil_raise inside a callback comes back to it. */
void vg_guarded(vigil_loop *loop, void (*body)(vigil_loop *loop));
/* The thread ends inside a callback (pthread_exit, cancellation). The callback has failed, and the loop is free: the
   next thread that runs or ends it goes on behind the callback. No user code runs here. */
void vg_loop_abandon(void *arg); /* the loop */
/* Report an event. */
void vg_emit(vigil_loop *loop, vigil_loop_event_kind kind, int fd, int error, uint64_t count, const char *text);

#endif
