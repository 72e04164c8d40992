/* SPDX-License-Identifier: MIT */
/* turn.h - what a connection does by itself: what was put off (its post), and what it may be late with (its clock). */
#ifndef VG_WEB_TURN_H
#define VG_WEB_TURN_H

#include "conn.h"

void vg_web_turn_init(vg_web_conn *conn);
/* Go on after the callback that runs now. */
void vg_web_conn_later(vg_web_conn *conn);
/* The stream has drained: a vigil_call_fn. */
void vg_web_turn_drained(void *arg);
/* The promise for it. error 0: fulfilled. */
void vg_web_settle_drained(vg_web_conn *conn, int error);

void vg_web_clock_set(vg_web_conn *conn, vg_web_clock clock);
/* The clock that belongs to the state. */
void vg_web_clock_choose(vg_web_conn *conn);

#endif
