/* SPDX-License-Identifier: MIT */
/*
 * The memory model: RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer 2017; in essence what C++20 says) without load
 * buffering, as a machine that runs.
 *
 * Each location keeps its modification order: a list of messages. A load may return any message that is not older than
 * what its thread has to respect. That is not stored per location. It is the thread's happens-before clock: "all steps
 * of thread u up to number n"; and each location remembers which message each thread had seen at which step. The
 * oldest permitted message then is the newest one that any step inside the clock has seen there. So knowledge joins in
 * two vector instructions, however many locations there are.
 *
 * - A release store publishes its thread's clock with the message; a relaxed one publishes what the last release fence
 *   saw. A read-modify-write passes on what the message it read had published (release sequences as of C++20).
 * - An acquire load takes them over; a relaxed one keeps them for a later acquire fence.
 * - A store may be put in front of newer messages that its thread need not know (2+2W needs that), never between a
 *   read-modify-write and what it read.
 * - seq_cst: scorder.c keeps the order S that C++20 asks for, and says how old a message may be because of it.
 *
 * Which old messages are offered. If some newer message m is not in the past of a load by any chain of dependent
 * steps, then the load could have been scheduled before m was written, and the search does that too. So a message is
 * offered only if all newer ones are in the load's past. The same holds for the place of a store. This is exact, and
 * is most of the difference between hundreds and ten thousands of executions. Random modes, which do not search all
 * schedules, and the stateful one, where the same state is reached in several ways, offer all.
 *
 * Memory itself always holds the newest message, for code that is not instrumented.
 */
#include "internal.h"
#include <string.h>

enum {
    RELAXED = 0,
    CONSUME,
    ACQUIRE,
    RELEASE,
    ACQ_REL,
    SEQ_CST
};

static bool has_acquire(int order)
{
    return order == ACQUIRE || order == CONSUME || order == ACQ_REL || order == SEQ_CST;
}

static bool has_release(int order)
{
    return order == RELEASE || order == ACQ_REL || order == SEQ_CST;
}

static void write_memory(uintptr_t address, int size, uint64_t value)
{
    switch (size) {
    case 1:
        *(uint8_t *)address = (uint8_t)value;
        break;
    case 2:
        *(uint16_t *)address = (uint16_t)value;
        break;
    case 4:
        *(uint32_t *)address = (uint32_t)value;
        break;
    default:
        *(uint64_t *)address = value;
        break;
    }
}

static void see(struct location *l, int slot, int16_t seq, struct message *m)
{
    struct sighting *last = l->seen[slot];
    if (last != NULL && last->message->pos >= m->pos)
        return;
    struct sighting *s = G.sighting_next++;
    s->before = last;
    s->message = m;
    s->seq = seq;
    l->seen[slot] = s;
}

struct message *newest_seen(struct location *l, const clock_vec *clock, struct message *best)
{
    for (int u = 0; u < G.thread_count; u++) {
        struct sighting *s = l->seen[u];
        while (s != NULL && s->seq > clock->at[u])
            s = s->before;
        if (s != NULL)
            best = best->pos >= s->message->pos ? best : s->message;
    }
    return best;
}

static struct message *oldest_permitted(struct location *l, bool sc)
{
    if (BROKEN(VGC_RULE_COHERENCE))
        return l->oldest;
    const struct reach r = sc_reach(&ME->hb, G.current, sc);
    return sc_oldest(l, &r);
}

/* Modes in which the past of a state is unknown (it may have been reached in
 * many ways), or not all schedules are tried. */
static bool offers_all(void)
{
    return G.opt.mode == VGC_PCT || G.opt.mode == VGC_RANDOM || G.opt.mode == VGC_STATEFUL;
}

enum purpose {
    TO_LOAD,
    TO_STORE, /* messages that a store may directly follow */
    TO_RMW,
    TO_CAS
};

/* There are more messages to look at. Past the cap the rest is left out, and the execution is not a whole one. */
static bool is_cut(int count)
{
    G.cut |= count == MAX_CANDIDATES;
    return count == MAX_CANDIDATES;
}

/* Like the loop in candidates(), for locations where some message was placed in
 * front of older work. Such a message k has newer ones in its own past; whoever
 * reads it, or is placed behind it, then has them in its past too. */
