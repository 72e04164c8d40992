/* SPDX-License-Identifier: MIT */
/*
 * symbols.h - the functions of an untrusted ELF file, by address.
 */
#ifndef VG_RECORD_SYMBOLS_H
#define VG_RECORD_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

typedef struct vg_symbols vg_symbols;

/* Read the symbols, if the build id matches (empty: any). NULL: no memory; an unreadable file has no symbols. */
vg_symbols *vg_symbols_load(const char *path, const uint8_t *build_id, size_t build_id_bytes);
void vg_symbols_free(vg_symbols *symbols);

/* The function at a file address, or NULL; *offset: how far into it. */
const char *vg_symbols_find(const vg_symbols *symbols, uint64_t address, uint64_t *offset);

#endif
