/* SPDX-License-Identifier: MIT */
/* bp_guess.h - finds the frame pointer of a function in the middle of a stack, when only sp and pc are known. */
#ifndef VG_DOCTOR_BP_GUESS_H
#define VG_DOCTOR_BP_GUESS_H

#include "exam.h"
#include "modules.h"

typedef struct bp_place {
    const vg_exam *exam;
    unsigned process;
    const vg_module *modules;
    unsigned module_count;
    uint64_t pc, sp;   /* of the function */
    uint64_t function; /* where it begins; 0: unknown */
    const unsigned char *window;
    uint64_t window_begin;
    size_t window_bytes;
} bp_place;

/* 0: there is none that fits. */
uint64_t vg_bp_guess(const bp_place *place);

#endif
