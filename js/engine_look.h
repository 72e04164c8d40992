/* SPDX-License-Identifier: MIT */
/*
 * A look at texts and bytes where the engine keeps them. What is found holds until the engine is called again, and no longer: a call may
 * free or move it. Where the engine's memory is not as expected, the functions go by the C API.
 */
#ifndef VG_JS_ENGINE_LOOK_H
#define VG_JS_ENGINE_LOOK_H

#include "engine.h"

/* The units of a text: one of the two pointers is set, unless it is empty. */
typedef struct vg_chars {
    const unsigned char *narrow; /* Latin-1 */
    const uint16_t *wide;
    size_t length;
    void *string; /* for vg_chars_close */
} vg_chars;

/* False: it is no text, or no memory. */
bool vg_chars_open(vg_engine *engine, vg_val value, vg_chars *chars);
void vg_chars_close(vg_chars *chars);
/* The bytes of a typed array or an ArrayBuffer, as vg_to_bytes finds them, which also keeps them in place. */
bool vg_bytes_look(vg_engine *engine, vg_val value, unsigned char **data, size_t *length);

#endif
