/* SPDX-License-Identifier: MIT */
/* Bytes to heads, bodies and faults. */
#ifndef VG_JS_HTTP_PARSE_H
#define VG_JS_HTTP_PARSE_H

#include "http.h"

void vg_http_parse_begin(vg_http_conn *conn);
/* Parse; adds events. What lies behind the end of the request goes to conn->waiting. */
void vg_http_parse(vg_http_conn *conn, const unsigned char *data, size_t length);
void vg_http_fault(vg_http_conn *conn, int status, const char *name, const char *text);

#endif
