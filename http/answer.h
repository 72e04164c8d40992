/* SPDX-License-Identifier: MIT */
/* answer.h - answers to requests. */
#ifndef VG_WEB_ANSWER_H
#define VG_WEB_ANSWER_H

#include "conn.h"

/* Write an answer of our own, with which the connection ends. */
void vg_web_answer_fault(vg_web_conn *conn, int status);

#endif
