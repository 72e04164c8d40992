/* SPDX-License-Identifier: MIT */
/*
 * The stateful search: a state that was seen before is not entered again. A state is everything that the future
 * depends on:
 *   - static data, living heap blocks, descriptors, the clock, budgets left;
 *   - of each thread: status, next operation, registers and stack of the code under check, thread-local data;
 *   - of the memory model: per location the messages that somebody may still read, and what each thread, each such
 *     message and the global order know of each location. Clocks count steps, which differ between ways to the same
 *     state; so they are not hashed, but what they say: how far up the list of each location they reach. Positions
 *     count from the oldest message that any thread can still read.
 *
 * Left out: the race detector (which happens-before relations led here). A race is found on the first way to a state
 * or not at all, so races are the business of the other modes. States are remembered as 64-bit hashes: with n states
 * the chance that any two are confused is about n * n / 2^65.
 */
#include "state.h"
#include "internal.h"
#include <string.h>
#include <sys/mman.h>

uint64_t heap_hash(uint64_t seed);
uint64_t files_hash(uint64_t seed);
uint64_t outcome_hash(uint64_t seed);
const clock_vec *files_clock(void);
const clock_vec *sc_last_fence_knows(void);
void thread_tls_range(const struct thread *t, const char **start, const char **end);
extern char __start_vgc_state[], __stop_vgc_state[];

enum {
    FIRST_ROOM = 1 << 20,
    MOST_FORGOTTEN = 32
};

ENGINE_STATE static struct {
    uint64_t *table;
    size_t room, count;
} seen;

ENGINE_STATE static int lowest_pos[1 << 16];

/* Locations of which more than one message can still be read. */
ENGINE_STATE static struct {
    uint32_t at[1 << 16];
    uint32_t count;
} open_ones;

ENGINE_STATE static struct {
    uintptr_t start, end;
} forgotten[MOST_FORGOTTEN];
ENGINE_STATE static int forgotten_count;

static uint64_t mix(uint64_t h, uint64_t value)
{
    h ^= value;
    h *= 0x9E3779B97F4A7C15ULL;
    return h ^ h >> 31;
}

/* A new exploration. */
void state_begin(void)
{
    forgotten_count = 0;
}

void vgc_forget(const void *address, size_t size)
{
    const uintptr_t start = (uintptr_t)address;
    for (int i = 0; i < forgotten_count; i++)
        if (forgotten[i].start == start && forgotten[i].end == start + size)
            return; /* each execution says it again */
    if (forgotten_count == MOST_FORGOTTEN)
        fail(VGC_MISUSE, "vgc_forget: more than %d ranges", MOST_FORGOTTEN);
    forgotten[forgotten_count].start = start;
    forgotten[forgotten_count++].end = start + size;
}

bool state_forgotten(uintptr_t address)
{
    for (int i = 0; i < forgotten_count; i++)
        if (address >= forgotten[i].start && address < forgotten[i].end)
            return true;
    return false;
}

/* As hash_words, without what was forgotten. */
uint64_t hash_memory(const void *start, const void *end, uint64_t seed)
{
    uintptr_t at = (uintptr_t)start;
    uint64_t h = seed;
    while (at < (uintptr_t)end) {
        uintptr_t stop = (uintptr_t)end, next = stop;
        for (int i = 0; i < forgotten_count; i++) {
            const uintptr_t from = forgotten[i].start & ~(uintptr_t)7, to = (forgotten[i].end + 7) & ~(uintptr_t)7;
            if (to > at && from < stop) {
                stop = from > at ? from : at;
                next = to;
            }
        }
        h = hash_words((const void *)at, (const void *)stop, h);
        at = next;
    }
    return h;
}

void state_setup(void)
{
    if (seen.table != NULL)
        munmap(seen.table, seen.room * sizeof(uint64_t));
    seen.room = FIRST_ROOM;
    seen.count = 0;
    seen.table = map_pages(seen.room * sizeof(uint64_t));
}

