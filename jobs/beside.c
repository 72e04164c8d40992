/* SPDX-License-Identifier: MIT */
#include "beside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SLOTS = 64,
    LAYOUT = 1,
    TURN_MS = 20, /* the longest that a writer lets others go first */
};
#define SLEEPING 0x80000000U

struct slot {
    _Atomic int32_t pid;    /* 0: free. The lock on its byte decides; this is for those who ring */
    _Atomic uint32_t word;  /* events and SLEEPING */
    _Atomic uint32_t wants; /* waits for a write transaction, or is inside one */
    _Atomic uint64_t turn;  /* when it last had one */
    char pad[40];           /* a cache line each */
};

struct shared {
    _Atomic uint32_t layout;
    _Atomic uint32_t ended;         /* futex: counts ends of jobs */
    _Atomic uint32_t ended_waiters; /* who sleeps on it */
    _Atomic uint32_t commits;       /* futex: counts turns that ended */
    _Atomic uint32_t commit_waiters;
    _Atomic uint64_t turns;
    _Atomic int64_t ahead_ms;
    struct slot slots[SLOTS];
};

struct vg_jobs_beside {
    struct shared *shared;
    int fd;
};

static long futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

static const struct timespec *milliseconds(struct timespec *time, int64_t timeout_ms)
{
    if (timeout_ms < 0)
        return NULL;
    time->tv_sec = timeout_ms / 1000;
    time->tv_nsec = timeout_ms % 1000 * 1000000;
    return time;
}

/* The first write into a hole of a mapped file is a SIGBUS if the disk is full: so there must be none. */
static int take_room(int fd)
{
    enum {
        BLOCK = 512
    };
    struct stat status;
    const off_t size = sizeof(struct shared);
    if (fstat(fd, &status) != 0)
        return -errno;
    if (status.st_size >= size && (off_t)status.st_blocks * BLOCK >= size)
        return 0;
    if (fallocate(fd, 0, 0, size) == 0)
        return 0;
    if (errno != EOPNOTSUPP) /* NFS, for one: nothing better is to be had there */
        return -errno;
    return status.st_size >= size || ftruncate(fd, size) == 0 ? 0 : -errno;
}

int vg_jobs_beside_open(struct vg_jobs_beside **beside, const char *path)
{
    struct vg_jobs_beside *it = calloc(1, sizeof *it);
    if (it == NULL)
        return -ENOMEM;
    it->fd = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : memfd_create("vigil-jobs", MFD_CLOEXEC);
    int error = it->fd < 0 ? -errno : take_room(it->fd);
    if (error == 0) {
        void *memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, it->fd, 0);
        if (memory == MAP_FAILED)
            error = -errno;
        else
            it->shared = memory;
    }
    if (error == 0) {
        uint32_t layout = 0;
        /* relaxed: zeroes are a valid state of everything else */
        if (!atomic_compare_exchange_strong_explicit(&it->shared->layout, &layout, LAYOUT, memory_order_relaxed,
                                                     memory_order_relaxed) &&
            layout != LAYOUT)
            error = -EPROTO;
    }
    if (error != 0) {
        vg_jobs_beside_close(it);
        return error;
    }
    *beside = it;
    return 0;
}

void vg_jobs_beside_close(struct vg_jobs_beside *beside)
{
    if (beside->shared != NULL)
        (void)munmap(beside->shared, sizeof(struct shared));
    if (beside->fd >= 0)
        (void)close(beside->fd);
    free(beside);
}

/* The kernel frees these locks when the process dies. Open-file locks: of two queues in one process each has its
   own. */
static bool lock_slot(struct vg_jobs_beside *beside, int slot, short type)
{
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)sizeof(struct shared) + slot, .l_len = 1};
    return fcntl(beside->fd, F_OFD_SETLK, &lock) == 0;
}

int vg_jobs_beside_join(struct vg_jobs_beside *beside)
{
    for (int i = 0; i < SLOTS; i++) {
        if (!lock_slot(beside, i, F_WRLCK))
            continue;
        struct slot *slot = &beside->shared->slots[i];
        atomic_store_explicit(&slot->wants, 0, memory_order_relaxed);
        /* An early look at the queue follows, so a stale word is harmless: relaxed. */
        atomic_store_explicit(&slot->word, 0, memory_order_relaxed);
        /* release: pairs with the load in ring_all, which then sees the word of the new owner */
        atomic_store_explicit(&slot->pid, (int32_t)getpid(), memory_order_release);
        return i;
    }
    return -1;
}

