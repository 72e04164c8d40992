/* SPDX-License-Identifier: MIT */
/* Submit to a named worker: it and nobody else runs the task; among such tasks classes and order hold. */
#include "support.h"

struct letter {
    vigil_task task;
    unsigned number;
    int ran_on;
    unsigned place;
    struct post *post;
};

struct post {
    _Atomic unsigned places;
    struct meeting *meeting;
};

static int letter_run(vigil_task *task)
{
    struct letter *letter = container_of(task, struct letter, task);
    letter->ran_on = vigil_pool_current_worker();
    letter->place = atomic_fetch_add_explicit(&letter->post->places, 1, memory_order_relaxed);
    if (letter->post->meeting != NULL)
        (void)meeting_join(letter->post->meeting);
    return 0;
}

static struct letter *letters_new(size_t count, struct post *post)
{
    struct letter *letters = calloc(count, sizeof *letters);
    must(letters != NULL);
    for (size_t i = 0; i < count; i++) {
        vigil_task_init(&letters[i].task, letter_run, NULL);
        letters[i].number = (unsigned)i;
        letters[i].ran_on = -1;
        letters[i].post = post;
    }
    return letters;
}

static void a_task_for_a_worker_runs_on_that_worker(void **state)
{
    (void)state;
    enum {
        WORKERS = 5
    };
    vigil_pool *pool = pool_of(WORKERS);
    struct post post = {0};
    size_t count = scaled(100000, 2000);
    struct letter *letters = letters_new(count, &post);
    for (size_t i = 0; i < count; i++)
        must_equal(vigil_pool_submit_to(pool, (unsigned)(i % WORKERS), &letters[i].task, (vigil_priority)(i / 5 % 5)),
                   0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    for (size_t i = 0; i < count; i++)
        must_equal(letters[i].ran_on, i % WORKERS);
    free(letters);
    pool_close(pool);
}

static void a_parked_worker_is_woken_for_its_own_task_even_if_others_are_parked_too(void **state)
{
    (void)state;
    enum {
        WORKERS = 8
    };
    for (int idle = VIGIL_IDLE_SPIN_THEN_PARK; idle <= VIGIL_IDLE_KEEP_ONE_AWAKE; idle++) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = WORKERS;
        options.idle = (vigil_idle_policy)idle;
        vigil_pool *pool = pool_with(&options);
        for (uint64_t round = scaled(2000, 50); round > 0; round--) {
            struct post post = {0};
            struct letter letter = {.post = &post, .ran_on = -1};
            vigil_task_init(&letter.task, letter_run, NULL);
            if (round % 16 == 0)
                pool_wait_parked(pool, idle == VIGIL_IDLE_KEEP_ONE_AWAKE ? WORKERS - 1 : WORKERS);
            must_equal(vigil_pool_submit_to(pool, (unsigned)(round % WORKERS), &letter.task, VIGIL_NORMAL), 0);
            must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
            must_equal(letter.ran_on, round % WORKERS);
        }
        pool_close(pool);
    }
}

