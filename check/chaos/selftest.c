/* SPDX-License-Identifier: MIT */
/*
 * Does chaos do anything? Two threads add to a counter by a load and a store, a window of a few instructions: within the
 * given rounds updates must be lost. A correct counter beside it must stay correct.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    ROUNDS = 200000
};

static _Atomic int broken, correct;

static void *adder(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        int seen = atomic_load_explicit(&broken, memory_order_relaxed);
        atomic_store_explicit(&broken, seen + 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&correct, 1, memory_order_relaxed);
    }
    return arg;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&t[i], NULL, adder, NULL) != 0)
            return 2;
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    int lost = 2 * ROUNDS - atomic_load(&broken), wrong = 2 * ROUNDS - atomic_load(&correct);
    printf("chaos: %d of %d unprotected updates lost, %d of the protected\n", lost, 2 * ROUNDS, wrong);
    return lost > 0 && wrong == 0 ? 0 : 1;
}
