/* SPDX-License-Identifier: MIT */
/*
 * Litmus tests: small programs with named outcomes. One description is run twice: by the engine, as real C11 atomics, and by
 * a second judge (axioms.c) that knows nothing of the engine and enumerates what the axioms of C++20 permit. Both sets of
 * outcomes must be equal.
 *
 * A program is written as threads separated by "||", statements by ";":
 *      x=1@rel       store         r0=x@acq      load
 *      r0=x+1@ar     fetch_add     r0=x:2@ar     exchange
 *      F@sc          fence         MB            membarrier
 * Locations: x y z w, all 0 at the start. Registers: r0 to r7. Orders: rlx acq rel ar sc; "?" is a slot that is filled with
 * each order that makes sense there (for a fence: also with no fence).
 */
#ifndef VGC_LITMUS_H
#define VGC_LITMUS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    LIT_THREADS = 4,
    LIT_OPS = 8,
    LIT_LOCATIONS = 4,
    LIT_REGISTERS = 8,
    LIT_OUTCOMES = 256,
    LIT_TEXT = 64
};

enum lit_kind {
    LIT_STORE,
    LIT_LOAD,
    LIT_ADD,
    LIT_EXCHANGE,
    LIT_FENCE,
    LIT_MEMBARRIER
};

enum lit_order {
    LIT_RLX,
    LIT_ACQ,
    LIT_REL,
    LIT_AR,
    LIT_SC,
    LIT_NONE, /* a fence that is not there */
    LIT_SLOT
};

struct lit_op {
    enum lit_kind kind;
    enum lit_order order;
    int location, value, reg;
};

struct lit_program {
    int threads;
    int count[LIT_THREADS];
    struct lit_op op[LIT_THREADS][LIT_OPS];
    int locations, registers;
};

struct lit_outcomes {
    size_t count;
    char text[LIT_OUTCOMES][LIT_TEXT];
};

bool lit_parse(const char *text, struct lit_program *program);
void lit_print(const struct lit_program *program, char *out, size_t room);

/* What one execution has shown. */
void lit_outcome_text(const struct lit_program *program, const int *registers, const int *memory, char *out);
void lit_add(struct lit_outcomes *set, const char *text);
void lit_sort(struct lit_outcomes *set);
bool lit_has(const struct lit_outcomes *set, const char *text);

/* The second judge. load_buffering: permit cycles of program order and reads-from, as C++20 does in principle. */
void lit_axioms(const struct lit_program *program, bool load_buffering, struct lit_outcomes *set);

/* A body for the engine: runs the program that vgc_arg() gives, and reports its outcome. */
void lit_body(void);

#endif
