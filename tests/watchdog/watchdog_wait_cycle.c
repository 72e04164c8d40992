/* SPDX-License-Identifier: MIT */
/* P17, W6, W7: Tasks that wait for each other in a circle: told with everybody who is in it, and broken at its youngest wait if allowed. */
#include "watchdog_test.h"

struct ring;
struct link {
    struct ring *ring;
    unsigned index;
    int result; /* of its wait */
};

struct ring {
    unsigned size;
    vigil_pool *pool[4]; /* of each job */
    vigil_job jobs[4];
    struct link links[4];
    struct tally begun;
    struct event know; /* all handles are written */
};

static int wait_for_the_next(void *arg)
{
    struct link *link = arg;
    struct ring *ring = link->ring;
    const unsigned next = (link->index + 1) % ring->size;
    tally_add(&ring->begun, 1);
    event_wait(&ring->know); /* and then all of them run, so that nobody can run the next one itself */
    link->result = vigil_job_wait(ring->pool[next], ring->jobs[next], VIGIL_FOREVER, NULL);
    return 0;
}

static void make_ring(struct ring *ring, unsigned size, vigil_pool *even, vigil_pool *odd)
{
    memset(ring, 0, sizeof *ring);
    ring->size = size;
    for (unsigned i = 0; i < size; i++) {
        ring->links[i] = (struct link){.ring = ring, .index = i, .result = 1};
        ring->pool[i] = i % 2 == 0 ? even : odd;
        must_equal(vigil_job_call(ring->pool[i], wait_for_the_next, &ring->links[i], NULL, &ring->jobs[i]), 0);
    }
    tally_wait(&ring->begun, size);
}

static unsigned end_ring(struct ring *ring)
{
    unsigned rejected = 0;
    for (unsigned i = 0; i < ring->size; i++) {
        must_equal(vigil_job_wait(ring->pool[i], ring->jobs[i], VIGIL_FOREVER, NULL), 0);
        must_equal(vigil_job_unref(ring->pool[i], ring->jobs[i]), 0);
        must(ring->links[i].result == 0 || ring->links[i].result == -EDEADLK);
        rejected += ring->links[i].result == -EDEADLK;
    }
    return rejected;
}

static void circle(struct timing *timing, unsigned size, bool two_pools)
{
    struct heard heard;
    struct ring ring;
    vigil_pool *even = pool_of(size);
    vigil_pool *odd = two_pools ? pool_of(size) : even;
    watch_with(&heard, VIGIL_STALL_WAIT_CYCLE, VIGIL_RECOVER_REJECT);
    make_ring(&ring, size, even, odd);
    fault_now(timing);
    event_set(&ring.know);
    const vigil_verdict *verdict = verdict_of(&heard);
    verdict_came(timing, verdict);
    must_equal(verdict->severity, VIGIL_SEVERITY_ERROR);
    char words[64];
    (void)snprintf(words, sizeof words, "%u tasks wait for each other in a circle", size);
    must_say(verdict->reason, words);
    must_say(verdict->evidence, "wait_for_the_next");
    must_say(verdict->action, "Ended the youngest wait");
    must_equal(end_ring(&ring), 1);
    event_wait(&heard.cleared[VIGIL_STALL_WAIT_CYCLE]);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(even);
    if (two_pools)
        pool_close(odd);
}

static void jobs_that_wait_for_each_other_are_a_cycle_and_one_gets_edeadlk(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--)
        circle(&timing, 2 + (unsigned)(i % 3), false);
    must_be_in_time(&timing);
}

static void a_circle_through_two_pools_is_one_too(void **state)
{
    (void)state;
    struct timing timing = {0};
    circle(&timing, 2, true);
    circle(&timing, 4, true);
}

/* A job waits for its group, a child of the group that was taken by another worker waits for the job. */
struct family {
    vigil_pool *pool;
    vigil_job parent;
    vigil_task child;
    struct event know, child_runs;
    int child_result;
};

static int wait_for_the_parent(vigil_task *task)
{
    struct family *family = container_of(task, struct family, child);
    event_set(&family->child_runs);
    family->child_result = vigil_job_wait(family->pool, family->parent, VIGIL_FOREVER, NULL);
    return 0;
}

