/* SPDX-License-Identifier: MIT */
/* fleet_client.c - the calls of a queue on several servers: which member, and ids on the way in and out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet.h"
#include "why.h"

#define RAW(id)   ((id) & ((UINT64_C(1) << VG_FLEET_SHIFT) - 1))
#define PLACE(id) ((unsigned)((id) >> VG_FLEET_SHIFT))

static uint64_t tagged(const vigil_jobs *member, uint64_t id)
{
    return id != 0 ? id | member->tag : 0;
}

/* ---- enqueueing -------------------------------------------------------------------------------------------------- */

/* Where the item goes. *least is found once for all items without a key: they stay together. Negative: error. */
static int place_of(vigil_jobs *jobs, const vigil_jobs_item *item, int *least)
{
    vigil_jobs_job options = VIGIL_JOBS_JOB_INIT;
    if (item->options != NULL && item->options->size > 0 && item->options->size <= 4096)
        memcpy(&options, item->options, item->options->size < sizeof options ? item->options->size : sizeof options);
    uint64_t batch = options.batch != 0 ? options.batch : options.after_batch;
    if (options.batch != 0 && options.after_batch != 0 && PLACE(options.batch) != PLACE(options.after_batch))
        return vg_jobs_why(-EINVAL, "batch and after_batch are on different servers");
    if (batch != 0 && PLACE(batch) >= vg_jobs_fleet_count(jobs))
        return vg_jobs_why(-ENOENT, "there is no batch %llu", (unsigned long long)batch);
    if (options.key != NULL && options.key[0] != '\0') {
        int place = (int)vg_jobs_fleet_place(jobs, options.key);
        if (batch != 0 && (int)PLACE(batch) != place)
            return vg_jobs_why(-EINVAL, "the key '%.40s' belongs to another server than the batch", options.key);
        return place;
    }
    if (batch != 0)
        return (int)PLACE(batch);
    if (*least < 0)
        *least = vg_jobs_fleet_least(jobs);
    return *least;
}

/* The items of one place, as its member knows them: batches without their place. One transaction. */
static int enqueue_part(vigil_jobs *jobs, unsigned place, vigil_jobs_item *items, size_t count, const int *places,
                        uint64_t *holder)
{
    vigil_jobs *member = vg_jobs_fleet_member(jobs, place);
    if (member == NULL)
        return -ENOTCONN;
    vigil_jobs_item *part = calloc(count, sizeof *part);
    vigil_jobs_job *options = calloc(count, sizeof *options);
    size_t number = 0;
    for (size_t i = 0; i < count && part != NULL && options != NULL; i++) {
        if (places[i] != (int)place)
            continue;
        part[number] = items[i];
        if (items[i].options != NULL && items[i].options->size <= sizeof *options) {
            memcpy(&options[number], items[i].options, items[i].options->size);
            options[number].batch = RAW(options[number].batch);
            options[number].after_batch = RAW(options[number].after_batch);
            part[number].options = &options[number];
        }
        number++;
    }
    int total = part != NULL && options != NULL ? vg_jobs_enqueue(member, part, number, holder) : -ENOMEM;
    number = 0;
    for (size_t i = 0; i < count && total >= 0; i++)
        if (places[i] == (int)place)
            items[i].id = tagged(member, part[number++].id);
    if (total >= 0 && holder != NULL)
        *holder = tagged(member, *holder);
    if (total > 0 || total == -ENOTCONN)
        vg_jobs_fleet_note(jobs, place, total > 0 ? (size_t)total : 0);
    free(part);
    free(options);
    return total;
}

int vg_jobs_fleet_enqueue(vigil_jobs *jobs, vigil_jobs_item *items, size_t count, uint64_t *holder)
{
    int one, *places = count > 1 ? calloc(count, sizeof *places) : &one, least = -1, total = 0;
    if (places == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count && total >= 0; i++) {
        items[i].id = 0;
        places[i] = place_of(jobs, &items[i], &least);
        total = places[i] < 0 ? places[i] : 0;
    }
    for (unsigned place = 0; place < vg_jobs_fleet_count(jobs) && total >= 0; place++) {
        bool any = false;
        for (size_t i = 0; i < count && !any; i++)
            any = places[i] == (int)place;
        int part = any ? enqueue_part(jobs, place, items, count, places, holder) : 0;
        total = part < 0 ? part : total + part;
    }
    if (places != &one)
        free(places);
    return total;
}

