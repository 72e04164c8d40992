/* SPDX-License-Identifier: MIT */
#include "faults.h"

#include "support.h"

#include <linux/futex.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void *__real_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *arg);
int __real_sched_yield(void);
long __real_syscall(long number, ...);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *arg);
int __wrap_sched_yield(void);
long __wrap_syscall(long number, ...);

/* ---- what shall fail -------------------------------------------------------------------------------------------- */

typedef struct fault_plan {
    _Atomic uint64_t calls;
    _Atomic uint64_t failed;
    _Atomic uint64_t from; /* calls with a number in [from, to) fail; numbers start at 1, and 0 is never */
    _Atomic uint64_t to;
} fault_plan;

static fault_plan plans[FAULT_KINDS];
static _Atomic uint32_t futex_how;
static _Atomic uint32_t futex_of;
static _Atomic uint32_t futex_turn;
static _Atomic uint32_t membarrier_gone;
static _Atomic uint64_t futex_waits, futex_wakes, membarriers, yields, others, faked;

/* All relaxed: a test sets the plan while nothing runs, or does not mind which call is hit. */
#define GET(word)        atomic_load_explicit(&(word), memory_order_relaxed)
#define SET(word, value) atomic_store_explicit(&(word), (value), memory_order_relaxed)
#define COUNT(word)      atomic_fetch_add_explicit(&(word), 1, memory_order_relaxed)

void faults_reset(void)
{
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        SET(plans[kind].from, 0);
        SET(plans[kind].to, 0);
        SET(plans[kind].calls, 0);
        SET(plans[kind].failed, 0);
    }
    faults_futex(FUTEX_HONEST, 1);
    SET(membarrier_gone, 0);
    SET(futex_waits, 0);
    SET(futex_wakes, 0);
    SET(membarriers, 0);
    SET(yields, 0);
    SET(others, 0);
    SET(faked, 0);
}

void faults_fail_at(fault_kind kind, uint64_t k)
{
    uint64_t so_far = GET(plans[kind].calls);
    SET(plans[kind].to, so_far + k + 1);
    SET(plans[kind].from, so_far + k);
}

void faults_fail_after(fault_kind kind, uint64_t good)
{
    uint64_t so_far = GET(plans[kind].calls);
    SET(plans[kind].to, UINT64_MAX);
    SET(plans[kind].from, so_far + good + 1);
}

uint64_t faults_calls(fault_kind kind)
{
    return GET(plans[kind].calls);
}

uint64_t faults_failed(fault_kind kind)
{
    return GET(plans[kind].failed);
}

void faults_futex(fault_futex how, uint32_t of)
{
    SET(futex_of, of);
    SET(futex_how, (uint32_t)how);
}

void faults_no_membarrier(void)
{
    SET(membarrier_gone, 1);
}

fault_syscalls faults_syscalls(void)
{
    return (fault_syscalls){.futex_wait = GET(futex_waits),
                            .futex_wake = GET(futex_wakes),
                            .membarrier = GET(membarriers),
                            .yield = GET(yields),
                            .other = GET(others),
                            .faked = GET(faked)};
}

static bool shall_fail(fault_kind kind)
{
    if (support_quiet > 0)
        return false;
    fault_plan *plan = &plans[kind];
    uint64_t number = COUNT(plan->calls) + 1;
    uint64_t from = GET(plan->from);
    if (from == 0 || number < from || number >= GET(plan->to))
        return false;
    (void)COUNT(plan->failed);
    return true;
}

/* ---- the calls -------------------------------------------------------------------------------------------------- */

static bool no_memory(void)
{
    if (!shall_fail(FAULT_ALLOC))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return no_memory() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return no_memory() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return no_memory() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return no_memory() ? NULL : __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
    return shall_fail(FAULT_ALLOC) ? ENOMEM : __real_posix_memalign(memory, alignment, size);
}

void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return no_memory() ? MAP_FAILED : __real_mmap(address, length, protection, flags, fd, offset);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *arg)
{
    return shall_fail(FAULT_THREAD) ? EAGAIN : __real_pthread_create(thread, attributes, body, arg);
}

int __wrap_sched_yield(void)
{
    if (support_quiet == 0)
        (void)COUNT(yields);
    return __real_sched_yield();
}

/* What this futex wait shall do. */
static fault_futex futex_fault(void)
{
    uint32_t of = GET(futex_of);
    fault_futex how = (fault_futex)GET(futex_how);
    if (how == FUTEX_HONEST || of < 2)
        return FUTEX_HONEST;
    uint32_t turn = COUNT(futex_turn);
    if (turn % of == of - 1)
        return FUTEX_HONEST;
    if (how == FUTEX_MIXED)
        return (fault_futex)(FUTEX_EINTR + turn % 3);
    return how;
}

long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);

    if (support_quiet == 0) {
        if (number == SYS_futex) {
            long operation = a[1] & FUTEX_CMD_MASK;
            if (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) {
                (void)COUNT(futex_waits);
                fault_futex fault = futex_fault();
                if (fault != FUTEX_HONEST) {
                    (void)COUNT(faked);
                    if (fault == FUTEX_SPURIOUS)
                        return 0;
                    errno = fault == FUTEX_EINTR ? EINTR : EAGAIN;
                    return -1;
                }
            } else {
                (void)COUNT(futex_wakes);
            }
        } else if (number == SYS_membarrier) {
            (void)COUNT(membarriers);
            if (GET(membarrier_gone) != 0) {
                errno = ENOSYS;
                return -1;
            }
        } else {
            (void)COUNT(others);
        }
    }
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
