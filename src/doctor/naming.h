/* SPDX-License-Identifier: MIT */
/* naming.h - functions, files and lines of addresses, with libdw. */
#ifndef VG_DOCTOR_NAMING_H
#define VG_DOCTOR_NAMING_H

#include "exam.h"
#include "unwinding.h"

#include <elfutils/libdwfl.h>

typedef struct vg_naming vg_naming;

/* Once, while files may still be opened. */
void vg_naming_begin(void);

vg_naming *vg_naming_create(Dwfl *dwfl);

/* The frames of one address, the innermost inlined function first; at least one, at most `room`. */
unsigned vg_naming_frames(vg_naming *naming, uint64_t pc, vg_frame *frames, unsigned room);

/* Where the function at an address begins; 0: unknown. */
uint64_t vg_naming_start(vg_naming *naming, uint64_t pc);

/* Whether a stack begins there: _start and clone have no caller. */
bool vg_naming_is_root(vg_naming *naming, uint64_t pc);

void vg_naming_facts(vg_naming *naming, vg_module_facts *facts);

#endif
