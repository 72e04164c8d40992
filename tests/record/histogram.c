/* SPDX-License-Identifier: MIT */
/* W3: a value is told with at most 5 % error, from 100 ns to hours. */
#include "watch_test.h"

#include "record/record.h"

static void buckets_follow_each_other_without_a_gap(void **state)
{
    (void)state;
    must_equal(vg_hist_floor(0), 0);
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++) {
        must(vg_hist_floor(i) < vg_hist_floor(i + 1));
        must_equal(vg_hist_bucket(vg_hist_floor(i)), i);
        must_equal(vg_hist_bucket(vg_hist_floor(i + 1) - 1), i);
    }
}

static void what_is_too_long_counts_as_the_longest(void **state)
{
    (void)state;
    must_equal(vg_hist_bucket(UINT64_MAX), VG_HIST_BUCKETS - 1);
    must_equal(vg_hist_bucket(UINT64_C(1) << VG_HIST_TOP_BITS), VG_HIST_BUCKETS - 1);
}

/* As the reader fills it, for a machine with this tick. */
static uint64_t told(uint64_t ticks, double tick_ns)
{
    static vg_file_hist hist;
    memset(&hist, 0, sizeof hist);
    vg_hist_put(&hist, ticks, 1);
    vg_hist_view view = {.tick_ns = tick_ns, .count = 1};
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++)
        view.buckets[i] = atomic_load_explicit(&hist.buckets[i], memory_order_relaxed);
    return vg_hist_quantile(&view, 0.5);
}

static void a_value_is_told_with_at_most_5_percent_error_from_100_ns_to_hours(void **state)
{
    (void)state;
    static const double tick_ns[] = {1.0, 0.385, 0.25};
    uint64_t random = 88172645463325252U;
    for (size_t t = 0; t < count_of(tick_ns); t++)
        for (double ns = 100; ns < 4 * 3600e9; ns *= 1.003) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            const double exact = ns * (1 + (double)(random % 1000) / 400000);
            const double value = (double)told((uint64_t)(exact / tick_ns[t]), tick_ns[t]);
            must(value > exact * 0.95 && value < exact * 1.05);
        }
}

static void quantiles_are_where_they_belong(void **state)
{
    (void)state;
    static vg_file_hist hist;
    memset(&hist, 0, sizeof hist);
    for (uint64_t i = 1; i <= 1000; i++)
        vg_hist_put(&hist, i * 1000, 1);
    vg_hist_view view = {.tick_ns = 1.0, .longest_ns = 1000000};
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++) {
        view.buckets[i] = atomic_load_explicit(&hist.buckets[i], memory_order_relaxed);
        view.count += view.buckets[i];
    }
    must_equal(view.count, 1000);
    must_be_between(vg_hist_quantile(&view, 0.5), 475000, 525000);
    must_be_between(vg_hist_quantile(&view, 0.9), 855000, 945000);
    must_be_between(vg_hist_quantile(&view, 0.999), 950000, 1000000);
    must_be_between(vg_hist_quantile(&view, 1), 950000, 1000000);
    must_be_between(vg_hist_quantile(&view, 0), 950, 1050);
    vg_hist_view empty = {.tick_ns = 1.0};
    must_equal(vg_hist_quantile(&empty, 0.5), 0);
}

static void the_difference_of_two_looks_is_what_came_between(void **state)
{
    (void)state;
    vg_hist_view before = {.tick_ns = 1.0, .count = 2, .sum_ns = 20};
    before.buckets[10] = 2;
    vg_hist_view now = before;
    now.buckets[100] = 5;
    now.count = 7;
    now.sum_ns = 1000;
    vg_hist_view since;
    vg_hist_since(&since, &now, &before);
    must_equal(since.count, 5);
    must_equal(since.sum_ns, 980);
    must_equal(since.buckets[10], 0);
    vg_hist_add(&since, &before);
    must_equal(since.count, 7);
    must_equal(since.buckets[10], 2);
}

static void threads_that_share_a_histogram_lose_nothing(void **state);

static vg_file_hist shared_hist;

static void *add_many(void *arg)
{
    (void)arg;
    for (uint64_t i = 1; i <= 20000; i++)
        vg_hist_put_shared(&shared_hist, i, 1);
    return NULL;
}

static void threads_that_share_a_histogram_lose_nothing(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (size_t i = 0; i < count_of(threads); i++)
        must_equal(pthread_create(&threads[i], NULL, add_many, NULL), 0);
    for (size_t i = 0; i < count_of(threads); i++)
        must_equal(pthread_join(threads[i], NULL), 0);
    uint64_t count = 0;
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++)
        count += atomic_load_explicit(&shared_hist.buckets[i], memory_order_relaxed);
    must_equal(count, 80000);
    must_equal(atomic_load_explicit(&shared_hist.longest, memory_order_relaxed), 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(buckets_follow_each_other_without_a_gap),
        test(what_is_too_long_counts_as_the_longest),
        test(a_value_is_told_with_at_most_5_percent_error_from_100_ns_to_hours),
        test(quantiles_are_where_they_belong),
        test(the_difference_of_two_looks_is_what_came_between),
        test(threads_that_share_a_histogram_lose_nothing),
    };
    return run_all(tests);
}
