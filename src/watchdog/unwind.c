/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "unwind.h"
#include "unwind_table.h"

#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__linux__)

enum {
    UNWIND_PAGE = 4096,
    UNWIND_PAGES = 64, /* of stack that are copied */
    UNWIND_SCAN = 2048 /* words that are searched for a return address */
};

/* ---- the copied stack ---- */

typedef struct stack_copy {
    uintptr_t begin;
    size_t bytes;
    unsigned char *memory;
} stack_copy;

static bool copy_stack(stack_copy *copy, uintptr_t sp)
{
    struct iovec to;
    struct iovec from[UNWIND_PAGES];
    copy->begin = sp & ~UINT64_C(7);
    copy->memory = malloc((size_t)UNWIND_PAGES * UNWIND_PAGE);
    if (copy->memory == NULL)
        return false;
    uintptr_t at = copy->begin;
    for (size_t i = 0; i < UNWIND_PAGES; i++) { /* page by page: the copy ends where the mapping does */
        const uintptr_t next = (at & ~(uintptr_t)(UNWIND_PAGE - 1)) + UNWIND_PAGE;
        from[i] = (struct iovec){.iov_base = (void *)at, .iov_len = next - at}; // NOLINT(performance-no-int-to-ptr)
        at = next;
    }
    to = (struct iovec){.iov_base = copy->memory, .iov_len = (size_t)UNWIND_PAGES * UNWIND_PAGE};
    const ssize_t got = process_vm_readv(getpid(), &to, 1, from, UNWIND_PAGES, 0);
    copy->bytes = got > 0 ? (size_t)got : 0;
    return got > 0;
}

static bool read_stack(const stack_copy *copy, uintptr_t address, uintptr_t *value)
{
    if (address < copy->begin || address - copy->begin > copy->bytes ||
        copy->bytes - (address - copy->begin) < sizeof *value)
        return false;
    memcpy(value, copy->memory + (address - copy->begin), sizeof *value);
    return true;
}

/* ---- one step ---- */

typedef struct unwind_state {
    const stack_copy *stack;
    uintptr_t value[VG_UNWIND_REGS];
    bool known[VG_UNWIND_REGS];
    uintptr_t pc;
    bool exact; /* pc is no return address */
} unwind_state;

typedef enum step_result {
    STEP_TO_CALLER,
    STEP_AT_END,
    STEP_UNKNOWN /* a register is not known, or there is no table */
} step_result;

static step_result apply_row(unwind_state *state, const vg_unwind_row *row)
{
    if (!row->cfa_known || row->cfa_register >= VG_UNWIND_REGS || !state->known[row->cfa_register])
        return STEP_UNKNOWN;
    const uintptr_t cfa = state->value[row->cfa_register] + (uintptr_t)row->cfa_offset;
    unwind_state next = *state;
    for (unsigned i = 0; i < VG_UNWIND_REGS; i++) {
        const uintptr_t at = cfa + (uintptr_t)row->of[i].offset;
        switch (row->of[i].kind) {
        case VG_RULE_OFFSET:
            next.known[i] = read_stack(state->stack, at, &next.value[i]);
            break;
        case VG_RULE_VALUE:
            next.known[i] = true;
            next.value[i] = at;
            break;
        case VG_RULE_REGISTER:
            next.known[i] = row->of[i].offset < VG_UNWIND_REGS && state->known[row->of[i].offset];
            next.value[i] = next.known[i] ? state->value[row->of[i].offset] : 0;
            break;
        case VG_RULE_SAME:
            break;
        default:
            next.known[i] = false;
        }
    }
    next.value[VG_UNWIND_RSP] = cfa;
    next.known[VG_UNWIND_RSP] = true;
    if (row->of[VG_UNWIND_RA].kind == VG_RULE_UNDEFINED)
        return STEP_AT_END;
    if (!next.known[VG_UNWIND_RA] || row->of[VG_UNWIND_RA].kind == VG_RULE_SAME || cfa < state->value[VG_UNWIND_RSP])
        return STEP_UNKNOWN;
    next.pc = next.value[VG_UNWIND_RA];
    next.known[VG_UNWIND_RA] = false;
    *state = next;
    return state->pc == 0 ? STEP_AT_END : STEP_TO_CALLER;
}

typedef struct module_search {
    uintptr_t address;
    unwind_state *state; /* NULL: only ask whether the address is code */
    bool code;
    step_result result;
} module_search;

/* Under the loader's lock, so that the module stays. */
static int step_in_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    module_search *search = arg;
    const unsigned char *hdr = NULL;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0 && search->address >= begin + 8 &&
            search->address - begin < part->p_memsz)
            search->code = true;
        if (part->p_type == PT_GNU_EH_FRAME)
            hdr = (const unsigned char *)begin; // NOLINT(performance-no-int-to-ptr)
    }
    if (!search->code)
        return 0;
    vg_unwind_row row;
    if (search->state == NULL || hdr == NULL || !vg_unwind_row_at(hdr, search->address, &row))
        return 1;
    search->result = apply_row(search->state, &row);
    search->state->exact = search->result == STEP_TO_CALLER && row.signal_frame;
    return 1;
}

