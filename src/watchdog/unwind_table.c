/* SPDX-License-Identifier: MIT */
#include "unwind_table.h"

#include <string.h>

#if defined(__x86_64__) && defined(__linux__)

enum {
    UNWIND_STATES = 8,          /* remembered rows */
    UNWIND_MOST_STEPS = 1 << 14 /* instructions of one table entry */
};

typedef struct table_entry {
    const unsigned char *common, *common_end; /* instructions of the CIE */
    const unsigned char *own, *own_end;       /* of the FDE */
    uint64_t code_factor;
    int64_t data_factor;
    uintptr_t begin;
    bool signal_frame;
} table_entry;

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
    if (returns != VG_UNWIND_RA || (augmentation[0] != 0 && !*augmented))
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

static void set_rule(vg_unwind_row *row, uint64_t number, vg_unwind_rule kind, int64_t offset)
{
    if (number < VG_UNWIND_REGS) {
        row->of[number].kind = kind;
        row->of[number].offset = offset;
    }
}

typedef struct row_stack {
    vg_unwind_row of[UNWIND_STATES];
    unsigned count;
} row_stack;

/* Run the instructions up to the address. False: one that is not known, so that the row cannot be believed. */
static bool run_table(const table_entry *entry, const unsigned char *at, const unsigned char *end, uintptr_t address,
                      vg_unwind_row *row, const vg_unwind_row *first, row_stack *saved)
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
            set_rule(row, low, VG_RULE_OFFSET, (int64_t)take_uleb(&at, end) * entry->data_factor);
            continue;
        case 3: /* restore */
            if (low < VG_UNWIND_REGS)
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
            set_rule(row, number, VG_RULE_OFFSET, (int64_t)take_uleb(&at, end) * entry->data_factor);
            break;
        case 0x06: /* restore_extended */
            number = take_uleb(&at, end);
            if (number < VG_UNWIND_REGS)
                row->of[number] = first->of[number];
            break;
        case 0x07: /* undefined */
            set_rule(row, take_uleb(&at, end), VG_RULE_UNDEFINED, 0);
            break;
        case 0x08: /* same_value */
            set_rule(row, take_uleb(&at, end), VG_RULE_SAME, 0);
            break;
        case 0x09: /* register */
            number = take_uleb(&at, end);
            set_rule(row, number, VG_RULE_REGISTER, (int64_t)take_uleb(&at, end));
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
            set_rule(row, number, VG_RULE_UNKNOWN, 0);
            break;
        case 0x11: /* offset_extended_sf */
            number = take_uleb(&at, end);
            set_rule(row, number, VG_RULE_OFFSET, take_sleb(&at, end) * entry->data_factor);
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
            set_rule(row, number, VG_RULE_VALUE, (int64_t)take_uleb(&at, end) * entry->data_factor);
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

bool vg_unwind_row_at(const unsigned char *hdr, uintptr_t address, vg_unwind_row *row)
{
    table_entry entry;
    if (!find_entry(hdr, address, &entry))
        return false;
    row_stack saved = {.count = 0};
    vg_unwind_row first = {0};
    for (unsigned i = 0; i < VG_UNWIND_REGS; i++)
        first.of[i].kind = VG_RULE_SAME;
    *row = first;
    if (!run_table(&entry, entry.common, entry.common_end, UINTPTR_MAX, row, &first, &saved))
        return false;
    first = *row;
    if (!run_table(&entry, entry.own, entry.own_end, address, row, &first, &saved))
        return false;
    row->signal_frame = entry.signal_frame;
    return true;
}

#endif
