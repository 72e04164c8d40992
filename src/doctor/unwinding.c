/* SPDX-License-Identifier: MIT */
/*
 * A thread that sleeps shows two registers, sp and pc. The tables of libc's waiting functions need no more; a function
 * compiled with a frame pointer needs bp. If no function below it has saved bp, it is searched for: the place on the
 * stack with a return address behind a call of exactly this function (bp_guess.c).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "unwinding.h"
#include "bp_guess.h"
#include "memory.h"
#include "modules.h"
#include "naming.h"
#include "base/text.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WINDOW = 1 << 16,    /* bytes of a stack that are copied at once */
    VDSO_MOST = 1 << 16, /* bytes */
    WALK_SP = 7,         /* DWARF numbers of x86-64 */
    WALK_BP = 6,
    WALK_PC = 16,
    LARGEST_FILE = 1 << 30 /* debug information of larger files is not read */
};

typedef struct module_files {
    vg_module *module;
    int debug_fd;
    Elf *elf;
} module_files;

struct vg_unwinding {
    const vg_exam *exam;
    unsigned process;
    Dwfl *dwfl;
    vg_module *modules;
    module_files *files;
    unsigned count;
    bool attached;
    vg_naming *naming;
    /* the walk */
    const vg_exam_thread *thread;
    uint64_t bp;
    uint64_t window_begin;
    size_t window_bytes;
    unsigned char window[WINDOW];
    unsigned found;
    struct {
        uint64_t pc, sp;
        bool exact, bp_known;
    } walk[VG_EXAM_FRAMES];
};

static char *debug_path = NULL; /* no search path: find_debug knows the files already */

static vg_unwinding *session_now; /* libdwfl's callbacks for files have no argument of ours */

static module_files *files_at(uint64_t base)
{
    for (unsigned i = 0; i < session_now->count; i++)
        if (session_now->modules[i].begin == base)
            return &session_now->files[i];
    return NULL;
}

static int find_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, char **file_name,
                     Elf **elf)
{
    (void)module, (void)userdata, (void)name;
    module_files *files = files_at(base);
    if (files == NULL || files->elf == NULL)
        return -1;
    *file_name = strdup(files->module->path);
    *elf = files->elf;
    files->elf = NULL; /* libdwfl ends it */
    const int fd = files->module->fd;
    files->module->fd = -1; /* and closes this */
    return fd;
}

static int find_debug(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, const char *file_name,
                      const char *link, GElf_Word sum, char **debug_name)
{
    (void)module, (void)userdata, (void)name, (void)file_name, (void)link, (void)sum, (void)debug_name;
    module_files *files = files_at(base);
    if (files == NULL)
        return -1;
    const int fd = files->debug_fd;
    files->debug_fd = -1;
    return fd;
}

static const Dwfl_Callbacks file_callbacks = {
    .find_elf = find_file,
    .find_debuginfo = find_debug,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_path,
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
    (void)dwfl, (void)arg, (void)thread_arg;
    return 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
    (void)dwfl, (void)tid;
    *thread_arg = arg;
    return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *arg)
{
    (void)dwfl;
    vg_unwinding *s = arg;
    if (address >= s->window_begin && address - s->window_begin < s->window_bytes &&
        s->window_bytes - (address - s->window_begin) >= sizeof *result) {
        memcpy(result, s->window + (address - s->window_begin), sizeof *result);
        return true;
    }
    return vg_memory_read(s->exam, s->process, address, result, sizeof *result);
}

static bool first_registers(Dwfl_Thread *thread, void *arg)
{
    vg_unwinding *s = arg;
    if (s->thread->has_regs) {
        Dwarf_Word all[17];
        for (unsigned i = 0; i < 17; i++)
            all[i] = s->thread->regs[i];
        return dwfl_thread_state_registers(thread, 0, 17, all);
    }
    const Dwarf_Word sp = s->thread->sp, pc = s->thread->ip, bp = s->bp;
    return (bp == 0 || dwfl_thread_state_registers(thread, WALK_BP, 1, &bp)) &&
           dwfl_thread_state_registers(thread, WALK_SP, 1, &sp) && dwfl_thread_state_registers(thread, WALK_PC, 1, &pc);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
    .next_thread = next_thread,
    .get_thread = get_thread,
    .memory_read = read_word,
    .set_initial_registers = first_registers,
};

static int open_debug_file(Elf *elf)
{
    const void *bits;
    const ssize_t length = dwelf_elf_gnu_build_id(elf, &bits);
    if (length < 2 || length > 64)
        return -1;
    char path[256] = "/usr/lib/debug/.build-id/";
    size_t at = strlen(path);
    for (ssize_t i = 0; i < length; i++) {
        at += (size_t)snprintf(path + at, sizeof path - at, "%02x", ((const unsigned char *)bits)[i]);
        if (i == 0)
            path[at++] = '/';
    }
    (void)snprintf(path + at, sizeof path - at, ".debug");
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void open_files(vg_unwinding *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        module_files *files = &s->files[i];
        vg_module *module = &s->modules[i];
        *files = (module_files){.module = module, .debug_fd = -1};
        if (module->vdso && module->end - module->begin <= VDSO_MOST) {
            const size_t bytes = (size_t)(module->end - module->begin);
            char *image = malloc(bytes);
            if (image != NULL && vg_memory_read(s->exam, s->process, module->begin, image, bytes))
                files->elf = elf_memory(image, bytes);
        } else if (module->fd >= 0) {
            struct stat status;
            /* Not mapped: the patient's owner could truncate the file while it is read. */
            if (fstat(module->fd, &status) == 0 && status.st_size <= LARGEST_FILE)
                files->elf = elf_begin(module->fd, ELF_C_READ, NULL);
            if (files->elf != NULL && elf_kind(files->elf) != ELF_K_ELF) {
                (void)elf_end(files->elf);
                files->elf = NULL;
            }
            if (files->elf != NULL)
                files->debug_fd = open_debug_file(files->elf);
        }
    }
}

