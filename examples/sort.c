/* SPDX-License-Identifier: MIT */
/*
 * Merge sort on all cores: fork and join in its shortest form. vigil_join calls both halves, perhaps at the same time, and
 * returns when both have ended; where nobody is free to help it is two calls and little more.
 *
 *     sort [numbers]
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <vigil/pool.h>

#define SMALL 4096 /* below this a half is not worth sharing */

struct part {
    vigil_pool *pool;
    int32_t *numbers;
    int32_t *room; /* as many again, to merge into */
    size_t count;
};

static int compare(const void *a, const void *b)
{
    const int32_t left = *(const int32_t *)a;
    const int32_t right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

static void merge(const struct part *left, const struct part *right, int32_t *to)
{
    size_t l = 0;
    size_t r = 0;
    while (l < left->count && r < right->count)
        *to++ = right->numbers[r] < left->numbers[l] ? right->numbers[r++] : left->numbers[l++];
    memcpy(to, left->numbers + l, (left->count - l) * sizeof *to);
    memcpy(to + (left->count - l), right->numbers + r, (right->count - r) * sizeof *to);
}

static int sort(void *arg)
{
    struct part *part = arg;
    if (part->count <= SMALL) {
        qsort(part->numbers, part->count, sizeof *part->numbers, compare);
        return 0;
    }
    size_t half = part->count / 2;
    struct part left = {part->pool, part->numbers, part->room, half};
    struct part right = {part->pool, part->numbers + half, part->room + half, part->count - half};
    int rc = vigil_join(part->pool, sort, &left, sort, &right);
    if (rc < 0)
        return rc;
    merge(&left, &right, part->room);
    memcpy(part->numbers, part->room, part->count * sizeof *part->numbers);
    return 0;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000000;
    int32_t *numbers = malloc((count + 1) * sizeof *numbers); /* one more, so that none is no special case */
    int32_t *room = malloc((count + 1) * sizeof *room);
    vigil_pool *pool = NULL;
    int rc = numbers == NULL || room == NULL ? -ENOMEM : vigil_pool_create(&pool, NULL);
    if (rc < 0) {
        fprintf(stderr, "sort: %s\n", vigil_strerror(rc));
        free(numbers);
        free(room);
        return 1;
    }
    uint64_t random = 88172645463325252U;
    int64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        random ^= random << 13U;
        random ^= random >> 7U;
        random ^= random << 17U;
        numbers[i] = (int32_t)random;
        before += numbers[i];
    }

    /* The whole sort is one task, so that it begins on a worker: from there a fork costs about as much as a call. */
    struct part all = {pool, numbers, room, count};
    vigil_job job;
    double begin = seconds();
    rc = vigil_job_call(pool, sort, &all, NULL, &job);
    if (rc == 0) {
        int waited = vigil_job_wait(pool, job, VIGIL_FOREVER, &rc);
        rc = waited < 0 ? waited : rc;
        (void)vigil_job_unref(pool, job);
    }
    double took = seconds() - begin;

    int64_t after = 0;
    bool sorted = rc == 0;
    for (size_t i = 0; i < count; i++) {
        after += numbers[i];
        sorted = sorted && (i == 0 || numbers[i - 1] <= numbers[i]);
    }
    sorted = sorted && before == after;
    printf("%zu numbers on %u workers in %.3f s: %s\n", count, vigil_pool_workers(pool), took,
           sorted ? "sorted" : "WRONG");
    (void)vigil_pool_destroy(pool);
    free(numbers);
    free(room);
    return sorted ? 0 : 1;
}
