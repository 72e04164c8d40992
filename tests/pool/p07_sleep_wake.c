/* SPDX-License-Identifier: MIT */
/*
 * P7: no lost wake-up and no idle worker beside a queued task, even if no running task ever ends; and when there is nothing
 * to do, nothing is done. The argument is src/pool/IDLE.md; here is the behaviour.
 */
#include "support.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

static vigil_pool *pool_as(unsigned workers, vigil_idle_policy idle, vigil_fence_mode fences)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.idle = idle;
    options.fences = fences;
    options.name = "sleepy";
    options.no_spares = true; /* nobody steps in: the protocol itself must wake every worker that is needed */
    return pool_with(&options);
}

typedef void (*policy_test)(unsigned workers, vigil_idle_policy idle, vigil_fence_mode fences);

static void under_every_policy(const unsigned *workers, size_t count, policy_test body)
{
    for (size_t w = 0; w < count; w++) {
        for (int idle = VIGIL_IDLE_SPIN_THEN_PARK; idle <= VIGIL_IDLE_KEEP_ONE_AWAKE; idle++) {
            for (int fences = VIGIL_FENCE_AUTO; fences <= VIGIL_FENCE_SYMMETRIC; fences++)
                body(workers[w], (vigil_idle_policy)idle, (vigil_fence_mode)fences);
        }
    }
}

/* ---- conservation ----------------------------------------------------------------------------------------------- */

/* A chain: link i may end only when link i + 1 has started. With as many links as workers, all must run at once. */
struct link {
    vigil_task task;
    struct chain *chain;
    unsigned number;
    struct event started;
};

typedef enum chain_way {
    OUTSIDE_IN_ORDER, /* the last link, which frees the others, is submitted last */
    OUTSIDE_BACKWARDS,
    EACH_SUBMITS_THE_NEXT,
    EACH_SPAWNS_THE_NEXT, /* to its own deque: another has to come and steal it */
    CHAIN_WAYS
} chain_way;

struct chain {
    vigil_pool *pool;
    chain_way way;
    unsigned length;
    vigil_group group;
    struct link links[33];
};

static int link_run(vigil_task *task)
{
    struct link *link = container_of(task, struct link, task);
    struct chain *chain = link->chain;
    event_set(&link->started);
    if (link->number + 1 == chain->length)
        return 0;
    struct link *next = &chain->links[link->number + 1];
    if (chain->way == EACH_SUBMITS_THE_NEXT)
        must_equal(vigil_pool_submit(chain->pool, &next->task, VIGIL_NORMAL), 0);
    else if (chain->way == EACH_SPAWNS_THE_NEXT)
        must_equal(vigil_group_spawn(&chain->group, &next->task), 0);
    event_wait(&next->started);
    return 0;
}

static void chain_once(struct chain *chain)
{
    for (unsigned i = 0; i < chain->length; i++) {
        struct link *link = &chain->links[i];
        vigil_task_init(&link->task, link_run, NULL);
        link->chain = chain;
        link->number = i;
        link->started = (struct event){0};
    }
    must_equal(vigil_group_init(&chain->group, chain->pool, VIGIL_GROUP_DETACHED), 0);
    switch (chain->way) {
    case OUTSIDE_IN_ORDER:
        for (unsigned i = 0; i < chain->length; i++)
            must_equal(vigil_pool_submit(chain->pool, &chain->links[i].task, VIGIL_NORMAL), 0);
        break;
    case OUTSIDE_BACKWARDS:
        for (unsigned i = chain->length; i-- > 0;)
            must_equal(vigil_pool_submit(chain->pool, &chain->links[i].task, (vigil_priority)(i % VIGIL_PRIORITIES)),
                       0);
        break;
    default:
        must_equal(vigil_pool_submit(chain->pool, &chain->links[0].task, VIGIL_NORMAL), 0);
        break;
    }
    must_equal(vigil_pool_wait_idle(chain->pool, VIGIL_FOREVER), 0);
    must_equal(vigil_group_wait(&chain->group), 0);
}

static void chains(unsigned workers, vigil_idle_policy idle, vigil_fence_mode fences)
{
    vigil_pool *pool = pool_as(workers, idle, fences);
    struct chain *chain = calloc(1, sizeof *chain);
    must(chain != NULL);
    chain->pool = pool;
    chain->length = workers;
    for (int way = 0; way < CHAIN_WAYS; way++) {
        chain->way = (chain_way)way;
        for (uint64_t round = scaled(1500 / workers, 5); round > 0; round--)
            chain_once(chain);
    }
    free(chain);
    pool_close(pool);
}

static void p07_tasks_that_wait_for_queued_ones_get_as_many_workers_as_there_are(void **state)
{
    (void)state;
    static const unsigned workers[] = {2, 3, 4, 8, 33};
    under_every_policy(workers, count_of(workers), chains);
}

