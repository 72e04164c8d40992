/* SPDX-License-Identifier: MIT */
/*
 * present.h - which pages of a process are in memory?
 *
 * A page may never arrive: it belongs to a userfaultfd that nobody serves, or to a file on a disk or server that does
 * not answer. A read of it from another process, also of /proc/PID/cmdline, waits in the kernel until SIGKILL. These
 * functions say before the read whether it ends.
 */
#ifndef VG_BASE_PRESENT_H
#define VG_BASE_PRESENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VG_PRESENT_IN_MEMORY (UINT64_C(1) << 63)
#define VG_PRESENT_SWAPPED   (UINT64_C(1) << 62)

/* A descriptor of the page table, or -1. */
int vg_present_open(pid_t pid);

/* How many bytes from `address` on lie in pages with one of these bits. Everything, if the kernel does not say. */
size_t vg_present_bytes(int pagemap, uint64_t bits, uint64_t address, size_t bytes);

/* Are these bytes in memory or swapped out, so that reading them ends? true, too, if the kernel does not say. */
bool vg_present(pid_t pid, uint64_t address, size_t bytes);

/* The same of the first bytes of the command line. */
bool vg_present_command(pid_t pid, size_t bytes);

#endif
