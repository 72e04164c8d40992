/* SPDX-License-Identifier: MIT */
/*
 * vigil/join.h - the part of vigil_join that the compiler may see. Included by pool.h.
 *
 * Everything in this file is the library's alone. It may change with every version.
 */
#ifndef VIGIL_JOIN_H
#define VIGIL_JOIN_H

#include <vigil/base.h>
#include <vigil/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The calling worker's end of its deque, with what a join needs besides. */
struct __attribute__((may_alias)) vigil_forks {
    __attribute__((aligned(64))) int64_t vg_top;
    int64_t vg_open;
    int64_t vg_active;
    __attribute__((aligned(64))) int64_t vg_bottom;
    void *vg_array;
    __attribute__((aligned(64))) void **vg_slots;
    int64_t vg_mask;
    int64_t vg_full_at;
    void *vg_newest;
    /* (*vg_idle & vg_busy_mask) when a push need not be announced */
    __attribute__((aligned(64))) uint64_t vg_busy;
    uint64_t vg_busy_mask;
    vigil_pool *vg_pool;
    const uint64_t *vg_idle;
    void *vg_joins; /* the newest vigil_join_frame; vigil_raise follows vg_outer */
    void (*vg_clean)(void *frame);
    vigil_group **vg_group; /* of the running task */
    uint32_t vg_joins_left;
};

/* One join, on its caller's stack. The deque holds its address with the lowest bit set. The
   thief that takes it makes the task and the group; an owner that takes it back needs neither. */
struct vigil_join_frame {
    void *vg_outer; /* the next older frame in vg_joins */
    int (*vg_b)(void *arg);
    void *vg_arg;
    vigil_group *vg_parent;
    VIGIL_ATOMIC(uint32_t) vg_made; /* 0: b can be taken back */
    int vg_raised;                  /* the status of a raise in b, on another worker */
    vigil_task vg_task;
    vigil_group vg_own;
};

/* NULL on a thread that is not a worker. */
extern VIGIL_API __thread struct vigil_forks *vigil_forks
    __attribute__((tls_model("initial-exec")));

/* b could not be pushed, or must be announced. Worker; does not block; cannot fail. */
VIGIL_API void vigil_join_push(struct vigil_forks *forks, struct vigil_join_frame *both,
                               bool pushed);

/* b was not taken back. Worker; blocks.
   0; the failure of a, else of b; -ECANCELED; -ECHILD. */
VIGIL_API int vigil_join_elsewhere(struct vigil_forks *forks, struct vigil_join_frame *both,
                                   int status_a);

/* b has ended here. It has failed, or it is time to count. Worker; does not block.
   0; its failure. */
VIGIL_API int vigil_join_count(struct vigil_forks *forks, const struct vigil_join_frame *both,
                               int status_b);

/* Not on a worker of the pool, or something is NULL. Any thread; blocks.
   0; as vigil_join. */
VIGIL_API int vigil_join_outside(vigil_pool *pool, int (*a)(void *arg), void *arg_a,
                                 int (*b)(void *arg), void *arg_b);

#define VG_JOIN_HERE   3U /* vg_made: b was taken back */
#define VG_JOIN_INLINE extern inline __attribute__((gnu_inline, always_inline))

/* As vg_deque_push. *index: where it is. */
VG_JOIN_INLINE bool vg_forks_push(struct vigil_forks *forks, void *entry, int64_t *index)
{
    const int64_t bottom = __atomic_load_n(&forks->vg_bottom, __ATOMIC_RELAXED);
    *index = bottom;
    if (__builtin_expect(bottom >= forks->vg_full_at, 0))
        return false;
    __atomic_store_n(&forks->vg_slots[bottom & forks->vg_mask], entry, __ATOMIC_RELAXED);
    /* D1 release: a thief that sees this bottom sees slot and entry; pairs with D4 */
    __atomic_store_n(&forks->vg_bottom, bottom + 1, __ATOMIC_RELEASE);
    return true;
}

