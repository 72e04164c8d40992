/* SPDX-License-Identifier: MIT */
/*
 * kills.h - the killing harness. Worker processes enqueue and run jobs; the parent kills them (-9), stops them for longer than a
 * lease, and cuts them off, at random times. Then the account must be exact: every acknowledged job has ended once, and each completion
 * carries the number of a run that began.
 *
 * VIGIL_JOBS_KILLS is how often; VIGIL_JOBS_SEED makes the choices again.
 */
#ifndef TESTS_JOBS_KILLS_H
#define TESTS_JOBS_KILLS_H

#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vigil/jobs.h>

enum {
    WORKERS = 3,
    LEASE_MS = 300,
    BURST = 200,
    LONGEST_LOG = 64 << 20,
};

/* What the program of an engine provides: a fault of its own; false: it has none. */
static bool cut_somebody_off(unsigned dice);

struct hands {
    const char *where;
    int log; /* appended by all processes: a short write is whole */
    uint64_t state;
};

static unsigned throw_dice(struct hands *hands, unsigned sides)
{
    hands->state = hands->state * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(hands->state >> 33) % sides;
}

static void note(int log, char what, uint64_t id, uint64_t number)
{
    char line[64];
    int length =
        snprintf(line, sizeof line, "%c %llu %llu\n", what, (unsigned long long)id, (unsigned long long)number);
    must_equal(write(log, line, (size_t)length), length);
}

static int do_a_little(vigil_jobs_run *run, void *arg)
{
    struct hands *hands = arg;
    note(hands->log, 'S', run->id, run->number);
    for (uint64_t i = 0; i < run->id % 50; i++)
        yield();
    return run->id % 17 == 0 && run->errors == 0 ? -EIO : 0;
}

