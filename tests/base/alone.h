/* SPDX-License-Identifier: MIT */
/*
 * alone.h - what the tests of src/core share. They test the ground floor by itself: nothing here needs a pool.
 */
#ifndef VG_TEST_ALONE_H
#define VG_TEST_ALONE_H

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
#include <time.h>

#include <cmocka.h>

/* For threads other than the test's own, where cmocka's asserts must not be used: ends the program. */
#define must(condition)                                                                \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                   \
        }                                                                              \
    } while (0)

#define count_of(array) (sizeof(array) / sizeof((array)[0]))

/* `full` times VIGIL_TEST_SCALE percent, at least `least`. */
static inline uint64_t scaled(uint64_t full, uint64_t least)
{
    const char *percent = getenv("VIGIL_TEST_SCALE");
    uint64_t size = percent == NULL ? full : full * strtoull(percent, NULL, 10) / 100;
    return size < least ? least : size;
}

/* Threads that yield to each other get a turn when a busy machine has gone round: their rounds are enough after so long. */
enum {
    ENOUGH_S = 20
};

static inline time_t seconds_now(void)
{
    struct timespec now;
    must(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return now.tv_sec;
}

/* xorshift64*: the same numbers in every run. */
static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717U;
}

/* Run body(&args[i]) on `count` threads at once, and wait for all of them. */
static inline void on_threads(unsigned count, void *(*body)(void *), void *args, size_t arg_size)
{
    pthread_t threads[64];
    must(count <= count_of(threads));
    for (unsigned i = 0; i < count; i++)
        must(pthread_create(&threads[i], NULL, body, (char *)args + i * arg_size) == 0);
    for (unsigned i = 0; i < count; i++)
        must(pthread_join(threads[i], NULL) == 0);
}

#endif
