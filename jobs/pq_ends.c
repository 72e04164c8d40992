/* SPDX-License-Identifier: MIT */
/* pq_ends.c - how runs ended, as statements of one pipeline; plain completions share one. */
#include <errno.h>
#include <stdlib.h>

#include "pq.h"
#include "pq_array.h"

/* Whether the end goes into the one statement for plain completions. */
static bool is_plain(const struct vg_jobs_end *end)
{
    return end->outcome == VG_JOBS_COMPLETE && end->result == NULL && end->batch == 0;
}

/* Whether the job waits again. */
static bool is_again(const struct vg_jobs_end *end)
{
    return end->outcome == VG_JOBS_AGAIN || end->outcome == VG_JOBS_GIVE_BACK;
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

static int by_number_and_id(const void *a, const void *b)
{
    const struct vg_jobs_end *x = *(struct vg_jobs_end *const *)a, *y = *(struct vg_jobs_end *const *)b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* The end of the group with one number that begins at `from`. Nearly always there is one group. */
static size_t group_end(const struct vg_pq_sent *sent, size_t from)
{
    size_t to = from;
    while (to < sent->plain_count && sent->plain[to]->number == sent->plain[from]->number)
        to++;
    return to;
}

static int send_plain(struct vg_jobs_conn *conn, const struct vg_pq_sent *sent)
{
    int error = 0;
    if (sent->plain_count == 1) {
        struct vg_pq_call call = {.count = 0};
        vg_pq_number(&call, (int64_t)sent->plain[0]->id);
        vg_pq_number(&call, (int64_t)sent->plain[0]->number);
        return vg_pq_send(conn, VG_PQ_COMPLETE_ONE, &call);
    }
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

static int send_release(struct vg_jobs_conn *conn, uint64_t batch)
{
    struct vg_pq_call call = {.count = 0};
    vg_pq_number(&call, (int64_t)batch);
    return vg_pq_send(conn, VG_PQ_BATCH_RELEASE, &call);
}

/* What does not wait again after all, because it was to be cancelled. */
static int send_asked(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count)
{
    struct vg_pq_array ids = {0};
    struct vg_pq_call call = {.count = 0};
    for (size_t i = 0; i < count; i++)
        if (is_again(ends[i]))
            vg_pq_array_number(&ids, (int64_t)ends[i]->id);
    vg_pq_text_of(&call, vg_pq_array_text(&ids));
    int error = call.values[0] == NULL ? -ENOMEM : vg_pq_send(conn, VG_PQ_CANCEL_ASKED, &call);
    free(ids.text);
    for (size_t i = 0; i < count && error == 0; i++)
        if (is_again(ends[i]) && ends[i]->batch != 0)
            error = send_release(conn, ends[i]->batch);
    return error;
}

int vg_pq_send_ends(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, struct vg_pq_sent *sent)
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
        sent->ended = sent->ended || !is_plain(ends[i]);
        sent->again += is_again(ends[i]);
        /* Another process may have left a job of a kind because of its cap. */
        sent->released = sent->released || is_again(ends[i]) || ends[i]->capped;
        if (error == 0 && ends[i]->batch != 0 && !is_again(ends[i]))
            error = send_release(conn, ends[i]->batch);
    }
    if (error == 0 && sent->again > 0)
        error = send_asked(conn, ends, count);
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

static void read_plain(struct vg_jobs_conn *conn, const struct vg_pq_sent *sent)
{
    for (size_t from = 0, to; from < sent->plain_count; from = to) {
        PGresult *result = vg_pq_next(conn);
        int rows = vg_pq_changed(result);
        to = group_end(sent, from);
        for (size_t i = from; i < to; i++)
            sent->plain[i]->accepted = false;
        size_t at = from; /* the server goes through them by id as well, nearly always */
        for (int i = 0; i < rows; i++) {
            uint64_t id = (uint64_t)vg_pq_get_number(result, i, 0);
            struct vg_jobs_end **end =
                at < to && sent->plain[at]->id == id
                    ? &sent->plain[at]
                    : bsearch(&id, sent->plain + from, to - from, sizeof *sent->plain, id_and_end);
            if (end == NULL)
                continue;
            (*end)->accepted = true;
            at = (size_t)(end - sent->plain) + 1;
        }
        PQclear(result);
    }
}

void vg_pq_read_ends(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, const struct vg_pq_sent *sent)
{
    read_plain(conn, sent);
    for (size_t i = 0; i < count; i++) {
        if (!is_plain(ends[i])) {
            PGresult *result = vg_pq_next(conn);
            ends[i]->accepted = vg_pq_changed(result) == 1;
            PQclear(result);
        }
        if (ends[i]->batch != 0 && !is_again(ends[i]))
            PQclear(vg_pq_next(conn));
    }
    if (sent->again > 0) {
        PQclear(vg_pq_next(conn));
        for (size_t i = 0; i < count; i++)
            if (is_again(ends[i]) && ends[i]->batch != 0)
                PQclear(vg_pq_next(conn));
    }
    if (sent->ended)
        PQclear(vg_pq_next(conn));
    if (sent->released)
        PQclear(vg_pq_next(conn));
}