int vg_jobs_fleet_batch(vigil_jobs *jobs, uint64_t *batch)
{
    int place = vg_jobs_fleet_least(jobs);
    vigil_jobs *member = place >= 0 ? vg_jobs_fleet_member(jobs, (unsigned)place) : NULL;
    if (member == NULL)
        return -ENOTCONN;
    int error = vigil_jobs_batch(member, batch);
    if (error == 0)
        *batch = tagged(member, *batch);
    return error;
}

/* ---- one member -------------------------------------------------------------------------------------------------- */

static vigil_jobs *member_of(vigil_jobs *jobs, uint64_t id, int *error)
{
    vigil_jobs *member = vg_jobs_fleet_member(jobs, PLACE(id));
    *error = member != NULL ? 0 : PLACE(id) >= vg_jobs_fleet_count(jobs) ? -ENOENT : -ENOTCONN;
    return member;
}

int vg_jobs_fleet_batch_end(vigil_jobs *jobs, uint64_t batch)
{
    int error;
    vigil_jobs *member = member_of(jobs, batch, &error);
    return member != NULL ? vigil_jobs_batch_end(member, RAW(batch)) : error;
}

int vg_jobs_fleet_cancel(vigil_jobs *jobs, uint64_t id)
{
    int error;
    vigil_jobs *member = member_of(jobs, id, &error);
    return member != NULL ? vigil_jobs_cancel(member, RAW(id)) : error;
}

int vg_jobs_fleet_retry(vigil_jobs *jobs, uint64_t id)
{
    int error;
    vigil_jobs *member = member_of(jobs, id, &error);
    return member != NULL ? vigil_jobs_retry(member, RAW(id)) : error;
}

int vg_jobs_fleet_edit(vigil_jobs *jobs, uint64_t id, const void *payload, size_t length)
{
    int error;
    vigil_jobs *member = member_of(jobs, id, &error);
    return member != NULL ? vigil_jobs_edit(member, RAW(id), payload, length) : error;
}

int vg_jobs_fleet_remove(vigil_jobs *jobs, uint64_t id)
{
    int error;
    vigil_jobs *member = member_of(jobs, id, &error);
    return member != NULL ? vigil_jobs_remove(member, RAW(id)) : error;
}

int vg_jobs_fleet_promise(vigil_jobs *jobs, vigil_loop *loop, uint64_t id, vigil_cancel_token *token,
                          vigil_promise **promise)
{
    int error;
    vigil_jobs *member = member_of(jobs, id, &error);
    return member != NULL ? vigil_promise_jobs(member, loop, RAW(id), token, promise) : error;
}

struct looker {
    const vigil_jobs *member;
    vigil_jobs_see_fn see;
    void *arg;
};

static void see_tagged(const vigil_jobs_info *info, void *arg)
{
    const struct looker *looker = arg;
    vigil_jobs_info seen = *info;
    seen.id = tagged(looker->member, info->id);
    seen.batch = tagged(looker->member, info->batch);
    if (looker->see != NULL)
        looker->see(&seen, looker->arg);
}

int vg_jobs_fleet_wait(vigil_jobs *jobs, uint64_t id, int64_t timeout_ns, vigil_jobs_see_fn see, void *arg)
{
    int error;
    struct looker looker = {.member = member_of(jobs, id, &error), .see = see, .arg = arg};
    if (looker.member == NULL)
        return error;
    return vigil_jobs_wait((vigil_jobs *)(uintptr_t)looker.member, RAW(id), timeout_ns, see_tagged, &looker);
}

/* ---- all members ------------------------------------------------------------------------------------------------- */

/* By rising id: member after member. One that is away is left out unless nobody answers. */
int vg_jobs_fleet_look(vigil_jobs *jobs, const vigil_jobs_filter *filter, vigil_jobs_see_fn see, void *arg)
{
    unsigned from = PLACE(filter->id != 0 ? filter->id : filter->above_id), to = vg_jobs_fleet_count(jobs);
    unsigned most = filter->most != 0 ? filter->most : 100, seen = 0;
    int error = 0;
    if (filter->id != 0 && from < to)
        to = from + 1;
    bool answered = from >= to;
    for (unsigned place = from; place < to && seen < most; place++) {
        vigil_jobs *member = vg_jobs_fleet_member(jobs, place);
        struct looker looker = {.member = member, .see = see, .arg = arg};
        vigil_jobs_filter part = *filter;
        part.id = RAW(filter->id);
        part.above_id = PLACE(filter->above_id) == place ? RAW(filter->above_id) : 0;
        part.most = most - seen;
        int found = member != NULL ? vigil_jobs_look(member, &part, see_tagged, &looker) : -ENOTCONN;
        error = found < 0 ? found : error;
        seen += found > 0 ? (unsigned)found : 0;
        answered = answered || found >= 0;
    }
    return answered ? (int)seen : error;
}

