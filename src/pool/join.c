/* SPDX-License-Identifier: MIT */
/*
 * join.c - two functions side by side: the shortest fork and join.
 *
 * The same as a group with one spawn, in one call: b is pushed to the worker's own deque, a is called, and then b is popped and
 * called unless it was stolen meanwhile. Everything lies on the caller's stack, so b must have ended before that is left, also
 * if a leaves by vigil_raise: a cleanup (core/raise.h) sees to that. What this costs is stores, more than anything else, and so it is
 * written to make few of them.
 */
#include "group.h"

#include <errno.h>
#include <stddef.h>

typedef struct join {
    vigil_task task; /* first; b, for a thief */
    vigil_group group;
    int (*b)(void *arg);
    void *arg;
    vg_raise_frame frame; /* while a runs: clean_up; while b runs: where its raise lands */
} join;

static int run_b(vigil_task *task)
{
    join *both = (join *)(void *)task;
    return both->b(both->arg);
}

/* b has ended here, but not simply well. */
static __attribute__((noinline)) void b_ended_badly(vg_worker *worker, void *function, int status)
{
    while (worker->blocking != 0)
        (void)vigil_blocking_end(); /* it was left by vigil_raise, or forgotten */
    if (status >= 0)
        vg_count(&worker->lane->counts->completed, 1);
    else
        vg_task_failed(worker, worker->lane->class_, status, function);
}

/* b was not simply there to be popped: it was stolen, or something lies above it, or the pool discards, or a was left by
   vigil_raise. What the group still lacks is for its owner alone. */
static __attribute__((noinline)) int join_long(vg_worker *worker, join *both)
{
    vg_handling(worker, 0);
    both->group.vg_pool = worker->pool;
    both->group.vg_flags = 0;
    return vigil_group_wait(&both->group);
}

static inline join *of_frame(vg_raise_frame *frame)
{
    return (join *)(void *)((char *)frame - offsetof(join, frame));
}

static void clean_up(vg_raise_frame *frame)
{
    (void)join_long(vg_current_worker, of_frame(frame));
}

/* Run b with a way out for vigil_raise. The frame is on the chain already, and stays there. Apart, as vg_call_guarded. */
static __attribute__((noinline)) int call_b(vg_raise_frame *frame)
{
    frame->clean = NULL;
    if (VG_RAISE_LAND(frame) == 0)
        return of_frame(frame)->b(of_frame(frame)->arg);
    vg_note_raise();
    return vg_raise_top->status; /* the frame; but `frame` may be in a register that is lost */
}

/* What is the same in all joins: the heads of task and group that are copied as a whole. */
static const struct {
    vigil_task_fn run;
    vigil_task_cancel_fn cancel;
} task_head = {run_b, NULL};
_Static_assert(offsetof(vigil_task, cancel) == offsetof(vigil_task, run) + sizeof(vigil_task_fn), "as in vigil/pool.h");

typedef struct simple {
    vigil_task task; /* first */
    int (*fn)(void *arg);
    void *arg;
} simple;

static int run_simple(vigil_task *task)
{
    simple *one = (simple *)(void *)task;
    return one->fn(one->arg);
}

static __attribute__((noinline)) int join_outside(vigil_pool *pool, int (*a)(void *arg), void *arg_a,
                                                  int (*b)(void *arg), void *arg_b)
{
    if (b == NULL)
        return -EINVAL;
    simple both[2] = {{.fn = a, .arg = arg_a}, {.fn = b, .arg = arg_b}};
    vigil_group groups[2]; /* one for each, to tell whose failure it was */
    int status[2];
    for (int i = 0; i < 2; i++) {
        vg_group_prepare(&groups[i], pool, NULL, 0);
        vigil_task_init(&both[i].task, run_simple, NULL);
        status[i] = vigil_group_submit(&groups[i], &both[i].task, VIGIL_NORMAL);
    }
    for (int i = 0; i < 2; i++)
        if (status[i] == 0)
            status[i] = vigil_group_wait(&groups[i]);
    return status[0] != 0 ? status[0] : status[1];
}

