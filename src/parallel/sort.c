/* SPDX-License-Identifier: MIT */
/*
 * sort.c - quicksort whose parts are joined. The partition has no branch that depends on the data. Three things keep
 * the worst case at n log n: a pivot of three or nine, equal elements in one pass, and heapsort after too many bad
 * pivots.
 */
#include "sort.h"

#include "base/why.h"

#include <errno.h>

int vg_sort_begin(vg_sort *sort, vigil_pool *pool, const void *base, size_t count, size_t bytes,
                  vigil_compare_fn compare, void *arg, const vigil_parallel_options *options)
{
    const int error = vg_parallel_begin(&sort->call, pool, options);
    if (error != 0)
        return error;
    if (compare == NULL || (base == NULL && count > 0))
        return compare == NULL ? VG_WHY_NULL("compare") : VG_WHY_NULL("base");
    if (bytes == 0 || count > SIZE_MAX / bytes)
        return vg_why_say(-EINVAL, "bytes is %zu for %zu elements; the array must have a size", bytes, count);
    sort->compare = compare;
    sort->arg = arg;
    sort->bytes = bytes;
    return 0;
}

typedef struct sort_root {
    vg_sort *sort;
    int (*fn)(void *arg);
    void *arg;
} sort_root;

static int run_sort_root(void *arg)
{
    const sort_root *it = arg;
    const int status = vg_parallel_guarded(it->sort->call.pool, it->fn, it->arg);
    if (status < 0)
        vg_parallel_fail(&it->sort->call, status);
    return 0;
}

int vg_sort_run(vg_sort *sort, int (*fn)(void *arg), void *arg)
{
    sort_root root = {.sort = sort, .fn = fn, .arg = arg};
    const int error = vg_parallel_inside(&sort->call, run_sort_root, &root);
    /* relaxed: as in vg_parallel_fail */
    return error != 0 ? error : atomic_load_explicit(&sort->call.failed, memory_order_relaxed);
}

typedef struct sort_half {
    int (*fn)(void *arg);
    void *arg;
    bool begun;
} sort_half;

static int run_sort_half(void *arg)
{
    sort_half *half = arg;
    half->begun = true;
    return half->fn(half->arg);
}

void vg_sort_both(vg_sort *sort, int (*fn)(void *arg), void *left, void *right)
{
    sort_half second = {.fn = fn, .arg = right};
    const int status = vigil_join(sort->call.pool, fn, left, run_sort_half, &second);
    if (__builtin_expect(status == 0, 1))
        return;
    if (second.begun)
        vigil_raise(status); /* compare raised there: leave the whole sort */
    (void)fn(right);         /* the pool is being closed; half a sort would leave elements nowhere */
}

typedef struct sort_part {
    vg_sort *sort;
    char *base;
    size_t count;
    const char *below; /* not greater than any element here; NULL: nothing is known */
    unsigned bad_left; /* bad pivots before heapsort */
} sort_part;

VG_SORT_INLINE void sift_down(const vg_sort *sort, char *base, size_t at, size_t count, size_t bytes)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            return;
        if (child + 1 < count && sort->compare(base + child * bytes, base + (child + 1) * bytes, sort->arg) < 0)
            child++;
        if (sort->compare(base + at * bytes, base + child * bytes, sort->arg) >= 0)
            return;
        vg_sort_swap(base + at * bytes, base + child * bytes, bytes);
        at = child;
    }
}

static __attribute__((noinline)) void heap_sort(const vg_sort *sort, char *base, size_t count)
{
    const size_t bytes = sort->bytes;
    for (size_t i = count / 2; i-- > 0;)
        sift_down(sort, base, i, count, bytes);
    for (size_t last = count; last-- > 1;) {
        vg_sort_swap(base, base + last * bytes, bytes);
        sift_down(sort, base, 0, last, bytes);
    }
}

VG_SORT_INLINE void order_two(const vg_sort *sort, char *a, char *b, size_t bytes)
{
    if (sort->compare(b, a, sort->arg) < 0)
        vg_sort_swap(a, b, bytes);
}

/* The median of a, b and c goes to b. */
VG_SORT_INLINE void order_three(const vg_sort *sort, char *a, char *b, char *c, size_t bytes)
{
    order_two(sort, a, b, bytes);
    order_two(sort, b, c, bytes);
    order_two(sort, a, b, bytes);
}

