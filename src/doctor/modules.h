/* SPDX-License-Identifier: MIT */
/*
 * modules.h - the files that the patient's code is mapped from.
 *
 * They are opened as the kernel knows them: by the link of the mapping, or by their path inside the patient's own root,
 * and then only if device and inode are those of the mapping. So the patient cannot choose what is opened.
 */
#ifndef VG_DOCTOR_MODULES_H
#define VG_DOCTOR_MODULES_H

#include "exam.h"

typedef struct vg_module {
    uint64_t begin, end; /* all mappings of the file together */
    uint64_t code_begin, code_end;
    uint64_t device, inode;
    uint64_t link_begin, link_end; /* one mapping, as its link is named */
    char path[512];
    int fd;    /* -1: not opened */
    bool vdso; /* its image is in memory */
} vg_module;

/* The modules of a process, in the order of their addresses; *modules is to be freed by vg_modules_free. */
unsigned vg_modules_of(const vg_exam *exam, unsigned process, vg_module **result);
void vg_modules_open(const vg_exam *exam, unsigned process, vg_module *modules, unsigned count);
void vg_modules_free(vg_module *modules, unsigned count);

#endif
