/* SPDX-License-Identifier: MIT */
/* How far below the watermarks claims on PostgreSQL read, and how often: without a server, by a clock of its own. */
#include "support.h"

#include "../../jobs/pq_looks.h"

enum {
    PAIRS = 2,
    SLOW_MS = 400, /* a look that takes so long is not made whenever jobs are missing */
};

static uint64_t clock_ms;

uint64_t __wrap_vg_pq_now_ms(void);

uint64_t __wrap_vg_pq_now_ms(void)
{
    return clock_ms;
}

static int64_t marks[2 * PAIRS];

static struct vg_jobs_conn connection(int64_t mark)
{
    clock_ms = 1000000;
    for (int i = 0; i < PAIRS; i++) {
        marks[i] = mark;
        marks[PAIRS + i] = 0;
    }
    return (struct vg_jobs_conn){.low = marks, .low_recent = marks + PAIRS, .low_count = PAIRS};
}

/* A look that finds so much that the marks rise to `claimed`; 0: it claims nothing. */
static void look(struct vg_jobs_conn *conn, enum vg_pq_depth depth, uint64_t takes_ms, int64_t claimed, bool found_all)
{
    uint64_t began = vg_pq_look_begin(conn, depth);
    clock_ms += takes_ms;
    for (int i = 0; i < PAIRS && claimed != 0; i++)
        conn->low[i] = claimed;
    vg_pq_look_end(conn, depth, began, found_all);
}

static void a_full_look_that_finds_all_restores_the_marks(void **state)
{
    (void)state;
    struct vg_jobs_conn conn = connection(500);
    uint64_t began = vg_pq_look_begin(&conn, VG_PQ_LOOK_FULL);
    must_equal(conn.low[0], 0);
    must_equal(conn.low[1], 0);
    vg_pq_look_end(&conn, VG_PQ_LOOK_FULL, began, true);
    must_equal(conn.low[0], 500);
    must_equal(conn.low[1], 500);
}

/* What did not fit is below the old mark: it must be read again. */
static void a_full_look_that_leaves_jobs_keeps_the_marks_low(void **state)
{
    (void)state;
    struct vg_jobs_conn conn = connection(500);
    look(&conn, VG_PQ_LOOK_FULL, 1, 200, false);
    must_equal(conn.low[0], 200);
    look(&conn, VG_PQ_LOOK_ABOVE, 1, 0, false);
    must_equal(conn.low[0], 200);
}

static void a_recent_look_does_not_raise_what_a_full_look_lowered(void **state)
{
    (void)state;
    struct vg_jobs_conn conn = connection(500);
    look(&conn, VG_PQ_LOOK_FULL, 1, 200, false);
    (void)vg_pq_look_begin(&conn, VG_PQ_LOOK_RECENT);
    must_equal(conn.low[0], 200);
    must_equal(conn.low[1], 200);
}

static void a_recent_look_reads_from_the_marks_of_the_last_one(void **state)
{
    (void)state;
    struct vg_jobs_conn conn = connection(500);
    look(&conn, VG_PQ_LOOK_FULL, 1, 0, true);
    look(&conn, VG_PQ_LOOK_ABOVE, 1, 700, false);
    (void)vg_pq_look_begin(&conn, VG_PQ_LOOK_RECENT);
    must_equal(conn.low[0], 500);
    must_equal(conn.low_recent[0], 700);
}

static void a_cheap_full_look_is_made_whenever_jobs_are_missing(void **state)
{
    (void)state;
    struct vg_jobs_conn conn = connection(500);
    must_equal(vg_pq_look_choose(&conn, false), VG_PQ_LOOK_FULL);
    look(&conn, VG_PQ_LOOK_FULL, 1, 0, true);
    must_equal(vg_pq_look_choose(&conn, true), VG_PQ_LOOK_FULL);
    must_equal(vg_pq_look_choose(&conn, false), VG_PQ_LOOK_ABOVE);
    clock_ms += 1000;
    must_equal(vg_pq_look_choose(&conn, false), VG_PQ_LOOK_FULL);
}

/* Dead entries beside a foreign snapshot make it long: it may have a twentieth of the time, and half a minute at most
   lies between two. Looks at the last second come between them. */
static void a_slow_full_look_is_made_seldom(void **state)
{
    (void)state;
    struct vg_jobs_conn conn = connection(500);
    look(&conn, VG_PQ_LOOK_FULL, SLOW_MS, 0, true);
    must_equal(vg_pq_look_choose(&conn, true), VG_PQ_LOOK_ABOVE);
    clock_ms += 1000;
    must_equal(vg_pq_look_choose(&conn, true), VG_PQ_LOOK_RECENT);
    look(&conn, VG_PQ_LOOK_RECENT, 1, 0, true);
    must_equal(vg_pq_look_choose(&conn, true), VG_PQ_LOOK_ABOVE);
    clock_ms = conn.full_look_at - 1;
    must_equal(vg_pq_look_choose(&conn, true), VG_PQ_LOOK_RECENT);
    clock_ms++;
    must_equal(vg_pq_look_choose(&conn, true), VG_PQ_LOOK_FULL);
    look(&conn, VG_PQ_LOOK_FULL, SLOW_MS, 0, true);
    must_equal(conn.full_look_at - clock_ms, 20 * SLOW_MS);
    look(&conn, VG_PQ_LOOK_FULL, 10 * SLOW_MS, 0, true);
    must_equal(conn.full_look_at - clock_ms, 30000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_full_look_that_finds_all_restores_the_marks),
        test(a_full_look_that_leaves_jobs_keeps_the_marks_low),
        test(a_recent_look_does_not_raise_what_a_full_look_lowered),
        test(a_recent_look_reads_from_the_marks_of_the_last_one),
        test(a_cheap_full_look_is_made_whenever_jobs_are_missing),
        test(a_slow_full_look_is_made_seldom),
    };
    return run_all(tests);
}