void vg_unwinding_begin(void)
{
    (void)elf_version(EV_CURRENT);
    vg_naming_begin();
}

vg_unwinding *vg_unwinding_open(const vg_exam *exam, unsigned process)
{
    vg_unwinding *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->exam = exam;
    s->process = process;
    s->count = vg_modules_of(exam, process, &s->modules);
    s->files = calloc(s->count + 1, sizeof *s->files);
    if (s->modules == NULL || s->files == NULL)
        return NULL; /* the child ends soon: nothing is freed here */
    vg_modules_open(exam, process, s->modules, s->count);
    open_files(s);
    return s;
}

/* Report the modules to libdwfl; after the fence, because it parses them. */
static bool attach(vg_unwinding *s)
{
    session_now = s;
    if (s->dwfl != NULL)
        return s->attached;
    s->dwfl = dwfl_begin(&file_callbacks);
    if (s->dwfl == NULL)
        return false;
    dwfl_report_begin(s->dwfl);
    for (unsigned i = 0; i < s->count; i++)
        (void)dwfl_report_module(s->dwfl, s->modules[i].path, s->modules[i].begin, s->modules[i].end);
    (void)dwfl_report_end(s->dwfl, NULL, NULL);
    s->naming = vg_naming_create(s->dwfl);
    s->attached = dwfl_attach_state(s->dwfl, NULL, s->exam->processes[s->process].pid, &thread_callbacks, s);
    return s->attached;
}

static int take_frame(Dwfl_Frame *frame, void *arg)
{
    vg_unwinding *s = arg;
    Dwarf_Addr pc;
    bool exact;
    if (!dwfl_frame_pc(frame, &pc, &exact) || pc == 0)
        return DWARF_CB_ABORT;
    Dwarf_Word sp = 0;
    (void)dwfl_frame_reg(frame, WALK_SP, &sp);
    Dwarf_Word bp;
    s->walk[s->found].bp_known = dwfl_frame_reg(frame, WALK_BP, &bp) == 0;
    /* A stack that does not grow downwards, or goes in circles, is none. */
    if (s->found > 1 && sp <= s->walk[s->found - 1].sp)
        return DWARF_CB_ABORT;
    s->walk[s->found].pc = pc;
    s->walk[s->found].sp = sp;
    s->walk[s->found].exact = exact;
    return ++s->found < VG_EXAM_FRAMES ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static void walk_once(vg_unwinding *s)
{
    s->found = 0;
    (void)dwfl_getthread_frames(s->dwfl, s->thread->tid, take_frame, s);
}

void vg_unwinding_walk(vg_unwinding *s, vg_exam_thread *thread, vg_frame *frames, unsigned *count)
{
    *count = 0;
    s->thread = thread;
    s->bp = 0;
    s->window_begin = thread->sp & ~UINT64_C(7);
    s->window_bytes = vg_memory_read_some(s->exam, s->process, s->window_begin, s->window, WINDOW);
    const bool can = attach(s);
    s->found = 0;
    if (can) {
        walk_once(s);
        if (!thread->has_regs && s->found > 0 && s->found < VG_EXAM_FRAMES && !s->walk[s->found - 1].bp_known &&
            !vg_naming_is_root(s->naming, s->walk[s->found - 1].pc)) {
            const bp_place place = {.exam = s->exam,
                                    .process = s->process,
                                    .modules = s->modules,
                                    .module_count = s->count,
                                    .pc = s->walk[s->found - 1].pc,
                                    .sp = s->walk[s->found - 1].sp,
                                    .function = vg_naming_start(s->naming, s->walk[s->found - 1].pc),
                                    .window = s->window,
                                    .window_begin = s->window_begin,
                                    .window_bytes = s->window_bytes};
            const unsigned before = s->found;
            s->bp = vg_bp_guess(&place);
            if (s->bp != 0) {
                walk_once(s);
                if (s->found < before) { /* no better: as it was */
                    s->bp = 0;
                    walk_once(s);
                }
            }
        }
    }
    if (s->found == 0) {
        s->walk[0].pc = thread->ip;
        s->walk[0].sp = thread->sp;
        s->walk[0].exact = true;
        s->found = 1;
    }
    thread->bp = s->bp;
    for (unsigned i = 0; i < s->found && *count < VG_EXAM_FRAMES; i++) {
        const uint64_t pc = s->walk[i].pc - (s->walk[i].exact ? 0 : 1);
        unsigned added = vg_naming_frames(s->naming, pc, frames + *count, VG_EXAM_FRAMES - *count);
        for (unsigned f = 0; f < added; f++) {
            vg_frame *frame = &frames[*count + f];
            frame->pc = s->walk[i].pc;
            for (unsigned m = 0; m < s->count; m++)
                if (pc >= s->modules[m].begin && pc < s->modules[m].end) {
                    const char *slash = strrchr(s->modules[m].path, '/');
                    const char *base = slash != NULL ? slash + 1 : s->modules[m].path;
                    vg_text_copy(frame->module, sizeof frame->module, base, strlen(base), false);
                    frame->offset = frame->pc - s->modules[m].begin;
                    break;
                }
        }
        *count += added;
    }
}

void vg_unwinding_facts(vg_unwinding *s, vg_module_facts *facts)
{
    if (!attach(s) && s->dwfl == NULL)
        return;
    vg_naming_facts(s->naming, facts);
}
