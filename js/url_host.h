/* SPDX-License-Identifier: MIT */
/* Hosts of URLs: names, and addresses of both families. */
#ifndef VG_JS_URL_HOST_H
#define VG_JS_URL_HOST_H

#include <stddef.h>

/* Writes a host as a URL shows it, and returns its length, at most 3 * length + 64; 0: the whole algorithm is needed. The text is UTF-8. */
size_t vg_url_host(char *to, const char *host, size_t length);

#endif
