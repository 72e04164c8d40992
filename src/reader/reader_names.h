/* SPDX-License-Identifier: MIT */
/*
 * reader_names.h - names of functions.
 */
#ifndef VG_READER_READER_NAMES_H
#define VG_READER_READER_NAMES_H

#include <stddef.h>
#include <stdint.h>

typedef struct vg_reader vg_reader;

/*
 * The name of a function: as registered with vigil_record_name, else "symbol+0x12" from the symbol table of the module
 * it lies in (if that is the same file still, by build id), else "libfoo.so+0x1234", else "0x1234". Always something,
 * cut at `room`. Works for dead processes too. May read files; remembers what it has read.
 */
void vg_reader_name(vg_reader *reader, uint64_t address, char *name, size_t room);

/* Read names and modules again. 0; -EBADMSG; -ENOMEM. */
int vg_reader_load_names(vg_reader *reader);
void vg_reader_free_names(vg_reader *reader);

#endif