/* Several chains at a time, from several threads. */
static void *chain_thread(void *arg)
{
    struct chain *chain = arg;
    for (uint64_t round = scaled(400, 10); round > 0; round--) {
        for (unsigned i = 0; i < chain->length; i++) {
            struct link *link = &chain->links[i];
            vigil_task_init(&link->task, link_run, NULL);
            link->chain = chain;
            link->number = i;
            link->started = (struct event){0};
        }
        must_equal(vigil_group_init(&chain->group, chain->pool, 0), 0);
        for (unsigned i = 0; i < chain->length; i++)
            must_equal(vigil_group_submit(&chain->group, &chain->links[i].task, VIGIL_NORMAL), 0);
        must_equal(vigil_group_wait(&chain->group), 0);
    }
    return NULL;
}

static void p07_chains_from_many_threads_at_once_never_stall(void **state)
{
    (void)state;
    enum {
        THREADS = 5,
        LENGTH = 3
    };
    /* As many workers as links in sum, so all may wait at the same time; one that sleeps on stops somebody for good. */
    for (int idle = VIGIL_IDLE_SPIN_THEN_PARK; idle <= VIGIL_IDLE_PARK; idle++) {
        vigil_pool *pool = pool_as(THREADS * LENGTH, (vigil_idle_policy)idle, VIGIL_FENCE_AUTO);
        struct chain *all = calloc(THREADS, sizeof *all);
        must(all != NULL);
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            all[i].pool = pool;
            all[i].way = OUTSIDE_IN_ORDER;
            all[i].length = LENGTH;
            threads[i] = start_thread(chain_thread, &all[i]);
        }
        for (int i = 0; i < THREADS; i++)
            join_thread(threads[i]);
        free(all);
        pool_close(pool);
    }
}

/* Ping-pong: the most wake-ups per task that there can be; a single lost one stops it for good. */
static int set_event(void *arg)
{
    event_set(arg);
    return 0;
}

static void ping_pong(unsigned workers, vigil_idle_policy idle, vigil_fence_mode fences)
{
    vigil_pool *pool = pool_as(workers, idle, fences);
    for (uint64_t round = scaled(10000, 200); round > 0; round--) {
        struct event done = {0};
        must_equal(vigil_pool_call(pool, set_event, NULL, &done, (vigil_priority)(round % VIGIL_PRIORITIES)), 0);
        event_wait(&done);
        if (round % 256 == 0 && idle != VIGIL_IDLE_KEEP_ONE_AWAKE)
            pool_wait_all_parked(pool);
    }
    pool_close(pool);
}

static void p07_every_submit_to_a_sleeping_pool_is_heard(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 33};
    under_every_policy(workers, count_of(workers), ping_pong);
}

/* ---- silence ---------------------------------------------------------------------------------------------------- */

struct cost {
    unsigned threads;
    unsigned asleep; /* of these; the others have a processor, or wait for one */
    uint64_t switches;
    uint64_t cpu_ticks;
};

/* What the kernel has counted for the threads whose name starts with "sleepy/". */
static struct cost cost_of_workers(void)
{
    struct cost cost = {0};
    DIR *tasks = opendir("/proc/self/task");
    must(tasks != NULL);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        char path[320];
        char line[256] = "";
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file == NULL)
            continue;
        bool ours = fgets(line, sizeof line, file) != NULL && strncmp(line, "Name:\tsleepy/", 13) == 0;
        while (ours && fgets(line, sizeof line, file) != NULL) {
            unsigned long long value = 0;
            if (sscanf(line, "voluntary_ctxt_switches: %llu", &value) == 1 ||
                sscanf(line, "nonvoluntary_ctxt_switches: %llu", &value) == 1)
                cost.switches += value;
        }
        (void)fclose(file);
        if (!ours)
            continue;
        cost.threads++;
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
        file = fopen(path, "r");
        must(file != NULL);
        char text[512];
        size_t got = fread(text, 1, sizeof text - 1, file);
        text[got] = '\0';
        (void)fclose(file);
        unsigned long long user = 0;
        unsigned long long sys = 0;
        char *after_name = strrchr(text, ')');
        must(after_name != NULL);
        cost.asleep += after_name[2] == 'S';
        must_equal(sscanf(after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &sys), 2);
        cost.cpu_ticks += user + sys;
    }
    (void)closedir(tasks);
    return cost;
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void idle_costs_nothing(unsigned workers, vigil_idle_policy idle)
{
    vigil_pool *pool = pool_as(workers, idle, VIGIL_FENCE_AUTO);
    for (int i = 0; i < 1000; i++)
        must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_wait_all_parked(pool);
    /* Counted as parked is a moment before asleep, and that moment is long where there are no processors to be had. */
    struct cost before = cost_of_workers();
    for (struct cost again;
         (again = cost_of_workers()).switches != before.switches || before.asleep != workers || again.asleep != workers;
         before = again)
        yield();
    uint64_t parks = pool_stats(pool).parks;
    observe_for_ms(TEST_SANITIZED ? 200 : 1000);
    struct cost after = cost_of_workers();
    must_equal(before.threads, workers);
    must_equal(after.threads, workers);
    must_equal(after.switches, before.switches);
    must_equal(after.cpu_ticks, before.cpu_ticks);
    must_equal(pool_stats(pool).parks, parks);
    pool_close(pool);
}

