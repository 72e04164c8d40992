/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "unwind.h"

#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__linux__)

enum {
    UNWIND_REGS = 17, /* DWARF numbers of x86-64: 6 is rbp, 7 rsp, 16 the return address */
    UNWIND_RBP = 6,
    UNWIND_RSP = 7,
    UNWIND_RA = 16,
    UNWIND_STATES = 8, /* remembered rows */
    UNWIND_PAGE = 4096,
    UNWIND_PAGES = 64,          /* of stack that are copied */
    UNWIND_SCAN = 2048,         /* words that are searched for a return address */
    UNWIND_MOST_STEPS = 1 << 14 /* instructions of one table entry */
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

/* ---- unwind tables ---- */

typedef enum rule_kind {
    RULE_SAME,
    RULE_OFFSET,    /* saved at CFA + offset */
    RULE_VALUE,     /* is CFA + offset */
    RULE_REGISTER,  /* in another register */
    RULE_UNDEFINED, /* of the return address: there is no caller */
    RULE_UNKNOWN    /* by an expression, which is not computed here */
} rule_kind;

typedef struct table_row {
    struct {
        rule_kind kind;
        int64_t offset;
    } of[UNWIND_REGS];
    bool cfa_known;
    unsigned cfa_register;
    int64_t cfa_offset;
} table_row;

typedef struct table_entry {
    const unsigned char *common, *common_end; /* instructions of the CIE */
    const unsigned char *own, *own_end;       /* of the FDE */
    uint64_t code_factor;
    int64_t data_factor;
    uintptr_t begin;
    bool signal_frame;
} table_entry;

typedef struct unwind_state {
    const stack_copy *stack;
    uintptr_t value[UNWIND_REGS];
    bool known[UNWIND_REGS];
    uintptr_t pc;
    bool exact; /* pc is no return address */
} unwind_state;

static uint64_t take_uleb(const unsigned char **at, const unsigned char *end)
{
    uint64_t value = 0;
    unsigned shift = 0;
    while (*at < end) {
        const unsigned char byte = *(*at)++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if ((byte & 0x80) == 0)
            break;
    }
    return value;
}

static int64_t take_sleb(const unsigned char **at, const unsigned char *end)
{
    uint64_t value = 0;
    unsigned shift = 0;
    unsigned char byte = 0;
    while (*at < end) {
        byte = *(*at)++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if ((byte & 0x80) == 0)
            break;
    }
    if (shift < 64 && (byte & 0x40) != 0)
        value |= ~UINT64_C(0) << shift;
    return (int64_t)value;
}

static uint64_t take_fixed(const unsigned char **at, const unsigned char *end, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(end - *at) < bytes) {
        *at = end;
        return 0;
    }
    memcpy(&value, *at, bytes); /* little-endian */
    *at += bytes;
    return value;
}

/* A pointer as DW_EH_PE_* says: the forms that linkers write. */
static uintptr_t take_pointer(unsigned encoding, const unsigned char **at, const unsigned char *end, uintptr_t data)
{
    const uintptr_t here = (uintptr_t)*at;
    uintptr_t value;
    switch (encoding & 0x0f) {
    case 0x0: /* absptr */
    case 0x4: /* udata8 */
    case 0xc: /* sdata8 */
        value = take_fixed(at, end, 8);
        break;
    case 0x3: /* udata4 */
        value = take_fixed(at, end, 4);
        break;
    case 0xb: /* sdata4 */
        value = (uintptr_t)(int64_t)(int32_t)take_fixed(at, end, 4);
        break;
    case 0x2: /* udata2 */
        value = take_fixed(at, end, 2);
        break;
    case 0xa: /* sdata2 */
        value = (uintptr_t)(int64_t)(int16_t)take_fixed(at, end, 2);
        break;
    case 0x1:
        value = take_uleb(at, end);
        break;
    default:
        value = (uintptr_t)take_sleb(at, end);
    }
    if ((encoding & 0x70) == 0x10)
        value += here;
    else if ((encoding & 0x70) == 0x30)
        value += data;
    return value;
}

