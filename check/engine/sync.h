/* SPDX-License-Identifier: MIT */
/* What the objects of sync_mutex.c and sync_counts.c share (sync.c). */
#ifndef VGC_SYNC_H
#define VGC_SYNC_H

#include "internal.h"
#include <time.h>

#define USER_PC (((void *const *)vgc_user_sp)[6])
#define RUNNING __builtin_expect(G.current >= 0, 1)

/* What a destroyed object begins with. A mutex has the mark of the C library: a kind that there is not. */
static const uint64_t sync_destroyed = 0x8D0E1D0F8D0E1D0FULL;

/* What lies in the memory of an object of ours. */
struct sync_counts {
    int32_t first, second;
};
static inline struct sync_counts *sync_counts_of(const struct location *l)
{
    return (struct sync_counts *)l->address;
}

/* Semaphore: first is its value. Read-write lock: first counts readers, second is the writer's number + 1. Once: first is one of these. */
enum {
    ONCE_NEW = 0,
    ONCE_RUNS = 1,
    ONCE_DONE = 2
};

struct location *sync_object_at(const void *object, size_t size, const void *pc);
void sync_refuse_destroyed(const struct location *l, const char *what);
clock_vec *sync_clock_of(clock_vec **clock);
void sync_take_over(const clock_vec *published);
int sync_take(struct location *l, uint8_t kind, bool try_only, bool timed, uint64_t deadline, const void *pc);
void sync_changed(struct location *l, uint8_t kind, const void *pc);
void sync_change_step(struct location *l, uint8_t kind, const void *pc);
struct location *sync_destroy_step(void *object, size_t size, const void *pc);

static inline uint64_t sync_time(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

#endif