/* As vg_announced. */
VG_JOIN_INLINE bool vg_forks_announced(const struct vigil_forks *forks)
{
    /* A' light fence: the push is visible before the word is read; pairs with C */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return (__atomic_load_n(forks->vg_idle, __ATOMIC_RELAXED) & forks->vg_busy_mask) ==
           forks->vg_busy;
}

/* Pop the entry that was pushed at index if it is the newest and still there; else change nothing.
   Only with light fences. index is remembered, not read again: a chain of loads that wait for the
   stores before them is what a join costs. */
VG_JOIN_INLINE bool vg_forks_take_back(struct vigil_forks *forks,
                                       const struct vigil_join_frame *both, int64_t index)
{
    /* An entry leaves the deque with a task made of it, by this worker, or by a thief, who has
       opened it before. relaxed, both: own writes, or open decides */
    if (__builtin_expect(__atomic_load_n((const uint32_t *)&both->vg_made, __ATOMIC_RELAXED) != 0,
                         0) ||
        __builtin_expect(__atomic_load_n(&forks->vg_bottom, __ATOMIC_RELAXED) != index + 1, 0))
        return false;
    /* D2 release: a thief that reads this bottom may read the older slots; pairs with D4 */
    __atomic_store_n(&forks->vg_bottom, index, __ATOMIC_RELEASE);
    /* D3 light fence: bottom is lowered before open is read; pairs with the thief's D5 */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(index >= __atomic_load_n(&forks->vg_open, __ATOMIC_RELAXED), 1))
        return true;
    /* A thief may take it: vigil_join_elsewhere pops it with a fence. release: as D1 */
    __atomic_store_n(&forks->vg_bottom, index + 1, __ATOMIC_RELEASE);
    return false;
}

/* vigil_join on a worker of the pool. */
VG_JOIN_INLINE int vg_join_here(struct vigil_forks *forks, int (*a)(void *arg), void *arg_a,
                                int (*b)(void *arg), void *arg_b)
{
    struct vigil_join_frame both;
    both.vg_outer = forks->vg_joins;
    both.vg_b = b;
    both.vg_arg = arg_b;
    both.vg_parent = *forks->vg_group;
    /* relaxed: D1 shows it to thieves */
    __atomic_store_n((uint32_t *)&both.vg_made, 0U, __ATOMIC_RELAXED);
    int64_t index;
    const bool pushed = vg_forks_push(forks, (char *)&both + 1, &index);
    if (__builtin_expect(!pushed || !vg_forks_announced(forks), 0))
        vigil_join_push(forks, &both, pushed);
    forks->vg_joins = &both;
    const int status_a = a(arg_a);
    if (__builtin_expect(status_a < 0, 0) ||
        __builtin_expect(!vg_forks_take_back(forks, &both, index), 0))
        return vigil_join_elsewhere(forks, &both, status_a);
    /* relaxed: nobody else has it any more. For vg_clean, if b raises */
    __atomic_store_n((uint32_t *)&both.vg_made, VG_JOIN_HERE, __ATOMIC_RELAXED);
    const int status_b = b(arg_b);
    forks->vg_joins = both.vg_outer;
    if (__builtin_expect(status_b < 0, 0) || __builtin_expect(--forks->vg_joins_left == 0, 0))
        return vigil_join_count(forks, &both, status_b);
    return 0;
}

#if defined(__OPTIMIZE__) && !defined(VIGIL_CHECK)
extern inline __attribute__((gnu_inline)) int
vigil_join(vigil_pool *pool, int (*a)(void *arg), void *arg_a, int (*b)(void *arg), void *arg_b)
{
    struct vigil_forks *const forks = vigil_forks;
    if (__builtin_expect(forks == 0 || forks->vg_pool != pool || a == 0 || b == 0, 0))
        return vigil_join_outside(pool, a, arg_a, b, arg_b);
    return vg_join_here(forks, a, arg_a, b, arg_b);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
