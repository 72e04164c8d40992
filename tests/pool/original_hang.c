/* SPDX-License-Identifier: MIT */
/*
 * The bug that all of this began with.
 *
 * A server of 33 workers stood still: 1146 tasks submitted, 1145 completed, every queue empty. The submitters pushed to the
 * owner's end of a work-stealing deque. That end has no synchronisation between a push and a pop, because only one thread
 * may ever be there: two of them read the same bottom, and the one that writes last undoes what the other did. A task
 * vanishes, or is run twice. No fence and no wake-up can mend that.
 *
 * Our own deque makes the mistake hard to write (the two ends are two types). Here it is put back on purpose: the linker
 * sends every submit, which would go to the injector, to worker 0's end of worker 0's deque. The pool must be seen to lose
 * or repeat tasks, and vigil_pool_audit must say so. The same tasks through the injector must be seen to do no such thing,
 * or this test would prove nothing.
 */
#include "support.h"

#include "pool/seats.h"

int __real_vg_injector_push(vg_injector *injector, vigil_task *newest, vigil_task *oldest, bool even_if_closed);
int __wrap_vg_injector_push(vg_injector *injector, vigil_task *newest, vigil_task *oldest, bool even_if_closed);

/* The pool whose submits go the wrong way; NULL: none. It stays here when the test is over, because a pool that has lost
   tasks can never be drained, and so never be given back. */
static vigil_pool *wrecked;
static bool sabotage;

int __wrap_vg_injector_push(vg_injector *injector, vigil_task *newest, vigil_task *oldest, bool even_if_closed)
{
    if (!sabotage || injector != &wrecked->injectors[VIGIL_NORMAL])
        return __real_vg_injector_push(injector, newest, oldest, even_if_closed);
    must(newest == oldest); /* one at a time here */
    /* What vg_deque_push does for the owner. It asks for a vg_deque_owner, which nobody but the worker has: that is how the
       types prevent the crime. So here it is spelled out, on the part of the deque that everybody can see. */
    vg_deque *deque = vg_seat_at(wrecked, 0)->deques[VIGIL_NORMAL];
    vg_deque_array *array = atomic_load_explicit(&deque->array, memory_order_acquire);
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    static _Thread_local unsigned pushes;
    if (++pushes % 100 == 0)
        yield(); /* the system puts a thread aside here by itself, too; now and then on purpose, and the test is short */
    atomic_store_explicit(&array->slots[bottom & array->mask], newest, memory_order_relaxed);
    atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_release);
    return 0;
}

enum {
    ROUND = 10000,
    SUBMITTERS = 3,
    WARM_UP = 2 * ROUND /* so that the array has room for a round: nobody looks whether it is full */
};

struct item {
    vigil_task task;
    _Atomic unsigned runs;
};

static int item_run(vigil_task *task)
{
    struct item *item = container_of(task, struct item, task);
    (void)atomic_fetch_add_explicit(&item->runs, 1, memory_order_relaxed);
    return 0;
}

/* Let the worker use its deque once, so that it has an array, and knows that it must look there. */
static int warm_up(void *arg)
{
    static struct item items[WARM_UP];
    vigil_group group;
    must_equal(vigil_group_init(&group, arg, 0), 0);
    for (int i = 0; i < WARM_UP; i++) {
        vigil_task_init(&items[i].task, item_run, NULL);
        must_equal(vigil_group_spawn(&group, &items[i].task), 0);
    }
    return vigil_group_wait(&group);
}

static int nothing(vigil_task *task)
{
    (void)task;
    return 0;
}

/* Until the queues are empty or the audit says that something is wrong; what the audit said. */
static int settle(vigil_pool *pool, vigil_audit *audit)
{
    for (;;) {
        int rc = pool_audit(pool, audit);
        if (rc != 0 || audit->found == 0)
            return rc;
        /* A task in the deque beside a sleeping worker: it was hidden for the moment in which somebody looked. Call the
           worker by mail, which still works. */
        static vigil_task call;
        vigil_task_init(&call, nothing, NULL);
        must_equal(vigil_pool_submit_to(pool, 0, &call, VIGIL_NORMAL), 0);
        while (pool_audit(pool, audit) == 0 && atomic_load_explicit(&call.vg_state, memory_order_acquire) != 0)
            yield();
    }
}

struct outcome {
    uint64_t tasks, lost, repeated;
    int audit;
    vigil_audit said;
};

/* Several threads submit, as in the original server. They meet before and after each round. */
struct round {
    struct round *kept;
    struct item items[ROUND];
};

struct crew {
    vigil_pool *pool;
    struct meeting meeting;
    struct round *round; /* NULL: go home */
};

