/* SPDX-License-Identifier: MIT */
/*
 * task_struct.h - the private fields of a vigil_task.
 */
#ifndef VG_POOL_TASK_STRUCT_H
#define VG_POOL_TASK_STRUCT_H

#include <vigil/pool.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    VG_CLASSES = VIGIL_PRIORITIES
};

/* vigil_task.vg_state */
enum {
    VG_TASK_FREE = 0,
    VG_TASK_QUEUED = 1
};
/* vigil_task.vg_kind: what the task is part of */
enum {
    VG_KIND_PLAIN = 0,
    VG_KIND_CALL = 1,
    VG_KIND_JOB = 2
};
/* vigil_task.vg_flags */
enum {
    VG_FLAG_COUNTED = 1, /* takes a place of max_queue */
    VG_FLAG_STAMPED = 2, /* vg_stamp holds the submit time; spawns have none */
    VG_FLAG_ALONE = 4    /* a claimed job that only its claimer knows */
};

/* The last fields of a task, from vg_state on, as one word. */
typedef union vg_task_tail {
    struct {
        uint32_t state;
        uint8_t class_;
        uint8_t kind;
        uint16_t flags;
    } of;
    uint64_t word;
} vg_task_tail;
_Static_assert(sizeof(vigil_task) == offsetof(vigil_task, vg_state) + sizeof(vg_task_tail), "as in vigil/pool.h");

/* All at once and without atomics: nobody else has the task yet. */
static inline void vg_task_set_tail(vigil_task *task, vg_task_tail tail)
{
    memcpy((char *)task + offsetof(vigil_task, vg_state), &tail.word, sizeof tail.word);
}

/* Of two threads that submit one task, the exchange admits one. relaxed: it publishes nothing. */
static inline bool vg_task_take(vigil_task *task)
{
    return atomic_exchange_explicit(&task->vg_state, VG_TASK_QUEUED, memory_order_relaxed) == VG_TASK_FREE;
}

static inline void vg_task_give_back(vigil_task *task)
{
    atomic_store_explicit(&task->vg_state, VG_TASK_FREE, memory_order_relaxed);
}

#endif
