/* SPDX-License-Identifier: MIT */
/* trailers.h - the fields behind a body in chunks. */
#ifndef VG_WEB_TRAILERS_H
#define VG_WEB_TRAILERS_H

#include <stdbool.h>

#include <vigil/http.h>

/* Lines as they came, each with its CR LF. */
typedef struct vg_web_trailers {
    size_t length, room;
    char bytes[];
} vg_web_trailers;

/* Add a byte; *trailers may be NULL at first. 0; -ENOMEM. */
int vg_web_trailers_add(vg_web_trailers **trailers, char byte);
/* All have come: those that are not allowed here are dropped. 0; -EBADMSG a line that is no field; -EMSGSIZE too many. */
int vg_web_trailers_check(vg_web_trailers *trailers, unsigned most);
/* The field at the index. 0; -ENOENT. trailers may be NULL. */
int vg_web_trailers_at(const vg_web_trailers *trailers, size_t index, vigil_http_text *name, vigil_http_text *value);
/* The value of the first field by this name. */
vigil_http_text vg_web_trailers_find(const vg_web_trailers *trailers, const char *name);

/* What may be sent as trailers. 0; -EINVAL, and vigil_why() names the field. */
int vg_web_check_trailers(const vigil_http_field *fields, size_t count);

#endif