/* Choose a pivot and put it first. */
VG_SORT_INLINE void pivot_first(const vg_sort *sort, char *base, size_t count, size_t bytes)
{
    char *low = base + count / 4 * bytes;
    char *middle = base + count / 2 * bytes;
    char *high = base + count / 4 * 3 * bytes;
    if (count > 128) {
        order_three(sort, low - bytes, low, low + bytes, bytes);
        order_three(sort, middle - bytes, middle, middle + bytes, bytes);
        order_three(sort, high - bytes, high, high + bytes, bytes);
    }
    order_three(sort, low, middle, high, bytes);
    vg_sort_swap(base, middle, bytes);
}

/* The last pivot was bad: put others where the next is looked for. */
static __attribute__((noinline)) void break_pattern(const vg_sort *sort, char *base, size_t count)
{
    uint64_t random = count;
    for (size_t quarter = 1; quarter <= 3 && count >= 8; quarter++)
        for (size_t near = 0; near < 3; near++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            vg_sort_swap(base + (count / 4 * quarter - 1 + near) * sort->bytes, base + random % count * sort->bytes,
                         sort->bytes);
        }
}

/* How many of the elements behind the pivot belong in front: those that are less, or with `equal` not greater. They are
   there afterwards. */
VG_SORT_INLINE size_t partition(const vg_sort *sort, char *base, size_t count, bool equal, size_t bytes)
{
    char *front = base + bytes;
    char *const end = base + count * bytes;
    for (char *at = front; at != end; at += bytes) {
        const bool here = equal ? sort->compare(base, at, sort->arg) >= 0 : sort->compare(at, base, sort->arg) < 0;
        vg_sort_swap(front, at, bytes);
        front += here ? bytes : 0;
    }
    return (size_t)(front - base) / bytes - 1;
}

static int run_sort_part(void *arg);

VG_SORT_INLINE void quick_sort(sort_part part, size_t bytes)
{
    vg_sort *const sort = part.sort;
    while (part.count > VG_SORT_SMALL) {
        if (part.count > VG_SORT_CUT && vg_parallel_stopped(&sort->call))
            return;
        if (part.bad_left == 0) {
            heap_sort(sort, part.base, part.count);
            return;
        }
        pivot_first(sort, part.base, part.count, bytes);
        const bool equal = part.below != NULL && sort->compare(part.below, part.base, sort->arg) >= 0;
        const size_t front = partition(sort, part.base, part.count, equal, bytes);
        if (equal) { /* all in front equal the pivot, and are in place with it */
            part.base += (front + 1) * bytes;
            part.count -= front + 1;
            continue;
        }
        char *const middle = part.base + front * bytes;
        vg_sort_swap(part.base, middle, bytes);
        sort_part left = part;
        left.count = front;
        part.base = middle + bytes;
        part.count -= front + 1;
        part.below = middle;
        const size_t fewer = left.count < part.count ? left.count : part.count;
        if (fewer < (left.count + part.count) / 8) {
            left.bad_left = --part.bad_left;
            break_pattern(sort, left.base, left.count);
            break_pattern(sort, part.base, part.count);
        }
        if (fewer > VG_SORT_CUT) {
            vg_sort_both(sort, run_sort_part, &left, &part);
            return;
        }
        sort_part *less = left.count < part.count ? &left : &part;
        (void)run_sort_part(less);
        if (less == &part)
            part = left;
    }
    vg_sort_insertion(sort, part.base, part.count, bytes);
}

static int run_sort_part(void *arg)
{
    const sort_part *part = arg;
    switch (part->sort->bytes) {
    case 4:
        quick_sort(*part, 4);
        break;
    case 8:
        quick_sort(*part, 8);
        break;
    case 16:
        quick_sort(*part, 16);
        break;
    default:
        quick_sort(*part, part->sort->bytes);
    }
    return 0;
}

int vigil_parallel_sort(vigil_pool *pool, void *base, size_t count, size_t bytes, vigil_compare_fn compare, void *arg,
                        const vigil_parallel_options *options)
{
    vg_sort sort;
    const int error = vg_sort_begin(&sort, pool, base, count, bytes, compare, arg, options);
    if (error != 0 || count < 2)
        return error;
    sort_part whole = {.sort = &sort, .base = base, .count = count};
    for (size_t rest = count; rest > 1; rest /= 2)
        whole.bad_left++;
    return vg_sort_run(&sort, run_sort_part, &whole);
}
