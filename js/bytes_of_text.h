/* SPDX-License-Identifier: MIT */
/* The bytes of a text in the encodings of Buffer. */
#ifndef VG_JS_BYTES_OF_TEXT_H
#define VG_JS_BYTES_OF_TEXT_H

#include "engine_look.h"

/* Writes as many whole characters as fit; how many bytes that were. */
size_t vg_put_text(double encoding, unsigned char *to, size_t room, const vg_chars *from);
/* What is surely enough. */
size_t vg_room_for(double encoding, const vg_chars *from);
size_t vg_utf8_length(const vg_chars *from);

#endif
