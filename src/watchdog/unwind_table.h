/* SPDX-License-Identifier: MIT */
/*
 * unwind_table.h - what .eh_frame says about one address: where the caller's registers are.
 *
 * Only the forms that linkers and compilers write are known. Anything else is "not known", never a guess: a wrong row
 * would show callers that do not exist.
 */
#ifndef VG_WATCHDOG_UNWIND_TABLE_H
#define VG_WATCHDOG_UNWIND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    VG_UNWIND_RBP = 6, /* DWARF numbers of x86-64 */
    VG_UNWIND_RSP = 7,
    VG_UNWIND_RA = 16, /* the return address */
    VG_UNWIND_REGS = 17
};

typedef enum vg_unwind_rule {
    VG_RULE_SAME,
    VG_RULE_OFFSET,    /* saved at CFA + offset */
    VG_RULE_VALUE,     /* is CFA + offset */
    VG_RULE_REGISTER,  /* in another register */
    VG_RULE_UNDEFINED, /* of the return address: there is no caller */
    VG_RULE_UNKNOWN    /* by an expression, which is not computed here */
} vg_unwind_rule;

/* The CFA is the caller's stack pointer. */
typedef struct vg_unwind_row {
    struct {
        vg_unwind_rule kind;
        int64_t offset;
    } of[VG_UNWIND_REGS];
    bool cfa_known;
    unsigned cfa_register;
    int64_t cfa_offset;
    bool signal_frame; /* the caller was interrupted: its address is no return address */
} vg_unwind_row;

/* The row for an address, from the .eh_frame_hdr of its module. false: there is none, or it has a form that is not
   known. */
bool vg_unwind_row_at(const unsigned char *hdr, uintptr_t address, vg_unwind_row *row);

#endif