static bool read_common(const unsigned char *cie, table_entry *entry, unsigned *encoding, bool *augmented)
{
    const unsigned char *at = cie;
    const unsigned char *end = at + 4;
    const uint64_t length = take_fixed(&at, end, 4);
    if (length == 0 || length == UINT32_MAX)
        return false;
    end = at + length;
    at += 4; /* the id */
    const unsigned version = (unsigned)take_fixed(&at, end, 1);
    const char *augmentation = (const char *)at;
    at += strnlen(augmentation, (size_t)(end - at)) + 1;
    if (at >= end)
        return false;
    entry->code_factor = take_uleb(&at, end);
    entry->data_factor = take_sleb(&at, end);
    const uint64_t returns = version == 1 ? take_fixed(&at, end, 1) : take_uleb(&at, end);
    *encoding = 0;
    *augmented = augmentation[0] == 'z';
    if (returns != UNWIND_RA || (augmentation[0] != 0 && !*augmented))
        return false;
    if (*augmented) {
        const uint64_t bytes = take_uleb(&at, end);
        const unsigned char *after = at + bytes;
        for (const char *letter = augmentation + 1; *letter != 0 && at < end; letter++) {
            if (*letter == 'R')
                *encoding = (unsigned)take_fixed(&at, end, 1);
            else if (*letter == 'L')
                (void)take_fixed(&at, end, 1);
            else if (*letter == 'P') {
                const unsigned personality = (unsigned)take_fixed(&at, end, 1);
                (void)take_pointer(personality, &at, end, 0);
            } else if (*letter == 'S')
                entry->signal_frame = true;
        }
        at = after;
    }
    entry->common = at;
    entry->common_end = end;
    return at <= end;
}

