/* SPDX-License-Identifier: MIT */
/* top_pen.h - colours and lines of the live view. ncurses must have begun. */
#ifndef CLI_TOP_PEN_H
#define CLI_TOP_PEN_H

#include <ncurses.h>

enum colour {
    COLOUR_CLASS = 1, /* 1 to 5 */
    COLOUR_SEARCH = 6,
    COLOUR_BLOCK,
    COLOUR_BAD,
    COLOUR_WARN,
    COLOUR_GOOD
};

enum {
    WIDE = 110 /* columns from which on nothing has to be shortened */
};

void top_colours_begin(void);
attr_t top_ink(int pair); /* a colour, if there are any */
void top_pen(attr_t attributes);

/* Print on the line that top_go_to has gone to, as far as it goes: nothing runs over into the next one. */
void top_go_to(int y, int x);
void top_put(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
