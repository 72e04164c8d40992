/* SPDX-License-Identifier: MIT */
/*
 * Chaos: real threads, and a random yield or delay before every atomic operation. It stands behind the same instrumentation
 * as the checker: compile a stress test with -fsanitize=thread, link this instead of the sanitizer's run time.
 * Windows of a few instructions become windows of microseconds, so that a stress test walks through interleavings that it
 * would not meet in days. CHAOS_SEED makes the sequence of delays repeatable per thread, CHAOS_RATE is how many of
 * 1000 operations are delayed (default 100).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static _Atomic uint64_t started;
static _Atomic int rate = -1;
static _Thread_local uint64_t state;

static void begin_thread(void)
{
    const char *seed = getenv("CHAOS_SEED"), *asked = getenv("CHAOS_RATE");
    uint64_t number = atomic_fetch_add_explicit(&started, 1, memory_order_relaxed) + 1;
    state = ((seed != NULL ? strtoull(seed, NULL, 10) : 1) * 0x9E3779B97F4A7C15ULL) ^ (number * 0xD1B54A32D192ED03ULL);
    state |= 1;
    atomic_store_explicit(&rate, asked != NULL ? atoi(asked) : 100, memory_order_relaxed);
}

static void chaos(void)
{
    if (state == 0)
        begin_thread();
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    uint64_t dice = state >> 20;
    if ((int)(dice % 1000) >= atomic_load_explicit(&rate, memory_order_relaxed))
        return;
    if (dice >> 10 & 7) {
        sched_yield();
        return;
    }
    for (uint64_t spin = (dice >> 13 & 4095) + 1; spin > 0; spin--)
        atomic_signal_fence(memory_order_seq_cst);
}

/* Orders are run as seq_cst at least as strong as asked: chaos widens windows, it does not weaken memory. */
#define ATOMICS(bits, type)                                                                           \
    type __tsan_atomic##bits##_load(const type *a, int mo);                                           \
    type __tsan_atomic##bits##_load(const type *a, int mo)                                            \
    {                                                                                                 \
        (void)mo;                                                                                     \
        chaos();                                                                                      \
        return mo == 0 ? __atomic_load_n(a, __ATOMIC_RELAXED) : __atomic_load_n(a, __ATOMIC_SEQ_CST); \
    }                                                                                                 \
    void __tsan_atomic##bits##_store(type *a, type v, int mo);                                        \
    void __tsan_atomic##bits##_store(type *a, type v, int mo)                                         \
    {                                                                                                 \
        chaos();                                                                                      \
        if (mo == __ATOMIC_RELAXED)                                                                   \
            __atomic_store_n(a, v, __ATOMIC_RELAXED);                                                 \
        else if (mo == __ATOMIC_RELEASE)                                                              \
            __atomic_store_n(a, v, __ATOMIC_RELEASE);                                                 \
        else                                                                                          \
            __atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                                 \
    }                                                                                                 \
    RMW(bits, type, exchange, __atomic_exchange_n)                                                    \
    RMW(bits, type, fetch_add, __atomic_fetch_add)                                                    \
    RMW(bits, type, fetch_sub, __atomic_fetch_sub)                                                    \
    RMW(bits, type, fetch_and, __atomic_fetch_and)                                                    \
    RMW(bits, type, fetch_or, __atomic_fetch_or)                                                      \
    RMW(bits, type, fetch_xor, __atomic_fetch_xor)                                                    \
    RMW(bits, type, fetch_nand, __atomic_fetch_nand)                                                  \
    int __tsan_atomic##bits##_compare_exchange_strong(type *a, type *e, type v, int mo, int fmo);     \
    int __tsan_atomic##bits##_compare_exchange_strong(type *a, type *e, type v, int mo, int fmo)      \
    {                                                                                                 \
        (void)mo;                                                                                     \
        (void)fmo;                                                                                    \
        chaos();                                                                                      \
        return __atomic_compare_exchange_n(a, e, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);           \
    }                                                                                                 \
    int __tsan_atomic##bits##_compare_exchange_weak(type *a, type *e, type v, int mo, int fmo);       \
    int __tsan_atomic##bits##_compare_exchange_weak(type *a, type *e, type v, int mo, int fmo)        \
    {                                                                                                 \
        return __tsan_atomic##bits##_compare_exchange_strong(a, e, v, mo, fmo);                       \
    }                                                                                                 \
    type __tsan_atomic##bits##_compare_exchange_val(type *a, type e, type v, int mo, int fmo);        \
    type __tsan_atomic##bits##_compare_exchange_val(type *a, type e, type v, int mo, int fmo)         \
    {                                                                                                 \
        __tsan_atomic##bits##_compare_exchange_strong(a, &e, v, mo, fmo);                             \
        return e;                                                                                     \
    }

#define RMW(bits, type, name, builtin)                          \
    type __tsan_atomic##bits##_##name(type *a, type v, int mo); \
    type __tsan_atomic##bits##_##name(type *a, type v, int mo)  \
    {                                                           \
        (void)mo;                                               \
        chaos();                                                \
        return builtin(a, v, __ATOMIC_SEQ_CST);                 \
    }

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int mo);
void __tsan_atomic_thread_fence(int mo)
{
    chaos();
    if (mo == __ATOMIC_SEQ_CST)
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_acq_rel);
}

void __tsan_atomic_signal_fence(int mo);
void __tsan_atomic_signal_fence(int mo)
{
    (void)mo;
    atomic_signal_fence(memory_order_seq_cst);
}

#define NOTHING(name, ...)           \
    void __tsan_##name(__VA_ARGS__); \
    void __tsan_##name(__VA_ARGS__)  \
    {                                \
    }
#define PLAIN(size)                                                          \
    NOTHING(read##size, __attribute__((unused)) void *a)                     \
    NOTHING(write##size, __attribute__((unused)) void *a)                    \
    NOTHING(unaligned_read##size, __attribute__((unused)) void *a)           \
    NOTHING(unaligned_write##size, __attribute__((unused)) void *a)          \
    NOTHING(volatile_read##size, __attribute__((unused)) void *a)            \
    NOTHING(volatile_write##size, __attribute__((unused)) void *a)           \
    NOTHING(unaligned_volatile_read##size, __attribute__((unused)) void *a)  \
    NOTHING(unaligned_volatile_write##size, __attribute__((unused)) void *a) \
    NOTHING(read_write##size, __attribute__((unused)) void *a)               \
    NOTHING(unaligned_read_write##size, __attribute__((unused)) void *a)

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
NOTHING(init, void)
NOTHING(func_entry, __attribute__((unused)) void *pc)
NOTHING(func_exit, void)
NOTHING(vptr_update, __attribute__((unused)) void **a, __attribute__((unused)) void *b)
NOTHING(vptr_read, __attribute__((unused)) void **a)
NOTHING(read_range, __attribute__((unused)) void *a, __attribute__((unused)) size_t size)
NOTHING(write_range, __attribute__((unused)) void *a, __attribute__((unused)) size_t size)
