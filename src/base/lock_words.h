/* SPDX-License-Identifier: MIT */
/*
 * lock_words.h - the locks of glibc as they lie in memory. For the watchdog, which reads its own process, and the
 * doctor, which reads others. The layouts are those of the 64-bit ABI, the same on every processor.
 */
#ifndef VG_BASE_LOCK_WORDS_H
#define VG_BASE_LOCK_WORDS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vg_mutex_words {
    uint32_t lock; /* 0 free, 1 held, 2 held and contended; robust and PI mutexes: the owner and flags */
    uint32_t count;
    int32_t owner;
    uint32_t users;
    int32_t kind;
} vg_mutex_words;

typedef struct vg_rwlock_words {
    uint32_t readers; /* from bit 3 on: how many */
    uint32_t writers;
    uint32_t phase_futex; /* what readers, and the first writer, wait on */
    uint32_t writers_futex;
    uint32_t pad[2];
    int32_t writer; /* who holds it */
    int32_t shared;
    uint64_t pads[2];
    uint32_t flags;
} vg_rwlock_words;

enum {
    VG_MUTEX_CONTENDED = 2,
    VG_MUTEX_TYPE = 3, /* normal, recursive, error-checking, adaptive */
    VG_MUTEX_ROBUST = 16,
    VG_MUTEX_INHERIT = 32,
    VG_MUTEX_SHARED = 128,
    VG_MUTEX_KINDS = 0x3ff, /* type, robust, PI, PP, shared, elision */
    VG_RWLOCK_WRITTEN = 2,  /* in readers: a writer holds it */
    VG_RWLOCK_PHASE_AT = 8, /* offsets of the two futex words */
    VG_RWLOCK_WRITERS_AT = 12,
    VG_LOCK_USERS = 1 << 20 /* more than that is no lock */
};

#define VG_FUTEX_WAITED UINT32_C(0x80000000) /* in the word of robust and PI mutexes: somebody waits */
#define VG_FUTEX_TID    UINT32_C(0x3fffffff)

/* Who holds a mutex that a thread sleeps in, expecting this word; 0: it is none, or not contended. */
static inline int vg_mutex_words_owner(const vg_mutex_words *mutex, uint32_t expected)
{
    if ((mutex->kind & VG_MUTEX_ROBUST) != 0 && (expected & VG_FUTEX_WAITED) != 0 && mutex->lock == expected)
        return (int)(mutex->lock & VG_FUTEX_TID);
    return mutex->lock == VG_MUTEX_CONTENDED && expected == VG_MUTEX_CONTENDED ? mutex->owner : 0;
}

/* Could these words be a mutex or a read-write lock at all? Who the owner is must be looked at besides. */
static inline bool vg_mutex_words_fit(const vg_mutex_words *mutex)
{
    return (mutex->kind & ~VG_MUTEX_KINDS) == 0 && mutex->users >= 1 && mutex->users < VG_LOCK_USERS &&
           mutex->owner > 0 && mutex->count < VG_LOCK_USERS;
}
static inline bool vg_rwlock_words_fit(const vg_rwlock_words *lock)
{
    return lock->writers < VG_LOCK_USERS && lock->flags < 4 && (uint32_t)lock->shared < 2 && lock->writer >= 0;
}

#endif
