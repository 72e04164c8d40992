/* SPDX-License-Identifier: MIT */
/* One queue on three servers, of which one is killed and comes back. */
#include "server.h"

#include <vigil/jobs.h>

enum {
    SERVERS = 3,
    JOBS = 60, /* of each kind of enqueueing */
    SHIFT = 48
};

static struct server servers[SERVERS];
static char where[1024];
static unsigned number;

#define must_work(call)                                                    \
    do {                                                                   \
        int result_ = (call);                                              \
        if (result_ < 0) {                                                 \
            print_error("%s: %d, %s\n", #call, result_, vigil_jobs_why()); \
            support_fail(#call, __FILE__, __LINE__);                       \
        }                                                                  \
    } while (0)

/* A database of its own on each server. */
static const char *fresh_queue(void)
{
    char one[160], name[16];
    where[0] = '\0';
    (void)snprintf(name, sizeof name, "t%u", number++);
    for (int i = 0; i < SERVERS; i++) {
        must_equal(server_command(&servers[i], "createdb -h %s -U vigil %s", servers[i].folder, name), 0);
        server_where(&servers[i], name, one, sizeof one);
        (void)strcat(where, one);
        (void)strcat(where, i + 1 < SERVERS ? " " : "");
    }
    return where;
}

static vigil_jobs *open_queue(const char *address)
{
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 2;
    options.poll_ns = 1000000000;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, address, &options));
    return jobs;
}

static unsigned place_of(uint64_t id)
{
    return (unsigned)(id >> SHIFT);
}

static _Atomic uint64_t ran;

static int run(vigil_jobs_run *it, void *arg)
{
    (void)it, (void)arg;
    (void)atomic_fetch_add(&ran, 1);
    return 0;
}

static int enqueue_key(vigil_jobs *jobs, int key, uint64_t *id)
{
    char text[32];
    vigil_jobs_job options = VIGIL_JOBS_JOB_INIT;
    (void)snprintf(text, sizeof text, "key %d", key);
    options.key = text;
    return vigil_jobs_enqueue(jobs, "run", "", 0, &options, id);
}

static vigil_jobs_account account_of(vigil_jobs *jobs)
{
    vigil_jobs_account account = VIGIL_JOBS_ACCOUNT_INIT;
    must_work(vigil_jobs_audit(jobs, &account));
    return account;
}

static void see_id(const vigil_jobs_info *info, void *arg)
{
    uint64_t *last = arg;
    must(info->id > *last);
    *last = info->id;
}

static void jobs_are_spread_and_found(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    unsigned keyed[SERVERS] = {0}, plain[SERVERS] = {0};
    uint64_t id, again, batch;
    for (int i = 0; i < JOBS; i++) {
        must_work(enqueue_key(jobs, i, &id));
        must(place_of(id) < SERVERS);
        keyed[place_of(id)]++;
        must_equal(enqueue_key(jobs, i, &again), -EEXIST); /* a key has one server */
        must_equal(again, id);
        must_work(vigil_jobs_enqueue(jobs, "run", "", 0, NULL, &id));
        plain[place_of(id)]++;
    }
    for (int i = 0; i < SERVERS; i++) {
        must(keyed[i] > 0);
        must(plain[i] > 0); /* the least loaded changes */
    }
    /* By pages, in the order of ids, all of them. */
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    filter.most = 7;
    int seen, all = 0;
    while ((seen = vigil_jobs_look(jobs, &filter, see_id, &filter.above_id)) > 0)
        all += seen;
    must_equal(seen, 0);
    must_equal(all, 2 * JOBS);
    must_equal(vigil_jobs_cancel(jobs, id), 0);
    must_equal(vigil_jobs_wait(jobs, id, 0, NULL, NULL), VIGIL_JOBS_CANCELLED);
    must_equal(vigil_jobs_retry(jobs, id), 0);
    must_equal(vigil_jobs_cancel(jobs, (uint64_t)SERVERS << SHIFT | 1), -ENOENT);
    must_work(vigil_jobs_batch(jobs, &batch));
    vigil_jobs_job member = VIGIL_JOBS_JOB_INIT, after = VIGIL_JOBS_JOB_INIT;
    member.batch = after.after_batch = batch;
    must_work(vigil_jobs_enqueue(jobs, "run", "", 0, &member, &id));
    must_equal(place_of(id), place_of(batch));
    must_work(vigil_jobs_enqueue(jobs, "run", "", 0, &after, &id));
    must_work(vigil_jobs_batch_end(jobs, batch));
    must_equal(account_of(jobs).waiting, 2 * JOBS + 2);
    must_equal(vigil_jobs_handle(jobs, "run", run, NULL, NULL), 0);
    must_work(vigil_jobs_start(jobs));
    must_equal(vigil_jobs_wait(jobs, id, VIGIL_FOREVER, NULL, NULL), VIGIL_JOBS_COMPLETED);
    while (account_of(jobs).completed < 2 * JOBS + 2)
        yield();
    must_equal(account_of(jobs).enqueued, 2 * JOBS + 2);
    vigil_jobs_close(jobs);
}

