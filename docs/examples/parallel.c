/* SPDX-License-Identifier: MIT */
/* Examples of vigil/parallel.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/parallel.h>

/* vigil_parallel_for: run a loop on all workers */
static int scale(void *arg, size_t begin, size_t end)
{
    double *v = arg;
    for (size_t i = begin; i < end; i++)
        v[i] *= 2;
    return 0;
}

static int double_all(vigil_pool *pool, double *v, size_t count)
{
    return vigil_parallel_for(pool, 0, count, scale, v, NULL);
}

/* vigil_parallel_for_2d: run over the tiles of a matrix */
struct matrix {
    size_t rows, columns;
    const float *from;
    float *to;
};

static int transpose_tile(void *arg, const vigil_tile *tile)
{
    struct matrix *m = arg;
    for (size_t r = tile->row; r < tile->row_end; r++)
        for (size_t c = tile->column; c < tile->column_end; c++)
            m->to[c * m->rows + r] = m->from[r * m->columns + c];
    return 0;
}

static int transpose(vigil_pool *pool, struct matrix *m)
{
    const vigil_tile all = {0, m->rows, 0, m->columns};
    return vigil_parallel_for_2d(pool, &all, 64, 64, transpose_tile, m,
                                 NULL);
}

/* vigil_parallel_for_each: visit every element of an array */
struct player {
    int health;
};

static int heal(void *arg, void *element)
{
    struct player *player = element;
    player->health += *(const int *)arg;
    return player->health > 100 ? -ERANGE : 0; /* ends the loop */
}

static int heal_all(vigil_pool *pool, struct player *all, size_t count)
{
    int more = 10;
    return vigil_parallel_for_each(pool, all, count, sizeof *all, heal,
                                   &more, NULL);
}

/* vigil_parallel_transform: make one array of another */
static int length_of(void *arg, const void *from, void *to)
{
    (void)arg;
    *(size_t *)to = strlen(*(const char *const *)from);
    return 0;
}

static int lengths(vigil_pool *pool, const char **words, size_t *out,
                   size_t count)
{
    vigil_array from = {words, sizeof *words};
    vigil_array to = {out, sizeof *out};
    return vigil_parallel_transform(pool, from, to, count, length_of,
                                    NULL, NULL);
}

/* vigil_parallel_reduce: add up an array */
static int add_piece(void *arg, size_t begin, size_t end, void *value)
{
    const int *numbers = arg;
    long sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += numbers[i];
    *(long *)value += sum;
    return 0;
}

static void add_right(void *arg, void *value, void *right)
{
    (void)arg;
    *(long *)value += *(long *)right;
}

static long sum_of(vigil_pool *pool, int *numbers, size_t count)
{
    vigil_reducer adder = VIGIL_REDUCER_INIT;
    adder.bytes = sizeof(long); /* a new value is zero */
    adder.fold = add_piece;
    adder.merge = add_right;
    long sum;
    int rc = vigil_parallel_reduce(pool, 0, count, &adder, numbers,
                                   NULL, &sum);
    return rc < 0 ? rc : sum;
}

/* vigil_parallel_scan: replace each number by the sum up to it */
static int write_piece(void *arg, size_t begin, size_t end, void *value)
{
    int *numbers = arg;
    for (size_t i = begin; i < end; i++) {
        *(long *)value += numbers[i];
        numbers[i] = (int)*(long *)value;
    }
    return 0;
}

static int running_sums(vigil_pool *pool, int *numbers, size_t count)
{
    vigil_reducer adder = VIGIL_REDUCER_INIT;
    adder.bytes = sizeof(long);
    adder.fold = add_piece;
    adder.merge = add_right;
    adder.write = write_piece;
    long total;
    return vigil_parallel_scan(pool, 0, count, &adder, numbers, NULL,
                               &total);
}

/* vigil_parallel_find: find the first that fits */
static int is_negative(void *arg, size_t begin, size_t end, size_t *at)
{
    const int *numbers = arg;
    for (*at = begin; *at < end; ++*at)
        if (numbers[*at] < 0)
            return 1;
    return 0;
}