static void p07_an_idle_pool_makes_no_wake_ups_and_uses_no_cpu(void **state)
{
    (void)state;
    idle_costs_nothing(33, VIGIL_IDLE_SPIN_THEN_PARK);
    idle_costs_nothing(256, VIGIL_IDLE_PARK);
}

static void p07_keep_one_awake_keeps_exactly_one_awake(void **state)
{
    (void)state;
    vigil_pool *pool = pool_as(4, VIGIL_IDLE_KEEP_ONE_AWAKE, VIGIL_FENCE_AUTO);
    for (int round = 0; round < 20; round++) {
        struct event done = {0};
        must_equal(vigil_pool_call(pool, set_event, NULL, &done, VIGIL_NORMAL), 0);
        event_wait(&done);
        pool_wait_parked(pool, 3);
    }
    /* And it stays so: nobody parks as the fourth. */
    uint64_t end = now_ns() + 50000000;
    do {
        must(pool_stats(pool).parked <= 3);
        yield();
    } while (now_ns() < end);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_close(pool);
}

static void p07_park_at_once_does_not_spin(void **state)
{
    (void)state;
    vigil_pool *pool = pool_as(2, VIGIL_IDLE_PARK, VIGIL_FENCE_AUTO);
    for (int round = 0; round < 100; round++) {
        struct event done = {0};
        must_equal(vigil_pool_call(pool, set_event, NULL, &done, VIGIL_NORMAL), 0);
        event_wait(&done);
        pool_wait_all_parked(pool);
    }
    for (unsigned w = 0; w < 2; w++)
        must_equal(pool_worker(pool, w).time_ns[VIGIL_WORKER_SPINNING], 0);
    pool_close(pool);
}

/* ---- no herd ---------------------------------------------------------------------------------------------------- */

static void p07_one_task_wakes_one_worker_and_no_herd(void **state)
{
    (void)state;
    static const unsigned workers[] = {2, 33};
    for (size_t w = 0; w < count_of(workers); w++) {
        vigil_pool *pool = pool_as(workers[w], VIGIL_IDLE_PARK, VIGIL_FENCE_AUTO);
        pool_wait_all_parked(pool);
        vigil_pool_stats before = pool_stats(pool);
        const uint64_t rounds = scaled(1000, 50);
        for (uint64_t round = 0; round < rounds; round++) {
            struct event done = {0};
            must_equal(vigil_pool_call(pool, set_event, NULL, &done, VIGIL_NORMAL), 0);
            event_wait(&done);
            pool_wait_all_parked(pool);
        }
        vigil_pool_stats after = pool_stats(pool);
        must_be_between(after.wakes_sent - before.wakes_sent, 0, rounds);
        must_be_between(after.parks - before.parks, 0, rounds);
        must_equal(after.wakes_useful - before.wakes_useful + (after.wakes_spurious - before.wakes_spurious),
                   after.wakes_sent - before.wakes_sent);
        pool_close(pool);
    }
}

struct crowd {
    struct meeting *meeting;
};

static int join_meeting(void *arg)
{
    struct crowd *crowd = arg;
    (void)meeting_join(crowd->meeting);
    return 0;
}

static void p07_k_waiting_tasks_wake_about_k_of_many_workers(void **state)
{
    (void)state;
    enum {
        WORKERS = 64,
        K = 4
    };
    vigil_pool *pool = pool_as(WORKERS, VIGIL_IDLE_PARK, VIGIL_FENCE_AUTO);
    pool_wait_all_parked(pool);
    vigil_pool_stats before = pool_stats(pool);
    const uint64_t rounds = scaled(500, 20);
    for (uint64_t round = 0; round < rounds; round++) {
        struct meeting meeting = {.size = K};
        struct crowd crowd = {.meeting = &meeting};
        for (int i = 0; i < K; i++)
            must_equal(vigil_pool_call(pool, join_meeting, NULL, &crowd, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        pool_wait_all_parked(pool);
    }
    vigil_pool_stats after = pool_stats(pool);
    /* K are needed. Each of them may wake one more who comes too late; all 64 would be a herd. */
    must_be_between(after.wakes_sent - before.wakes_sent, 0, rounds * K * 2);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p07_tasks_that_wait_for_queued_ones_get_as_many_workers_as_there_are),
        test(p07_chains_from_many_threads_at_once_never_stall),
        test(p07_every_submit_to_a_sleeping_pool_is_heard),
        test(p07_an_idle_pool_makes_no_wake_ups_and_uses_no_cpu),
        test(p07_keep_one_awake_keeps_exactly_one_awake),
        test(p07_park_at_once_does_not_spin),
        test(p07_one_task_wakes_one_worker_and_no_herd),
        test(p07_k_waiting_tasks_wake_about_k_of_many_workers),
    };
    return run_all(tests);
}
