/* SPDX-License-Identifier: MIT */
/* vigil/graph.h: pipelines. Every item passes every stage; serial stages see them in order and one at a time. */
#include "support.h"

#include <vigil/graph.h>

struct item {
    size_t number;
    unsigned passed;
};

struct source {
    size_t count, made;
    _Atomic size_t live, most_live;
    int fail; /* instead of the end */
};

static int make_item(void *arg, void **item)
{
    struct source *it = arg;
    if (it->made == it->count)
        return it->fail;
    struct item *made = malloc(sizeof *made);
    *made = (struct item){.number = it->made++};
    const size_t live = atomic_fetch_add(&it->live, 1) + 1;
    if (live > atomic_load(&it->most_live)) /* the first stage is serial */
        atomic_store(&it->most_live, live);
    *item = made;
    return 1;
}

struct ordered {
    size_t next; /* plain: the stage is serial */
    _Atomic int inside;
    size_t fail_at;
    bool raise;
};

static int in_order(void *arg, void **item)
{
    struct ordered *it = arg;
    struct item *mine = *item;
    must_equal(atomic_fetch_add(&it->inside, 1), 0);
    must_equal(mine->number, it->next++);
    mine->passed++;
    must_equal(atomic_fetch_sub(&it->inside, 1), 1);
    if (mine->number == it->fail_at && it->raise)
        vigil_raise(-EDOM);
    return mine->number == it->fail_at ? -EDOM : 0;
}

static int in_parallel(void *arg, void **item)
{
    struct item *mine = *item;
    (void)atomic_fetch_add((_Atomic size_t *)arg, 1);
    mine->passed++;
    for (volatile size_t i = 0; i < mine->number % 7 * 100; i++) {
    }
    return 0;
}

static int free_item(void *arg, void **item)
{
    struct item *mine = *item;
    (void)atomic_fetch_sub(&((struct source *)arg)->live, 1);
    must_equal(mine->passed, 4);
    free(mine);
    return 0;
}

static void drop_item(void *user, void *item)
{
    (void)atomic_fetch_sub(&((struct source *)user)->live, 1);
    free(item);
}

static int run_pipe(vigil_pool *pool, struct source *source, struct ordered *ordered, size_t tokens, bool last_serial,
                    vigil_cancel_token *token)
{
    _Atomic size_t parallel = 0;
    struct ordered second = {.fail_at = SIZE_MAX};
    const vigil_stage stages[] = {
        {VIGIL_STAGE_SERIAL, make_item, source},
        {VIGIL_STAGE_PARALLEL, in_parallel, (void *)&parallel},
        {VIGIL_STAGE_SERIAL, in_order, ordered},
        {VIGIL_STAGE_PARALLEL, in_parallel, (void *)&parallel},
        {VIGIL_STAGE_SERIAL, in_order, &second},
        {last_serial ? VIGIL_STAGE_SERIAL : VIGIL_STAGE_PARALLEL, free_item, source},
    };
    vigil_pipeline_options options = VIGIL_PIPELINE_OPTIONS_INIT;
    options.tokens = tokens;
    options.drop = drop_item;
    options.user = source;
    options.token = token;
    const int status = vigil_pipeline_run(pool, stages, count_of(stages), &options);
    must_equal(source->live, 0); /* each item was freed once */
    if (status == 0) {
        must_equal(ordered->next, source->count);
        must_equal(parallel, 2 * source->count);
    }
    must(tokens == 0 || source->most_live <= tokens);
    return status;
}

static void items_pass_in_order_within_the_bound(void **state)
{
    (void)state;
    static const size_t tokens[] = {0, 1, 2, 3, 16, 500};
    for (unsigned workers = 1; workers <= 4; workers++) {
        vigil_pool *pool = pool_of(workers);
        for (size_t t = 0; t < count_of(tokens); t++)
            for (size_t count = 0; count <= 3000; count = count * 5 + 1) {
                struct source source = {.count = count};
                struct ordered ordered = {.fail_at = SIZE_MAX};
                must_equal(run_pipe(pool, &source, &ordered, tokens[t], t % 2 == 0, NULL), 0);
            }
        pool_close(pool);
    }
}

static void a_failure_ends_a_pipeline_and_drops_what_is_left(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(3);
    for (int round = 0; round < 20; round++) {
        struct source source = {.count = 1000};
        struct ordered ordered = {.fail_at = (size_t)round * 20, .raise = round % 2 == 0};
        must_equal(run_pipe(pool, &source, &ordered, 16, false, NULL), -EDOM);
        must(source.made < 1000);
        struct source bad = {.count = 50, .fail = -EIO};
        ordered = (struct ordered){.fail_at = SIZE_MAX};
        must_equal(run_pipe(pool, &bad, &ordered, 16, true, NULL), -EIO);
    }
    vigil_cancel_source *source;
    must_equal(vigil_cancel_create(&source), 0);
    must_equal(vigil_cancel_abort(source, -ETIMEDOUT, NULL), 0);
    struct source none = {.count = 10};
    struct ordered ordered = {.fail_at = SIZE_MAX};
    must_equal(run_pipe(pool, &none, &ordered, 0, false, vigil_cancel_token_of(source)), -ETIMEDOUT);
    must_equal(none.made, 0);
    vigil_cancel_destroy(source);
    pool_close(pool);
}

/* Several items are inside a parallel stage at once. */
static int meet_in_stage(void *arg, void **item)
{
    (void)item;
    (void)meeting_join(arg);
    return 0;
}

static int count_down(void *arg, void **item)
{
    *item = arg;
    return (*(int *)arg)-- > 0;
}

static void a_parallel_stage_is_parallel(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(3);
    struct meeting meeting = {.size = 3};
    int left = 30;
    const vigil_stage stages[] = {{VIGIL_STAGE_SERIAL, count_down, &left},
                                  {VIGIL_STAGE_PARALLEL, meet_in_stage, &meeting}};
    must_equal(vigil_pipeline_run(pool, stages, 2, NULL), 0);
    must_equal(left, -1);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(items_pass_in_order_within_the_bound),
        test(a_failure_ends_a_pipeline_and_drops_what_is_left),
        test(a_parallel_stage_is_parallel),
    };
    return run_all(tests);
}
