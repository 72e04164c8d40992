/* SPDX-License-Identifier: MIT */
/* vigil/parallel.h: loops. Every iteration runs once, whoever runs it, unless something ends the call. */
#include "support.h"

#include <vigil/parallel.h>
#include <vigil/record.h>

static const unsigned sizes[] = {1, 2, 8};

/* ---- every iteration once ---- */

struct marks {
    _Atomic uint8_t *of;
    size_t first;
    _Atomic size_t pieces;
    _Atomic size_t smallest;
};

static int mark_piece(void *arg, size_t begin, size_t end)
{
    struct marks *marks = arg;
    must(begin < end);
    (void)atomic_fetch_add(&marks->pieces, 1);
    size_t smallest = atomic_load(&marks->smallest);
    while (end - begin < smallest && !atomic_compare_exchange_weak(&marks->smallest, &smallest, end - begin)) {
    }
    for (size_t i = begin; i < end; i++)
        (void)atomic_fetch_add_explicit(&marks->of[i - marks->first], 1, memory_order_relaxed);
    return 0;
}

static void must_be_marked_once(struct marks *marks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        must_equal(marks->of[i], 1);
    memset((void *)marks->of, 0, count);
}

struct for_inside {
    vigil_task task;
    vigil_pool *pool;
    struct marks *marks;
    size_t count;
    const vigil_parallel_options *options;
    int status;
};

static int run_for_inside(vigil_task *task)
{
    struct for_inside *it = container_of(task, struct for_inside, task);
    it->status = vigil_parallel_for(it->pool, it->marks->first, it->marks->first + it->count, mark_piece, it->marks,
                                    it->options);
    return 0;
}

static void every_iteration_runs_once(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 1000, 200003};
    static const size_t grains[] = {0, 1, 7, 5000};
    for (size_t s = 0; s < count_of(sizes); s++) {
        vigil_pool *pool = pool_of(sizes[s]);
        for (size_t c = 0; c < count_of(counts); c++)
            for (size_t g = 0; g < count_of(grains); g++)
                for (int split = VIGIL_SPLIT_LAZY; split <= VIGIL_SPLIT_STATIC; split++) {
                    if (grains[g] == 1 && counts[c] > 1000 && (split == VIGIL_SPLIT_STATIC || TEST_SANITIZED))
                        continue;
                    vigil_parallel_options options = VIGIL_PARALLEL_OPTIONS_INIT;
                    options.grain = grains[g];
                    options.split = (vigil_split)split;
                    struct marks marks = {.of = calloc(counts[c] + 1, 1), .first = c * 5, .smallest = SIZE_MAX};
                    struct for_inside inside = {
                        .pool = pool, .marks = &marks, .count = counts[c], .options = &options, .status = -1};
                    must_equal(
                        vigil_parallel_for(pool, marks.first, marks.first + counts[c], mark_piece, &marks, &options),
                        0);
                    must_be_marked_once(&marks, counts[c]);
                    if (split == VIGIL_SPLIT_LAZY && counts[c] > 1 && grains[g] <= counts[c])
                        must(marks.smallest >= grains[g]);
                    vigil_task_init(&inside.task, run_for_inside, NULL);
                    must_equal(vigil_pool_submit(pool, &inside.task, VIGIL_HIGH), 0);
                    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
                    must_equal(inside.status, 0);
                    must_be_marked_once(&marks, counts[c]);
                    free((void *)marks.of);
                }
        pool_close(pool);
    }
}

static int spin_one(void *arg, size_t begin, size_t end)
{
    (void)arg;
    for (size_t i = begin; i < end; i++)
        for (volatile int k = 0; k < 50; k++) {
        }
    return 0;
}

/* A loop on a pool whose other workers are busy is split a few times, not per piece. */
static void nobody_hungry_means_few_splits(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    const uint64_t before = pool_stats(pool).spawned;
    must_equal(vigil_parallel_for(pool, 0, 100000, spin_one, NULL, NULL), 0);
    must_be_between(pool_stats(pool).spawned - before, 1, 40);
    pool_close(pool);
}

/* ---- hungry workers get work ---- */

/* Each iteration waits until all of them run at once: only a loop that splits down to single iterations gets there. */
static int meet_all(void *arg, size_t begin, size_t end)
{
    must_equal(end - begin, 1);
    (void)meeting_join(arg);
    return 0;
}

static void a_loop_reaches_every_worker(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(4);
    struct meeting meeting = {.size = 4};
    for (int i = 0; i < 20; i++) {
        pool_wait_parked(pool, 4);
        must_equal(vigil_parallel_for(pool, 0, 4, meet_all, &meeting, NULL), 0);
    }
    pool_close(pool);
}

/* ---- ends ---- */

struct ending {
    _Atomic size_t ran;
    size_t fail_at;
    int status;
    bool raise;
    vigil_cancel_source *source;
};

static int end_at(void *arg, size_t begin, size_t end)
{
    struct ending *it = arg;
    for (size_t i = begin; i < end; i++) {
        (void)atomic_fetch_add(&it->ran, 1);
        if (i != it->fail_at)
            continue;
        if (it->source != NULL)
            must_equal(vigil_cancel_abort(it->source, it->status, "enough"), 0);
        else if (it->raise)
            vigil_raise(it->status);
        else
            return it->status;
    }
    return 0;
}

