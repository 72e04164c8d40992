/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "modules.h"
#include "core.h"
#include "procfs.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    MODULES_MOST = 4096
};

/* Enter one mapping of a file: into the module before, if that is of the same file, else as a new one. */
static void enter_mapping(vg_module *modules, unsigned *count, const vg_module *mapping, bool code)
{
    vg_module *last = *count > 0 ? &modules[*count - 1] : NULL;
    if (last == NULL || last->inode != mapping->inode || last->device != mapping->device ||
        strcmp(last->path, mapping->path) != 0) {
        if (*count == MODULES_MOST)
            return;
        last = &modules[(*count)++];
        *last = *mapping;
        last->fd = -1;
    }
    last->end = mapping->end;
    if (code) {
        if (last->code_end == 0) {
            last->code_begin = mapping->begin;
            last->link_begin = mapping->begin;
            last->link_end = mapping->end;
        }
        last->code_end = mapping->end;
    }
}

static bool has_code(const vg_module *module)
{
    return module->code_end != 0;
}

unsigned vg_modules_of(const vg_exam *exam, unsigned process, vg_module **result)
{
    vg_module *modules = calloc(MODULES_MOST, sizeof *modules);
    unsigned count = 0;
    *result = modules;
    if (modules == NULL)
        return 0;
    if (exam->core != NULL) {
        count = vg_core_modules(exam->core, modules, MODULES_MOST);
        return count;
    }
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)exam->processes[process].pid);
    FILE *file = fopen(path, "re");
    char line[1024];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        uint64_t begin, end, offset, inode;
        unsigned major, minor;
        char rights[8];
        int name = 0;
        if (strchr(line, '\n') == NULL) { /* too long a path: the rest of the line is skipped, the file stays unnamed */
            for (int c = 0; c != '\n' && c != EOF;)
                c = fgetc(file);
        }
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", // NOLINT(cert-err34-c)
                   &begin, &end, rights, &offset, &major, &minor, &inode, &name) < 7 ||
            name == 0)
            continue;
        vg_module mapping = {.begin = begin, .end = end, .inode = inode, .device = makedev(major, minor)};
        mapping.vdso = strcmp(line + name, "[vdso]") == 0;
        if (line[name] != '/' && !mapping.vdso)
            continue;
        vg_text_copy(mapping.path, sizeof mapping.path, line + name, strlen(line + name), false);
        enter_mapping(modules, &count, &mapping, strchr(rights, 'x') != NULL);
    }
    if (file != NULL)
        (void)fclose(file);
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++)
        if (has_code(&modules[i]))
            modules[kept++] = modules[i];
    return kept;
}

static bool is_file_of(int fd, const vg_module *module)
{
    struct stat status;
    /* On overlays and btrfs the mapping shows another device than the file: the inode has to do. */
    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == module->inode;
}

static int open_in_root(pid_t pid, const vg_module *module)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    const int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -1;
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    const int fd = (int)syscall(SYS_openat2, root, module->path, &how, sizeof how);
    (void)close(root);
    return fd;
}

static int open_mapped(pid_t pid, const vg_module *module)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, module->link_begin,
                   module->link_end);
    struct stat status;
    int fd = stat(path, &status) == 0 && S_ISREG(status.st_mode)
                 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
                 : -1;
    if (fd < 0)
        fd = open_in_root(pid, module);
    if (!is_file_of(fd, module) && fd >= 0) {
        (void)close(fd);
        fd = -1;
    }
    if (fd < 0) { /* a program that was replaced or removed since its start */
        (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (!is_file_of(fd, module) && fd >= 0) {
            (void)close(fd);
            fd = -1;
        }
    }
    return fd;
}

void vg_modules_open(const vg_exam *exam, unsigned process, vg_module *modules, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (modules[i].vdso)
            continue;
        modules[i].fd = exam->core != NULL ? vg_core_open(exam->core, &modules[i])
                                           : open_mapped(exam->processes[process].pid, &modules[i]);
    }
}

void vg_modules_free(vg_module *modules, unsigned count)
{
    for (unsigned i = 0; modules != NULL && i < count; i++)
        if (modules[i].fd >= 0)
            (void)close(modules[i].fd);
    free(modules);
}
