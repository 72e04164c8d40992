/* SPDX-License-Identifier: MIT */
#include "pq_looks.h"

enum {
    FULL_LOOK_MS = 1000,     /* how often the claim reads below the watermarks */
    FULL_LOOK_SHARE = 20,    /* such a look may take one part in so many of the time: dead entries can make it long */
    FULL_LOOK_CHEAP_MS = 20, /* one that is faster is made whenever jobs are missing */
    FULL_LOOK_MOST_MS = 30000,
    RECENT_LOOK_MS = 1000, /* between full looks: how often it reads from where the watermarks were at the last time */
};

enum vg_pq_depth vg_pq_look_choose(const struct vg_jobs_conn *conn, bool may_full)
{
    uint64_t now = vg_pq_now_ms();
    if (now >= conn->full_look_at || (may_full && conn->full_look_cheap))
        return VG_PQ_LOOK_FULL;
    return now >= conn->recent_look_at ? VG_PQ_LOOK_RECENT : VG_PQ_LOOK_ABOVE;
}

/* Lower the watermarks for this look. Gives when it began. */
uint64_t vg_pq_look_begin(struct vg_jobs_conn *conn, enum vg_pq_depth look)
{
    for (unsigned i = 0; i < conn->low_count && look != VG_PQ_LOOK_ABOVE; i++) {
        int64_t mark = conn->low[i];
        if (look == VG_PQ_LOOK_FULL)
            conn->low[i] = 0;
        else if (conn->low_recent[i] < mark) /* otherwise a full look has lowered it, and found more than there was
                                                place for */
            conn->low[i] = conn->low_recent[i];
        conn->low_recent[i] = mark;
    }
    return vg_pq_now_ms();
}

/* Say when the next look is. If there was place for all that was found, nothing is left below the old marks: dead
   entries there are not read again. */
void vg_pq_look_end(struct vg_jobs_conn *conn, enum vg_pq_depth look, uint64_t began, bool found_all)
{
    if (look == VG_PQ_LOOK_ABOVE)
        return;
    for (unsigned i = 0; i < conn->low_count && found_all; i++)
        if (conn->low[i] < conn->low_recent[i])
            conn->low[i] = conn->low_recent[i];
    uint64_t now = vg_pq_now_ms(), rest = (now - began) * FULL_LOOK_SHARE;
    conn->recent_look_at = now + RECENT_LOOK_MS;
    if (look == VG_PQ_LOOK_RECENT)
        return;
    conn->full_look_cheap = now - began <= FULL_LOOK_CHEAP_MS;
    if (rest < FULL_LOOK_MS || conn->full_look_cheap)
        rest = FULL_LOOK_MS;
    conn->full_look_at = now + (rest < FULL_LOOK_MOST_MS ? rest : FULL_LOOK_MOST_MS);
}
