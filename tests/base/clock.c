/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <time.h>

#include "base/clock.h"
#include "base/futex.h"

static void the_clock_is_the_systems_monotonic_one_and_never_goes_back(void **state)
{
    (void)state;
    struct timespec ours;
    uint64_t before = vg_now_ns();
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &ours), 0);
    uint64_t after = vg_now_ns();
    uint64_t between = (uint64_t)ours.tv_sec * 1000000000U + (uint64_t)ours.tv_nsec;
    assert_true(before <= between && between <= after);
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t now = vg_now_ns();
        assert_true(now >= after);
        after = now;
    }
}

static void a_deadline_is_now_and_the_timeout_or_never(void **state)
{
    (void)state;
    assert_true(vg_deadline_after(-1) == VG_NO_DEADLINE);
    assert_true(vg_deadline_after(INT64_MIN) == VG_NO_DEADLINE);
    static const int64_t timeouts[] = {0, 1, 1000000000, INT64_MAX};
    for (unsigned i = 0; i < count_of(timeouts); i++) {
        uint64_t before = vg_now_ns();
        uint64_t deadline = vg_deadline_after(timeouts[i]);
        uint64_t after = vg_now_ns();
        assert_true(deadline >= before + (uint64_t)timeouts[i] && deadline <= after + (uint64_t)timeouts[i]);
    }
}

static void ticks_turn_into_the_time_that_passed(void **state)
{
    (void)state;
    vg_tick_base base = vg_tick_base_now();
    uint64_t start_ns = vg_now_ns();
    uint64_t start = vg_ticks();
    while (vg_now_ns() < start_ns + 50000000) {
        /* 50 ms of anything */
    }
    uint64_t ticks = vg_ticks() - start;
    uint64_t passed = vg_now_ns() - start_ns;
    double length = vg_tick_length(base);
    assert_true(length > 0);
    /* A tenth: the thread may be put aside between two reads. */
    assert_in_range(vg_ticks_to_ns(ticks, length), passed / 10 * 9, passed / 10 * 11);
}

static void a_length_asked_for_at_once_is_still_a_number(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        double length = vg_tick_length(vg_tick_base_now());
        assert_true(length >= 0 && length < 1e9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_is_the_systems_monotonic_one_and_never_goes_back),
        cmocka_unit_test(a_deadline_is_now_and_the_timeout_or_never),
        cmocka_unit_test(ticks_turn_into_the_time_that_passed),
        cmocka_unit_test(a_length_asked_for_at_once_is_still_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
