/* SPDX-License-Identifier: MIT */
/*
 * The heap of the program under check. Each thread allocates from a range of its own by moving a pointer, so addresses
 * do not depend on how threads interleave. Nothing is reused within an execution: a freed block stays in quarantine to
 * the end, and 64 bytes on either side of a block belong to nobody. A map from 64-byte lines to blocks tells at each
 * access whether it is inside a living one.
 */
#include "internal.h"
#include "state.h"
#include <string.h>

struct block {
    uintptr_t start;
    size_t size;
    const void *made_at, *freed_at;
    int16_t made_by, freed_by;
    uint32_t freed_as;
    bool freed, mapped;
    clock_vec freed_hb; /* what the thread that freed it had done: the next owner of the address has seen it */
};

struct line {
    uint32_t generation, block;
};

enum {
    MAX_BLOCKS = 1 << 16,
    LINE = 64
};

ENGINE_STATE static struct {
    struct block *blocks;
    struct line *lines;
    uint32_t count, generation, freed, allocator_generation;
    struct location *allocator; /* stands for the allocator's own state */
    size_t live;
    size_t used[MAX_THREADS];
} H;

void heap_setup(void)
{
    H.blocks = map_pages(sizeof(struct block) * MAX_BLOCKS);
    H.lines = map_pages(sizeof(struct line) * ((size_t)HEAP_PER_THREAD / LINE * MAX_THREADS));
}

void heap_reset(void)
{
    H.count = 1;
    H.generation = G.generation;
    H.live = 0;
    memset(H.used, 0, sizeof H.used);
}

size_t vgc_live_blocks(void)
{
    return H.live;
}

static bool in_heap(uintptr_t address)
{
    return address - (uintptr_t)G.heap < (uintptr_t)HEAP_PER_THREAD * MAX_THREADS;
}

static struct block *block_at(uintptr_t address)
{
    struct line *l = &H.lines[(address - (uintptr_t)G.heap) / LINE];
    return l->generation == H.generation && l->block < H.count ? &H.blocks[l->block] : NULL;
}

bool heap_describe(uintptr_t address, char *text, size_t room)
{
    if (!in_heap(address))
        return false;
    struct block *b = block_at(address);
    if (b == NULL) {
        for (uintptr_t back = LINE; back <= 4 * LINE && b == NULL && in_heap(address - back); back += LINE)
            b = block_at(address - back);
    }
    if (b == NULL) {
        __builtin_snprintf(text, room, "heap memory that was never allocated");
        return true;
    }
    unsigned number = (unsigned)(b - H.blocks);
    if (address >= b->start)
        __builtin_snprintf(text, room, "block%u+%zu", number, (size_t)(address - b->start));
    else
        __builtin_snprintf(text, room, "block%u-%zu", number, (size_t)(b->start - address));
    return true;
}

_Noreturn static void bad_access(uintptr_t address, size_t size, bool write, const void *pc)
{
    char what[96], here[160], made[160], freed[160];
    struct block *b = block_at(address);
    describe_address(address, what, sizeof what);
    describe_pc(pc, here, sizeof here);
    if (b != NULL && b->freed) {
        describe_pc(b->made_at, made, sizeof made);
        describe_pc(b->freed_at, freed, sizeof freed);
        fail(VGC_USE_AFTER_FREE,
             "%s of %zu bytes at %s, in %s, which t%d allocated at %s and t%d "
             "freed at %s",
             write ? "write" : "read", size, here, what, b->made_by, made, b->freed_by, freed);
    }
    fail(VGC_USE_AFTER_FREE, "%s of %zu bytes at %s, outside any block (%s)", write ? "write" : "read", size, here,
         what);
}

void heap_check(uintptr_t address, size_t size, bool write, const void *pc)
{
    if (!in_heap(address) || BROKEN(VGC_RULE_QUARANTINE))
        return;
    struct block *b = block_at(address);
    if (b == NULL || b->freed || address < b->start || address + size > b->start + b->size)
        bad_access(address, size, write, pc);
}

bool alloc_fails(void)
{
    if (G.budget_alloc <= 0 || choose(2) == 0)
        return false;
    G.budget_alloc--;
    if (G.tracing)
        __builtin_snprintf(trace_add(OP_NOTE, NULL)->text, 64, "this allocation fails");
    return true;
}

