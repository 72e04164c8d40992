/* SPDX-License-Identifier: MIT */
/*
 * join.c - two functions side by side: the shortest fork and join. README.md, "File by file". The fast path is in
 * vigil/join.h, for the compiler to see.
 */
#include "join.h"

#include "base/container.h"
#include "counter.h"
#include "deque.h"
#include "group.h"
#include "moving.h"
#include "own.h"
#include "run.h"

#include <errno.h>
#include <stddef.h>

typedef struct vigil_join_frame join_frame;

#define SAME(mine, theirs)                                                                       \
    _Static_assert(offsetof(vg_own_queue, mine) == offsetof(struct vigil_forks, theirs) &&       \
                       sizeof((vg_own_queue){0}.mine) == sizeof((struct vigil_forks){0}.theirs), \
                   "as in vigil/join.h")
SAME(own.deque.top, vg_top);
SAME(own.deque.open, vg_open);
SAME(own.deque.bottom, vg_bottom);
SAME(own.slots, vg_slots);
SAME(own.mask, vg_mask);
SAME(own.full_at, vg_full_at);
SAME(busy, vg_busy);
SAME(busy_mask, vg_busy_mask);
SAME(pool, vg_pool);
SAME(idle, vg_idle);
SAME(links.newest, vg_joins);
SAME(links.clean, vg_clean);
SAME(group, vg_group);
SAME(joins_left, vg_joins_left);
_Static_assert(offsetof(join_frame, vg_outer) == 0, "a link of base/raise.h");

/* vigil_join_frame.vg_made: do task and group exist? */
enum {
    JOIN_PLAIN = 0,
    JOIN_BEING_MADE = 1,
    JOIN_MADE = 2
};

static int run_b(vigil_task *task)
{
    join_frame *both = vg_container_of(task, join_frame, vg_task);
    vg_raise_frame frame;
    bool raised;
    vg_raise_push(&frame);
    const int status = vg_raise_call(&frame, both->vg_b, both->vg_arg, &raised);
    vg_raise_pop(&frame);
    if (__builtin_expect(!raised, 1))
        return status;
    both->vg_raised = status; /* the join raises it again; the group's end shows it */
    return 0;
}

/*
 * Make task and group. Its owner and the taker of its entry may come at the same time: one makes, the other waits for
 * these few stores. The waiter has nothing better to do: the owner needs the taker's end, the taker needs the task.
 */
static void join_make(join_frame *both, const vg_own_queue *of)
{
    uint32_t seen = JOIN_PLAIN;
    /* N1 acquire: pairs with N2 */
    if (!atomic_compare_exchange_strong_explicit(&both->vg_made, &seen, JOIN_BEING_MADE, memory_order_acquire,
                                                 memory_order_acquire)) {
        while (seen != JOIN_MADE) {
            vg_thread_yield();
            seen = atomic_load_explicit(&both->vg_made, memory_order_acquire); /* N1 */
        }
        return;
    }
    vg_group_prepare(&both->vg_own, of->pool, NULL, 1); /* not of the worker: its group now is not that of the join */
    both->vg_own.vg_owner = of->worker;
    both->vg_own.vg_parent = both->vg_parent;
    vigil_task_init(&both->vg_task, run_b, NULL);
    both->vg_task.vg_group = &both->vg_own;
    vg_task_set_tail(&both->vg_task, of->tail);
    both->vg_raised = 0;
    /* N2 release: a thread that sees it made sees task and group; pairs with N1 */
    atomic_store_explicit(&both->vg_made, JOIN_MADE, memory_order_release);
}

vigil_task *vg_join_taken(vigil_pool *pool, vg_worker *taker, vg_deque *from, vigil_task *entry)
{
    join_frame *both = (join_frame *)(void *)((char *)entry - 1);
    const vg_own_queue *of = (const vg_own_queue *)(void *)from; /* begins with it */
    join_make(both, of);
    if (taker != NULL)
        vg_count_release(&taker->seat.counts->of[of->class_].spawned, 1);
    else /* release, as vg_count_release */
        (void)atomic_fetch_add_explicit(&vg_stripe_of_caller(pool)->counts->submitted[of->class_], 1,
                                        memory_order_release);
    return &both->vg_task;
}
_Static_assert(offsetof(vg_own_queue, own) == 0 && offsetof(vg_deque_owner, deque) == 0, "vg_join_taken");

