/* SPDX-License-Identifier: MIT */
/*
 * join.c - two functions side by side: the shortest fork and join. README.md, "File by file".
 */
#include "base/container.h"
#include "counter.h"
#include "deque.h"
#include "group.h"
#include "moving.h"
#include "own.h"
#include "run.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

typedef struct join_frame {
    vigil_task task; /* first; b, for a thief */
    vigil_group group;
    int (*b)(void *arg);
    void *arg;
    vg_raise_frame frame; /* while a runs: join_clean_up; while b runs: its raise lands here */
} join_frame;

static int run_b(vigil_task *task)
{
    join_frame *both = (join_frame *)(void *)task;
    return both->b(both->arg);
}

/* b has ended here and failed, or left a blocking section open. */
static __attribute__((noinline)) int b_ended_badly(const join_frame *both, int status, bool raised)
{
    vg_worker *worker = vg_current_worker;
    if (raised)
        vg_mark_raised();
    while (worker->blocking != 0)
        (void)vigil_blocking_end(); /* left by vigil_raise, or forgotten */
    if (status >= 0) {
        vg_count_release(&worker->queue->counts->completed, 1);
        return 0;
    }
    vg_task_failed(worker, worker->queue->class_, status, (void *)(uintptr_t)both->b);
    return status;
}

/* b could not be popped: it was stolen, is covered, the pool discards, or a left by vigil_raise. */
static int join_long(vg_worker *worker, join_frame *both)
{
    vg_handling(worker, 0);
    both->group.vg_pool = worker->pool;
    return vigil_group_wait(&both->group);
}

static __attribute__((noinline)) int b_elsewhere(join_frame *both, int status_a)
{
    vg_worker *worker = vg_current_worker;
    *worker->raise_top = both->frame.outer;
    const int status_b = join_long(worker, both);
    return status_a < 0 ? status_a : status_b;
}

static inline join_frame *join_of_frame(vg_raise_frame *frame)
{
    return vg_container_of(frame, join_frame, frame);
}

static void join_clean_up(vg_raise_frame *frame)
{
    (void)join_long(vg_current_worker, join_of_frame(frame));
}

/* The same in all joins: copied as a whole. */
static const struct {
    vigil_task_fn run;
    vigil_task_cancel_fn cancel;
} join_task_head = {run_b, NULL};
_Static_assert(offsetof(vigil_task, cancel) == offsetof(vigil_task, run) + sizeof(vigil_task_fn), "as in vigil/pool.h");

typedef struct join_half {
    vigil_task task; /* first */
    int (*fn)(void *arg);
    void *arg;
} join_half;

static int run_join_half(vigil_task *task)
{
    join_half *one = (join_half *)(void *)task;
    return one->fn(one->arg);
}

static __attribute__((noinline)) int join_outside(vigil_pool *pool, int (*a)(void *arg), void *arg_a,
                                                  int (*b)(void *arg), void *arg_b)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (a == NULL || b == NULL)
        return a == NULL ? VG_WHY_NULL("a") : VG_WHY_NULL("b");
    join_half both[2] = {{.fn = a, .arg = arg_a}, {.fn = b, .arg = arg_b}};
    vigil_group groups[2]; /* one each, to tell whose failure it was */
    int status[2];
    for (int i = 0; i < 2; i++) {
        vg_group_prepare(&groups[i], pool, NULL, 0);
        vigil_task_init(&both[i].task, run_join_half, NULL);
        status[i] = vigil_group_submit(&groups[i], &both[i].task, VIGIL_NORMAL);
    }
    for (int i = 0; i < 2; i++)
        if (status[i] == 0)
            status[i] = vigil_group_wait(&groups[i]);
    return status[0] != 0 ? status[0] : status[1];
}

