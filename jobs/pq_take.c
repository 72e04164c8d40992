/* SPDX-License-Identifier: MIT */
/* pq_take.c - claimed rows of the PostgreSQL engine, on their way to the runner. */
#include <stdlib.h>
#include <string.h>

#include "pq.h"

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
int vg_pq_take_rows(struct vg_jobs_conn *conn, const PGresult *result, const struct vg_jobs_want *want,
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
    bool sorted = true; /* as it is with jobs of one class that were enqueued in the order of their due times */
    for (int i = 1; i < rows && order != NULL && sorted; i++)
        sorted = by_class_and_due(&order[i - 1], &order[i]) < 0;
    if (!sorted)
        qsort(order, (size_t)rows, sizeof *order, by_class_and_due);
    for (int i = 0; i < rows; i++) {
        int row = order != NULL ? order[i].row : i;
        kind = kind_of(want, vg_pq_get_text(result, row, 13), kind);
        vg_pq_take_row(conn, result, row, kind, quarantined, take, arg);
    }
    free(order);
    return rows;
}
