/* SPDX-License-Identifier: MIT */
/* vigil/parallel.h: reduce, scan, find. The result is that of the serial program. */
#include "support.h"

#include <vigil/parallel.h>

static const unsigned sizes[] = {1, 2, 8};

/* ---- reduce ---- */

/* An operation that is associative and not commutative: composing x -> a x + b, modulo 2^64. */
struct affine {
    uint64_t a, b;
};

static void start_affine(void *arg, void *value)
{
    (void)arg;
    *(struct affine *)value = (struct affine){.a = 1};
}

static void compose(struct affine *first, const struct affine *second)
{
    *first = (struct affine){.a = first->a * second->a, .b = second->a * first->b + second->b};
}

static struct affine step_at(size_t i)
{
    return (struct affine){.a = 2 * i + 3, .b = i * i + 1};
}

static int fold_affine(void *arg, size_t begin, size_t end, void *value)
{
    const size_t *fail_at = arg;
    for (size_t i = begin; i < end; i++) {
        const struct affine next = step_at(i);
        if (fail_at != NULL && i == *fail_at)
            return -EDOM;
        compose(value, &next);
    }
    return 0;
}

static void merge_affine(void *arg, void *value, void *right)
{
    (void)arg;
    compose(value, right);
}

static vigil_reducer affine_reducer(void)
{
    vigil_reducer reducer = VIGIL_REDUCER_INIT;
    reducer.bytes = sizeof(struct affine);
    reducer.start = start_affine;
    reducer.fold = fold_affine;
    reducer.merge = merge_affine;
    return reducer;
}

static struct affine serially(size_t begin, size_t end)
{
    struct affine all = {.a = 1};
    (void)fold_affine(NULL, begin, end, &all);
    return all;
}

static void a_reduction_keeps_the_order(void **state)
{
    (void)state;
    const vigil_reducer reducer = affine_reducer();
    for (size_t s = 0; s < count_of(sizes); s++) {
        vigil_pool *pool = pool_of(sizes[s]);
        for (size_t count = 0; count < 300000; count = count * 7 + 1)
            for (int split = VIGIL_SPLIT_LAZY; split <= VIGIL_SPLIT_STATIC; split++) {
                vigil_parallel_options options = VIGIL_PARALLEL_OPTIONS_INIT;
                options.split = (vigil_split)split;
                options.grain = split == VIGIL_SPLIT_STATIC ? 1000 : 0;
                struct affine got;
                const struct affine want = serially(3, 3 + count);
                must_equal(vigil_parallel_reduce(pool, 3, 3 + count, &reducer, NULL, &options, &got), 0);
                must(got.a == want.a && got.b == want.b);
            }
        pool_close(pool);
    }
}

static int fold_float(void *arg, size_t begin, size_t end, void *value)
{
    (void)arg;
    for (size_t i = begin; i < end; i++)
        *(double *)value += 1.0 / (double)(i + 1);
    return 0;
}

static void merge_float(void *arg, void *value, void *right)
{
    (void)arg;
    *(double *)value += *(double *)right;
}

static void a_static_split_gives_the_same_sum_each_time(void **state)
{
    (void)state;
    vigil_reducer reducer = VIGIL_REDUCER_INIT;
    reducer.bytes = sizeof(double);
    reducer.fold = fold_float;
    reducer.merge = merge_float;
    vigil_parallel_options options = VIGIL_PARALLEL_OPTIONS_INIT;
    options.split = VIGIL_SPLIT_STATIC;
    options.grain = 777;
    double first = 0;
    for (int i = 0; i < 30; i++) {
        vigil_pool *pool = pool_of(1U + (unsigned)i % 4);
        double sum;
        must_equal(vigil_parallel_reduce(pool, 0, 50000, &reducer, NULL, &options, &sum), 0);
        if (i == 0)
            first = sum;
        must(memcmp(&first, &sum, sizeof sum) == 0);
        pool_close(pool);
    }
}

/* Values that hold memory: each is merged away, also when the loop fails. */
static _Atomic int held;

static void start_held(void *arg, void *value)
{
    (void)arg;
    (void)atomic_fetch_add(&held, 1);
    *(char **)value = malloc(10);
}

static int fold_held(void *arg, size_t begin, size_t end, void *value)
{
    (void)value;
    const size_t *fail_at = arg;
    return begin <= *fail_at && *fail_at < end ? -EDOM : 0;
}

static void merge_held(void *arg, void *value, void *right)
{
    (void)arg;
    (void)value;
    (void)atomic_fetch_sub(&held, 1);
    free(*(char **)right);
}

