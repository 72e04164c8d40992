/* SPDX-License-Identifier: MIT */
/* server.h - what connections need of their server. */
#ifndef VG_WEB_SERVER_H
#define VG_WEB_SERVER_H

#include "conn.h"

/* A callback of the user has left by vigil_raise: its connection is reset. True: it was this one, which may be freed. */
bool vg_web_server_check(vigil_http_server *server, const vg_web_conn *conn);
void vg_web_server_list(vg_web_conn *conn);
void vg_web_server_unlist(vg_web_conn *conn);
/* A connection has lost its stream. */
void vg_web_server_one_less(vigil_http_server *server);
void vg_web_server_unref(vigil_http_server *server);
/* Look at the clocks at this time, or before. */
void vg_web_server_timer(vigil_http_server *server, uint64_t deadline);

#endif
