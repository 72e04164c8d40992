/* SPDX-License-Identifier: MIT */
/*
 * idle_word.h - who sleeps, who searches, and whom to wake. IDLE.md beside this file holds the invariants and the
 * argument; the letters in the comments are its letters.
 *
 * One word says it all, so that a publisher decides with one load:
 *
 *     bits  0-15   searching   workers that look for work, and tokens on their way to a worker
 *     bits 16-31   parked      workers that can be woken
 *     bits 32-47   credits     blocked workers whose place nobody has taken yet, biased by CREDIT_ZERO; below zero
 *                              there are more spares at work than blocked workers
 *     bits 48-52   ready       classes that may have queued work
 *     bit  53      no take-back   the pool discards: a join's second half is a task like others (join.c)
 */
#ifndef VG_POOL_IDLE_WORD_H
#define VG_POOL_IDLE_WORD_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <vigil/pool.h>

#ifdef VIGIL_CHECK
#define VG_MAX_WORKERS 8
#define VG_MAX_SPARES  8
#define VG_MAX_GUESTS  1
#else
#define VG_MAX_WORKERS VIGIL_MAX_WORKERS
#define VG_MAX_SPARES  1024
#define VG_MAX_GUESTS  8 /* their seats are among the spares' */
#endif
#define VG_MAX_SEATS (VG_MAX_WORKERS + VG_MAX_SPARES)
#ifndef VG_SEAT_BITS
#define VG_SEAT_BITS \
    64 /* seats in a word of a bitmap, a power of 2; one check program has fewer, and so several words */
#endif
#define VG_SEAT_WORDS ((VG_MAX_SEATS + VG_SEAT_BITS - 1) / VG_SEAT_BITS)

#define VG_SEARCH_ONE   UINT64_C(1)
#define VG_SEARCH_MASK  UINT64_C(0xffff)
#define VG_PARKED_ONE   (UINT64_C(1) << 16)
#define VG_PARKED_MASK  (UINT64_C(0xffff) << 16)
#define VG_CREDIT_ONE   (UINT64_C(1) << 32)
#define VG_CREDIT_MASK  (UINT64_C(0xffff) << 32)
#define VG_CREDIT_ZERO  (UINT64_C(0x8000) << 32)
#define VG_READY_SHIFT  48
#define VG_READY_ALL    (UINT64_C(0x1f) << VG_READY_SHIFT)
#define VG_NO_TAKE_BACK (UINT64_C(1) << 53)

/* The bits of the first workers share the word's line: who changes them changes the word too. */
typedef struct vg_idle {
    alignas(64) _Atomic uint64_t word;
    _Atomic uint64_t parked[VG_SEAT_WORDS]; /* one bit a seat: parked, or dormant for a spare */
} vg_idle;

static inline unsigned vg_idle_searching(uint64_t word)
{
    return (unsigned)(word & VG_SEARCH_MASK);
}

static inline unsigned vg_idle_parked(uint64_t word)
{
    return (unsigned)((word & VG_PARKED_MASK) >> 16);
}

static inline int vg_idle_credits(uint64_t word)
{
    return (int)((word & VG_CREDIT_MASK) >> 32) - 0x8000;
}

static inline unsigned vg_idle_ready(uint64_t word)
{
    return (unsigned)((word & VG_READY_ALL) >> VG_READY_SHIFT);
}

static inline uint64_t vg_ready_bit(unsigned class_)
{
    return UINT64_C(1) << (VG_READY_SHIFT + class_);
}

/* Can somebody be woken, and does nobody search? */
static inline bool vg_idle_wants_wake(uint64_t word)
{
    return (word & VG_SEARCH_MASK) == 0 && ((word & VG_PARKED_MASK) != 0 || (word & VG_CREDIT_MASK) > VG_CREDIT_ZERO);
}

/* The masked word of a ready class with all workers busy: a publisher has nothing to do. */
static inline uint64_t vg_idle_busy(unsigned class_)
{
    return VG_CREDIT_ZERO | vg_ready_bit(class_);
}

static inline uint64_t vg_idle_busy_mask(unsigned class_)
{
    return VG_SEARCH_MASK | VG_PARKED_MASK | VG_CREDIT_MASK | VG_NO_TAKE_BACK | vg_ready_bit(class_);
}

#endif
