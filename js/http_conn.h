/* SPDX-License-Identifier: MIT */
/* One connection: reading, writing, deadlines, its end. */
#ifndef VG_JS_HTTP_CONN_H
#define VG_JS_HTTP_CONN_H

#include <sys/uio.h>

#include "http.h"

vg_http_conn *vg_http_conn_new(vg_http_server *server, int fd);
/* Ends it now; `error` is reported to JavaScript; 0: nothing is wrong. */
void vg_http_conn_close(vg_http_conn *conn, int error);
/* Ends it in order, after what is queued. */
void vg_http_conn_finish(vg_http_conn *conn);
void vg_http_conn_free(vg_http_conn *conn);
void vg_http_conn_event(vigil_loop *loop, vigil_watch which, int fd, unsigned events, void *arg);
/* Parses what waits, and adds the events that are due. */
void vg_http_conn_turn(vg_http_conn *conn);
/* Send what is queued and these pieces; returns the bytes that are queued, or -1: the connection is gone. */
double vg_http_send(vg_http_conn *conn, struct iovec *pieces, unsigned count, unsigned flags);
/* JavaScript takes the body, or not. */
void vg_http_conn_pause(vg_http_conn *conn, bool pause);
/* JavaScript was told of a fault. */
void vg_http_conn_told(vg_http_conn *conn);
/* Whether nothing is under way on it. */
bool vg_http_conn_idle(const vg_http_conn *conn);
void vg_http_conn_deadline(vg_http_conn *conn, uint64_t after_ns, bool idle);
void vg_http_conn_expired(vg_http_conn *conn);

#endif
