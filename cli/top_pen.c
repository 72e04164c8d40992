/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "top_pen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool coloured;

attr_t top_ink(int pair)
{
    return coloured ? (attr_t)COLOR_PAIR(pair) : A_NORMAL;
}

void top_pen(attr_t attributes)
{
    (void)wattrset(stdscr, (int)attributes);
}

void top_colours_begin(void)
{
    const char *no = getenv("NO_COLOR");
    if (!has_colors() || (no != NULL && no[0] != '\0'))
        return;
    coloured = start_color() == OK;
    use_default_colors();
    static const short of[] = {COLOR_RED, COLOR_YELLOW, COLOR_GREEN, COLOR_CYAN, COLOR_MAGENTA};
    for (short i = 0; i < 5; i++)
        init_pair((short)(COLOUR_CLASS + i), of[i], -1);
    init_pair(COLOUR_SEARCH, COLOR_BLUE, -1);
    init_pair(COLOUR_BLOCK, COLOR_WHITE, -1);
    init_pair(COLOUR_BAD, COLOR_RED, -1);
    init_pair(COLOUR_WARN, COLOR_YELLOW, -1);
    init_pair(COLOUR_GOOD, COLOR_GREEN, -1);
}

static int line;

void top_go_to(int y, int x)
{
    line = y;
    move(y, x);
}

void top_put(const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (getcury(stdscr) == line && getcurx(stdscr) < COLS)
        addnstr(text, COLS - getcurx(stdscr));
}
