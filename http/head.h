/* SPDX-License-Identifier: MIT */
/*
 * head.h - the head of a request or of an answer: its bytes are complete and lie in one piece.
 *
 * Two readers must agree on each head: llhttp, built strict, and the rules here, which are those that llhttp leaves to its
 * users and by which requests are smuggled past a proxy.
 */
#ifndef VG_WEB_HEAD_H
#define VG_WEB_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vigil/http.h>

enum {
    VG_WEB_MOST_FIELDS = 128,
    VG_WEB_MOST_HEAD = 65536
};

/* Offsets from the first byte of the head, so that the bytes may be copied elsewhere. */
typedef struct vg_web_span {
    uint32_t at, length;
} vg_web_span;

typedef struct vg_web_pair {
    vg_web_span name, value;
} vg_web_pair;

typedef struct vg_web_head {
    uint64_t length; /* of the body; valid if has_length */
    const char *method;
    int status;     /* of an answer */
    unsigned minor; /* HTTP/1.minor */
    vg_web_span target;
    bool has_length, chunked, keep_alive, expects_continue, is_head, is_connect;
    bool upgrade; /* the field connection says so */
    unsigned count;
    vg_web_pair fields[VG_WEB_MOST_FIELDS];
} vg_web_head;

/* Look for the end of a head in `length` bytes. *looked: how far an earlier call has looked; starts at 0. The length of the
   head, with its empty line; 0: more is needed; negative: a line end that is none. */
int64_t vg_web_head_end(const char *bytes, size_t length, size_t *looked);

/* Read the head of a request: exactly `length` bytes, as vg_web_head_end says. 0, or the status to refuse it with. */
int vg_web_head_request(vg_web_head *head, const char *bytes, size_t length, unsigned most_fields);

/* Read the head of an answer. 0; -EBADMSG. */
int vg_web_head_answer(vg_web_head *head, const char *bytes, size_t length);

/* The value of the first field by this name. */
vigil_http_text vg_web_head_field(const vg_web_head *head, const char *bytes, const char *name);

/* HTTP/1.1, and the fields connection and upgrade say it: a request that offers this protocol. */
bool vg_web_head_offers(const vg_web_head *head, const char *bytes, const char *protocol);
/* The same of an answer: it names one protocol at least, and none that is not in the list of those that were offered. */
bool vg_web_head_accepts(const vg_web_head *head, const char *bytes, const char *offered);
/* "a, b/2": what may be in the field upgrade. */
bool vg_web_is_protocols(const char *text);

bool vg_web_is_token(const char *text, size_t length);
/* What may be in the value of a field: no control characters but the tab. */
bool vg_web_is_value(const char *text, size_t length);

#endif
