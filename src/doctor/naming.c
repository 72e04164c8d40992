/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "naming.h"
#include "rust_names.h"
#include "base/text.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES_KEPT = 4096, /* addresses that are remembered */
    INLINED_MOST = 8   /* functions of one address */
};

typedef struct name_entry {
    uint64_t pc;
    unsigned count;
    vg_frame frames[INLINED_MOST];
} name_entry;

struct vg_naming {
    Dwfl *dwfl;
    name_entry *kept[NAMES_KEPT];
};

static char *(*demangle)(const char *, char *, size_t *, int *);

void vg_naming_begin(void)
{
    /* C++ and Rust names are made readable by the C++ library, if this machine has one. */
    void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL)
        *(void **)&demangle = dlsym(library, "__cxa_demangle");
}

vg_naming *vg_naming_create(Dwfl *dwfl)
{
    vg_naming *naming = calloc(1, sizeof *naming);
    if (naming != NULL)
        naming->dwfl = dwfl;
    return naming;
}

/* Rust's older names hold characters that C++ does not know, as words between dollars. */
static void undo_dollars(char *name)
{
    static const char *const words[][2] = {{"$LT$", "<"}, {"$GT$", ">"}, {"$u7b$", "{"}, {"$u7d$", "}"},
                                           {"$RF$", "&"}, {"$BP$", "*"}, {"$u20$", " "}, {"$C$", ","},
                                           {"$LP$", "("}, {"$RP$", ")"}};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        for (char *at; (at = strstr(name, words[i][0])) != NULL;) {
            *at = words[i][1][0];
            const char *rest = at + strlen(words[i][0]);
            memmove(at + 1, rest, strlen(rest) + 1);
        }
}

static void copy_name(char *to, size_t room, const char *name)
{
    char *plain = NULL;
    char rust[256];
    int status = 0;
    if (vg_rust_name(name, rust, sizeof rust))
        name = rust;
    if (demangle != NULL && strncmp(name, "_Z", 2) == 0 && strnlen(name, 1024) < 1024)
        plain = demangle(name, NULL, NULL, &status);
    const char *text = plain != NULL ? plain : name;
    size_t length = strnlen(text, room);
    /* Rust's hash says nothing to a reader. */
    if (length > 19 && length < room && strncmp(text + length - 19, "::h", 3) == 0)
        length -= 19;
    vg_text_copy(to, room, text, length, false);
    undo_dollars(to);
    free(plain);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void name_by_symbol(Dwfl_Module *module, uint64_t pc, vg_frame *frame)
{
    GElf_Off offset;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(module, pc, &offset, &symbol, NULL, NULL, NULL);
    if (name != NULL && (symbol.st_size == 0 ? offset < 256 : offset < symbol.st_size))
        copy_name(frame->function, sizeof frame->function, name);
}

static void place_by_line(Dwfl_Module *module, uint64_t pc, vg_frame *frame)
{
    Dwfl_Line *line = dwfl_module_getsrc(module, pc);
    int number = 0;
    const char *file = line != NULL ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    if (file == NULL)
        return;
    vg_text_copy(frame->file, sizeof frame->file, base_of(file), strlen(base_of(file)), false);
    frame->line = number;
}

/* The functions that were inlined at this address. */
static unsigned name_inlined(Dwfl_Module *module, uint64_t pc, vg_frame *frames, unsigned room)
{
    Dwarf_Addr bias;
    Dwarf_Die *unit = dwfl_module_addrdie(module, pc, &bias);
    Dwarf_Die *scopes = NULL;
    Dwarf_Die *innermost = NULL;
    int count = unit != NULL ? dwarf_getscopes(unit, pc - bias, &innermost) : 0;
    /* Behind an inlined function these are the scopes of its definition; those of the place it was inlined into are
       wanted. */
    count = count > 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
    free(innermost);
    unsigned found = 0;
    const char *file = NULL;
    int line = 0;
    for (int i = 0; i < count && found < room; i++) {
        const int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        vg_frame *frame = &frames[found++];
        memset(frame, 0, sizeof *frame);
        Dwarf_Attribute attribute;
        const char *linkage = dwarf_formstring(dwarf_attr_integrate(&scopes[i], DW_AT_linkage_name, &attribute));
        const char *name = linkage != NULL ? linkage : dwarf_diename(&scopes[i]);
        if (name != NULL)
            copy_name(frame->function, sizeof frame->function, name);
        if (file != NULL) { /* where the function inside of it was called */
            vg_text_copy(frame->file, sizeof frame->file, base_of(file), strlen(base_of(file)), false);
            frame->line = line;
        }
        if (tag == DW_TAG_subprogram)
            break;
        frame->inlined = true;
        Dwarf_Word value = 0;
        Dwarf_Files *names;
        size_t names_count;
        line = dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &value) == 0 ? (int)value : 0;
        file = NULL;
        if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &value) == 0 &&
            dwarf_getsrcfiles(unit, &names, &names_count) == 0 && value < names_count)
            file = dwarf_filesrc(names, value, NULL, NULL);
    }
    free(scopes);
    return found;
}

