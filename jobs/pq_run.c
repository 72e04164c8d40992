/* SPDX-License-Identifier: MIT */
/* pq_run.c - the PostgreSQL engine's side of running: claims, and one round trip for them and the ends. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identity.h"
#include "pq.h"
#include "pq_array.h"
#include "pq_looks.h"

enum {
    BEYOND_POLL_MS = 1000, /* leases that run out later than this after the next slow poll are not looked for */
    BESIDE_LEAST = 64,     /* ends, and jobs wanted: fewer share one transaction, which is one sync of the disk */
};

struct claim_arrays {
    struct vg_pq_array kinds, classes, versions, low;
    unsigned pairs;
};

static void free_arrays(struct claim_arrays *arrays)
{
    free(arrays->kinds.text);
    free(arrays->classes.text);
    free(arrays->versions.text);
    free(arrays->low.text);
}

/* Some of the turns of a claim: of classes in their order and, in each, of kinds in rotation. */
struct turns {
    unsigned from, to;
    bool limited; /* those of kinds with a cap, a rate or tenants; otherwise the others */
};

static unsigned all_turns(const struct vg_jobs_want *want)
{
    return want->kind_count * VIGIL_PRIORITIES;
}

static unsigned kind_in_turn(const struct vg_jobs_want *want, unsigned turn)
{
    return (want->first_kind + turn % want->kind_count) % want->kind_count;
}

static bool list_pairs(const struct vg_jobs_conn *conn, const struct vg_jobs_want *want, struct turns turns,
                       struct claim_arrays *arrays)
{
    for (unsigned turn = turns.from; turn < turns.to; turn++) {
        unsigned kind = kind_in_turn(want, turn);
        int class = want->classes[turn / want->kind_count];
        if (vg_pq_is_limited(&want->kinds[kind]) != turns.limited)
            continue;
        unsigned pair = kind * VIGIL_PRIORITIES + (unsigned)class;
        vg_pq_array_string(&arrays->kinds, want->kinds[kind].name);
        vg_pq_array_number(&arrays->classes, class);
        vg_pq_array_number(&arrays->versions, vg_pq_version_of(&want->kinds[kind]));
        vg_pq_array_number(&arrays->low, pair < conn->low_count ? conn->low[pair] : 0);
        arrays->pairs++;
    }
    return vg_pq_array_text(&arrays->kinds) != NULL && vg_pq_array_text(&arrays->classes) != NULL &&
           vg_pq_array_text(&arrays->versions) != NULL && vg_pq_array_text(&arrays->low) != NULL;
}

static int send_claim(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, unsigned count,
                      const struct claim_arrays *arrays)
{
    struct vg_pq_call call = {.count = 0};
    vg_pq_number(&call, want->lease_ms);
    vg_pq_number(&call, conn->worker);
    vg_pq_text_of(&call, arrays->kinds.text);
    vg_pq_text_of(&call, arrays->classes.text);
    vg_pq_text_of(&call, arrays->versions.text);
    vg_pq_text_of(&call, arrays->low.text);
    if (count == 1)
        return vg_pq_send(conn, VG_PQ_CLAIM_ONE, &call);
    vg_pq_number(&call, count);
    return vg_pq_send(conn, VG_PQ_CLAIM, &call);
}

/* When to look again if nobody rings. In the pipeline of the claim: see VG_PQ_NEXT. */
static int send_next(struct vg_jobs_conn *conn, const struct vg_jobs_want *want)
{
    struct vg_pq_array kinds = {0}, classes = {0}, versions = {0}, steps = {0};
    for (unsigned i = 0; i < want->kind_count; i++)
        for (int c = 0; c < VIGIL_PRIORITIES; c++) {
            const struct vg_jobs_kind_want *kind = &want->kinds[i];
            vg_pq_array_string(&kinds, kind->name);
            vg_pq_array_number(&classes, c);
            vg_pq_array_number(&versions, vg_pq_version_of(kind));
            unsigned rate = kind->tenant_rate != 0 ? kind->tenant_rate : kind->rate;
            vg_pq_array_number(&steps, rate != 0 ? 1000 / rate + 1 : 0);
        }
    struct vg_pq_call call = {.count = 0};
    vg_pq_text_of(&call, vg_pq_array_text(&kinds));
    vg_pq_text_of(&call, vg_pq_array_text(&classes));
    vg_pq_text_of(&call, vg_pq_array_text(&versions));
    vg_pq_text_of(&call, vg_pq_array_text(&steps));
    vg_pq_text_of(&call, want->alone ? "t" : "f");
    vg_pq_number(&call, conn->lease_low);
    vg_pq_number(&call, conn->site->poll_ms + BEYOND_POLL_MS);
    char *bad = vg_pq_bad_ids(conn);
    vg_pq_text_of(&call, bad);
    bool whole =
        kinds.text != NULL && classes.text != NULL && versions.text != NULL && steps.text != NULL && bad != NULL;
    int error = whole ? vg_pq_send(conn, VG_PQ_NEXT, &call) : -ENOMEM;
    free(kinds.text);
    free(classes.text);
    free(versions.text);
    free(steps.text);
    free(bad);
    return error;
}