/* Does this word point behind a call instruction? */
static bool is_return_address(uintptr_t word)
{
    module_search search = {.address = word};
    (void)dl_iterate_phdr(step_in_module, &search);
    if (!search.code)
        return false;
    const unsigned char *at = (const unsigned char *)word; // NOLINT(performance-no-int-to-ptr)
    if (at[-5] == 0xe8)
        return true;
    for (unsigned length = 2; length <= 7; length++) /* call through a register or memory: ff /2 */
        if (at[-(int)length] == 0xff && (at[1 - (int)length] >> 3 & 7) == 2)
            return true;
    return false;
}

/* The caller's registers are not known: search its return address. */
static bool scan_for_caller(unwind_state *state)
{
    const uintptr_t begin = state->value[VG_UNWIND_RSP];
    uintptr_t plain = 0;
    for (unsigned i = 0; i < UNWIND_SCAN; i++) {
        const uintptr_t at = begin + (uintptr_t)i * sizeof(uintptr_t);
        uintptr_t word;
        uintptr_t below = 0;
        uintptr_t above = 0;
        if (!read_stack(state->stack, at, &word))
            break;
        if (!is_return_address(word))
            continue;
        const bool framed = i != 0 && read_stack(state->stack, at - sizeof word, &below) && below > at &&
                            read_stack(state->stack, below + sizeof word, &above) && is_return_address(above);
        if (!framed && plain == 0)
            plain = at;
        if (framed) {
            state->value[VG_UNWIND_RBP] = below;
            state->known[VG_UNWIND_RBP] = true;
            plain = at;
            break;
        }
    }
    if (plain == 0 || !read_stack(state->stack, plain, &state->pc))
        return false;
    state->value[VG_UNWIND_RSP] = plain + sizeof(uintptr_t);
    state->exact = false;
    return true;
}

static int unwind_stack(const stack_copy *stack, uintptr_t pc, uintptr_t sp, void **frames, int most)
{
    unwind_state state = {.stack = stack, .pc = pc, .exact = true};
    int depth = 0;
    state.value[VG_UNWIND_RSP] = sp;
    state.known[VG_UNWIND_RSP] = true;
    while (depth < most) {
        frames[depth++] = (void *)state.pc; // NOLINT(performance-no-int-to-ptr)
        module_search search = {
            .address = state.exact ? state.pc : state.pc - 1, .state = &state, .result = STEP_UNKNOWN};
        (void)dl_iterate_phdr(step_in_module, &search);
        if (search.result == STEP_AT_END || (search.result == STEP_UNKNOWN && !scan_for_caller(&state)))
            break;
    }
    return depth;
}

int vg_unwind_from(uintptr_t pc, uintptr_t sp, void **frames, int most)
{
    stack_copy stack = {0};
    const int depth = copy_stack(&stack, sp) ? unwind_stack(&stack, pc, sp, frames, most) : 0;
    free(stack.memory);
    return depth;
}

/* ---- where the thread is ---- */

typedef struct kernel_place {
    bool running;
    uintptr_t sp, pc;
    char text[256];
} kernel_place;

static bool read_place(int thread, kernel_place *place)
{
    char path[64];
    memset(place, 0, sizeof *place);
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    const bool got = fgets(place->text, sizeof place->text, file) != NULL;
    (void)fclose(file);
    place->running = strncmp(place->text, "running", 7) == 0;
    if (!got || place->running)
        return got;
    /* "-1 SP PC", or "NUMBER SIX-ARGUMENTS SP PC" */
    place->text[strcspn(place->text, "\n")] = 0;
    char *last = strrchr(place->text, ' ');
    if (last == NULL)
        return false;
    place->pc = (uintptr_t)strtoull(last + 1, NULL, 16);
    *last = 0;
    const char *before = strrchr(place->text, ' ');
    place->sp = before != NULL ? (uintptr_t)strtoull(before + 1, NULL, 16) : 0;
    *last = ' ';
    return place->sp != 0 && place->pc != 0;
}

vg_unwind_result vg_unwind_sleeper(int thread, vg_stack *stack)
{
    kernel_place place;
    kernel_place after;
    memset(stack, 0, sizeof *stack);
    stack->thread = thread;
    stack->why = "the kernel does not say where the thread is";
    if (!read_place(thread, &place))
        return VG_UNWIND_FAILED;
    if (place.running)
        return VG_UNWIND_RUNS;
    stack->why = "the stack cannot be read";
    const int depth = vg_unwind_from(place.pc, place.sp, stack->frames, VG_STACK_FRAMES);
    if (depth == 0)
        return VG_UNWIND_FAILED;
    stack->why = "the thread moved during the look";
    if (!read_place(thread, &after) || after.running || strcmp(after.text, place.text) != 0)
        return VG_UNWIND_FAILED;
    stack->depth = depth;
    return VG_UNWIND_DONE;
}

#else /* other machines: only threads that run, by the signal */

int vg_unwind_from(uintptr_t pc, uintptr_t sp, void **frames, int most)
{
    (void)pc, (void)sp, (void)frames, (void)most;
    return 0;
}

vg_unwind_result vg_unwind_sleeper(int thread, vg_stack *stack)
{
    char path[64];
    char text[16] = "";
    memset(stack, 0, sizeof *stack);
    stack->thread = thread;
    stack->why = "the stack of a thread that sleeps is not shown on this machine";
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return VG_UNWIND_FAILED;
    const bool runs = fgets(text, sizeof text, file) != NULL && strncmp(text, "running", 7) == 0;
    (void)fclose(file);
    return runs ? VG_UNWIND_RUNS : VG_UNWIND_FAILED;
}

#endif