/* Also those that answer after one that does not. */
int vg_jobs_fleet_pause(vigil_jobs *jobs, const char *kind, bool paused)
{
    int error = 0;
    for (unsigned place = 0; place < vg_jobs_fleet_count(jobs); place++) {
        vigil_jobs *member = vg_jobs_fleet_member(jobs, place);
        int result = member == NULL ? -ENOTCONN
                     : paused       ? vigil_jobs_pause(member, kind)
                                    : vigil_jobs_resume(member, kind);
        error = error != 0 ? error : result;
    }
    return error;
}

/* The sum of snapshots. A member that is away makes the account impossible. */
int vg_jobs_fleet_audit(vigil_jobs *jobs, vigil_jobs_account *account)
{
    vigil_jobs_account sum = VIGIL_JOBS_ACCOUNT_INIT;
    int error = 0;
    for (unsigned place = 0; place < vg_jobs_fleet_count(jobs) && (error == 0 || error == -EIO); place++) {
        vigil_jobs *member = vg_jobs_fleet_member(jobs, place);
        vigil_jobs_account one = VIGIL_JOBS_ACCOUNT_INIT;
        int result = member != NULL ? vigil_jobs_audit(member, &one) : -ENOTCONN;
        sum.enqueued += one.enqueued;
        sum.waiting += one.waiting;
        sum.running += one.running;
        sum.completed += one.completed;
        sum.dead += one.dead;
        sum.cancelled += one.cancelled;
        for (int i = 0; i < VIGIL_PRIORITIES; i++)
            sum.oldest_ms[i] = one.oldest_ms[i] > sum.oldest_ms[i] ? one.oldest_ms[i] : sum.oldest_ms[i];
        error = result != 0 ? result : error;
    }
    *account = sum;
    return error;
}

struct finder {
    const char *name;
    bool found;
};

static void find_name(const vigil_jobs_schedule *schedule, void *arg)
{
    struct finder *finder = arg;
    finder->found = finder->found || strcmp(schedule->name, finder->name) == 0;
}

/* Where it is: a member that came later changes nothing. Otherwise as its name hashes. */
int vg_jobs_fleet_schedule_set(vigil_jobs *jobs, const char *name, const vigil_jobs_schedule *schedule)
{
    struct finder finder = {.name = name != NULL ? name : ""};
    vigil_jobs *member = NULL;
    for (unsigned place = 0; place < vg_jobs_fleet_count(jobs) && !finder.found; place++) {
        member = vg_jobs_fleet_member(jobs, place);
        if (member != NULL)
            (void)vigil_jobs_schedule_look(member, find_name, &finder);
    }
    if (!finder.found)
        member = vg_jobs_fleet_member(jobs, vg_jobs_fleet_place(jobs, finder.name));
    return member != NULL ? vigil_jobs_schedule_set(member, name, schedule) : -ENOTCONN;
}

int vg_jobs_fleet_schedule_remove(vigil_jobs *jobs, const char *name)
{
    int error = -ENOENT;
    for (unsigned place = 0; place < vg_jobs_fleet_count(jobs); place++) {
        vigil_jobs *member = vg_jobs_fleet_member(jobs, place);
        int result = member != NULL ? vigil_jobs_schedule_remove(member, name) : -ENOTCONN;
        if (result == 0)
            return 0;
        error = result != -ENOENT ? result : error;
    }
    return error;
}

/* By name within each member. */
int vg_jobs_fleet_schedule_look(vigil_jobs *jobs, vigil_jobs_schedule_fn see, void *arg)
{
    int total = 0, error = 0;
    bool answered = false;
    for (unsigned place = 0; place < vg_jobs_fleet_count(jobs); place++) {
        vigil_jobs *member = vg_jobs_fleet_member(jobs, place);
        int found = member != NULL ? vigil_jobs_schedule_look(member, see, arg) : -ENOTCONN;
        answered = answered || found >= 0;
        total += found > 0 ? found : 0;
        error = found < 0 ? found : error;
    }
    return answered ? total : error;
}
