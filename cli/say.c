/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "say.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "reader/reader.h"

static bool colours, error_colours;

static bool takes_colours(int fd)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && (no == NULL || no[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0;
}

void say_begin(void)
{
    colours = takes_colours(STDOUT_FILENO);
    error_colours = takes_colours(STDERR_FILENO);
}

static const char *const codes[STYLES] = {
    [PLAIN] = "\033[0m",  [BOLD] = "\033[1m",  [FAINT] = "\033[2m", [RED] = "\033[31m",     [YELLOW] = "\033[33m",
    [GREEN] = "\033[32m", [CYAN] = "\033[36m", [BLUE] = "\033[34m", [MAGENTA] = "\033[35m",
};

const char *style(enum style which)
{
    return colours ? codes[which] : "";
}

enum style class_style(unsigned priority)
{
    static const enum style of[] = {RED, YELLOW, GREEN, CYAN, FAINT};
    return priority < sizeof of / sizeof of[0] ? of[priority] : PLAIN;
}

enum style severity_style(unsigned severity)
{
    static const enum style of[] = {CYAN, YELLOW, RED, MAGENTA};
    return severity < sizeof of / sizeof of[0] ? of[severity] : MAGENTA;
}

void say_error(const char *format, ...)
{
    va_list list;
    fflush(stdout);
    fprintf(stderr, "%svigil:%s ", error_colours ? codes[RED] : "", error_colours ? codes[PLAIN] : "");
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
}

const char *words_ns(char room[WORDS], uint64_t ns)
{
    static const struct {
        uint64_t unit;
        const char *name;
    } units[] = {{1, "ns"}, {1000, "us"}, {1000000, "ms"}, {1000000000, "s"}};
    if (ns == 0) {
        snprintf(room, WORDS, "-");
        return room;
    }
    unsigned i = 0;
    while (i < 3 && ns >= units[i].unit * 1000)
        i++;
    double value = (double)ns / (double)units[i].unit;
    if (i == 3 && value >= 10000)
        snprintf(room, WORDS, "%.1fh", value / 3600);
    else
        snprintf(room, WORDS, value < 9.95 && i > 0 ? "%.1f%s" : "%.0f%s", value, units[i].name);
    return room;
}

const char *words_count(char room[WORDS], uint64_t count)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
    unsigned i = 0;
    double value = (double)count;
    while (value >= (i == 0 ? 10000 : 999.5) && i < 6) {
        value /= 1000;
        i++;
    }
    snprintf(room, WORDS, i > 0 && value < 99.95 ? "%.1f%s" : "%.0f%s", value, units[i]);
    return room;
}

const char *words_rate(char room[WORDS], double per_second)
{
    if (per_second > 0 && per_second < 9.95) {
        snprintf(room, WORDS, "%.1f", per_second);
        return room;
    }
    return words_count(room, per_second > 0 ? (uint64_t)(per_second + 0.5) : 0);
}

const char *words_ago(char room[WORDS], uint64_t ns)
{
    uint64_t s = ns / 1000000000U;
    if (ns < 10000000000U)
        snprintf(room, WORDS, "%.1f s", (double)ns / 1e9);
    else if (s < 120)
        snprintf(room, WORDS, "%" PRIu64 " s", s);
    else if (s < 7200)
        snprintf(room, WORDS, "%" PRIu64 " min", s / 60);
    else if (s < 172800)
        snprintf(room, WORDS, "%" PRIu64 " h", s / 3600);
    else
        snprintf(room, WORDS, "%" PRIu64 " days", s / 86400);
    return room;
}

const char *words_bytes(char room[WORDS], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned i = 0;
    double value = (double)bytes;
    while (value >= 1024 && i < 4) {
        value /= 1024;
        i++;
    }
    snprintf(room, WORDS, value < 10 && i > 0 ? "%.1f %s" : "%.0f %s", value, units[i]);
    return room;
}

void say_wrapped(const char *text, unsigned indent, unsigned width)
{
    unsigned room = width > indent + 20 ? width - indent : 20;
    while (*text != '\0') {
        size_t line = strcspn(text, "\n"), take = line;
        if (take > room) {
            for (take = room; take > 0 && text[take] != ' '; take--)
                ;
            if (take == 0)
                take = room;
        }
        printf("%*s%.*s\n", (int)indent, "", (int)take, text);
        text += take;
        while (*text == ' ')
            text++;
        if (*text == '\n')
            text++;
    }
}

unsigned say_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 100;
}

void clean_text(char *to, size_t room, const char *from, size_t length, bool lines)
{
    if (lines)
        vg_copy_lines(to, room, from, length);
    else
        vg_copy_text(to, room, from, length);
}