/* With a budget for reuse, malloc and free are steps that depend on each other: which block is free matters. */
void vgc_heap_step(const void *pc); /* context.S */
void vgc_do_heap_step(const void *pc);
void vgc_do_heap_step(const void *pc)
{
    static const uintptr_t allocator = 0x80; /* not a real address: nothing lies there */
    struct op op = {.kind = OP_HEAP, .memory = USE_WRITE, .address = allocator, .pc = pc};
    if (H.allocator == NULL || H.allocator_generation != G.generation)
        H.allocator = location_new(allocator, 0);
    H.allocator_generation = G.generation;
    sched_point(&op);
    event_end_at(H.allocator);
}

static bool reuses(void)
{
    return G.opt.reuse > 0 && G.thread_count > 1;
}

/* The block of that size that was freed last, if its address may be given out again. */
static struct block *freed_block(size_t size, size_t align)
{
    struct block *last = NULL;
    for (uint32_t i = 1; i < H.count; i++) {
        struct block *b = &H.blocks[i];
        if (b->freed && !b->mapped && b->size == size && (b->start & (align - 1)) == 0 && block_at(b->start) == b &&
            (last == NULL || b->freed_as > last->freed_as))
            last = b;
    }
    return last;
}

static void *alloc_again(struct block *old, int fill, const void *pc)
{
    const uint32_t number = H.count++;
    H.blocks[number] =
        (struct block){.start = old->start, .size = old->size, .made_at = pc, .made_by = (int16_t)G.current};
    clock_join(&ME->hb, &old->freed_hb);
    location_forget(old->start, old->size);
    for (uintptr_t a = old->start; a < old->start + old->size || a == old->start; a += LINE)
        H.lines[(a - (uintptr_t)G.heap) / LINE].block = number;
    memset((void *)old->start, fill, old->size);
    H.live++;
    spin_progress();
    if (G.tracing)
        __builtin_snprintf(trace_add(OP_HEAP, pc)->text, 80, "block%u has the address of block%u", number,
                           (unsigned)(old - H.blocks));
    return (void *)H.blocks[number].start;
}

void *heap_alloc(size_t size, size_t align, int fill, const void *pc, bool mapped)
{
    if (align < LINE)
        align = LINE;
    if (reuses() && !mapped) {
        vgc_heap_step(pc);
        struct block *old = G.budget_reuse > 0 ? freed_block(size, align) : NULL;
        if (old != NULL && H.count < MAX_BLOCKS && choose(2) == 1) {
            G.budget_reuse--;
            return alloc_again(old, fill, pc);
        }
    }
    uintptr_t base = (uintptr_t)G.heap + (uintptr_t)G.current * HEAP_PER_THREAD;
    uintptr_t start = (base + H.used[G.current] + LINE + align - 1) & ~(uintptr_t)(align - 1);
    if (size > HEAP_PER_THREAD || start + size + LINE > base + HEAP_PER_THREAD || H.count >= MAX_BLOCKS)
        fail(VGC_MISUSE,
             "the program allocates more than %d MiB in one thread of one "
             "execution, or more than %d blocks",
             HEAP_PER_THREAD >> 20, MAX_BLOCKS);
    H.used[G.current] = start + size - base;
    uint32_t number = H.count++;
    H.blocks[number] =
        (struct block){.start = start, .size = size, .made_at = pc, .made_by = (int16_t)G.current, .mapped = mapped};
    for (uintptr_t a = start; a < start + size || a == start; a += LINE)
        H.lines[(a - (uintptr_t)G.heap) / LINE] = (struct line){H.generation, number};
    memset((void *)start, fill, size);
    H.live++;
    spin_progress();
    return (void *)start;
}

void heap_free(void *pointer, const void *pc)
{
    if (pointer == NULL)
        return;
    uintptr_t address = (uintptr_t)pointer;
    struct block *b = in_heap(address) ? block_at(address) : NULL;
    char here[160], before[160];
    if (b == NULL || b->start != address) {
        describe_pc(pc, here, sizeof here);
        fail(VGC_DOUBLE_FREE, "free at %s of %p, which is not the start of a block", here, pointer);
    }
    if (b->freed) {
        describe_pc(pc, here, sizeof here);
        describe_pc(b->freed_at, before, sizeof before);
        fail(VGC_DOUBLE_FREE, "free at %s of a block that t%d freed at %s", here, b->freed_by, before);
    }
    if (reuses())
        vgc_heap_step(pc);
    access_free(b->start, b->size, pc);
    b->freed = true;
    b->freed_as = ++H.freed;
    b->freed_hb = ME->hb;
    b->freed_at = pc;
    b->freed_by = (int16_t)G.current;
    H.live--;
    spin_progress();
    if (G.tracing)
        trace_add(OP_FREE, pc)->address = address;
}

