/* SPDX-License-Identifier: MIT */
/* pq_run.c - the PostgreSQL engine's side of running: ends and claims in one round trip. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identity.h"
#include "pq.h"
#include "pq_array.h"
#include "why.h"

enum {
    FULL_LOOK_MS = 1000,     /* how often the claim reads below the watermarks */
    FULL_LOOK_SHARE = 20,    /* such a look may take one part in so many of the time: dead entries can make it long */
    FULL_LOOK_CHEAP_MS = 20, /* one that is faster is made whenever jobs are missing */
    FULL_LOOK_MOST_MS = 5000,
};

/* Whether the end goes into the one statement for plain completions. */
static bool is_plain(const struct vg_jobs_end *end)
{
    return end->outcome == VG_JOBS_COMPLETE && end->result == NULL && end->batch == 0;
}

static int send_end(struct vg_jobs_conn *conn, const struct vg_jobs_end *end)
{
    struct vg_pq_call call = {.count = 0};
    vg_pq_number(&call, (int64_t)end->id);
    vg_pq_number(&call, (int64_t)end->number);
    switch (end->outcome) {
    case VG_JOBS_AGAIN:
        vg_pq_number(&call, end->delay_ms);
        vg_pq_text_of(&call, end->error);
        vg_pq_bytes(&call, end->checkpoint, end->checkpoint_length);
        vg_pq_text_of(&call, end->verdict);
        return vg_pq_send(conn, VG_PQ_AGAIN, &call);
    case VG_JOBS_GIVE_BACK:
        vg_pq_bytes(&call, end->checkpoint, end->checkpoint_length);
        return vg_pq_send(conn, VG_PQ_GIVE_BACK, &call);
    case VG_JOBS_COMPLETE:
    case VG_JOBS_BURY:
    case VG_JOBS_CANCEL:
    default:
        vg_pq_number(&call, end->outcome == VG_JOBS_COMPLETE ? VIGIL_JOBS_COMPLETED
                            : end->outcome == VG_JOBS_BURY   ? VIGIL_JOBS_DEAD
                                                             : VIGIL_JOBS_CANCELLED);
        vg_pq_text_of(&call, end->error);
        vg_pq_bytes(&call, end->result, end->result_length);
        vg_pq_number(&call, end->outcome == VG_JOBS_BURY);
        vg_pq_text_of(&call, end->outcome != VG_JOBS_COMPLETE ? end->verdict : NULL);
        return vg_pq_send(conn, VG_PQ_END_ONE, &call);
    }
}

struct sent_ends {
    struct vg_jobs_end **plain; /* by number and id */
    size_t plain_count;
    bool released, ended;
};

