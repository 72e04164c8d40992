/* SPDX-License-Identifier: MIT */
/* pq_run.c - the PostgreSQL engine's side of running: ends and claims in one round trip, beats, rescue. */
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
    FULL_LOOK_MS = 1000, /* how often the claim reads below the watermarks */
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
        return vg_pq_send(conn, VG_PQ_END_ONE, &call);
    }
}

struct sent_ends {
    size_t plain, batches;
    bool released, ended;
    struct vg_pq_array ids, numbers;
};

static int send_ends(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, struct sent_ends *sent)
{
    int error = 0;
    for (size_t i = 0; i < count; i++)
        if (is_plain(ends[i])) {
            vg_pq_array_number(&sent->ids, (int64_t)ends[i]->id);
            vg_pq_array_number(&sent->numbers, (int64_t)ends[i]->number);
            sent->plain++;
        }
    if (sent->plain > 0) {
        struct vg_pq_call call = {.count = 0};
        vg_pq_text_of(&call, vg_pq_array_text(&sent->ids));
        vg_pq_text_of(&call, vg_pq_array_text(&sent->numbers));
        error =
            call.values[0] == NULL || call.values[1] == NULL ? -ENOMEM : vg_pq_send(conn, VG_PQ_COMPLETE_MANY, &call);
    }
    for (size_t i = 0; i < count && error == 0; i++) {
        if (!is_plain(ends[i]))
            error = send_end(conn, ends[i]);
        sent->ended = sent->ended || ends[i]->outcome <= VG_JOBS_CANCEL;
        sent->released = sent->released || ends[i]->outcome == VG_JOBS_AGAIN || ends[i]->outcome == VG_JOBS_GIVE_BACK;
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

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void read_plain(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count)
{
    PGresult *result = vg_pq_next(conn);
    int rows = vg_pq_changed(result);
    int64_t *accepted = malloc(((size_t)rows + 1) * sizeof *accepted);
    for (int i = 0; i < rows && accepted != NULL; i++)
        accepted[i] = vg_pq_get_number(result, i, 0);
    if (accepted != NULL)
        qsort(accepted, (size_t)rows, sizeof *accepted, by_id);
    for (size_t i = 0; i < count; i++) {
        int64_t id = (int64_t)ends[i]->id;
        /* Without memory nobody can tell: they have been recorded. */
        if (is_plain(ends[i]))
            ends[i]->accepted = accepted == NULL || bsearch(&id, accepted, (size_t)rows, sizeof id, by_id) != NULL;
    }
    free(accepted);
    PQclear(result);
}

static void read_ends(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, const struct sent_ends *sent)
{
    if (sent->plain > 0)
        read_plain(conn, ends, count);
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

/* Hand the claimed rows over, by class and due time as they were asked for. Gives how many. */
static int take_rows(struct vg_jobs_conn *conn, PGresult *result, const struct vg_jobs_want *want, int kind,
                     bool quarantined, vg_jobs_take_fn take, void *arg)
{
    int rows = vg_pq_changed(result);
    for (int i = 0; i < rows; i++) {
        int index = kind >= 0 ? kind : vg_pq_get_int(result, i, 13);
        struct vg_jobs_row row = {
            .id = (uint64_t)vg_pq_get_number(result, i, 0),
            .number = (uint64_t)vg_pq_get_number(result, i, 1),
            .batch = (uint64_t)vg_pq_get_number(result, i, 2),
            .kind = (unsigned)index,
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
        unsigned pair = (unsigned)index * VIGIL_PRIORITIES + (unsigned)row.priority;
        int64_t due = vg_pq_get_number(result, i, 12);
        if (pair < conn->low_count && due > conn->low[pair])
            conn->low[pair] = due;
        take(arg, &row);
    }
    (void)want;
    return rows;
}

static bool is_limited(const struct vg_jobs_kind_want *kind)
{
    return kind->cap != 0 || kind->rate != 0;
}

static int64_t version_of(const struct vg_jobs_kind_want *kind)
{
    return kind->version != 0 && kind->version < INT_MAX ? (int64_t)kind->version : INT_MAX;
}

struct claim_arrays {
    struct vg_pq_array kinds, classes, versions, low, places;
    unsigned pairs;
};

static void free_arrays(struct claim_arrays *arrays)
{
    free(arrays->kinds.text);
    free(arrays->classes.text);
    free(arrays->versions.text);
    free(arrays->low.text);
    free(arrays->places.text);
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
            vg_pq_array_number(&arrays->versions, version_of(&want->kinds[kind]));
            vg_pq_array_number(&arrays->low, full || pair >= conn->low_count ? 0 : conn->low[pair]);
            vg_pq_array_number(&arrays->places, kind);
            arrays->pairs++;
        }
    return vg_pq_array_text(&arrays->kinds) != NULL && vg_pq_array_text(&arrays->classes) != NULL &&
           vg_pq_array_text(&arrays->versions) != NULL && vg_pq_array_text(&arrays->low) != NULL &&
           vg_pq_array_text(&arrays->places) != NULL;
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
    vg_pq_text_of(&call, arrays->places.text);
    vg_pq_number(&call, count);
    return vg_pq_send(conn, VG_PQ_CLAIM, &call);
}

/* A kind with a cap or a rate: a transaction of its own, because the count must be taken under the lock. */
static int claim_limited(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, unsigned kind, unsigned count,
                         vg_jobs_take_fn take, void *arg)
{
    const struct vg_jobs_kind_want *it = &want->kinds[kind];
    struct vg_pq_call lock = {.count = 0}, claim = {.count = 0};
    char rate[24];
    vg_pq_text_of(&lock, it->name);
    vg_pq_number(&claim, want->lease_ms);
    vg_pq_number(&claim, conn->worker);
    vg_pq_text_of(&claim, it->name);
    vg_pq_number(&claim, version_of(it));
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
    int taken = error == 0 ? take_rows(conn, result, want, (int)kind, false, take, arg) : 0;
    PQclear(result);
    if (error == 0 && taken > 0 && it->rate != 0) {
        struct vg_pq_call spend = {.count = 0};
        vg_pq_text_of(&spend, it->name);
        vg_pq_text_of(&spend, rate);
        vg_pq_number(&spend, taken);
        (void)vg_pq_run(conn, VG_PQ_SPEND, &spend, NULL); /* if it fails a few more start in this second */
    }
    return error != 0 ? error : taken;
}

static int claim_quarantined(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, vg_jobs_take_fn take,
                             void *arg)
{
    struct vg_pq_array kinds = {0}, versions = {0}, places = {0};
    for (unsigned i = 0; i < want->kind_count; i++) {
        vg_pq_array_string(&kinds, want->kinds[i].name);
        vg_pq_array_number(&versions, version_of(&want->kinds[i]));
        vg_pq_array_number(&places, i);
    }
    struct vg_pq_call call = {.count = 0};
    vg_pq_number(&call, want->lease_ms);
    vg_pq_number(&call, conn->worker);
    vg_pq_text_of(&call, vg_pq_array_text(&kinds));
    vg_pq_text_of(&call, vg_pq_array_text(&versions));
    vg_pq_text_of(&call, vg_pq_array_text(&places));
    PGresult *result = NULL;
    int taken = call.values[2] == NULL || call.values[3] == NULL || call.values[4] == NULL
                    ? -ENOMEM
                    : vg_pq_run(conn, VG_PQ_CLAIM_QUARANTINE, &call, &result);
    if (taken == 0) {
        taken = take_rows(conn, result, want, -1, true, take, arg);
        PQclear(result);
    }
    free(kinds.text);
    free(versions.text);
    free(places.text);
    return taken;
}

static int find_next(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, int64_t *due)
{
    struct vg_pq_array kinds = {0}, classes = {0};
    for (unsigned i = 0; i < want->kind_count; i++) {
        for (int c = 0; c < VIGIL_PRIORITIES; c++) {
            vg_pq_array_string(&kinds, want->kinds[i].name);
            vg_pq_array_number(&classes, c);
        }
        if (want->kinds[i].rate != 0 && (*due < 0 || *due > 1000 / want->kinds[i].rate + 1))
            *due = 1000 / want->kinds[i].rate + 1;
    }
    struct vg_pq_call call = {.count = 0};
    vg_pq_text_of(&call, vg_pq_array_text(&kinds));
    vg_pq_text_of(&call, vg_pq_array_text(&classes));
    PGresult *result = NULL;
    int error =
        call.values[0] == NULL || call.values[1] == NULL ? -ENOMEM : vg_pq_run(conn, VG_PQ_NEXT, &call, &result);
    if (error == 0 && PQntuples(result) == 1 && !PQgetisnull(result, 0, 0)) {
        int64_t left = vg_pq_get_number(result, 0, 0);
        left = left < 0 ? 0 : left;
        *due = *due < 0 || left < *due ? left : *due;
    }
    PQclear(result);
    free(kinds.text);
    free(classes.text);
    return error;
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

/* Ends, and the claim of the plain kinds, in one transaction and one round trip. */
static int exchange_once(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t end_count,
                         const struct vg_jobs_want *want, bool full, vg_jobs_take_fn take, void *arg, int *claimed)
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
    if (error == 0 && (claims || end_count > 0))
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
    error = vg_pq_finish(conn, 0);
    if (error == 0 && rows != NULL)
        *claimed = take_rows(conn, rows, want, -1, false, take, arg);
out:
    PQclear(rows);
    free(sent.ids.text);
    free(sent.numbers.text);
    free_arrays(&arrays);
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
        conn->low = calloc((size_t)want->kind_count * VIGIL_PRIORITIES, sizeof *conn->low);
        conn->low_count = conn->low != NULL ? want->kind_count * VIGIL_PRIORITIES : 0;
    }
    uint64_t now = vg_pq_now_ms();
    bool full = now >= conn->full_look_at;
    if (full) {
        conn->full_look_at = now + FULL_LOOK_MS;
        if (conn->low != NULL)
            memset(conn->low, 0, conn->low_count * sizeof *conn->low);
    }
    int claimed = 0;
    error = exchange_once(conn, ends, end_count, want, full, take, arg, &claimed);
    if (error != 0)
        return error;
    /* From here on the ends are recorded: later errors end the claiming alone. */
    struct vg_jobs_want rest = *want;
    next->claimed = (unsigned)claimed;
    if (!full && next->claimed < want->count) {
        rest.count = want->count - next->claimed;
        if (exchange_once(conn, NULL, 0, &rest, true, take, arg, &claimed) != 0)
            goto away;
        next->claimed += (unsigned)claimed;
    }
    for (unsigned i = 0; i < want->kind_count && next->claimed < want->count; i++)
        if (is_limited(&want->kinds[i])) {
            claimed = claim_limited(conn, want, i, want->count - next->claimed, take, arg);
            if (claimed < 0)
                goto away;
            next->claimed += (unsigned)claimed;
        }
    if (next->claimed == 0 && want->count > 0 && want->alone) {
        claimed = claim_quarantined(conn, want, take, arg);
        if (claimed < 0)
            goto away;
        next->claimed += (unsigned)claimed;
    }
    if (want->count > 0 && next->claimed < want->count && find_next(conn, want, &next->due_ms) != 0)
        goto away;
    return 0;
away:
    next->due_ms = 100;
    return 0;
}

/* ---- leases ------------------------------------------------------------------------------------------------------ */

int vg_pq_extend(struct vg_jobs_conn *conn, struct vg_jobs_lease *leases, size_t count, int64_t lease_ms)
{
    int error = vg_pq_connected(conn);
    if (error != 0)
        return error;
    struct vg_pq_array ids = {0}, numbers = {0};
    for (size_t i = 0; i < count; i++) {
        vg_pq_array_number(&ids, (int64_t)leases[i].id);
        vg_pq_array_number(&numbers, (int64_t)leases[i].number);
        leases[i].beat = VG_JOBS_BEAT_LOST;
    }
    struct vg_pq_call call = {.count = 0};
    vg_pq_text_of(&call, vg_pq_array_text(&ids));
    vg_pq_text_of(&call, vg_pq_array_text(&numbers));
    vg_pq_number(&call, lease_ms);
    error = call.values[0] == NULL || call.values[1] == NULL ? -ENOMEM : vg_pq_send(conn, VG_PQ_EXTEND, &call);
    for (size_t i = 0; i < count && error == 0; i++) {
        const struct vg_jobs_lease *lease = &leases[i];
        if (lease->progress < 0 && lease->text == NULL && lease->checkpoint == NULL)
            continue;
        char progress[32];
        struct vg_pq_call save = {.count = 0};
        (void)snprintf(progress, sizeof progress, "%.6f", lease->progress);
        vg_pq_number(&save, (int64_t)lease->id);
        vg_pq_number(&save, (int64_t)lease->number);
        vg_pq_text_of(&save, lease->progress >= 0 ? progress : NULL);
        vg_pq_text_of(&save, lease->text);
        vg_pq_bytes(&save, lease->checkpoint, lease->checkpoint_length);
        error = vg_pq_send(conn, VG_PQ_SAVE, &save);
    }
    if (error == 0)
        error = vg_pq_sync(conn);
    if (error == 0) {
        PGresult *result = vg_pq_next(conn);
        for (int r = 0; r < vg_pq_changed(result); r++)
            for (size_t i = 0; i < count; i++)
                if ((int64_t)leases[i].id == vg_pq_get_number(result, r, 0) &&
                    (int64_t)leases[i].number == vg_pq_get_number(result, r, 1))
                    leases[i].beat = vg_pq_get_int(result, r, 2) != 0 ? VG_JOBS_BEAT_CANCEL : VG_JOBS_BEAT_OK;
        PQclear(result);
        error = vg_pq_finish(conn, 0);
    } else {
        conn->broken = true;
    }
    free(ids.text);
    free(numbers.text);
    return error;
}

int vg_pq_rescue(struct vg_jobs_conn *conn, unsigned most)
{
    struct vg_pq_call call = {.count = 0};
    vg_pq_number(&call, most);
    int error = vg_pq_connected(conn);
    if (error != 0)
        return error;
    error = vg_pq_send(conn, VG_PQ_RESCUE, &call);
    if (error == 0)
        error = vg_pq_send(conn, VG_PQ_RESCUE_DEAD, &call);
    if (error == 0) /* also of a batch whose last job was cancelled by a process that died then */
        error = vg_pq_send(conn, VG_PQ_BATCH_RELEASE_ALL, NULL);
    if (error == 0)
        error = vg_pq_send(conn, VG_PQ_NOTIFY_ENDED, NULL);
    if (error == 0)
        error = vg_pq_sync(conn);
    if (error != 0) {
        conn->broken = true;
        return error;
    }
    int found = 0;
    for (int i = 0; i < 2; i++) {
        PGresult *result = vg_pq_next(conn);
        found += vg_pq_changed(result);
        PQclear(result);
    }
    error = vg_pq_finish(conn, 0);
    return error != 0 ? error : found;
}

int vg_pq_prune(struct vg_jobs_conn *conn, int64_t completed_ms, int64_t dead_ms, unsigned most)
{
    int total = 0, error = 0;
    for (int state = VIGIL_JOBS_COMPLETED; state <= VIGIL_JOBS_CANCELLED && error == 0; state++) {
        struct vg_pq_call call = {.count = 0};
        vg_pq_number(&call, state);
        vg_pq_number(&call, state == VIGIL_JOBS_COMPLETED ? completed_ms : dead_ms);
        vg_pq_number(&call, most);
        PGresult *result = NULL;
        error = vg_pq_run(conn, VG_PQ_PRUNE, &call, &result);
        if (error == 0 && PQntuples(result) == 1)
            total += (int)vg_pq_get_number(result, 0, 0);
        PQclear(result);
    }
    struct vg_pq_call call = {.count = 0};
    vg_pq_number(&call, dead_ms);
    if (error == 0)
        error = vg_pq_run(conn, VG_PQ_PRUNE_WORKERS, &call, NULL);
    return error != 0 ? error : total;
}