static int join_wait(join_frame *both, const vg_own_queue *queue)
{
    join_make(both, queue);
    return vigil_group_wait(&both->vg_own);
}

/* A half has left by vigil_raise. If it is a, the frame goes when b has ended; if it is b, here, it has ended now. */
static void join_clean_up(void *link)
{
    join_frame *both = link;
    if (vg_current_worker == NULL)
        return; /* in the child of a task */
    vg_own_queue *queue = vg_current_worker->queue;
    if (atomic_load_explicit(&both->vg_made, memory_order_relaxed) != VG_JOIN_HERE) /* our own store */
        (void)join_wait(both, queue);
    else if (--queue->joins_left == 0)
        vg_joins_count(queue);
}

void vg_join_queue_init(vg_own_queue *queue, vg_worker *worker)
{
    queue->pool = worker->pool;
    queue->idle = &worker->pool->idle.word;
    queue->links = (vg_raise_links){.clean = join_clean_up};
    queue->group = &worker->group;
    queue->joins_left = VG_JOINS_COUNTED;
    queue->worker = worker;
}

/* What was taken back was in no book. Now all of it was spawned, started and completed. */
void vg_joins_count(vg_own_queue *queue)
{
    const uint64_t joins = VG_JOINS_COUNTED - queue->joins_left;
    queue->joins_left = VG_JOINS_COUNTED;
    vg_handling(queue->worker, 1);
    vg_count_release(&queue->counts->spawned, joins);
    vg_count_release(&queue->counts->started, joins);
    vg_count_release(&queue->counts->completed, joins);
    vg_handling(queue->worker, 0);
}

static inline vg_own_queue *queue_of_forks(struct vigil_forks *forks)
{
    return (vg_own_queue *)(void *)forks;
}

void vigil_join_push(struct vigil_forks *forks, join_frame *both, bool pushed)
{
    vg_own_queue *queue = queue_of_forks(forks);
    vg_worker *worker = queue->worker;
    if (pushed) {
        vg_announce_own(worker, queue);
    } else {
        vg_handling(worker, 1); /* without memory it becomes a task here */
        vg_push_own_slow(worker, queue, (vigil_task *)(void *)((char *)both + 1));
        vg_handling(worker, 0);
    }
    /* A task is not taken back, but waited for. relaxed: a join that misses the bit runs its b as if it had begun
       before the close. */
    if (queue->busy == UINT64_MAX ||
        (atomic_load_explicit(&worker->pool->idle.word, memory_order_relaxed) & VG_NO_TAKE_BACK) != 0)
        join_make(both, queue);
}

int vigil_join_elsewhere(struct vigil_forks *forks, join_frame *both, int status_a)
{
    forks->vg_joins = both->vg_outer;
    const int status_b = join_wait(both, queue_of_forks(forks));
    if (__builtin_expect(both->vg_raised != 0, 0))
        vigil_raise(both->vg_raised);
    return status_a < 0 ? status_a : status_b;
}

int vigil_join_count(struct vigil_forks *forks, const join_frame *both, int status_b)
{
    vg_own_queue *queue = queue_of_forks(forks);
    vg_joins_count(queue);
    if (status_b >= 0)
        return 0;
    vg_handling(queue->worker, 1);
    vg_count_release(&queue->counts->spawned, 1);
    vg_count_release(&queue->counts->started, 1);
    vg_handling(queue->worker, 0);
    vg_task_failed(queue->worker, queue->class_, status_b, (void *)(uintptr_t)both->vg_b);
    return status_b;
}

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

int vigil_join_outside(vigil_pool *pool, int (*a)(void *arg), void *arg_a, int (*b)(void *arg), void *arg_b)
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

/* For callers that do not optimise, or take its address. */
int vigil_join(vigil_pool *pool, int (*a)(void *arg), void *arg_a, int (*b)(void *arg), void *arg_b)
{
    struct vigil_forks *const forks = vigil_forks;
    if (forks == NULL || forks->vg_pool != pool || a == NULL || b == NULL)
        return vigil_join_outside(pool, a, arg_a, b, arg_b);
    return vg_join_here(forks, a, arg_a, b, arg_b);
}
