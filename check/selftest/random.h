/* SPDX-License-Identifier: MIT */
#ifndef VGC_SELFTEST_RANDOM_H
#define VGC_SELFTEST_RANDOM_H
#include <stdint.h>

/* Compares the searches on so many random programs; returns on how many they differ. */
int random_programs(int count, uint64_t seed);

#endif
