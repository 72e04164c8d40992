/* SPDX-License-Identifier: MIT */
#include "symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ELF_MOST_SECTIONS = 65535,
    ELF_MOST_BYTES = 1 << 28, /* of a symbol table or of its names */
    ELF_MOST_NOTES = 1 << 16
};

typedef struct elf_symbol {
    uint64_t address;
    uint64_t size;
    uint32_t name; /* in names */
} elf_symbol;

struct vg_symbols {
    elf_symbol *list; /* by address */
    size_t count;
    char *names; /* ends with a zero */
    size_t names_bytes;
};

static bool read_elf_bytes(int fd, uint64_t offset, void *memory, size_t bytes)
{
    char *at = memory;
    while (bytes != 0) {
        ssize_t got = pread(fd, at, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return true;
}

static void *copy_elf_bytes(int fd, uint64_t offset, uint64_t bytes, uint64_t most)
{
    if (bytes == 0 || bytes > most || offset > INT64_MAX - bytes)
        return NULL;
    void *memory = malloc(bytes + 1);
    if (memory != NULL && !read_elf_bytes(fd, offset, memory, bytes)) {
        free(memory);
        return NULL;
    }
    if (memory != NULL)
        ((char *)memory)[bytes] = '\0';
    return memory;
}

/* ---- is it the same file? ---------------------------------------------------------------------------------------- */

static bool note_matches(const char *notes, size_t bytes, const uint8_t *id, size_t id_bytes)
{
    size_t at = 0;
    Elf64_Nhdr note;
    while (bytes - at >= sizeof note) {
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        const uint64_t name = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
        const uint64_t text = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);
        if (name > bytes - at || text > bytes - at - name)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + at, "GNU", 4) == 0)
            return note.n_descsz == id_bytes && memcmp(notes + at + name, id, id_bytes) == 0;
        at += name + text;
    }
    return false;
}

static bool is_same_build(int fd, const Elf64_Shdr *sections, size_t count, const uint8_t *id, size_t id_bytes)
{
    if (id_bytes == 0)
        return true;
    bool matches = false;
    for (size_t i = 0; i < count && !matches; i++) {
        if (sections[i].sh_type != SHT_NOTE)
            continue;
        char *notes = copy_elf_bytes(fd, sections[i].sh_offset, sections[i].sh_size, ELF_MOST_NOTES);
        matches = notes != NULL && note_matches(notes, sections[i].sh_size, id, id_bytes);
        free(notes);
    }
    return matches;
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

static int symbols_by_address(const void *a, const void *b)
{
    const elf_symbol *x = a;
    const elf_symbol *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static void take_table(vg_symbols *symbols, int fd, const Elf64_Shdr *table, const Elf64_Shdr *strings)
{
    Elf64_Sym *entries = copy_elf_bytes(fd, table->sh_offset, table->sh_size, ELF_MOST_BYTES);
    char *names = copy_elf_bytes(fd, strings->sh_offset, strings->sh_size, ELF_MOST_BYTES);
    const size_t most = table->sh_size / sizeof *entries;
    elf_symbol *list = entries != NULL && names != NULL ? malloc((most + 1) * sizeof *list) : NULL;
    size_t count = 0;
    for (size_t i = 0; list != NULL && i < most; i++) {
        const Elf64_Sym *one = &entries[i];
        if (ELF64_ST_TYPE(one->st_info) != STT_FUNC || one->st_shndx == SHN_UNDEF || one->st_name >= strings->sh_size)
            continue;
        list[count++] = (elf_symbol){.address = one->st_value, .size = one->st_size, .name = one->st_name};
    }
    free(entries);
    if (list == NULL) {
        free(names);
        return;
    }
    qsort(list, count, sizeof *list, symbols_by_address);
    symbols->list = list;
    symbols->count = count;
    symbols->names = names;
    symbols->names_bytes = strings->sh_size;
}

static void take_sections(vg_symbols *symbols, int fd, const Elf64_Shdr *sections, size_t count)
{
    static const uint32_t wanted[] = {SHT_SYMTAB, SHT_DYNSYM}; /* the first has more, but may have been stripped */
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++)
        for (size_t i = 0; i < count && symbols->list == NULL; i++)
            if (sections[i].sh_type == wanted[k] && sections[i].sh_entsize == sizeof(Elf64_Sym) &&
                sections[i].sh_link < count)
                take_table(symbols, fd, &sections[i], &sections[sections[i].sh_link]);
}

vg_symbols *vg_symbols_load(const char *path, const uint8_t *build_id, size_t build_id_bytes)
{
    vg_symbols *symbols = calloc(1, sizeof *symbols);
    /* It may be a pipe by now: do not block. */
    int fd = symbols != NULL && path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0)
        return symbols;
    struct stat info;
    Elf64_Ehdr head;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && read_elf_bytes(fd, 0, &head, sizeof head) &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
        head.e_shentsize == sizeof(Elf64_Shdr)) {
        Elf64_Shdr *sections = copy_elf_bytes(fd, head.e_shoff, (uint64_t)head.e_shnum * sizeof *sections,
                                              (uint64_t)ELF_MOST_SECTIONS * sizeof *sections);
        if (sections != NULL && is_same_build(fd, sections, head.e_shnum, build_id, build_id_bytes))
            take_sections(symbols, fd, sections, head.e_shnum);
        free(sections);
    }
    (void)close(fd);
    return symbols;
}

void vg_symbols_free(vg_symbols *symbols)
{
    if (symbols == NULL)
        return;
    free(symbols->list);
    free(symbols->names);
    free(symbols);
}

const char *vg_symbols_find(const vg_symbols *symbols, uint64_t address, uint64_t *offset)
{
    size_t low = 0;
    size_t high = symbols->count;
    while (low < high) { /* the first that begins behind the address */
        size_t middle = low + (high - low) / 2;
        if (symbols->list[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const elf_symbol *found = &symbols->list[low - 1];
    *offset = address - found->address;
    if (*offset != 0 && *offset >= found->size) /* some have no size; then only the beginning counts */
        return NULL;
    return symbols->names + found->name;
}
