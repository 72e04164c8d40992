/* SPDX-License-Identifier: MIT */
/* count.c - how many jobs there are by kind, class and state; the sum over the servers if there are several. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet.h"
#include "why.h"

struct sums {
    vigil_jobs_tally *list;
    size_t count, room;
    bool short_of_memory;
};

static void add_tally(const vigil_jobs_tally *tally, void *arg)
{
    struct sums *sums = arg;
    for (size_t i = 0; i < sums->count; i++) {
        vigil_jobs_tally *it = &sums->list[i];
        if (it->priority != tally->priority || it->state != tally->state || strcmp(it->kind, tally->kind) != 0)
            continue;
        it->count += tally->count;
        it->oldest_ms = it->oldest_ms > tally->oldest_ms ? it->oldest_ms : tally->oldest_ms;
        it->paused = it->paused || tally->paused;
        return;
    }
    if (sums->count == sums->room) {
        size_t room = sums->room * 2 + 64;
        vigil_jobs_tally *more = realloc(sums->list, room * sizeof *more);
        sums->short_of_memory = sums->short_of_memory || more == NULL;
        if (more == NULL)
            return;
        sums->list = more;
        sums->room = room;
    }
    char *kind = strdup(tally->kind);
    sums->short_of_memory = sums->short_of_memory || kind == NULL;
    if (kind == NULL)
        return;
    sums->list[sums->count] = *tally;
    sums->list[sums->count++].kind = kind;
}

static int by_kind_class_and_state(const void *a, const void *b)
{
    const vigil_jobs_tally *x = a, *y = b;
    int order = strcmp(x->kind, y->kind);
    if (order != 0)
        return order;
    return x->priority != y->priority ? (int)x->priority - (int)y->priority : (int)x->state - (int)y->state;
}

static int count_fleet(vigil_jobs *jobs, struct sums *sums)
{
    for (unsigned i = 0; i < vg_jobs_fleet_count(jobs); i++) {
        vigil_jobs *member = vg_jobs_fleet_member(jobs, i);
        int seen = member != NULL ? vigil_jobs_count(member, add_tally, sums) : -ENOTCONN;
        if (seen < 0)
            return seen;
    }
    return sums->short_of_memory ? -ENOMEM : (int)sums->count;
}

int vigil_jobs_count(vigil_jobs *jobs, void (*see)(const vigil_jobs_tally *tally, void *arg), void *arg)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (see == NULL)
        return vg_jobs_why(-EINVAL, "see is NULL");
    if (jobs->fleet == NULL) {
        (void)pthread_mutex_lock(&jobs->client_lock);
        int seen = jobs->engine->count(jobs->client, see, arg);
        (void)pthread_mutex_unlock(&jobs->client_lock);
        return seen;
    }
    struct sums sums = {0};
    int total = count_fleet(jobs, &sums);
    if (sums.count > 1)
        qsort(sums.list, sums.count, sizeof *sums.list, by_kind_class_and_state);
    for (size_t i = 0; i < sums.count; i++) {
        if (total >= 0)
            see(&sums.list[i], arg);
        free((void *)(uintptr_t)sums.list[i].kind);
    }
    free(sums.list);
    return total;
}
