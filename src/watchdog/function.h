/* SPDX-License-Identifier: MIT */
/*
 * function.h - the name of a function of this process, static ones too.
 */
#ifndef VG_WATCHDOG_FUNCTION_H
#define VG_WATCHDOG_FUNCTION_H

#include <stddef.h>

/* The name of the function around `address` and how far into it ("parse+0x1c", "parse" at its first byte), from the
   symbol table of the file that it was mapped from; "program+0x1234" if that was stripped. The watchdog's thread; opens
   and maps files. */
void vg_function_name(const void *address, char *name, size_t room);
void vg_function_names_forget(void); /* what was read is kept until then */

#endif