static void values_are_merged_even_after_a_failure(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(3);
    vigil_reducer reducer = VIGIL_REDUCER_INIT;
    reducer.bytes = sizeof(char *);
    reducer.start = start_held;
    reducer.fold = fold_held;
    reducer.merge = merge_held;
    for (size_t fail_at = 0; fail_at <= 5000; fail_at += 500) {
        char *value = NULL;
        must_equal(vigil_parallel_reduce(pool, 0, 5000, &reducer, &fail_at, NULL, &value), fail_at < 5000 ? -EDOM : 0);
        must_equal(held, 1);
        held = 0;
        free(value);
    }
    pool_close(pool);
}

/* ---- scan ---- */

struct scanned {
    struct affine *out;
    size_t first;
    size_t fail_at;
};

static int fold_scan(void *arg, size_t begin, size_t end, void *value)
{
    (void)arg;
    return fold_affine(NULL, begin, end, value);
}

static int write_scan(void *arg, size_t begin, size_t end, void *value)
{
    struct scanned *scanned = arg;
    for (size_t i = begin; i < end; i++) {
        const struct affine next = step_at(i);
        if (i == scanned->fail_at)
            return -ERANGE;
        compose(value, &next);
        scanned->out[i - scanned->first] = *(struct affine *)value;
    }
    return 0;
}

static void a_scan_writes_every_prefix(void **state)
{
    (void)state;
    vigil_reducer reducer = affine_reducer();
    reducer.fold = fold_scan;
    reducer.write = write_scan;
    for (size_t s = 0; s < count_of(sizes); s++) {
        vigil_pool *pool = pool_of(sizes[s]);
        for (size_t count = 0; count < 300000; count = count * 9 + 1) {
            struct scanned scanned = {.out = calloc(count + 1, sizeof *scanned.out), .first = 5, .fail_at = SIZE_MAX};
            struct affine total;
            struct affine want = {.a = 1};
            must_equal(vigil_parallel_scan(pool, 5, 5 + count, &reducer, &scanned, NULL, &total), 0);
            for (size_t i = 0; i < count; i++) {
                const struct affine next = step_at(5 + i);
                compose(&want, &next);
                must(scanned.out[i].a == want.a && scanned.out[i].b == want.b);
            }
            must(total.a == want.a && total.b == want.b);
            free(scanned.out);
        }
        struct affine total;
        struct scanned scanned = {.out = calloc(1000, sizeof *scanned.out), .fail_at = 999};
        must_equal(vigil_parallel_scan(pool, 0, 1000, &reducer, &scanned, NULL, &total), -ERANGE);
        free(scanned.out);
        pool_close(pool);
    }
}

/* ---- find ---- */

struct haystack {
    size_t period, offset;
    _Atomic size_t looked;
    int status;
};

static int look(void *arg, size_t begin, size_t end, size_t *at)
{
    struct haystack *it = arg;
    for (size_t i = begin; i < end; i++) {
        (void)atomic_fetch_add_explicit(&it->looked, 1, memory_order_relaxed);
        if (it->status != 0 && i == it->offset)
            return it->status;
        if (i >= it->offset && i % it->period == it->offset % it->period) {
            *at = i;
            return 1;
        }
    }
    return 0;
}

static void a_search_finds_the_lowest_and_stops(void **state)
{
    (void)state;
    for (size_t s = 0; s < count_of(sizes); s++) {
        vigil_pool *pool = pool_of(sizes[s]);
        size_t at = 0;
        for (size_t offset = 0; offset < 100000; offset = offset * 3 + 1) {
            struct haystack it = {.period = 5, .offset = offset};
            must_equal(vigil_parallel_find(pool, 0, 200000, look, &it, NULL, &at), 1);
            must_equal(at, offset);
        }
        struct haystack early = {.period = 1, .offset = 1000};
        must_equal(vigil_parallel_find(pool, 0, (size_t)1 << 40, look, &early, NULL, &at), 1);
        must_equal(at, 1000);
        struct haystack none = {.period = 1, .offset = 5000};
        must_equal(vigil_parallel_find(pool, 0, 5000, look, &none, NULL, &at), 0);
        must_equal(none.looked, 5000);
        struct haystack broken = {.period = 1, .offset = 77, .status = -EDOM};
        must_equal(vigil_parallel_find(pool, 0, 78, look, &broken, NULL, &at), -EDOM);
        pool_close(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_reduction_keeps_the_order),
        test(a_static_split_gives_the_same_sum_each_time),
        test(values_are_merged_even_after_a_failure),
        test(a_scan_writes_every_prefix),
        test(a_search_finds_the_lowest_and_stops),
    };
    return run_all(tests);
}
