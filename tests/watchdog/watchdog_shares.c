/* SPDX-License-Identifier: MIT */
/* W6: A class that waits for its share of time is not starved, however slowly the debts of the workers are paid on a full
   machine. The judge is fed with a pool made up here. */
#include "watchdog_test.h"

#include "watchdog/judge_queue.h"
#include "watchdog/threads.h"

enum {
    WORKERS = 2,
    LOOK_MS = 200
};

struct paper {
    vg_pool_history history;
    vg_worker_fact workers[WORKERS];
    vg_subject subject;
    vg_look look;
    vg_findings found;
};

static const vg_subject_calls calls = {.pool = true};

static vg_thread_look told;
void __wrap_vg_thread_look_at(int thread, vg_thread_look *look); // NOLINT(bugprone-reserved-identifier)
void __wrap_vg_thread_look_at(int thread, vg_thread_look *look)  // NOLINT(bugprone-reserved-identifier)
{
    (void)thread;
    *look = told;
}

static struct paper *begin(void)
{
    struct paper *it = calloc(1, sizeof *it);
    must(it != NULL);
    vg_pool_facts *facts = &it->history.facts;
    it->subject = (vg_subject){.calls = &calls, .object = it, .serial = 1};
    it->look = (vg_look){.now = 1000000000,
                         .interval_ns = LOOK_MS * UINT64_C(1000000),
                         .stuck_ns = 600000000,
                         .growth_ns = 500000000,
                         .found = &it->found};
    *facts = (vg_pool_facts){.name = "paper",
                             .workers = WORKERS,
                             .visible = 3,
                             .queued = {36, 40},
                             .all_queued = 76,
                             .count = WORKERS,
                             .worker = it->workers};
    for (unsigned i = 0; i < WORKERS; i++)
        it->workers[i] = (vg_worker_fact){.self = &it->workers[i], .index = i, .thread = 1, .doing = VG_DOING_TASK};
    told = (vg_thread_look){.known = true, .timed = true, .state = 'R'};
    return it;
}

/* Let time pass in which the highest class is served, while each worker gets a fortieth of a CPU. Returns how many
   starved classes there are at its end. */
static size_t pass(struct paper *it, unsigned ms, uint64_t paid_ns)
{
    vg_pool_facts *facts = &it->history.facts;
    size_t starved = 0;
    for (unsigned at = 0; at < ms; at += LOOK_MS) {
        it->look.now += it->look.interval_ns;
        it->look.real = it->look.now;
        facts->started[0] += 100;
        facts->all_started += 100;
        facts->all_ended += 100;
        facts->all_submitted += 100;
        told.run_ns += it->look.interval_ns / 40;
        told.delay_ns += it->look.interval_ns / 40 * 39;
        for (unsigned i = 0; i < WORKERS; i++)
            it->workers[i].age_debt_ns -= paid_ns < it->workers[i].age_debt_ns ? paid_ns : it->workers[i].age_debt_ns;
        it->found.count = 0;
        vg_judge_queues(&it->history, &it->subject, &it->look);
        for (size_t i = 0; i < it->found.count; i++)
            starved += it->found.of[i].verdict.stall == VIGIL_STALL_STARVED_CLASS;
    }
    return starved;
}

static void debts_that_are_paid_slowly_explain_a_wait(void **state)
{
    (void)state;
    struct paper *it = begin();
    for (unsigned i = 0; i < WORKERS; i++)
        it->workers[i].age_debt_ns = 4000000000;
    must_equal(pass(it, 30000, 25000000), 0); /* an eighth of the time that passes: 32 s */
    free(it);
}

static void a_worker_without_debts_could_serve_the_class(void **state)
{
    (void)state;
    struct paper *it = begin();
    it->workers[0].age_debt_ns = 4000000000;
    must(pass(it, 30000, 25000000) > 0);
    free(it);
}

static void debts_of_a_worker_that_sleeps_explain_nothing(void **state)
{
    (void)state;
    struct paper *it = begin();
    for (unsigned i = 0; i < WORKERS; i++)
        it->workers[i].age_debt_ns = i == 0 ? 4000000000 : 0;
    it->workers[0].doing = VG_DOING_BLOCKED;
    must(pass(it, 30000, 0) > 0);
    free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debts_that_are_paid_slowly_explain_a_wait),
        cmocka_unit_test(a_worker_without_debts_could_serve_the_class),
        cmocka_unit_test(debts_of_a_worker_that_sleeps_explain_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
