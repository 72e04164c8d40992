/* SPDX-License-Identifier: MIT */
/* vigil/parallel.h: sorting, on inputs that are known to hurt. */
#include "dice.h"

#include <vigil/parallel.h>

typedef int (*sort_fn)(vigil_pool *pool, void *base, size_t count, size_t bytes, vigil_compare_fn compare, void *arg,
                       const vigil_parallel_options *options);

/* The key comes first; the rest says where the element was. */
struct element {
    uint32_t key;
    uint32_t place;
};

static _Atomic uint64_t compared;

static int by_key(const void *a, const void *b, void *arg)
{
    const struct element *one = a;
    const struct element *two = b;
    if (arg != NULL)
        (void)atomic_fetch_add_explicit(&compared, 1, memory_order_relaxed);
    return one->key < two->key ? -1 : one->key > two->key;
}

enum shape {
    RANDOM,
    EQUAL,
    TWO_VALUES,
    FEW_VALUES,
    ASCENDING,
    DESCENDING,
    ORGAN_PIPE,
    SAW,
    NEARLY,
    SHAPES
};

static uint32_t key_of(enum shape shape, size_t i, size_t count, struct dice *dice)
{
    switch (shape) {
    case EQUAL:
        return 5;
    case TWO_VALUES:
        return roll(dice, 2);
    case FEW_VALUES:
        return roll(dice, 10);
    case ASCENDING:
        return (uint32_t)i;
    case DESCENDING:
        return (uint32_t)(count - i);
    case ORGAN_PIPE:
        return (uint32_t)(i < count / 2 ? i : count - i);
    case SAW:
        return (uint32_t)(i % 64);
    case NEARLY:
        return (uint32_t)i + (one_in(dice, 100) ? roll(dice, 1000) : 0);
    default:
        return roll(dice, UINT32_MAX);
    }
}

static void sort_one(vigil_pool *pool, struct dice *dice, enum shape shape, size_t count, size_t bytes, bool stable)
{
    char *base = malloc(count * bytes + 1);
    char *seen = calloc(count + 1, 1);
    for (size_t i = 0; i < count; i++) {
        const struct element it = {.key = key_of(shape, i, count, dice), .place = (uint32_t)i};
        memset(base + i * bytes, (int)i, bytes);
        memcpy(base + i * bytes, &it, sizeof it);
    }
    const sort_fn sort = stable ? vigil_parallel_sort_stable : vigil_parallel_sort;
    must_equal(sort(pool, base, count, bytes, by_key, NULL, NULL), 0);
    struct element last = {0};
    for (size_t i = 0; i < count; i++) {
        struct element it;
        memcpy(&it, base + i * bytes, sizeof it);
        must(i == 0 || last.key <= it.key);
        must(!stable || i == 0 || last.key < it.key || last.place < it.place);
        must(it.place < count && seen[it.place] == 0);
        must(bytes == sizeof it || base[(i + 1) * bytes - 1] == (char)it.place);
        seen[it.place] = 1;
        last = it;
    }
    free(base);
    free(seen);
}

static void arrays_of_all_shapes_are_sorted(void **state)
{
    (void)state;
    struct dice dice = dice_of_run();
    static const size_t counts[] = {0, 1, 2, 3, 19, 20, 21, 100, 129, 5000, 60000};
    static const size_t widths[] = {8, 16, 24, 200};
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        vigil_pool *pool = pool_of(workers);
        for (size_t c = 0; c < count_of(counts); c++)
            for (size_t w = 0; w < count_of(widths); w++)
                for (enum shape shape = RANDOM; shape < SHAPES; shape++)
                    for (int stable = 0; stable < 2; stable++)
                        if (counts[c] <= 5000 || (w == (size_t)shape % 4 && !TEST_SANITIZED))
                            sort_one(pool, &dice, shape, counts[c], widths[w], stable != 0);
        pool_close(pool);
    }
}

static void no_shape_needs_many_comparisons(void **state)
{
    (void)state;
    struct dice dice = dice_of_run();
    vigil_pool *pool = pool_of(2);
    const size_t count = TEST_SANITIZED ? 3000 : 30000;
    struct element *base = calloc(count, sizeof *base);
    for (enum shape shape = RANDOM; shape < SHAPES; shape++)
        for (int stable = 0; stable < 2; stable++) {
            const sort_fn sort = stable != 0 ? vigil_parallel_sort_stable : vigil_parallel_sort;
            for (size_t i = 0; i < count; i++)
                base[i].key = key_of(shape, i, count, &dice);
            compared = 0;
            must_equal(sort(pool, base, count, sizeof *base, by_key, pool, NULL), 0);
            must_be_between(compared, count - 1, count * 15 * 2); /* log2(30000) is 15 */
        }
    free(base);
    pool_close(pool);
}

/* ---- ends ---- */

static int raise_in_compare(const void *a, const void *b, void *arg)
{
    if (((const struct element *)a)->key == 77 && arg != NULL)
        vigil_raise(-EDOM);
    return by_key(a, b, NULL);
}

static int abort_in_compare(const void *a, const void *b, void *arg)
{
    if (atomic_fetch_add(&compared, 1) == 1000)
        must_equal(vigil_cancel_abort(arg, -ETIMEDOUT, NULL), 0);
    return by_key(a, b, NULL);
}

static void a_sort_can_be_left(void **state)
{
    (void)state;
    struct dice dice = dice_of_run();
    vigil_pool *pool = pool_of(2);
    const uint32_t count = 50000;
    struct element *base = calloc(count, sizeof *base);
    for (int stable = 0; stable < 2; stable++) {
        const sort_fn sort = stable != 0 ? vigil_parallel_sort_stable : vigil_parallel_sort;
        for (uint32_t i = 0; i < count; i++)
            base[i] = (struct element){.key = i == count / 2 ? 77 : 100 + roll(&dice, 1000000), .place = i};
        must_equal(sort(pool, base, count, sizeof *base, raise_in_compare, pool, NULL), -EDOM);
        for (uint32_t i = 0; i < count; i++)
            base[i] = (struct element){.key = roll(&dice, 1000000), .place = i};
        vigil_cancel_source *source;
        must_equal(vigil_cancel_create(&source), 0);
        vigil_parallel_options options = VIGIL_PARALLEL_OPTIONS_INIT;
        options.token = vigil_cancel_token_of(source);
        compared = 0;
        must_equal(sort(pool, base, count, sizeof *base, abort_in_compare, source, &options), -ETIMEDOUT);
        must(compared < (uint64_t)count * 10);
        uint64_t places = 0; /* no element is lost */
        for (uint32_t i = 0; i < count; i++)
            places += base[i].place;
        must_equal(places, (uint64_t)count * (count - 1) / 2);
        vigil_cancel_destroy(source);
    }
    free(base);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(arrays_of_all_shapes_are_sorted),
        test(no_shape_needs_many_comparisons),
        test(a_sort_can_be_left),
    };
    return run_all(tests);
}