unsigned vg_naming_frames(vg_naming *naming, uint64_t pc, vg_frame *frames, unsigned room)
{
    name_entry **slot = naming != NULL ? &naming->kept[(pc * UINT64_C(0x9E3779B97F4A7C15)) >> 52] : NULL;
    if (slot != NULL && *slot != NULL && (*slot)->pc == pc) {
        const unsigned count = (*slot)->count < room ? (*slot)->count : room;
        memcpy(frames, (*slot)->frames, count * sizeof *frames);
        return count;
    }
    name_entry fresh = {.pc = pc, .count = 1};
    Dwfl_Module *module = naming != NULL ? dwfl_addrmodule(naming->dwfl, pc) : NULL;
    if (module != NULL) {
        const unsigned inlined = name_inlined(module, pc, fresh.frames, INLINED_MOST);
        if (inlined > 0)
            fresh.count = inlined;
        place_by_line(module, pc, &fresh.frames[0]);
        vg_frame *outer = &fresh.frames[fresh.count - 1];
        if (outer->function[0] == '\0')
            name_by_symbol(module, pc, outer);
    }
    if (slot != NULL && (*slot != NULL || (*slot = malloc(sizeof fresh)) != NULL))
        **slot = fresh;
    const unsigned count = fresh.count < room ? fresh.count : room;
    memcpy(frames, fresh.frames, count * sizeof *frames);
    return count;
}

uint64_t vg_naming_start(vg_naming *naming, uint64_t pc)
{
    Dwfl_Module *module = naming != NULL ? dwfl_addrmodule(naming->dwfl, pc) : NULL;
    GElf_Off offset;
    GElf_Sym symbol;
    if (module == NULL || dwfl_module_addrinfo(module, pc, &offset, &symbol, NULL, NULL, NULL) == NULL ||
        (symbol.st_size != 0 && offset >= symbol.st_size) || (symbol.st_size == 0 && offset > 256))
        return 0;
    return pc - offset;
}

bool vg_naming_is_root(vg_naming *naming, uint64_t pc)
{
    Dwfl_Module *module = naming != NULL ? dwfl_addrmodule(naming->dwfl, pc) : NULL;
    const char *name = module != NULL ? dwfl_module_addrname(module, pc) : NULL;
    while (name != NULL && *name == '_')
        name++;
    return name != NULL && (strcmp(name, "start") == 0 || strncmp(name, "clone", 5) == 0);
}

static int look_at_module(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
    (void)userdata, (void)base;
    vg_module_facts *facts = arg;
    if (strcmp(name, "[vdso]") == 0)
        return DWARF_CB_OK;
    const int count = dwfl_module_getsymtab(module);
    const char *file = base_of(name);
    const bool is_libc = strncmp(file, "libc.", 5) == 0 || strncmp(file, "libc-", 5) == 0;
    const bool is_program = strstr(file, ".so") == NULL;
    if (is_program)
        facts->is_stripped = true;
    if (is_libc) /* thousands of names, none of which matters here */
        return DWARF_CB_OK;
    for (int i = 0; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *text = dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);
        if (text == NULL || symbol.st_shndx == SHN_UNDEF)
            continue;
        if (is_program && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
            (strcmp(text, "main") == 0 || strcmp(text, "main.main") == 0)) /* the second one is Go's */
            facts->is_stripped = false;
        if (strcmp(text, "runtime.gopark") == 0)
            facts->is_go = true;
        else if (strcmp(text, "rust_eh_personality") == 0)
            facts->is_rust = true;
        else if (strcmp(text, "vigil_version_string") == 0)
            facts->has_vigil = true;
        else if (strcmp(text, "__libc_start_init") == 0 || strcmp(text, "__init_tls") == 0)
            facts->is_musl = true;
        else if (strcmp(text, "_PyRuntime") == 0) {
            facts->is_python = true;
            facts->python_runtime = address;
            facts->python_runtime_bytes = symbol.st_size;
        }
    }
    return DWARF_CB_OK;
}

void vg_naming_facts(vg_naming *naming, vg_module_facts *facts)
{
    if (naming != NULL)
        (void)dwfl_getmodules(naming->dwfl, look_at_module, facts, 0);
}
