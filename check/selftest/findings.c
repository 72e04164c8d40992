/* SPDX-License-Identifier: MIT */
/* One small program per kind of finding, and beside each the one that is right. */
#include <vigil_check.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int flag, other;
static _Atomic unsigned word;
static int data;
int selftest_sink; /* not static: what is written here is not optimised away */

/* ---- assertion ---- */

static void *set_flag(void *arg)
{
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return arg;
}

VGC_SCENARIO(assertion, "an assertion that fails in one order only is found", .expect = VGC_ASSERTION)
{
    pthread_t t = vgc_thread_start(set_flag, NULL);
    vgc_assert(atomic_load_explicit(&flag, memory_order_relaxed) == 0, "the flag was not set yet");
    vgc_thread_join(t);
}

VGC_SCENARIO(abort_is_found, "abort is a finding", .expect = VGC_ASSERTION)
{
    pthread_t t = vgc_thread_start(set_flag, NULL);
    if (atomic_load_explicit(&flag, memory_order_relaxed))
        abort();
    vgc_thread_join(t);
}

VGC_SCENARIO(choices, "vgc_choose tries everything", .expect = VGC_ASSERTION)
{
    int a = vgc_choose(5), b = vgc_choose(7);
    vgc_assert(a != 4 || b != 6, "the last pair");
}

static int saw[2];
static void *store_then_look(void *arg)
{
    atomic_store_explicit(&other, 1, memory_order_relaxed);
    saw[1] = atomic_load_explicit(&flag, memory_order_relaxed);
    return arg;
}

VGC_SCENARIO(old_values, "two threads can both read old values", .expect = VGC_ASSERTION)
{
    pthread_t t = vgc_thread_start(store_then_look, NULL);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    saw[0] = atomic_load_explicit(&other, memory_order_relaxed);
    vgc_thread_join(t);
    vgc_assert(saw[0] || saw[1], "one of them sees the other");
}

/* ---- data races ---- */

static void *write_data(void *arg)
{
    data = 1;
    return arg;
}

VGC_SCENARIO(race_write_write, "two plain writes race", .expect = VGC_DATA_RACE)
{
    pthread_t t = vgc_thread_start(write_data, NULL);
    data = 2;
    vgc_thread_join(t);
}

VGC_SCENARIO(race_read_write, "a plain read races with a plain write", .expect = VGC_DATA_RACE)
{
    pthread_t t = vgc_thread_start(write_data, NULL);
    selftest_sink = data;
    vgc_thread_join(t);
}

VGC_SCENARIO(race_none, "create and join order plain accesses")
{
    data = 5;
    pthread_t t = vgc_thread_start(write_data, NULL);
    vgc_thread_join(t);
    vgc_assert(data == 1, "the thread's write");
}

static void *publish(void *arg)
{
    data = 42;
    atomic_store_explicit(&flag, 1, arg != NULL ? memory_order_release : memory_order_relaxed);
    return NULL;
}

VGC_SCENARIO(race_relaxed_flag, "a relaxed flag does not publish data", .expect = VGC_DATA_RACE)
{
    pthread_t t = vgc_thread_start(publish, NULL);
    if (atomic_load_explicit(&flag, memory_order_acquire))
        vgc_assert(data == 42, "data");
    vgc_thread_join(t);
}

VGC_SCENARIO(race_released_flag, "a released flag does")
{
    pthread_t t = vgc_thread_start(publish, &flag);
    if (atomic_load_explicit(&flag, memory_order_acquire))
        vgc_assert(data == 42, "data");
    vgc_thread_join(t);
}

static struct block {
    long words[64];
} * _Atomic handed_over;

static void *wipe_and_hand_over(void *arg)
{
    struct block *fresh = arg;
    memset(fresh, 0, sizeof *fresh); /* of a size that the compiler knows: it must not write it out behind our back */
    atomic_store_explicit(&handed_over, fresh, memory_order_relaxed);
    return NULL;
}

static void *zeroed_and_handed_over(void *arg)
{
    (void)arg;
    atomic_store_explicit(&handed_over, calloc(1, sizeof(struct block)), memory_order_relaxed);
    return NULL;
}

VGC_SCENARIO(race_memset, "what memset wrote is published like anything else", .expect = VGC_DATA_RACE)
{
    static struct block one;
    pthread_t t = vgc_thread_start(wipe_and_hand_over, &one);
    struct block *got = atomic_load_explicit(&handed_over, memory_order_acquire);
    if (got != NULL)
        vgc_assert(got->words[63] == 0, "zero");
    vgc_thread_join(t);
}

