/* SPDX-License-Identifier: MIT */
/* memory.h - reads the memory of the patient: of a living process, or out of a core file. */
#ifndef VG_DOCTOR_MEMORY_H
#define VG_DOCTOR_MEMORY_H

#include "exam.h"

/* Read `bytes` at `address`. false: not all of it is there. */
bool vg_memory_read(const vg_exam *exam, unsigned process, uint64_t address, void *to, size_t bytes);

/* Read as much as there is, up to `bytes`; how much it was. */
size_t vg_memory_read_some(const vg_exam *exam, unsigned process, uint64_t address, void *to, size_t bytes);

#endif
