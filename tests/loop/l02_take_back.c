/* SPDX-License-Identifier: MIT */
/* L2: A post or an immediate that is taken back neither runs nor is cancelled, and belongs to the caller again. */
#include "loop_test.h"

struct work {
    vigil_post post;
    vigil_loop *loop;
    struct work *victim; /* taken back when this one runs */
    _Atomic unsigned runs, cancels;
};

static void run_work(vigil_post *post)
{
    struct work *it = container_of(post, struct work, post);
    (void)atomic_fetch_add_explicit(&it->runs, 1, memory_order_relaxed);
    if (it->victim != NULL)
        must_equal(vigil_loop_post_remove(it->loop, &it->victim->post), it->victim == it ? -ENOENT : 0);
}

static void cancel_work(vigil_post *post)
{
    (void)atomic_fetch_add_explicit(&container_of(post, struct work, post)->cancels, 1, memory_order_relaxed);
}

static void work_init(struct work *it, vigil_loop *loop)
{
    memset(it, 0, sizeof *it);
    it->loop = loop;
    vigil_post_init(&it->post, run_work, cancel_work);
}

static void must_have(struct work *it, unsigned runs, unsigned cancels)
{
    must_equal(atomic_load_explicit(&it->runs, memory_order_relaxed), runs);
    must_equal(atomic_load_explicit(&it->cancels, memory_order_relaxed), cancels);
}