static void read_next(struct vg_jobs_conn *conn, int64_t *due)
{
    PGresult *result = vg_pq_next(conn);
    if (vg_pq_changed(result) == 1) {
        int64_t left = vg_pq_get_number(result, 0, 0);
        if (!PQgetisnull(result, 0, 0))
            *due = left < 0 ? 0 : left;
        conn->lease_low = vg_pq_get_number(result, 0, PQgetisnull(result, 0, 1) ? 2 : 1);
    }
    PQclear(result);
}

static int register_worker(struct vg_jobs_conn *conn)
{
    char identity[96], name[96];
    vg_jobs_identity(identity, sizeof identity, name, sizeof name);
    struct vg_pq_call call = {.count = 0};
    vg_pq_text_of(&call, name);
    vg_pq_text_of(&call, identity);
    PGresult *result = NULL;
    int error = vg_pq_run(conn, VG_PQ_WORKER, &call, &result);
    if (error == 0)
        conn->worker = vg_pq_get_number(result, 0, 0);
    PQclear(result);
    return error;
}

/* Ends, the claim of the plain kinds in these turns and the time of the next look: one transaction and one round trip.
   due is NULL if it is not asked for. */
static int exchange_turns(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t end_count,
                          const struct vg_jobs_want *want, struct turns turns, vg_jobs_take_fn take, void *arg,
                          int *claimed, int64_t *due)
{
    struct vg_pq_sent sent = {0};
    struct claim_arrays arrays = {0};
    PGresult *rows = NULL;
    *claimed = 0;
    int error = want->count > 0 && !list_pairs(conn, want, turns, &arrays) ? -ENOMEM : 0;
    if (error == 0)
        error = vg_pq_send_ends(conn, ends, end_count, &sent);
    bool claims = want->count > 0 && arrays.pairs > 0;
    if (error == 0 && claims)
        error = send_claim(conn, want, want->count, &arrays);
    if (error == 0 && due != NULL)
        error = send_next(conn, want);
    if (error == 0 && (claims || due != NULL || end_count > 0))
        error = vg_pq_sync(conn);
    else if (error == 0)
        goto out;
    if (error != 0) {
        conn->broken = true; /* a pipeline without its end */
        goto out;
    }
    vg_pq_read_ends(conn, ends, end_count, &sent);
    if (claims)
        rows = vg_pq_next(conn);
    if (due != NULL)
        read_next(conn, due);
    error = vg_pq_finish(conn, 0);
    if (error == 0 && rows != NULL)
        *claimed = vg_pq_take_rows(conn, rows, want, false, take, arg);
out:
    PQclear(rows);
    free(sent.plain);
    free_arrays(&arrays);
    return error;
}

static int exchange_once(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t end_count,
                         const struct vg_jobs_want *want, vg_jobs_take_fn take, void *arg, int *claimed, int64_t *due)
{
    struct turns all = {.to = all_turns(want)};
    return exchange_turns(conn, ends, end_count, want, all, take, arg, claimed, due);
}

/* Kinds with a cap, a rate or tenants, and quarantined jobs: transactions of their own. */
static int claim_others(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, vg_jobs_take_fn take, void *arg,
                        unsigned *claimed)
{
    struct vg_pq_taker taker = {
        .want = want, .take = take, .arg = arg, .classes = want->classes, .class_count = VIGIL_PRIORITIES};
    int taken = 0;
    for (unsigned n = 0; n < want->kind_count && *claimed < want->count && taken >= 0; n++) {
        unsigned kind = kind_in_turn(want, n);
        if (vg_pq_is_limited(&want->kinds[kind])) {
            taken = vg_pq_claim_kind(conn, &taker, kind, want->count - *claimed);
            *claimed += taken > 0 ? (unsigned)taken : 0;
        }
    }
    if (taken >= 0 && *claimed == 0 && want->alone) {
        taken = vg_pq_claim_quarantined(conn, want, take, arg);
        *claimed += taken > 0 ? (unsigned)taken : 0;
    }
    return taken < 0 ? taken : 0;
}