static vigil_jobs *open_with_short_lease(struct hands *hands)
{
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    vigil_jobs *jobs = NULL;
    options.workers = 2;
    options.lease_ns = LEASE_MS * 1000000LL;
    options.poll_ns = 200000000;
    kind.backoff_ns = 1000000;
    while (vigil_jobs_open(&jobs, hands->where, &options) != 0)
        observe_for_ms(10); /* the server is away */
    must_equal(vigil_jobs_handle(jobs, "work", do_a_little, hands, &kind), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    return jobs;
}

/* So many at once that their ends are recorded in large numbers. */
static void enqueue_burst(struct hands *hands, vigil_jobs *jobs)
{
    vigil_jobs_item items[BURST];
    for (int i = 0; i < BURST; i++)
        items[i] = (vigil_jobs_item){.kind = "work", .payload = "x", .length = 1};
    if (vigil_jobs_enqueue_many(jobs, items, BURST) == BURST)
        for (int i = 0; i < BURST; i++)
            note(hands->log, 'E', items[i].id, 0);
}

/* Enqueue until killed. */
static _Noreturn void be_a_worker(struct hands *hands)
{
    vigil_jobs *jobs = open_with_short_lease(hands);
    bool bursts = getpid() % 8 == 0; /* few do: of each burst many are quarantined, and run one at a time */
    for (unsigned round = 0;; round++) {
        if (round == 5 && bursts)
            enqueue_burst(hands, jobs);
        uint64_t id = 0;
        if (vigil_jobs_enqueue(jobs, "work", "x", 1, NULL, &id) == 0)
            note(hands->log, 'E', id, 0);
        observe_for_ms(2);
    }
}

struct worker {
    pid_t pid;
    uint64_t stopped_at; /* 0: it runs */
};

static void start_worker(struct hands *hands, struct worker *worker)
{
    worker->stopped_at = 0;
    worker->pid = fork(); /* the parent has no thread and no open queue */
    must(worker->pid >= 0);
    if (worker->pid == 0)
        be_a_worker(hands);
}

static void kill_worker(struct worker *worker)
{
    int status;
    must_equal(kill(worker->pid, SIGKILL), 0);
    must_equal(waitpid(worker->pid, &status, 0), worker->pid);
    must(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* it had not died before */
}

static void harass(struct hands *hands, uint64_t faults)
{
    struct worker workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        start_worker(hands, &workers[i]);
    while (lseek(hands->log, 0, SEEK_END) == 0) /* until the first job */
        observe_for_ms(5);
    for (uint64_t i = 0; i < faults; i++) {
        struct worker *worker = &workers[throw_dice(hands, WORKERS)];
        unsigned what = throw_dice(hands, 4);
        observe_for_ms(throw_dice(hands, 30));
        if (what == 0 && worker->stopped_at == 0) {
            must_equal(kill(worker->pid, SIGSTOP), 0);
            worker->stopped_at = now_ns();
        } else if (what != 1 || !cut_somebody_off(throw_dice(hands, 100))) {
            kill_worker(worker);
            start_worker(hands, worker);
        }
        for (int w = 0; w < WORKERS; w++)
            if (workers[w].stopped_at != 0 && now_ns() - workers[w].stopped_at > LEASE_MS * 1500000ULL) {
                must_equal(kill(workers[w].pid, SIGCONT), 0);
                workers[w].stopped_at = 0;
            }
    }
    for (int i = 0; i < WORKERS; i++)
        kill_worker(&workers[i]);
}

/* ---- the account ------------------------------------------------------------------------------------------------- */

struct ended {
    unsigned char *state; /* by id */
    uint64_t *number;
    uint64_t room, completed, dead, last;
};

static void see_ended(const vigil_jobs_info *info, void *arg)
{
    struct ended *ended = arg;
    must(info->id < ended->room);
    must_equal(ended->state[info->id], 0); /* a job is in one place */
    ended->state[info->id] = (unsigned char)info->state;
    ended->number[info->id] = info->number;
    ended->completed += info->state == VIGIL_JOBS_COMPLETED;
    ended->dead += info->state == VIGIL_JOBS_DEAD;
    ended->last = info->id;
}

static void check_log(struct hands *hands, struct ended *ended)
{
    char *text = calloc(1, LONGEST_LOG);
    must(text != NULL);
    must_equal(lseek(hands->log, 0, SEEK_SET), 0);
    size_t length = 0;
    ssize_t got;
    while ((got = read(hands->log, text + length, LONGEST_LOG - 1 - length)) > 0)
        length += (size_t)got;
    uint64_t acknowledged = 0, starts = 0;
    unsigned char *began = calloc(ended->room, 1);
    for (char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        unsigned long long id, number;
        char what;
        must_equal(sscanf(line, "%c %llu %llu", &what, &id, &number), 3);
        must(id < ended->room);
        if (what == 'E') {
            acknowledged++;
            must(ended->state[id] >= VIGIL_JOBS_COMPLETED); /* acknowledged: it has ended, and is there */
        } else {
            starts++;
            if (ended->state[id] == VIGIL_JOBS_COMPLETED && ended->number[id] == number) {
                must_equal(began[id], 0); /* a number belongs to one run */
                began[id] = 1;
            }
        }
    }
    for (uint64_t id = 0; id < ended->room; id++)
        must(ended->state[id] != VIGIL_JOBS_COMPLETED || began[id] == 1);
    must(starts >= ended->completed);
    print_message("%llu acknowledged, %llu runs, %llu completed, %llu dead\n", (unsigned long long)acknowledged,
                  (unsigned long long)starts, (unsigned long long)ended->completed, (unsigned long long)ended->dead);
    free(began);
    free(text);
}

static void the_account_is_exact_whoever_dies(const char *where, uint64_t faults)
{
    char name[] = "/tmp/vigil-jobs-log-XXXXXX";
    const char *seed = getenv("VIGIL_JOBS_SEED"), *kills = getenv("VIGIL_JOBS_KILLS");
    struct hands hands = {
        .where = where, .log = mkostemp(name, O_APPEND), .state = seed != NULL ? strtoull(seed, NULL, 10) : now_ns()};
    must(hands.log >= 0);
    must_equal(unlink(name), 0);
    must_equal(setenv("VIGIL_RECORD", "off", 1), 0); /* killed processes would leave their records */
    if (kills != NULL)
        faults = strtoull(kills, NULL, 10);
    print_message("%llu faults, VIGIL_JOBS_SEED=%llu\n", (unsigned long long)faults, (unsigned long long)hands.state);
    harass(&hands, faults);

    vigil_jobs *jobs = open_with_short_lease(&hands);
    vigil_jobs_account account = VIGIL_JOBS_ACCOUNT_INIT;
    do {
        observe_for_ms(10);
        must_equal(vigil_jobs_audit(jobs, &account), 0);
    } while (account.waiting + account.running > 0);
    struct ended ended = {.room = account.enqueued * 4 + 100000};
    ended.state = calloc(ended.room, 1);
    ended.number = calloc(ended.room, sizeof *ended.number);
    must(ended.state != NULL && ended.number != NULL);
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    filter.most = 1000;
    while (vigil_jobs_look(jobs, &filter, see_ended, &ended) > 0)
        filter.above_id = ended.last;
    must_equal(ended.completed, account.completed);
    must_equal(ended.dead, account.dead);
    must_equal(ended.completed + ended.dead, account.enqueued);
    check_log(&hands, &ended);
    must(ended.completed > 0);
    free(ended.state);
    free(ended.number);
    vigil_jobs_close(jobs);
    (void)close(hands.log);
}

#endif
