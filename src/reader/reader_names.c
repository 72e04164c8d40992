/* SPDX-License-Identifier: MIT */
/*
 * reader_names.c - names for addresses.
 */
#include "reader_names.h"
#include "raw.h"
#include "reader_entries.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void vg_reader_free_names(vg_reader *reader)
{
    for (size_t i = 0; i < VG_FILE_MODULES; i++) {
        vg_symbols_free(reader->symbols[i]);
        reader->symbols[i] = NULL;
    }
    free(reader->names);
    free(reader->modules);
    reader->names = NULL;
    reader->modules = NULL;
    reader->name_count = reader->module_count = 0;
}

int vg_reader_load_names(vg_reader *reader)
{
    const vg_file_section *sections = reader->header.sections;
    size_t name_count = VG_FILE_NAMES;
    size_t module_count = VG_FILE_MODULES;
    int error = 0;
    vg_file_name *names = vg_reader_entries(reader, sections[VG_SECTION_NAMES].offset, sizeof *names,
                                            vg_raw_get(&reader->header.names), &name_count, &error);
    vg_file_module *modules = error != 0
                                  ? NULL
                                  : vg_reader_entries(reader, sections[VG_SECTION_MODULES].offset, sizeof *modules,
                                                      vg_raw_get(&reader->header.modules), &module_count, &error);
    if (error != 0) {
        free(names);
        return error;
    }
    free(reader->names);
    free(reader->modules);
    reader->names = names;
    reader->modules = modules;
    reader->name_count = name_count;
    reader->module_count = module_count;
    for (size_t i = 0; i < VG_FILE_MODULES; i++) /* a library that was replaced by another takes its symbols along */
        if (reader->symbols[i] != NULL && (i >= module_count || reader->symbols_of[i] != modules[i].begin)) {
            vg_symbols_free(reader->symbols[i]);
            reader->symbols[i] = NULL;
        }
    return 0;
}

static const vg_symbols *symbols_of_module(vg_reader *reader, size_t at, const char *path)
{
    const vg_file_module *module = &reader->modules[at];
    if (reader->symbols[at] == NULL) {
        const size_t id = module->build_id_bytes;
        reader->symbols[at] = vg_symbols_load(path, module->build_id, id <= sizeof module->build_id ? id : 0);
        reader->symbols_of[at] = module->begin;
    }
    return reader->symbols[at];
}

static bool name_from_module(vg_reader *reader, uint64_t address, char *name, size_t room)
{
    for (size_t i = 0; i < reader->module_count; i++) {
        const vg_file_module *module = &reader->modules[i];
        if (vg_raw_get(&module->writes) == 0 || module->begin == 0 || address < module->begin || address >= module->end)
            continue;
        char path[sizeof module->path];
        char text[128];
        vg_copy_text(path, sizeof path, module->path, sizeof module->path);
        const vg_symbols *symbols = symbols_of_module(reader, i, path);
        uint64_t offset = 0;
        const char *symbol = symbols != NULL ? vg_symbols_find(symbols, address - module->base, &offset) : NULL;
        if (symbol != NULL) {
            vg_copy_text(text, sizeof text, symbol, sizeof text);
            if (offset == 0)
                (void)snprintf(name, room, "%s", text);
            else
                (void)snprintf(name, room, "%s+0x%" PRIx64, text, offset);
            return true;
        }
        const char *slash = strrchr(path, '/');
        (void)snprintf(name, room, "%s+0x%" PRIx64, slash != NULL ? slash + 1 : path, address - module->base);
        return true;
    }
    return false;
}

void vg_reader_name(vg_reader *reader, uint64_t address, char *name, size_t room)
{
    if (room == 0)
        return;
    if (reader->names == NULL)
        (void)vg_reader_load_names(reader);
    for (size_t i = 0; i < reader->name_count; i++)
        if (address != 0 && vg_raw_get(&reader->names[i].writes) != 0 && reader->names[i].address == address) {
            vg_copy_text(name, room, reader->names[i].name, sizeof reader->names[i].name);
            return;
        }
    if (!name_from_module(reader, address, name, room))
        (void)snprintf(name, room, "0x%" PRIx64, address);
}
