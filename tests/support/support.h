/* SPDX-License-Identifier: MIT */
/*
 * support.h - what the tests share: a way to say "this must hold" on any thread, things to wait for, pools that are
 * watched while they live and audited before they go, and a watchdog.
 *
 * Tests wait for events and never for time. If something never comes, the watchdog says what every watched pool looked
 * like at that moment and aborts, so a lost wake-up is seen and not merely suffered.
 */
#ifndef VG_TEST_SUPPORT_H
#define VG_TEST_SUPPORT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <vigil/pool.h>

/* The two ways to end a pool, for tests that go through both. */
enum end_mode {
    END_GRACEFUL,
    END_AT_ONCE
};

static inline int end_pool(vigil_pool *pool, enum end_mode mode, int64_t timeout_ns)
{
    return mode == END_AT_ONCE ? vigil_pool_close(pool, timeout_ns) : vigil_pool_shutdown(pool, timeout_ns);
}

#if defined(__SANITIZE_THREAD__)
#define TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ASAN 1
#endif
#endif
#ifndef TEST_TSAN
#define TEST_TSAN 0
#endif
#ifndef TEST_ASAN
#define TEST_ASAN 0
#endif
/* Bounds on time hold in such builds by luck alone; tests leave them out there. */
#define TEST_SANITIZED (TEST_TSAN || TEST_ASAN)

/* ---- what must hold --------------------------------------------------------------------------------------------- */

/* On any thread. cmocka's own asserts jump back into the test function: that works on one thread only, and leaves the
   others running on a stack that is gone. So a failure here ends the program, after saying which test and what. */
#define must(condition) ((condition) ? (void)0 : support_fail(#condition, __FILE__, __LINE__))
#define must_equal(value, expected) \
    support_equal((long long)(value), (long long)(expected), #value, #expected, __FILE__, __LINE__)
#define must_be_between(value, least, most) \
    support_between((long long)(value), (long long)(least), (long long)(most), #value, __FILE__, __LINE__)

_Noreturn void support_fail(const char *what, const char *file, int line);
void support_equal(long long value, long long expected, const char *what, const char *wanted, const char *file,
                   int line);
void support_between(long long value, long long least, long long most, const char *what, const char *file, int line);

#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))
#define count_of(array)                     (sizeof(array) / sizeof((array)[0]))

/* ---- running tests ---------------------------------------------------------------------------------------------- */

/* const struct CMUnitTest tests[] = {test(a_sentence), ...};  return run_all(tests); */
#define test(function) cmocka_unit_test_setup_teardown(function, support_begin, support_end)
#define run_all(tests) cmocka_run_group_tests(tests, NULL, NULL)
int support_begin(void **state);
int support_end(void **state);

/* `full` in a release run, less where VIGIL_TEST_SCALE (in percent) says so; at least `least`. */
uint64_t scaled(uint64_t full, uint64_t least);

uint64_t now_ns(void);

/* Run body in a child process and give back its wait status. The child must end with _exit or a signal. */
int in_child(void (*body)(void *arg), void *arg);

/* The same as process 1 of a PID namespace; exit status NO_NAMESPACE: there is no right to make one. After
   next_child_has_my_number the next child is process 1 too, of a namespace inside. */
enum {
    NO_NAMESPACE = 77
};
int as_first_process(void (*body)(void *arg), void *arg);
void next_child_has_my_number(void);

/* ---- things to wait for ----------------------------------------------------------------------------------------- */

/* Happens once. All of these may lie on the stack: a waker touches the object no more once a waiter can have seen it. */
struct event {
    _Atomic uint32_t set;
};

void event_set(struct event *event);
void event_wait(struct event *event);
bool event_is_set(struct event *event);
bool event_wait_for(struct event *event, int64_t timeout_ns); /* did it happen? */

/* Look at the world for a while, when the point of a test is that nothing happens. */
void observe_for_ms(unsigned ms);

/* A number that somebody waits for. */
struct tally {
    _Atomic uint32_t count;
};

void tally_add(struct tally *tally, uint32_t more);
void tally_wait(struct tally *tally, uint32_t at_least);
uint32_t tally_get(struct tally *tally);

/* Whoever passes is counted and then waits until the gate opens. */
struct gate {
    struct tally entered;
    struct event opened;
};

void gate_pass(struct gate *gate);
void gate_wait_entered(struct gate *gate, uint32_t at_least);
void gate_open(struct gate *gate);

/* `size` threads meet again and again; returns the number of the meeting, from 0. */
struct meeting {
    uint32_t size;
    _Atomic uint32_t arrived;
    _Atomic uint32_t held;
};

uint32_t meeting_join(struct meeting *meeting);

/* Give the processor away; for loops that look at a pool's state until it is what they want. */
void yield(void);

pthread_t start_thread(void *(*body)(void *), void *arg);
void join_thread(pthread_t thread);

/* ---- pools ------------------------------------------------------------------------------------------------------ */

vigil_pool *pool_with(const vigil_pool_options *options);
vigil_pool *pool_of(unsigned workers);

/* Let the watchdog tell about this pool too; pool_with does it by itself. */
void pool_watch(vigil_pool *pool);
void pool_unwatch(vigil_pool *pool);

/* The end of most tests: everything has finished, the audit finds nothing missing, the sums agree, and it goes. */
void pool_close(vigil_pool *pool);

/* A snapshot, in which submitted = queued + running + completed + failed + cancelled must hold, per class and in sum. */
vigil_pool_stats pool_stats(vigil_pool *pool);
void must_add_up(const vigil_pool_stats *stats);
vigil_worker_stats pool_worker(vigil_pool *pool, unsigned worker);

/* Ask till the answer is exact; what the audit said. */
int pool_audit(vigil_pool *pool, vigil_audit *audit);
void pool_audit_clean(vigil_pool *pool);

/* Until exactly so many workers are parked; until all threads are. */
void pool_wait_parked(vigil_pool *pool, unsigned workers);
void pool_wait_all_parked(vigil_pool *pool);

void pool_print(vigil_pool *pool);

/* Keeps `count` workers of a pool inside tasks until it is released. Lives till the pool is idle or gone. */
struct hold {
    struct gate gate;
};

void hold_workers(struct hold *hold, vigil_pool *pool, unsigned count);
void hold_release(struct hold *hold);

/* Above zero while this thread is inside the support code: faults.c then neither counts nor fails its calls. */
extern _Thread_local int support_quiet;

#endif
