/* SPDX-License-Identifier: MIT */
/* client.c - enqueueing, looking and steering: checks the arguments and asks the engine, one caller at a time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet.h"
#include "spool.h"
#include "struct.h"
#include "utf8.h"
#include "why.h"

enum {
    SOME = 16,       /* jobs that need no memory of their own */
    ROOM_SHARE = 16, /* of the room that was found, this part is used before it is looked for again */
    ROOM_MS = 100,   /* and for so long */
};

/* The client's connection for one verb. */
static struct vg_jobs_conn *borrow(vigil_jobs *jobs)
{
    (void)pthread_mutex_lock(&jobs->client_lock);
    return jobs->client;
}

static int give(vigil_jobs *jobs, int result)
{
    (void)pthread_mutex_unlock(&jobs->client_lock);
    return result;
}

/* Rounded up. */
static int64_t milliseconds(int64_t ns)
{
    return ns / 1000000 + (ns % 1000000 != 0);
}

static int check_names(const char *kind, const vigil_jobs_job *options)
{
    int error = vg_jobs_utf8_check(kind, "kind");
    if (error == 0)
        error = vg_jobs_utf8_check(options->key, "options.key");
    if (error == 0)
        error = vg_jobs_utf8_check(options->tenant, "options.tenant");
    return error != 0 ? error : vg_jobs_utf8_check(options->content_type, "options.content_type");
}

int vg_jobs_read_item(const vigil_jobs *jobs, const vigil_jobs_item *item, struct vg_jobs_new *to)
{
    vigil_jobs_job options = VIGIL_JOBS_JOB_INIT;
    if (item->options != NULL) {
        if (item->options->size == 0 || item->options->size > 4096)
            return vg_jobs_why(-EINVAL, "options.size is not set; start from VIGIL_JOBS_JOB_INIT");
        memcpy(&options, item->options, item->options->size < sizeof options ? item->options->size : sizeof options);
    }
    if (item->kind == NULL || item->kind[0] == '\0')
        return vg_jobs_why(-EINVAL, "kind is empty");
    if (item->payload == NULL && item->length > 0)
        return vg_jobs_why(-EINVAL, "payload is NULL");
    if (item->length > jobs->options.max_payload)
        return vg_jobs_why(-EMSGSIZE, "the payload has %zu bytes; the most is %zu (max_payload)", item->length,
                           jobs->options.max_payload);
    if ((int)options.priority < 0 || (int)options.priority >= VIGIL_PRIORITIES)
        return vg_jobs_why(-EINVAL, "options.priority is %d; the classes are 0 to 4", (int)options.priority);
    if (options.delay_ns < 0 || options.limit_ns < 0 || options.at_ms < 0)
        return vg_jobs_why(-EINVAL, "options.delay_ns, options.limit_ns or options.at_ms is negative");
    if (options.unique_ns < 0 || (options.unique_ns > 0 && options.key == NULL))
        return vg_jobs_why(-EINVAL, "options.unique_ns is negative, or has no key");
    if ((int)options.unique < 0 || options.unique > VIGIL_JOBS_UNTIL_START)
        return vg_jobs_why(-EINVAL, "options.unique is %d", (int)options.unique);
    if (options.version > INT32_MAX || options.max_errors > INT32_MAX)
        return vg_jobs_why(-EINVAL, "options.version or options.max_errors is larger than %d", INT32_MAX);
    int error = check_names(item->kind, &options);
    if (error != 0)
        return error;
    *to = (struct vg_jobs_new){.kind = item->kind,
                               .payload = item->payload,
                               .length = item->length,
                               .priority = (int)options.priority,
                               .delay_ms = milliseconds(options.delay_ns),
                               .at_ms = options.at_ms < VG_JOBS_NEVER ? options.at_ms : VG_JOBS_NEVER,
                               .version = options.version,
                               .content_type = options.content_type,
                               .key = options.key,
                               .unique = (int)options.unique,
                               .max_errors = options.max_errors,
                               .limit_ms = milliseconds(options.limit_ns),
                               .batch = options.batch,
                               .after = options.after_batch,
                               .unique_ms = milliseconds(options.unique_ns),
                               .tenant = options.tenant != NULL && options.tenant[0] != '\0' ? options.tenant : NULL};
    return 0;
}

/* Whether max_waiting allows so many more. Near the bound the waiting jobs are counted each time, far from it now and
   then. Under client_lock. */