void vg_jobs_beside_leave(struct vg_jobs_beside *beside, int slot)
{
    if (slot < 0)
        return;
    atomic_store_explicit(&beside->shared->slots[slot].wants, 0, memory_order_relaxed);
    /* release: wants is down before the slot is free; pairs with the acquire in ring_all */
    atomic_store_explicit(&beside->shared->slots[slot].pid, 0, memory_order_release);
    (void)lock_slot(beside, slot, F_UNLCK);
}

void vg_jobs_beside_ring(struct vg_jobs_beside *beside, int slot, unsigned events)
{
    if (slot < 0)
        return;
    _Atomic uint32_t *word = &beside->shared->slots[slot].word;
    uint32_t old = atomic_load_explicit(word, memory_order_relaxed);
    /* release: what was done before is visible to the runner that takes the events; pairs with the exchange in wait */
    while (!atomic_compare_exchange_weak_explicit(word, &old, (old | events) & ~SLEEPING, memory_order_release,
                                                  memory_order_relaxed)) {
    }
    if ((old & SLEEPING) != 0)
        (void)futex(word, FUTEX_WAKE, INT_MAX, NULL);
}

void vg_jobs_beside_ring_others(struct vg_jobs_beside *beside, int own, unsigned events)
{
    /* acquire: pairs with the store in join. A runner that joins later looks at the database first. */
    for (int i = 0; i < SLOTS; i++)
        if (i != own && atomic_load_explicit(&beside->shared->slots[i].pid, memory_order_acquire) != 0)
            vg_jobs_beside_ring(beside, i, events);
}

void vg_jobs_beside_ring_all(struct vg_jobs_beside *beside, unsigned events)
{
    vg_jobs_beside_ring_others(beside, -1, events);
}

unsigned vg_jobs_beside_wait(struct vg_jobs_beside *beside, int slot, int64_t timeout_ms)
{
    if (slot < 0) { /* no slot was free: look often */
        struct timespec pause = {.tv_nsec = 20000000};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        return 15;
    }
    _Atomic uint32_t *word = &beside->shared->slots[slot].word;
    struct timespec now, left;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + timeout_ms;
    for (;;) {
        /* acquire: pairs with the release in ring */
        uint32_t events = atomic_exchange_explicit(word, 0, memory_order_acquire) & ~SLEEPING;
        if (events != 0 || timeout_ms == 0)
            return events;
        int64_t rest = -1;
        if (timeout_ms > 0) {
            (void)clock_gettime(CLOCK_MONOTONIC, &now);
            rest = until - (now.tv_sec * 1000 + now.tv_nsec / 1000000);
            if (rest <= 0)
                return 0;
        }
        uint32_t none = 0;
        /* relaxed: the kernel compares the word again under its lock */
        if (atomic_compare_exchange_strong_explicit(word, &none, SLEEPING, memory_order_relaxed, memory_order_relaxed))
            (void)futex(word, FUTEX_WAIT, SLEEPING, milliseconds(&left, rest));
    }
}

/* Whether another process wants its turn and has waited longer than this one. With `forget` they lose it: they are
   dead, stopped or very slow. One that lives says again that it wants. */
static bool somebody_first(struct shared *shared, int own, bool forget)
{
    uint64_t mine = atomic_load_explicit(&shared->slots[own].turn, memory_order_relaxed);
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &shared->slots[i];
        if (i == own || atomic_load_explicit(&slot->wants, memory_order_relaxed) == 0 ||
            atomic_load_explicit(&slot->turn, memory_order_relaxed) >= mine)
            continue;
        if (!forget)
            return true;
        atomic_store_explicit(&slot->wants, 0, memory_order_relaxed);
    }
    return false;
}

static int64_t microseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* All relaxed: a wrong guess about turns costs time, never more. A waiter that is killed leaves the count of waiters
   too high, which costs later commits a system call. */
