/* SPDX-License-Identifier: MIT */
/*
 * symbols.h - the functions of an ELF file, by address. It is read as a file that nobody vouches for.
 */
#ifndef VG_RECORD_SYMBOLS_H
#define VG_RECORD_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

typedef struct vg_symbols vg_symbols;

/* Read the symbols of the file, if its build id is the given one (of no length: any). Never NULL, except when there is no
   memory; a file that cannot be read has no symbols. */
vg_symbols *vg_symbols_load(const char *path, const uint8_t *build_id, size_t build_id_bytes);
void vg_symbols_free(vg_symbols *symbols);

/* The function that contains the address (in the file's own numbers), NULL if none does; *offset: how far into it. */
const char *vg_symbols_find(const vg_symbols *symbols, uint64_t address, uint64_t *offset);

#endif
