/* SPDX-License-Identifier: MIT */
/*
 * reduce.c - values: reduce, scan, find.
 */
#include "call.h"

#include "base/why.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>

static int fold_piece(vg_parallel *call, size_t begin, size_t end, void *value)
{
    return call->reducer->fold(call->arg, begin, end, value);
}

static int begin_with_value(vg_parallel *call, vigil_pool *pool, const vigil_reducer *reducer, void *arg,
                            const vigil_parallel_options *options, const void *result)
{
    const int error = vg_parallel_begin(call, pool, options);
    if (error != 0)
        return error;
    if (reducer == NULL || result == NULL)
        return reducer == NULL ? VG_WHY_NULL("reducer") : VG_WHY_NULL("result");
    if (reducer->size != sizeof *reducer)
        return vg_why(-EINVAL, "reducer->size is not what VIGIL_REDUCER_INIT sets");
    if (reducer->fold == NULL || reducer->merge == NULL)
        return reducer->fold == NULL ? VG_WHY_NULL("reducer->fold") : VG_WHY_NULL("reducer->merge");
    if (reducer->bytes == 0 || reducer->bytes > VIGIL_VALUE_BYTES)
        return vg_why_say(-EINVAL, "reducer->bytes is %zu; 1 to %d are possible", reducer->bytes, VIGIL_VALUE_BYTES);
    call->reducer = reducer;
    call->arg = arg;
    call->piece = fold_piece;
    return 0;
}

int vigil_parallel_reduce(vigil_pool *pool, size_t begin, size_t end, const vigil_reducer *reducer, void *arg,
                          const vigil_parallel_options *options, void *result)
{
    vg_parallel call;
    const int error = begin_with_value(&call, pool, reducer, arg, options, result);
    if (error != 0)
        return error;
    vg_value_start(reducer, arg, result);
    return vg_parallel_run(&call, begin, end, result);
}

/* ---- scan ---- */

/*
 * The range is cut into one block more than there are processors to use. First pass: block 0 is written, the others but
 * the last are folded, all at once. Then each block but the first knows what comes before it, and is written. So the
 * range is passed 2 n / (blocks) times by each processor, and never is one of them alone.
 */
typedef struct scan_blocks {
    size_t begin, end;
    size_t blocks;
    size_t stride; /* of values */
    char *values;  /* [i]: of block i after the first pass; before block i after prefix_values */
    bool second;
    const vigil_reducer *reducer;
} scan_blocks;

static size_t block_start(const scan_blocks *it, size_t block)
{
    const size_t count = it->end - it->begin;
    return it->begin + count / it->blocks * block + (count % it->blocks < block ? count % it->blocks : block);
}

static int scan_piece(vg_parallel *call, size_t begin, size_t end, void *value)
{
    (void)value;
    const scan_blocks *it = call->detail;
    const vigil_reducer *reducer = it->reducer;
    for (size_t block = begin; block < end; block++) {
        const bool write = it->second || block == 0;
        char *mine = it->values + block * it->stride;
        size_t at = block_start(it, block);
        const size_t last = block_start(it, block + 1);
        /* in parts, so that a failure elsewhere is noticed */
        while (at < last && !vg_parallel_stopped(call)) {
            const size_t to = last - at < 65536 ? last : at + 65536;
            const int status = write ? reducer->write(call->arg, at, to, mine) : reducer->fold(call->arg, at, to, mine);
            if (status < 0)
                return status;
            at = to;
        }
    }
    return 0;
}

/* Before: the value of each block but the last. After: what comes before each block but the first. */
static void prefix_values(const vg_parallel *call, const scan_blocks *it)
{
    const size_t bytes = it->reducer->bytes;
    alignas(max_align_t) char carry[bytes];
    alignas(max_align_t) char own[bytes];
    memcpy(carry, it->values, bytes);
    for (size_t block = 1; block < it->blocks; block++) {
        char *value = it->values + block * it->stride;
        memcpy(own, value, bytes);
        memcpy(value, carry, bytes);
        it->reducer->merge(call->arg, carry, own);
    }
}

