/* SPDX-License-Identifier: MIT */
/*
 * text.h - foreign text, made safe to show.
 */
#ifndef VG_BASE_TEXT_H
#define VG_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copy at most `length` bytes, up to the first zero. Control characters, characters that change the direction of text or are
 * invisible, and bytes that are not UTF-8 become escapes ("\x1b", "\u202e"); a new line stays where `lines`. An escape or a
 * character is never split; `to` ends with a zero. Doing it twice changes nothing more.
 */
void vg_text_copy(char *to, size_t room, const char *from, size_t length, bool lines);

#endif
