/* SPDX-License-Identifier: MIT */
/*
 * Locations: the addresses that were used atomically in this execution. One is made when an address is first used,
 * with the value that memory holds as its first message. Plain code that writes there makes it start anew; memory may
 * also be used for something of another size later, if the old use was over for everybody.
 */
#include "internal.h"
#include <string.h>

enum {
    POOL_MESSAGES = 1 << 18,
    POOL_SIGHTINGS = 1 << 19,
    POOL_USES = 1 << 19,
    POOL_LOCATIONS = 1 << 16
};

void memory_setup(void)
{
    G.locations = map_pages(sizeof(struct location) * POOL_LOCATIONS);
    G.messages = map_pages(sizeof(struct message) * POOL_MESSAGES);
    G.sightings = map_pages(sizeof(struct sighting) * POOL_SIGHTINGS);
    G.uses = map_pages(sizeof(struct use) * POOL_USES);
    G.events = map_pages(sizeof(struct event) * (MAX_STEPS + 64));
    sc_setup();
}

void memory_reset(void)
{
    G.location_count = 1;
    G.event_count = 0;
    G.message_next = G.messages;
    G.sighting_next = G.sightings;
    G.use_next = G.uses;
    G.table_uses = NULL;
    G.last_all_event = 0;
    memset(&G.sc_hb, 0, sizeof G.sc_hb);
    sc_reset();
}

/* A thread that is alone may make more steps than these pools have room for; its stores then replace each other. */
bool memory_is_scarce(void)
{
    return G.message_next - G.messages > POOL_MESSAGES / 2;
}

static uint64_t read_memory(uintptr_t address, int size)
{
    switch (size) {
    case 1:
        return *(const uint8_t *)address;
    case 2:
        return *(const uint16_t *)address;
    case 4:
        return *(const uint32_t *)address;
    case 8:
        return *(const uint64_t *)address;
    default:
        return 0;
    }
}

static struct message *new_message(uint64_t value)
{
    struct message *m = G.message_next++;
    memset(m, 0, sizeof *m);
    m->value = value;
    m->writer = -1;
    return m;
}

static void start_history(struct location *l)
{
    struct message *m = new_message(read_memory(l->address, l->size));
    l->newest = l->oldest = m;
    l->stale = l->has_early = false;
    memset(l->seen, 0, sizeof l->seen);
}

struct location *location_new(uintptr_t address, int size)
{
    if (G.location_count >= POOL_LOCATIONS)
        fail(VGC_MISUSE, "more than %d atomic locations in one execution", POOL_LOCATIONS);
    struct location *l = &G.locations[G.location_count++];
    memset(l, 0, sizeof *l);
    l->address = address;
    l->size = (uint8_t)size;
    l->owner = -1;
    return l;
}

static bool all_known(const struct location *l)
{
    for (const struct message *m = l->newest; m != NULL; m = m->older)
        if (m->writer >= 0 && m->seq > ME->hb.at[m->writer])
            return false;
    return true;
}

/* What others have done there is in our past: the other size belongs to a use that is over. Otherwise the two accesses race, and the
 * search, for which they are at different places, would not reverse them. */
static bool all_used_before(const struct location *l)
{
    for (int u = 0; u < G.thread_count; u++)
        if (u != G.current && l->used_at[u] > ME->hb.at[u])
            return false;
    return true;
}

/* The location at an address; made when first used. Memory may be used for
 * something else later (an allocator inside the program): then the old use must
 * have been over for everybody. */
struct location *location_at(uintptr_t address, int size, const void *pc)
{
    struct cell *cell = cell_at(address);
    if (cell == NULL) {
        char text[96];
        describe_address(address, text, sizeof text);
        fail(VGC_MISUSE,
             "atomic access to %s, which is neither static data, heap, stack nor "
             "thread-local data of the program",
             text);
    }
    if (size != 0 && (address & (uintptr_t)(size - 1)) != 0)
        fail(VGC_MISUSE, "atomic access to %zx is not aligned", (size_t)address);
    uint32_t *link = &cell->locations;
    while (*link != 0) {
        struct location *l = &G.locations[*link];
        if (l->address == address && l->size == size) {
            if (__builtin_expect(l->stale, 0))
                start_history(l);
            return l;
        }
        if (size != 0 && l->size != 0 && l->address < address + (uintptr_t)size && address < l->address + l->size) {
            if (l->waiters != 0)
                fail(VGC_MISUSE,
                     "a thread sleeps on %d bytes of this memory, which is accessed as %d (mixed sizes are not "
                     "modelled)",
                     l->size, size);
            if (!l->stale && !(all_known(l) && all_used_before(l)))
                fail(VGC_MISUSE,
                     "atomic accesses of %d and %d bytes to the same memory (mixed "
                     "sizes are not modelled)",
                     l->size, size);
            *link = l->next_in_cell;
            continue;
        }
        link = &l->next_in_cell;
    }
    struct location *l = location_new(address, size);
    l->next_in_cell = cell->locations;
    cell->locations = (uint32_t)(l - G.locations);
    start_history(l);
    return l;
}

/* Memory that was freed is something new: nothing of what lay there is left. */
void location_forget(uintptr_t address, size_t size)
{
    for (uintptr_t at = address & ~(uintptr_t)7; at < address + size; at += 8) {
        struct cell *cell = cell_at(at);
        if (cell != NULL)
            cell->locations = 0;
    }
}

/* Plain code writes here: whatever was atomic starts anew with what it finds in
 * memory. That it may do so (nobody else is at it) is what the race check says.
 */
void memory_invalidate(uint32_t first_location, uintptr_t address, size_t size)
{
    for (uint32_t i = first_location; i != 0; i = G.locations[i].next_in_cell) {
        struct location *l = &G.locations[i];
        if (l->address < address + size && address < l->address + l->size)
            l->stale = true;
    }
}
