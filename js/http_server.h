/* SPDX-License-Identifier: MIT */
/* Listening, accepting, the events' way to JavaScript. */
#ifndef VG_JS_HTTP_SERVER_H
#define VG_JS_HTTP_SERVER_H

#include "http.h"

vg_http *vg_http_get(vigil_js *js);
/* Adds an event and returns its index. Callers ask vg_http_room first, which leaves room for the events of one read. */
unsigned vg_http_add(vg_http *http, int kind, unsigned id, double a, double b);
bool vg_http_room(const vg_http *http);
void vg_http_arm(vg_http *http);
/* The connection's turn comes when the events that there are have been taken. */
void vg_http_later(vg_http_conn *conn);
void vg_http_timer_before(vg_http *http, uint64_t deadline);
int vg_http_listen(vg_http *http, const char *host, unsigned port, const char *path, int backlog, vg_http_server **out);
int vg_http_watch_server(vg_http_server *server);
void vg_http_server_close(vg_http_server *server);
/* Places in the tables; false or -ENOMEM: no memory. */
bool vg_http_place(vg_http *http, vg_http_conn *conn);
int vg_http_place_server(vg_http *http, vg_http_server *server);
/* A descriptor has become free: servers that waited for one accept again. */
void vg_http_fed(vg_http *http);
vg_http_conn *vg_http_conn_by_id(vg_http *http, double id);

/* ---- http_guest.c */
int vg_http_host(vg_http *http, vg_http_server **out);
int vg_http_guest(vg_http_server *server, int fd, vg_http_conn **out);
/* The caller's descriptor from here on. */
int vg_http_take(vg_http_conn *conn);

#endif
