/* SPDX-License-Identifier: MIT */
/*
 * The search with a bound on preemptions. Leaving a thread that could go on costs one; leaving a thread that is blocked costs nothing.
 *
 * Two beginnings of executions that differ only in the order of independent steps lead to the same state. So a node is not entered
 * again if an equal beginning came to it before, with the same thread running and no more preemptions used: all that can follow was, or
 * will be, explored there. (Musuvathi and Qadeer 2007 call it happens-before caching.) Sleep sets and backtracking on races would leave
 * out more, but what they leave out is reached on another way, which may need more preemptions than the bound allows.
 *
 * With `bound_old` an old value that is read, or a store that is placed before a newer one, costs as much as a preemption. Without,
 * every permitted value is tried, and for more than the smallest programs that alone is too much.
 *
 * A beginning is known by a sum over its steps: thread, number, the clock of dependent steps before it, and what was chosen. The sum
 * does not depend on the order in which independent steps were made. It has 61 bits: with n nodes the chance that any two are confused
 * is about n * n / 2^62.
 *
 * A thread is not left before a step on a place that it alone uses, or that nobody writes (private.c): leaving it behind that step is
 * the same, and costs as much.
 */
#include "internal.h"
#include "state.h"
#include <string.h>
#include <sys/mman.h>

enum {
    FIRST_ROOM = 1 << 16,
    MOST_ENTRIES = 1 << 27,
    USED = 7 /* the low bits of an entry: preemptions used */
};

ENGINE_STATE static struct {
    uint64_t *table;
    size_t room, count;
} nodes;

ENGINE_STATE static struct {
    uint64_t sum;
    uint32_t choices[MAX_THREADS];
    int old; /* messages that were read, or written before, though there was a newer one */
} path;

static uint64_t mix(uint64_t h, uint64_t value)
{
    h ^= value;
    h *= 0x9E3779B97F4A7C15ULL;
    return h ^ h >> 29;
}

/* A new exploration. */
void bounded_setup(void)
{
    if (nodes.table != NULL)
        munmap(nodes.table, nodes.room * sizeof(uint64_t));
    nodes.room = FIRST_ROOM;
    nodes.count = 0;
    nodes.table = map_pages(nodes.room * sizeof(uint64_t));
}

/* What a checkpoint keeps. */
uint64_t **bounded_table(size_t **room, size_t **count)
{
    *room = &nodes.room;
    *count = &nodes.count;
    return &nodes.table;
}

/* A new execution. */
void bounded_begin(void)
{
    memset(&path, 0, sizeof path);
}

void bounded_event(const struct event *e)
{
    uint64_t words[sizeof(clock_vec) / sizeof(uint64_t)];
    memcpy(words, &e->dep, sizeof words);
    uint64_t h = mix((uint64_t)e->thread + 1, (uint64_t)e->seq);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        h = mix(h, words[i]);
    path.sum += mix(h, 1);
}

void bounded_choice(int taken)
{
    const int thread = G.current < 0 ? 0 : G.current;
    path.sum += mix(mix((uint64_t)thread + 101, ++path.choices[thread]), (uint64_t)taken + 1);
}

static uint64_t *find(uint64_t *table, size_t room, uint64_t key)
{
    size_t at = (size_t)(key >> 3) & (room - 1);
    while (table[at] != 0 && (table[at] | USED) != (key | USED))
        at = (at + 1) & (room - 1);
    return &table[at];
}

static void grow(void)
{
    size_t room = nodes.room * 2;
    uint64_t *table = map_pages(room * sizeof(uint64_t));
    for (size_t i = 0; i < nodes.room; i++)
        if (nodes.table[i] != 0)
            *find(table, room, nodes.table[i]) = nodes.table[i];
    munmap(nodes.table, nodes.room * sizeof(uint64_t));
    nodes.table = table;
    nodes.room = room;
}

/* Was this node, or one that can do more, seen before? */
static bool seen(int self, int used)
{
    uint64_t h = mix(mix(path.sum, (uint64_t)self + 2), G.now);
    h = mix(mix(h, G.enabled), (uint64_t)(G.quiescing + 1)) & ~(uint64_t)USED;
    if (h == 0)
        h = USED + 1;
    uint64_t *entry = find(nodes.table, nodes.room, h);
    if (*entry != 0) {
        if ((int)(*entry & USED) <= used)
            return true;
        *entry = h | (uint64_t)used;
        return false;
    }
    if (nodes.count >= MOST_ENTRIES)
        return false; /* then some are entered twice */
    *entry = h | (uint64_t)used;
    if (++nodes.count * 10 > nodes.room * 7)
        grow();
    return false;
}

static int preemptions_so_far(void)
{
    for (uint32_t d = G.depth; d > 0; d--)
        if (!G.nodes[d - 1].is_choice)
            return G.nodes[d - 1].preemptions;
    return 0;
}

static int used_so_far(void)
{
    return preemptions_so_far() + (G.opt.bound_old ? path.old : 0);
}

bool bounded_only_newest(void)
{
    return G.opt.bound_old && used_so_far() >= G.opt.preemptions;
}

void bounded_old(void)
{
    path.old++;
}

static bool is_local(const struct op *op)
{
    const bool empty = op->memory == USE_NONE && op->queue == USE_NONE && op->table == USE_NONE && !op->all;
    return ((op->kind == OP_START || op->kind == OP_RESUME) && empty) || private_step(op);
}

/* Who moves at this new node. */
int bounded_pick(struct node *n, uint32_t enabled)
{
    const int self = (enabled >> G.current & 1) ? G.current : -1;
    const int used = used_so_far();
    n->preemptions = (int16_t)preemptions_so_far();
    if (self >= 0 && !BROKEN(VGC_PLAIN_BOUND) && is_local(&G.threads[self].op)) {
        n->backtrack = (uint16_t)(1u << self);
        return self;
    }
    if (!BROKEN(VGC_PLAIN_BOUND) && seen(self, used))
        leave_to_main(END_REDUNDANT);
    n->backtrack = (uint16_t)(self >= 0 && used >= G.opt.preemptions ? 1u << self : enabled);
    /* A node remembers who could go on for free, so that choosing somebody else there is counted. */
    n->count = (uint8_t)(self + 1);
    return self >= 0 ? self : __builtin_ctz(enabled);
}
