/* SPDX-License-Identifier: MIT */
/*
 * Which executions need not be run: source-set partial-order reduction with sleep sets (Abdulla, Aronis, Jonsson,
 * Sagonas 2014).
 *
 * Two steps are dependent if their order matters: same location and not both reads, same futex queue, and so on
 * (`struct op` lists it). Each event carries the clock of the dependent steps before it. When a step is executed, the
 * earlier dependent events that are ordered before it by nothing else are races: the other order is another execution.
 * For each, the part of the execution that does not depend on the earlier event could have come first; one of the
 * threads that can begin that part is put on the backtrack list of the node where the earlier event was chosen, unless
 * one is there already.
 *
 * Sleep sets: what was explored at a node need not be run again below its siblings until a dependent step has
 * happened.
 *
 * A step may have several results (which old value a load returns). These are choices of their own below the step; a
 * thread is explored at a node when all its results were.
 */
#include "internal.h"
#include <string.h>

struct event *event_current(void)
{
    if (G.step_alone)
        return &G.scratch;
    return &G.events[G.event_count - 1];
}

static bool uses_dependent(uint8_t a, uint8_t b)
{
    if (a == USE_NONE || b == USE_NONE)
        return false;
    return a != b || a == USE_WRITE;
}

/* Waking, being woken and starting do not touch memory: a membarrier before or after them is the same. */
static bool feels_membarrier(const struct op *op)
{
    return op->kind != OP_START && op->kind != OP_RESUME && op->kind != OP_FUTEX_WAKE && !op->quiet &&
           !private_step(op);
}

/* Is what a sleeping thread wants to do dependent on what was just done? */
static bool ops_dependent(const struct op *pending, bool only_reads, const struct op *done)
{
    if (pending->all || done->all)
        return pending->all ? feels_membarrier(done) : feels_membarrier(pending);
    if (uses_dependent(pending->table, done->table))
        return true;
    if (pending->address == 0 || done->address == 0)
        return false;
    uintptr_t a = pending->address, b = done->address;
    uintptr_t a_size = pending->size ? pending->size : 1, b_size = done->size ? done->size : 1;
    if (a + a_size <= b || b + b_size <= a)
        return false;
    uint8_t memory = only_reads && pending->memory == USE_WRITE ? USE_READ : pending->memory;
    return uses_dependent(memory, done->memory) || uses_dependent(pending->queue, done->queue);
}

/* Gives the next moment of a thread its number. */
void step_label(int thread)
{
    struct thread *t = &G.threads[thread];
    if (__builtin_expect(t->seq >= INT16_MAX - 8, 0))
        leave_to_main(END_TRUNCATED);
    t->seq++;
    t->hb.at[thread] = t->seq;
}

void event_begin(void)
{
    struct thread *me = ME;
    int id = G.current;
    G.step_alone = false;
    step_label(id);
    struct event *e = &G.events[G.event_count++];
    e->thread = (int16_t)id;
    e->seq = me->seq;
    e->node = G.sched_node;
    e->op = me->op;
    if (me->waker != 0) {
        clock_join(&me->dep, &G.events[me->waker - 1].dep);
        me->waker = 0;
    }
}

enum {
    MAX_RACES = 256
};

struct race_list {
    uint32_t events[MAX_RACES];
    int count;
};

static void add_race(struct race_list *races, uint32_t event)
{
    if (races->count == MAX_RACES)
        G.cut = true;
    else
        races->events[races->count++] = event;
}

/* Whoever takes an object waited for this step, which let go of it: the two cannot be reversed. What can is the taking before it. */
static bool waited_for(const struct op *now, const struct op *earlier)
{
    switch (now->kind) {
    case OP_LOCK:
        return earlier->kind == OP_UNLOCK;
    case OP_SEM_WAIT:
        return earlier->kind == OP_SEM_POST && earlier->opened;
    case OP_READ_LOCK:
        return earlier->kind == OP_RW_UNLOCK && earlier->opened;
    case OP_WRITE_LOCK:
        return earlier->kind == OP_RW_UNLOCK;
    case OP_ONCE:
        return earlier->kind == OP_ONCE_DONE;
    default:
        return false;
    }
}

