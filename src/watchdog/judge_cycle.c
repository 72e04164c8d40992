/* SPDX-License-Identifier: MIT */
/*
 * judge_cycle.c - tasks that wait for each other in a circle.
 *
 * One node for each worker, of all pools: its innermost wait. An arrow goes from A to B if A waits for a job or a group that lies on B's
 * stack under B's innermost wait (src/pool/waits.c says why that is enough, and why tasks that run on top do not matter). Waits
 * are for all of a group's tasks, so one arrow is enough to stand still, and a circle of arrows never ends by itself unless one of
 * its waits has a timeout.
 *
 * Each wait has a number that is never used again on its worker. A circle is told when it was seen twice with the same numbers: since a
 * number means one unbroken wait, and what lies under it cannot leave its stack meanwhile, all its arrows were there at one
 * moment. The finding's key is made of these numbers, so that another circle is another finding.
 */
#include "judge_cycle.h"

#include "function.h"

#include <stdlib.h>
#include <string.h>

typedef struct cycle_node {
    const vg_worker_fact *worker;
    const vg_pool_history *pool;
    uint32_t from; /* who led the search here */
    uint8_t mark;  /* 0 not seen, 1 on the path, 2 done */
} cycle_node;

typedef struct cycle_graph {
    cycle_node *nodes;
    size_t count;
    uint32_t *path;
    size_t length;
} cycle_graph;

static bool worker_holds(const vg_worker_fact *worker, uint64_t object)
{
    for (unsigned i = 0; i < worker->hold_count; i++)
        if (worker->holds[i] == object)
            return true;
    return false;
}

static const char *wait_word(const vg_worker_fact *worker)
{
    return worker->wait.what == VG_WAITS_JOB ? "job" : "group";
}

static bool rejectable_first(const vg_worker_fact *a, const vg_worker_fact *b)
{
    if (a->wait.rejectable != b->wait.rejectable)
        return a->wait.rejectable;
    return a->wait.since_ns > b->wait.since_ns;
}

/* The same for the same waits, wherever the circle was entered. */
static uint64_t cycle_key(const vg_worker_fact *worker)
{
    uint64_t key = (uint64_t)(uintptr_t)worker->self ^ worker->wait.number * UINT64_C(0x9e3779b97f4a7c15);
    key ^= key >> 31;
    return key * UINT64_C(0xbf58476d1ce4e5b9);
}

