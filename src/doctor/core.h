/* SPDX-License-Identifier: MIT */
/* core.h - a core file: its memory, threads and mapped files. */
#ifndef VG_DOCTOR_CORE_H
#define VG_DOCTOR_CORE_H

#include "exam.h"

typedef struct vg_module vg_module;

/* Open a core file and enter its process and threads into the examination. 0; -ENOEXEC it is none; or another negative
   errno. */
int vg_core_load(vg_exam *exam, const char *path);
void vg_core_close(vg_core *core);

/* As vg_memory_read_some. */
size_t vg_core_read(const vg_core *core, uint64_t address, void *to, size_t bytes);

/* As vg_modules_of, into `modules`. */
unsigned vg_core_modules(const vg_core *core, vg_module *modules, unsigned room);

/* The file of a module, if this machine still has the one that was mapped; else -1. */
int vg_core_open(const vg_core *core, const vg_module *module);

#endif
