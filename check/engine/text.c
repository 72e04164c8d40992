/* SPDX-License-Identifier: MIT */
/*
 * Functions of the C library that read and write text. The library is not instrumented, so a race in a strcpy or a snprintf would pass
 * unseen: here each says which bytes it uses. The engine's own calls go past this file (check/CMakeLists.txt renames them).
 */
#define _GNU_SOURCE
#include "internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CALLER  __builtin_return_address(0)
#define RUNNING __builtin_expect(G.current >= 0, 1)

static void reads(const void *from, size_t bytes, const void *pc)
{
    if (RUNNING && bytes != 0)
        vgc_access_plain((uintptr_t)from, bytes, false, pc);
}

static void writes(const void *to, size_t bytes, const void *pc)
{
    if (RUNNING && bytes != 0)
        vgc_access_plain((uintptr_t)to, bytes, true, pc);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t __wrap_strlen(const char *text);
size_t __wrap_strlen(const char *text)
{
    const size_t length = strlen(text);
    reads(text, length + 1, CALLER);
    return length;
}

size_t __wrap_strnlen(const char *text, size_t most);
size_t __wrap_strnlen(const char *text, size_t most)
{
    const size_t length = strnlen(text, most);
    reads(text, least(length + 1, most), CALLER);
    return length;
}

char *__wrap_strcpy(char *to, const char *from);
char *__wrap_strcpy(char *to, const char *from)
{
    const size_t bytes = strlen(from) + 1;
    reads(from, bytes, CALLER);
    writes(to, bytes, CALLER);
    return strcpy(to, from);
}

char *__wrap_stpcpy(char *to, const char *from);
char *__wrap_stpcpy(char *to, const char *from)
{
    const size_t bytes = strlen(from) + 1;
    reads(from, bytes, CALLER);
    writes(to, bytes, CALLER);
    return stpcpy(to, from);
}

char *__wrap_strncpy(char *to, const char *from, size_t room);
char *__wrap_strncpy(char *to, const char *from, size_t room)
{
    reads(from, least(strnlen(from, room) + 1, room), CALLER);
    writes(to, room, CALLER);
    return strncpy(to, from, room);
}

char *__wrap_strcat(char *to, const char *from);
char *__wrap_strcat(char *to, const char *from)
{
    const size_t length = strlen(to), bytes = strlen(from) + 1;
    reads(to, length + 1, CALLER);
    reads(from, bytes, CALLER);
    writes(to + length, bytes, CALLER);
    return strcat(to, from);
}

/* Up to the first difference, or the end. */
static size_t compared(const char *a, const char *b, size_t most)
{
    size_t i = 0;
    while (i < most && a[i] == b[i] && a[i] != 0)
        i++;
    return least(i + 1, most);
}

int __wrap_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b)
{
    const size_t bytes = compared(a, b, SIZE_MAX);
    reads(a, bytes, CALLER);
    reads(b, bytes, CALLER);
    return strcmp(a, b);
}

int __wrap_strncmp(const char *a, const char *b, size_t most);
int __wrap_strncmp(const char *a, const char *b, size_t most)
{
    const size_t bytes = compared(a, b, most);
    reads(a, bytes, CALLER);
    reads(b, bytes, CALLER);
    return strncmp(a, b, most);
}

/* The text that was made; what the format's arguments point to is not looked at. */
int __wrap_vsnprintf(char *to, size_t room, const char *format, va_list list);
int __wrap_vsnprintf(char *to, size_t room, const char *format, va_list list)
{
    const int length = vsnprintf(to, room, format, list);
    if (length >= 0)
        writes(to, least((size_t)length + 1, room), CALLER);
    return length;
}

int __wrap_snprintf(char *to, size_t room, const char *format, ...);
int __wrap_snprintf(char *to, size_t room, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(to, room, format, list);
    va_end(list);
    if (length >= 0)
        writes(to, least((size_t)length + 1, room), CALLER);
    return length;
}
