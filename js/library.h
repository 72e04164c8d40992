/* SPDX-License-Identifier: MIT */
/* The library's JavaScript, compiled in by tool/embed.c. */
#ifndef VG_JS_LIBRARY_H
#define VG_JS_LIBRARY_H

#include <stddef.h>

typedef struct vg_embedded {
    const char *name;
    const unsigned char *bytes;
    size_t length;
} vg_embedded;
extern const vg_embedded vg_js_library[];
extern const size_t vg_js_library_count;
/* Those names of safe.txt that the library uses. */
extern const char vg_js_safe_names[];
/* Of the files that rewrite modules: another text, another version. */
extern const char vg_js_rewriter[];
const vg_embedded *vg_js_library_find(const char *name);

#endif
