/* SPDX-License-Identifier: MIT */
/* out.h - heads that we send. */
#ifndef VG_WEB_OUT_H
#define VG_WEB_OUT_H

#include <stddef.h>
#include <stdint.h>

#include <vigil/http.h>

/* Bytes that are put together: in the room that is given at first, on the heap when that is too small. */
typedef struct vg_web_out {
    char *bytes;
    size_t length, room;
    char *heap;
    int failed; /* -ENOMEM */
} vg_web_out;

void vg_web_out_begin(vg_web_out *out, char *room, size_t size);
void vg_web_out_add(vg_web_out *out, const void *bytes, size_t length);
void vg_web_out_text(vg_web_out *out, const char *text);
void vg_web_out_number(vg_web_out *out, uint64_t number);
void vg_web_out_fields(vg_web_out *out, const vigil_http_field *fields, size_t count);
void vg_web_out_end(vg_web_out *out);

/* The words for a status: "Not Found"; "" if nobody knows it. */
const char *vg_web_reason(int status);
/* 0; -EINVAL, and vigil_why() names the field. */
int vg_web_check_fields(const vigil_http_field *fields, size_t count);
/* Why a call fails, in a sentence. Returns error. */
int vg_web_why(int error, const char *form, ...) __attribute__((format(printf, 2, 3)));

#endif