static int wait_for_the_children(void *arg)
{
    struct family *family = arg;
    vigil_group group;
    event_wait(&family->know);
    must_equal(vigil_group_init(&group, family->pool, 0), 0);
    vigil_task_init(&family->child, wait_for_the_parent, NULL);
    must_equal(vigil_group_spawn(&group, &family->child), 0);
    event_wait(&family->child_runs); /* a thief has it */
    return vigil_group_wait(&group);
}

static void a_child_that_waits_for_its_parent_is_a_cycle(void **state)
{
    (void)state;
    struct heard heard;
    struct family family = {0};
    family.pool = pool_of(2);
    watch_with(&heard, VIGIL_STALL_WAIT_CYCLE, VIGIL_RECOVER_REJECT);
    must_equal(vigil_job_call(family.pool, wait_for_the_children, &family, NULL, &family.parent), 0);
    event_set(&family.know);
    const vigil_verdict *verdict = verdict_of(&heard);
    must_say(verdict->evidence, "for a group");
    must_say(verdict->evidence, "for a job");
    must_equal(vigil_job_wait(family.pool, family.parent, VIGIL_FOREVER, NULL), 0);
    must_equal(family.child_result, -EDEADLK);
    must_equal(vigil_job_unref(family.pool, family.parent), 0);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(family.pool);
}