/* What a checkpoint keeps. */
uint64_t **state_table(size_t **room, size_t **count)
{
    *room = &seen.room;
    *count = &seen.count;
    return &seen.table;
}

uint64_t state_count(void)
{
    return seen.count;
}

static bool insert(uint64_t *table, size_t room, uint64_t h)
{
    size_t at = (size_t)h & (room - 1);
    while (table[at] != 0) {
        if (table[at] == h)
            return false;
        at = (at + 1) & (room - 1);
    }
    table[at] = h;
    return true;
}

static void grow(void)
{
    size_t room = seen.room * 2;
    uint64_t *table = map_pages(room * sizeof(uint64_t));
    for (size_t i = 0; i < seen.room; i++)
        if (seen.table[i] != 0)
            insert(table, room, seen.table[i]);
    munmap(seen.table, seen.room * sizeof(uint64_t));
    seen.table = table;
    seen.room = room;
}

/* What a clock knows, as a number per location; the order of locations does not
 * matter. */
static uint64_t clock_hash(const clock_vec *clock)
{
    uint64_t h = 0;
    if (open_ones.count == 0)
        return h;
    const struct reach r = sc_reach(clock, 0, false);
    for (uint32_t k = 0; k < open_ones.count; k++) {
        struct location *l = &G.locations[open_ones.at[k]];
        int known = sc_oldest(l, &r)->pos - lowest_pos[open_ones.at[k]];
        if (known > 0)
            h += mix(l->address, (uint64_t)known);
    }
    return h;
}

static uint64_t location_hash(uint32_t index)
{
    struct location *l = &G.locations[index];
    uint64_t h = mix(l->address, l->size);
    h = mix(h, (uint64_t)l->spinners << 32 | l->waiters);
    h = mix(h, (uint64_t)l->depth << 24 | (uint64_t)l->locked << 16 | (uint16_t)l->owner);
    if (l->mutex_clock != NULL)
        h = mix(h, clock_hash(l->mutex_clock));
    if (l->read_clock != NULL)
        h = mix(h, clock_hash(l->read_clock));
    if (l->newest == NULL)
        return h;
    const struct message *m = l->newest;
    while (m->older != NULL && m->pos > lowest_pos[index])
        m = m->older;
    for (; m != NULL; m = m->newer) {
        h = mix(h, m->value);
        h = mix(h, m->newer != NULL && m->claimed);
        if (m->published)
            h = mix(h, clock_hash(&m->hb));
    }
    int newest_sc = 0;
    for (const struct sc_access *a = l->sc_accesses; a != NULL; a = a->before)
        if (a->message->pos - lowest_pos[index] > newest_sc)
            newest_sc = a->message->pos - lowest_pos[index];
    return mix(h, (uint64_t)newest_sc);
}

static bool counts(const struct location *l)
{
    return l->newest == NULL || l->size == 0 || !private_place(l->address); /* size 0: a lock or the like */
}

/* What the thread has seen so far does not matter any more: it is over, or will have seen everything when it goes on. */
static bool knows_no_more(const struct thread *t)
{
    return t->status == T_ENDED || t->status == T_QUIESCING;
}

static void find_lowest(void)
{
    struct reach of[MAX_THREADS];
    for (int t = 0; t < G.thread_count; t++)
        of[t] = sc_reach(&G.threads[t].hb, t, false);
    open_ones.count = 0;
    for (uint32_t i = 1; i < G.location_count; i++) {
        struct location *l = &G.locations[i];
        if (l->newest == NULL)
            continue;
        int lowest = l->newest->pos;
        if (lowest > l->oldest->pos && counts(l) && !G.opt.sc_memory) { /* then the newest is all that anybody reads */
            for (int t = 0; t < G.thread_count && lowest > l->oldest->pos; t++) {
                if (knows_no_more(&G.threads[t]))
                    continue;
                int known = sc_oldest(l, &of[t])->pos;
                if (known < lowest)
                    lowest = known;
            }
            if (lowest < l->newest->pos)
                open_ones.at[open_ones.count++] = i;
        }
        lowest_pos[i] = lowest;
    }
}

