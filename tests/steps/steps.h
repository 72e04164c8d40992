/* SPDX-License-Identifier: MIT */
/*
 * steps.h - the cost of a call in steps, which no load of the machine changes. The sources of one room are compiled with
 * -fsanitize-coverage=trace-pc, so each basic block of theirs counts one. (Loops inside other rooms are not seen.)
 */
#ifndef VG_TEST_STEPS_H
#define VG_TEST_STEPS_H

#include "support.h"

static _Atomic unsigned long steps;

void __sanitizer_cov_trace_pc(void);
__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void)
{
    atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
}

/* cost(n, arg) answers how many steps each of n took. O(1): from 10 to 100 000 it does not even double. */
static inline void must_be_constant(const char *what, double (*cost)(size_t n))
{
    double few = cost(10);
    must(few > 0); /* else nothing is counted */
    for (size_t n = 100; n <= 100000; n *= 10) {
        double many = cost(n);
        if (many > 2 * few + 10) {
            fprintf(stderr, "%s: %.1f steps each of 10, %.1f each of %zu\n", what, few, many, n);
            support_fail("the cost grows with the number", __FILE__, __LINE__);
        }
    }
}

#endif
