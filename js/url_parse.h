/* SPDX-License-Identifier: MIT */
/* URLs as most are: of the schemes http, https, ws, wss and ftp with a host of common letters or an address, file URLs without a host, and
   schemes that are followed by no slash (data:, mailto:). */
#ifndef VG_JS_URL_PARSE_H
#define VG_JS_URL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A URL as it is written, and where its parts end: "https://user:secret@host:8080/path?query#fragment". */
typedef struct vg_url {
    char *text; /* the caller's memory */
    size_t length, room;
    /* After ':'; where the user's name and the secret end, and the host begins; where the host, the port and its ':', the path and the query
       end. What is missing is empty. `path` is where the path begins. */
    uint32_t scheme, user, secret, host, host_end, path, query, fragment;
} vg_url;

/* How much room `text` needs. */
size_t vg_url_room(size_t input, size_t base);
typedef enum vg_url_kind {
    VG_URL_PLAIN,
    VG_URL_NONE, /* it is no URL for certain */
    VG_URL_OTHER /* the whole algorithm is needed, and may find that it is no URL */
} vg_url_kind;

/* `base` may be NULL. */
vg_url_kind vg_url_parse(const char *input, size_t length, const vg_url *base, vg_url *url);

#endif
