/* SPDX-License-Identifier: MIT */
/* call.h - one call of a client, from its copy to its answer. */
#ifndef VG_WEB_CALL_H
#define VG_WEB_CALL_H

#include "client.h"
#include "out.h"

/* The request's bytes. */
void vg_web_call_write(const vg_web_call *call, vg_web_out *out);
/* The head of the answer is in client->head; `bytes` are its bytes. 0, or an error that ends the call. */
int vg_web_call_head(vg_web_call *call, const char *bytes, size_t length);
/* A piece of the body. 0, or an error that ends the call. */
int vg_web_call_piece(vg_web_call *call, const char *bytes, size_t length);
/* Whether the head that was given ends HTTP on this connection. 1; 0; -EBADMSG nobody asked for that. */
int vg_web_call_switches(const vg_web_call *call);
/* It does: the stream, and what came behind the head, are the answer's. 0; -ENOMEM. */
int vg_web_call_hand_over(vg_web_call *call, vigil_stream *stream, const char *bytes, size_t length);
/* The answer is complete. */
void vg_web_call_complete(vg_web_call *call);
void vg_web_call_fail(vg_web_call *call, int error);
/* The kept connection was closed before it answered. True: the call is made once more. */
bool vg_web_call_repeat(vg_web_call *call);
/* Find a link, or wait for one. */
void vg_web_call_start(vg_web_call *call);

#endif