/* The entry for an address, through the sorted table of .eh_frame_hdr. */
static bool find_entry(const unsigned char *hdr, uintptr_t address, table_entry *entry)
{
    const unsigned char *at = hdr + 4;
    const unsigned char *end = at + 64; /* the head; the table's own length is its count */
    const uintptr_t data = (uintptr_t)hdr;
    memset(entry, 0, sizeof *entry);
    if (hdr[0] != 1 || hdr[3] != 0x3b) /* datarel | sdata4: what all linkers write */
        return false;
    (void)take_pointer(hdr[1], &at, end, data);
    const uint64_t count = take_pointer(hdr[2], &at, end, data);
    size_t low = 0;
    size_t high = (size_t)count;
    while (low < high) { /* the first that begins behind the address */
        const size_t middle = low + (high - low) / 2;
        int32_t begin;
        memcpy(&begin, at + middle * 8, sizeof begin);
        if (data + (uintptr_t)(int64_t)begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    int32_t offset;
    memcpy(&offset, at + (low - 1) * 8 + 4, sizeof offset);
    const unsigned char *fde = (const unsigned char *)(data + (uintptr_t)(int64_t)offset); // NOLINT
    const unsigned char *from = fde;
    const uint64_t length = take_fixed(&from, from + 4, 4);
    if (length == 0 || length == UINT32_MAX)
        return false;
    const unsigned char *own_end = from + length;
    const unsigned char *cie = from - (uint32_t)take_fixed(&(const unsigned char *){from}, own_end, 4);
    from += 4;
    unsigned encoding = 0;
    bool augmented = false;
    if (!read_common(cie, entry, &encoding, &augmented))
        return false;
    entry->begin = take_pointer(encoding, &from, own_end, data);
    const uintptr_t range = take_pointer(encoding & 0x0f, &from, own_end, data);
    if (address < entry->begin || address - entry->begin >= range)
        return false;
    if (augmented) {
        const uint64_t bytes = take_uleb(&from, own_end);
        from += bytes;
    }
    entry->own = from;
    entry->own_end = own_end;
    return from <= own_end;
}

static void set_rule(table_row *row, uint64_t number, rule_kind kind, int64_t offset)
{
    if (number < UNWIND_REGS) {
        row->of[number].kind = kind;
        row->of[number].offset = offset;
    }
}

typedef struct row_stack {
    table_row of[UNWIND_STATES];
    unsigned count;
} row_stack;

/* Run the instructions up to the address. False: one that is not known, so that the row cannot be believed. */
static bool run_table(const table_entry *entry, const unsigned char *at, const unsigned char *end, uintptr_t address,
                      table_row *row, const table_row *first, row_stack *saved)
{
    uintptr_t place = entry->begin;
    for (unsigned steps = 0; at < end && steps < UNWIND_MOST_STEPS; steps++) {
        const unsigned char op = *at++;
        const unsigned low = op & 0x3f;
        uint64_t number;
        switch (op >> 6) {
        case 1: /* advance_loc */
            place += low * entry->code_factor;
            if (place > address)
                return true;
            continue;
        case 2: /* offset */
            set_rule(row, low, RULE_OFFSET, (int64_t)take_uleb(&at, end) * entry->data_factor);
            continue;
        case 3: /* restore */
            if (low < UNWIND_REGS)
                row->of[low] = first->of[low];
            continue;
        default:
            break;
        }
        switch (op) {
        case 0x00: /* nop */
            break;
        case 0x01: /* set_loc */
            return false;
        case 0x02: /* advance_loc1, 2, 4 */
        case 0x03:
        case 0x04:
            place += take_fixed(&at, end, op == 0x02 ? 1 : op == 0x03 ? 2 : 4) * entry->code_factor;
            if (place > address)
                return true;
            break;
        case 0x05: /* offset_extended */
            number = take_uleb(&at, end);
            set_rule(row, number, RULE_OFFSET, (int64_t)take_uleb(&at, end) * entry->data_factor);
            break;
        case 0x06: /* restore_extended */
            number = take_uleb(&at, end);
            if (number < UNWIND_REGS)
                row->of[number] = first->of[number];
            break;
        case 0x07: /* undefined */
            set_rule(row, take_uleb(&at, end), RULE_UNDEFINED, 0);
            break;
        case 0x08: /* same_value */
            set_rule(row, take_uleb(&at, end), RULE_SAME, 0);
            break;
        case 0x09: /* register */
            number = take_uleb(&at, end);
            set_rule(row, number, RULE_REGISTER, (int64_t)take_uleb(&at, end));
            break;
        case 0x0a: /* remember_state */
            if (saved->count == UNWIND_STATES)
                return false;
            saved->of[saved->count++] = *row;
            break;
        case 0x0b: /* restore_state */
            if (saved->count == 0)
                return false;
            *row = saved->of[--saved->count];
            break;
        case 0x0c: /* def_cfa */
            row->cfa_register = (unsigned)take_uleb(&at, end);
            row->cfa_offset = (int64_t)take_uleb(&at, end);
            row->cfa_known = true;
            break;
        case 0x0d: /* def_cfa_register */
            row->cfa_register = (unsigned)take_uleb(&at, end);
            break;
        case 0x0e: /* def_cfa_offset */
            row->cfa_offset = (int64_t)take_uleb(&at, end);
            break;
        case 0x0f: /* def_cfa_expression */
            at += take_uleb(&at, end);
            row->cfa_known = false;
            break;
        case 0x10: /* expression, val_expression */
        case 0x16:
            number = take_uleb(&at, end);
            at += take_uleb(&at, end);
            set_rule(row, number, RULE_UNKNOWN, 0);
            break;
        case 0x11: /* offset_extended_sf */
            number = take_uleb(&at, end);
            set_rule(row, number, RULE_OFFSET, take_sleb(&at, end) * entry->data_factor);
            break;
        case 0x12: /* def_cfa_sf */
            row->cfa_register = (unsigned)take_uleb(&at, end);
            row->cfa_offset = take_sleb(&at, end) * entry->data_factor;
            row->cfa_known = true;
            break;
        case 0x13: /* def_cfa_offset_sf */
            row->cfa_offset = take_sleb(&at, end) * entry->data_factor;
            break;
        case 0x14: /* val_offset */
            number = take_uleb(&at, end);
            set_rule(row, number, RULE_VALUE, (int64_t)take_uleb(&at, end) * entry->data_factor);
            break;
        case 0x2e: /* GNU_args_size */
            (void)take_uleb(&at, end);
            break;
        default:
            return false;
        }
    }
    return true;
}

/* ---- one step ---- */

typedef enum step_result {
    STEP_TO_CALLER,
    STEP_AT_END,
    STEP_UNKNOWN /* a register is not known, or there is no table */
} step_result;

static step_result apply_row(unwind_state *state, const table_row *row)
{
    if (!row->cfa_known || row->cfa_register >= UNWIND_REGS || !state->known[row->cfa_register])
        return STEP_UNKNOWN;
    const uintptr_t cfa = state->value[row->cfa_register] + (uintptr_t)row->cfa_offset;
    unwind_state next = *state;
    for (unsigned i = 0; i < UNWIND_REGS; i++) {
        const uintptr_t at = cfa + (uintptr_t)row->of[i].offset;
        switch (row->of[i].kind) {
        case RULE_OFFSET:
            next.known[i] = read_stack(state->stack, at, &next.value[i]);
            break;
        case RULE_VALUE:
            next.known[i] = true;
            next.value[i] = at;
            break;
        case RULE_REGISTER:
            next.known[i] = row->of[i].offset < UNWIND_REGS && state->known[row->of[i].offset];
            next.value[i] = next.known[i] ? state->value[row->of[i].offset] : 0;
            break;
        case RULE_SAME:
            break;
        default:
            next.known[i] = false;
        }
    }
    next.value[UNWIND_RSP] = cfa;
    next.known[UNWIND_RSP] = true;
    if (row->of[UNWIND_RA].kind == RULE_UNDEFINED)
        return STEP_AT_END;
    if (!next.known[UNWIND_RA] || row->of[UNWIND_RA].kind == RULE_SAME || cfa < state->value[UNWIND_RSP])
        return STEP_UNKNOWN;
    next.pc = next.value[UNWIND_RA];
    next.known[UNWIND_RA] = false;
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
    table_entry entry;
    if (search->state == NULL || hdr == NULL || !find_entry(hdr, search->address, &entry))
        return 1;
    row_stack saved = {.count = 0};
    table_row first = {0};
    for (unsigned i = 0; i < UNWIND_REGS; i++)
        first.of[i].kind = RULE_SAME;
    table_row row = first;
    if (!run_table(&entry, entry.common, entry.common_end, UINTPTR_MAX, &row, &first, &saved))
        return 1;
    first = row;
    if (!run_table(&entry, entry.own, entry.own_end, search->address, &row, &first, &saved))
        return 1;
    search->result = apply_row(search->state, &row);
    search->state->exact = search->result == STEP_TO_CALLER && entry.signal_frame;
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
    const uintptr_t begin = state->value[UNWIND_RSP];
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
            state->value[UNWIND_RBP] = below;
            state->known[UNWIND_RBP] = true;
            plain = at;
            break;
        }
    }
    if (plain == 0 || !read_stack(state->stack, plain, &state->pc))
        return false;
    state->value[UNWIND_RSP] = plain + sizeof(uintptr_t);
    state->exact = false;
    return true;
}

static int unwind_stack(const stack_copy *stack, uintptr_t pc, uintptr_t sp, void **frames, int most)
{
    unwind_state state = {.stack = stack, .pc = pc, .exact = true};
    int depth = 0;
    state.value[UNWIND_RSP] = sp;
    state.known[UNWIND_RSP] = true;
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
