/* SPDX-License-Identifier: MIT */
/*
 * The second judge: what the axioms permit. All ways to give each read a write and each location an order of its
 * writes are enumerated; a candidate counts if
 *   - a read-modify-write directly follows, in modification order, the write that it reads;
 *   - happens-before followed by (reads-from, modification order, from-read)+ never leads back (coherence);
 *   - the order S of seq_cst operations that C++20 asks for exists: the edges that [atomics.order] p4 demands, and
 *     strongly-happens-before, have no cycle;
 *   - program order and reads-from have no cycle (RC11's answer to values out of thin air; C++20 only recommends it).
 *     Synchronisation includes fences and the release sequences of C++20. Nothing here is shared with the engine.
 */
#include "litmus.h"
#include <stdint.h>
#include <string.h>

enum {
    MAX_EVENTS = LIT_LOCATIONS + LIT_THREADS * LIT_OPS
};

typedef uint64_t row;

struct event {
    int thread, location, value, reg;
    enum lit_kind kind;
    enum lit_order order;
    bool reads, writes;
};

struct candidate {
    const struct lit_program *program;
    int n;
    struct event e[MAX_EVENTS];
    int read_from[MAX_EVENTS];
    int mo[LIT_LOCATIONS][MAX_EVENTS], mo_count[LIT_LOCATIONS], mo_at[MAX_EVENTS];
    bool load_buffering;
    struct lit_outcomes *set;
    row po[MAX_EVENTS];
};

static bool acquires(const struct event *e)
{
    return (e->reads || e->kind == LIT_FENCE) && (e->order == LIT_ACQ || e->order == LIT_AR || e->order == LIT_SC);
}

static bool releases(const struct event *e)
{
    return (e->writes || e->kind == LIT_FENCE) && (e->order == LIT_REL || e->order == LIT_AR || e->order == LIT_SC);
}

static void close_relation(row *r, int n)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            if (r[i] >> k & 1)
                r[i] |= r[k];
}

static bool reflexive_somewhere(const row *r, int n)
{
    for (int i = 0; i < n; i++)
        if (r[i] >> i & 1)
            return true;
    return false;
}

/* Events that a release head w hands on to: w, then read-modify-writes that
 * read from the chain. */
static row release_sequence(const struct candidate *c, int w)
{
    row chain = (row)1 << w;
    for (bool grew = true; grew;) {
        grew = false;
        for (int i = 0; i < c->n; i++)
            if (c->e[i].reads && c->e[i].writes && !(chain >> i & 1) && (chain >> c->read_from[i] & 1)) {
                chain |= (row)1 << i;
                grew = true;
            }
    }
    return chain;
}

static void synchronises(const struct candidate *c, row *sw)
{
    memset(sw, 0, sizeof(row) * MAX_EVENTS);
    for (int w = 0; w < c->n; w++) {
        if (!c->e[w].writes || c->e[w].thread < 0)
            continue;
        row chain = release_sequence(c, w);
        row heads = 0, tails = 0;
        if (releases(&c->e[w]))
            heads |= (row)1 << w;
        for (int f = 0; f < c->n; f++)
            if (c->e[f].kind == LIT_FENCE && releases(&c->e[f]) && (c->po[f] >> w & 1))
                heads |= (row)1 << f;
        for (int r = 0; r < c->n; r++) {
            if (!c->e[r].reads || !(chain >> c->read_from[r] & 1))
                continue;
            if (acquires(&c->e[r]))
                tails |= (row)1 << r;
            for (int f = 0; f < c->n; f++)
                if (c->e[f].kind == LIT_FENCE && acquires(&c->e[f]) && (c->po[r] >> f & 1))
                    tails |= (row)1 << f;
        }
        for (int h = 0; h < c->n; h++)
            if (heads >> h & 1)
                sw[h] |= tails;
    }
}

static bool is_sc_access(const struct event *e)
{
    return e->order == LIT_SC && e->kind != LIT_FENCE;
}

static bool is_sc_fence(const struct event *e)
{
    return e->order == LIT_SC && e->kind == LIT_FENCE;
}

static bool has_sc_order(const struct candidate *c, const row *hb, const row *eco, const row *sw)
{
    row s[MAX_EVENTS] = {0}, strong[MAX_EVENTS] = {0};
    int n = c->n;
    for (int a = 0; a < n; a++) {
        strong[a] = c->po[a];
        for (int b = 0; b < n; b++) {
            if ((sw[a] >> b & 1) && is_sc_access(&c->e[a]) && is_sc_access(&c->e[b]))
                strong[a] |= (row)1 << b;
            if (c->po[a] >> b & 1)
                for (int d = 0; d < n; d++)
                    if (hb[b] >> d & 1)
                        strong[a] |= c->po[d];
        }
    }
    close_relation(strong, n);
    for (int a = 0; a < n; a++) {
        if (c->e[a].kind == LIT_FENCE)
            continue;
        row from = is_sc_access(&c->e[a]) ? (row)1 << a : 0;
        for (int x = 0; x < n; x++)
            if (is_sc_fence(&c->e[x]) && (hb[x] >> a & 1))
                from |= (row)1 << x;
        for (int b = 0; b < n; b++) {
            if (!(eco[a] >> b & 1))
                continue;
            row to = is_sc_access(&c->e[b]) ? (row)1 << b : 0;
            for (int y = 0; y < n; y++)
                if (is_sc_fence(&c->e[y]) && (hb[b] >> y & 1))
                    to |= (row)1 << y;
            for (int x = 0; x < n; x++)
                if (from >> x & 1)
                    s[x] |= to;
        }
    }
    row all = 0;
    for (int i = 0; i < n; i++)
        if (c->e[i].order == LIT_SC && c->e[i].thread >= 0)
            all |= (row)1 << i;
    for (int i = 0; i < n; i++)
        if (all >> i & 1)
            s[i] |= strong[i] & all;
    close_relation(s, n);
    return !reflexive_somewhere(s, n);
}