/* Its keys are refused meanwhile; everything else goes on. What was acknowledged has completed in the end, once. */
static void a_server_that_dies_costs_its_own_jobs(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    uint64_t id, there = 0, refused = 0, before = atomic_load(&ran);
    for (int i = 0; i < JOBS; i++) {
        must_work(enqueue_key(jobs, i, &id));
        there++;
    }
    must_equal(server_stop(&servers[1], "immediate"), 0);
    must_equal(vigil_jobs_handle(jobs, "run", run, NULL, NULL), 0);
    must_work(vigil_jobs_start(jobs));
    for (int i = JOBS; i < 2 * JOBS; i++) {
        int error = enqueue_key(jobs, i, &id);
        must(error == 0 || error == -ENOTCONN);
        there += error == 0;
        refused += error != 0;
        if (error == 0)
            must(place_of(id) != 1);
        error = vigil_jobs_enqueue(jobs, "run", "", 0, NULL, &id); /* once it is known to be away, it is not chosen */
        must(error == 0 || error == -ENOTCONN);
        there += error == 0;
        if (i > JOBS)
            must_equal(error, 0);
        if (error == 0)
            must_equal(vigil_jobs_wait(jobs, id, VIGIL_FOREVER, NULL, NULL), VIGIL_JOBS_COMPLETED);
    }
    must(refused > 0 && refused < JOBS);
    must_equal(server_start(&servers[1]), 0);
    vigil_jobs_account account = VIGIL_JOBS_ACCOUNT_INIT;
    while (vigil_jobs_audit(jobs, &account) != 0 || account.completed < there)
        yield();
    must_equal(account.enqueued, there);
    must(atomic_load(&ran) - before >= there);
    vigil_jobs_close(jobs);
}

/* A process may start while a server is away, and runs its jobs when it is back. */
static void a_queue_opens_without_one_of_its_servers(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    uint64_t id = 0;
    for (int i = 0; i < JOBS && place_of(id) != 2; i++)
        must_work(enqueue_key(jobs, i, &id));
    must_equal(place_of(id), 2);
    vigil_jobs_close(jobs);
    must_equal(server_stop(&servers[2], "fast"), 0);
    jobs = open_queue(where);
    must_equal(vigil_jobs_wait(jobs, id, 0, NULL, NULL), -ENOTCONN);
    must_equal(vigil_jobs_handle(jobs, "run", run, NULL, NULL), 0);
    must_work(vigil_jobs_start(jobs));
    must_equal(server_start(&servers[2]), 0);
    int result;
    while ((result = vigil_jobs_wait(jobs, id, VIGIL_FOREVER, NULL, NULL)) == -ENOTCONN)
        yield();
    must_equal(result, VIGIL_JOBS_COMPLETED);
    must_equal(vigil_jobs_shutdown(jobs, VIGIL_FOREVER), 0);
    vigil_jobs_close(jobs);
    for (int i = 0; i < SERVERS; i++)
        must_equal(server_stop(&servers[i], "fast"), 0);
    vigil_jobs *none = NULL;
    must_equal(vigil_jobs_open(&none, where, NULL), -ENOTCONN);
    for (int i = 0; i < SERVERS; i++)
        must_equal(server_start(&servers[i]), 0);
}

struct counts {
    int lines;
    uint64_t normal, high;
    bool paused;
};

static void see_tally(const vigil_jobs_tally *tally, void *arg)
{
    struct counts *counts = arg;
    counts->lines++;
    must_equal(strcmp(tally->kind, "run"), 0);
    must_equal(tally->state, VIGIL_JOBS_WAITING);
    *(tally->priority == VIGIL_HIGH ? &counts->high : &counts->normal) += tally->count;
    counts->paused = counts->paused || tally->paused;
}

static void count_fsync(const char *line, void *arg)
{
    *(int *)arg += strstr(line, "fsync is off") != NULL; /* as the servers of this test were started */
}

/* One line for a kind, class and state, however many servers have some; a doubt for each server. */
static void counts_and_checks_are_those_of_all_servers(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    bool used[SERVERS] = {false};
    uint64_t id;
    for (int i = 0; i < JOBS; i++) {
        must_work(enqueue_key(jobs, i, &id));
        used[place_of(id)] = true;
    }
    for (int i = 0; i < SERVERS; i++)
        must(used[i]);
    vigil_jobs_job urgent = VIGIL_JOBS_JOB_INIT;
    urgent.priority = VIGIL_HIGH;
    must_work(vigil_jobs_enqueue(jobs, "run", "", 0, &urgent, &id));
    must_work(vigil_jobs_pause(jobs, "run"));
    struct counts counts = {0};
    must_equal(vigil_jobs_count(jobs, see_tally, &counts), 2);
    must_equal(counts.lines, 2);
    must_equal(counts.normal, JOBS);
    must_equal(counts.high, 1);
    must(counts.paused);
    int doubts = 0;
    must(vigil_jobs_check(jobs, 0, count_fsync, &doubts) >= SERVERS);
    must_equal(doubts, SERVERS);
    must_equal(server_stop(&servers[1], "immediate"), 0);
    counts = (struct counts){0};
    must_equal(vigil_jobs_count(jobs, see_tally, &counts), -ENOTCONN);
    must_equal(counts.lines, 0); /* no part is told as if it were the whole */
    must_equal(vigil_jobs_check(jobs, 0, count_fsync, &doubts), -ENOTCONN);
    must_equal(server_start(&servers[1]), 0);
    vigil_jobs_close(jobs);
}

int main(void)
{
    for (int i = 0; i < SERVERS; i++)
        if (!server_make(&servers[i])) {
            print_message("left out: there is no PostgreSQL server (Debian: postgresql)\n");
            return 0;
        }
    const struct CMUnitTest tests[] = {
        test(jobs_are_spread_and_found),
        test(a_server_that_dies_costs_its_own_jobs),
        test(a_queue_opens_without_one_of_its_servers),
        test(counts_and_checks_are_those_of_all_servers),
    };
    int failed = run_all(tests);
    for (int i = SERVERS - 1; i >= 0; i--) /* the later keepers hold what the earlier ones wait for */
        server_remove(&servers[i]);
    return failed;
}
