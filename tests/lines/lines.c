/* SPDX-License-Identifier: MIT */
/* lines.h explains. This file is not instrumented. */
#include "lines.h"

#include <sched.h>

enum {
    LINES_CORES = 64,
    LINES_TABLE = 1 << 20, /* lines; a power of 2 */
    LINES_SHIFT = 6
};

/* Which cores hold a line. */
struct line {
    uintptr_t number; /* address >> LINES_SHIFT; 0: an empty place */
    uint64_t holders; /* a bit for each core */
    uint64_t last;    /* the core that it moved to last: that may go on to write what it has fetched to read */
};

static struct line lines[LINES_TABLE];
static unsigned long lines_used, moved;
static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned cores;
static _Thread_local unsigned my_core; /* plus 1 */

static struct line *line_of(uintptr_t number)
{
    uint64_t at = (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) >> 44;
    while (lines[at].number != number && lines[at].number != 0)
        at = (at + 1) & (LINES_TABLE - 1);
    if (lines[at].number == 0) {
        must(++lines_used < LINES_TABLE / 2);
        lines[at].number = number;
    }
    return &lines[at];
}

static void touch(const volatile void *address, size_t bytes, bool writes)
{
    const uintptr_t first = (uintptr_t)address >> LINES_SHIFT;
    const uintptr_t last = ((uintptr_t)address + bytes - 1) >> LINES_SHIFT;
    pthread_mutex_lock(&lines_lock);
    if (my_core == 0) {
        must(cores < LINES_CORES);
        my_core = ++cores;
    }
    const uint64_t me = UINT64_C(1) << (my_core - 1);
    for (uintptr_t number = first; number <= last; number++) {
        struct line *line = line_of(number);
        const bool others = (line->holders & ~me) != 0;
        if (others && ((line->holders & me) == 0 || (writes && line->last != me))) {
            moved++;
            line->last = me;
        }
        line->holders = writes ? me : line->holders | me;
    }
    pthread_mutex_unlock(&lines_lock);
}

unsigned long lines_moved(void)
{
    pthread_mutex_lock(&lines_lock);
    const unsigned long since = moved;
    moved = 0;
    pthread_mutex_unlock(&lines_lock);
    return since;
}

/* The number in the second column of that row; -1: there is none. */
static double table_says(const char *row)
{
    FILE *page = fopen(LINES_PAGE, "r");
    must(page != NULL);
    char text[2048];
    double said = -1;
    while (fgets(text, sizeof text, page) != NULL) {
        const char *end = strstr(text, " | ");
        if (text[0] == '|' && end != NULL && (size_t)(end - text - 2) == strlen(row) &&
            strncmp(text + 2, row, strlen(row)) == 0)
            said = strtod(end + 3, NULL);
    }
    fclose(page);
    return said;
}

static void must_be_between_lines(const char *row, double moves, double least, double most)
{
    printf("%s: %.2f lines\n", row, moves);
    fflush(stdout);
    if (moves < least || moves > most)
        support_fail("the row is in docs/costs.md, with this number", __FILE__, __LINE__);
}

void must_be_in_the_table(const char *row, double moves)
{
    const double said = table_says(row);
    must_be_between_lines(row, moves, said - 0.25, said + 0.25);
}

void must_be_within_the_table(const char *row, double moves)
{
    must_be_between_lines(row, moves, 0, table_says(row));
}

void turn_wait(struct turns *turns, uint32_t number)
{
    while (atomic_load_explicit(&turns->ended, memory_order_acquire) < number)
        sched_yield();
}

void turn_end(struct turns *turns)
{
    atomic_fetch_add_explicit(&turns->ended, 1, memory_order_release);
}

/* ---- what the compiler calls -------------------------------------------------------------------------------------- */

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
#define PLAIN(name, bytes, writes) \
    void __tsan_##name(void *a);   \
    void __tsan_##name(void *a)    \
    {                              \
        touch(a, bytes, writes);   \
    }
