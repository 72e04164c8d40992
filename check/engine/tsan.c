/* SPDX-License-Identifier: MIT */
/* What the compiler calls under -fsanitize=thread. The atomic ones come through
 * the entry stubs of context.S. */
#include "internal.h"
#include <string.h>

#define CALLER    __builtin_return_address(0)
#define USER_PC   (((void *const *)vgc_user_sp)[6])
#define ORDER(mo) ((int)((unsigned)(mo)&7u))

/* Outside of an execution (constructors, the driver) there is nobody to
 * interleave with. */
#define RUNNING __builtin_expect(G.current >= 0, 1)

#define ATOMICS(bits, type)                                                                                   \
    type vgc_atomic##bits##_load(const type *a, int mo);                                                      \
    type vgc_atomic##bits##_load(const type *a, int mo)                                                       \
    {                                                                                                         \
        return RUNNING ? (type)memory_load((uintptr_t)a, bits / 8, ORDER(mo), USER_PC) : *a;                  \
    }                                                                                                         \
    void vgc_atomic##bits##_store(type *a, type v, int mo);                                                   \
    void vgc_atomic##bits##_store(type *a, type v, int mo)                                                    \
    {                                                                                                         \
        if (RUNNING)                                                                                          \
            memory_store((uintptr_t)a, bits / 8, ORDER(mo), v, USER_PC);                                      \
        else                                                                                                  \
            *a = v;                                                                                           \
    }                                                                                                         \
    RMW(bits, type, exchange, RMW_EXCHANGE, v)                                                                \
    RMW(bits, type, fetch_add, RMW_ADD, old + v)                                                              \
    RMW(bits, type, fetch_sub, RMW_SUB, old - v)                                                              \
    RMW(bits, type, fetch_and, RMW_AND, old &v)                                                               \
    RMW(bits, type, fetch_or, RMW_OR, old | v)                                                                \
    RMW(bits, type, fetch_xor, RMW_XOR, old ^ v)                                                              \
    RMW(bits, type, fetch_nand, RMW_NAND, ~(old & v))                                                         \
    static bool cas##bits(type *a, type *e, type v, int mo, int fmo, bool weak)                               \
    {                                                                                                         \
        if (RUNNING) {                                                                                        \
            uint64_t expected = *e;                                                                           \
            bool ok = memory_cas((uintptr_t)a, bits / 8, ORDER(mo), ORDER(fmo), &expected, v, weak, USER_PC); \
            if (!ok)                                                                                          \
                *e = (type)expected;                                                                          \
            return ok;                                                                                        \
        }                                                                                                     \
        if (*a != *e) {                                                                                       \
            *e = *a;                                                                                          \
            return false;                                                                                     \
        }                                                                                                     \
        *a = v;                                                                                               \
        return true;                                                                                          \
    }                                                                                                         \
    int vgc_atomic##bits##_compare_exchange_strong(type *a, type *e, type v, int mo, int fmo);                \
    int vgc_atomic##bits##_compare_exchange_strong(type *a, type *e, type v, int mo, int fmo)                 \
    {                                                                                                         \
        return cas##bits(a, e, v, mo, fmo, false);                                                            \
    }                                                                                                         \
    int vgc_atomic##bits##_compare_exchange_weak(type *a, type *e, type v, int mo, int fmo);                  \
    int vgc_atomic##bits##_compare_exchange_weak(type *a, type *e, type v, int mo, int fmo)                   \
    {                                                                                                         \
        return cas##bits(a, e, v, mo, fmo, true);                                                             \
    }                                                                                                         \
    type vgc_atomic##bits##_compare_exchange_val(type *a, type e, type v, int mo, int fmo);                   \
    type vgc_atomic##bits##_compare_exchange_val(type *a, type e, type v, int mo, int fmo)                    \
    {                                                                                                         \
        cas##bits(a, &e, v, mo, fmo, false);                                                                  \
        return e;                                                                                             \
    }

