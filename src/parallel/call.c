/* SPDX-License-Identifier: MIT */
/*
 * call.c - one parallel call: lazy binary splitting. README.md has the argument.
 */
#include "call.h"

#include "base/clock.h"
#include "base/why.h"
#include "pool/group.h"
#include "pool/pool_struct.h"

#include <errno.h>
#include <stdalign.h>
#include <vigil/flow.h>

#ifdef VIGIL_CHECK
#define PIECE_NS 0 /* the model has no time: pieces stay at the grain */
#else
#define PIECE_NS 20000
#endif

int vg_parallel_begin(vg_parallel *call, vigil_pool *pool, const vigil_parallel_options *options)
{
    static const vigil_parallel_options usual = VIGIL_PARALLEL_OPTIONS_INIT;
    const int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    memset(call, 0, sizeof *call);
    call->options = usual;
    if (options != NULL) {
        if (options->size != sizeof *options)
            return vg_why(-EINVAL, "options->size is not what VIGIL_PARALLEL_OPTIONS_INIT sets");
        call->options = *options;
    }
    if ((unsigned)call->options.priority >= VG_CLASSES)
        return vg_why_say(-EINVAL, "options->priority is %d; VIGIL_CRITICAL to VIGIL_IDLE are known",
                          (int)call->options.priority);
    if ((unsigned)call->options.split > VIGIL_SPLIT_STATIC)
        return vg_why_say(-EINVAL, "options->split is %d; VIGIL_SPLIT_LAZY and VIGIL_SPLIT_STATIC are known",
                          (int)call->options.split);
    call->pool = pool;
    call->piece_ticks = (uint64_t)((double)PIECE_NS / vg_tick_length(pool->born));
    return 0;
}

void vg_parallel_fail(vg_parallel *call, int status)
{
    int32_t none = 0;
    /* relaxed: the caller reads it after all pieces have ended, which the group orders; for the rest it is a hint */
    (void)atomic_compare_exchange_strong_explicit(&call->failed, &none, status, memory_order_relaxed,
                                                  memory_order_relaxed);
}

bool vg_parallel_stopped(vg_parallel *call)
{
    if (__builtin_expect(call->options.token != NULL, 0)) {
        const int status = vigil_cancel_status(call->options.token);
        if (status != 0)
            vg_parallel_fail(call, status);
    }
    return atomic_load_explicit(&call->failed, memory_order_relaxed) != 0; /* as in vg_parallel_fail */
}

/* ---- one piece ---- */

typedef struct guarded_piece {
    vg_parallel *call;
    size_t begin, end;
    void *value;
} guarded_piece;

static int run_piece(void *arg)
{
    const guarded_piece *it = arg;
    return it->call->piece(it->call, it->begin, it->end, it->value);
}

__attribute__((noinline)) int vg_parallel_guarded(vigil_pool *pool, int (*fn)(void *arg), void *arg)
{
    const vg_worker *worker = vg_worker_of(pool);
    const unsigned blocking = worker->blocking;
    vg_raise_frame frame;
    bool raised;
    vg_raise_push(&frame);
    const int status = vg_raise_call(&frame, fn, arg, &raised);
    vg_raise_pop(&frame);
    while (__builtin_expect(worker->blocking > blocking, 0))
        (void)vigil_blocking_end(); /* left by vigil_raise, or forgotten */
    return status;
}

static void report_progress(vg_parallel *call, size_t more)
{
    const size_t done = atomic_fetch_add_explicit(&call->done, more, memory_order_relaxed) + more;
    /* R1 acquire: the hook sees what the one before it wrote; pairs with R2. Who finds it taken goes on. */
    if (done >= call->total || atomic_exchange_explicit(&call->reporting, 1, memory_order_acquire) != 0)
        return;
    const int answer = call->options.progress(call->options.user, done, call->total);
    atomic_store_explicit(&call->reporting, 0, memory_order_release); /* R2 */
    if (answer != 0)
        vg_parallel_fail(call, answer < 0 ? answer : -ECANCELED);
}

static void do_piece(vg_parallel *call, size_t begin, size_t end, void *value)
{
    guarded_piece piece = {.call = call, .begin = begin, .end = end, .value = value};
    const int status = vg_parallel_guarded(call->pool, run_piece, &piece);
    if (__builtin_expect(status < 0, 0))
        vg_parallel_fail(call, status);
    else if (__builtin_expect(call->options.progress != NULL, 0))
        report_progress(call, end - begin);
}

/* ---- splitting ---- */

/* What is left of a range, and how it is run. */
typedef struct range_rest {
    size_t begin, end;
    size_t pace;    /* iterations in a piece, as far as is known */
    unsigned eager; /* how often it may be split in advance, for workers that are idle */
} range_rest;

typedef struct half_range {
    vigil_task task; /* first */
    vg_parallel *call;
    range_rest rest;
    void *value;
} half_range;

static void run_range(vg_parallel *call, range_rest rest, void *value);

static int run_half(vigil_task *task)
{
    half_range *half = (half_range *)(void *)task;
    run_range(half->call, half->rest, half->value);
    return 0;
}

/* Offer the back, from `middle` on, and do the front. */
static __attribute__((noinline)) void split_range(vg_parallel *call, range_rest rest, size_t middle, void *value)
{
    const size_t bytes = call->reducer != NULL ? call->reducer->bytes : 1;
    alignas(max_align_t) char right[bytes];
    half_range back = {.call = call, .rest = rest, .value = right};
    vigil_group group;
    if (call->reducer != NULL)
        vg_value_start(call->reducer, call->arg, right);
    back.rest.begin = middle;
    rest.end = middle;
    vigil_task_init(&back.task, run_half, NULL);
    vg_group_prepare(&group, call->pool, vg_worker_of(call->pool), 0);
    const int refused = vigil_group_spawn(&group, &back.task);
    run_range(call, rest, value);
    if (__builtin_expect(refused != 0, 0)) {
        vg_parallel_fail(call, refused);
    } else {
        const int status = vigil_group_wait(&group);
        if (__builtin_expect(status != 0, 0)) /* the pool was closed */
            vg_parallel_fail(call, status);
    }
    if (call->reducer != NULL)
        call->reducer->merge(call->arg, value, right);
}