static int candidates_behind_early(struct location *l, struct message *limit, enum purpose purpose, uint64_t expected,
                                   struct message **out)
{
    struct thread *me = ME;
    int n = 0;
    for (struct message *m = l->newest; !is_cut(n); m = m->older) {
        bool as_load = purpose == TO_LOAD || (purpose == TO_CAS && m->value != expected);
        clock_vec past = me->dep;
        for (const struct message *k = m; k != NULL && k->writer >= 0; k = as_load ? NULL : k->older)
            clock_join(&past, &G.events[k->event].dep);
        bool reachable = true;
        for (const struct message *newer = m->newer; newer != NULL && reachable; newer = newer->newer)
            reachable = newer->writer < 0 || newer->seq <= past.at[newer->writer];
        if (reachable && (as_load || !m->claimed || BROKEN(VGC_RULE_ATOMICITY)))
            out[n++] = m;
        if (m == limit || m->older == NULL)
            return n;
    }
    return n;
}

/* Newest first. There is always one. */
static int candidates(struct location *l, bool sc, enum purpose purpose, uint64_t expected, struct message **out)
{
    struct thread *me = ME;
    out[0] = l->newest;
    if (me->force_left > 0) {
        me->force_left--;
        return 1;
    }
    if (l->newest == l->oldest || G.opt.sc_memory)
        return 1;
    if (purpose == TO_LOAD ? BROKEN(VGC_RULE_STALE_LOADS) : BROKEN(VGC_RULE_OLD_STORES))
        return 1;
    struct sighting *own = l->seen[G.current];
    if (own != NULL && own->message == l->newest && !BROKEN(VGC_RULE_COHERENCE))
        return 1;
    struct message *limit = oldest_permitted(l, sc);
    int n = 0;
    bool all = offers_all();
    if (l->has_early && !all)
        return candidates_behind_early(l, limit, purpose, expected, out);
    for (struct message *m = l->newest; !is_cut(n); m = m->older) {
        bool free_behind = !m->claimed || BROKEN(VGC_RULE_ATOMICITY);
        if (purpose == TO_LOAD || free_behind || (purpose == TO_CAS && m->value != expected))
            out[n++] = m;
        if (m == limit || m->older == NULL)
            break;
        if (!all && m->writer >= 0 && m->seq > me->dep.at[m->writer])
            break; /* not in our past: scheduling us earlier gives the same */
    }
    return n;
}

static void acquire(const struct message *m, int order)
{
    struct thread *me = ME;
    if (!m->published)
        return;
    if (has_acquire(order) && !BROKEN(VGC_RULE_ACQUIRE)) {
        clock_join(&me->hb, &m->hb);
    } else {
        clock_join(&me->pending_hb, &m->hb);
    }
}

static bool is_sc(int order)
{
    return order == SEQ_CST && !G.opt.sc_memory && !BROKEN(VGC_RULE_SC_ACCESS);
}

/* A new message directly behind `after`. `from` is what a read-modify-write
 * read, else NULL. */
static struct message *add_message(struct location *l, struct message *after, uint64_t value, int order,
                                   const struct message *from, const void *pc)
{
    struct thread *me = ME;
    if (__builtin_expect(G.step_alone && G.thread_count == 1 && memory_is_scarce(), 0)) {
        /* Nobody else has ever been there: the history before the newest value is nobody's concern. */
        after->value = value;
        write_memory(l->address, l->size, value);
        see(l, G.current, me->seq, after);
        spin_progress();
        return after;
    }
    struct message *m = G.message_next++;
    m->value = value;
    m->pc = pc;
    m->writer = (int16_t)G.current;
    m->seq = me->seq;
    m->event = G.event_count - 1;
    m->claimed = false;
    m->published = true;
    memset(&m->behind, 0, 2 * sizeof m->behind);
    if (has_release(order) && !BROKEN(VGC_RULE_RELEASE)) {
        m->hb = me->hb;
    } else {
        m->hb = me->fence_hb;
    }
    if (from != NULL && from->published && !BROKEN(VGC_RULE_RELEASE_SEQUENCE))
        clock_join(&m->hb, &from->hb);
    m->older = after;
    m->newer = after->newer;
    m->pos = after->pos + 1;
    after->newer = m;
    if (m->newer != NULL) {
        m->newer->older = m;
        l->has_early = true;
        for (struct message *n = m->newer; n != NULL; n = n->newer)
            n->pos++;
    } else {
        l->newest = m;
        write_memory(l->address, l->size, value);
    }
    see(l, G.current, me->seq, m);
    for (uint32_t s = l->spinners; s != 0; s &= s - 1) {
        int t = __builtin_ctz(s);
        if (G.threads[t].status == T_SPINNING && !G.threads[t].spin_for_good)
            sched_wake(t, G.event_count);
    }
    l->spinners = 0;
    spin_progress();
    return m;
}