static void a_failure_ends_the_rest(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    for (int how = 0; how < 3; how++) {
        struct ending it = {.fail_at = 10, .status = -EDOM, .raise = how == 1};
        vigil_parallel_options options = VIGIL_PARALLEL_OPTIONS_INIT;
        if (how == 2) {
            must_equal(vigil_cancel_create(&it.source), 0);
            options.token = vigil_cancel_token_of(it.source);
        }
        must_equal(vigil_parallel_for(pool, 0, (size_t)1 << 40, end_at, &it, &options), -EDOM);
        must(it.ran < (size_t)1 << 40);
        must_equal(pool_stats(pool).total.failed, 0); /* the caller has the status; no task failed */
        vigil_cancel_destroy(it.source);
    }
    /* An aborted token: nothing begins. */
    struct ending none = {.fail_at = SIZE_MAX};
    vigil_cancel_source *source;
    must_equal(vigil_cancel_create(&source), 0);
    must_equal(vigil_cancel_abort(source, -ETIMEDOUT, NULL), 0);
    vigil_parallel_options options = VIGIL_PARALLEL_OPTIONS_INIT;
    options.token = vigil_cancel_token_of(source);
    must_equal(vigil_parallel_for(pool, 0, 1000, end_at, &none, &options), -ETIMEDOUT);
    must_equal(none.ran, 0);
    vigil_cancel_destroy(source);
    pool_close(pool);
}

struct closing {
    struct event began;
    struct event go;
};

static int wait_to_be_closed(void *arg, size_t begin, size_t end)
{
    (void)begin;
    (void)end;
    struct closing *it = arg;
    event_set(&it->began);
    event_wait(&it->go);
    return 0;
}

static void *close_pool(void *arg)
{
    must_equal(vigil_pool_close(arg, VIGIL_FOREVER), 0);
    return NULL;
}

static void *run_until_closed(void *arg)
{
    void **both = arg;
    must_equal(vigil_parallel_for(both[0], 0, 1000, wait_to_be_closed, both[1], NULL), -ECANCELED);
    return NULL;
}

static int do_nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void the_end_of_the_pool_ends_a_loop(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct closing it = {0};
    void *both[] = {pool, &it};
    const pthread_t caller = start_thread(run_until_closed, both);
    event_wait(&it.began);
    const pthread_t closer = start_thread(close_pool, pool);
    /* the pool no longer accepts anything: the close has begun */
    while (vigil_pool_call(pool, do_nothing, NULL, NULL, VIGIL_IDLE) != -ESHUTDOWN)
        yield();
    event_set(&it.go);
    join_thread(caller);
    join_thread(closer);
    must_equal(vigil_parallel_for(pool, 0, 10, spin_one, NULL, NULL), -ESHUTDOWN);
    must_equal(vigil_pool_destroy(pool), 0);
    pool_unwatch(pool);
}

/* ---- progress ---- */

struct progress {
    size_t last;
    size_t calls;
    int answer;
    size_t answer_at;
};

static int on_progress(void *user, size_t done, size_t total)
{
    struct progress *it = user;
    must(done <= total);
    it->calls++;
    it->last = done;
    return done >= it->answer_at ? it->answer : 0;
}

static void progress_is_reported_and_may_end_the_loop(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct progress progress = {.answer_at = SIZE_MAX};
    vigil_parallel_options options = VIGIL_PARALLEL_OPTIONS_INIT;
    options.progress = on_progress;
    options.user = &progress;
    must_equal(vigil_parallel_for(pool, 5, 100005, spin_one, NULL, &options), 0);
    must_equal(progress.last, 100000);
    must(progress.calls >= 1);
    for (int answer = -EDOM; answer <= 1; answer += 1 + EDOM) {
        progress = (struct progress){.answer = answer, .answer_at = 1};
        must_equal(vigil_parallel_for(pool, 0, (size_t)1 << 40, spin_one, NULL, &options),
                   answer < 0 ? answer : -ECANCELED);
    }
    pool_close(pool);
}

/* ---- elements and tiles ---- */

static int add_arg(void *arg, void *element)
{
    *(int *)element += *(int *)arg;
    return *(int *)element == -1 ? -ERANGE : 0;
}

static int halve(void *arg, const void *from, void *to)
{
    (void)arg;
    *(short *)to = (short)(*(const int *)from / 2);
    return 0;
}