static int find_room(vigil_jobs *jobs, struct vg_jobs_conn *conn, size_t count)
{
    uint64_t most = jobs->options.max_waiting, waiting = 0, now = vg_jobs_now_ms();
    if (most == 0)
        return 0;
    if (jobs->room >= count && now < jobs->room_until_ms) {
        jobs->room -= count;
        return 0;
    }
    jobs->room = 0;
    int error = jobs->engine->waiting(conn, most, &waiting);
    if (error != 0)
        return error;
    if (waiting + count > most)
        return vg_jobs_why(-EAGAIN, "%llu jobs wait, and the most is %llu (max_waiting)", (unsigned long long)waiting,
                           (unsigned long long)most);
    jobs->room = (most - waiting - count) / ROOM_SHARE;
    jobs->room_until_ms = now + ROOM_MS;
    return 0;
}

static int insert(vigil_jobs *jobs, void *foreign, struct vg_jobs_new *all, size_t count)
{
    struct vg_jobs_conn *conn = borrow(jobs);
    bool away = foreign == NULL && vg_jobs_spool_waits(jobs);
    int error = away ? 0 : find_room(jobs, conn, count);
    if (error == -ENOTCONN && foreign == NULL && jobs->spool != NULL)
        error = 0;
    if (error == 0 && foreign == NULL)
        error = jobs->spool != NULL ? vg_jobs_spool_enqueue(jobs, conn, all, count)
                                    : jobs->engine->enqueue(conn, all, count);
    (void)give(jobs, 0);
    return error != 0 || foreign == NULL ? error : jobs->engine->enqueue_within(jobs->site, foreign, all, count);
}

/* Every job that leaves the waiting ones ends later, so ends are what to wait for. A connection of its own, as in
   vigil_jobs_wait. */
static int insert_when_there_is_room(vigil_jobs *jobs, struct vg_jobs_new *all, size_t count)
{
    int64_t timeout_ns = jobs->options.full_wait_ns;
    if (count > jobs->options.max_waiting)
        return vg_jobs_why(-EAGAIN, "%zu jobs at once are more than max_waiting", count);
    struct vg_jobs_conn *conn;
    int error = jobs->engine->connect(jobs->site, &conn);
    if (error != 0)
        return error;
    uint64_t until = vg_jobs_now_ms() + (uint64_t)(timeout_ns > 0 ? timeout_ns / 1000000 : 0);
    int total;
    for (;;) {
        uint32_t ended = jobs->engine->ended_count(conn);
        total = insert(jobs, NULL, all, count);
        uint64_t now = vg_jobs_now_ms();
        if (total != -EAGAIN || (timeout_ns >= 0 && now >= until))
            break;
        jobs->engine->ended_wait(conn, ended, timeout_ns < 0 ? -1 : (int64_t)(until - now));
    }
    jobs->engine->disconnect(conn);
    return total;
}

static int enqueue(vigil_jobs *jobs, void *foreign, vigil_jobs_item *items, size_t count, uint64_t *holder)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (items == NULL || count == 0 || count > INT32_MAX)
        return vg_jobs_why(-EINVAL, "items is NULL, or count is 0 or too large");
    if (jobs->fleet != NULL)
        return foreign == NULL ? vg_jobs_fleet_enqueue(jobs, items, count, holder)
                               : vg_jobs_why(-ENOTSUP, "a transaction is of one server: open the queue of that one");
    struct vg_jobs_new some[SOME], *all = some;
    if (count > SOME && (all = malloc(count * sizeof *all)) == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count && error == 0; i++)
        error = vg_jobs_read_item(jobs, &items[i], &all[i]);
    int total = error;
    if (error == 0)
        total = insert(jobs, foreign, all, count);
    if (total == -EAGAIN && foreign == NULL && jobs->options.full_wait_ns != 0)
        total = insert_when_there_is_room(jobs, all, count);
    for (size_t i = 0; i < count && total >= 0; i++) {
        items[i].id = all[i].id;
        if (holder != NULL)
            *holder = all[i].holder;
    }
    if (all != some)
        free(all);
    return total;
}

int vg_jobs_enqueue(vigil_jobs *jobs, vigil_jobs_item *items, size_t count, uint64_t *holder)
{
    return enqueue(jobs, NULL, items, count, holder);
}