static void trace_access(uint8_t kind, struct location *l, int order, const void *pc, const struct message *read,
                         const struct message *wrote, struct message *const *offered, int count)
{
    struct trace_line *t = trace_add(kind, pc);
    t->address = l->address;
    t->size = l->size;
    t->order = (int8_t)order;
    if (read != NULL) {
        t->read = true;
        t->got = read->value;
        t->old = read->newer != NULL && read->newer != wrote;
    }
    if (wrote != NULL) {
        t->wrote = true;
        t->put = wrote->value;
        if (wrote->newer != NULL)
            __builtin_snprintf(t->text, sizeof t->text, "placed before a newer store of %lld",
                               (long long)l->newest->value);
    }
    if (read != NULL && count > 1) {
        size_t length = 0;
        for (int i = 0; i < count && length < sizeof t->text - 24; i++)
            if (offered[i] != read) {
                char value[64];
                value_text(offered[i]->value, l->size, value, sizeof value);
                length += (size_t)__builtin_snprintf(t->text + length, sizeof t->text - length, "%s%s%s",
                                                     length ? ", " : "could be ", value, i == 0 ? " (newest)" : "");
            }
    }
}

/* A load that can only return what its thread has returned before, or what was there in the beginning, and brings no
 * happens-before with it. */
static bool tells_nothing(const struct location *l, const struct message *m, int order)
{
    if (is_sc(order) || m != l->newest)
        return false;
    const struct sighting *own = l->seen[G.current];
    if (own == NULL || own->message != m)
        return m->writer < 0 && m->older == NULL && !m->published;
    return order == RELAXED || !m->published || clock_within(&m->hb, &ME->hb);
}

uint64_t memory_load(uintptr_t address, int size, int order, const void *pc)
{
    bool sc = is_sc(order);
    struct op op = {.kind = OP_LOAD,
                    .size = (uint8_t)size,
                    .memory = USE_READ,
                    .order = (int8_t)order,
                    .address = address,
                    .pc = pc};
    for (;;) {
        struct message *offered[MAX_CANDIDATES];
        spin_before_load(address, pc);
        sched_point(&op);
        heap_check(address, (size_t)size, false, pc);
        stack_check(address, pc);
        struct location *l = location_at(address, size, pc);
        int n = candidates(l, sc, TO_LOAD, 0, offered);
        struct message *m = offered[choose_message(n)];
        event_current()->op.quiet = tells_nothing(l, m, order);
        see(l, G.current, ME->seq, m);
        acquire(m, order);
        sc_load(l, m, sc);
        access_atomic(address, (size_t)size, false, pc);
        event_end_at(l);
        if (G.tracing)
            trace_access(OP_LOAD, l, order, pc, m, NULL, offered, n);
        if (!spin_check(l, m, pc))
            return m->value;
    }
}

void memory_store(uintptr_t address, int size, int order, uint64_t value, const void *pc)
{
    bool sc = is_sc(order);
    struct op op = {.kind = OP_STORE,
                    .size = (uint8_t)size,
                    .memory = USE_WRITE,
                    .order = (int8_t)order,
                    .address = address,
                    .pc = pc};
    struct message *offered[MAX_CANDIDATES];
    ME->operands = value;
    sched_point(&op);
    heap_check(address, (size_t)size, true, pc);
    stack_check(address, pc);
    struct location *l = location_at(address, size, pc);
    access_atomic(address, (size_t)size, true, pc);
    int n = candidates(l, sc, TO_STORE, 0, offered);
    struct message *m = add_message(l, offered[choose_message(n)], value, order, NULL, pc);
    sc_store(l, m, sc);
    event_end_at(l);
    if (G.tracing)
        trace_access(OP_STORE, l, order, pc, NULL, m, offered, n);
}