/* The turns of limited kinds in which a job is due. Gives how many; *list is the caller's. */
static int find_limited(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, unsigned **list)
{
    struct claim_arrays arrays = {0};
    struct turns turns = {.to = all_turns(want), .limited = true};
    PGresult *result = NULL;
    int found = list_pairs(conn, want, turns, &arrays) ? 0 : -ENOMEM;
    if (found == 0 && arrays.pairs > 0) {
        struct vg_pq_call call = {.count = 0};
        vg_pq_text_of(&call, arrays.kinds.text);
        vg_pq_text_of(&call, arrays.classes.text);
        vg_pq_text_of(&call, arrays.versions.text);
        found = vg_pq_run(conn, VG_PQ_LIMITED_DUE, &call, &result);
    }
    free_arrays(&arrays);
    int rows = found == 0 && result != NULL ? PQntuples(result) : 0, row = 0;
    if (rows > 0 && (*list = malloc((size_t)rows * sizeof **list)) == NULL)
        found = -ENOMEM;
    /* The server counts the turns that it was asked about. */
    int64_t asked = 0;
    for (unsigned turn = 0; turn < turns.to && row < rows && found >= 0; turn++)
        if (vg_pq_is_limited(&want->kinds[kind_in_turn(want, turn)]) && ++asked == vg_pq_get_number(result, row, 0)) {
            (*list)[found++] = turn;
            row++;
        }
    PQclear(result);
    return found;
}

static bool needs_turns(const struct vg_jobs_want *want)
{
    bool any = false;
    for (unsigned i = 0; i < want->kind_count; i++)
        any = any || vg_pq_is_limited(&want->kinds[i]);
    return any && want->count > 0 && want->kind_count > 1;
}

/* One statement claims all plain kinds, and would leave no place to limited ones for as long as plain jobs wait. So
   where limited kinds have due jobs, the plain kinds are claimed up to there, then the limited one, and so on. The ends
   go with the first transaction; *end_count is 0 when they are recorded. */
static int claim_in_turns(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t *end_count,
                          const struct vg_jobs_want *want, vg_jobs_take_fn take, void *arg, unsigned *claimed)
{
    unsigned *list = NULL, from = 0;
    int found = find_limited(conn, want, &list), error = found < 0 ? found : 0;
    enum vg_pq_depth look = found > 0 ? vg_pq_look_choose(conn, false) : VG_PQ_LOOK_ABOVE;
    uint64_t began = vg_pq_look_begin(conn, look);
    for (int i = 0; i < found && list != NULL && error == 0 && *claimed < want->count; i++) {
        struct turns before = {.from = from, .to = list[i]};
        struct vg_jobs_want rest = *want;
        struct vg_pq_taker taker = {.want = want,
                                    .take = take,
                                    .arg = arg,
                                    .classes = &want->classes[list[i] / want->kind_count],
                                    .class_count = 1};
        int taken = 0;
        rest.count -= *claimed;
        error = exchange_turns(conn, ends, *end_count, &rest, before, take, arg, &taken, NULL);
        *end_count = error == 0 ? 0 : *end_count;
        *claimed += error == 0 ? (unsigned)taken : 0;
        if (error == 0 && *claimed < want->count) {
            taken = vg_pq_claim_kind(conn, &taker, kind_in_turn(want, list[i]), want->count - *claimed);
            error = taken < 0 ? taken : 0;
            *claimed += taken > 0 ? (unsigned)taken : 0;
        }
        from = list[i] + 1;
    }
    vg_pq_look_end(conn, look, began, false);
    free(list);
    return error;
}