/* b is pushed and announced: call a, then b, if it is still there. */
static inline __attribute__((always_inline)) int join_rest(vg_worker *worker, join_frame *both, int (*a)(void *arg),
                                                           void *arg_a)
{
    vg_handling(worker, 0);
    vg_raise_push_on(worker->raise_top, &both->frame, join_clean_up);
    const int status_a = a(arg_a);

    worker = both->group.vg_owner; /* cheaper to load than to keep */
    vg_own_queue *queue = worker->queue;
    vg_handling(worker, 1);
    if (__builtin_expect(status_a < 0, 0) ||
        __builtin_expect(atomic_load_explicit(&worker->pool->shortcut, memory_order_relaxed) == 0, 0) ||
        __builtin_expect(worker->blocking != 0, 0) ||
        __builtin_expect(!vg_deque_take_back(&queue->own, &both->task), 0))
        return b_elsewhere(both, status_a);
    /* As vg_run, for a task of this worker, class and group. */
    vg_count_release(&queue->counts->started, 1);
    vg_handling(worker, 0);
    bool raised;
    const int status_b = vg_raise_call(&both->frame, both->b, both->arg, &raised);
    worker = both->group.vg_owner;
    *worker->raise_top = both->frame.outer;
    if (__builtin_expect(status_b < 0, 0) || __builtin_expect(worker->blocking != 0, 0))
        return b_ended_badly(both, status_b, raised);
    vg_count_release(&worker->queue->counts->completed, 1);
    return 0;
}

/* b could not simply be pushed. */
static __attribute__((noinline)) int join_without_push(vg_worker *worker, join_frame *both, int (*a)(void *arg),
                                                       void *arg_a)
{
    vg_push_own_slow(worker, worker->queue, &both->task);
    vg_handling(worker, 0);
    vg_raise_push_on(worker->raise_top, &both->frame, join_clean_up);
    const int status_a = a(arg_a);
    *worker->raise_top = both->frame.outer;
    const int status_b = join_long(worker, both);
    return status_a < 0 ? status_a : status_b;
}

/* Somebody must learn of b. A copy of its own, so that the usual way keeps nothing across a call. */
static __attribute__((noinline)) int join_announced(vg_worker *worker, join_frame *both, int (*a)(void *arg),
                                                    void *arg_a)
{
    vg_announce_own_slow(worker->pool, worker->queue->class_);
    return join_rest(worker, both, a, arg_a);
}

int vigil_join(vigil_pool *pool, int (*a)(void *arg), void *arg_a, int (*b)(void *arg), void *arg_b)
{
    vg_worker *worker = vg_current_worker;
    if (__builtin_expect(worker == NULL, 0) || __builtin_expect(worker->pool != pool, 0))
        return join_outside(pool, a, arg_a, b, arg_b);
    if (__builtin_expect(vg_forked_page(&pool->fork_guard), 0))
        return vg_why_forked();
    if (__builtin_expect(a == NULL, 0) || __builtin_expect(b == NULL, 0))
        return a == NULL ? VG_WHY_NULL("a") : VG_WHY_NULL("b");
    vg_own_queue *queue = worker->queue;
    join_frame both;
    memcpy((char *)&both.task + offsetof(vigil_task, run), &join_task_head, sizeof join_task_head);
    both.task.vg_group = &both.group;
    vg_task_set_tail(&both.task, queue->tail);
    both.group.vg_owner = worker;
    both.group.vg_parent = worker->group;
    memcpy((char *)&both.group + offsetof(vigil_group, vg_local), &queue->start, sizeof queue->start);
    both.b = b;
    both.arg = arg_b;
    vg_handling(worker, 1);
    vg_count_release(&queue->counts->spawned, 1);
    if (__builtin_expect(!vg_deque_push(&queue->own, &both.task), 0))
        return join_without_push(worker, &both, a, arg_a);
    if (__builtin_expect(!vg_announced(worker, queue), 0))
        return join_announced(worker, &both, a, arg_a);
    return join_rest(worker, &both, a, arg_a);
}
