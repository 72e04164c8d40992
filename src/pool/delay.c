/* SPDX-License-Identifier: MIT */
/*
 * delay.c - delayed tasks: a heap of due times and one thread that sleeps until the first. README.md, "File by file".
 */
#include "delay.h"

#include "base/futex.h"
#include "base/heap.h"
#include "moving.h"
#include "run.h"
#include "submit.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct vg_delay {
    vigil_pool *pool;
    vg_heap heap; /* slot: index into tasks */
    vigil_task **tasks;
    uint32_t *free_slots; /* stack of free indices */
    uint32_t free_count;
    uint32_t room;
    uint32_t seq;
    bool quit;
    _Atomic uint32_t bell; /* changes with the first due time and with quit */
    pthread_t thread;
} vg_delay;

/* Make room for one more. Under the lock. */
static int delay_reserve(vg_delay *delay)
{
    if (delay->free_count != 0)
        return 0; /* the heap has room for every slot */
    uint32_t room = delay->room == 0 ? 16 : 2 * delay->room;
    if (vg_heap_reserve(&delay->heap, room) != 0)
        return -ENOMEM;
    vigil_task **tasks = realloc(delay->tasks, room * sizeof *tasks);
    if (tasks == NULL)
        return -ENOMEM;
    delay->tasks = tasks;
    uint32_t *slots = realloc(delay->free_slots, room * sizeof *slots);
    if (slots == NULL)
        return -ENOMEM;
    delay->free_slots = slots;
    for (uint32_t i = room; i > delay->room; i--)
        delay->free_slots[delay->free_count++] = i - 1;
    delay->room = room;
    return 0;
}

/* Take the first task out. Under the lock. */
static vigil_task *delay_take_first(vg_delay *delay)
{
    vg_heap_entry entry = vg_heap_pop(&delay->heap);
    delay->free_slots[delay->free_count++] = entry.slot;
    vigil_task *task = delay->tasks[entry.slot];
    /* release (also in add): for the audit, as in count_submitted (submit.c) */
    (void)atomic_fetch_sub_explicit(&delay->pool->shared->delayed[task->vg_class], 1, memory_order_release);
    return task;
}

static void delay_ring(vg_delay *delay)
{
    (void)atomic_fetch_add_explicit(&delay->bell, 1, memory_order_relaxed); /* the lock orders the rest */
    (void)vg_futex_wake(&delay->bell, 1);
}

static void *delay_main(void *arg)
{
    vg_delay *delay = arg;
    vigil_pool *pool = delay->pool;
    char name[32];
    (void)snprintf(name, sizeof name, "%.10s/t", pool->name);
    vg_thread_set_name(name);
    vg_thread_origin_apply(&pool->origin);
    vg_mutex_lock(&pool->delay_lock);
    while (!delay->quit) {
        const vg_heap_entry *first = vg_heap_peek(&delay->heap);
        uint64_t due = first == NULL ? VG_NO_DEADLINE : first->key;
        if (first != NULL && vg_now_ns() >= due) {
            vg_stripe *call = vg_visit_begin(pool); /* for the audit: the task is in no queue */
            vigil_task *task = delay_take_first(delay);
            vg_mutex_unlock(&pool->delay_lock);
            vg_submit_due(pool, task);
            vg_visit_end(call);
            vg_mutex_lock(&pool->delay_lock);
            continue;
        }
        uint32_t bell = atomic_load_explicit(&delay->bell, memory_order_relaxed); /* changes under the lock only */
        vg_mutex_unlock(&pool->delay_lock);
        (void)vg_futex_wait(&delay->bell, bell, due);
        vg_mutex_lock(&pool->delay_lock);
    }
    vg_mutex_unlock(&pool->delay_lock);
    return NULL;
}

static vg_delay *delay_make(vigil_pool *pool, int *error)
{
    vg_delay *delay = calloc(1, sizeof *delay);
    if (delay == NULL) {
        *error = -ENOMEM;
        return NULL;
    }
    delay->pool = pool;
    vg_heap_init(&delay->heap);
    *error = vg_thread_start(&delay->thread, 0, delay_main, delay);
    if (*error != 0) {
        free(delay);
        return NULL;
    }
    return delay;
}

static int delay_insert(vigil_pool *pool, vigil_task *task, int64_t delay_ns)
{
    int error = 0;
    /* A running task of a draining pool may still add; in a discarding pool nobody may. */
    if ((pool->delay_closed && !vg_in_task(vg_worker_of(pool))) ||
        atomic_load_explicit(&pool->phase, memory_order_relaxed) == VG_DISCARDING)
        return -ESHUTDOWN;
    if (pool->delay == NULL) {
        pool->delay = delay_make(pool, &error);
        if (pool->delay == NULL)
            return error;
    }
    vg_delay *delay = pool->delay;
    error = delay_reserve(delay);
    if (error != 0)
        return error;
    uint32_t slot = delay->free_slots[--delay->free_count];
    vg_heap_entry entry = {.key = vg_deadline_after(delay_ns), .seq = delay->seq++, .slot = slot};
    delay->tasks[slot] = task;
    (void)atomic_fetch_add_explicit(&pool->shared->delayed[task->vg_class], 1, memory_order_release);
    (void)vg_heap_push(&delay->heap, entry); /* reserved above */
    if (vg_heap_peek(&delay->heap)->slot == slot)
        delay_ring(delay);
    return 0;
}

int vg_delay_add(vigil_pool *pool, vigil_task *task, int64_t delay_ns)
{
    vg_mutex_lock(&pool->delay_lock);
    int error = delay_insert(pool, task, delay_ns);
    vg_mutex_unlock(&pool->delay_lock);
    return error;
}

void vg_delay_close(vigil_pool *pool)
{
    vg_mutex_lock(&pool->delay_lock);
    pool->delay_closed = true;
    vg_mutex_unlock(&pool->delay_lock);
}

void vg_delay_cancel_all(vigil_pool *pool)
{
    for (;;) {
        vg_mutex_lock(&pool->delay_lock);
        vigil_task *task =
            pool->delay != NULL && vg_heap_size(&pool->delay->heap) != 0 ? delay_take_first(pool->delay) : NULL;
        vg_mutex_unlock(&pool->delay_lock);
        if (task == NULL)
            return;
        vg_discard(pool, task);
    }
}

static void delay_free(vg_delay *delay)
{
    vg_heap_destroy(&delay->heap);
    free(delay->tasks);
    free(delay->free_slots);
    free(delay);
}

void vg_delay_free(vigil_pool *pool)
{
    if (pool->delay != NULL)
        delay_free(pool->delay);
    pool->delay = NULL;
}

void vg_delay_stop(vigil_pool *pool)
{
    vg_mutex_lock(&pool->delay_lock);
    vg_delay *delay = pool->delay;
    if (delay != NULL) {
        delay->quit = true;
        delay_ring(delay);
    }
    vg_mutex_unlock(&pool->delay_lock);
    if (delay == NULL)
        return;
    vg_thread_join(delay->thread);
    vg_stripe *call = vg_visit_begin(pool); /* as above */
    vg_delay_cancel_all(pool);              /* husks of cancelled jobs */
    vg_visit_end(call);
    vg_mutex_lock(&pool->delay_lock); /* another stop may be in vg_delay_cancel_all */
    pool->delay = NULL;
    vg_mutex_unlock(&pool->delay_lock);
    delay_free(delay);
}
