/* SPDX-License-Identifier: MIT */
/*
 * Code that the engine cannot see. Calls are taken over when a program is linked, and accesses when it is compiled. A shared library
 * was linked before: a std::thread that libstdc++.so makes is a real thread, and races without a word. So a program whose threads or
 * waits would go past the engine is refused, before its first scenario runs.
 */
#define _GNU_SOURCE
#include "internal.h"
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static struct {
    bool instrumented;
    char reason[256];
} unseen;

/* Called by each file that was compiled with -fsanitize=thread, before main. */
void unseen_instrumented(void)
{
    unseen.instrumented = true;
}

/* The C library and what belongs to it: the engine stands in front of it. */
static bool of_the_system(const char *name)
{
    static const char *const known[] = {"ld-linux", "libc.",  "libm.",      "libgcc_s.", "libpthread.",
                                        "libdl.",   "librt.", "linux-vdso", "linux-gate"};
    const char *slash = strrchr(name, '/');
    name = slash != NULL ? slash + 1 : name;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(name, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

/* What makes threads or waits, and never is called from here. */
static bool must_be_taken_over(const char *symbol)
{
    static const char *const names[] = {"pthread_create", "pthread_join",       "thrd_create",
                                        "thrd_join",      "pthread_mutex_lock", "pthread_cond_wait",
                                        "cnd_wait",       "sem_wait",           "pthread_rwlock_wrlock"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(symbol, names[i]) == 0)
            return true;
    return false;
}

/* objects_visit: looks for such a call among the symbols that an object wants from others. They lie before those of its hash table. */
static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    const bool program = info->dlpi_name[0] == 0;
    if (!program && of_the_system(info->dlpi_name))
        return 0;
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    const uint32_t *gnu = NULL, *old = NULL;
    for (; dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
        const void *at = (const void *)dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_SYMTAB)
            symbols = at;
        else if (dynamic->d_tag == DT_STRTAB)
            strings = at;
        else if (dynamic->d_tag == DT_GNU_HASH)
            gnu = at;
        else if (dynamic->d_tag == DT_HASH)
            old = at;
    }
    if (symbols == NULL || strings == NULL || (gnu == NULL && old == NULL))
        return 0;
    const uint32_t count = gnu != NULL ? gnu[1] : old[1];
    for (uint32_t i = 1; i < count; i++) {
        const char *name = strings + symbols[i].st_name;
        if (symbols[i].st_shndx != SHN_UNDEF || !must_be_taken_over(name))
            continue;
        if (program)
            snprintf(unseen.reason, sizeof unseen.reason,
                     "%s is not taken over: link the program by vigil-check-cc, or with its options", name);
        else
            snprintf(unseen.reason, sizeof unseen.reason,
                     "%s calls %s, and is a shared library, which the checker cannot see: link it statically%s",
                     info->dlpi_name, name,
                     strstr(info->dlpi_name, "libstdc++") != NULL ? " (-static-libstdc++ -static-libgcc)" : "");
        return 1;
    }
    return 0;
}

void unseen_setup(void)
{
    objects_visit(look, NULL);
    if (unseen.reason[0] == 0 && !unseen.instrumented)
        snprintf(unseen.reason, sizeof unseen.reason,
                 "no file of this program was compiled with -fsanitize=thread: its accesses cannot be seen");
}

void unseen_refuse(void)
{
    if (unseen.reason[0] != 0)
        fail(VGC_MISUSE, "%s", unseen.reason);
}
