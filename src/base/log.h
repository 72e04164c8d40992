/* SPDX-License-Identifier: MIT */
/*
 * log.h - the one place where the library prints: a line on standard error for a failure that nobody asked to hear of.
 *
 * VIGIL_LOG in the environment: off; error (default), the first of each kind; warn, each of them, at most ten lines a
 * second. A program that sets the hook for a kind hears of it there and gets no line. Never called in a signal handler;
 * one write(2) per line, no allocation, no lock.
 */
#ifndef VG_BASE_LOG_H
#define VG_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include <vigil/base.h>

typedef enum vg_log_kind {
    VG_LOG_TASK,      /* a task failed */
    VG_LOG_CALLBACK,  /* a callback left by vigil_raise */
    VG_LOG_REJECTION, /* a rejection that nobody handles */
    VG_LOG_INVALID,   /* misuse: -EINVAL */
    VG_LOG_THREAD,    /* misuse: -EPERM */
    VG_LOG_DEADLOCK,  /* misuse: -EDEADLK */
    VG_LOG_RECORD,    /* the recorder cannot do what it should */
    VG_LOG_CHILD,     /* a child gets a standard stream that does not block */
    VG_LOG_KINDS
} vg_log_kind;

/* Print "vigil: ..." and what to do to hear more or less, if a line of this kind is due. */
VIGIL_PRINTF(2, 3) void vg_log(vg_log_kind kind, const char *format, ...);

/* Print "vigil: ..." whatever VIGIL_LOG says: the process is about to be aborted. */
VIGIL_PRINTF(1, 2) void vg_log_last(const char *format, ...);

/* "parse_row", or "0x1234 in program" where the symbol is not known. Returns `text`. */
const char *vg_log_function(const void *function, char *text, size_t room);

/* A call was refused: error is -EINVAL, -EPERM or -EDEADLK. function: __func__ of the code that refused it. */
void vg_log_misuse(int error, const char *text, const char *function);

#endif