/* Ends, plain kinds, and if these leave places, the others. */
static int exchange_all(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t end_count,
                        const struct vg_jobs_want *want, vg_jobs_take_fn take, void *arg, struct vg_jobs_next *next)
{
    int claimed = 0;
    /* When jobs were missing they may be missing again: everything in one round trip. */
    bool was_short = conn->was_short && want->count > 0;
    enum vg_pq_depth look = want->count > 0 ? vg_pq_look_choose(conn, was_short) : VG_PQ_LOOK_ABOVE;
    uint64_t began = vg_pq_look_begin(conn, look);
    int error = exchange_once(conn, ends, end_count, want, take, arg, &claimed, was_short ? &next->due_ms : NULL);
    if (error != 0)
        return error;
    vg_pq_look_end(conn, look, began, (unsigned)claimed < want->count);
    next->claimed = (unsigned)claimed;
    conn->was_short = want->count > 0 && next->claimed < want->count;
    if (!conn->was_short) {
        next->due_ms = -1;
        return 0;
    }
    /* From here on the ends are recorded: later errors end the claiming alone. */
    if (!was_short) {
        struct vg_jobs_want rest = *want;
        look = vg_pq_look_choose(conn, true);
        began = vg_pq_look_begin(conn, look);
        rest.count = want->count - next->claimed;
        next->due_ms = -1;
        error = exchange_once(conn, NULL, 0, &rest, take, arg, &claimed, &next->due_ms);
        if (error == 0)
            vg_pq_look_end(conn, look, began, (unsigned)claimed < rest.count);
        next->claimed += error == 0 ? (unsigned)claimed : 0;
    }
    if (error == 0)
        error = claim_others(conn, want, take, arg, &next->claimed);
    uint64_t now = vg_pq_now_ms(), look_at = conn->full_look_at;
    if (look == VG_PQ_LOOK_ABOVE && conn->recent_look_at < look_at)
        look_at = conn->recent_look_at;
    int64_t again = error != 0 ? 100 : look == VG_PQ_LOOK_FULL ? -1 : look_at > now ? (int64_t)(look_at - now) : 0;
    if (again >= 0 && (next->due_ms < 0 || again < next->due_ms))
        next->due_ms = again;
    return 0;
}

/* Large numbers of ends and a large claim: the server works on both at the same time. Not with limits, whose counts
   must see the ends. */
static bool is_large(const struct vg_jobs_want *want, size_t end_count)
{
    bool limited = false;
    for (unsigned i = 0; i < want->kind_count; i++)
        limited = limited || vg_pq_is_limited(&want->kinds[i]);
    return end_count >= BESIDE_LEAST && want->count >= BESIDE_LEAST && !limited;
}

static int exchange_beside(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t end_count,
                           const struct vg_jobs_want *want, vg_jobs_take_fn take, void *arg, struct vg_jobs_next *next)
{
    struct vg_pq_sent sent = {0};
    int error = vg_pq_send_beside(conn, ends, end_count, &sent);
    if (error != 0)
        return exchange_all(conn, ends, end_count, want, take, arg, next);
    error = exchange_all(conn, NULL, 0, want, take, arg, next);
    next->unrecorded = vg_pq_read_beside(conn, ends, end_count, &sent);
    if (error != 0 && next->unrecorded == 0) { /* an error of the claim ends the claiming alone */
        next->due_ms = 100;
        error = 0;
    }
    return error;
}

int vg_pq_exchange(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t end_count,
                   const struct vg_jobs_want *want, vg_jobs_take_fn take, void *arg, struct vg_jobs_next *next)
{
    *next = (struct vg_jobs_next){.due_ms = -1};
    int error = vg_pq_connected(conn);
    if (error == 0 && conn->worker == 0)
        error = register_worker(conn);
    if (error != 0)
        return error;
    if (conn->low == NULL && want->kind_count > 0) {
        size_t pairs = (size_t)want->kind_count * VIGIL_PRIORITIES;
        conn->low = calloc(pairs * 2, sizeof *conn->low);
        conn->low_recent = conn->low != NULL ? conn->low + pairs : NULL;
        conn->low_count = conn->low != NULL ? (unsigned)pairs : 0;
    }
    size_t unrecorded = end_count;
    if (want->alone && want->quarantine_first && want->count > 0) {
        struct vg_jobs_want none = {.count = 0};
        int none_claimed;
        error = exchange_once(conn, ends, end_count, &none, take, arg, &none_claimed, NULL);
        if (error != 0)
            return error;
        int taken = vg_pq_claim_quarantined(conn, want, take, arg);
        if (taken != 0) { /* an error ends the claiming alone: the ends are recorded */
            next->claimed = taken > 0 ? (unsigned)taken : 0;
            next->due_ms = taken > 0 ? -1 : 100;
            return 0;
        }
        unrecorded = 0;
    }
    struct vg_jobs_want rest = *want;
    unsigned in_turns = 0;
    if (needs_turns(want)) {
        error = claim_in_turns(conn, ends, &unrecorded, want, take, arg, &in_turns);
        rest.count -= in_turns;
        rest.alone = rest.alone && in_turns == 0;
    }
    if (in_turns > 0 && rest.count == 0)
        conn->was_short = false;
    else if (error == 0 && is_large(&rest, unrecorded))
        error = exchange_beside(conn, ends, unrecorded, &rest, take, arg, next);
    else if (error == 0)
        error = exchange_all(conn, ends, unrecorded, &rest, take, arg, next);
    next->claimed += in_turns;
    if (error != 0 && (in_turns > 0 || unrecorded < end_count)) { /* the same here */
        next->due_ms = 100;
        error = 0;
    }
    return error != 0 && conn->bad_row ? -EBADMSG : error;
}