#define PLAINS(bytes)                          \
    PLAIN(read##bytes, bytes, false)           \
    PLAIN(write##bytes, bytes, true)           \
    PLAIN(unaligned_read##bytes, bytes, false) \
    PLAIN(unaligned_write##bytes, bytes, true) \
    PLAIN(volatile_read##bytes, bytes, false)  \
    PLAIN(volatile_write##bytes, bytes, true)
PLAINS(1)
PLAINS(2)
PLAINS(4)
PLAINS(8)
PLAINS(16)

void __tsan_read_range(void *a, size_t bytes);
void __tsan_read_range(void *a, size_t bytes)
{
    touch(a, bytes, false);
}

void __tsan_write_range(void *a, size_t bytes);
void __tsan_write_range(void *a, size_t bytes)
{
    touch(a, bytes, true);
}

/* Each operation is as strong as can be: what is asked is where it is done, not in which order. */
#define UPDATE(bits, type, name, builtin)                       \
    type __tsan_atomic##bits##_##name(type *a, type v, int mo); \
    type __tsan_atomic##bits##_##name(type *a, type v, int mo)  \
    {                                                           \
        (void)mo;                                               \
        touch(a, sizeof *a, true);                              \
        return builtin(a, v, __ATOMIC_SEQ_CST);                 \
    }
#define EXCHANGE(bits, type, kind)                                                                \
    int __tsan_atomic##bits##_compare_exchange_##kind(type *a, type *e, type v, int mo, int fmo); \
    int __tsan_atomic##bits##_compare_exchange_##kind(type *a, type *e, type v, int mo, int fmo)  \
    {                                                                                             \
        (void)mo;                                                                                 \
        (void)fmo;                                                                                \
        touch(a, sizeof *a, true);                                                                \
        return __atomic_compare_exchange_n(a, e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
    }
#define ATOMICS(bits, type)                                                                    \
    type __tsan_atomic##bits##_load(const type *a, int mo);                                    \
    type __tsan_atomic##bits##_load(const type *a, int mo)                                     \
    {                                                                                          \
        (void)mo;                                                                              \
        touch(a, sizeof *a, false);                                                            \
        return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                           \
    }                                                                                          \
    void __tsan_atomic##bits##_store(type *a, type v, int mo);                                 \
    void __tsan_atomic##bits##_store(type *a, type v, int mo)                                  \
    {                                                                                          \
        (void)mo;                                                                              \
        touch(a, sizeof *a, true);                                                             \
        __atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                              \
    }                                                                                          \
    UPDATE(bits, type, exchange, __atomic_exchange_n)                                          \
    UPDATE(bits, type, fetch_add, __atomic_fetch_add)                                          \
    UPDATE(bits, type, fetch_sub, __atomic_fetch_sub)                                          \
    UPDATE(bits, type, fetch_and, __atomic_fetch_and)                                          \
    UPDATE(bits, type, fetch_or, __atomic_fetch_or)                                            \
    UPDATE(bits, type, fetch_xor, __atomic_fetch_xor)                                          \
    EXCHANGE(bits, type, strong)                                                               \
    EXCHANGE(bits, type, weak)                                                                 \
    type __tsan_atomic##bits##_compare_exchange_val(type *a, type e, type v, int mo, int fmo); \
    type __tsan_atomic##bits##_compare_exchange_val(type *a, type e, type v, int mo, int fmo)  \
    {                                                                                          \
        (void)__tsan_atomic##bits##_compare_exchange_strong(a, &e, v, mo, fmo);                \
        return e;                                                                              \
    }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int mo);
void __tsan_atomic_thread_fence(int mo)
{
    (void)mo;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int mo);
void __tsan_atomic_signal_fence(int mo)
{
    (void)mo;
}

void __tsan_init(void);
void __tsan_init(void)
{
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
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