#define RMW(bits, type, name, operation, plain)                                                \
    type vgc_atomic##bits##_##name(type *a, type v, int mo);                                   \
    type vgc_atomic##bits##_##name(type *a, type v, int mo)                                    \
    {                                                                                          \
        if (RUNNING)                                                                           \
            return (type)memory_rmw((uintptr_t)a, bits / 8, ORDER(mo), operation, v, USER_PC); \
        type old = *a;                                                                         \
        *a = (type)(plain);                                                                    \
        return old;                                                                            \
    }

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void vgc_atomic_thread_fence(int mo);
void vgc_atomic_thread_fence(int mo)
{
    if (RUNNING)
        memory_fence(ORDER(mo), USER_PC);
}

void __tsan_atomic_signal_fence(int mo);
void __tsan_atomic_signal_fence(int mo)
{
    (void)mo; /* orders the compiler, which has done its work */
}

#define PLAIN(name, size, is_write)                                 \
    void __tsan_##name(void *a);                                    \
    void __tsan_##name(void *a)                                     \
    {                                                               \
        if (RUNNING)                                                \
            vgc_access_plain((uintptr_t)a, size, is_write, CALLER); \
    }

#define PLAIN_SIZE(size)                              \
    PLAIN(read##size, size, false)                    \
    PLAIN(write##size, size, true)                    \
    PLAIN(unaligned_read##size, size, false)          \
    PLAIN(unaligned_write##size, size, true)          \
    PLAIN(volatile_read##size, size, false)           \
    PLAIN(volatile_write##size, size, true)           \
    PLAIN(unaligned_volatile_read##size, size, false) \
    PLAIN(unaligned_volatile_write##size, size, true) \
    PLAIN(read_write##size, size, true)               \
    PLAIN(unaligned_read_write##size, size, true)

PLAIN_SIZE(1)
PLAIN_SIZE(2)
PLAIN_SIZE(4)
PLAIN_SIZE(8)
PLAIN_SIZE(16)

void __tsan_read_range(void *a, size_t size);
void __tsan_read_range(void *a, size_t size)
{
    if (RUNNING)
        vgc_access_plain((uintptr_t)a, size, false, CALLER);
}

void __tsan_write_range(void *a, size_t size);
void __tsan_write_range(void *a, size_t size)
{
    if (RUNNING)
        vgc_access_plain((uintptr_t)a, size, true, CALLER);
}

void __tsan_init(void);
void __tsan_init(void)
{
    unseen_instrumented();
}
void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
    (void)pc;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}
void __tsan_vptr_update(void **a, void *b);
void __tsan_vptr_update(void **a, void *b)
{
    (void)a;
    (void)b;
}
void __tsan_vptr_read(void **a);
void __tsan_vptr_read(void **a)
{
    (void)a;
}

/* Memory functions of the C library that the compiler leaves as calls. */
void *__real_memcpy(void *to, const void *from, size_t size);
void *__real_memmove(void *to, const void *from, size_t size);
void *__real_memset(void *to, int value, size_t size);
int __real_memcmp(const void *a, const void *b, size_t size);

void *__wrap_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size)
{
    if (RUNNING && size != 0) {
        vgc_access_plain((uintptr_t)from, size, false, CALLER);
        vgc_access_plain((uintptr_t)to, size, true, CALLER);
    }
    return __real_memcpy(to, from, size);
}

void *__wrap_memmove(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size)
{
    if (RUNNING && size != 0) {
        vgc_access_plain((uintptr_t)from, size, false, CALLER);
        vgc_access_plain((uintptr_t)to, size, true, CALLER);
    }
    return __real_memmove(to, from, size);
}

void *__wrap_memset(void *to, int value, size_t size);
void *__wrap_memset(void *to, int value, size_t size)
{
    if (RUNNING && size != 0)
        vgc_access_plain((uintptr_t)to, size, true, CALLER);
    return __real_memset(to, value, size);
}

int __wrap_memcmp(const void *a, const void *b, size_t size);
int __wrap_memcmp(const void *a, const void *b, size_t size)
{
    if (RUNNING && size != 0) {
        vgc_access_plain((uintptr_t)a, size, false, CALLER);
        vgc_access_plain((uintptr_t)b, size, false, CALLER);
    }
    return __real_memcmp(a, b, size);
}
