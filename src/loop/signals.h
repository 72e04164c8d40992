/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_SIGNALS_H
#define VG_LOOP_SIGNALS_H

#include "struct.h"

/* A signal has been read and not given to all of its watches. */
bool vg_signals_pending(const vigil_loop *loop);
void vg_signals_resume(vigil_loop *loop);

/* Owner: watches that keep the loop alive. */
uint32_t vg_signals_keepers(const vigil_loop *loop);

/* The calling thread begins, or ends, to run the loop. */
void vg_signals_enter(vigil_loop *loop);
void vg_signals_leave(vigil_loop *loop);

/* The loop ends: signals are read by vg_signals_drain from now on. */
void vg_signals_drop(vigil_loop *loop);
void vg_signals_drain(vigil_loop *loop);

/* The loop is destroyed: signals are the former handler's again. */
void vg_signals_close(vigil_loop *loop);

/* 0; -EMFILE, -ENFILE, -ENOMEM: call again. */
int vg_signals_after_fork(vigil_loop *loop);

#endif
