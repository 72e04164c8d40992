/* SPDX-License-Identifier: MIT */
/*
 * The order S of seq_cst operations.
 *
 * C++20 ([atomics.order] p4) wants one total order S of all seq_cst accesses and fences, such that
 *   - it agrees with strongly-happens-before;
 *   - if access A is coherence-ordered before access B, then whatever stands for A comes before whatever stands for B.
 *     An access is stood for by itself if it is seq_cst; A also by each seq_cst fence that happens before it, B also
 *     by each seq_cst fence that it happens before.
 * S need not be the order in which things happen to be executed here. (A seq_cst store does not hold back the relaxed
 * store behind it; somebody may see the second, and not the first, and fence in between.) So S is not decided, only
 * its constraints are kept: each seq_cst operation has a clock `before` of those that must precede it, closed under
 * "precedes". Program order is part of S, so "all of thread u up to number n" says everything. An S exists as long as
 * no operation precedes itself.
 *
 * An operation that is executed now gets what precedes it, and precedes nothing yet, with one exception: an access
 * that reads, or is placed, behind newer messages is coherence-ordered before accesses that were executed earlier.
 * Then edges go to existing operations, and on to all that they precede; and that may close a cycle. sc_oldest() says
 * which messages are too old because of that: if some operation that already precedes one that stands for us also
 * stands for an access of a newer message, then that message is the oldest that we may take. As everything before was
 * consistent, the newest message always is.
 *
 * What stands for the accesses up to a message is kept with the message (`behind`: its writer, all older messages, and
 * their readers; `readers`: its own), as a clock of seq_cst operations.
 *
 * The stateful search cannot afford this: which constraints there are depends on the way to a state. There S is the
 * order of execution. That is a stronger memory for seq_cst accesses mixed with relaxed ones; the README says so.
 */
#include "internal.h"
#include "state.h"
#include <string.h>

struct sc_event {
    int16_t thread, seq;
    bool fence;
    uint32_t previous, previous_fence; /* of the same thread */
    clock_vec before;
    clock_vec hb; /* fences: what happens before it */
};

enum {
    POOL = 1 << 18
};

ENGINE_STATE static struct {
    struct sc_event *events; /* from 1 */
    uint32_t count;
    struct sc_access *accesses, *access_next;
} S;

void sc_setup(void)
{
    S.events = map_pages(sizeof(struct sc_event) * POOL);
    S.accesses = map_pages(sizeof(struct sc_access) * POOL);
}

void sc_reset(void)
{
    S.count = 0;
    S.access_next = S.accesses;
}

static uint32_t last_up_to(int thread, int seq)
{
    uint32_t i = G.threads[thread].last_sc;
    while (i != 0 && S.events[i].seq > seq)
        i = S.events[i].previous;
    return i;
}

static uint32_t last_fence_up_to(int thread, int seq)
{
    uint32_t i = G.threads[thread].last_sc_fence;
    while (i != 0 && S.events[i].seq > seq)
        i = S.events[i].previous_fence;
    return i;
}

void sc_join_event(clock_vec *into, uint32_t event)
{
    const struct sc_event *e = &S.events[event];
    clock_join(into, &e->before);
    if (into->at[e->thread] < e->seq)
        into->at[e->thread] = e->seq;
}

/* The operations in a clock and all that precede them. */
static clock_vec closed(const clock_vec *clock)
{
    clock_vec c = {0};
    for (int u = 0; u < G.thread_count; u++) {
        uint32_t e = clock->at[u] > 0 ? last_up_to(u, clock->at[u]) : 0;
        if (e != 0)
            sc_join_event(&c, e);
    }
    return c;
}

/* The fences that happen before: they stand for an access that is made with
 * this clock. */
static clock_vec fences_in(const clock_vec *hb)
{
    clock_vec c = {0};
    for (int u = 0; u < G.thread_count; u++) {
        uint32_t e = last_fence_up_to(u, hb->at[u]);
        if (e != 0)
            c.at[u] = S.events[e].seq;
    }
    return c;
}

/* What strongly happens before an operation with this clock: of another thread
 * all that comes before the release that we synchronised with; the release
 * itself only in cases where coherence says it anyway. */
static clock_vec strongly_before(const clock_vec *hb, int thread)
{
    clock_vec c = *hb;
    for (int u = 0; u < G.thread_count; u++)
        if (u != thread && c.at[u] > 0)
            c.at[u]--;
    return c;
}

static bool in_order_of_execution(void)
{
    return G.opt.mode == VGC_STATEFUL;
}

static clock_vec everything(void)
{
    clock_vec c = {0};
    for (uint32_t i = 1; i <= S.count; i++)
        if (c.at[S.events[i].thread] < S.events[i].seq)
            c.at[S.events[i].thread] = S.events[i].seq;
    return c;
}

/* What an access with this clock has to respect at any location: what happens before it, and what the fences know that S puts before it. */
struct reach sc_reach(const clock_vec *hb, int thread, bool sc)
{
    struct reach r = {.hb = *hb};
    if (S.count == 0)
        return r;
    clock_vec ours = fences_in(hb);
    r.sc = closed(&ours);
    if (sc) {
        clock_vec strong = in_order_of_execution() ? everything() : strongly_before(hb, thread);
        strong = closed(&strong);
        clock_join(&r.sc, &strong);
    }
    for (int u = 0; u < G.thread_count; u++) {
        uint32_t fence = r.sc.at[u] > 0 ? last_fence_up_to(u, r.sc.at[u]) : 0;
        if (fence != 0)
            clock_join(&r.hb, &S.events[fence].hb);
    }
    return r;
}