static void without_recovery_the_circle_stays_and_only_a_timeout_ends_it(void **state)
{
    (void)state;
    struct heard heard;
    struct ring ring;
    vigil_pool *pool = pool_of(2);
    watch_with(&heard, VIGIL_STALL_WAIT_CYCLE, 0);
    make_ring(&ring, 2, pool, pool);
    event_set(&ring.know);
    const vigil_verdict *verdict = verdict_of(&heard);
    must(verdict->action[0] == 0);
    must_equal(vigil_job_poll(pool, ring.jobs[0], NULL), VIGIL_JOB_RUNNING);
    must_equal(vigil_watchdog_stop(), 0);
    watch_with(&heard, VIGIL_STALL_WAIT_CYCLE, VIGIL_RECOVER_REJECT); /* to get out of it */
    must_equal(end_ring(&ring), 1);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

/* Long waits that are not in a circle: A waits for B, B works. */
static int waits_for_a_gate(void *arg)
{
    gate_pass(arg);
    return 0;
}

struct chain {
    vigil_pool *pool;
    vigil_job last;
    struct event know, waits;
};

static int waits_for_the_last(void *arg)
{
    struct chain *chain = arg;
    event_wait(&chain->know);
    event_set(&chain->waits);
    return vigil_job_wait(chain->pool, chain->last, VIGIL_FOREVER, NULL);
}

static void a_chain_of_waits_is_no_cycle(void **state)
{
    (void)state;
    struct heard heard;
    struct gate gate = {0};
    struct chain chain = {0};
    vigil_job first;
    chain.pool = pool_of(3);
    must_equal(vigil_job_call(chain.pool, waits_for_the_last, &chain, NULL, &first), 0);
    must_equal(vigil_job_call(chain.pool, waits_for_a_gate, &gate, NULL, &chain.last), 0);
    gate_wait_entered(&gate, 1);
    event_set(&chain.know);
    event_wait(&chain.waits);
    watch_with(&heard, VIGIL_STALL_HOG, 0); /* the one at the gate sleeps undeclared */
    (void)verdict_of(&heard);
    watch_settle();
    must_equal(atomic_load_explicit(&heard.alarms, memory_order_relaxed), 0);
    gate_open(&gate);
    must_equal(vigil_job_wait(chain.pool, first, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(chain.pool, first), 0);
    must_equal(vigil_job_unref(chain.pool, chain.last), 0);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(chain.pool);
}

/*
 * No circle of the program: two bottom jobs wait for jobs that end, and two top jobs wait for the other pool's bottom
 * job. But both pools have one worker and no spares, so each top job is run on the stack of its pool's bottom job.
 */
enum {
    LAYERS_MOST = 12 /* more than the notes that a worker has room for from the start */
};

struct layers;
struct layer {
    struct layers *on;
    unsigned height;
    struct event begun;
};

struct layers {
    vigil_pool *pool, *helpers; /* of one worker; of many */
    struct layers *other;
    unsigned height;  /* of the top */
    vigil_job bottom; /* its layer 0 */
    struct gate *gate;
    struct meeting *tops;
    int result; /* of the top's wait */
    struct layer layer[LAYERS_MOST];
};

static int pass_a_gate(void *arg)
{
    gate_pass(arg);
    return 0;
}

static void call_and_wait(vigil_pool *pool, int (*fn)(void *arg), void *arg)
{
    vigil_job job;
    must_equal(vigil_job_call(pool, fn, arg, NULL, &job), 0);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(pool, job), 0);
}

static int lie_here(void *arg)
{
    struct layer *layer = arg;
    struct layers *on = layer->on;
    event_set(&layer->begun);
    if (layer->height < on->height) {
        call_and_wait(on->helpers, pass_a_gate, on->gate);
        return 0;
    }
    (void)meeting_join(on->tops);
    on->result = vigil_job_wait(on->other->pool, on->other->bottom, VIGIL_FOREVER, NULL);
    return 0;
}

/* A worker of the third pool waits for the layer, so whoever sleeps in a wait for another pool runs it. */
static int lay_down(void *arg)
{
    struct layer *layer = arg;
    call_and_wait(layer->on->pool, lie_here, layer);
    return 0;
}

static void crosswise(unsigned height)
{
    struct heard heard;
    struct gate gate = {0};
    struct meeting tops = {.size = 2};
    struct layers side[2] = {0};
    vigil_pool_options one = VIGIL_POOL_OPTIONS_INIT;
    one.workers = 1;
    one.no_spares = true;
    vigil_pool *helpers = pool_of(4 * LAYERS_MOST);
    watch_with(&heard, VIGIL_STALL_WAIT_CYCLE, VIGIL_RECOVER_REJECT);
    for (unsigned i = 0; i < 2; i++) {
        side[i] = (struct layers){.pool = pool_with(&one), .helpers = helpers, .other = &side[1 - i], .height = height};
        side[i].gate = &gate;
        side[i].tops = &tops;
        side[i].result = 1;
        for (unsigned h = 0; h <= height; h++)
            side[i].layer[h] = (struct layer){.on = &side[i], .height = h};
        must_equal(vigil_job_call(side[i].pool, lie_here, &side[i].layer[0], NULL, &side[i].bottom), 0);
        event_wait(&side[i].layer[0].begun);
    }
    for (unsigned i = 0; i < 2; i++)
        for (unsigned h = 1; h <= height; h++) {
            must_equal(vigil_pool_call(helpers, lay_down, NULL, &side[i].layer[h], VIGIL_NORMAL), 0);
            event_wait(&side[i].layer[h].begun);
        }
    gate_open(&gate); /* now nothing but the tops hold the bottoms up */
    event_wait(&heard.raised[VIGIL_STALL_WAIT_CYCLE]);
    const vigil_verdict *verdict = &heard.first[VIGIL_STALL_WAIT_CYCLE];
    must_equal(verdict->severity, VIGIL_SEVERITY_ERROR);
    must_say(verdict->reason, "2 tasks wait for each other in a circle");
    must_say(verdict->evidence, "inside lie_here, for a job (lie_here) that cannot end before worker 0");
    must_say(verdict->advice, "max_spares");
    for (unsigned i = 0; i < 2; i++) {
        must_equal(vigil_job_wait(side[i].pool, side[i].bottom, VIGIL_FOREVER, NULL), 0);
        must_equal(vigil_job_unref(side[i].pool, side[i].bottom), 0);
    }
    must_equal(side[0].result + side[1].result, -EDEADLK); /* one of them, the other has its answer */
    event_wait(&heard.cleared[VIGIL_STALL_WAIT_CYCLE]);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(helpers);
    pool_close(side[0].pool);
    pool_close(side[1].pool);
}

static void waits_that_lie_crosswise_on_two_stacks_are_a_cycle(void **state)
{
    (void)state;
    crosswise(1);
}

static void a_cycle_under_many_waits_is_named_too(void **state)
{
    (void)state;
    crosswise(LAYERS_MOST - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(jobs_that_wait_for_each_other_are_a_cycle_and_one_gets_edeadlk),
        test(a_circle_through_two_pools_is_one_too),
        test(a_child_that_waits_for_its_parent_is_a_cycle),
        test(without_recovery_the_circle_stays_and_only_a_timeout_ends_it),
        test(a_chain_of_waits_is_no_cycle),
        test(waits_that_lie_crosswise_on_two_stacks_are_a_cycle),
        test(a_cycle_under_many_waits_is_named_too),
    };
    return run_all(tests);
}
