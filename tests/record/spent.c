/* SPDX-License-Identifier: MIT */
/* The time in a state: whatever moment a reader hits, it does not fall. */
#include "support.h"

#include "record/spent.h"

/* A worker that is written by hand; state 0 is not timed. */
struct worker {
    vg_cell lasts;
    vg_cell sums[4];
};

static uint64_t told(struct worker *worker, unsigned state, uint64_t now)
{
    return vg_spent_in(state, vg_spent_lasts(&worker->lasts), worker->sums[state], now);
}

static void change(struct worker *worker, unsigned state, uint64_t now)
{
    vg_spent_change(&worker->lasts, worker->sums, state, now);
}

static void the_sum_of_all_stays_is_told_at_each_moment(void **state)
{
    (void)state;
    struct worker worker = {0};
    uint64_t sum[4] = {0};
    uint64_t now = 1000;
    for (uint64_t stay = 1; stay <= 100; stay++) {
        const unsigned in = (unsigned)(stay % 4);
        change(&worker, in, now);
        for (unsigned s = 1; s < 4; s++)
            must_equal(told(&worker, s, now), sum[s]); /* at once: with nothing of the stay, and nothing lost */
        now += stay;
        sum[in] += in == 0 ? 0 : stay;
        for (unsigned s = 1; s < 4; s++)
            must_equal(told(&worker, s, now), sum[s]);
        must_equal(told(&worker, 0, now), 0);
    }
}

/* The reader takes its clock, and then what it reads may be of any later moment. */
static void one_that_reads_late_tells_what_was_true_at_some_moment(void **state)
{
    (void)state;
    struct worker worker = {0};
    change(&worker, 1, 1000);
    change(&worker, 2, 1100);
    change(&worker, 1, 1300);
    must_equal(told(&worker, 1, 1250), 100); /* the stay began after its clock: all before it, and nothing less */
    must_equal(told(&worker, 2, 1250), 200);
    const uint64_t lasts = vg_spent_lasts(&worker.lasts);
    change(&worker, 2, 1400); /* between the word and the sum: the stay is over, and counts once */
    must_equal(vg_spent_in(1, lasts, worker.sums[1], 1350), 200);
    must_equal(vg_spent_in(2, lasts, worker.sums[2], 1350), 200);
}

static void a_clock_that_was_set_back_keeps_the_sum(void **state)
{
    (void)state;
    struct worker worker = {0};
    change(&worker, 1, 5000);
    change(&worker, 2, 9000);
    change(&worker, 1, 1000); /* another machine: the sum is larger than its clock */
    must_equal(told(&worker, 1, 1010), 4010);
    change(&worker, 0, 1020);
    must_equal(told(&worker, 1, 1020), 4020);
    must_equal(told(&worker, 2, 1020), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(the_sum_of_all_stays_is_told_at_each_moment),
        test(one_that_reads_late_tells_what_was_true_at_some_moment),
        test(a_clock_that_was_set_back_keeps_the_sum),
    };
    return run_all(tests);
}
