/* SPDX-License-Identifier: MIT */
/* body.h - the body of a request as a promise. */
#ifndef VG_WEB_BODY_H
#define VG_WEB_BODY_H

#include "conn.h"

/* The request is over while its body is being collected. */
void vg_web_collect_stop(vg_web_conn *conn);

#endif
