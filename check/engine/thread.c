/* SPDX-License-Identifier: MIT */
/*
 * Model threads: coroutines with a stack and a thread-local block of their own.
 *
 * Thread-local variables are reached by the compiler through the thread pointer (the FS base on x86-64). Each model
 * thread gets a copy of the whole static thread-local area of the process, libc's part and the thread control block
 * included, and the thread pointer moves with the coroutine. So the address of a thread-local variable differs between
 * model threads as it does in life, pointers to them may be shared, and errno is per thread. libc notices nothing,
 * because the copied control block still names the one real thread as its owner.
 */
#define _GNU_SOURCE
#include "internal.h"
#include "stacks.h"
#include "state.h"
#include <asm/prctl.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
    GUARD = 4096,
    RED_ZONE = 128, /* what a function may use below its stack pointer */
    TLS_ROOM = 64 * 1024 - GUARD,
    SLOT = GUARD + STACK_SIZE + TLS_ROOM,
    HWCAP2_FSGSBASE_BIT = 2
};

ENGINE_STATE static struct {
    char *low;      /* where the thread-local area of the process begins */
    size_t below;   /* its size below the thread pointer */
    size_t above;   /* the thread control block */
    char *template; /* as it was when the program started */
} tls;

static unsigned long read_thread_pointer(void)
{
    unsigned long value;
    __asm__("movq %%fs:0, %0" : "=r"(value));
    return value;
}

static inline void set_thread_pointer(unsigned long value)
{
    if (__builtin_expect(G.fsgsbase, 1)) {
        __asm__ volatile("wrfsbase %0" : : "r"(value) : "memory");
    } else {
        long result;
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "0"((long)SYS_arch_prctl), "D"((long)ARCH_SET_FS), "S"(value)
                         : "rcx", "r11", "memory");
    }
}

static int find_lowest_block(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)context;
    if (size < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof info->dlpi_tls_data || info->dlpi_tls_data == NULL)
        return 0;
    char *block = info->dlpi_tls_data;
    if (block < (char *)G.main_tp && (tls.low == NULL || block < tls.low))
        tls.low = block;
    return 0;
}

void thread_setup(void)
{
    G.fsgsbase = (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT) != 0;
    G.main_tp = read_thread_pointer();
    objects_visit(find_lowest_block, NULL);
    if (tls.low == NULL || (char *)&errno < tls.low || (char *)&errno >= (char *)G.main_tp) {
        fprintf(stderr,
                "vigil check: the thread-local data of the C library was not found; each thread needs its own\n");
        exit(2);
    }
    tls.low = (char *)((uintptr_t)tls.low & ~(uintptr_t)63);
    tls.below = (size_t)((char *)G.main_tp - tls.low);
    tls.above = 2304; /* sizeof(struct pthread) of current glibc; what lies behind
                       it is not thread-local */
    if (tls.below + tls.above + 128 > TLS_ROOM) {
        fprintf(stderr,
                "vigil check: %zu bytes of thread-local data, at most %d are "
                "supported\n",
                tls.below, TLS_ROOM);
        exit(2);
    }
    tls.template = map_pages(tls.below + tls.above);
    memcpy(tls.template, tls.low, tls.below + tls.above);
    char *engine_stacks = map_pages((size_t)ENGINE_STACK_SIZE * MAX_THREADS);
    for (int i = 0; i < MAX_THREADS; i++) {
        char *slot = G.arena + (size_t)i * SLOT;
        struct thread *t = &G.threads[i];
        t->engine_top = engine_stacks + (size_t)(i + 1) * ENGINE_STACK_SIZE - 8; /* aligned as after a call */
        mprotect(slot, GUARD, PROT_NONE);
        t->stack_top = slot + GUARD + STACK_SIZE;
        uintptr_t tp = (uintptr_t)t->stack_top + 64 + tls.below;
        tp +=
            ((uintptr_t)G.main_tp - tp) & 4095 & ~(uintptr_t)63; /* the same alignment as the real one, up to a page */
        while ((tp & 63) != ((uintptr_t)G.main_tp & 63))
            tp++;
        t->tls = (char *)tp;
    }
}

size_t thread_area_size(void)
{
    return (size_t)SLOT * MAX_THREADS;
}

/* Nobody may use what lay on the stack of a thread that has ended, or in a function that has returned. */
void stack_check(uintptr_t address, const void *pc)
{
    uintptr_t offset = address - (uintptr_t)G.arena;
    if (offset >= thread_area_size() || (int)(offset / SLOT) == G.current || BROKEN(VGC_RULE_QUARANTINE))
        return;
    const struct thread *t = &G.threads[offset / SLOT];
    bool over = t->status == T_ENDED || t->status == T_UNUSED;
    if (!over && address + RED_ZONE >= (uintptr_t)t->user_sp)
        return;
    char here[160];
    describe_pc(pc, here, sizeof here);
    fail(VGC_USE_AFTER_FREE, "access at %s to the stack of t%d, %s", here, (int)(offset / SLOT),
         over ? "which has ended" : "in a function that has returned");
}

