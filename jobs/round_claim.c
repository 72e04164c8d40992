/* SPDX-License-Identifier: MIT */
/* round_claim.c - how much a round claims, in which order, and how it gets to the pool. */
#include "round_claim.h"

#include "heart.h"
#include "run.h"

enum {
    AGEING_PERIOD = 32,
    MOST_PREFETCH = 1024,
    PREFETCH_US = 5000, /* this much work may wait here */
    SUBMITS = 64,
    HALVES_LEAST = 256, /* jobs in flight at most: as two halves, of which one runs while the other is claimed */
};

static unsigned prefetch(const vigil_jobs *jobs)
{
    if (jobs->options.no_prefetch)
        return 0;
    if (jobs->options.prefetch != 0)
        return jobs->options.prefetch;
    uint64_t mean_us = atomic_load_explicit(&jobs->run_ns, memory_order_relaxed) / 1000;
    uint64_t fits = jobs->width * (uint64_t)PREFETCH_US / (mean_us + 1);
    return fits > MOST_PREFETCH ? MOST_PREFETCH : (unsigned)fits;
}

/* Only what the ends leave is in flight. */
bool vg_jobs_claim_alone(const struct vg_jobs_round *round)
{
    return atomic_load_explicit(&round->jobs->flying_count, memory_order_relaxed) == round->end_count;
}

static unsigned most_flying(const vigil_jobs *jobs)
{
    return jobs->width + prefetch(jobs);
}

unsigned vg_jobs_claim_places(const struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    if (round->lone_until != 0 && !vg_jobs_claim_alone(round))
        return 0;
    if (atomic_load_explicit(&jobs->stopping, memory_order_relaxed) != 0 || round->quarantine || round->returned > 0)
        return 0;
    unsigned flying = atomic_load_explicit(&jobs->flying_count, memory_order_relaxed) - (unsigned)round->end_count;
    unsigned most = most_flying(jobs);
    return flying < most ? most - flying : 0;
}

unsigned vg_jobs_claim_most(const struct vg_jobs_round *round)
{
    unsigned most = most_flying(round->jobs);
    return most >= HALVES_LEAST ? most / 2 : most;
}

/* The classes in their order; of every AGEING_PERIOD claims one begins with a lower class, in rotation. */
void vg_jobs_claim_order(struct vg_jobs_round *round, int classes[VIGIL_PRIORITIES])
{
    int first = 0;
    if (++round->takes % AGEING_PERIOD == 0)
        first = 1 + (int)(round->lower_class++ % (VIGIL_PRIORITIES - 1));
    classes[0] = first;
    for (int i = 0, place = 1; i < VIGIL_PRIORITIES; i++)
        if (i != first)
            classes[place++] = i;
}

void vg_jobs_claim_take(void *arg, const struct vg_jobs_row *row)
{
    struct vg_jobs_round *round = arg;
    struct vg_jobs_run *run = vg_jobs_run_create(round->jobs, row);
    if (run == NULL) {
        round->short_of_memory = true; /* its lease runs out: another takes it */
        return;
    }
    run->next_end = round->taken;
    round->taken = run;
}

void vg_jobs_claim_drop(struct vg_jobs_round *round)
{
    while (round->taken != NULL) {
        struct vg_jobs_run *run = round->taken;
        round->taken = run->next_end;
        vg_jobs_run_free(run);
    }
}

/* Hand runs of one class to the pool, with one decision about waking. Gives the rest. A run that was handed over may
   have ended, and its link is that of the ends then. */
static struct vg_jobs_run *submit_some(vigil_jobs *jobs, struct vg_jobs_run *order)
{
    struct vg_jobs_run *runs[SUBMITS];
    vigil_task *tasks[SUBMITS];
    size_t count = 0;
    uint8_t class = order->task.vg_class;
    for (; order != NULL && count < SUBMITS && order->task.vg_class == class; order = order->next_end) {
        runs[count] = order;
        tasks[count++] = &order->task;
    }
    if (vigil_pool_submit_batch(jobs->pool, tasks, count, (vigil_priority) class) == 0)
        return order;
    for (size_t i = 0; i < count; i++)
        if (vg_jobs_run_submit(runs[i]) != 0) { /* the pool is full or ends */
            runs[i]->end.outcome = VG_JOBS_GIVE_BACK;
            vg_jobs_run_push(runs[i], false);
        }
    return order;
}

/* Put the claimed runs in flight, oldest first, and hand them to the pool. */
void vg_jobs_claim_launch(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    struct vg_jobs_run *order = NULL;
    unsigned number = 0;
    while (round->taken != NULL) {
        struct vg_jobs_run *run = round->taken;
        round->taken = run->next_end;
        run->next_end = order;
        order = run;
        number++;
    }
    if (number == 0)
        return;
    for (const struct vg_jobs_run *run = order; run != NULL; run = run->next_end)
        round->quarantine = round->quarantine || run->quarantined;
    unsigned flying = atomic_fetch_add_explicit(&jobs->flying_count, number, memory_order_relaxed) + number;
    uint64_t now = vg_jobs_now_ms();
    for (struct vg_jobs_run *run = order; run != NULL; run = run->next_end)
        run->claimed_ms = now;
    if (flying > jobs->width && round->hold_at == VG_JOBS_AT_NEVER)
        round->hold_at = now + VG_JOBS_HOLD_MS;
    vg_jobs_count_up(&jobs->claimed, number);
    vg_jobs_heart_watch(jobs, order);
    while (order != NULL)
        order = submit_some(jobs, order);
}