static void collect(struct race_list *races, struct use *list, int thread, const struct op *now, uint8_t kind,
                    const clock_vec *before, clock_vec *dep)
{
    for (struct use *u = list; u != NULL; u = u->before) {
        if (uses_dependent(kind, u->kind)) {
            const struct event *e = &G.events[u->event];
            if (e->thread != thread && e->seq > before->at[e->thread]) {
                clock_join(dep, &e->dep);
                if (!waited_for(now, &e->op))
                    add_race(races, u->event);
            }
        }
        if (u->kind == USE_WRITE && !waited_for(now, &G.events[u->event].op))
            return;
    }
}

static void record_use(struct use **list, uint8_t kind)
{
    struct use *u = G.use_next++;
    u->event = G.event_count - 1;
    u->kind = kind;
    u->before = *list;
    *list = u;
}

/* One more event of those that could come before the earlier one: its thread can begin with it if it depends on none of them. */
static void consider(const struct event *f, int16_t *first, uint32_t *began, uint32_t *initials)
{
    if (*began >> f->thread & 1)
        return;
    bool initial = true;
    for (uint32_t rest = *began; rest != 0 && initial; rest &= rest - 1) {
        int t = __builtin_ctz(rest);
        initial = f->dep.at[t] < first[t];
    }
    *began |= 1u << f->thread;
    first[f->thread] = f->seq;
    if (initial)
        *initials |= 1u << f->thread;
}

/* Makes sure that the order "`now` before `earlier`" is explored. `now` is the last event, or a step that its thread cannot make. */
static void reverse(uint32_t earlier, const struct event *now)
{
    const struct event *e = &G.events[earlier];
    struct node *n = &G.nodes[e->node];
    int16_t first[CLOCK_SLOTS];
    uint32_t began = 0, initials = 0;
    for (uint32_t k = earlier + 1; k < G.event_count; k++) {
        const struct event *f = &G.events[k];
        if (f != now && f->dep.at[e->thread] < e->seq) /* else it comes after the earlier event in any case */
            consider(f, first, &began, &initials);
    }
    consider(now, first, &began, &initials);
    if (initials & (uint32_t)(n->backtrack | n->sleep))
        return;
    initials &= n->enabled;
    if (initials == 0)
        return; /* it was held back in a polling loop then: its turn without news
               changes nothing (spin.c) */
    int chosen = (initials >> now->thread & 1) ? now->thread : __builtin_ctz(initials);
    n->backtrack |= (uint16_t)(1u << chosen);
}

/* A thread wants to take an object and cannot. It could have come before whoever has taken it; when it goes on at last, what it waited
 * for may stand between the two, and hide that. */
void dpor_blocked(int thread, struct location *l)
{
    if (G.opt.mode != VGC_DPOR || G.replaying || G.depth < G.fixed)
        return;
    const struct thread *t = &G.threads[thread];
    struct event now = {.thread = (int16_t)thread, .seq = INT16_MAX, .op = t->op, .dep = t->dep};
    struct race_list races = {.count = 0};
    collect(&races, l->memory_uses, thread, &t->op, t->op.memory, &t->dep, &now.dep);
    for (int i = 0; i < races.count; i++)
        reverse(races.events[i], &now);
}