/* The oldest message of a location that may be taken with it. */
struct message *sc_oldest(struct location *l, const struct reach *r)
{
    struct message *oldest = newest_seen(l, &r->hb, l->oldest);
    for (const struct sc_access *a = l->sc_accesses; a != NULL; a = a->before)
        if (a->seq <= r->sc.at[a->thread] && a->message->pos > oldest->pos)
            oldest = a->message;
    return oldest;
}

static struct sc_event *new_event(int thread, bool fence)
{
    struct thread *t = &G.threads[thread];
    if (S.count + 2 >= POOL)
        leave_to_main(END_TRUNCATED);
    uint32_t number = ++S.count;
    struct sc_event *e = &S.events[number];
    e->thread = (int16_t)thread;
    e->seq = t->seq;
    e->fence = fence;
    e->previous = t->last_sc;
    e->previous_fence = t->last_sc_fence;
    t->last_sc = number;
    if (fence) {
        t->last_sc_fence = number;
        e->hb = t->hb;
    }
    return e;
}

/* We are coherence-ordered before all accesses of messages newer than m:
 * whatever stands for us, and what precedes it, precedes whatever stands for
 * them. */
static void precede_newer(struct location *l, const struct message *m, const clock_vec *ours)
{
    clock_vec first; /* per thread, the first operation that stands for one of them */
    for (int u = 0; u < CLOCK_SLOTS; u++)
        first.at[u] = INT16_MAX;
    for (uint32_t i = 1; i <= S.count; i++) {
        const struct sc_event *e = &S.events[i];
        if (e->fence && e->seq < first.at[e->thread] && newest_seen(l, &e->hb, l->oldest)->pos > m->pos)
            first.at[e->thread] = e->seq;
    }
    for (const struct sc_access *a = l->sc_accesses; a != NULL; a = a->before)
        if (a->message->pos > m->pos && a->seq < first.at[a->thread])
            first.at[a->thread] = a->seq;
    for (uint32_t i = 1; i <= S.count; i++) {
        struct sc_event *e = &S.events[i];
        bool after = e->seq >= first.at[e->thread];
        for (int u = 0; u < G.thread_count && !after; u++)
            after = e->before.at[u] >= first.at[u];
        if (after)
            clock_join(&e->before, ours);
    }
}

static void note_access(struct location *l, struct message *m, clock_vec *before)
{
    clock_vec strong = in_order_of_execution() ? everything() : strongly_before(&ME->hb, G.current);
    clock_join(before, &strong);
    clock_vec c = closed(before);
    new_event(G.current, false)->before = c;
    struct sc_access *a = S.access_next++;
    *a = (struct sc_access){l->sc_accesses, m, (int16_t)G.current, ME->seq};
    l->sc_accesses = a;
}

static void stand_behind(struct location *l, struct message *m, const clock_vec *ours)
{
    if (m->newer == NULL)
        return;
    clock_vec all = closed(ours);
    precede_newer(l, m, &all);
    for (struct message *n = m->newer; n != NULL; n = n->newer)
        clock_join(&n->behind, ours);
}

/* A load has returned m. */
void sc_load(struct location *l, struct message *m, bool sc)
{
    if (G.thread_count == 1 || ((S.count == 0 || in_order_of_execution()) && !sc))
        return;
    clock_vec ours = fences_in(&ME->hb);
    if (sc) {
        clock_vec before = m->behind;
        note_access(l, m, &before);
        ours.at[G.current] = ME->seq;
    }
    clock_join(&m->readers, &ours);
    stand_behind(l, m, &ours);
}

/* A store or read-modify-write has made m. */
void sc_store(struct location *l, struct message *m, bool sc)
{
    if (G.thread_count == 1 || ((S.count == 0 || in_order_of_execution()) && !sc))
        return;
    clock_vec ours = fences_in(&ME->hb);
    clock_vec before = m->older->behind;
    clock_join(&before, &m->older->readers);
    m->behind = before;
    if (sc) {
        note_access(l, m, &before);
        ours.at[G.current] = ME->seq;
    }
    clock_join(&m->behind, &ours);
    stand_behind(l, m, &ours);
}

/* A seq_cst fence of the thread, which must follow `after` (closed, or NULL).
 * Returns its number. */
uint32_t sc_fence(int thread, const clock_vec *after)
{
    const clock_vec *hb = &G.threads[thread].hb;
    clock_vec before = in_order_of_execution() ? everything() : strongly_before(hb, thread);
    for (uint32_t i = 1; S.count != 0 && i < G.location_count; i++) {
        struct location *l = &G.locations[i];
        if (l->newest != NULL)
            clock_join(&before, &newest_seen(l, hb, l->oldest)->behind);
    }
    clock_vec c = closed(&before);
    if (after != NULL)
        clock_join(&c, after);
    new_event(thread, true)->before = c;
    return S.count;
}

/* What the next seq_cst fence would learn, in the order of execution: what the
 * last one knew. As each of them learns from the one before, a clock that holds
 * all of them is enough. */
const clock_vec *sc_last_fence_knows(void)
{
    ENGINE_STATE static clock_vec all;
    all = everything();
    return &all;
}