static int by_number_and_id(const void *a, const void *b)
{
    const struct vg_jobs_end *x = *(struct vg_jobs_end *const *)a, *y = *(struct vg_jobs_end *const *)b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* The end of the group with one number that begins at `from`. Nearly always there is one group. */
static size_t group_end(const struct sent_ends *sent, size_t from)
{
    size_t to = from;
    while (to < sent->plain_count && sent->plain[to]->number == sent->plain[from]->number)
        to++;
    return to;
}

static int send_plain(struct vg_jobs_conn *conn, const struct sent_ends *sent)
{
    int error = 0;
    for (size_t from = 0, to; from < sent->plain_count && error == 0; from = to) {
        struct vg_pq_array ids = {0};
        to = group_end(sent, from);
        for (size_t i = from; i < to; i++)
            vg_pq_array_number(&ids, (int64_t)sent->plain[i]->id);
        struct vg_pq_call call = {.count = 0};
        vg_pq_text_of(&call, vg_pq_array_text(&ids));
        vg_pq_number(&call, (int64_t)sent->plain[from]->number);
        error = call.values[0] == NULL ? -ENOMEM : vg_pq_send(conn, VG_PQ_COMPLETE_MANY, &call);
        free(ids.text);
    }
    return error;
}

static int send_ends(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, struct sent_ends *sent)
{
    if (count > 0 && (sent->plain = malloc(count * sizeof *sent->plain)) == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (is_plain(ends[i]))
            sent->plain[sent->plain_count++] = ends[i];
    if (sent->plain_count > 1)
        qsort(sent->plain, sent->plain_count, sizeof *sent->plain, by_number_and_id);
    int error = send_plain(conn, sent);
    for (size_t i = 0; i < count && error == 0; i++) {
        if (!is_plain(ends[i]))
            error = send_end(conn, ends[i]);
        sent->ended = sent->ended || (ends[i]->outcome <= VG_JOBS_CANCEL && !is_plain(ends[i]));
        /* Another process may have left a job of a kind because of its cap. */
        sent->released = sent->released || ends[i]->outcome == VG_JOBS_AGAIN || ends[i]->outcome == VG_JOBS_GIVE_BACK ||
                         ends[i]->capped;
        if (error == 0 && ends[i]->batch != 0 && ends[i]->outcome != VG_JOBS_AGAIN &&
            ends[i]->outcome != VG_JOBS_GIVE_BACK) {
            struct vg_pq_call call = {.count = 0};
            vg_pq_number(&call, (int64_t)ends[i]->batch);
            error = vg_pq_send(conn, VG_PQ_BATCH_RELEASE, &call);
        }
    }
    if (error == 0 && sent->ended)
        error = vg_pq_send(conn, VG_PQ_NOTIFY_ENDED, NULL);
    if (error == 0 && sent->released) {
        struct vg_pq_call call = {.count = 0};
        vg_pq_text_of(&call, "w");
        error = vg_pq_send(conn, VG_PQ_NOTIFY, &call);
    }
    return error;
}

static int id_and_end(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = (*(struct vg_jobs_end *const *)b)->id;
    return (x > y) - (x < y);
}

static void read_plain(struct vg_jobs_conn *conn, const struct sent_ends *sent)
{
    for (size_t from = 0, to; from < sent->plain_count; from = to) {
        PGresult *result = vg_pq_next(conn);
        int rows = vg_pq_changed(result);
        to = group_end(sent, from);
        for (size_t i = from; i < to; i++)
            sent->plain[i]->accepted = false;
        for (int i = 0; i < rows; i++) {
            uint64_t id = (uint64_t)vg_pq_get_number(result, i, 0);
            struct vg_jobs_end **end = bsearch(&id, sent->plain + from, to - from, sizeof *sent->plain, id_and_end);
            if (end != NULL)
                (*end)->accepted = true;
        }
        PQclear(result);
    }
}

static void read_ends(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, const struct sent_ends *sent)
{
    read_plain(conn, sent);
    for (size_t i = 0; i < count; i++) {
        if (!is_plain(ends[i])) {
            PGresult *result = vg_pq_next(conn);
            ends[i]->accepted = vg_pq_changed(result) == 1;
            PQclear(result);
        }
        if (ends[i]->batch != 0 && ends[i]->outcome != VG_JOBS_AGAIN && ends[i]->outcome != VG_JOBS_GIVE_BACK)
            PQclear(vg_pq_next(conn));
    }
    if (sent->ended)
        PQclear(vg_pq_next(conn));
    if (sent->released)
        PQclear(vg_pq_next(conn));
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* The place of a kind in the want; rows of one kind come one after the other. */
static unsigned kind_of(const struct vg_jobs_want *want, const char *name, unsigned guess)
{
    for (unsigned n = 0; n < want->kind_count; n++) {
        unsigned kind = (guess + n) % want->kind_count;
        if (strcmp(want->kinds[kind].name, name) == 0)
            return kind;
    }
    return guess;
}

struct claimed_row {
    int64_t due, id;
    int class, row;
};

static int by_class_and_due(const void *a, const void *b)
{
    const struct claimed_row *x = a, *y = b;
    if (x->class != y->class)
        return x->class - y->class;
    if (x->due != y->due)
        return x->due < y->due ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

void vg_pq_take_row(struct vg_jobs_conn *conn, const PGresult *result, int i, unsigned kind, bool quarantined,
                    vg_jobs_take_fn take, void *arg)
{
    struct vg_jobs_row row = {
        .id = (uint64_t)vg_pq_get_number(result, i, 0),
        .number = (uint64_t)vg_pq_get_number(result, i, 1),
        .batch = (uint64_t)vg_pq_get_number(result, i, 2),
        .kind = kind,
        .priority = vg_pq_get_int(result, i, 3),
        .version = (unsigned)vg_pq_get_int(result, i, 4),
        .errors = (unsigned)vg_pq_get_int(result, i, 5),
        .crashes = (unsigned)vg_pq_get_int(result, i, 6),
        .max_errors = (unsigned)vg_pq_get_int(result, i, 7),
        .limit_ms = vg_pq_get_number(result, i, 8),
        .content_type = PQgetisnull(result, i, 9) ? NULL : PQgetvalue(result, i, 9),
        .payload = PQgetvalue(result, i, 10),
        .length = (size_t)PQgetlength(result, i, 10),
        .checkpoint = PQgetisnull(result, i, 11) ? NULL : PQgetvalue(result, i, 11),
        .checkpoint_length = (size_t)PQgetlength(result, i, 11),
        .quarantined = quarantined,
    };
    unsigned pair = kind * VIGIL_PRIORITIES + (unsigned)row.priority;
    int64_t due = vg_pq_get_number(result, i, 12);
    if (pair < conn->low_count && due > conn->low[pair])
        conn->low[pair] = due;
    take(arg, &row);
}

/* Hand the claimed rows over, by class and due time. The server gives them by id. Gives how many. */
static int take_rows(struct vg_jobs_conn *conn, const PGresult *result, const struct vg_jobs_want *want,
                     bool quarantined, vg_jobs_take_fn take, void *arg)
{
    int rows = vg_pq_changed(result);
    unsigned kind = 0;
    struct claimed_row *order = rows > 1 ? malloc((size_t)rows * sizeof *order) : NULL; /* NULL: by id then */
    for (int i = 0; i < rows && order != NULL; i++)
        order[i] = (struct claimed_row){.due = vg_pq_get_number(result, i, 12),
                                        .id = vg_pq_get_number(result, i, 0),
                                        .class = vg_pq_get_int(result, i, 3),
                                        .row = i};
    if (order != NULL)
        qsort(order, (size_t)rows, sizeof *order, by_class_and_due);
    for (int i = 0; i < rows; i++) {
        int row = order != NULL ? order[i].row : i;
        kind = kind_of(want, vg_pq_get_text(result, row, 13), kind);
        vg_pq_take_row(conn, result, row, kind, quarantined, take, arg);
    }
    free(order);
    return rows;
}

static bool is_limited(const struct vg_jobs_kind_want *kind)
{
    return kind->cap != 0 || kind->rate != 0 || kind->fair;
}

int64_t vg_pq_version_of(const struct vg_jobs_kind_want *kind)
{
    return kind->version != 0 && kind->version < INT_MAX ? (int64_t)kind->version : INT_MAX;
}

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

static bool list_pairs(const struct vg_jobs_conn *conn, const struct vg_jobs_want *want, bool full,
                       struct claim_arrays *arrays)
{
    for (int c = 0; c < VIGIL_PRIORITIES; c++)
        for (unsigned n = 0; n < want->kind_count; n++) {
            unsigned kind = (want->first_kind + n) % want->kind_count;
            if (is_limited(&want->kinds[kind]))
                continue;
            unsigned pair = kind * VIGIL_PRIORITIES + (unsigned)want->classes[c];
            vg_pq_array_string(&arrays->kinds, want->kinds[kind].name);
            vg_pq_array_number(&arrays->classes, want->classes[c]);
            vg_pq_array_number(&arrays->versions, vg_pq_version_of(&want->kinds[kind]));
            vg_pq_array_number(&arrays->low, full || pair >= conn->low_count ? 0 : conn->low[pair]);
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
    vg_pq_number(&call, count);
    return vg_pq_send(conn, VG_PQ_CLAIM, &call);
}

void vg_pq_spend(struct vg_jobs_conn *conn, const struct vg_jobs_kind_want *kind, int taken)
{
    struct vg_pq_call spend = {.count = 0};
    char rate[24];
    (void)snprintf(rate, sizeof rate, "%u", kind->rate);
    vg_pq_text_of(&spend, kind->name);
    vg_pq_text_of(&spend, rate);
    vg_pq_number(&spend, taken);
    (void)vg_pq_run(conn, VG_PQ_SPEND, &spend, NULL); /* if it fails a few more start in this second */
}

/* A kind with a cap or a rate: a transaction of its own, because the count must be taken under the lock. */
static int claim_limited(struct vg_jobs_conn *conn, const struct vg_pq_taker *taker, unsigned kind, unsigned count)
{
    const struct vg_jobs_kind_want *it = &taker->want->kinds[kind];
    struct vg_pq_call lock = {.count = 0}, claim = {.count = 0};
    char rate[24];
    vg_pq_text_of(&lock, it->name);
    vg_pq_number(&claim, taker->want->lease_ms);
    vg_pq_number(&claim, conn->worker);
    vg_pq_text_of(&claim, it->name);
    vg_pq_number(&claim, vg_pq_version_of(it));
    vg_pq_number(&claim, it->cap);
    (void)snprintf(rate, sizeof rate, "%u", it->rate);
    vg_pq_text_of(&claim, rate);
    vg_pq_number(&claim, count);
    int error = vg_pq_send(conn, VG_PQ_LOCK_KIND, &lock);
    if (error == 0)
        error = vg_pq_send(conn, VG_PQ_CLAIM_LIMITED, &claim);
    if (error == 0)
        error = vg_pq_sync(conn);
    if (error != 0)
        return error;
    PQclear(vg_pq_next(conn));
    PGresult *result = vg_pq_next(conn);
    error = vg_pq_finish(conn, 0);
    int taken = error == 0 ? take_rows(conn, result, taker->want, false, taker->take, taker->arg) : 0;
    PQclear(result);
    if (error == 0 && taken > 0 && it->rate != 0)
        vg_pq_spend(conn, it, taken);
    return error != 0 ? error : taken;
}

static int claim_quarantined(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, vg_jobs_take_fn take,
                             void *arg)
{
    struct vg_pq_array kinds = {0}, versions = {0};
    for (unsigned i = 0; i < want->kind_count; i++) {
        vg_pq_array_string(&kinds, want->kinds[i].name);
        vg_pq_array_number(&versions, vg_pq_version_of(&want->kinds[i]));
    }
    struct vg_pq_call call = {.count = 0};
    vg_pq_number(&call, want->lease_ms);
    vg_pq_number(&call, conn->worker);
    vg_pq_text_of(&call, vg_pq_array_text(&kinds));
    vg_pq_text_of(&call, vg_pq_array_text(&versions));
    PGresult *result = NULL;
    int taken = call.values[2] == NULL || call.values[3] == NULL
                    ? -ENOMEM
                    : vg_pq_run(conn, VG_PQ_CLAIM_QUARANTINE, &call, &result);
    if (taken == 0) {
        taken = take_rows(conn, result, want, true, take, arg);
        PQclear(result);
    }
    free(kinds.text);
    free(versions.text);
    return taken;
}

int vg_pq_quarantined(struct vg_jobs_conn *conn, const struct vg_jobs_want *want)
{
    struct vg_pq_array kinds = {0}, versions = {0};
    for (unsigned i = 0; i < want->kind_count; i++) {
        vg_pq_array_string(&kinds, want->kinds[i].name);
        vg_pq_array_number(&versions, vg_pq_version_of(&want->kinds[i]));
    }
    struct vg_pq_call call = {.count = 0};
    vg_pq_text_of(&call, vg_pq_array_text(&kinds));
    vg_pq_text_of(&call, vg_pq_array_text(&versions));
    PGresult *result = NULL;
    int found =
        call.values[0] == NULL || call.values[1] == NULL ? -ENOMEM : vg_pq_run(conn, VG_PQ_QUARANTINED, &call, &result);
    if (found == 0) {
        found = PQntuples(result) > 0;
        PQclear(result);
    }
    free(kinds.text);
    free(versions.text);
    return found;
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
    bool whole = kinds.text != NULL && classes.text != NULL && versions.text != NULL && steps.text != NULL;
    int error = whole ? vg_pq_send(conn, VG_PQ_NEXT, &call) : -ENOMEM;
    free(kinds.text);
    free(classes.text);
    free(versions.text);
    free(steps.text);
    return error;
}

static void read_next(struct vg_jobs_conn *conn, int64_t *due)
{
    PGresult *result = vg_pq_next(conn);
    if (vg_pq_changed(result) == 1) {
        int64_t left = vg_pq_get_number(result, 0, 0);
        if (!PQgetisnull(result, 0, 0))
            *due = left < 0 ? 0 : left;
        if (!PQgetisnull(result, 0, 1))
            conn->lease_low = vg_pq_get_number(result, 0, 1);
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

/* Ends, the claim of the plain kinds and the time of the next look: one transaction and one round trip. due is NULL if
   it is not asked for. */
static int exchange_once(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t end_count,
                         const struct vg_jobs_want *want, bool full, vg_jobs_take_fn take, void *arg, int *claimed,
                         int64_t *due)
{
    struct sent_ends sent = {0};
    struct claim_arrays arrays = {0};
    PGresult *rows = NULL;
    *claimed = 0;
    int error = want->count > 0 && !list_pairs(conn, want, full, &arrays) ? -ENOMEM : 0;
    if (error == 0)
        error = send_ends(conn, ends, end_count, &sent);
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
    read_ends(conn, ends, end_count, &sent);
    if (claims)
        rows = vg_pq_next(conn);
    if (due != NULL)
        read_next(conn, due);
    error = vg_pq_finish(conn, 0);
    if (error == 0 && rows != NULL)
        *claimed = take_rows(conn, rows, want, false, take, arg);
out:
    PQclear(rows);
    free(sent.plain);
    free_arrays(&arrays);
    return error;
}

/* Forget the watermarks for this look, and say when the next such look is. */
static void begin_full_look(struct vg_jobs_conn *conn)
{
    if (conn->low != NULL)
        memset(conn->low, 0, conn->low_count * sizeof *conn->low);
}

static void end_full_look(struct vg_jobs_conn *conn, uint64_t began)
{
    uint64_t now = vg_pq_now_ms(), rest = (now - began) * FULL_LOOK_SHARE;
    conn->full_look_cheap = now - began <= FULL_LOOK_CHEAP_MS;
    if (rest < FULL_LOOK_MS || conn->full_look_cheap)
        rest = FULL_LOOK_MS;
    conn->full_look_at = now + (rest < FULL_LOOK_MOST_MS ? rest : FULL_LOOK_MOST_MS);
}

/* Kinds with a cap or a rate, and quarantined jobs: transactions of their own. */
static int claim_others(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, vg_jobs_take_fn take, void *arg,
                        unsigned *claimed)
{
    int taken = 0;
    for (unsigned i = 0; i < want->kind_count && *claimed < want->count && taken >= 0; i++)
        if (is_limited(&want->kinds[i])) {
            struct vg_pq_taker taker = {.want = want, .take = take, .arg = arg};
            taken = want->kinds[i].fair ? vg_pq_claim_fair(conn, &taker, i, want->count - *claimed)
                                        : claim_limited(conn, &taker, i, want->count - *claimed);
            *claimed += taken > 0 ? (unsigned)taken : 0;
        }
    if (taken >= 0 && *claimed == 0 && want->alone) {
        taken = claim_quarantined(conn, want, take, arg);
        *claimed += taken > 0 ? (unsigned)taken : 0;
    }
    return taken < 0 ? taken : 0;
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
        conn->low = calloc((size_t)want->kind_count * VIGIL_PRIORITIES, sizeof *conn->low);
        conn->low_count = conn->low != NULL ? want->kind_count * VIGIL_PRIORITIES : 0;
    }
    int claimed = 0;
    if (want->alone && want->quarantine_first && want->count > 0) {
        struct vg_jobs_want none = {.count = 0};
        error = exchange_once(conn, ends, end_count, &none, false, take, arg, &claimed, NULL);
        if (error != 0)
            return error;
        int taken = claim_quarantined(conn, want, take, arg);
        if (taken != 0) { /* an error ends the claiming alone: the ends are recorded */
            next->claimed = taken > 0 ? (unsigned)taken : 0;
            next->due_ms = taken > 0 ? -1 : 100;
            return 0;
        }
        end_count = 0;
    }
    uint64_t now = vg_pq_now_ms();
    /* When jobs were missing they may be missing again: everything in one round trip. */
    bool was_short = conn->was_short && want->count > 0;
    bool full = want->count > 0 && (now >= conn->full_look_at || (was_short && conn->full_look_cheap));
    if (full)
        begin_full_look(conn);
    error = exchange_once(conn, ends, end_count, want, full, take, arg, &claimed, was_short ? &next->due_ms : NULL);
    if (error != 0)
        return error;
    if (full)
        end_full_look(conn, now);
    next->claimed = (unsigned)claimed;
    conn->was_short = want->count > 0 && next->claimed < want->count;
    if (!conn->was_short) {
        next->due_ms = -1;
        return 0;
    }
    /* From here on the ends are recorded: later errors end the claiming alone. */
    if (!was_short) {
        struct vg_jobs_want rest = *want;
        now = vg_pq_now_ms();
        full = conn->full_look_cheap || now >= conn->full_look_at;
        if (full)
            begin_full_look(conn);
        rest.count = want->count - next->claimed;
        next->due_ms = -1;
        error = exchange_once(conn, NULL, 0, &rest, full, take, arg, &claimed, &next->due_ms);
        if (error == 0 && full)
            end_full_look(conn, now);
        next->claimed += error == 0 ? (unsigned)claimed : 0;
    }
    if (error == 0)
        error = claim_others(conn, want, take, arg, &next->claimed);
    now = vg_pq_now_ms();
    int64_t again = error != 0 ? 100 : full ? -1 : conn->full_look_at > now ? (int64_t)(conn->full_look_at - now) : 0;
    if (again >= 0 && (next->due_ms < 0 || again < next->due_ms))
        next->due_ms = again;
    return 0;
}
