/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "core.h"
#include "modules.h"
#include "base/text.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CORE_SEGMENTS = 65536,
    CORE_NOTES = 64 << 20, /* bytes */
    CORE_CALLS = 1024,     /* numbers of system calls are below */
    CORE_RESTART = 4095    /* errors are above minus this */
};

struct vg_core {
    int fd;
    unsigned segments;
    Elf64_Phdr *segment;
    char *notes;
    size_t notes_bytes;
    const char *files; /* the note with the mapped files */
    size_t files_bytes;
};

static bool read_all(int fd, void *to, size_t bytes, uint64_t at)
{
    size_t done = 0;
    while (done < bytes) {
        const ssize_t got = pread(fd, (char *)to + done, bytes - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

size_t vg_core_read(const vg_core *core, uint64_t address, void *to, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        const uint64_t at = address + done;
        const Elf64_Phdr *found = NULL;
        for (unsigned i = 0; i < core->segments && found == NULL; i++) {
            const Elf64_Phdr *s = &core->segment[i];
            if (s->p_type == PT_LOAD && at >= s->p_vaddr && at - s->p_vaddr < s->p_filesz)
                found = s;
        }
        if (found == NULL)
            break;
        size_t piece = (size_t)(found->p_filesz - (at - found->p_vaddr));
        if (piece > bytes - done)
            piece = bytes - done;
        if (!read_all(core->fd, (char *)to + done, piece, found->p_offset + (at - found->p_vaddr)))
            break;
        done += piece;
    }
    return done;
}

/* DWARF numbers of x86-64's registers, in the order of the kernel's struct. */
#if defined(__x86_64__)
static void take_registers(vg_exam_thread *thread, const elf_gregset_t regs)
{
    enum { /* sys/reg.h */
        R_15,
        R_14,
        R_13,
        R_12,
        R_BP,
        R_BX,
        R_11,
        R_10,
        R_9,
        R_8,
        R_AX,
        R_CX,
        R_DX,
        R_SI,
        R_DI,
        R_ORIG,
        R_IP,
        R_CS,
        R_FLAGS,
        R_SP
    };
    static const unsigned char order[17] = {R_AX, R_DX, R_CX, R_BX, R_SI, R_DI, R_BP, R_SP, R_8,
                                            R_9,  R_10, R_11, R_12, R_13, R_14, R_15, R_IP};
    for (unsigned i = 0; i < 17; i++)
        thread->regs[i] = regs[order[i]];
    thread->has_regs = true;
    thread->sp = regs[R_SP];
    thread->ip = regs[R_IP];
    const int64_t number = (int64_t)regs[R_ORIG], answer = (int64_t)regs[R_AX];
    thread->in_call = number >= 0 && number < CORE_CALLS && answer < 0 && answer >= -CORE_RESTART;
    thread->call = thread->in_call ? (long)number : -1;
    const unsigned from[6] = {R_DI, R_SI, R_DX, R_10, R_8, R_9};
    for (unsigned i = 0; i < 6; i++)
        thread->arg[i] = regs[from[i]];
}
#else
static void take_registers(vg_exam_thread *thread, const elf_gregset_t regs)
{
    (void)thread, (void)regs;
}
#endif

static bool enter_thread(vg_exam *exam, const struct elf_prstatus *status)
{
    if (exam->thread_count == exam->thread_room) {
        if (exam->thread_room >= VG_EXAM_THREADS)
            return false;
        const unsigned room = exam->thread_room + 256;
        vg_exam_thread *more = realloc(exam->threads, room * sizeof *more);
        if (more == NULL)
            return false;
        exam->threads = more;
        exam->thread_room = room;
    }
    vg_exam_process *process = &exam->processes[0];
    vg_exam_thread *thread = &exam->threads[exam->thread_count];
    *thread = (vg_exam_thread){.tid = status->pr_pid, .inner_tid = status->pr_pid, .wait = {.owner = -1, .fd = -1}};
    take_registers(thread, status->pr_reg);
    thread->state = thread->in_call ? 'S' : 'R';
    thread->same = thread->in_call;
    thread->is_main = status->pr_pid == process->pid;
    vg_text_copy(thread->name, sizeof thread->name, process->name, strlen(process->name), false);
    exam->thread_count++;
    process->count++;
    return true;
}

static void take_notes(vg_exam *exam, vg_core *core, bool threads)
{
    size_t at = 0;
    vg_exam_process *process = &exam->processes[0];
    while (core->notes_bytes - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr head;
        memcpy(&head, core->notes + at, sizeof head);
        at += sizeof head;
        const size_t name = ((size_t)head.n_namesz + 3) & ~(size_t)3, body = ((size_t)head.n_descsz + 3) & ~(size_t)3;
        if (name > core->notes_bytes - at || body > core->notes_bytes - at - name)
            return;
        const char *content = core->notes + at + name;
        const bool is_core = head.n_namesz == 5 && memcmp(core->notes + at, "CORE", 5) == 0;
        at += name + body;
        if (!is_core)
            continue;
        if (threads && head.n_type == NT_PRSTATUS && head.n_descsz >= sizeof(struct elf_prstatus)) {
            struct elf_prstatus status;
            memcpy(&status, content, sizeof status);
            if (status.pr_pid > 0 && !enter_thread(exam, &status))
                return;
        } else if (!threads && head.n_type == NT_PRPSINFO && head.n_descsz >= sizeof(struct elf_prpsinfo)) {
            struct elf_prpsinfo info;
            memcpy(&info, content, sizeof info);
            process->pid = info.pr_pid;
            vg_text_copy(process->name, sizeof process->name, info.pr_fname,
                         strnlen(info.pr_fname, sizeof info.pr_fname), false);
            vg_text_copy(process->command, sizeof process->command, info.pr_psargs,
                         strnlen(info.pr_psargs, sizeof info.pr_psargs), false);
        } else if (!threads && head.n_type == NT_FILE) {
            core->files = content;
            core->files_bytes = head.n_descsz;
        }
    }
}

unsigned vg_core_modules(const vg_core *core, vg_module *modules, unsigned room)
{
    uint64_t head[2];
    unsigned count = 0;
    if (core->files == NULL || core->files_bytes < sizeof head)
        return 0;
    memcpy(head, core->files, sizeof head);
    if (head[0] > (core->files_bytes - sizeof head) / 24)
        return 0;
    const char *name = core->files + sizeof head + head[0] * 24, *end = core->files + core->files_bytes;
    for (uint64_t i = 0; i < head[0] && name < end; i++) {
        uint64_t range[3];
        memcpy(range, core->files + sizeof head + i * 24, sizeof range);
        const size_t length = strnlen(name, (size_t)(end - name));
        vg_module *last = count > 0 ? &modules[count - 1] : NULL;
        char path[sizeof last->path];
        vg_text_copy(path, sizeof path, name, length, false);
        name += length + 1;
        if (range[1] <= range[0])
            continue;
        if (last == NULL || strcmp(last->path, path) != 0) {
            if (count == room)
                break;
            last = &modules[count++];
            *last = (vg_module){.begin = range[0], .fd = -1};
            memcpy(last->path, path, sizeof path);
        }
        last->end = range[1];
        last->code_begin = last->begin;
        last->code_end = last->end;
    }
    return count;
}

/* The file must begin as the memory does: header and notes, with the build-id among them. */
int vg_core_open(const vg_core *core, const vg_module *module)
{
    char inside[1024], outside[1024];
    struct stat status;
    const size_t known = vg_core_read(core, module->begin, inside, sizeof inside);
    if (module->path[0] != '/' || known < sizeof(Elf64_Ehdr) || memcmp(inside, ELFMAG, SELFMAG) != 0)
        return -1;
    const int fd = open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && read_all(fd, outside, known, 0) &&
        memcmp(inside, outside, known) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static int load_segments(vg_core *core, const Elf64_Ehdr *head)
{
    core->segments = head->e_phnum;
    if (core->segments == PN_XNUM) {
        Elf64_Shdr section;
        if (!read_all(core->fd, &section, sizeof section, head->e_shoff))
            return -ENOEXEC;
        core->segments = section.sh_info;
    }
    if (core->segments == 0 || core->segments > CORE_SEGMENTS || head->e_phentsize != sizeof(Elf64_Phdr))
        return -ENOEXEC;
    core->segment = calloc(core->segments, sizeof *core->segment);
    if (core->segment == NULL)
        return -ENOMEM;
    if (!read_all(core->fd, core->segment, core->segments * sizeof *core->segment, head->e_phoff))
        return -ENOEXEC;
    for (unsigned i = 0; i < core->segments; i++) {
        const Elf64_Phdr *s = &core->segment[i];
        if (s->p_type != PT_NOTE || core->notes != NULL || s->p_filesz > CORE_NOTES)
            continue;
        core->notes = malloc(s->p_filesz + 1);
        if (core->notes == NULL)
            return -ENOMEM;
        if (!read_all(core->fd, core->notes, s->p_filesz, s->p_offset))
            return -ENOEXEC;
        core->notes_bytes = s->p_filesz;
    }
    return core->notes != NULL ? 0 : -ENOEXEC;
}

int vg_core_load(vg_exam *exam, const char *path)
{
    vg_core *core = calloc(1, sizeof *core);
    if (core == NULL)
        return -ENOMEM;
    exam->core = core;
    core->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (core->fd < 0)
        return -errno;
    struct stat status;
    if (fstat(core->fd, &status) != 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EINVAL; /* a pipe or a device would be read for ever */
    Elf64_Ehdr head;
    if (!read_all(core->fd, &head, sizeof head, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_type != ET_CORE || head.e_machine != EM_X86_64)
        return -ENOEXEC;
    const int error = load_segments(core, &head);
    if (error != 0)
        return error;
    exam->process_count = 1;
    exam->processes[0] = (vg_exam_process){.dead = true, .readable = true, .gil_thread = -1};
    take_notes(exam, core, false);
    take_notes(exam, core, true);
    return exam->thread_count > 0 ? 0 : -ENOEXEC;
}

void vg_core_close(vg_core *core)
{
    if (core == NULL)
        return;
    if (core->fd >= 0)
        (void)close(core->fd);
    free(core->segment);
    free(core->notes);
    free(core);
}
