/* SPDX-License-Identifier: MIT */
/*
 * sort_stable.c - merge sort between the array and a second one; halves are sorted side by side, and large merges are
 * cut in two at the median of the longer side.
 */
#include "sort.h"

#include "base/why.h"

#include <errno.h>
#include <stdlib.h>

/* ---- merge ---- */

typedef struct merge_part {
    vg_sort *sort;
    const char *left, *right;
    size_t left_count, right_count;
    char *out;
} merge_part;

/* How many of the elements come before `key`: those less than it, or with `equal` not greater. */
static size_t count_before(const vg_sort *sort, const char *base, size_t count, const char *key, bool equal)
{
    size_t from = 0;
    while (from < count) {
        const size_t middle = from + (count - from) / 2;
        const int order = sort->compare(base + middle * sort->bytes, key, sort->arg);
        if (order < 0 || (equal && order == 0))
            from = middle + 1;
        else
            count = middle;
    }
    return from;
}

VG_SORT_INLINE void merge_serially(const merge_part *part, size_t bytes)
{
    const vg_sort *sort = part->sort;
    const char *left = part->left;
    const char *right = part->right;
    const char *const left_end = left + part->left_count * bytes;
    const char *const right_end = right + part->right_count * bytes;
    char *out = part->out;
    while (left != left_end && right != right_end) {
        const bool take_right = sort->compare(right, left, sort->arg) < 0;
        memcpy(out, take_right ? right : left, bytes);
        right += take_right ? bytes : 0;
        left += take_right ? 0 : bytes;
        out += bytes;
    }
    const size_t rest = (size_t)(left_end - left);
    memcpy(out, left, rest);
    memcpy(out + rest, right, (size_t)(right_end - right));
}

static int run_merge(void *arg)
{
    merge_part *part = arg;
    vg_sort *sort = part->sort;
    const size_t bytes = sort->bytes;
    if (part->left_count + part->right_count <= 2 * VG_SORT_CUT) {
        switch (bytes) {
        case 4:
            merge_serially(part, 4);
            break;
        case 8:
            merge_serially(part, 8);
            break;
        case 16:
            merge_serially(part, 16);
            break;
        default:
            merge_serially(part, bytes);
        }
        return 0;
    }
    merge_part front = *part;
    if (part->left_count >= part->right_count) {
        front.left_count = part->left_count / 2;
        front.right_count =
            count_before(sort, part->right, part->right_count, part->left + front.left_count * bytes, false);
    } else {
        front.right_count = part->right_count / 2;
        front.left_count =
            count_before(sort, part->left, part->left_count, part->right + front.right_count * bytes, true);
    }
    merge_part back = {
        .sort = sort,
        .left = part->left + front.left_count * bytes,
        .right = part->right + front.right_count * bytes,
        .left_count = part->left_count - front.left_count,
        .right_count = part->right_count - front.right_count,
        .out = part->out + (front.left_count + front.right_count) * bytes,
    };
    vg_sort_both(sort, run_merge, &front, &back);
    return 0;
}

/* ---- sort ---- */

typedef struct stable_part {
    vg_sort *sort;
    char *base, *other; /* the elements; as much room */
    size_t count;
    bool to_other; /* where they must be in the end */
} stable_part;

static int run_stable_part(void *arg)
{
    const stable_part *part = arg;
    vg_sort *sort = part->sort;
    const size_t bytes = sort->bytes;
    if (part->count <= VG_SORT_SMALL) {
        vg_sort_insertion(sort, part->base, part->count, bytes);
        if (part->to_other)
            memcpy(part->other, part->base, part->count * bytes);
        return 0;
    }
    const size_t half = part->count / 2;
    stable_part left = {part->sort, part->base, part->other, half, !part->to_other};
    stable_part right = {part->sort, part->base + half * bytes, part->other + half * bytes, part->count - half,
                         !part->to_other};
    const bool large = part->count > VG_SORT_CUT;
    /* Stopped: the halves stay unsorted. They are merged all the same, so that no element is lost. */
    if (large && vg_parallel_stopped(&sort->call)) {
        if (part->to_other)
            memcpy(part->other, part->base, part->count * bytes);
        return 0;
    }
    if (large) {
        vg_sort_both(sort, run_stable_part, &left, &right);
    } else {
        (void)run_stable_part(&left);
        (void)run_stable_part(&right);
    }
    const char *from = part->to_other ? part->base : part->other;
    char *to = part->to_other ? part->other : part->base;
    if (sort->compare(from + (half - 1) * bytes, from + half * bytes, sort->arg) <= 0) {
        memcpy(to, from, part->count * bytes); /* in order already */
        return 0;
    }
    merge_part merge = {sort, from, from + half * bytes, half, part->count - half, to};
    return run_merge(&merge);
}

int vigil_parallel_sort_stable(vigil_pool *pool, void *base, size_t count, size_t bytes, vigil_compare_fn compare,
                               void *arg, const vigil_parallel_options *options)
{
    vg_sort sort;
    int error = vg_sort_begin(&sort, pool, base, count, bytes, compare, arg, options);
    if (error != 0 || count < 2)
        return error;
    char *other = malloc(count * bytes);
    if (other == NULL)
        return vg_why(-ENOMEM, "no memory for the second array of a stable sort");
    stable_part whole = {&sort, base, other, count, false};
    error = vg_sort_run(&sort, run_stable_part, &whole);
    free(other);
    return error;
}