VGC_SCENARIO(race_calloc, "the zeros of calloc are published like anything else", .expect = VGC_DATA_RACE)
{
    pthread_t t = vgc_thread_start(zeroed_and_handed_over, NULL);
    struct block *got = atomic_load_explicit(&handed_over, memory_order_acquire);
    if (got != NULL)
        vgc_assert(got->words[63] == 0, "zero");
    vgc_thread_join(t);
    free(atomic_load_explicit(&handed_over, memory_order_relaxed));
}

static void *write_then_fence(void *arg)
{
    data = 7;
    atomic_thread_fence(memory_order_seq_cst);
    return arg;
}

/* The same in one direction only: the reader runs last in the order that would hide it. */
static void *wait_fence_read(void *arg)
{
    if (atomic_load_explicit(&flag, memory_order_relaxed) != 0) {
        atomic_thread_fence(memory_order_seq_cst);
        selftest_sink = data;
    }
    return arg;
}

static void *write_fence_other_flag(void *arg)
{
    write_then_fence(arg);
    atomic_store_explicit(&other, 1, memory_order_relaxed);
    return arg;
}

static void *relay(void *arg)
{
    if (atomic_load_explicit(&other, memory_order_relaxed) != 0)
        atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return arg;
}

VGC_SCENARIO(race_sc_fence_relayed, "a relaxed relay between two seq_cst fences does not make them synchronise",
             .expect = VGC_DATA_RACE)
{
    selftest_sink = 0;
    pthread_t a = vgc_thread_start(write_fence_other_flag, NULL), b = vgc_thread_start(relay, NULL),
              c = vgc_thread_start(wait_fence_read, NULL);
    vgc_thread_join(a);
    vgc_thread_join(b);
    vgc_thread_join(c);
}

static struct {
    char a, b;
    short c;
} packed;

static void *write_b(void *arg)
{
    packed.b = 1;
    packed.c = 2;
    return arg;
}

VGC_SCENARIO(race_bytes_apart, "neighbouring bytes do not race")
{
    pthread_t t = vgc_thread_start(write_b, NULL);
    packed.a = 1;
    vgc_thread_join(t);
    vgc_assert(packed.a + packed.b + packed.c == 4, "all there");
}

static void *copy_over(void *arg)
{
    memcpy(&packed, "1234", (size_t)(intptr_t)arg);
    return NULL;
}

VGC_SCENARIO(race_memcpy, "memcpy is a plain access", .expect = VGC_DATA_RACE)
{
    pthread_t t = vgc_thread_start(copy_over, (void *)(intptr_t)4);
    packed.a = 1;
    vgc_thread_join(t);
}

/* ---- deadlock ---- */

