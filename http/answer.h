/* SPDX-License-Identifier: MIT */
/* answer.h - answers to requests. */
#ifndef VG_WEB_ANSWER_H
#define VG_WEB_ANSWER_H

#include "conn.h"
#include "out.h"

/* The status line and the date. */
void vg_web_answer_begin(vg_web_out *out, vigil_http_server *server, int status);
/* Write an answer of our own, with which the connection ends. */
void vg_web_answer_fault(vg_web_conn *conn, int status);

#endif
