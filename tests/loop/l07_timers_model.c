/* SPDX-License-Identifier: MIT */
/* L7: 10^5 random operations on timers against a plain list. After each turn both must have fired the same timers in the same
   order; each answer of cancel and of again must be the list's. Callbacks cancel, re-arm and start others while firing. */
#include "loop_test.h"

enum {
    MOST = 400
};

struct entry {
    bool alive, due, repeats;
    uint64_t deadline, interval;
    uint64_t armed; /* order of arming */
    vigil_timer timer;
    uint64_t name;
};

static struct entry entries[MOST];
static uint64_t arm_count, name_count, fired_total;
static uint64_t random_state = 42;
static vigil_loop *loop;
static uint64_t firing; /* whose callback runs: too late to cancel, not stale yet */

static uint64_t dice(uint64_t sides)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % sides;
}

static void random_operation(void);

static void fired(vigil_loop *of, vigil_timer timer, void *arg)
{
    uint64_t name = (uint64_t)(uintptr_t)arg;
    /* The model's next: the least (deadline, armed) of those that were due when the turn began. */
    struct entry *next = NULL;
    for (int i = 0; i < MOST; i++) {
        struct entry *each = &entries[i];
        if (each->alive && each->due &&
            (next == NULL || each->deadline < next->deadline ||
             (each->deadline == next->deadline && each->armed < next->armed)))
            next = each;
    }
    must(next != NULL);
    must_equal(next->name, name);
    must_equal(next->timer.id, timer.id);
    must(next->deadline <= vigil_loop_now(of));
    next->due = false;
    fired_total++;
    if (next->repeats) {
        uint64_t now = vigil_loop_now(of);
        do
            next->deadline += next->interval;
        while (next->deadline <= now);
        next->armed = arm_count++;
        uint64_t deadline;
        must_equal(vigil_timer_deadline(of, timer, &deadline), 0);
        must_equal(deadline, next->deadline);
    } else if (dice(8) == 0) { /* once more */
        must_equal(vigil_timer_cancel(of, timer), -EBUSY);
        next->deadline = vigil_loop_now(of) + dice(200000);
        next->armed = arm_count++;
        must_equal(vigil_timer_again_at(of, timer, next->deadline), 0);
    } else {
        must_equal(vigil_timer_cancel(of, timer), -EBUSY);
        next->alive = false;
    }
    firing = timer.id;
    if (dice(3) == 0)
        random_operation();
    firing = 0;
}

static void start(struct entry *entry)
{
    uint64_t now = vigil_loop_now(loop);
    *entry = (struct entry){.alive = true,
                            .deadline = now + dice(4) * 50000 + dice(2) * dice(300000),
                            .repeats = dice(5) == 0,
                            .armed = arm_count++,
                            .name = ++name_count};
    if (dice(10) == 0 && entry->deadline > 1000000)
        entry->deadline -= 1000000; /* overdue from the start */
    entry->interval = entry->repeats ? 20000 + dice(200000) : 0;
    vigil_timer_options options = {
        .size = sizeof options, .deadline_ns = entry->deadline, .interval_ns = (int64_t)entry->interval};
    must_equal(vigil_timer_start_with(loop, &options, fired, (void *)(uintptr_t)entry->name, &entry->timer), 0);
}

static void random_operation(void)
{
    struct entry *entry = &entries[dice(MOST)];
    if (!entry->alive) {
        if (entry->timer.id != 0 && entry->timer.id != firing) {
            must_equal(vigil_timer_cancel(loop, entry->timer), -ESTALE);
            must_equal(vigil_timer_again_at(loop, entry->timer, 1), -ESTALE);
        }
        start(entry);
        return;
    }
    if (dice(2) == 0 || (entry->repeats && dice(4) == 0)) {
        must_equal(vigil_timer_cancel(loop, entry->timer), 0);
        entry->alive = false;
        entry->due = false;
        return;
    }
    entry->deadline = vigil_loop_now(loop) + dice(400000);
    entry->armed = arm_count++;
    entry->due = false; /* armed again: not in this turn */
    must_equal(vigil_timer_again_at(loop, entry->timer, entry->deadline), 0);
}

/* The snapshot of the timers phase, taken where the loop takes it: after the posts of the same turn. */
static void mark_due(void *arg)
{
    (void)arg;
    for (int i = 0; i < MOST; i++)
        entries[i].due = entries[i].alive && entries[i].deadline <= vigil_loop_now(loop);
}

static void random_operations_agree_with_a_plain_list(void **state)
{
    (void)state;
    loop = loop_that_stays();
    uint64_t operations = scaled(100000, 3000);
    uint64_t done = 0;
    while (done < operations) {
        for (uint64_t n = dice(20); n > 0; n--, done++)
            random_operation();
        must_equal(vigil_loop_call(loop, mark_due, NULL, NULL), 0);
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
        for (int i = 0; i < MOST; i++)
            must(!entries[i].due); /* none that was due was left out */
    }
    must(fired_total > operations / 20);
    uint64_t alive = 0;
    for (int i = 0; i < MOST; i++)
        alive += entries[i].alive;
    must_equal(loop_stats(loop).timers_active, alive);
    must_equal(loop_stats(loop).timers_fired, fired_total);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(random_operations_agree_with_a_plain_list)};
    return run_all(tests);
}
