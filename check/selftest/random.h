/* SPDX-License-Identifier: MIT */
#ifndef VGC_SELFTEST_RANDOM_H
#define VGC_SELFTEST_RANDOM_H
#include <stdbool.h>
#include <stdint.h>

/* Compares the searches on so many random programs; returns on how many they differ. */
/* locks: of semaphores, read-write locks, condition variables and once; else of futexes, mutexes and atomics. */
int random_programs(int count, uint64_t seed, bool locks);

#endif