static long sleep_on(_Atomic unsigned *w, unsigned expected)
{
    return syscall(SYS_futex, w, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void wake(_Atomic unsigned *w, int count)
{
    syscall(SYS_futex, w, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void *check_then_sleep(void *arg)
{
    if (atomic_load_explicit(&flag, memory_order_acquire) == 0)
        sleep_on(&word, 0);
    return arg;
}

VGC_SCENARIO(deadlock_lost_wake, "a wake that comes between check and sleep is lost", .expect = VGC_DEADLOCK)
{
    pthread_t t = vgc_thread_start(check_then_sleep, NULL);
    atomic_store_explicit(&flag, 1, memory_order_release);
    wake(&word, 1);
    vgc_thread_join(t);
}

static void *sleep_while_zero(void *arg)
{
    while (atomic_load_explicit(&word, memory_order_acquire) == 0)
        sleep_on(&word, 0);
    return arg;
}

VGC_SCENARIO(futex_right, "the word itself changes before the wake: never lost", .opt.spurious = 1)
{
    pthread_t t = vgc_thread_start(sleep_while_zero, NULL);
    atomic_store_explicit(&word, 1, memory_order_release);
    wake(&word, 1);
    vgc_thread_join(t);
}

VGC_SCENARIO(futex_one_of_two, "a wake of one wakes one", .expect = VGC_DEADLOCK)
{
    pthread_t t = vgc_thread_start(sleep_while_zero, NULL), u = vgc_thread_start(sleep_while_zero, NULL);
    vgc_quiesce();
    atomic_store_explicit(&word, 1, memory_order_release);
    wake(&word, 1);
    vgc_thread_join(t);
    vgc_thread_join(u);
}

/* The futex does not order memory, so what changed is asked of the futex: it compares with the newest value. */
static void *sleep_once(void *arg)
{
    sleep_on(&word, 0);
    vgc_assert(sleep_on(&word, 0) == -1, "woken though nothing changed");
    return arg;
}

VGC_SCENARIO(futex_spurious, "a wait may return for no reason", .expect = VGC_ASSERTION, .opt.spurious = 1)
{
    pthread_t t = vgc_thread_start(sleep_once, NULL);
    vgc_quiesce();
    atomic_store_explicit(&word, 1, memory_order_relaxed);
    wake(&word, 1);
    vgc_thread_join(t);
}

VGC_SCENARIO(futex_no_spurious, "... but only with a budget for that")
{
    pthread_t t = vgc_thread_start(sleep_once, NULL);
    vgc_quiesce();
    atomic_store_explicit(&word, 1, memory_order_relaxed);
    wake(&word, 1);
    vgc_thread_join(t);
}

static void *sleep_for_ever(void *arg)
{
    sleep_on(&word, 0);
    return arg;
}

VGC_SCENARIO(deadlock_left_behind, "a thread that sleeps when the body is over is found", .expect = VGC_DEADLOCK)
{
    vgc_thread_start(sleep_for_ever, NULL);
}

VGC_SCENARIO(sleepers_allowed, "... unless that is allowed", .opt.allow_sleepers = true)
{
    vgc_thread_start(sleep_for_ever, NULL);
}

/* ---- endless loops, bounds ---- */

static void *poll_flag(void *arg)
{
    while (atomic_load_explicit(&flag, memory_order_acquire) == 0)
        sched_yield();
    return arg;
}

VGC_SCENARIO(loop_ends, "a polling loop that somebody ends is no finding")
{
    pthread_t t = vgc_thread_start(poll_flag, NULL);
    atomic_store_explicit(&flag, 1, memory_order_release);
    vgc_thread_join(t);
}

static _Atomic int finished;

static void *poll_two(void *arg)
{
    while (atomic_load_explicit(&flag, memory_order_relaxed) == 0 ||
           atomic_load_explicit(&other, memory_order_relaxed) == 0)
        ;
    atomic_store_explicit(&finished, 1, memory_order_relaxed);
    return arg;
}

static void *set_both(void *arg)
{
    atomic_store_explicit(&other, 1, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return arg;
}

VGC_SCENARIO(quiesce_waits_for_pollers,
             "a polling thread that reads old values for a while still counts as able to move")
{
    pthread_t t = vgc_thread_start(poll_two, NULL), u = vgc_thread_start(set_both, NULL);
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&finished, memory_order_relaxed) == 1, "the loop has ended");
    vgc_thread_join(t);
    vgc_thread_join(u);
}

VGC_SCENARIO(loop_endless, "a polling loop that nobody ends is one", .expect = VGC_ENDLESS_LOOP)
{
    pthread_t t = vgc_thread_start(poll_flag, NULL);
    vgc_thread_join(t);
}

VGC_SCENARIO(loop_two_words, "a loop over two words ends when both are set, also if it reads old values for a while")
{
    pthread_t t = vgc_thread_start(poll_two, NULL), u = vgc_thread_start(set_both, NULL);
    vgc_thread_join(t);
    vgc_thread_join(u);
}

VGC_SCENARIO(step_bound, "an execution that is cut is never a success", .expect = VGC_TRUNCATED, .opt.max_steps = 200)
{
    pthread_t t = vgc_thread_start(set_flag, NULL);
    for (int i = 0; i < 1000; i++)
        atomic_fetch_add_explicit(&other, 1, memory_order_relaxed);
    vgc_thread_join(t);
}

VGC_SCENARIO(execution_limit, "a search that is cut is never a success", .expect = VGC_INCOMPLETE,
             .opt.max_executions = 3)
{
    vgc_choose(10);
}

/* ---- crash, misuse ---- */

VGC_SCENARIO(crash, "a null pointer is found, and the checker lives on", .expect = VGC_CRASH)
{
    int *nowhere = atomic_load_explicit(&flag, memory_order_relaxed) ? &data : NULL;
    *nowhere = 1;
}

union halves {
    _Atomic uint32_t half[2];
    _Atomic uint64_t whole;
} selftest_mixed;

static void *write_half(void *arg)
{
    atomic_store_explicit(&selftest_mixed.half[0], 1, memory_order_relaxed);
    return arg;
}

static void *sleep_on_half(void *arg)
{
    (void)sleep_on(&selftest_mixed.half[0], 0);
    return arg;
}

VGC_SCENARIO(mixed_futex, "a sleep on a part of a larger atomic is refused, and its sleeper is not forgotten",
             .expect = VGC_MISUSE)
{
    pthread_t t = vgc_thread_start(sleep_on_half, NULL);
    atomic_store_explicit(&selftest_mixed.whole, 1, memory_order_relaxed);
    vgc_thread_join(t);
}

VGC_SCENARIO(mixed_sizes, "atomic accesses of different size to one place are refused", .expect = VGC_MISUSE)
{
    pthread_t t = vgc_thread_start(write_half, NULL);
    atomic_store_explicit(&selftest_mixed.whole, 1, memory_order_relaxed);
    vgc_thread_join(t);
}
