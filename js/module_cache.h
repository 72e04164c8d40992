/* SPDX-License-Identifier: MIT */
/* Rewritten modules on disk, under the user's cache folder. No engine. */
#ifndef VG_JS_MODULE_CACHE_H
#define VG_JS_MODULE_CACHE_H

#include <stddef.h>

#define VG_MODULE_KEY 65 /* a SHA-256 in hexadecimal, and a zero */

typedef struct vg_module_cache vg_module_cache;
/* NULL: there is no folder that belongs to this user alone, it is switched off, or this build has no digests. */
vg_module_cache *vg_module_cache_open(void);
void vg_module_cache_close(vg_module_cache *cache);
/* The key of a text, for the rewriter that is built in. */
void vg_module_cache_key(vg_module_cache *cache, const char *text, size_t length, char key[VG_MODULE_KEY]);
/* What was kept under the key, with a zero behind it, to be freed; NULL: nothing, or it is damaged. */
char *vg_module_cache_get(vg_module_cache *cache, const char *key, size_t *length);
/* Keep it. What fails is left out: a cache owes nothing. */
void vg_module_cache_put(vg_module_cache *cache, const char *key, const char *bytes, size_t length);

#endif
