/* SPDX-License-Identifier: MIT */
/* procfs.h - reading the small files of /proc. */
#ifndef VG_DOCTOR_PROCFS_H
#define VG_DOCTOR_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Read a file whole, at most room - 1 bytes, and end it with a NUL. Its length, or a negative errno. */
ssize_t vg_proc_read(char *to, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* What a link says. Its length, or a negative errno. */
ssize_t vg_proc_link(char *to, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The number behind "Name:" at the beginning of a line of `text`, in `base`; `otherwise` if there is none. */
uint64_t vg_proc_field(const char *text, const char *name, int base, uint64_t otherwise);

/* The numbers that a directory of /proc has as entries, sorted; *numbers is to be freed. How many, or a negative
   errno. */
int vg_proc_numbers(pid_t **numbers, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
