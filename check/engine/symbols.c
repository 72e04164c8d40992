/* SPDX-License-Identifier: MIT */
/*
 * Names for addresses. Data: the symbol table of the program itself. Code: addr2line, asked once per counterexample
 * for all places together. While a model thread runs, no other program can be started, so messages carry places as
 * marks that are replaced when the execution is over.
 */
#define _GNU_SOURCE
#include "internal.h"
#include "state.h"
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);

enum {
    MAX_PLACES = 8192,
    COMMAND = 65536
};

struct place {
    const void *pc;
    char text[100]; /* file:line (function) */
};

ENGINE_STATE static struct {
    char path[512];
    uintptr_t base;
    const Elf64_Sym *symbols;
    size_t count;
    const char *names;
    struct place *places;
    size_t place_count;
    char *command;
} S;

/* The loader's own list. A program under check may have a dl_iterate_phdr of its own, which is not asked. */
void objects_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context)
{
    int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    if (real != NULL)
        real(visit, context);
    else
        dl_iterate_phdr(visit, context);
}

static int program_base(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uintptr_t *)context = info->dlpi_addr;
    return 1; /* the program is the first */
}

void symbols_setup(void)
{
    ssize_t n = readlink("/proc/self/exe", S.path, sizeof S.path - 1);
    if (n <= 0)
        return;
    objects_visit(program_base, &S.base);
    S.command = map_pages(COMMAND);
    S.places = map_pages(sizeof(struct place) * MAX_PLACES);
    int fd = open(S.path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0)
        return;
    const char *file = __real_mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return;
    const Elf64_Ehdr *head = (const void *)file;
    const Elf64_Shdr *sections = (const void *)(file + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB) {
            S.symbols = (const void *)(file + sections[i].sh_offset);
            S.count = sections[i].sh_size / sizeof(Elf64_Sym);
            S.names = file + sections[sections[i].sh_link].sh_offset;
        }
}

void describe_address(uintptr_t address, char *text, size_t room)
{
    if (heap_describe(address, text, room))
        return;
    for (int i = 0; i < MAX_THREADS; i++) {
        uintptr_t top = (uintptr_t)G.threads[i].stack_top;
        if (address < top && address >= top - STACK_SIZE) {
            __builtin_snprintf(text, room, "stack of t%d-%zu", i, (size_t)(top - address));
            return;
        }
    }
    for (size_t i = 0; i < S.count; i++) {
        const Elf64_Sym *s = &S.symbols[i];
        uintptr_t start = s->st_value + S.base;
        if (ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_value != 0 && address >= start &&
            address < start + s->st_size) {
            const char *name = S.names + s->st_name;
            if (address == start)
                __builtin_snprintf(text, room, "%s", name);
            else
                __builtin_snprintf(text, room, "%s+%zu", name, (size_t)(address - start));
            return;
        }
    }
    for (int i = 0; i < G.thread_count; i++) {
        uintptr_t tp = (uintptr_t)G.threads[i].tls;
        if (address < tp && address + 4096 > tp) {
            __builtin_snprintf(text, room, "thread-local of t%d", i);
            return;
        }
    }
    __builtin_snprintf(text, room, "0x%zx", (size_t)address);
}

static const struct place *place_of(const void *pc)
{
    for (size_t i = 0; i < S.place_count; i++)
        if (S.places[i].pc == pc)
            return &S.places[i];
    return NULL;
}

/* Looks up all of them with one run of addr2line. On the main stack only. */
void symbols_resolve(const void **pcs, size_t count)
{
    char *command = S.command;
    size_t first = S.place_count, length = 0;
    for (size_t i = 0; i < count; i++) {
        if (pcs[i] == NULL || place_of(pcs[i]) != NULL || S.place_count == MAX_PLACES)
            continue;
        if (length == 0)
            length = (size_t)snprintf(command, (size_t)COMMAND, "addr2line -f -e '%s'", S.path);
        if (length > (size_t)COMMAND - 32)
            break;
        length += (size_t)snprintf(command + length, (size_t)COMMAND - length, " %zx", (size_t)pcs[i] - 1 - S.base);
        struct place *p = &S.places[S.place_count++];
        p->pc = pcs[i];
        snprintf(p->text, sizeof p->text, "%p", pcs[i]);
    }
    if (S.place_count == first)
        return;
    snprintf(command + length, (size_t)COMMAND - length, " 2>/dev/null");
    FILE *answer = popen(command, "r");
    if (answer == NULL)
        return;
    char function[256], line[1024];
    for (size_t i = first; i < S.place_count; i++) {
        if (fgets(function, sizeof function, answer) == NULL || fgets(line, sizeof line, answer) == NULL)
            break;
        function[strcspn(function, "\n")] = 0;
        line[strcspn(line, "\n")] = 0;
        char *extra = strstr(line, " (discriminator");
        if (extra != NULL)
            *extra = 0;
        const char *file = strrchr(line, '/');
        if (line[0] != '?')
            snprintf(S.places[i].text, sizeof S.places[i].text, "%.60s", file != NULL ? file + 1 : line);
    }
    pclose(answer);
}

/* A mark that message_resolve replaces. */
void describe_pc(const void *pc, char *text, size_t room)
{
    const struct place *p = place_of(pc);
    if (p != NULL)
        __builtin_snprintf(text, room, "%s", p->text);
    else
        __builtin_snprintf(text, room, "\001%zx\002", (size_t)pc);
}

void message_resolve(char *text, size_t room)
{
    const void *pcs[16];
    size_t count = 0;
    for (const char *p = strchr(text, 1); p != NULL && count < 16; p = strchr(p + 1, 1))
        pcs[count++] = (const void *)(uintptr_t)strtoull(p + 1, NULL, 16);
    symbols_resolve(pcs, count);
    char out[1024];
    size_t length = 0;
    for (const char *p = text; *p != 0 && length < sizeof out - 120;) {
        if (*p != 1) {
            out[length++] = *p++;
            continue;
        }
        const char *end = strchr(p, 2);
        char where[120];
        describe_pc((const void *)(uintptr_t)strtoull(p + 1, NULL, 16), where, sizeof where);
        if (end == NULL)
            break;
        length += (size_t)snprintf(out + length, sizeof out - length, "%s", where);
        p = end + 1;
    }
    out[length] = 0;
    snprintf(text, room, "%s", out);
}