int vigil_jobs_enqueue(vigil_jobs *jobs, const char *kind, const void *payload, size_t length,
                       const vigil_jobs_job *options, uint64_t *id)
{
    vigil_jobs_item item = {.kind = kind, .payload = payload, .length = length, .options = options};
    uint64_t holder = 0;
    int total = enqueue(jobs, NULL, &item, 1, &holder);
    if (total < 0)
        return total;
    if (id != NULL)
        *id = total > 0 ? item.id : holder;
    return total > 0 ? 0
                     : vg_jobs_why(-EEXIST, "job %llu has the key '%s'", (unsigned long long)holder,
                                   options != NULL && options->key != NULL ? options->key : "");
}

int vigil_jobs_enqueue_many(vigil_jobs *jobs, vigil_jobs_item *items, size_t count)
{
    return enqueue(jobs, NULL, items, count, NULL);
}

int vigil_jobs_enqueue_within(vigil_jobs *jobs, void *connection, vigil_jobs_item *items, size_t count)
{
    if (connection == NULL)
        return vg_jobs_why(-EINVAL, "connection is NULL");
    return enqueue(jobs, connection, items, count, NULL);
}

int vigil_jobs_committed(vigil_jobs *jobs)
{
    int error = vg_jobs_guard(jobs);
    if (error == 0 && jobs->fleet == NULL) /* servers tell by themselves */
        jobs->engine->ring_all(jobs->site, VG_JOBS_EVENT_WORK);
    return error;
}

int vigil_jobs_batch(vigil_jobs *jobs, uint64_t *batch)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (batch == NULL)
        return vg_jobs_why(-EINVAL, "batch is NULL");
    if (jobs->fleet != NULL)
        return vg_jobs_fleet_batch(jobs, batch);
    return give(jobs, jobs->engine->batch(borrow(jobs), batch));
}

int vigil_jobs_batch_end(vigil_jobs *jobs, uint64_t batch)
{
    int error = vg_jobs_guard(jobs);
    if (error == 0 && jobs->fleet != NULL)
        return vg_jobs_fleet_batch_end(jobs, batch);
    return error != 0 ? error : give(jobs, jobs->engine->batch_end(borrow(jobs), batch));
}

int vigil_jobs_look(vigil_jobs *jobs, const vigil_jobs_filter *filter, vigil_jobs_see_fn see, void *arg)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    vigil_jobs_filter all = VIGIL_JOBS_FILTER_INIT;
    if (filter == NULL)
        filter = &all;
    if (filter->size != sizeof *filter)
        return vg_jobs_why(-EINVAL, "filter.size is not set; start from VIGIL_JOBS_FILTER_INIT");
    if (jobs->fleet != NULL)
        return vg_jobs_fleet_look(jobs, filter, see, arg);
    return give(jobs, jobs->engine->look(borrow(jobs), filter, see, arg));
}

struct looked {
    int state;
    vigil_jobs_see_fn see;
    void *arg;
};

static void see_end(const vigil_jobs_info *info, void *arg)
{
    struct looked *looked = arg;
    looked->state = (int)info->state;
    if (info->state >= VIGIL_JOBS_COMPLETED && looked->see != NULL)
        looked->see(info, looked->arg);
}

/* A connection of its own: the wait must not hold up others. */
static int wait_for(vigil_jobs *jobs, uint64_t id, int64_t timeout_ns, vigil_jobs_see_fn see, void *arg)
{
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    filter.id = id;
    struct looked first = {.state = -ENOENT, .see = see, .arg = arg};
    int result = give(jobs, jobs->engine->look(borrow(jobs), &filter, see_end, &first));
    if (result < 0 || first.state < 0 || first.state >= VIGIL_JOBS_COMPLETED || timeout_ns == 0)
        return result < 0 ? result : first.state < 0 || first.state >= VIGIL_JOBS_COMPLETED ? first.state : -ETIMEDOUT;
    struct vg_jobs_conn *conn;
    int error = jobs->engine->connect(jobs->site, &conn);
    if (error != 0)
        return error;
    uint64_t until = vg_jobs_now_ms() + (uint64_t)(timeout_ns > 0 ? timeout_ns / 1000000 : 0);
    for (;;) {
        uint32_t ended = jobs->engine->ended_count(conn);
        struct looked looked = {.state = -ENOENT, .see = see, .arg = arg};
        result = jobs->engine->look(conn, &filter, see_end, &looked);
        if (result >= 0)
            result = looked.state;
        if (result < 0 || result >= VIGIL_JOBS_COMPLETED)
            break;
        uint64_t now = vg_jobs_now_ms();
        if (timeout_ns >= 0 && now >= until) {
            result = -ETIMEDOUT;
            break;
        }
        jobs->engine->ended_wait(conn, ended, timeout_ns < 0 ? -1 : (int64_t)(until - now));
    }
    jobs->engine->disconnect(conn);
    return result;
}

