/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dladdr, secure_getenv */
#endif
#include "log.h"

#include "clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VG_LOG_BYTES  640
#define VG_LOG_GAP_NS UINT64_C(100000000) /* at `warn`: between two lines */

enum {
    VG_LOG_UNREAD,
    VG_LOG_OFF,
    VG_LOG_FIRST,
    VG_LOG_EACH
};

/* Relaxed all: each word stands for itself, and a line more or less at the first instant harms nobody. */
static _Atomic int log_level;
static _Atomic uint32_t log_seen; /* a bit for each kind */
static _Atomic uint64_t log_next; /* when the next line may follow */
static _Atomic uint64_t log_left_out;

static int read_log_level(void)
{
    int level = atomic_load_explicit(&log_level, memory_order_relaxed);
    if (level != VG_LOG_UNREAD)
        return level;
    const char *word = secure_getenv("VIGIL_LOG");
    level = VG_LOG_FIRST;
    if (word != NULL && strcmp(word, "off") == 0)
        level = VG_LOG_OFF;
    else if (word != NULL && (strcmp(word, "warn") == 0 || strcmp(word, "info") == 0 || strcmp(word, "debug") == 0))
        level = VG_LOG_EACH;
    atomic_store_explicit(&log_level, level, memory_order_relaxed);
    return level;
}

static bool log_is_due(vg_log_kind kind, uint64_t *left_out)
{
    *left_out = 0;
    const int level = read_log_level();
    if (level == VG_LOG_OFF)
        return false;
    if (level == VG_LOG_FIRST) {
        const uint32_t bit = UINT32_C(1) << kind;
        return (atomic_load_explicit(&log_seen, memory_order_relaxed) & bit) == 0 &&
               (atomic_fetch_or_explicit(&log_seen, bit, memory_order_relaxed) & bit) == 0;
    }
    const uint64_t now = vg_now_ns();
    uint64_t next = atomic_load_explicit(&log_next, memory_order_relaxed);
    if (now < next || !atomic_compare_exchange_strong_explicit(&log_next, &next, now + VG_LOG_GAP_NS,
                                                               memory_order_relaxed, memory_order_relaxed)) {
        (void)atomic_fetch_add_explicit(&log_left_out, 1, memory_order_relaxed);
        return false;
    }
    *left_out = atomic_exchange_explicit(&log_left_out, 0, memory_order_relaxed);
    return true;
}

/* Append, cut at the end. Returns the new length. */
VIGIL_PRINTF(3, 4) static size_t log_append(char *line, size_t used, const char *format, ...)
{
    va_list args;
    va_start(args, format); // NOLINT(clang-analyzer-valist.Uninitialized)
    const int more = vsnprintf(line + used, VG_LOG_BYTES - used, format, args);
    va_end(args);
    used += more > 0 ? (size_t)more : 0;
    return used < VG_LOG_BYTES - 2 ? used : VG_LOG_BYTES - 2; /* room for the newline */
}

static void print_line(char *line, size_t used)
{
    const int saved = errno;
    line[used++] = '\n';
    (void)!write(STDERR_FILENO, line, used); /* if it fails there is nowhere else to say it */
    errno = saved;
}

/* "vigil: " and the words; returns the length. */
static size_t start_line(char *line, const char *format, va_list args)
{
    size_t used = log_append(line, 0, "vigil: ");
    const int more = vsnprintf(line + used, VG_LOG_BYTES - used, format, args);
    used += more > 0 ? (size_t)more : 0;
    return used < VG_LOG_BYTES - 2 ? used : VG_LOG_BYTES - 2;
}

void vg_log(vg_log_kind kind, const char *format, ...)
{
    uint64_t left_out;
    if (!log_is_due(kind, &left_out))
        return;
    char line[VG_LOG_BYTES];
    va_list args;
    va_start(args, format); // NOLINT(clang-analyzer-valist.Uninitialized)
    size_t used = start_line(line, format, args);
    va_end(args);
    if (left_out != 0)
        used = log_append(line, used, " (%llu lines were left out before)", (unsigned long long)left_out);
    else if (read_log_level() == VG_LOG_FIRST)
        used = log_append(line, used, " [the first of its kind; VIGIL_LOG=warn prints each, VIGIL_LOG=off none]");
    print_line(line, used);
}

void vg_log_last(const char *format, ...)
{
    char line[VG_LOG_BYTES];
    va_list args;
    va_start(args, format); // NOLINT(clang-analyzer-valist.Uninitialized)
    size_t used = start_line(line, format, args);
    va_end(args);
    print_line(line, used);
}

const char *vg_log_function(const void *function, char *text, size_t room)
{
    Dl_info info;
    if (function == NULL || dladdr(function, &info) == 0)
        (void)snprintf(text, room, "%p", function);
    else if (info.dli_sname != NULL)
        (void)snprintf(text, room, "%s", info.dli_sname);
    else {
        const char *slash = strrchr(info.dli_fname, '/');
        (void)snprintf(text, room, "%s+0x%llx", slash != NULL ? slash + 1 : info.dli_fname,
                       (unsigned long long)((uintptr_t)function - (uintptr_t)info.dli_fbase));
    }
    return text;
}

void vg_log_misuse(int error, const char *text, const char *function)
{
    const bool is_public = strncmp(function, "vigil_", 6) == 0;
    const vg_log_kind kind = error == -EINVAL ? VG_LOG_INVALID : error == -EPERM ? VG_LOG_THREAD : VG_LOG_DEADLOCK;
    const char *name = error == -EINVAL ? "-EINVAL" : error == -EPERM ? "-EPERM" : "-EDEADLK";
    vg_log(kind, "%s%s%s: %s. vigil_why() says this after each failure.", is_public ? function : "a call",
           " was refused with ", name, text);
}
