/* SPDX-License-Identifier: MIT */
/*
 * names.c - names of functions, given by the user, and loaded modules. Names are kept outside the recorder and copied
 * into each new file. Modules are read from the loader with each new pool, loop and look of the watchdog.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "base/why.h"
#include "names.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

typedef struct kept_name {
    uintptr_t address;
    char name[sizeof((vg_file_name *)NULL)->name];
} kept_name;

/* Under the recorder's lock. */
static kept_name *kept_names;
static unsigned kept_name_count;

static void publish_name(vg_recorder *recorder, unsigned at)
{
    vg_file_name entry = {.address = kept_names[at].address};
    memcpy(entry.name, kept_names[at].name, sizeof entry.name);
    vg_entry_put(&recorder->front->names[at], &entry, sizeof entry);
    vg_cell_set(&recorder->front->header.names, kept_name_count);
}

void vg_names_publish(vg_recorder *recorder)
{
    for (unsigned i = 0; i < kept_name_count; i++)
        publish_name(recorder, i);
}

static int keep_name(uintptr_t address, const char *name)
{
    if (kept_names == NULL)
        kept_names = calloc(VG_FILE_NAMES, sizeof *kept_names);
    if (kept_names == NULL)
        return -ENOMEM;
    unsigned at = 0;
    while (at < kept_name_count && kept_names[at].address != address)
        at++;
    if (at == VG_FILE_NAMES)
        return vg_why(-ENOSPC, "1024 functions have names, which is the most");
    if (at == kept_name_count)
        kept_name_count++;
    kept_names[at].address = address;
    memset(kept_names[at].name, 0, sizeof kept_names[at].name);
    memcpy(kept_names[at].name, name, strnlen(name, sizeof kept_names[at].name - 1));
    if (vg_the_recorder.users != 0 && vg_the_recorder.front != NULL)
        publish_name(&vg_the_recorder, at);
    return 0;
}

int vigil_record_name(void (*function)(void), const char *name)
{
    if (function == NULL)
        return VG_WHY_NULL("function");
    if (name == NULL || name[0] == '\0')
        return vg_why(-EINVAL, "name is NULL or empty");
    vg_mutex_lock(&vg_the_recorder.lock);
    int error = keep_name((uintptr_t)function, name);
    vg_mutex_unlock(&vg_the_recorder.lock);
    return error;
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

static void take_build_id(vg_file_module *module, const struct dl_phdr_info *info, const ElfW(Phdr) * header)
{
    const char *at = (const char *)(uintptr_t)(info->dlpi_addr + header->p_vaddr);
    size_t bytes_left = header->p_memsz;
    while (bytes_left >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
        const size_t name = (note->n_namesz + 3U) & ~3U;
        const size_t size = sizeof *note + name + ((note->n_descsz + 3U) & ~3U);
        if (size > bytes_left)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(at + sizeof *note, "GNU", 4) == 0 &&
            note->n_descsz <= sizeof module->build_id) {
            module->build_id_bytes = note->n_descsz;
            memcpy(module->build_id, at + sizeof *note + name, note->n_descsz);
            return;
        }
        at += size;
        bytes_left -= size;
    }
}

static void fill_module(vg_file_module *entry, const struct dl_phdr_info *info)
{
    vg_file_module module = {.begin = UINT64_MAX, .base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_NOTE)
            take_build_id(&module, info, header);
        if (header->p_type != PT_LOAD)
            continue;
        if (info->dlpi_addr + header->p_vaddr < module.begin)
            module.begin = info->dlpi_addr + header->p_vaddr;
        if (info->dlpi_addr + header->p_vaddr + header->p_memsz > module.end)
            module.end = info->dlpi_addr + header->p_vaddr + header->p_memsz;
    }
    if (module.end <= module.begin)
        module.begin = 0;
    if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0')
        memcpy(module.path, info->dlpi_name, strnlen(info->dlpi_name, sizeof module.path - 1));
    else if (readlink("/proc/self/exe", module.path, sizeof module.path - 1) < 0)
        module.path[0] = '\0';
    vg_entry_put(entry, &module, sizeof module);
}

typedef struct module_list {
    vg_recorder *recorder;
    unsigned count;
    bool unchanged;
} module_list;

static int visit_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    module_list *list = arg;
    if (list->count == 0 && size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        const unsigned long long seen = info->dlpi_adds + info->dlpi_subs;
        list->unchanged = seen == list->recorder->modules_seen;
        list->recorder->modules_seen = seen;
    }
    if (list->unchanged || list->count == VG_FILE_MODULES)
        return 1;
    fill_module(&list->recorder->front->modules[list->count++], info);
    return 0;
}

void vg_modules_publish(vg_recorder *recorder)
{
    module_list list = {.recorder = recorder};
    (void)dl_iterate_phdr(visit_module, &list);
    if (!list.unchanged)
        vg_cell_set(&recorder->front->header.modules, list.count);
}