static uint64_t thread_hash(int id)
{
    const struct thread *t = &G.threads[id];
    uint64_t h = mix((uint64_t)id, (uint64_t)t->status);
    if (t->status == T_ENDED)
        return mix(h, t->joined || t->detached ? (uint64_t)t->joined << 1 | t->detached : clock_hash(&t->hb));
    h = mix(h, (uint64_t)t->op.kind | (uint64_t)t->op.order << 8 | (uint64_t)t->op.queue << 16);
    h = mix(h, t->op.address);
    h = mix(h, (uint64_t)(uintptr_t)t->op.pc);
    h = mix(h, t->operands);
    h = mix(h, t->timed ? t->deadline : 0);
    h = mix(h, (uint64_t)t->timed_out << 2 | (uint64_t)t->read_old << 1);
    h = mix(h, (uint64_t)t->force_left);
    h = mix(h, (uint64_t)(uintptr_t)t->argument);
    h = hash_words(t->user_sp, t->stack_top, h);
    const char *start, *end;
    thread_tls_range(t, &start, &end);
    h = hash_words(start, end, h);
    /* How far it has come round a polling loop (spin.c): the second round must not be taken for the first, or it is never held back. */
    for (int i = 0; i < t->spin_count; i++) {
        const struct spin_entry *s = &t->spin[i];
        h = mix(h, (uint64_t)(uintptr_t)s->pc ^ s->location->address);
        h = mix(h, (uint64_t)(s->message->pos - lowest_pos[s->location - G.locations]) << 1 | s->hashed);
        h = mix(h, s->hashed ? s->state : 0);
    }
    if (knows_no_more(t))
        return h;
    clock_vec after_fence = t->hb;
    clock_join(&after_fence, &t->pending_hb);
    h = mix(h, clock_hash(&t->hb));
    h = mix(h, clock_hash(&after_fence));
    return mix(h, clock_hash(&t->fence_hb));
}

static uint64_t state_hash(void)
{
    find_lowest();
    uint64_t h = G.now;
    const char *own = __start_vgc_state, *own_end = __stop_vgc_state;
    if (own >= G.data_start && own < G.data_end) {
        h = hash_memory((void *)(((uintptr_t)G.data_start + 7) & ~(uintptr_t)7), own, h);
        h = hash_memory((void *)(((uintptr_t)own_end + 7) & ~(uintptr_t)7), G.data_end - 8, h);
    } else {
        h = hash_memory((void *)(((uintptr_t)G.data_start + 7) & ~(uintptr_t)7), G.data_end - 8, h);
    }
    h = heap_hash(h);
    h = files_hash(h);
    h = outcome_hash(h);
    for (int i = 0; i < G.thread_count; i++)
        h = mix(h, thread_hash(i));
    uint64_t all = 0;
    for (uint32_t i = 1; i < G.location_count; i++)
        if (counts(&G.locations[i]))
            all += location_hash(i);
    h = mix(h, all);
    h = mix(h, clock_hash(sc_last_fence_knows()));
    h = mix(h, clock_hash(files_clock()));
    h = mix(h, (uint64_t)G.budget_alloc << 32 | (uint64_t)G.budget_thread << 24 | (uint64_t)G.budget_spurious << 16 |
                   (uint64_t)G.budget_weak << 8 | (uint64_t)G.budget_timeout);
    h = mix(h, (uint64_t)G.budget_reuse);
    h = mix(h, (uint64_t)(G.quiescing + 1) << 1 | G.membarrier_registered);
    return h != 0 ? h : 1;
}

bool state_seen(void)
{
    if (seen.count * 10 > seen.room * 7)
        grow();
    if (!insert(seen.table, seen.room, state_hash()))
        return true;
    seen.count++;
    return false;
}