/* Does another worker want a part? Nothing that it could take lies in our deque; or, while the range is young, somebody
   has nothing to do. Both are hints: relaxed. */
static bool somebody_is_hungry(const vg_parallel *call, range_rest *rest)
{
    vg_worker *worker = vg_worker_of(call->pool);
    if (rest->eager > 0) {
        const uint64_t word = atomic_load_explicit(&call->pool->idle.word, memory_order_relaxed);
        if ((word & (VG_SEARCH_MASK | VG_PARKED_MASK)) != 0) {
            rest->eager--;
            return true;
        }
    }
    return vg_deque_size(&worker->queue->own.deque) == 0;
}

/* The next pace: a piece should last piece_ticks. One long measurement may be another program's fault, so it shrinks
   by halves. */
static size_t next_pace(const vg_parallel *call, size_t pace, uint64_t ticks)
{
    if (ticks > 2 * call->piece_ticks)
        return pace / 2 > call->options.grain ? pace / 2 : call->options.grain;
    if (ticks < call->piece_ticks / 16)
        return pace > SIZE_MAX / 8 ? pace : pace * 8;
    if (ticks < call->piece_ticks / 2)
        return pace > SIZE_MAX / 2 ? pace : pace * 2;
    return pace;
}

static void run_lazily(vg_parallel *call, range_rest rest, void *value)
{
    const size_t grain = call->options.grain;
    while (rest.begin < rest.end && !vg_parallel_stopped(call)) {
        const size_t left = rest.end - rest.begin;
        /* relaxed: an index that was found is a hint here; vigil_parallel_find compares */
        if (call->bound != NULL && atomic_load_explicit(call->bound, memory_order_relaxed) <= rest.begin)
            return;
        if (left > 1 && left / 2 >= grain && somebody_is_hungry(call, &rest)) {
            split_range(call, rest, rest.begin + left / 2, value);
            return;
        }
        const size_t count = left < rest.pace || left - rest.pace < grain ? left : rest.pace;
        const uint64_t before = vg_ticks();
        do_piece(call, rest.begin, rest.begin + count, value);
        rest.pace = next_pace(call, rest.pace, vg_ticks() - before);
        rest.begin += count;
    }
}

/* Pieces begin at multiples of the grain, so they are the same in every run. */
static void run_fixed(vg_parallel *call, range_rest rest, void *value)
{
    if (rest.begin >= rest.end || vg_parallel_stopped(call))
        return;
    const size_t grain = call->options.grain;
    const size_t pieces = (rest.end - rest.begin - 1) / grain + 1;
    if (pieces == 1)
        do_piece(call, rest.begin, rest.end, value);
    else
        split_range(call, rest, rest.begin + pieces / 2 * grain, value);
}

static void run_range(vg_parallel *call, range_rest rest, void *value)
{
    if (call->options.split == VIGIL_SPLIT_STATIC)
        run_fixed(call, rest, value);
    else
        run_lazily(call, rest, value);
}

/* ---- the whole ---- */

typedef struct inside_call {
    vigil_task task; /* first */
    int (*fn)(void *arg);
    void *arg;
} inside_call;

static int run_inside_call(vigil_task *task)
{
    inside_call *it = (inside_call *)(void *)task;
    return it->fn(it->arg);
}

int vg_parallel_inside(vg_parallel *call, int (*fn)(void *arg), void *arg)
{
    if (vg_in_task(vg_worker_of(call->pool)))
        return fn(arg);
    if (call->options.caller_works)
        return vigil_pool_run(call->pool, fn, arg, call->options.priority);
    inside_call root = {.fn = fn, .arg = arg};
    vigil_group group;
    vigil_task_init(&root.task, run_inside_call, NULL);
    vg_group_prepare(&group, call->pool, NULL, 0);
    const int refused = vigil_group_submit(&group, &root.task, call->options.priority);
    return refused != 0 ? refused : vigil_group_wait(&group);
}

static int run_whole(void *arg)
{
    const guarded_piece *whole = arg;
    vg_parallel *call = whole->call;
    range_rest rest = {.begin = whole->begin, .end = whole->end, .pace = call->options.grain, .eager = 1};
    for (unsigned workers = vigil_pool_workers(call->pool); workers > 1; workers = (workers + 1) / 2)
        rest.eager++; /* twice as many parts as workers */
    run_range(call, rest, whole->value);
    return 0;
}

int vg_parallel_run(vg_parallel *call, size_t begin, size_t end, void *value)
{
    if (begin >= end)
        return 0;
    call->total = end - begin;
    if (call->options.grain == 0 && call->options.split == VIGIL_SPLIT_STATIC)
        call->options.grain = (call->total - 1) / vigil_pool_workers(call->pool) + 1;
    if (call->options.grain == 0)
        call->options.grain = 1;
    guarded_piece whole = {.call = call, .begin = begin, .end = end, .value = value};
    const int error = vg_parallel_inside(call, run_whole, &whole);
    if (error != 0)
        return error;
    int status = atomic_load_explicit(&call->failed, memory_order_relaxed); /* as in vg_parallel_fail */
    if (status == 0 && call->options.progress != NULL)
        (void)call->options.progress(call->options.user, call->total, call->total);
    return status;
}
