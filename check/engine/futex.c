/* SPDX-License-Identifier: MIT */
/*
 * futex(2) and membarrier(2).
 *
 * A wait compares with the newest value and goes to sleep in one step, as the kernel does under its bucket lock. A
 * wake of fewer than all chooses whom. Neither orders memory, unless opt.futex_fences asks for what Linux does (a full
 * fence in each call): code that needs an order has to say so in C11 terms. A
 * wait that may return for no reason (or whose time runs out early) stays in the queue, but can be scheduled; a wake
 * that comes first counts.
 */
#define _GNU_SOURCE
#include "internal.h"
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>

#define USER_PC (((void *const *)vgc_user_sp)[6])

long __real_syscall(long number, ...);

void memory_see_newest(struct location *l);
struct message *memory_oldest_permitted(struct location *l);

bool risk(int *budget)
{
    if (*budget <= 0 || choose(2) == 0)
        return false;
    --*budget;
    return true;
}

long futex_wait(uintptr_t address, uint32_t expected, uint64_t deadline, bool timed, const void *pc)
{
    struct op op = {
        .kind = OP_FUTEX_WAIT, .size = 4, .memory = USE_READ, .queue = USE_ADD, .address = address, .pc = pc};
    struct thread *me = ME;
    struct location *l;
    struct message *m;
    for (;;) {
        me->operands = (uint64_t)expected << 1 | timed;
        sched_point(&op);
        heap_check(address, 4, false, pc);
        l = location_at(address, 4, pc);
        m = BROKEN(VGC_RULE_FUTEX_NEWEST) ? memory_oldest_permitted(l) : l->newest;
        if (!BROKEN(VGC_RULE_FUTEX_NEWEST))
            memory_see_newest(l);
        if (G.opt.futex_fences)
            sc_load(l, m, false); /* behind a fence, what the comparison saw says where the fence stands in S */
        access_atomic(address, 4, false, pc);
        if ((uint32_t)m->value == expected)
            break;
        event_current()->op.queue = USE_NONE;
        event_end_at(l);
        if (G.tracing) {
            struct trace_line *t = trace_add(OP_FUTEX_WAIT, pc);
            t->address = address;
            t->size = 4;
            t->got = m->value;
            t->put = expected;
            __builtin_snprintf(t->text, sizeof t->text, "differs: does not sleep");
        }
        if (!spin_check(l, m, pc)) {
            errno = EAGAIN;
            return -1;
        }
    }
    if (G.tracing) {
        struct trace_line *t = trace_add(OP_FUTEX_WAIT, pc);
        t->address = address;
        t->size = 4;
        t->got = m->value;
        t->put = expected;
        __builtin_snprintf(t->text, sizeof t->text, "sleeps");
    }
    if (BROKEN(VGC_RULE_FUTEX_ATOMIC)) {
        event_end_at(l);
        sched_point(&op);
    }
    bool early = timed && risk(&G.budget_timeout);
    bool spurious = !early && !BROKEN(VGC_RULE_SPURIOUS) && risk(&G.budget_spurious);
    l->waiters |= 1u << G.current;
    me->waiting_at = l;
    me->timed = timed;
    me->timed_out = early;
    me->deadline = deadline;
    event_end_at(l);
    spin_progress();
    if (early || spurious) {
        struct op back = {.kind = OP_RESUME, .size = 4, .queue = USE_WRITE, .address = address, .pc = pc};
        sched_point(&back);
    } else {
        me->op = (struct op){.kind = OP_RESUME, .pc = pc};
        sched_block(T_FUTEX);
    }
    bool woken = !(l->waiters >> G.current & 1);
    l->waiters &= ~(1u << G.current);
    me->waiting_at = NULL;
    me->timed = false;
    event_end_at(l);
    if (G.tracing) {
        struct trace_line *t = trace_add(OP_RESUME, pc);
        t->address = address;
        __builtin_snprintf(t->text, sizeof t->text, "%s",
                           woken ? "woken" : (me->timed_out ? "time is over" : "returns for no reason"));
    }
    if (!woken && me->timed_out) {
        if (deadline > G.now)
            G.now = deadline;
        errno = ETIMEDOUT;
        return -1;
    }
    return 0;
}

