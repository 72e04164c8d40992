/* SPDX-License-Identifier: MIT */
/*
 * reader_names.c - names for addresses.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "reader_names.h"
#include "process.h"
#include "raw.h"
#include "reader_entries.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The mapping of a living process around an address, as /proc/PID/map_files names it. */
static bool find_mapping(pid_t pid, uint64_t address, char *path, size_t room)
{
    char line[512];
    bool found = false;
    (void)snprintf(path, room, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        uint64_t begin = 0;
        uint64_t end = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &begin, &end) == 2 && address >= begin && address < end) { // NOLINT
            (void)snprintf(path, room, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, begin, end);
            found = true;
        }
    }
    if (maps != NULL)
        (void)fclose(maps);
    return found;
}

/*
 * The file of a module. If the record is our own, its path. The path in the record of another user (we are root) is
 * that user's choice and is not opened: only the file that the kernel says is mapped there, if it is a regular one. -1:
 * none.
 */
static int open_module(const vg_reader *reader, const vg_file_module *module, const char *path)
{
    struct stat info;
    if (fstat(reader->fd, &info) != 0)
        return -1;
    if (info.st_uid == geteuid())
        return path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    char mapped[128];
    const pid_t pid = vg_reader_process_state(reader) != 0 ? vg_reader_local_pid(reader) : 0;
    if (pid == 0 || !find_mapping(pid, module->begin, mapped, sizeof mapped))
        return -1;
    const int place = open(mapped, O_PATH | O_CLOEXEC); /* opens nothing yet */
    int fd = -1;
    if (place >= 0 && fstat(place, &info) == 0 && S_ISREG(info.st_mode)) {
        (void)snprintf(mapped, sizeof mapped, "/proc/self/fd/%d", place);
        fd = open(mapped, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    }
    if (place >= 0)
        (void)close(place);
    return fd;
}

static const vg_symbols *symbols_of_module(vg_reader *reader, size_t at, const char *path)
{
    const vg_file_module *module = &reader->modules[at];
    if (reader->symbols[at] == NULL) {
        char opened[64] = "";
        const size_t id = module->build_id_bytes;
        const int fd = open_module(reader, module, path);
        if (fd >= 0)
            (void)snprintf(opened, sizeof opened, "/proc/self/fd/%d", fd);
        reader->symbols[at] = vg_symbols_load(opened, module->build_id, id <= sizeof module->build_id ? id : 0);
        reader->symbols_of[at] = module->begin;
        if (fd >= 0)
            (void)close(fd);
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