/* b is pushed: the rest. After a, `both` is found where the thread's chain begins: to look there is cheaper than to keep its
   address in a register, which somebody must save. */
static inline __attribute__((always_inline)) int join_pushed(vg_worker *worker, join *both, int64_t index,
                                                             int (*a)(void *arg), void *arg_a)
{
    vg_handling(worker, 0);
    vg_raise_push_on(worker->raise_top, &both->frame, clean_up);
    const int status_a = a(arg_a);

    int status_b;
    vg_lane *lane = worker->lane;
    vg_raise_frame *frame = *worker->raise_top;
    vg_handling(worker, 1);
    if (__builtin_expect(atomic_load_explicit(&worker->pool->shortcut, memory_order_relaxed) != 0, 1) &&
        __builtin_expect(worker->blocking == 0, 1) &&
        /* If a has helped with anything, b may have run, and another task lie where it was. relaxed: our own store then */
        __builtin_expect(atomic_load_explicit(&both->task.vg_state, memory_order_relaxed) == VG_TASK_QUEUED, 1) &&
        __builtin_expect(vg_deque_take_back(&lane->own.deque, index), 1)) {
        /* What vg_run does and counts, for a task of this worker's, class and group. */
        vg_count(&lane->counts->started, 1);
        vg_handling(worker, 0);
        worker->group = &of_frame(frame)->group;
        status_b = call_b(frame);
        *worker->raise_top = both->frame.outer;
        worker->group = both->group.vg_parent;
        if (__builtin_expect(status_b < 0, 0) || __builtin_expect(worker->blocking != 0, 0))
            b_ended_badly(worker, (void *)(uintptr_t)both->b, status_b);
        else
            vg_count(&worker->lane->counts->completed, 1);
    } else {
        *worker->raise_top = both->frame.outer;
        status_b = join_long(worker, of_frame(frame));
    }
    if (__builtin_expect((status_a | status_b) < 0, 0))
        return status_a < 0 ? status_a : status_b;
    return 0;
}

/* b could not simply be pushed, or somebody has to be told. */
static __attribute__((noinline)) int join_slow(vg_worker *worker, join *both, int64_t index, int (*a)(void *arg),
                                               void *arg_a, bool pushed)
{
    if (pushed)
        vg_announce_own_slow(worker->pool, worker->lane->class_);
    else
        vg_push_own_slow(worker, worker->lane, &both->task);
    return join_pushed(worker, both, index, a, arg_a);
}

int vigil_join(vigil_pool *pool, int (*a)(void *arg), void *arg_a, int (*b)(void *arg), void *arg_b)
{
    if (__builtin_expect(pool == NULL, 0))
        return -EINVAL;
    vg_worker *const worker = vg_current_worker;
    if (__builtin_expect(vg_forked_page(&pool->fork_guard), 0))
        return -ECHILD;
    if (__builtin_expect(a == NULL, 0))
        return -EINVAL;
    if (__builtin_expect(worker == NULL, 0) || __builtin_expect(worker->pool != pool, 0))
        return join_outside(pool, a, arg_a, b, arg_b);
    if (__builtin_expect(b == NULL, 0))
        return -EINVAL;
    vg_lane *lane = worker->lane;
    join both;
    memcpy((char *)&both.task + offsetof(vigil_task, run), &task_head, sizeof task_head);
    both.task.vg_group = &both.group;
    vg_task_set_tail(&both.task, lane->tail);
    both.group.vg_owner = worker;
    both.group.vg_parent = worker->group;
    memcpy((char *)&both.group + offsetof(vigil_group, vg_local), &lane->start, sizeof lane->start);
    both.b = b;
    both.arg = arg_b;
    const int64_t index = vg_deque_next(&lane->own);
    vg_handling(worker, 1);
    vg_count(&lane->counts->spawned, 1);
    if (__builtin_expect(!vg_deque_push_at(&lane->own, index, &both.task), 0))
        return join_slow(worker, &both, index, a, arg_a, false);
    if (__builtin_expect(!vg_announced(worker, lane), 0))
        return join_slow(worker, &both, index, a, arg_a, true);
    return join_pushed(worker, &both, index, a, arg_a);
}
