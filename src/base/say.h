/* SPDX-License-Identifier: MIT */
/*
 * say.h - sentences into a field of fixed size, cut at the end.
 */
#ifndef VG_BASE_SAY_H
#define VG_BASE_SAY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <vigil/base.h>

typedef struct vg_words {
    char *text;
    size_t room;
    size_t length; /* that the whole would have */
} vg_words;

static inline vg_words vg_words_into(char *text, size_t room)
{
    if (room != 0)
        text[0] = 0;
    return (vg_words){.text = text, .room = room, .length = 0};
}

VIGIL_PRINTF(2, 3) static inline void vg_say(vg_words *to, const char *format, ...)
{
    va_list args;
    va_start(args, format); // NOLINT(clang-analyzer-valist.Uninitialized)
    size_t used = to->length < to->room ? to->length : to->room;
    int more = vsnprintf(to->room == used ? NULL : to->text + used, to->room - used, format, args);
    va_end(args);
    to->length += more > 0 ? (size_t)more : 0;
}

/* A duration as people say it: "350 ms", "1.4 s", "12 min". */
static inline void vg_say_time(vg_words *to, uint64_t ns)
{
    if (ns < UINT64_C(1000000000))
        vg_say(to, "%u ms", (unsigned)(ns / 1000000));
    else if (ns < UINT64_C(120000000000))
        vg_say(to, "%.1f s", (double)ns / 1e9);
    else
        vg_say(to, "%.0f min", (double)ns / 6e10);
}

#endif
