/* SPDX-License-Identifier: MIT */
/* say.h - how the command speaks: errors, colours on a terminal only, numbers and times in few characters. */
#ifndef CLI_SAY_H
#define CLI_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum style {
    PLAIN,
    BOLD,
    FAINT,
    RED,
    YELLOW,
    GREEN,
    CYAN,
    BLUE,
    MAGENTA,
    STYLES
};

/* Look at stdout, NO_COLOR and TERM. Before anything is printed. */
void say_begin(void);

/* The escape sequence of a style if stdout takes colours, else "". */
const char *style(enum style which);

/* The style that a class or a severity is shown in, the same in every view. */
enum style class_style(unsigned priority);
enum style severity_style(unsigned severity);

/* "vigil: ..." and a new line, on stderr. */
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Text in the caller's room of at least 24 bytes, which is also the result. */
enum {
    WORDS = 24
};
const char *words_ns(char room[WORDS], uint64_t ns);       /* "812us", at most 6 characters; "-" for 0 */
const char *words_count(char room[WORDS], uint64_t count); /* "12.3k", at most 5 characters */
const char *words_rate(char room[WORDS], double per_second);
const char *words_ago(char room[WORDS], uint64_t ns); /* "3 s", "2 min", "5 h" */
const char *words_bytes(char room[WORDS], uint64_t bytes);

/* Print `text` in lines of at most `width` characters, each after `indent` spaces. */
void say_wrapped(const char *text, unsigned indent, unsigned width);

/* Columns of the terminal on stdout; 100 if it is none. */
unsigned say_width(void);

/* Copy at most `length` bytes of text that came out of a file, as the reader does: no escape sequence reaches a
   terminal, and every output is well-formed. */
void clean_text(char *to, size_t room, const char *from, size_t length, bool lines);

#endif
