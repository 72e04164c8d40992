/* SPDX-License-Identifier: MIT */
/* vg_ring_map_ahead takes the page faults of a ring, so that next to no event meets one. */
#include "support.h"

#include "record/record.h"

#include <sys/resource.h>
#include <vigil/record.h>

static long faults(void)
{
    struct rusage usage;
    must_equal(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_minflt;
}

static void events_meet_no_page_faults(void **state)
{
    (void)state;
    uint32_t epoch = 0;
    must_equal(vg_record_hold(&epoch), VIGIL_RECORD_EVENTS);
    const uint64_t what = vg_event_what(VG_EVENT_MARK, 0, 0);
    vg_event_put(vg_ticks(), what, 0, 0); /* takes the ring */
    must(vg_my_ring.events != NULL);
    (void)faults();
    long met = 0, taken = 0;
    for (uint64_t i = 0; i < 2 * (vg_my_ring.mask + 1); i++) {
        const long before = faults();
        vg_ring_map_ahead();
        const long between = faults();
        vg_event_put(i, what, i, 0);
        met += faults() - between;
        taken += between - before;
    }
    must(taken > 0);            /* else there was nothing to take, and the test shows nothing */
    if (!TEST_SANITIZED)        /* their shadow memory has faults of its own */
        must(met <= taken / 8); /* the kernel may take a page back */
    must(vg_my_ring.mapped == UINT64_MAX);
    vg_record_release(epoch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_meet_no_page_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
