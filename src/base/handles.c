/* SPDX-License-Identifier: MIT */
/*
 * handles.c - NOTES.md has the argument.
 */
#include "handles.h"

#include "pages.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define REFERENCES(life) ((uint32_t)(life) & ~VG_HANDLE_NAMELESS)
#define GENERATION(life) ((uint32_t)((life) >> 32))
#define INDEX(handle)    ((uint32_t)(handle))

enum {
    VG_HANDLES_LINE = 64,
    VG_HANDLES_ALIGNMENT = 16
};

static uint64_t pair_words(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* Chunk k holds FIRST << k records, starting at FIRST * (2^k - 1). */
static unsigned handle_chunk_of(uint32_t index)
{
    uint64_t shifted = (uint64_t)index + VG_HANDLES_FIRST_CHUNK;
    return (unsigned)(63 - __builtin_clzll(shifted)) - (unsigned)__builtin_ctz(VG_HANDLES_FIRST_CHUNK);
}

static uint64_t handle_chunk_start(unsigned chunk)
{
    return ((uint64_t)VG_HANDLES_FIRST_CHUNK << chunk) - VG_HANDLES_FIRST_CHUNK;
}

/* Records begin at the first line boundary of the chunk's memory. */
static vg_handle_slot *handle_slot_in(const vg_handles *table, char *memory, uint32_t index)
{
    char *records = memory + (-(uintptr_t)memory & (VG_HANDLES_LINE - 1));
    return (vg_handle_slot *)(void *)(records +
                                      (index - handle_chunk_start(handle_chunk_of(index))) * table->record_size);
}

/* NULL: that slot was never needed. */
static char *handle_chunk_memory(vg_handles *table, uint32_t index)
{
    /* acquire: the chunk's zeroes; pairs with the release in make_handle_chunk */
    return atomic_load_explicit(&table->chunks[handle_chunk_of(index)], memory_order_acquire);
}

/* Bytes of a chunk; 0: too many. A chunk of a huge page and more is made of them. */
static size_t handle_chunk_bytes(const vg_handles *table, unsigned chunk)
{
    uint64_t records = (uint64_t)VG_HANDLES_FIRST_CHUNK << chunk;
    uint64_t left = table->max_records - handle_chunk_start(chunk);
    size_t bytes;
    if (__builtin_mul_overflow(records < left ? records : left, table->record_size, &bytes) ||
        __builtin_add_overflow(bytes, VG_HANDLES_LINE - VG_HANDLES_ALIGNMENT, &bytes) ||
        bytes > PTRDIFF_MAX - VG_HUGE_PAGE)
        return 0;
    return bytes < VG_HUGE_PAGE ? bytes : (bytes + VG_HUGE_PAGE - 1) & ~(size_t)(VG_HUGE_PAGE - 1);
}

static void free_handle_chunk(char *memory, size_t bytes)
{
    if (bytes >= VG_HUGE_PAGE)
        vg_pages_unmap(memory, bytes);
    else
        free(memory);
}

static int make_handle_chunk(vg_handles *table, unsigned chunk)
{
    const size_t bytes = handle_chunk_bytes(table, chunk);
    if (bytes == 0)
        return -ENOMEM;
    char *memory = bytes < VG_HUGE_PAGE ? calloc(1, bytes) : vg_pages_map(bytes);
    if (memory == NULL)
        return -ENOMEM;
    char *other = NULL;
    /* release: the zeroes before the pointer; pairs with the acquire in handle_chunk_memory. relaxed on failure: the
       loser loads again. */
    if (!atomic_compare_exchange_strong_explicit(&table->chunks[chunk], &other, memory, memory_order_release,
                                                 memory_order_relaxed))
        free_handle_chunk(memory, bytes); /* another thread was first */
    return 0;
}

int vg_handles_init(vg_handles *table, size_t record_size, uint32_t max_records)
{
    if (record_size < sizeof(vg_handle_slot) || record_size > PTRDIFF_MAX - VG_HANDLES_ALIGNMENT || max_records == 0)
        return -EINVAL;
    table->record_size = (record_size + VG_HANDLES_ALIGNMENT - 1) & ~(size_t)(VG_HANDLES_ALIGNMENT - 1);
    table->max_records = max_records;
    table->first_generation = 1;
    atomic_init(&table->used, 0U);
    atomic_init(&table->free_head, 0U);
    for (unsigned i = 0; i < VG_HANDLES_CHUNKS; i++)
        atomic_init(&table->chunks[i], NULL);
    return make_handle_chunk(table, 0);
}

void vg_handles_destroy(vg_handles *table)
{
    for (unsigned i = 0; i < VG_HANDLES_CHUNKS; i++) {
        /* relaxed: all others are done */
        char *memory = atomic_load_explicit(&table->chunks[i], memory_order_relaxed);
        if (memory != NULL)
            free_handle_chunk(memory, handle_chunk_bytes(table, i));
        atomic_store_explicit(&table->chunks[i], NULL, memory_order_relaxed);
    }
}

static vg_handle_slot *pop_free_handle(vg_handles *table)
{
    /* acquire, also on failure: next_free of the head and the last holders' writes; pairs with the release in
       push_free_handle, whose release sequence later operations on the head continue */
    uint64_t head = atomic_load_explicit(&table->free_head, memory_order_acquire);
    while (INDEX(head) != 0) {
        uint32_t index = INDEX(head) - 1;
        vg_handle_slot *slot =
            handle_slot_in(table, handle_chunk_memory(table, index), index); /* it was used, so it is there */
        uint32_t next = atomic_load_explicit(&slot->next_free, memory_order_relaxed);
        if (next != 0) { /* the head after this one is wanted next, and another thread wrote it */
            const char *after = (char *)handle_slot_in(table, handle_chunk_memory(table, next - 1), next - 1);
            __builtin_prefetch(after, 1);
            if (table->record_size >= 2 * (size_t)VG_HANDLES_LINE)
                __builtin_prefetch(after + VG_HANDLES_LINE, 1);
        }
        uint64_t rest = pair_words((uint32_t)(head >> 32) + 1, next);
        /* acquire: as above */
        if (atomic_compare_exchange_weak_explicit(&table->free_head, &head, rest, memory_order_acquire,
                                                  memory_order_acquire))
            return slot;
    }
    return NULL;
}

/* Slots that are linked from `newest` (index + 1) to `oldest`. */
static void push_free_handles(vg_handles *table, uint32_t newest, vg_handle_slot *oldest)
{
    uint64_t head = atomic_load_explicit(&table->free_head, memory_order_relaxed);
    uint64_t with_slots;
    do {
        atomic_store_explicit(&oldest->next_free, INDEX(head), memory_order_relaxed);
        with_slots = pair_words((uint32_t)(head >> 32), newest);
        /* release: next_free, the generation and all writes to the records before their next use; pairs with the
           acquires in pop_free_handle */
    } while (!atomic_compare_exchange_weak_explicit(&table->free_head, &head, with_slots, memory_order_release,
                                                    memory_order_relaxed));
}

/* A slot never used. Memory first, so that a failure loses no slot. */
static vg_handle_slot *take_unused_handle(vg_handles *table)
{
    uint32_t index = atomic_load_explicit(&table->used, memory_order_relaxed);
    while (index < table->max_records) {
        if (handle_chunk_memory(table, index) == NULL && make_handle_chunk(table, handle_chunk_of(index)) != 0)
            return NULL;
        /* relaxed: only the number is passed on; the chunk pointer publishes the memory */
        if (atomic_compare_exchange_weak_explicit(&table->used, &index, index + 1, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            vg_handle_slot *slot = handle_slot_in(table, handle_chunk_memory(table, index), index);
            slot->index = index;
            return slot;
        }
    }
    return NULL;
}

void *vg_handles_alloc(vg_handles *table, uint32_t references, uint64_t *handle)
{
    assert(references > 0);
    vg_handle_slot *slot = pop_free_handle(table);
    if (slot == NULL)
        slot = take_unused_handle(table);
    if (slot == NULL)
        return NULL;
    uint32_t generation = GENERATION(atomic_load_explicit(&slot->life, memory_order_relaxed));
    if (generation == 0)
        generation = table->first_generation;
    /* relaxed: the caller publishes the handle */
    atomic_store_explicit(&slot->life, pair_words(generation, references), memory_order_relaxed);
    *handle = pair_words(generation, slot->index);
    return slot;
}

/* The slot of a handle; NULL: it was never given out. */
static vg_handle_slot *find_handle_slot(vg_handles *table, uint64_t handle)
{
    if (INDEX(handle) >= table->max_records)
        return NULL;
    char *memory = handle_chunk_memory(table, INDEX(handle));
    return memory != NULL ? handle_slot_in(table, memory, INDEX(handle)) : NULL;
}

/* Does the handle still name the record of this life? */
static bool handle_names(uint64_t handle, uint64_t life)
{
    return GENERATION(life) == GENERATION(handle) && REFERENCES(life) != 0 && (life & VG_HANDLE_NAMELESS) == 0;
}

void *vg_handles_acquire(vg_handles *table, uint64_t handle)
{
    vg_handle_slot *slot = find_handle_slot(table, handle);
    if (slot == NULL)
        return NULL;
    uint64_t life = atomic_load_explicit(&slot->life, memory_order_relaxed);
    while (handle_names(handle, life) && REFERENCES(life) != VG_HANDLE_NAMELESS - 1) {
        /* acquire: the writes of earlier holders; pairs with the release in drop_reference */
        if (atomic_compare_exchange_weak_explicit(&slot->life, &life, life + 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return slot;
    }
    return NULL;
}

void vg_handles_hold(void *record)
{
    vg_handle_slot *slot = record;
    (void)atomic_fetch_add_explicit(&slot->life, 1, memory_order_relaxed); /* it passes nothing on */
}

/* True: that was the last reference, and the slot is the caller's to reuse. */
static bool drop_reference(vg_handle_slot *slot, bool *last)
{
    /* Nobody can raise a count of one that has no name: no exchange is needed. */
    if (!vg_handles_alone(slot)) {
        /* release: our writes before the next holder's reads; acquire: theirs before we pass it on. Each pairs with
           the other, the release also with vg_handles_acquire, vg_handles_alone and vg_handles_unname */
        uint64_t before = atomic_fetch_sub_explicit(&slot->life, 1, memory_order_acq_rel);
        assert(REFERENCES(before) != 0);
        *last = REFERENCES(before) == 1;
        if (!*last)
            return false;
    }
    *last = true;
    const uint32_t generation = GENERATION(atomic_load_explicit(&slot->life, memory_order_relaxed)); /* ours alone */
    if (generation == UINT32_MAX) { /* worn out: the count stays zero for ever */
        atomic_store_explicit(&slot->life, pair_words(generation, 0), memory_order_relaxed);
        return false;
    }
    /* relaxed: nobody else writes it now, and push_free_handles publishes it */
    atomic_store_explicit(&slot->life, pair_words(generation + 1, 0), memory_order_relaxed);
    return true;
}

bool vg_handles_release(vg_handles *table, void *record)
{
    vg_handle_slot *slot = record;
    bool last = false;
    if (drop_reference(slot, &last))
        push_free_handles(table, slot->index + 1, slot);
    return last;
}

void vg_handles_release_into(vg_handles *table, void *record, vg_handle_batch *batch)
{
    vg_handle_slot *slot = record;
    bool last = false;
    if (!drop_reference(slot, &last))
        return;
    if (batch->count == 0)
        batch->oldest = slot;
    else
        atomic_store_explicit(&slot->next_free, batch->newest, memory_order_relaxed);
    batch->newest = slot->index + 1;
    if (++batch->count >= VG_HANDLES_BATCH)
        vg_handles_hand_over(table, batch);
}

void vg_handles_hand_over(vg_handles *table, vg_handle_batch *batch)
{
    if (batch->count != 0)
        push_free_handles(table, batch->newest, batch->oldest);
    batch->count = 0;
}

bool vg_handles_unname(vg_handles *table, uint64_t handle)
{
    vg_handle_slot *slot = find_handle_slot(table, handle);
    if (slot == NULL)
        return false;
    uint64_t life = atomic_load_explicit(&slot->life, memory_order_relaxed);
    while (handle_names(handle, life)) {
        /* The last reference stays, without a name, for drop_reference below. */
        const uint64_t rest = (REFERENCES(life) == 1 ? life : life - 1) | VG_HANDLE_NAMELESS;
        /* release: our writes, for the holders that are left; pairs with vg_handles_alone and the acquire in
           drop_reference. The acquire of a last holder is that of vg_handles_alone. */
        if (atomic_compare_exchange_weak_explicit(&slot->life, &life, rest, memory_order_release,
                                                  memory_order_relaxed)) {
            if (REFERENCES(life) == 1)
                (void)vg_handles_release(table, slot);
            return true;
        }
    }
    return false;
}

uint64_t vg_handles_name(const void *record)
{
    const vg_handle_slot *slot = record;
    return pair_words(GENERATION(atomic_load_explicit(&slot->life, memory_order_relaxed)), slot->index);
}
