/* SPDX-License-Identifier: MIT */
/*
 * dice.h - chance that can be repeated: VIGIL_TEST_SEED in the environment gives a run's dice again (not its timing).
 */
#ifndef VG_TEST_DICE_H
#define VG_TEST_DICE_H

#include "support.h"

struct dice {
    uint64_t state; /* never 0 */
};

static inline uint32_t roll(struct dice *dice, uint32_t sides)
{
    uint64_t x = dice->state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    dice->state = x;
    return (uint32_t)(x >> 33) % sides;
}

static inline bool one_in(struct dice *dice, uint32_t sides)
{
    return roll(dice, sides) == 0;
}

/* The dice of this run; says how to have them again. */
static inline struct dice dice_of_run(void)
{
    const char *given = getenv("VIGIL_TEST_SEED");
    struct dice dice = {.state = given != NULL ? strtoull(given, NULL, 10) | 1 : now_ns() | 1};
    print_message("VIGIL_TEST_SEED=%llu\n", (unsigned long long)dice.state);
    return dice;
}

#endif