static void find_races(struct event *now, const clock_vec *before, clock_vec *dep, struct location *l)
{
    struct race_list races = {.count = 0};
    const struct op *op = &now->op;
    if (op->memory != USE_NONE && l != NULL)
        collect(&races, l->memory_uses, G.current, op, op->memory, before, dep);
    if (op->queue != USE_NONE && l != NULL)
        collect(&races, l->queue_uses, G.current, op, op->queue, before, dep);
    if (op->table != USE_NONE)
        collect(&races, G.table_uses, G.current, op, op->table, before, dep);
    if (op->all) {
        for (int i = 0; i < G.thread_count; i++) {
            uint32_t last = op->kind == OP_QUIESCE ? G.threads[i].last_event : G.threads[i].last_felt;
            if (i == G.current || last == 0)
                continue;
            const struct event *e = &G.events[last - 1];
            if (e->seq > before->at[i]) {
                clock_join(dep, &e->dep);
                add_race(&races, last - 1);
            }
        }
    } else if (G.last_all_event != 0 && feels_membarrier(op)) {
        const struct event *e = &G.events[G.last_all_event - 1];
        if (e->thread != G.current && e->seq > before->at[e->thread]) {
            clock_join(dep, &e->dep);
            add_race(&races, G.last_all_event - 1);
        }
    }
    if (races.count == 0 || G.opt.mode != VGC_DPOR || G.replaying || G.depth < G.fixed || op->kind == OP_QUIESCE)
        return;
    now->dep = *dep;
    for (int i = 0; i < races.count; i++) {
        const struct event *e = &G.events[races.events[i]];
        bool direct = true;
        for (int j = 0; j < races.count && direct; j++) {
            const struct event *f = &G.events[races.events[j]];
            if (f != e && f->dep.at[e->thread] >= e->seq)
                direct = false;
        }
        if (BROKEN(VGC_RULE_REVERSE_RACES) && e->op.memory == USE_WRITE && op->memory == USE_WRITE)
            direct = false;
        if (direct)
            reverse(races.events[i], now);
    }
}

static void update_sleep(const struct event *now)
{
    struct node *n = &G.nodes[G.sched_node];
    uint32_t candidates = (uint32_t)(n->sleep | n->done) & ~(1u << now->thread);
    uint32_t reads = (uint32_t)(n->sleep_reads | n->done_reads);
    if (now->op.memory == USE_WRITE)
        n->read_only = false;
    uint32_t kept = 0;
    for (uint32_t rest = candidates; rest != 0; rest &= rest - 1) {
        int t = __builtin_ctz(rest);
        if (BROKEN(VGC_RULE_SLEEP_WAKE) || !ops_dependent(&G.threads[t].op, (reads >> t & 1) != 0, &now->op))
            kept |= 1u << t;
    }
    G.sleep = (uint16_t)kept;
    G.sleep_reads = (uint16_t)(kept & reads);
}

void event_end_at(struct location *l)
{
    struct thread *me = ME;
    if (G.step_alone) {
        me->dep.at[G.current] = me->seq;
        return;
    }
    struct event *now = event_current();
    if (l != NULL) {
        private_use(l);
        l->used_at[G.current] = now->seq;
    }
    if (G.opt.mode == VGC_STATEFUL) { /* every enabled thread is tried anyway */
        me->last_event = G.event_count;
        return;
    }
    clock_vec before = me->dep;
    find_races(now, &before, &me->dep, l);
    me->dep.at[G.current] = now->seq;
    now->dep = me->dep;
    me->last_event = G.event_count;
    if (!G.membarrier_registered || feels_membarrier(&now->op))
        me->last_felt = G.event_count;
    if (now->op.memory != USE_NONE && l != NULL)
        record_use(&l->memory_uses, now->op.memory);
    if (now->op.queue != USE_NONE && l != NULL)
        record_use(&l->queue_uses, now->op.queue);
    if (now->op.table != USE_NONE)
        record_use(&G.table_uses, now->op.table);
    if (now->op.all)
        G.last_all_event = G.event_count;
    if (G.opt.mode == VGC_PREEMPT)
        bounded_event(now);
    if (G.opt.mode == VGC_DPOR && G.depth >= G.fixed)
        update_sleep(now);
}

void event_end(void)
{
    event_end_at(NULL);
}

bool dpor_next(void)
{
    while (G.node_count > 0) {
        struct node *n = &G.nodes[G.node_count - 1];
        if (n->is_choice) {
            if (n->taken + 1 < n->count && !n->only_newest) {
                n->taken++;
                return true;
            }
        } else {
            uint16_t bit = (uint16_t)(1u << n->taken);
            n->done |= bit;
            if (n->read_only)
                n->done_reads |= bit;
            uint32_t left = (uint32_t)n->backtrack & ~(uint32_t)n->done & ~(uint32_t)n->sleep;
            if (left != 0) {
                n->taken = (uint8_t)__builtin_ctz(left);
                n->read_only = true;
                if (G.opt.mode == VGC_PREEMPT && n->count != 0 && n->taken != n->count - 1) {
                    n->preemptions++;
                    n->count = 0; /* counted once */
                }
                return true;
            }
        }
        G.node_count--;
    }
    return false;
}
