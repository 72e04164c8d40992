/* SPDX-License-Identifier: MIT */
#ifndef VGC_LITMUS_TABLES_H
#define VGC_LITMUS_TABLES_H

#include <vigil_check.h>
#include <stddef.h>

enum expectation {
    FORBIDDEN,
    ALLOWED,
    LIMIT /* C11 permits it, the engine does not produce it: load buffering */
};

struct classic {
    const char *name, *program, *outcome;
    enum expectation expect;
};

struct shape {
    const char *name, *program;
};

struct mutation {
    const char *name;
    enum vgc_rule rule;
};

extern const struct classic classics[];
extern const size_t classic_count;
extern const struct shape shapes[];
extern const size_t shape_count;
extern const struct mutation mutations[];
extern const size_t mutation_count;

#endif