static void find_cycle(const cycle_graph *all, size_t begin, const vg_look *look)
{
    const size_t length = all->length - begin;
    const cycle_node *youngest = &all->nodes[all->path[begin]];
    uint64_t newest = 0;
    bool limited = false;
    bool one_pool = true;
    for (size_t i = begin; i < all->length; i++) {
        const cycle_node *at = &all->nodes[all->path[i]];
        limited = limited || at->worker->wait.limited;
        one_pool = one_pool && at->pool == youngest->pool;
        newest = at->worker->wait.since_ns > newest ? at->worker->wait.since_ns : newest;
        if (rejectable_first(at->worker, youngest->worker))
            youngest = at;
    }
    if (look->real < newest + look->stuck_ns)
        return; /* younger than anything that is worth a word */
    vg_finding *finding = vg_find(look, VIGIL_STALL_WAIT_CYCLE, limited ? VIGIL_SEVERITY_WARNING : VIGIL_SEVERITY_ERROR,
                                  NULL, youngest->pool->facts.name, look->now);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    verdict->since_ns = newest; /* the last arrow closed the circle */
    verdict->worker = (int)youngest->worker->index;
    verdict->thread = youngest->worker->thread;
    verdict->function = youngest->worker->function;
    verdict->subject = youngest->pool->object;
    finding->serial = youngest->pool->serial;
    for (size_t i = begin; i < all->length; i++)
        finding->key += cycle_key(all->nodes[all->path[i]].worker);
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "%zu tasks wait for each other in a circle: ", length);
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    for (size_t i = begin; i < all->length; i++) {
        const cycle_node *at = &all->nodes[all->path[i]];
        const cycle_node *next = &all->nodes[all->path[i + 1 < all->length ? i + 1 : begin]];
        if (i < begin + VG_MANY) {
            vg_say(&reason, "worker %u -> ", at->worker->index);
            vg_say_worker(&evidence, at->worker);
            if (!one_pool)
                vg_say(&evidence, " of pool \"%s\"", at->pool->facts.name);
            vg_say(&evidence, ": has waited ");
            vg_say_time(&evidence, look->real - at->worker->wait.since_ns);
            vg_say(&evidence, " for a %s", wait_word(at->worker));
            if (at->worker->wait.function != NULL) {
                char name[128];
                vg_function_name(at->worker->wait.function, name, sizeof name);
                vg_say(&evidence, " (%s)", name);
            }
            vg_say(&evidence, " that cannot end before worker %u%s%s%s goes on\n", next->worker->index,
                   one_pool ? "" : " of pool \"", one_pool ? "" : next->pool->facts.name, one_pool ? "" : "\"");
        }
        vg_find_thread(finding, at->worker->thread, at->worker->function);
        finding->no_stacks = finding->no_stacks || at->pool->facts.small_stacks;
    }
    vg_say(&reason, "%sworker %u.", length > VG_MANY ? "... -> " : "", all->nodes[all->path[begin]].worker->index);
    if (limited)
        vg_say(&reason, " One of the waits has a timeout, which will break it.");
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(&advice, "Let a task never wait for one that may wait for it: split the work at the wait, or submit a "
                    "follow-up instead of "
                    "waiting. VIGIL_RECOVER_REJECT breaks the circle: its youngest wait for a job returns -EDEADLK.");
    if (youngest->worker->wait.rejectable) {
        finding->reject_serial = youngest->pool->serial;
        finding->reject_worker = youngest->worker->index;
        finding->reject_wait = youngest->worker->wait.number;
    }
}

/* Follow the arrows from the last of the path. Depth first, with the path itself as the stack. */
static void follow_waits(cycle_graph *all, const vg_look *look)
{
    while (all->length != 0) {
        const uint32_t at = all->path[all->length - 1];
        cycle_node *here = &all->nodes[at];
        uint32_t next = here->from;
        for (; next < all->count; next++)
            if (next != at && all->nodes[next].mark != 2 &&
                worker_holds(all->nodes[next].worker, here->worker->wait.object))
                break;
        here->from = next + 1; /* where to go on when we come back */
        if (next >= all->count) {
            here->mark = 2;
            all->length--;
            continue;
        }
        if (all->nodes[next].mark == 1) {
            size_t begin = 0;
            while (all->path[begin] != next)
                begin++;
            find_cycle(all, begin, look);
            here->mark = 2; /* one circle through it is enough */
            all->length--;
            continue;
        }
        all->nodes[next].mark = 1;
        all->path[all->length++] = next;
    }
}

void vg_judge_cycles(vg_pool_history *const *pools, size_t count, const vg_look *look)
{
    size_t most = 0;
    for (size_t p = 0; p < count; p++)
        for (size_t i = 0; i < pools[p]->facts.count; i++)
            most += pools[p]->facts.worker[i].wait.what != VG_WAITS_NOT;
    if (most < 2)
        return;
    cycle_graph all = {.nodes = calloc(most, sizeof *all.nodes), .path = calloc(most, sizeof *all.path)};
    if (all.nodes != NULL && all.path != NULL) {
        for (size_t p = 0; p < count; p++)
            for (size_t i = 0; i < pools[p]->facts.count; i++)
                if (pools[p]->facts.worker[i].wait.what != VG_WAITS_NOT)
                    all.nodes[all.count++] = (cycle_node){.worker = &pools[p]->facts.worker[i], .pool = pools[p]};
        for (size_t i = 0; i < all.count; i++) {
            if (all.nodes[i].mark != 0)
                continue;
            all.nodes[i].mark = 1;
            all.path[0] = (uint32_t)i;
            all.length = 1;
            follow_waits(&all, look);
        }
    }
    free(all.nodes);
    free(all.path);
}