long futex_wake(uintptr_t address, int count, const void *pc)
{
    struct op op = {.kind = OP_FUTEX_WAKE, .size = 4, .queue = USE_WRITE, .address = address, .pc = pc};
    ME->operands = (uint64_t)count;
    sched_point(&op);
    struct location *l = location_at(address, 4, pc);
    uint32_t waiting = l->waiters;
    int sleepers = __builtin_popcount(waiting), woken = 0;
    uint32_t chosen = 0;
    if (sleepers == 0)
        event_current()->op.queue = USE_READ;
    if (count >= sleepers || (BROKEN(VGC_RULE_FUTEX_ONE) && count > 0)) {
        chosen = waiting;
    } else {
        for (; woken < count; woken++) {
            uint32_t rest = waiting & ~chosen;
            for (int k = choose(__builtin_popcount(rest)); k > 0; k--)
                rest &= rest - 1;
            chosen |= rest & -rest;
        }
    }
    woken = __builtin_popcount(chosen);
    l->waiters &= ~chosen;
    for (uint32_t rest = chosen; rest != 0; rest &= rest - 1) {
        int t = __builtin_ctz(rest);
        G.threads[t].op.queue = USE_NONE;
        sched_wake(t, G.event_count);
    }
    event_end_at(l);
    spin_progress();
    if (G.tracing) {
        struct trace_line *t = trace_add(OP_FUTEX_WAKE, pc);
        t->address = address;
        t->size = 4;
        size_t length = 0;
        if (woken == 0)
            __builtin_snprintf(t->text, sizeof t->text, "nobody sleeps there");
        for (uint32_t rest = chosen; rest != 0; rest &= rest - 1)
            length += (size_t)__builtin_snprintf(t->text + length, sizeof t->text - length, "%st%d",
                                                 length ? ", " : "wakes ", __builtin_ctz(rest));
    }
    return woken;
}

static uint64_t nanoseconds(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

static long do_futex(uintptr_t address, int operation, uint32_t value, const struct timespec *timeout, uint32_t bits,
                     const void *pc)
{
    const int command = operation & FUTEX_CMD_MASK;
    if ((command == FUTEX_WAIT_BITSET || command == FUTEX_WAKE_BITSET) && bits != FUTEX_BITSET_MATCH_ANY)
        fail(VGC_MISUSE, "futex with a bit set other than FUTEX_BITSET_MATCH_ANY is not modelled");
    bool timed = timeout != NULL;
    if (G.opt.futex_fences)
        memory_fence(__ATOMIC_SEQ_CST, pc);
    switch (command) {
    case FUTEX_WAIT:
        return futex_wait(address, value, timed ? G.now + nanoseconds(timeout) : 0, timed, pc);
    case FUTEX_WAIT_BITSET:
        return futex_wait(address, value, timed ? nanoseconds(timeout) : 0, timed, pc);
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
        return futex_wake(address, (int)value, pc);
    default:
        fail(VGC_MISUSE, "futex operation %d is not modelled", operation);
    }
}

static long do_membarrier(int command, const void *pc)
{
    if (G.opt.no_membarrier) {
        errno = ENOSYS;
        return -1;
    }
    switch (command) {
    case MEMBARRIER_CMD_QUERY:
        return MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    case MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED:
        G.membarrier_registered = true;
        return 0;
    case MEMBARRIER_CMD_PRIVATE_EXPEDITED:
        if (!G.membarrier_registered) {
            errno = EPERM;
            return -1;
        }
        memory_membarrier(pc);
        return 0;
    case MEMBARRIER_CMD_GLOBAL:
        memory_membarrier(pc);
        return 0;
    default:
        errno = EINVAL;
        return -1;
    }
}

int vgc_epoll_pwait2(int fd, struct epoll_event *out, int most, const struct timespec *timeout, const void *mask);
long vgc_syscall(long number, long a, long b, long c, long d, long e, long f);
long vgc_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    const void *pc = USER_PC;
    if (G.current < 0)
        return __real_syscall(number, a, b, c, d, e, f);
    switch (number) {
    case SYS_futex:
        return do_futex((uintptr_t)a, (int)b, (uint32_t)c, (const struct timespec *)d, (uint32_t)f, pc);
    case SYS_membarrier:
        return do_membarrier((int)a, pc);
    case SYS_epoll_pwait2:
        return vgc_epoll_pwait2((int)a, (struct epoll_event *)b, (int)c, (const struct timespec *)d, (const void *)e);
    case SYS_gettid:
        return 1000 + G.current;
    case SYS_getpid:
    case SYS_getcpu:
    case SYS_sched_getaffinity:
        return __real_syscall(number, a, b, c, d, e);
    default:
        fail(VGC_MISUSE, "system call %ld is not modelled", number);
    }
}