static void elements_are_visited_and_transformed(void **state)
{
    (void)state;
    enum {
        COUNT = 30000
    };
    vigil_pool *pool = pool_of(3);
    int *numbers = calloc(COUNT, sizeof *numbers);
    short *halves = calloc(COUNT, sizeof *halves);
    int more = 40;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    must_equal(vigil_parallel_for_each(pool, numbers, COUNT, sizeof *numbers, add_arg, &more, NULL), 0);
    must_equal(vigil_parallel_transform(pool, (vigil_array){numbers, sizeof *numbers},
                                        (vigil_array){halves, sizeof *halves}, COUNT, halve, NULL, NULL),
               0);
    for (int i = 0; i < COUNT; i++) {
        must_equal(numbers[i], i + 40);
        must_equal(halves[i], (i + 40) / 2);
    }
    numbers[COUNT / 2] = -41;
    must_equal(vigil_parallel_for_each(pool, numbers, COUNT, sizeof *numbers, add_arg, &more, NULL), -ERANGE);
    free(numbers);
    free(halves);
    pool_close(pool);
}

struct board {
    _Atomic uint8_t cells[97][130];
    size_t rows, columns;
};

static int mark_tile(void *arg, const vigil_tile *tile)
{
    struct board *board = arg;
    must(tile->row < tile->row_end && tile->row_end - tile->row <= board->rows);
    must(tile->column < tile->column_end && tile->column_end - tile->column <= board->columns);
    for (size_t r = tile->row; r < tile->row_end; r++)
        for (size_t c = tile->column; c < tile->column_end; c++)
            (void)atomic_fetch_add(&board->cells[r][c], 1);
    return 0;
}

static void tiles_cover_an_area_once(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    static const size_t shapes[][2] = {{32, 32}, {1, 1}, {97, 1}, {1, 130}, {10, 7}, {200, 200}};
    for (size_t s = 0; s < count_of(shapes); s++) {
        struct board *board = calloc(1, sizeof *board);
        board->rows = shapes[s][0];
        board->columns = shapes[s][1];
        const vigil_tile area = {.row = 3, .row_end = 97, .column = 11, .column_end = 130};
        must_equal(vigil_parallel_for_2d(pool, &area, shapes[s][0], shapes[s][1], mark_tile, board, NULL), 0);
        for (size_t r = 0; r < 97; r++)
            for (size_t c = 0; c < 130; c++)
                must_equal(board->cells[r][c], r >= 3 && c >= 11);
        free(board);
    }
    const vigil_tile empty = {.row = 5, .row_end = 5, .column = 0, .column_end = 9};
    must_equal(vigil_parallel_for_2d(pool, &empty, 0, 0, mark_tile, NULL, NULL), 0);
    pool_close(pool);
}

/* ---- nesting ---- */

struct nest {
    vigil_pool *pool;
    _Atomic size_t leaves;
};

static int count_leaves(void *arg, size_t begin, size_t end)
{
    (void)atomic_fetch_add(&((struct nest *)arg)->leaves, end - begin);
    return 0;
}

static int nest_piece(void *arg, size_t begin, size_t end)
{
    struct nest *nest = arg;
    for (size_t i = begin; i < end; i++) {
        const int status = vigil_parallel_for(nest->pool, 0, 100 + i, count_leaves, nest, NULL);
        if (status != 0)
            return status;
    }
    return 0;
}

static void loops_nest(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(4);
    struct nest nest = {.pool = pool};
    must_equal(vigil_parallel_for(pool, 0, 300, nest_piece, &nest, NULL), 0);
    must_equal(nest.leaves, 300 * 100 + 299 * 300 / 2);
    pool_close(pool);
}

/* ---- a value per worker ---- */

static void start_at_seven(void *arg, void *value)
{
    (void)atomic_fetch_add((_Atomic int *)arg, 1);
    *(uint64_t *)value = 7;
}

static int add_local(void *arg, size_t begin, size_t end)
{
    uint64_t *mine = vigil_local_get(arg);
    must(mine != NULL && (uintptr_t)mine % 64 == 0);
    for (size_t i = begin; i < end; i++)
        *mine += i;
    return 0;
}

static int sum_locals(void *arg, void *value)
{
    *(uint64_t *)arg += *(uint64_t *)value - 7;
    return 0;
}

static int stop_walk(void *arg, void *value)
{
    (void)arg;
    (void)value;
    return -EDOM;
}

static void each_worker_has_its_own_value(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(4);
    vigil_local *local;
    _Atomic int made = 0;
    uint64_t sum = 0;
    must_equal(vigil_local_create(&local, pool, sizeof(uint64_t), start_at_seven, &made), 0);
    must(vigil_local_get(local) == NULL); /* not a worker */
    must_equal(vigil_parallel_for(pool, 0, 100000, add_local, local, NULL), 0);
    must_equal(vigil_local_each(local, sum_locals, &sum), 0);
    must_equal(sum, (uint64_t)100000 * 99999 / 2);
    must(made >= 1 && made <= 8);
    must_equal(vigil_local_each(local, stop_walk, NULL), -EDOM);
    vigil_local_destroy(local);
    vigil_local_destroy(NULL);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(every_iteration_runs_once),
        test(nobody_hungry_means_few_splits),
        test(a_loop_reaches_every_worker),
        test(a_failure_ends_the_rest),
        test(the_end_of_the_pool_ends_a_loop),
        test(progress_is_reported_and_may_end_the_loop),
        test(elements_are_visited_and_transformed),
        test(tiles_cover_an_area_once),
        test(loops_nest),
        test(each_worker_has_its_own_value),
    };
    return run_all(tests);
}