void thread_reset(void)
{
    for (int i = 0; i < G.thread_count; i++)
        G.threads[i].status = T_UNUSED;
    G.thread_count = 0;
    G.live = 0;
    G.enabled = 0;
}

/* The thread's own variables of the program under check, for hashing: libc's
 * are left out. */
void thread_tls_range(const struct thread *t, const char **start, const char **end)
{
    *start = t->tls - tls.below;
    *end = t->tls;
}

int thread_new(void *(*function)(void *), void *argument)
{
    int id = G.thread_count;
    if (id >= MAX_THREADS)
        fail(VGC_MISUSE, "more than %d threads in one execution", MAX_THREADS);
    G.thread_count++;
    G.live++;
    G.alone = G.thread_count == 1 && G.opt.broken_rules == 0;
    struct thread *t = &G.threads[id];
    char *stack_top = t->stack_top, *engine_top = t->engine_top, *block = t->tls;
    memset(t, 0, offsetof(struct thread, spin));
    t->stack_top = stack_top;
    t->engine_top = engine_top;
    memset(stack_top - CLEAN_STACK, 0, CLEAN_STACK);
    t->tls = block;
    memcpy(block - tls.below, tls.template, tls.below + tls.above);
    /* The control block begins with a pointer to itself: it is how the address of
   * thread-local data is computed. The `self` pointer behind it keeps naming
   * the real thread, for libc's sake. */
    *(void **)block = block;
    memset(t->key_values, 0, sizeof t->key_values);
    t->function = function;
    t->argument = argument;
    t->name[0] = 0;
    void **sp = (void **)stack_top;
    sp -= 1;
    *sp = (void *)vgc_coroutine_start;
    for (int i = 0; i < 6; i++)
        *--sp = NULL;
    t->sp = sp;
    t->user_sp = stack_top;
    t->status = T_READY;
    t->op = (struct op){.kind = OP_START};
    G.enabled |= 1u << id;
    return id;
}

void vgc_thread_begins(void); /* context.S */
void vgc_do_thread_begins(void);
void vgc_do_thread_begins(void)
{
    event_begin(); /* OP_START */
    event_end();
}

void vgc_coroutine_main(void);
void vgc_coroutine_main(void)
{
    vgc_thread_begins();
    struct thread *t = ME;
    t->value = t->function(t->argument);
    sched_thread_ended();
}

void thread_switch(int to)
{
    struct thread *from = ME;
    G.current = to;
    set_thread_pointer((unsigned long)G.threads[to].tls);
    vgc_engine_sp = G.threads[to].engine_top;
    vgc_switch(&from->sp, G.threads[to].sp);
}

void thread_enter_from_main(int to)
{
    G.current = to;
    set_thread_pointer((unsigned long)G.threads[to].tls);
    vgc_engine_sp = G.threads[to].engine_top;
    vgc_switch(&G.main_sp, G.threads[to].sp);
}

/* Goes to the main stack, to come back later, perhaps more than once. */
void thread_leave_for_fork(void)
{
    struct thread *me = ME;
    set_thread_pointer(G.main_tp);
    vgc_engine_sp = NULL;
    vgc_switch(&me->sp, G.main_sp);
}

_Noreturn void leave_to_main(enum ending ending)
{
    void *nowhere;
    G.ending = ending;
    set_thread_pointer(G.main_tp);
    vgc_engine_sp = NULL;
    vgc_switch(&nowhere, G.main_sp);
    __builtin_unreachable();
}

/* Snapshot of thread 0's stacks and thread-local data (fork.c). Returns the bytes used. */
size_t thread_save(char *copy, bool restore)
{
    struct thread *t = &G.threads[0];
    const struct {
        char *at;
        size_t size;
    } parts[] = {{t->sp, (size_t)(t->engine_top - (char *)t->sp)},
                 {t->user_sp, (size_t)(t->stack_top - (char *)t->user_sp)},
                 {t->tls - tls.below, tls.below + tls.above}};
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (restore)
            memcpy(parts[i].at, copy + used, parts[i].size);
        else
            memcpy(copy + used, parts[i].at, parts[i].size);
        used += parts[i].size;
    }
    if (restore)
        memset((char *)t->user_sp - CLEAN_STACK, 0, CLEAN_STACK);
    return used;
}