static int scan_all(vg_parallel *call, scan_blocks *it)
{
    call->detail = it;
    for (size_t block = 0; block < it->blocks; block++)
        vg_value_start(it->reducer, call->arg, it->values + block * it->stride);
    const bool one = it->blocks == 1;
    int status = vg_parallel_run(call, 0, one ? 1 : it->blocks - 1, NULL);
    if (status != 0 || one)
        return status;
    prefix_values(call, it);
    it->second = true;
    return vg_parallel_run(call, 1, it->blocks, NULL);
}

int vigil_parallel_scan(vigil_pool *pool, size_t begin, size_t end, const vigil_reducer *reducer, void *arg,
                        const vigil_parallel_options *options, void *result)
{
    vg_parallel call;
    const int error = begin_with_value(&call, pool, reducer, arg, options, result);
    if (error != 0)
        return error;
    if (reducer->write == NULL)
        return VG_WHY_NULL("reducer->write");
    vg_value_start(reducer, arg, result);
    if (begin >= end)
        return 0;
    const unsigned cpus = vigil_cpu_count();
    const unsigned workers = vigil_pool_workers(pool);
    scan_blocks it = {.begin = begin, .end = end, .reducer = reducer, .blocks = (cpus < workers ? cpus : workers) + 1U};
    if (it.blocks == 2 || end - begin < 4 * it.blocks)
        it.blocks = 1; /* alone there is nothing to win */
    it.stride = (reducer->bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    it.values = malloc(it.blocks * it.stride);
    if (it.values == NULL)
        return vg_why(-ENOMEM, "no memory for the values of a scan");
    call.piece = scan_piece;
    call.options.split = VIGIL_SPLIT_LAZY;
    call.options.grain = 1;
    call.options.progress = NULL;
    call.reducer = NULL; /* blocks keep their values themselves */
    const int status = scan_all(&call, &it);
    memcpy(result, it.values + (it.blocks - 1) * it.stride, reducer->bytes);
    free(it.values);
    return status;
}

/* ---- find ---- */

typedef struct find_loop {
    int (*test)(void *arg, size_t begin, size_t end, size_t *at);
    _Atomic size_t best;
} find_loop;

static int find_piece(vg_parallel *call, size_t begin, size_t end, void *value)
{
    (void)value;
    find_loop *it = (find_loop *)(uintptr_t)call->detail;
    size_t at = end;
    const int found = it->test(call->arg, begin, end, &at);
    if (found <= 0)
        return found;
    size_t best = atomic_load_explicit(&it->best, memory_order_relaxed);
    /* relaxed: the caller reads it after all pieces have ended; for the rest it is a hint */
    while (at < best &&
           !atomic_compare_exchange_weak_explicit(&it->best, &best, at, memory_order_relaxed, memory_order_relaxed)) {
    }
    return 0;
}

int vigil_parallel_find(vigil_pool *pool, size_t begin, size_t end,
                        int (*test)(void *arg, size_t begin, size_t end, size_t *at), void *arg,
                        const vigil_parallel_options *options, size_t *at)
{
    vg_parallel call;
    const int error = vg_parallel_begin(&call, pool, options);
    if (error != 0)
        return error;
    if (test == NULL || at == NULL)
        return test == NULL ? VG_WHY_NULL("test") : VG_WHY_NULL("at");
    find_loop detail = {.test = test};
    atomic_init(&detail.best, end);
    call.piece = find_piece;
    call.detail = &detail;
    call.arg = arg;
    call.bound = &detail.best;
    const int status = vg_parallel_run(&call, begin, end, NULL);
    *at = atomic_load_explicit(&detail.best, memory_order_relaxed); /* as in find_piece */
    return status != 0 ? status : *at < end;
}
