/* SPDX-License-Identifier: MIT */
/*
 * pq_beside.c - ends that are recorded on a second connection, while the first one claims.
 *
 * The server works for a connection on one core. With hundreds of jobs in an exchange that is what limits a process:
 * recording their ends takes half as long as claiming the next ones. The two touch different rows, so nothing is lost
 * by making them two transactions: an end is conditional on the number of its claim, and the claim takes waiting jobs.
 * Few ends share the transaction of the claim, because a commit waits for the disk.
 *
 * The connection is made when it is first needed. A server without a free one costs speed alone.
 */
#include <errno.h>
#include <stdlib.h>

#include "pq.h"

enum {
    AGAIN_MS = 10000
};

static struct vg_jobs_conn *find_mate(struct vg_jobs_conn *conn)
{
    uint64_t now = vg_pq_now_ms();
    if (now < conn->mate_at)
        return NULL;
    if (conn->mate == NULL)
        conn->mate = vg_pq_make(conn->site);
    if (conn->mate != NULL && vg_pq_connected(conn->mate) == 0)
        return conn->mate;
    conn->mate_at = now + AGAIN_MS;
    return NULL;
}

int vg_pq_send_beside(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, struct vg_pq_sent *sent)
{
    struct vg_jobs_conn *mate = find_mate(conn);
    if (mate == NULL)
        return -ENOTCONN;
    int error = vg_pq_send_ends(mate, ends, count, sent);
    if (error == 0)
        error = vg_pq_sync(mate);
    if (error == 0)
        return 0;
    mate->broken = true; /* a pipeline without its end: nothing of it is committed */
    free(sent->plain);
    sent->plain = NULL;
    return -ENOTCONN;
}

int vg_pq_read_beside(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, struct vg_pq_sent *sent)
{
    vg_pq_read_ends(conn->mate, ends, count, sent);
    int error = vg_pq_finish(conn->mate, 0);
    free(sent->plain);
    sent->plain = NULL;
    return error != 0 && conn->mate->bad_row ? -EBADMSG : error;
}