static long first_negative(vigil_pool *pool, int *numbers, size_t count)
{
    size_t at;
    int rc = vigil_parallel_find(pool, 0, count, is_negative, numbers,
                                 NULL, &at);
    return rc == 1 ? (long)at : -1;
}

/* vigil_parallel_sort: sort an array as qsort does */
static int by_value(const void *a, const void *b, void *arg)
{
    (void)arg;
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static int sort_numbers(vigil_pool *pool, int *numbers, size_t count)
{
    return vigil_parallel_sort(pool, numbers, count, sizeof *numbers,
                               by_value, NULL, NULL);
}

/* vigil_parallel_sort_stable: sort, and keep the order of equals */
static int by_health(const void *a, const void *b, void *arg)
{
    (void)arg;
    const struct player *x = a, *y = b;
    return (x->health > y->health) - (x->health < y->health);
}

static int weakest_first(vigil_pool *pool, struct player *all, size_t n)
{
    return vigil_parallel_sort_stable(pool, all, n, sizeof *all,
                                      by_health, NULL, NULL);
}

/* vigil_local_create: give each worker a histogram of its own */
static vigil_local *make_histograms(vigil_pool *pool)
{
    vigil_local *local;
    if (vigil_local_create(&local, pool, 256 * sizeof(long), NULL,
                           NULL))
        exit(1);
    return local;
}

/* vigil_local_get: count without sharing a counter */
struct text {
    vigil_local *histograms;
    const unsigned char *bytes;
};

static int count_bytes(void *arg, size_t begin, size_t end)
{
    struct text *text = arg;
    long *counts = vigil_local_get(text->histograms);
    if (counts == NULL)
        return -ENOMEM;
    for (size_t i = begin; i < end; i++)
        counts[text->bytes[i]]++;
    return 0;
}

/* vigil_local_each: put the workers' counts together */
static int add_histogram(void *arg, void *value)
{
    long *sum = arg;
    for (int i = 0; i < 256; i++)
        sum[i] += ((long *)value)[i];
    return 0;
}

static int count_all(vigil_pool *pool, struct text *text, size_t length,
                     long sum[256])
{
    int rc =
        vigil_parallel_for(pool, 0, length, count_bytes, text, NULL);
    return rc < 0
               ? rc
               : vigil_local_each(text->histograms, add_histogram, sum);
}

/* vigil_local_destroy: give the values back */
static void drop_histograms(struct text *text)
{
    vigil_local_destroy(text->histograms);
    text->histograms = NULL;
}

/* ---- all of them ---- */

int main(void)
{
    vigil_pool *pool;
    if (vigil_pool_create(&pool, NULL) < 0)
        return 1;
    double v[] = {1, 2, 3};
    assert(double_all(pool, v, 3) == 0 && v[2] == 6);
    const float from[] = {1, 2, 3, 4, 5, 6};
    float to[6];
    struct matrix m = {2, 3, from, to};
    assert(transpose(pool, &m) == 0 && to[1] == 4);
    struct player players[] = {{70}, {5}, {70}};
    assert(heal_all(pool, players, 3) == 0 && players[1].health == 15);
    assert(weakest_first(pool, players, 3) == 0);
    assert(players[0].health == 15);
    const char *words[] = {"a", "bcd"};
    size_t out[2];
    assert(lengths(pool, words, out, 2) == 0 && out[1] == 3);
    int numbers[] = {3, 1, -4, 1, 5};
    assert(sum_of(pool, numbers, 5) == 6);
    assert(first_negative(pool, numbers, 5) == 2);
    assert(sort_numbers(pool, numbers, 5) == 0 && numbers[4] == 5);
    assert(running_sums(pool, numbers, 5) == 0 && numbers[4] == 6);
    struct text text = {make_histograms(pool), (const void *)"hello"};
    long sum[256] = {0};
    assert(count_all(pool, &text, 5, sum) == 0 && sum['l'] == 2);
    drop_histograms(&text);
    vigil_pool_destroy(pool);
    return 0;
}