int vigil_jobs_wait(vigil_jobs *jobs, uint64_t id, int64_t timeout_ns, vigil_jobs_see_fn see, void *arg)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (id == 0)
        return vg_jobs_why(-EINVAL, "id is 0");
    if (jobs->fleet != NULL)
        return vg_jobs_fleet_wait(jobs, id, timeout_ns, see, arg);
    bool task = vigil_blocking_begin() == 0;
    int result = wait_for(jobs, id, timeout_ns, see, arg);
    if (task)
        (void)vigil_blocking_end();
    return result;
}

int vigil_jobs_cancel(vigil_jobs *jobs, uint64_t id)
{
    int error = vg_jobs_guard(jobs);
    if (error == 0 && jobs->fleet != NULL)
        return vg_jobs_fleet_cancel(jobs, id);
    return error != 0 ? error : give(jobs, jobs->engine->cancel(borrow(jobs), id));
}

int vigil_jobs_retry(vigil_jobs *jobs, uint64_t id)
{
    int error = vg_jobs_guard(jobs);
    if (error == 0 && jobs->fleet != NULL)
        return vg_jobs_fleet_retry(jobs, id);
    return error != 0 ? error : give(jobs, jobs->engine->retry(borrow(jobs), id));
}

int vigil_jobs_edit(vigil_jobs *jobs, uint64_t id, const void *payload, size_t length)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (payload == NULL && length > 0)
        return vg_jobs_why(-EINVAL, "payload is NULL");
    if (length > jobs->options.max_payload)
        return vg_jobs_why(-EMSGSIZE, "the payload has %zu bytes; the most is %zu (max_payload)", length,
                           jobs->options.max_payload);
    if (jobs->fleet != NULL)
        return vg_jobs_fleet_edit(jobs, id, payload, length);
    return give(jobs, jobs->engine->edit(borrow(jobs), id, payload, length));
}

int vigil_jobs_remove(vigil_jobs *jobs, uint64_t id)
{
    int error = vg_jobs_guard(jobs);
    if (error == 0 && jobs->fleet != NULL)
        return vg_jobs_fleet_remove(jobs, id);
    return error != 0 ? error : give(jobs, jobs->engine->drop(borrow(jobs), id));
}

int vigil_jobs_pause(vigil_jobs *jobs, const char *kind)
{
    int error = vg_jobs_guard(jobs);
    if (error == 0 && jobs->fleet != NULL)
        return vg_jobs_fleet_pause(jobs, kind, true);
    return error != 0 ? error : give(jobs, jobs->engine->pause(borrow(jobs), kind, true));
}

int vigil_jobs_resume(vigil_jobs *jobs, const char *kind)
{
    int error = vg_jobs_guard(jobs);
    if (error == 0 && jobs->fleet != NULL)
        return vg_jobs_fleet_pause(jobs, kind, false);
    return error != 0 ? error : give(jobs, jobs->engine->pause(borrow(jobs), kind, false));
}

int vigil_jobs_audit(vigil_jobs *jobs, vigil_jobs_account *account)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (account == NULL || account->size != sizeof *account)
        return vg_jobs_why(-EINVAL, "account is NULL, or does not start from VIGIL_JOBS_ACCOUNT_INIT");
    if (jobs->fleet != NULL)
        return vg_jobs_fleet_audit(jobs, account);
    error = give(jobs, jobs->engine->audit(borrow(jobs), account));
    if (error != 0)
        return error;
    uint64_t found = account->waiting + account->running + account->completed + account->dead + account->cancelled;
    if (found == account->enqueued)
        return 0;
    return vg_jobs_why(-EIO, "%llu jobs were enqueued and %llu are accounted for",
                       (unsigned long long)account->enqueued, (unsigned long long)found);
}

int vigil_jobs_clock_advance(vigil_jobs *jobs, int64_t by_ns)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (by_ns < 0)
        return vg_jobs_why(-EINVAL, "by_ns is negative");
    if (jobs->fleet != NULL)
        return vg_jobs_why(-ENOTSUP, "the clock is the servers'");
    return jobs->engine->clock_advance(jobs->site, by_ns);
}
