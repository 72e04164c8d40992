/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "function.h"

#include "record/symbols.h"

#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    SYMBOL_FILES = 8 /* files */
};

static struct {
    char path[512];
    vg_symbols *symbols;
} symbol_files[SYMBOL_FILES];
static unsigned next_symbol_file;

typedef struct function_place {
    uintptr_t address;
    uintptr_t base; /* what the loader added */
    char path[512];
    bool found;
} function_place;

static int find_function_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    function_place *at = arg;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || at->address < begin || at->address - begin >= part->p_memsz)
            continue;
        at->found = true;
        at->base = info->dlpi_addr;
        /* the program itself has no name in this list */
        const bool self = info->dlpi_name == NULL || info->dlpi_name[0] == 0;
        (void)snprintf(at->path, sizeof at->path, "%s", self ? "/proc/self/exe" : info->dlpi_name);
        return 1;
    }
    return 0;
}

static const vg_symbols *symbols_of_file(const char *path)
{
    for (size_t i = 0; i < SYMBOL_FILES; i++)
        if (symbol_files[i].symbols != NULL && strcmp(symbol_files[i].path, path) == 0)
            return symbol_files[i].symbols;
    const unsigned at = next_symbol_file++ % SYMBOL_FILES;
    if (symbol_files[at].symbols != NULL)
        vg_symbols_free(symbol_files[at].symbols);
    symbol_files[at].symbols = vg_symbols_load(path, NULL, 0);
    (void)snprintf(symbol_files[at].path, sizeof symbol_files[at].path, "%s", path);
    return symbol_files[at].symbols;
}

void vg_function_names_forget(void)
{
    for (size_t i = 0; i < SYMBOL_FILES; i++) {
        if (symbol_files[i].symbols != NULL)
            vg_symbols_free(symbol_files[i].symbols);
        symbol_files[i].symbols = NULL;
    }
}

void vg_function_name(const void *address, char *name, size_t room)
{
    function_place at = {.address = (uintptr_t)address};
    (void)dl_iterate_phdr(find_function_module, &at);
    if (!at.found) {
        (void)snprintf(name, room, "%p", address);
        return;
    }
    const vg_symbols *symbols = symbols_of_file(at.path);
    uint64_t offset = 0;
    const char *known = symbols != NULL ? vg_symbols_find(symbols, at.address - at.base, &offset) : NULL;
    if (known != NULL) {
        if (offset == 0)
            (void)snprintf(name, room, "%s", known);
        else
            (void)snprintf(name, room, "%s+0x%" PRIx64, known, offset);
        return;
    }
    char program[sizeof at.path];
    ssize_t length = readlink(at.path, program, sizeof program - 1); /* /proc/self/exe */
    if (length > 0) {
        program[length] = 0;
        memcpy(at.path, program, (size_t)length + 1);
    }
    const char *slash = strrchr(at.path, '/');
    (void)snprintf(name, room, "%s+0x%" PRIxPTR, slash != NULL ? slash + 1 : at.path, at.address - at.base);
}
