/* SPDX-License-Identifier: MIT */
/* url.h - where a call goes: http://host:port/target. */
#ifndef VG_WEB_URL_H
#define VG_WEB_URL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct vg_web_url {
    bool secure;
    unsigned port;
    char host[256]; /* an IPv6 address without its brackets */
    bool brackets;
    const char *target; /* inside the url, up to '#'; length 0: "/" */
    size_t target_length;
} vg_web_url;

/* 0; -EINVAL, and vigil_why() says what is wrong. */
int vg_web_url_read(vg_web_url *url, const char *text);
/* The url that `location` (of so many bytes) means in an answer to `from`; to be freed. NULL: no memory, or no url. */
char *vg_web_url_join(const char *from, const char *location, size_t length);

#endif
