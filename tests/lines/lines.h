/* SPDX-License-Identifier: MIT */
/*
 * lines.h - how many cache lines move between cores for an operation, on any number of cores and whatever the machine
 * does. The library's rooms are compiled with -fsanitize=thread and linked with lines.c instead of the sanitizer: each
 * access of theirs is an access of a simulated core, which is the calling thread. A line is held by several cores while
 * they read it, and by one that writes it. A line moves when a core touches one that another holds and it does not, or
 * writes one that others have read since it came. The first touch of a line is no move. What the kernel and the .c
 * files of src/record touch is not seen.
 */
#ifndef VG_TEST_LINES_H
#define VG_TEST_LINES_H

#include "support.h"

/* Moves to all cores since the last call. */
unsigned long lines_moved(void);

/* The row of docs/costs.md, "Shared lines", must give this number, at most a quarter off. */
void must_be_in_the_table(const char *row, double moves);
void must_be_within_the_table(const char *row, double moves); /* likewise, or less */

/* What else looks at the pool at that time can only add moves: the least of several rounds counts. 0: none yet. */
static inline double least(double so_far, double moves)
{
    return so_far == 0 || moves < so_far ? moves : so_far;
}

/* Several threads take turns: turn_wait(n) returns when at least n turns have ended. */
struct turns {
    _Atomic uint32_t ended;
};
void turn_wait(struct turns *turns, uint32_t number);
void turn_end(struct turns *turns);

#endif
