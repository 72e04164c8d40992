/* SPDX-License-Identifier: MIT */
/*
 * Data races. Every eight bytes of watched memory (static data, stacks, thread-local blocks, heap) have a cell; a cell
 * lists who has accessed which of its bytes, when (label of the thread's clock) and how. An access races with an
 * earlier one on a common byte if one of them writes, one of them is plain, and the earlier is not in the later's
 * happens-before clock. Records that a newer access makes superfluous are dropped, so lists stay short, and are exact
 * to the byte.
 */
#include "internal.h"
#include "state.h"
#include <string.h>

struct record {
    uint32_t next;
    int16_t label;
    uint8_t thread;
    uint8_t bytes; /* mask */
    bool write, atomic;
    const void *pc;
};

enum {
    POOL_RECORDS = 1 << 20
};

ENGINE_STATE static struct {
    struct cell *arena_cells, *data_cells;
    uintptr_t arena, arena_size, data, data_size;
    struct record *records;
    uint32_t count;
} R;

void race_setup(void)
{
    R.arena = (uintptr_t)G.arena;
    R.arena_size = (uintptr_t)(G.heap - G.arena) + (uintptr_t)HEAP_PER_THREAD * MAX_THREADS;
    R.data = (uintptr_t)G.data_start & ~(uintptr_t)7;
    R.data_size = (uintptr_t)G.data_end - R.data;
    R.arena_cells = map_pages(R.arena_size / 8 * sizeof(struct cell));
    R.data_cells = map_pages((R.data_size / 8 + 1) * sizeof(struct cell));
    R.records = map_pages(sizeof(struct record) * POOL_RECORDS);
}

void race_reset(void)
{
    R.count = 1;
}

struct cell *cell_at(uintptr_t address)
{
    struct cell *c;
    if (address - R.arena < R.arena_size)
        c = &R.arena_cells[(address - R.arena) >> 3];
    else if (address - R.data < R.data_size)
        c = &R.data_cells[(address - R.data) >> 3];
    else
        return NULL;
    if (c->generation != G.generation) {
        c->generation = G.generation;
        c->records = c->locations = 0;
    }
    return c;
}

_Noreturn static void report_race(uintptr_t address, const struct record *r, bool write, bool atomic, const void *pc)
{
    char what[96], here[160], there[160];
    describe_address(address, what, sizeof what);
    describe_pc(pc, here, sizeof here);
    describe_pc(r->pc, there, sizeof there);
    fail(VGC_DATA_RACE, "data race on %s: t%d %s%s at %s, and t%d %s%s at %s, are not ordered", what, G.current,
         atomic ? "atomic " : "", write ? "write" : "read", here, r->thread, r->atomic ? "atomic " : "",
         r->write ? "write" : "read", there);
}

static void access_cell(struct cell *c, uintptr_t address, uint8_t bytes, bool write, bool atomic, const void *pc)
{
    struct thread *me = ME;
    uint8_t self = (uint8_t)G.current;
    int16_t label = (int16_t)(atomic ? me->seq : me->seq + 1);
    uint32_t *link = &c->records;
    while (*link != 0) {
        struct record *r = &R.records[*link];
        if (!(r->bytes & bytes)) {
            link = &r->next;
            continue;
        }
        if (r->thread == self) {
            if (r->bytes == bytes && r->write == write && r->atomic == atomic) {
                r->label = label;
                r->pc = pc;
                if (!write || atomic) {
                    /* The others still have to be looked at, but no new record is needed.
           */
                    for (uint32_t i = r->next; i != 0; i = R.records[i].next) {
                        const struct record *o = &R.records[i];
                        if ((o->bytes & bytes) && o->thread != self && (write || o->write) && !(atomic && o->atomic) &&
                            o->label > me->hb.at[o->thread])
                            report_race(address, o, write, atomic, pc);
                    }
                    return;
                }
                *link = r->next;
                continue;
            }
        } else if ((write || r->write) && !(atomic && r->atomic) && r->label > me->hb.at[r->thread]) {
            if (!(BROKEN(VGC_RULE_RACE_WRITES) && write && r->write) &&
                !(BROKEN(VGC_RULE_RACE_READS) && !(write && r->write)))
                report_race(address, r, write, atomic, pc);
        }
        /* Superfluous: whoever races with it races with this access too. */
        bool ordered = r->thread == self || r->label <= me->hb.at[r->thread];
        if (!atomic && ordered && !(r->bytes & ~bytes) && (write || (!r->write && r->thread == self))) {
            *link = r->next;
            continue;
        }
        link = &r->next;
    }
    if (R.count >= POOL_RECORDS)
        leave_to_main(END_TRUNCATED);
    struct record *n = &R.records[R.count];
    *n = (struct record){
        .next = c->records, .label = label, .thread = self, .bytes = bytes, .write = write, .atomic = atomic, .pc = pc};
    c->records = R.count++;
}

static void access_range(uintptr_t address, size_t size, bool write, bool atomic, const void *pc)
{
    uintptr_t end = address + size;
    while (address < end) {
        uintptr_t cell_end = (address | 7) + 1;
        uintptr_t stop = end < cell_end ? end : cell_end;
        struct cell *c = cell_at(address);
        if (c == NULL)
            return;
        unsigned first = (unsigned)(address & 7), count = (unsigned)(stop - address);
        uint8_t bytes = (uint8_t)(((1u << count) - 1u) << first);
        access_cell(c, address, bytes, write, atomic, pc);
        if (write && !atomic && c->locations != 0)
            memory_invalidate(c->locations, address, stop - address);
        address = stop;
    }
}

void access_plain(uintptr_t address, size_t size, bool write, const void *pc)
{
    if (address - R.arena >= R.arena_size && address - R.data >= R.data_size)
        return;
    heap_check(address, size, write, pc);
    stack_check(address, pc);
    if (write)
        spin_progress();
    access_range(address, size, write, false, pc);
}

void access_atomic(uintptr_t address, size_t size, bool write, const void *pc)
{
    access_range(address, size, write, true, pc);
}

void access_free(uintptr_t address, size_t size, const void *pc)
{
    for (uintptr_t a = address; a < address + size; a = (a | 7) + 1) {
        struct cell *c = cell_at(a);
        if (c == NULL || c->records == 0)
            continue;
        uintptr_t left = address + size - a;
        uint8_t bytes = left >= 8 ? 255 : (uint8_t)((1u << left) - 1u);
        access_cell(c, a, bytes, true, false, pc);
    }
}