static void a_post_that_is_taken_back_is_the_callers_again(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    struct work *it = malloc(sizeof *it);
    struct work other;
    must(it != NULL);
    work_init(it, loop);
    work_init(&other, loop);
    must_equal(vigil_loop_post_remove(loop, &it->post), -ENOENT);
    for (int i = 0; i < 3; i++) {
        must_equal(vigil_loop_post(loop, &it->post), 0);
        must_equal(vigil_loop_post_remove(loop, &it->post), 0);
        must_equal(vigil_loop_post_remove(loop, &it->post), -ENOENT);
    }
    must_have(it, 0, 0);
    free(it); /* the address sanitizer knows whether the loop still looks */
    must_equal(vigil_loop_post(loop, &other.post), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_have(&other, 1, 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_callback_takes_back_what_is_due_in_the_same_turn(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    struct work all[4];
    for (size_t i = 0; i < count_of(all); i++)
        work_init(&all[i], loop);
    all[0].victim = &all[1];
    all[2].victim = &all[2]; /* itself: too late */
    for (size_t i = 0; i < count_of(all); i++)
        must_equal(vigil_loop_post(loop, &all[i].post), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    for (size_t i = 0; i < count_of(all); i++)
        must_have(&all[i], i != 1, 0);
    for (size_t i = 0; i < count_of(all); i++)
        must_equal(vigil_loop_immediate(loop, &all[i].post), 0);
    must_equal(vigil_loop_immediate(loop, &all[3].post), -EBUSY);
    must_equal(vigil_loop_post_remove(loop, &all[3].post), 0); /* the last of the queue */
    must_equal(vigil_loop_immediate(loop, &all[3].post), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    for (size_t i = 0; i < count_of(all); i++)
        must_have(&all[i], i != 1 ? 2 : 0, 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void in_a_long_queue_the_others_keep_their_order(void **state)
{
    (void)state;
    enum {
        MANY = 1000 /* several chunks */
    };
    static struct work all[MANY];
    vigil_loop *loop = loop_plain();
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < MANY; i++) {
            work_init(&all[i], loop);
            must_equal(vigil_loop_post(loop, &all[i].post), 0);
        }
        for (size_t i = 0; i < MANY; i += 3)
            must_equal(vigil_loop_post_remove(loop, &all[MANY - 1 - i].post), 0);
        while (loop_stats(loop).posts_queued != 0)
            (void)vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
        for (size_t i = 0; i < MANY; i++)
            must_have(&all[MANY - 1 - i], i % 3 != 0, 0);
    }
    must_equal(vigil_loop_destroy(loop), 0);
}

static void what_ends_with_the_loop_is_not_what_was_taken_back(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    struct work all[4];
    for (size_t i = 0; i < count_of(all); i++) {
        work_init(&all[i], loop);
        must_equal(i < 2 ? vigil_loop_post(loop, &all[i].post) : vigil_loop_immediate(loop, &all[i].post), 0);
    }
    must_equal(vigil_loop_post_remove(loop, &all[0].post), 0);
    must_equal(vigil_loop_post_remove(loop, &all[2].post), 0);
    must_equal(vigil_loop_close(loop, VIGIL_FOREVER), 0);
    for (size_t i = 0; i < count_of(all); i++)
        must_have(&all[i], 0, i % 2);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void *asks_from_elsewhere(void *arg)
{
    struct work *it = arg;
    must_equal(vigil_loop_post_remove(it->loop, &it->post), -EPERM);
    return NULL;
}

static void join_stranger(void *arg)
{
    join_thread(start_thread(asks_from_elsewhere, arg));
}

static void other_queues_and_other_threads_are_refused(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_loop *stranger = loop_plain();
    struct work it;
    work_init(&it, loop);
    must_equal(vigil_loop_post_remove(loop, NULL), -EINVAL);
    must_equal(vigil_loop_microtask(loop, &it.post), 0);
    must_equal(vigil_loop_post_remove(loop, &it.post), -EBUSY);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_equal(vigil_loop_post_internal(loop, &it.post), 0);
    must_equal(vigil_loop_post_remove(loop, &it.post), -EBUSY);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_equal(vigil_loop_post(stranger, &it.post), 0);
    must_equal(vigil_loop_post_remove(loop, &it.post), -EBUSY);
    must_equal(vigil_loop_run(stranger, VIGIL_RUN_NOWAIT), 0);
    must_have(&it, 3, 0);
    must_equal(vigil_loop_call(loop, join_stranger, NULL, &it), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    must_equal(vigil_loop_destroy(stranger), 0);
}

/* Another thread posts while the owner takes back: each post runs or is taken back, never both, never neither. */
struct race {
    struct work work;
    uint64_t rounds;
    _Atomic uint64_t posted, removed;
    _Atomic bool over;
};

static void *posts_again_and_again(void *arg)
{
    struct race *race = arg;
    const uint64_t end = now_ns() + 20000000000U; /* that is enough of them, however busy the machine */
    for (uint64_t i = 0; i < race->rounds;) {
        const int rc = vigil_loop_post(race->work.loop, &race->work.post);
        must(rc == 0 || rc == -EBUSY);
        i += rc == 0;
        if (rc == -EBUSY)
            yield();
        else if (now_ns() >= end)
            race->rounds = i;
    }
    atomic_store_explicit(&race->over, true, memory_order_release);
    must_equal(vigil_loop_unref(race->work.loop), 0);
    return NULL;
}

static void takes_back(void *arg)
{
    struct race *race = arg;
    const int rc = vigil_loop_post_remove(race->work.loop, &race->work.post);
    must(rc == 0 || rc == -ENOENT || rc == -EBUSY);
    if (rc == 0)
        (void)atomic_fetch_add_explicit(&race->removed, 1, memory_order_relaxed);
    if (!atomic_load_explicit(&race->over, memory_order_acquire))
        must_equal(vigil_loop_immediate_call(race->work.loop, takes_back, NULL, race), 0);
}

static void a_post_that_races_its_removal_runs_or_is_taken_back(void **state)
{
    (void)state;
    struct race race = {.rounds = scaled(100000, 2000)};
    vigil_loop *loop = loop_plain();
    work_init(&race.work, loop);
    must_equal(vigil_loop_ref(loop), 0);
    must_equal(vigil_loop_immediate_call(loop, takes_back, NULL, &race), 0);
    pthread_t thread = start_thread(posts_again_and_again, &race);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    join_thread(thread);
    must_equal(atomic_load_explicit(&race.work.runs, memory_order_relaxed) +
                   atomic_load_explicit(&race.removed, memory_order_relaxed),
               race.rounds);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_post_that_is_taken_back_is_the_callers_again), test(a_callback_takes_back_what_is_due_in_the_same_turn),
        test(in_a_long_queue_the_others_keep_their_order),    test(what_ends_with_the_loop_is_not_what_was_taken_back),
        test(other_queues_and_other_threads_are_refused),     test(a_post_that_races_its_removal_runs_or_is_taken_back),
    };
    return run_all(tests);
}
