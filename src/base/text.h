/* SPDX-License-Identifier: MIT */
/*
 * text.h - foreign text, made safe to show.
 */
#ifndef VG_BASE_TEXT_H
#define VG_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copy at most `length` bytes, up to the first zero. Control, bidirectional and invisible characters and bytes that
 * are not UTF-8 become escapes ("\x1b", "\u202e"); `lines` keeps new lines. Nothing is split; `to` ends with a zero.
 * Idempotent.
 */
void vg_text_copy(char *to, size_t room, const char *from, size_t length, bool lines);

#endif