size_t heap_block_size(const void *pointer)
{
    struct block *b = in_heap((uintptr_t)pointer) ? block_at((uintptr_t)pointer) : NULL;
    return b != NULL && b->start == (uintptr_t)pointer ? b->size : 0;
}

/* munmap of the front or the back of a mapping, as allocators do to align it.
 */
bool heap_trim(uintptr_t address, size_t size, const void *pc)
{
    struct block *b = in_heap(address) ? block_at(address) : NULL;
    if (b == NULL || !b->mapped || b->freed)
        return false;
    if (address == b->start && size >= b->size) {
        heap_free((void *)address, pc);
        return true;
    }
    if (address == b->start) {
        access_free(address, size, pc);
        b->start += size;
        b->size -= size;
        return true;
    }
    if (address + size >= b->start + b->size && address < b->start + b->size) {
        access_free(address, b->start + b->size - address, pc);
        b->size = address - b->start;
        return true;
    }
    return false;
}

/* Contents of the living blocks. */
uint64_t heap_hash(uint64_t seed)
{
    uint64_t h = seed;
    for (uint32_t i = 1; i < H.count; i++) {
        const struct block *b = &H.blocks[i];
        uint64_t one = b->start * 0x9E3779B97F4A7C15ULL + b->size * 2 + b->freed;
        if (!b->freed)
            one = hash_memory((void *)b->start, (void *)(b->start + (b->size & ~(size_t)7)), one);
        for (size_t k = b->size & ~(size_t)7; k < b->size && !b->freed; k++)
            one = (one ^ ((const unsigned char *)b->start)[k]) * 0xD1B54A32D192ED03ULL;
        h += one; /* the order of blocks of different threads does not matter */
    }
    return h;
}

/* At the end of an execution, on the main stack. Returns the first leaked
 * block's number, or 0. */
uint32_t heap_first_leak(char *text, size_t room)
{
    if (H.live == 0)
        return 0;
    for (uint32_t i = 1; i < H.count; i++) {
        struct block *b = &H.blocks[i];
        if (b->freed || b->size == 0)
            continue;
        char made[160];
        describe_pc(b->made_at, made, sizeof made);
        __builtin_snprintf(text, room,
                           "%zu block(s) never freed; the first has %zu bytes, "
                           "allocated by t%d at %s",
                           H.live, b->size, b->made_by, made);
        return i;
    }
    return 0;
}

/* Snapshots (fork.c). Only thread 0 has allocated; freed blocks and the gaps between blocks need not be kept. */
ENGINE_STATE static struct {
    struct block *blocks;
    char *bytes;
    size_t room;
    uint32_t count, generation;
    size_t live, used;
} saved;

bool heap_save(void)
{
    size_t size = 0;
    for (uint32_t i = 1; i < H.count; i++)
        size += H.blocks[i].freed ? 0 : H.blocks[i].size;
    if (saved.bytes == NULL) {
        saved.room = HEAP_PER_THREAD;
        saved.bytes = map_pages(saved.room);
        saved.blocks = map_pages(sizeof(struct block) * MAX_BLOCKS);
    }
    if (size > saved.room)
        return false;
    saved.count = H.count;
    saved.generation = H.generation;
    saved.live = H.live;
    saved.used = H.used[0];
    memcpy(saved.blocks, H.blocks, sizeof(struct block) * H.count);
    char *at = saved.bytes;
    for (uint32_t i = 1; i < H.count; i++)
        if (!H.blocks[i].freed) {
            memcpy(at, (void *)H.blocks[i].start, H.blocks[i].size);
            at += H.blocks[i].size;
        }
    return true;
}

void heap_restore(void)
{
    memset(H.used, 0, sizeof H.used);
    H.count = saved.count;
    H.generation = saved.generation;
    H.live = saved.live;
    H.used[0] = saved.used;
    memcpy(H.blocks, saved.blocks, sizeof(struct block) * H.count);
    char *at = saved.bytes;
    for (uint32_t i = 1; i < H.count; i++)
        if (!H.blocks[i].freed) {
            memcpy((void *)H.blocks[i].start, at, H.blocks[i].size);
            at += H.blocks[i].size;
        }
}
