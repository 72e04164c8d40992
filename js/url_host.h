/* SPDX-License-Identifier: MIT */
/* Hosts of URLs: names, and addresses of both families. */
#ifndef VG_JS_URL_HOST_H
#define VG_JS_URL_HOST_H

#include <stddef.h>
#include <stdint.h>

/* It is no host for certain. */
#define VG_URL_NO_HOST SIZE_MAX

/* Writes the host of a special URL as a URL shows it, and returns its length, at most 3 * length + 64; 0: the whole algorithm is needed. The
   text is UTF-8. */
size_t vg_url_host(char *to, const char *host, size_t length);

#endif
