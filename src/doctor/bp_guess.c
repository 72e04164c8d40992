/* SPDX-License-Identifier: MIT */
/*
 * A frame with a frame pointer has the saved one at bp and the return address above it. A return address is believed if
 * a call stands in front of it, and believed firmly if that call leads to the function, directly or through the
 * procedure linkage table.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "bp_guess.h"
#include "memory.h"

#include <string.h>

enum {
    LONGEST_CALL = 7, /* the longest call */
    FAR = 1 << 16,    /* a function without a symbol is taken to be shorter */
    FRAME_SP = 168,   /* from the return address of a handler to the interrupted sp; pc is behind it */
};

typedef enum belief {
    BELIEF_NONE,
    BELIEF_WEAK, /* some indirect call */
    BELIEF_FIRM
} belief;

static const vg_module *module_at(const bp_place *place, uint64_t address)
{
    for (unsigned i = 0; i < place->module_count; i++)
        if (address >= place->modules[i].code_begin && address < place->modules[i].code_end)
            return &place->modules[i];
    return NULL;
}

static bool is_function(const bp_place *place, uint64_t target)
{
    if (place->function != 0)
        return target == place->function;
    return target <= place->pc && place->pc - target < FAR;
}

/* Where a stub of the procedure linkage table leads; 0: it is none. */
static uint64_t through_table(const bp_place *place, uint64_t stub)
{
    unsigned char code[16];
    if (!vg_memory_read(place->exam, place->process, stub, code, sizeof code))
        return 0;
    static const unsigned char landing[4] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    size_t at = memcmp(code, landing, 4) == 0 ? 4 : 0;
    at += code[at] == 0xf2; /* bnd */
    if (code[at] != 0xff || code[at + 1] != 0x25)
        return 0;
    int32_t distance;
    uint64_t target = 0;
    memcpy(&distance, code + at + 2, sizeof distance);
    const uint64_t slot = stub + at + 6 + (uint64_t)(int64_t)distance;
    return vg_memory_read(place->exam, place->process, slot, &target, sizeof target) ? target : 0;
}

/* Where a signal handler returns to: the kernel's call, not ours, has led to it. */
static bool is_signal_return(const bp_place *place, uint64_t address)
{
    static const unsigned char sigreturn[9] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05}; /* mov $15,%rax; syscall */
    unsigned char code[sizeof sigreturn];
    return vg_memory_read(place->exam, place->process, address, code, sizeof code) &&
           memcmp(code, sigreturn, sizeof code) == 0;
}

/* The same address stands in every struct sigaction that a call of sigaction left on the stack. Above the return of a
   handler lie the registers of the code that it interrupted. */
static bool is_signal_frame(const bp_place *place, uint64_t slot)
{
    uint64_t interrupted[2]; /* sp and pc */
    return vg_memory_read(place->exam, place->process, slot + FRAME_SP, interrupted, sizeof interrupted) &&
           interrupted[0] != 0 && module_at(place, interrupted[1]) != NULL;
}

/* address: what stands at `slot`. */
static belief belief_in(const bp_place *place, uint64_t address, uint64_t slot)
{
    unsigned char code[LONGEST_CALL];
    if (module_at(place, address) == NULL ||
        !vg_memory_read(place->exam, place->process, address - LONGEST_CALL, code, sizeof code))
        return BELIEF_NONE;
    if (is_signal_return(place, address))
        return is_signal_frame(place, slot) ? BELIEF_FIRM : BELIEF_NONE;
    if (code[2] == 0xe8) {
        int32_t distance;
        memcpy(&distance, code + 3, sizeof distance);
        const uint64_t target = address + (uint64_t)(int64_t)distance;
        if (is_function(place, target) || is_function(place, through_table(place, target)))
            return BELIEF_FIRM;
    }
    for (size_t length = 2; length <= LONGEST_CALL; length++) { /* ff /2, with or without a prefix in front */
        const unsigned char *at = code + LONGEST_CALL - length;
        if (at[0] == 0xff && (at[1] & 0x38) == 0x10)
            return BELIEF_WEAK;
    }
    return code[0] == 0xff && code[1] == 0x14 ? BELIEF_WEAK : BELIEF_NONE;
}

static bool read_window(const bp_place *place, uint64_t address, uint64_t *value)
{
    if (address < place->window_begin || address - place->window_begin + sizeof *value > place->window_bytes)
        return false;
    memcpy(value, place->window + (address - place->window_begin), sizeof *value);
    return true;
}

uint64_t vg_bp_guess(const bp_place *place)
{
    uint64_t weak = 0;
    uint64_t back;
    for (uint64_t at = place->sp & ~UINT64_C(7); read_window(place, at + 8, &back); at += 8) {
        const belief believed = belief_in(place, back, at + 8);
        if (believed == BELIEF_FIRM)
            return at;
        if (believed == BELIEF_WEAK && weak == 0)
            weak = at;
    }
    return weak;
}