static bool consistent(const struct candidate *c)
{
    row sw[MAX_EVENTS], hb[MAX_EVENTS] = {0}, eco[MAX_EVENTS] = {0}, thin[MAX_EVENTS];
    int n = c->n;
    memcpy(thin, c->po, sizeof thin);
    for (int r = 0; r < n; r++) {
        if (!c->e[r].reads)
            continue;
        int w = c->read_from[r];
        if (c->e[r].writes && c->mo_at[r] != c->mo_at[w] + 1)
            return false;
        thin[w] |= (row)1 << r;
        eco[w] |= (row)1 << r;
        const int *order = c->mo[c->e[r].location];
        for (int k = c->mo_at[w] + 1; k < c->mo_count[c->e[r].location]; k++)
            if (order[k] != r)
                eco[r] |= (row)1 << order[k];
    }
    for (int l = 0; l < c->program->locations; l++)
        for (int i = 0; i < c->mo_count[l]; i++)
            for (int k = i + 1; k < c->mo_count[l]; k++)
                eco[c->mo[l][i]] |= (row)1 << c->mo[l][k];
    close_relation(thin, n);
    if (!c->load_buffering && reflexive_somewhere(thin, n))
        return false;
    synchronises(c, sw);
    for (int i = 0; i < n; i++)
        hb[i] = c->po[i] | sw[i];
    close_relation(hb, n);
    close_relation(eco, n);
    if (reflexive_somewhere(hb, n) || reflexive_somewhere(eco, n))
        return false;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            if ((hb[a] >> b & 1) && (eco[b] >> a & 1))
                return false;
    return has_sc_order(c, hb, eco, sw);
}

static int value_of(const struct candidate *c, int w, int depth)
{
    const struct event *e = &c->e[w];
    if (e->kind == LIT_ADD && e->reads && depth < MAX_EVENTS)
        return value_of(c, c->read_from[w], depth + 1) + e->value;
    return e->value;
}

static void judge(const struct candidate *c)
{
    if (!consistent(c))
        return;
    int registers[LIT_REGISTERS] = {0}, memory[LIT_LOCATIONS] = {0};
    char text[LIT_TEXT];
    for (int i = 0; i < c->n; i++)
        if (c->e[i].reads)
            registers[c->e[i].reg] = value_of(c, c->read_from[i], 0);
    for (int l = 0; l < c->program->locations; l++)
        memory[l] = value_of(c, c->mo[l][c->mo_count[l] - 1], 0);
    lit_outcome_text(c->program, registers, memory, text);
    lit_add(c->set, text);
}

/* Orders of the writes of location l, from position k on; then the next
 * location. */
static void enumerate_mo(struct candidate *c, int l, int k)
{
    if (l == c->program->locations) {
        judge(c);
        return;
    }
    int *order = c->mo[l];
    if (k == c->mo_count[l]) {
        for (int i = 0; i < k; i++)
            c->mo_at[order[i]] = i;
        enumerate_mo(c, l + 1, 1);
        return;
    }
    for (int i = k; i < c->mo_count[l]; i++) {
        int w = order[i];
        order[i] = order[k];
        order[k] = w;
        enumerate_mo(c, l, k + 1);
        order[k] = order[i];
        order[i] = w;
    }
}

static void enumerate_rf(struct candidate *c, int r)
{
    while (r < c->n && !c->e[r].reads)
        r++;
    if (r == c->n) {
        enumerate_mo(c, 0, 1);
        return;
    }
    for (int w = 0; w < c->n; w++)
        if (w != r && c->e[w].writes && c->e[w].location == c->e[r].location) {
            c->read_from[r] = w;
            enumerate_rf(c, r + 1);
        }
}

void lit_axioms(const struct lit_program *p, bool load_buffering, struct lit_outcomes *set)
{
    static struct candidate c;
    memset(&c, 0, sizeof c);
    c.program = p;
    c.load_buffering = load_buffering;
    c.set = set;
    for (int l = 0; l < p->locations; l++)
        c.e[c.n++] = (struct event){.thread = -1, .location = l, .writes = true, .kind = LIT_STORE, .reg = -1};
    for (int t = 0; t < p->threads; t++)
        for (int i = 0; i < p->count[t]; i++) {
            const struct lit_op *o = &p->op[t][i];
            if (o->kind == LIT_FENCE && o->order == LIT_NONE)
                continue;
            bool reads = o->kind == LIT_LOAD || o->kind == LIT_ADD || o->kind == LIT_EXCHANGE;
            bool writes = o->kind == LIT_STORE || o->kind == LIT_ADD || o->kind == LIT_EXCHANGE;
            c.e[c.n++] = (struct event){.thread = t,
                                        .location = o->kind == LIT_FENCE ? -1 : o->location,
                                        .value = o->value,
                                        .reg = o->reg,
                                        .kind = o->kind,
                                        .order = o->order,
                                        .reads = reads,
                                        .writes = writes};
        }
    for (int a = 0; a < c.n; a++) {
        for (int b = 0; b < c.n; b++)
            if (a != b && ((c.e[a].thread < 0 && c.e[b].thread >= 0) ||
                           (c.e[a].thread == c.e[b].thread && c.e[a].thread >= 0 && a < b)))
                c.po[a] |= (row)1 << b;
        if (c.e[a].writes)
            c.mo[c.e[a].location][c.mo_count[c.e[a].location]++] = a;
    }
    enumerate_rf(&c, 0);
    lit_sort(set);
}