static void wait_commit(struct shared *shared, uint32_t seen, int64_t most_us)
{
    struct timespec time = {.tv_nsec = most_us * 1000};
    (void)atomic_fetch_add_explicit(&shared->commit_waiters, 1, memory_order_relaxed);
    (void)futex(&shared->commits, FUTEX_WAIT, seen, &time);
    (void)atomic_fetch_sub_explicit(&shared->commit_waiters, 1, memory_order_relaxed);
}

uint32_t vg_jobs_beside_turn_begin(struct vg_jobs_beside *beside, int slot)
{
    struct shared *shared = beside->shared;
    uint32_t commits = atomic_load_explicit(&shared->commits, memory_order_relaxed);
    int64_t until = 0;
    while (slot >= 0) {
        atomic_store_explicit(&shared->slots[slot].wants, 1, memory_order_relaxed);
        if (!somebody_first(shared, slot, false))
            break;
        int64_t now = microseconds();
        if (until == 0)
            until = now + TURN_MS * 1000;
        if (now >= until) {
            (void)somebody_first(shared, slot, true);
            break;
        }
        wait_commit(shared, commits, until - now);
        commits = atomic_load_explicit(&shared->commits, memory_order_relaxed);
    }
    return commits;
}

uint32_t vg_jobs_beside_turn_wait(struct vg_jobs_beside *beside, int slot, uint32_t seen, int64_t most_us)
{
    struct shared *shared = beside->shared;
    wait_commit(shared, seen, most_us);
    if (slot >= 0)
        atomic_store_explicit(&shared->slots[slot].wants, 1, memory_order_relaxed);
    return atomic_load_explicit(&shared->commits, memory_order_relaxed);
}

void vg_jobs_beside_turn_end(struct vg_jobs_beside *beside, int slot)
{
    struct shared *shared = beside->shared;
    if (slot >= 0) {
        uint64_t turn = atomic_fetch_add_explicit(&shared->turns, 1, memory_order_relaxed) + 1;
        atomic_store_explicit(&shared->slots[slot].turn, turn, memory_order_relaxed);
        atomic_store_explicit(&shared->slots[slot].wants, 0, memory_order_relaxed);
    }
    (void)atomic_fetch_add_explicit(&shared->commits, 1, memory_order_relaxed);
    if (atomic_load_explicit(&shared->commit_waiters, memory_order_relaxed) != 0)
        (void)futex(&shared->commits, FUTEX_WAKE, INT_MAX, NULL);
}

uint32_t vg_jobs_beside_ended(struct vg_jobs_beside *beside)
{
    /* acquire: pairs with the addition; a look at the database after this sees what was committed before it */
    return atomic_load_explicit(&beside->shared->ended, memory_order_acquire);
}

void vg_jobs_beside_ended_add(struct vg_jobs_beside *beside)
{
    /* seq_cst, as the addition of a waiter: either this sees the waiter, or the waiter's futex call sees the new
       count */
    (void)atomic_fetch_add_explicit(&beside->shared->ended, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&beside->shared->ended_waiters, memory_order_seq_cst) != 0)
        (void)futex(&beside->shared->ended, FUTEX_WAKE, INT_MAX, NULL);
}

void vg_jobs_beside_ended_wait(struct vg_jobs_beside *beside, uint32_t seen, int64_t timeout_ms)
{
    struct timespec time;
    /* seq_cst: pairs with the additions in ended_add. A waiter that is killed here leaves the count too high, which
       costs later ends a system call. */
    (void)atomic_fetch_add_explicit(&beside->shared->ended_waiters, 1, memory_order_seq_cst);
    (void)futex(&beside->shared->ended, FUTEX_WAIT, seen, milliseconds(&time, timeout_ms));
    (void)atomic_fetch_sub_explicit(&beside->shared->ended_waiters, 1, memory_order_seq_cst);
}

int64_t vg_jobs_beside_ahead_ms(struct vg_jobs_beside *beside)
{
    return atomic_load_explicit(&beside->shared->ahead_ms, memory_order_relaxed);
}

void vg_jobs_beside_advance(struct vg_jobs_beside *beside, int64_t by_ms)
{
    (void)atomic_fetch_add_explicit(&beside->shared->ahead_ms, by_ms, memory_order_relaxed);
}