static void all_workers_get_their_own_task_at_the_same_time(void **state)
{
    (void)state;
    enum {
        WORKERS = 16
    };
    vigil_pool *pool = pool_of(WORKERS);
    for (uint64_t round = scaled(500, 10); round > 0; round--) {
        struct meeting meeting = {.size = WORKERS};
        struct post post = {.meeting = &meeting};
        struct letter *letters = letters_new(WORKERS, &post);
        for (unsigned i = 0; i < WORKERS; i++)
            must_equal(vigil_pool_submit_to(pool, i, &letters[i].task, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        free(letters);
    }
    pool_close(pool);
}

static void among_a_workers_own_tasks_classes_and_order_hold(void **state)
{
    (void)state;
    enum {
        EACH = 5
    };
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.strict_classes = true;
    vigil_pool *pool = pool_with(&options);
    struct post post = {0};
    struct letter *letters = letters_new(EACH * VIGIL_PRIORITIES, &post);
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    for (unsigned i = 0; i < EACH * VIGIL_PRIORITIES; i++)
        must_equal(vigil_pool_submit_to(pool, 0, &letters[i].task, (vigil_priority)(VIGIL_IDLE - i % 5)), 0);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    for (unsigned i = 0; i < EACH * VIGIL_PRIORITIES; i++)
        must_equal(letters[i].place, (VIGIL_IDLE - i % 5) * EACH + i / 5);
    free(letters);
    pool_close(pool);
}

static void nobody_steals_a_named_task_from_a_worker_that_is_stuck(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct post post = {0};
    struct letter *letters = letters_new(101, &post);
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    unsigned stuck = pool_worker(pool, 0).state == VIGIL_WORKER_RUNNING ? 0 : 1;
    for (unsigned i = 0; i < 100; i++)
        must_equal(vigil_pool_submit_to(pool, stuck, &letters[i].task, VIGIL_CRITICAL), 0);
    /* The other one is free, works, and leaves them alone. */
    must_equal(vigil_pool_submit_to(pool, 1 - stuck, &letters[100].task, VIGIL_IDLE), 0);
    while (atomic_load_explicit(&post.places, memory_order_acquire) == 0)
        yield();
    pool_wait_parked(pool, 1);
    must_equal(post.places, 1);
    must_equal(letters[100].ran_on, 1 - stuck);
    must_equal(pool_stats(pool).total.queued, 100);
    pool_audit_clean(pool); /* it looks into mailboxes too */
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    for (unsigned i = 0; i < 100; i++)
        must_equal(letters[i].ran_on, stuck);
    free(letters);
    pool_close(pool);
}

static void a_worker_that_does_not_exist_is_refused(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(3);
    struct post post = {0};
    struct letter *letters = letters_new(1, &post);
    must_equal(vigil_pool_submit_to(pool, 3, &letters[0].task, VIGIL_NORMAL), -ENOENT);
    must_equal(vigil_pool_submit_to(pool, UINT32_MAX, &letters[0].task, VIGIL_NORMAL), -ENOENT);
    must_equal(vigil_pool_submit_to(pool, 0, NULL, VIGIL_NORMAL), -EINVAL);
    must_equal(vigil_pool_submit_to(NULL, 0, &letters[0].task, VIGIL_NORMAL), -EINVAL);
    must_equal(vigil_pool_submit_to(pool, 0, &letters[0].task, (vigil_priority)5), -EINVAL);
    must_equal(vigil_pool_submit_to(pool, 2, &letters[0].task, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(letters[0].ran_on, 2);
    free(letters);
    pool_close(pool);
}

struct self_mail {
    vigil_pool *pool;
    struct letter letter;
};

static int write_to_myself(void *arg)
{
    struct self_mail *mail = arg;
    must_equal(
        vigil_pool_submit_to(mail->pool, (unsigned)vigil_pool_current_worker(), &mail->letter.task, VIGIL_NORMAL), 0);
    return 0;
}

static void a_task_may_write_to_its_own_worker(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(4);
    for (uint64_t round = scaled(2000, 50); round > 0; round--) {
        struct post post = {0};
        struct self_mail mail = {.pool = pool};
        mail.letter = (struct letter){.post = &post, .ran_on = -1};
        vigil_task_init(&mail.letter.task, letter_run, NULL);
        must_equal(vigil_pool_call(pool, write_to_myself, NULL, &mail, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must(mail.letter.ran_on >= 0);
    }
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_task_for_a_worker_runs_on_that_worker),
        test(a_parked_worker_is_woken_for_its_own_task_even_if_others_are_parked_too),
        test(all_workers_get_their_own_task_at_the_same_time),
        test(among_a_workers_own_tasks_classes_and_order_hold),
        test(nobody_steals_a_named_task_from_a_worker_that_is_stuck),
        test(a_worker_that_does_not_exist_is_refused),
        test(a_task_may_write_to_its_own_worker),
    };
    return run_all(tests);
}