static uint64_t apply(int operation, uint64_t old, uint64_t operand)
{
    switch (operation) {
    case RMW_ADD:
        return old + operand;
    case RMW_SUB:
        return old - operand;
    case RMW_AND:
        return old & operand;
    case RMW_OR:
        return old | operand;
    case RMW_XOR:
        return old ^ operand;
    case RMW_NAND:
        return ~(old & operand);
    default:
        return operand;
    }
}

static uint64_t cut(uint64_t value, int size)
{
    return size == 8 ? value : value & ((1ULL << (8 * size)) - 1);
}

uint64_t memory_rmw(uintptr_t address, int size, int order, int operation, uint64_t operand, const void *pc)
{
    bool sc = is_sc(order);
    struct op op = {.kind = OP_RMW,
                    .size = (uint8_t)size,
                    .memory = USE_WRITE,
                    .order = (int8_t)order,
                    .address = address,
                    .pc = pc};
    struct message *offered[MAX_CANDIDATES];
    ME->operands = operand ^ (uint64_t)operation << 56;
    sched_point(&op);
    heap_check(address, (size_t)size, true, pc);
    stack_check(address, pc);
    struct location *l = location_at(address, size, pc);
    int n = candidates(l, sc, TO_RMW, 0, offered);
    struct message *from = offered[choose_message(n)];
    acquire(from, order);
    access_atomic(address, (size_t)size, true, pc);
    from->claimed = true;
    struct message *m = add_message(l, from, cut(apply(operation, from->value, operand), size), order, from, pc);
    sc_store(l, m, sc);
    event_end_at(l);
    if (G.tracing)
        trace_access(OP_RMW, l, order, pc, from, m, offered, n);
    return from->value;
}

bool memory_cas(uintptr_t address, int size, int order, int failure, uint64_t *expected, uint64_t desired, bool weak,
                const void *pc)
{
    struct op op = {.kind = OP_CAS,
                    .size = (uint8_t)size,
                    .memory = USE_WRITE,
                    .order = (int8_t)order,
                    .address = address,
                    .pc = pc};
    for (;;) {
        struct message *offered[MAX_CANDIDATES];
        ME->operands = *expected * 0x9E3779B97F4A7C15ULL + desired;
        sched_point(&op);
        heap_check(address, (size_t)size, true, pc);
        stack_check(address, pc);
        struct location *l = location_at(address, size, pc);
        int n = candidates(l, is_sc(failure), TO_CAS, *expected, offered);
        if (n > 1 && is_sc(order) && !is_sc(failure)) {
            /* Success is bound by the seq_cst order, failure is not. */
            const struct message *limit = oldest_permitted(l, true);
            int kept = 0;
            for (int i = 0; i < n; i++)
                if (offered[i]->value != *expected || offered[i]->pos >= limit->pos)
                    offered[kept++] = offered[i];
            n = kept;
        }
        struct message *from = offered[choose_message(n)];
        bool success = from->value == *expected, for_no_reason = false;
        if (success && weak && G.budget_weak > 0 && choose(2) == 1) {
            G.budget_weak--;
            success = false;
            for_no_reason = true;
        }
        struct message *m = NULL;
        if (success) {
            acquire(from, order);
            access_atomic(address, (size_t)size, true, pc);
            from->claimed = true;
            m = add_message(l, from, desired, order, from, pc);
            sc_store(l, m, is_sc(order));
        } else {
            see(l, G.current, ME->seq, from);
            acquire(from, failure);
            access_atomic(address, (size_t)size, false, pc);
            sc_load(l, from, is_sc(failure));
            event_current()->op.memory = USE_READ;
        }
        event_end_at(l);
        if (G.tracing) {
            trace_access(OP_CAS, l, success ? order : failure, pc, from, m, offered, n);
            if (for_no_reason)
                __builtin_snprintf(G.trace[G.trace_count - 1].text, 32, "weak: fails for no reason");
        }
        if (success)
            return true;
        if (for_no_reason || !spin_check(l, from, pc)) {
            if (for_no_reason)
                spin_progress();
            *expected = from->value;
            return false;
        }
    }
}

/* For the futex: its comparison is a relaxed load of the newest message. */
void memory_see_newest(struct location *l)
{
    see(l, G.current, ME->seq, l->newest);
    acquire(l->newest, RELAXED);
}

struct message *memory_oldest_permitted(struct location *l)
{
    return oldest_permitted(l, false);
}