struct submitter {
    struct crew *crew;
    int first;
};

static void submit_share(struct crew *crew, int first)
{
    for (int i = first; i < ROUND; i += SUBMITTERS) {
        vigil_task_init(&crew->round->items[i].task, item_run, NULL);
        must_equal(vigil_pool_submit(crew->pool, &crew->round->items[i].task, VIGIL_NORMAL), 0);
    }
}

static void *submitter_body(void *arg)
{
    struct submitter *submitter = arg;
    for (;;) {
        (void)meeting_join(&submitter->crew->meeting);
        if (submitter->crew->round == NULL)
            return NULL;
        submit_share(submitter->crew, submitter->first);
        (void)meeting_join(&submitter->crew->meeting);
    }
}

/* A wrecked pool may still hold some of these tasks, so they stay; reachable, for the leak sanitizer. */
static struct round *kept;

static void look_at_round(struct outcome *outcome, struct round *round)
{
    uint64_t wrong = 0;
    for (int i = 0; i < ROUND; i++) {
        unsigned runs = atomic_load_explicit(&round->items[i].runs, memory_order_relaxed);
        outcome->lost += runs == 0;
        outcome->repeated += runs > 1;
        wrong += runs != 1;
    }
    if (wrong == 0 && outcome->audit == 0) {
        free(round);
        return;
    }
    round->kept = kept;
    kept = round;
}

/* Rounds of tasks, each looked at closely, until the audit finds something or `most` have been submitted. */
static struct outcome submit_many(vigil_pool *pool, uint64_t most)
{
    struct outcome outcome = {0};
    struct crew crew = {.pool = pool, .meeting.size = SUBMITTERS};
    struct submitter others[SUBMITTERS - 1];
    pthread_t threads[SUBMITTERS - 1];
    for (int i = 0; i < SUBMITTERS - 1; i++) {
        others[i] = (struct submitter){.crew = &crew, .first = i + 1};
        threads[i] = start_thread(submitter_body, &others[i]);
    }
    while (outcome.tasks < most && outcome.audit == 0) {
        crew.round = calloc(1, sizeof *crew.round);
        must(crew.round != NULL);
        (void)meeting_join(&crew.meeting);
        submit_share(&crew, 0);
        (void)meeting_join(&crew.meeting);
        outcome.tasks += ROUND;
        outcome.audit = settle(pool, &outcome.said);
        look_at_round(&outcome, crew.round);
    }
    crew.round = NULL;
    (void)meeting_join(&crew.meeting);
    for (int i = 0; i < SUBMITTERS - 1; i++)
        join_thread(threads[i]);
    return outcome;
}

static uint64_t most_tasks(void)
{
    return scaled(20000000, 1000000);
}

#if !TEST_TSAN
static void a_foreign_push_to_the_owners_end_loses_or_repeats_tasks_and_the_audit_says_so(void **state)
{
    (void)state;
    wrecked = pool_of(1);
    must_equal(vigil_pool_call(wrecked, warm_up, NULL, wrecked, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(wrecked, VIGIL_FOREVER), 0);
    sabotage = true;
    struct outcome outcome = submit_many(wrecked, 8 * most_tasks()); /* on a full machine the sums may agree for long */
    (void)fprintf(stderr, "after %llu tasks: %llu lost, %llu repeated; the audit: %s\n",
                  (unsigned long long)outcome.tasks, (unsigned long long)outcome.lost,
                  (unsigned long long)outcome.repeated, outcome.said.text);
    must(outcome.lost + outcome.repeated > 0);
    must_equal(outcome.audit, -EIO);
    must(outcome.said.settled);
    must(outcome.said.lost != 0);
    must(strstr(outcome.said.text, outcome.said.lost > 0 ? "lost" : "twice") != NULL);
    pool_unwatch(wrecked);
}
#endif

static void the_same_tasks_through_the_injector_run_once_each_and_the_audit_is_content(void **state)
{
    (void)state;
    sabotage = false;
    vigil_pool *pool = pool_of(1);
    must_equal(vigil_pool_call(pool, warm_up, NULL, pool, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    struct outcome outcome = submit_many(pool, most_tasks() / 10);
    must_equal(outcome.audit, 0);
    must_equal(outcome.lost, 0);
    must_equal(outcome.repeated, 0);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if !TEST_TSAN /* the mistake is a data race, and the thread sanitizer stops at it before the audit can speak */
        test(a_foreign_push_to_the_owners_end_loses_or_repeats_tasks_and_the_audit_says_so),
#endif
        test(the_same_tasks_through_the_injector_run_once_each_and_the_audit_is_content),
    };
    return run_all(tests);
}
